//! Linear layers, in float and in two kinds of int8.

use tract_onnx::pb::NodeProto;

use super::graph::{Graph, float, int, ints};
use super::matrix::{RawMatrix, ScaleOf};
use super::{Matched, unrecognised};
use crate::embed::weights::{Linear, Matrix};

/// `linear(x)`.
pub(super) struct LinearOf<'m> {
    pub(super) x: &'m str,
    pub(super) weights: Linear,
}

struct Multiplied<'m> {
    x: &'m str,
    weight: RawMatrix,
}

/// The linear layer that makes a value.
pub(super) fn linear<'m>(graph: &Graph<'m>, name: &'m str) -> Matched<LinearOf<'m>> {
    // A Gemm works on two dimensions; the exporter folds and unfolds around it.
    if let Some(node) = graph.node(graph.strip(name, &["Reshape"]), "Gemm") {
        return gemm(graph, node);
    }
    if let Some([left, right]) = graph.operands(name, "Add") {
        for (product, bias) in [(left, right), (right, left)] {
            if let Some(bias) = graph.vector(bias) {
                return with_bias(multiplied(graph, product)?, Some(bias));
            }
        }
        return unrecognised("a sum stands where a linear layer should");
    }
    with_bias(multiplied(graph, name)?, None)
}

fn with_bias<'m>(multiplied: Multiplied<'m>, bias: Option<Vec<f32>>) -> Matched<LinearOf<'m>> {
    let (input, output) = (multiplied.weight.rows, multiplied.weight.columns);
    let bias = bias.unwrap_or_else(|| vec![0.0; output]);
    if bias.len() != output {
        return unrecognised("a linear layer's bias has another length than its output");
    }
    let weight = multiplied.weight.into_matrix(ScaleOf::Column);
    Ok(LinearOf {
        x: multiplied.x,
        weights: Linear {
            input,
            output,
            weight,
            bias,
        },
    })
}

fn gemm<'m>(graph: &Graph<'m>, node: &'m NodeProto) -> Matched<LinearOf<'m>> {
    let plain = float(node, "alpha").is_none_or(|alpha| alpha == 1.0)
        && float(node, "beta").is_none_or(|beta| beta == 1.0)
        && int(node, "transA").unwrap_or(0) == 0;
    let (true, [x, weight, rest @ ..]) = (plain, node.input.as_slice()) else {
        return unrecognised("a Gemm does more than a linear layer");
    };
    let weight = graph.matrix(weight)?;
    let weight = if int(node, "transB").unwrap_or(0) == 0 {
        weight
    } else {
        weight.transposed()
    };
    let bias = match rest {
        [bias] if !bias.is_empty() => match graph.vector(bias) {
            Some(bias) => Some(bias),
            None => return unrecognised("a Gemm's bias is computed"),
        },
        _ => None,
    };
    with_bias(
        Multiplied {
            x: graph.strip(x, &["Reshape"]),
            weight,
        },
        bias,
    )
}

fn multiplied<'m>(graph: &Graph<'m>, name: &'m str) -> Matched<Multiplied<'m>> {
    if let Some([x, weight]) = graph.operands(name, "MatMul") {
        return Ok(Multiplied {
            x: graph.resolve(x),
            weight: graph.matrix(weight)?,
        });
    }
    match graph.producer(name) {
        Some((node, _)) if node.op_type == "Mul" => dynamic_int8(graph, name),
        Some((node, _)) => unrecognised(format!("{} stands where a linear layer should", node.op_type)),
        None => unrecognised("an input stands where a linear layer should"),
    }
}

/// `Cast(MatMulInteger(x, w)) · scale of x · scale of w`, with x quantised on the way in.
fn dynamic_int8<'m>(graph: &Graph<'m>, name: &'m str) -> Matched<Multiplied<'m>> {
    let product = graph.product(name);
    let mut integer = None;
    let mut x_scale = None;
    let mut w_scale = None;
    for term in product.terms {
        if let Some(node) = graph
            .operand(term, "Cast")
            .and_then(|cast| graph.node(cast, "MatMulInteger"))
        {
            integer = Some(node);
        } else if let Some((node, 1)) = graph.producer(term)
            && node.op_type == "DynamicQuantizeLinear"
        {
            x_scale = Some(node);
        } else if let (Some(scale), None) = (graph.vector(term), &w_scale) {
            w_scale = Some(scale);
        } else {
            return unrecognised("a product stands where a linear layer should");
        }
    }
    let (Some(integer), Some(quantise)) = (integer, x_scale) else {
        return unrecognised("a product stands where a linear layer should");
    };
    let (Some(x), Some(values)) = (quantise.input.first(), integer.input.get(1)) else {
        return unrecognised("an integer product lacks its operands");
    };
    let quantised = graph.producer(integer.input.first().map(String::as_str).unwrap_or_default());
    if !quantised.is_some_and(|(node, at)| at == 0 && std::ptr::eq(node, quantise)) {
        return unrecognised("an integer product is scaled by another's scale");
    }
    let scale: Vec<_> = w_scale
        .unwrap_or_else(|| vec![1.0])
        .into_iter()
        .map(|scale| scale * product.scalar)
        .collect();
    let zero = integer.input.get(3).map(String::as_str).unwrap_or_default();
    Ok(Multiplied {
        x: graph.resolve(x),
        weight: graph.integer_matrix(values, &scale, zero)?,
    })
}

/// A linear layer, or the part of a wider one that a Split or a Slice takes.
pub(super) fn projection<'m>(graph: &Graph<'m>, name: &'m str) -> Matched<LinearOf<'m>> {
    match graph.producer(name) {
        Some((node, at)) if node.op_type == "Split" => split(graph, node, at),
        Some((node, 0)) if node.op_type == "Slice" => slice(graph, node),
        _ => linear(graph, name),
    }
}

fn split<'m>(graph: &Graph<'m>, node: &'m NodeProto, part: usize) -> Matched<LinearOf<'m>> {
    let Some(wide) = node.input.first() else {
        return unrecognised("a Split has no input");
    };
    let wide = linear(graph, wide)?;
    let parts = node.output.len();
    let given = node
        .input
        .get(1)
        .and_then(|sizes| graph.integers(sizes))
        .or_else(|| ints(node, "split").map(<[i64]>::to_vec));
    let equal = || vec![(wide.weights.output / parts) as i64; parts];
    let sizes: Vec<_> = given
        .unwrap_or_else(equal)
        .into_iter()
        .map(|size| usize::try_from(size).unwrap_or(0))
        .collect();
    let fits = sizes.len() == parts && sizes.iter().sum::<usize>() == wide.weights.output;
    if !fits || !matches!(int(node, "axis").unwrap_or(0), 2 | -1) {
        return unrecognised("a Split does not part a linear layer's output");
    }
    let start = sizes[..part].iter().sum();
    Ok(LinearOf {
        x: wide.x,
        weights: columns(wide.weights, start, start + sizes[part]),
    })
}

fn slice<'m>(graph: &Graph<'m>, node: &'m NodeProto) -> Matched<LinearOf<'m>> {
    let one = |at: usize| match graph.integers(node.input.get(at)?)?.as_slice() {
        [value] => Some(*value),
        _ => None,
    };
    let (Some(wide), Some(start), Some(end), Some(2 | -1)) = (node.input.first(), one(1), one(2), one(3))
    else {
        return unrecognised("a Slice does not part a linear layer's output");
    };
    let wide = linear(graph, wide)?;
    let output = wide.weights.output;
    let bound = |at: i64| match usize::try_from(at) {
        Ok(at) => output.min(at),
        // Counted from the end.
        Err(_) => output.saturating_sub(usize::try_from(at.unsigned_abs()).unwrap_or(output)),
    };
    let (start, end) = (bound(start), bound(end));
    if start >= end || one(4).unwrap_or(1) != 1 {
        return unrecognised("a Slice does not part a linear layer's output");
    }
    Ok(LinearOf {
        x: wide.x,
        weights: columns(wide.weights, start, end),
    })
}

fn columns(wide: Linear, start: usize, end: usize) -> Linear {
    fn pick<T: Copy>(values: &[T], width: usize, start: usize, end: usize) -> Vec<T> {
        values
            .chunks_exact(width)
            .flat_map(|row| row[start..end].iter().copied())
            .collect()
    }
    let weight = match &wide.weight {
        Matrix::F32(values) => Matrix::F32(pick(values, wide.output, start, end)),
        Matrix::I8 { values, scale } => Matrix::I8 {
            values: pick(values, wide.output, start, end),
            scale: scale[start..end].to_vec(),
        },
    };
    Linear {
        input: wide.input,
        output: end - start,
        weight,
        bias: wide.bias[start..end].to_vec(),
    }
}
