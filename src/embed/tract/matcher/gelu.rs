//! GELU, the exact one: one node, or five over Erf.

use std::f32::consts::FRAC_1_SQRT_2;

use super::graph::{Graph, attribute};
use super::{Matched, unrecognised};

/// Exporters write 1.4142135 or 0.70710677, some in half precision.
const TOLERANCE: f32 = 1e-4;

/// The x of `gelu(x)`.
pub(super) fn gelu<'m>(graph: &Graph<'m>, name: &'m str) -> Matched<&'m str> {
    if let Some(node) = graph.node(name, "Gelu") {
        let approximate = attribute(node, "approximate").map(|attribute| attribute.s.as_slice());
        return match (approximate, node.input.first()) {
            (None | Some(b"none"), Some(x)) => Ok(graph.resolve(x)),
            _ => unrecognised("its activation is a GELU by tanh"),
        };
    }
    match decomposed(graph, name) {
        Some(x) => Ok(x),
        None => unrecognised(format!(
            "its activation is not GELU but ends in {}",
            what(graph, name)
        )),
    }
}

/// `x · (1 + erf(x / √2)) · ½`, the factors in any order.
fn decomposed<'m>(graph: &Graph<'m>, name: &'m str) -> Option<&'m str> {
    let product = graph.product(name);
    let [first, second] = product.terms.as_slice() else {
        return None;
    };
    if (product.scalar - 0.5).abs() > TOLERANCE || product.shape_derived {
        return None;
    }
    [(first, second), (second, first)]
        .into_iter()
        .find_map(|(x, gate)| {
            let inner = graph.product(erf_plus_one(graph, gate)?);
            let scaled = (inner.scalar - FRAC_1_SQRT_2).abs() < TOLERANCE && !inner.shape_derived;
            (scaled && inner.terms == [*x]).then_some(*x)
        })
}

fn erf_plus_one<'m>(graph: &Graph<'m>, name: &'m str) -> Option<&'m str> {
    let [left, right] = graph.operands(name, "Add")?;
    let erf = if graph.scalar(right) == Some(1.0) {
        left
    } else if graph.scalar(left) == Some(1.0) {
        right
    } else {
        return None;
    };
    graph.operand(erf, "Erf")
}

fn what<'m>(graph: &Graph<'m>, name: &'m str) -> &'m str {
    graph
        .producer(name)
        .map_or("an input", |(node, _)| node.op_type.as_str())
}
