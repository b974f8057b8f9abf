//! LayerNorm over the hidden dimension: one node, or nine.

use super::graph::{Graph, float, int, ints};
use super::{Matched, unrecognised};
use crate::embed::weights::Norm;

/// `norm(x)`.
pub(super) struct LayerNorm<'m> {
    pub(super) x: &'m str,
    pub(super) norm: Norm,
    pub(super) eps: f32,
}

/// The LayerNorm that makes a value.
pub(super) fn layer_norm<'m>(graph: &Graph<'m>, name: &'m str) -> Matched<LayerNorm<'m>> {
    let found = fused(graph, name).or_else(|| decomposed(graph, name));
    match (found, graph.producer(name)) {
        (Some(found), _) => Ok(found),
        (None, Some((node, _))) => unrecognised(format!("{} stands where a LayerNorm should", node.op_type)),
        (None, None) => unrecognised("an input stands where a LayerNorm should"),
    }
}

fn fused<'m>(graph: &Graph<'m>, name: &'m str) -> Option<LayerNorm<'m>> {
    let node = graph.node(name, "LayerNormalization")?;
    let [x, gain, rest @ ..] = node.input.as_slice() else {
        return None;
    };
    if !matches!(int(node, "axis").unwrap_or(-1), -1 | 2) {
        return None;
    }
    let gain = graph.vector(gain)?;
    let bias = match rest {
        [bias, ..] if !bias.is_empty() => graph.vector(bias)?,
        _ => vec![0.0; gain.len()],
    };
    let eps = float(node, "epsilon").unwrap_or(1e-5);
    Some(LayerNorm {
        x: graph.resolve(x),
        norm: Norm { gain, bias },
        eps,
    })
}

/// `(x - mean) / sqrt(mean((x - mean)²) + eps) · gain + bias`.
fn decomposed<'m>(graph: &Graph<'m>, name: &'m str) -> Option<LayerNorm<'m>> {
    let (bias, scaled) = vector_and_other(graph, name, "Add")?;
    let (gain, normalised) = vector_and_other(graph, scaled, "Mul")?;
    let (deviation, root) = quotient(graph, normalised)?;
    let x = deviation_of(graph, deviation)?;
    let [left, right] = graph.operands(graph.operand(root, "Sqrt")?, "Add")?;
    let (variance, eps) = match (graph.scalar(right), graph.scalar(left)) {
        (Some(eps), _) => (left, eps),
        (None, Some(eps)) => (right, eps),
        (None, None) => return None,
    };
    let squared = square_of(graph, mean_of(graph, variance)?)?;
    (deviation_of(graph, squared)? == x).then_some(LayerNorm {
        x,
        norm: Norm { gain, bias },
        eps,
    })
}

fn vector_and_other<'m>(graph: &Graph<'m>, name: &'m str, op: &str) -> Option<(Vec<f32>, &'m str)> {
    let [left, right] = graph.operands(name, op)?;
    match graph.vector(right) {
        Some(vector) => Some((vector, left)),
        None => graph.vector(left).map(|vector| (vector, right)),
    }
}

/// `a / b`, or `a · 1/b`.
fn quotient<'m>(graph: &Graph<'m>, name: &'m str) -> Option<(&'m str, &'m str)> {
    if let Some([dividend, divisor]) = graph.operands(name, "Div") {
        return Some((dividend, divisor));
    }
    let reciprocal = |name: &'m str| {
        graph.operand(name, "Reciprocal").or_else(|| {
            let [one, divisor] = graph.operands(name, "Div")?;
            (graph.scalar(one)? == 1.0).then_some(divisor)
        })
    };
    let [left, right] = graph.operands(name, "Mul")?;
    match reciprocal(right) {
        Some(divisor) => Some((left, divisor)),
        None => reciprocal(left).map(|divisor| (right, divisor)),
    }
}

/// The x of `x - mean(x)`.
fn deviation_of<'m>(graph: &Graph<'m>, name: &'m str) -> Option<&'m str> {
    let [x, mean] = graph.operands(name, "Sub")?;
    let x = graph.resolve(x);
    (graph.resolve(mean_of(graph, mean)?) == x).then_some(x)
}

fn square_of<'m>(graph: &Graph<'m>, name: &'m str) -> Option<&'m str> {
    if let Some([base, exponent]) = graph.operands(name, "Pow") {
        return (graph.scalar(exponent)? == 2.0).then_some(base);
    }
    let [left, right] = graph.operands(name, "Mul")?;
    (graph.resolve(left) == graph.resolve(right)).then_some(left)
}

/// The x of a mean over the last dimension.
fn mean_of<'m>(graph: &Graph<'m>, name: &'m str) -> Option<&'m str> {
    let node = graph.node(name, "ReduceMean")?;
    let axes = match node.input.get(1) {
        Some(axes) => graph.integers(axes)?,
        None => ints(node, "axes")?.to_vec(),
    };
    let last = matches!(axes.as_slice(), [-1 | 2]) && int(node, "keepdims").unwrap_or(1) == 1;
    node.input.first().filter(|_| last).map(String::as_str)
}
