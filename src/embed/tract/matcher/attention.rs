//! Multi-head attention and the linear layer behind it.
//!
//! ```text
//! output( merge( softmax( q · kᵀ · scale + mask ) · v ) )
//! ```
//! The scale may stand on the scores, on q, on k, or on both as its root; as a number or as something computed from the
//! head size. Whatever it is beyond `1/√(head size)`, which the encoder applies itself, goes into q's weights.

use super::graph::{Graph, int, ints};
use super::linear::{LinearOf, projection};
use super::{Matched, unrecognised};
use crate::embed::weights::{Linear, Matrix};

/// How far the scale may be from `1/√(head size)` and still be it.
const TOLERANCE: f32 = 1e-4;

pub(super) struct Attention {
    pub(super) q: Linear,
    pub(super) k: Linear,
    pub(super) v: Linear,
    pub(super) output: Linear,
    pub(super) heads: usize,
}

/// One of q, k, v on its way to the heads.
struct Heads<'m> {
    x: &'m str,
    weights: Linear,
    heads: usize,
    scale: Scale,
}

#[derive(Clone, Copy)]
struct Scale {
    factor: f32,
    shape_derived: bool,
}

impl Scale {
    fn and(self, factor: f32, shape_derived: bool) -> Self {
        Self {
            factor: self.factor * factor,
            shape_derived: self.shape_derived || shape_derived,
        }
    }
}

/// The attention branch that ends in `output`, of a layer whose residual is `x`.
pub(super) fn block<'m>(graph: &Graph<'m>, output: LinearOf<'m>, x: &'m str) -> Matched<Attention> {
    let merged = graph.strip(output.x, &["Reshape"]);
    let merged_by = graph.node(merged, "Transpose");
    let context = merged_by.and_then(|node| node.input.first()).map(String::as_str);
    let (Some(context), Some([0, 2, 1, 3])) = (context, merged_by.and_then(|node| ints(node, "perm"))) else {
        return unrecognised("the heads are not merged by a transposition");
    };
    let Some([probabilities, values]) = graph.operands(context, "MatMul") else {
        return unrecognised("attention is not a product of probabilities and values");
    };
    let scores = masked_scores(graph, probabilities)?;
    let product = graph.product(scores);
    let [term] = product.terms.as_slice() else {
        return unrecognised("the attention scores are more than a scaled product");
    };
    let Some([q, k]) = graph.operands(term, "MatMul") else {
        if graph.node(term, "Add").is_some() {
            return unrecognised("something besides the mask is added to the attention scores");
        }
        return unrecognised("the attention scores are not a product of queries and keys");
    };
    let q = heads(graph, q, [0, 2, 1, 3])?;
    let k = heads(graph, k, [0, 2, 3, 1])?;
    let v = heads(graph, values, [0, 2, 1, 3])?;
    if [q.x, k.x, v.x] != [x, x, x] {
        return unrecognised("queries, keys and values do not come from the residual's input");
    }
    if [k.heads, v.heads] != [q.heads, q.heads] || v.scale.factor != 1.0 {
        return unrecognised("queries, keys and values are not split into heads alike");
    }
    let scale = q
        .scale
        .and(k.scale.factor, k.scale.shape_derived)
        .and(product.scalar, product.shape_derived);
    let q_weights = rescaled(q.weights, q.heads, scale)?;
    Ok(Attention {
        q: q_weights,
        k: k.weights,
        v: v.weights,
        output: output.weights,
        heads: q.heads,
    })
}

/// What the softmax is of, without the mask.
fn masked_scores<'m>(graph: &Graph<'m>, probabilities: &'m str) -> Matched<&'m str> {
    let softmax = graph.node(not_a_number_guarded(graph, probabilities), "Softmax");
    let Some((softmax, input)) = softmax.and_then(|node| Some((node, node.input.first()?))) else {
        return unrecognised("attention has no softmax");
    };
    if !matches!(int(softmax, "axis").unwrap_or(-1), -1 | 3) {
        return unrecognised("the softmax is not over the keys");
    }
    if let Some([left, right]) = graph.operands(input, "Add") {
        return match (is_mask(graph, left), is_mask(graph, right)) {
            (false, true) => Ok(left),
            (true, false) => Ok(right),
            _ => unrecognised("something besides the mask is added to the attention scores"),
        };
    }
    // Where(masked, -inf, scores), or the other way round.
    if let Some(node) = graph.node(input, "Where")
        && let [condition, yes, no] = node.input.as_slice()
    {
        return match (is_mask(graph, condition), graph.scalar(yes), graph.scalar(no)) {
            (true, Some(_), None) => Ok(no),
            (true, None, Some(_)) => Ok(yes),
            _ => unrecognised("the attention scores are masked in an unknown way"),
        };
    }
    Ok(input)
}

/// Newer exports replace what a fully masked row would give: `Where(IsNaN(p), 0, p)`.
fn not_a_number_guarded<'m>(graph: &Graph<'m>, name: &'m str) -> &'m str {
    match graph.node(name, "Where").map(|node| node.input.as_slice()) {
        Some([condition, _, plain]) if graph.node(condition, "IsNaN").is_some() => plain,
        _ => name,
    }
}

/// A mask follows from the attention mask alone.
fn is_mask<'m>(graph: &Graph<'m>, name: &'m str) -> bool {
    let sources = graph.sources(name);
    sources.inputs.iter().copied().eq(["attention_mask"])
}

/// Back from the heads to the linear layer, gathering the permutation, the head count and scales on the way.
fn heads<'m>(graph: &Graph<'m>, name: &'m str, wanted: [i64; 4]) -> Matched<Heads<'m>> {
    let mut name = name;
    let mut permutation = vec![0, 1, 2, 3];
    let mut shape = None;
    let mut scale = Scale {
        factor: 1.0,
        shape_derived: false,
    };
    loop {
        let product = graph.product(name);
        if let [term] = product.terms.as_slice()
            && *term != graph.resolve(name)
        {
            scale = scale.and(product.scalar, product.shape_derived);
            name = term;
        } else if let (None, Some(node)) = (&shape, graph.node(name, "Transpose")) {
            permutation = composed(&permutation, ints(node, "perm").unwrap_or_default())?;
            name = node.input.first().map(String::as_str).unwrap_or_default();
        } else if let (None, Some([inner, target])) = (&shape, graph.operands(name, "Reshape")) {
            shape = graph.shape(target);
            name = inner;
        } else {
            break;
        }
    }
    if permutation != wanted {
        return unrecognised("the heads are not laid out as in BERT");
    }
    let found = projection(graph, name)?;
    let Some([_, _, heads, size]) = shape.as_deref() else {
        return unrecognised("the hidden vectors are not split into heads by a Reshape to four dimensions");
    };
    let width = found.weights.output;
    let known = |dim: &Option<i64>| {
        dim.and_then(|dim| usize::try_from(dim).ok())
            .filter(|dim| *dim > 0)
    };
    let heads = known(heads)
        .or_else(|| known(size).map(|size| width / size))
        .unwrap_or(0);
    if heads == 0
        || !width.is_multiple_of(heads)
        || known(size).is_some_and(|size| size.checked_mul(heads) != Some(width))
    {
        return unrecognised("the number of attention heads cannot be told");
    }
    Ok(Heads {
        x: found.x,
        weights: found.weights,
        heads,
        scale,
    })
}

/// `outer` was found behind `inner` on the way back.
fn composed(outer: &[i64], inner: &[i64]) -> Matched<Vec<i64>> {
    let axis = |at: &i64| usize::try_from(*at).ok().and_then(|at| inner.get(at)).copied();
    match outer.iter().map(axis).collect() {
        Some(permutation) => Ok(permutation),
        None => unrecognised("the heads are permuted in an unknown way"),
    }
}

/// Puts into q what the graph's scale is beyond the one that the encoder applies.
fn rescaled(q: Linear, heads: usize, scale: Scale) -> Matched<Linear> {
    // A scale computed from the head size cannot be anything else; if it is, the probe texts will tell.
    if scale.shape_derived {
        return Ok(q);
    }
    let excess = scale.factor * ((q.output / heads) as f32).sqrt();
    if (excess - 1.0).abs() < TOLERANCE {
        return Ok(q);
    }
    if !excess.is_finite() || excess == 0.0 {
        return unrecognised("the attention scores are scaled by nothing sensible");
    }
    let times = |values: Vec<f32>| values.into_iter().map(|value| value * excess).collect();
    let weight = match q.weight {
        Matrix::F32(values) => Matrix::F32(times(values)),
        Matrix::I8 { values, scale } => Matrix::I8 {
            values,
            scale: times(scale),
        },
    };
    Ok(Linear {
        weight,
        bias: times(q.bias),
        ..q
    })
}
