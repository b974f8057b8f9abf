//! Recognises the BERT encoder in an ONNX graph and takes its weights out.
//!
//! Exporters, opsets and quantisers write the same network in many ways, and none of the names can be relied on. So the
//! graph is read backwards from its output by what it computes:
//!
//! ```text
//! output = norm(x + output(gelu(intermediate(x))))       one layer, x the norm before
//!      x = norm(y + attention_output(attention(y)))      y the layer before, or
//!      y = norm(word + position + token type)            the embeddings
//! ```
//!
//! | file         | recognises                                                                                  |
//! |--------------|---------------------------------------------------------------------------------------------|
//! | `graph`      | who makes a value; what it depends on; sums and products, however nested                     |
//! | `constants`  | small numbers: scalars, vectors, shapes                                                     |
//! | `matrix`     | weights: f32 or integers with scale and zero point, transposed or not                       |
//! | `linear`     | MatMul + Add, Gemm, dynamic int8 (MatMulInteger), weight-only int8 (DequantizeLinear)         |
//! | `norm`       | LayerNormalization, and its decomposition                                                   |
//! | `gelu`       | Gelu, and its decomposition over Erf                                                        |
//! | `attention`  | heads, scale wherever it was put, mask, separate or fused q, k, v                             |
//! | `embeddings` | the three tables                                                                            |
//!
//! What is not recognised is no error: tract runs the graph, and the reason is shown. Nor does recognising need to be
//! proof: before a pack is used, tract and the encoder have to agree on probe texts.

mod attention;
mod constants;
mod embeddings;
mod gelu;
mod graph;
mod linear;
mod matrix;
mod norm;

use graph::Graph;
use linear::{LinearOf, linear};

use super::model::OnnxModel;
use crate::embed::weights::{BertConfig, BertWeights, LayerWeights, Linear};

/// Why a graph is not one that the encoder can run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unrecognised(pub String);

impl std::fmt::Display for Unrecognised {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

type Matched<T> = Result<T, Unrecognised>;

fn unrecognised<T>(reason: impl Into<String>) -> Matched<T> {
    Err(Unrecognised(reason.into()))
}

/// The weights of the BERT encoder that this graph is, or why it is not one.
pub fn extract(model: &OnnxModel) -> Matched<BertWeights> {
    let Some((graph, output)) = Graph::new(model).zip(model.token_output()) else {
        return unrecognised("it has no graph or no output");
    };
    let mut top = norm::layer_norm(&graph, output).map_err(|reason| within("at its output", reason))?;
    let mut layers = Vec::new();
    let mut heads = None;
    while !embeddings::is_sum_of_lookups(&graph, top.x) {
        let place = format!("in layer {} from the end", layers.len() + 1);
        let found = layer(&graph, &top).map_err(|reason| within(&place, reason))?;
        if top.eps != found.below.eps || heads.is_some_and(|heads| heads != found.heads) {
            return unrecognised("its layers differ in their epsilon or number of heads");
        }
        heads = Some(found.heads);
        layers.push(LayerWeights {
            output_norm: top.norm,
            ..found.weights
        });
        top = found.below;
    }
    layers.reverse();
    let embeddings =
        embeddings::embeddings(&graph, top.x).map_err(|reason| within("in its embeddings", reason))?;
    let (Some(first), Some(heads)) = (layers.first(), heads) else {
        return unrecognised("it has no layers");
    };
    let config = BertConfig {
        hidden: embeddings.hidden,
        layers: layers.len(),
        heads,
        intermediate: first.intermediate.output,
        vocab: embeddings.vocab,
        positions: embeddings.positions,
        eps: top.eps,
    };
    let mut weights = BertWeights {
        config,
        word: embeddings.word,
        position: embeddings.position,
        token_type0: embeddings.token_type0,
        embedding_norm: top.norm,
        layers,
    };
    if !weights.is_int8() {
        // Unsigned weights may or may not fit into signed bytes, each matrix for itself; the whole is one or the other.
        weights.layers.iter_mut().for_each(matrix::in_floats);
    }
    match weights.validate() {
        Ok(()) => Ok(weights),
        Err(error) => unrecognised(error.to_string()),
    }
}

fn within(place: &str, reason: Unrecognised) -> Unrecognised {
    Unrecognised(format!("{place}, {reason}"))
}

struct Layer<'m> {
    /// `output_norm` is not filled in yet: it was found before the rest.
    weights: LayerWeights,
    heads: usize,
    below: norm::LayerNorm<'m>,
}

/// The layer whose closing norm is `top`.
fn layer<'m>(graph: &Graph<'m>, top: &norm::LayerNorm<'m>) -> Matched<Layer<'m>> {
    let feed_forward = residual(graph, top.x, |output, x| feed_forward(graph, output, x))?;
    let middle = norm::layer_norm(graph, feed_forward.x)?;
    let attention = residual(graph, middle.x, |output, x| attention::block(graph, output, x))?;
    let below = norm::layer_norm(graph, attention.x)?;
    if middle.eps != below.eps {
        return unrecognised("its norms differ in their epsilon");
    }
    let attention::Attention {
        q,
        k,
        v,
        output: attention_output,
        heads,
    } = attention.branch;
    let (intermediate, output) = feed_forward.branch;
    let weights = LayerWeights {
        q,
        k,
        v,
        attention_output,
        attention_norm: middle.norm,
        intermediate,
        output,
        output_norm: crate::embed::weights::Norm {
            gain: Vec::new(),
            bias: Vec::new(),
        },
    };
    Ok(Layer {
        weights,
        heads,
        below,
    })
}

struct Residual<'m, T> {
    branch: T,
    x: &'m str,
}

/// `x + branch(x)`, whichever side the branch is on: it is the one that ends in a linear layer.
fn residual<'m, T>(
    graph: &Graph<'m>,
    name: &'m str,
    branch: impl Fn(LinearOf<'m>, &'m str) -> Matched<T>,
) -> Matched<Residual<'m, T>> {
    let Some([left, right]) = graph.operands(name, "Add") else {
        return unrecognised("a norm is not over the sum of a branch and its input");
    };
    let (output, x) = match linear(graph, left) {
        Ok(output) => (output, graph.resolve(right)),
        Err(_) => (linear(graph, right)?, graph.resolve(left)),
    };
    Ok(Residual {
        branch: branch(output, x)?,
        x,
    })
}

/// `output(gelu(intermediate(x)))`.
fn feed_forward<'m>(graph: &Graph<'m>, output: LinearOf<'m>, x: &'m str) -> Matched<(Linear, Linear)> {
    let intermediate = linear(graph, gelu::gelu(graph, output.x)?)?;
    if intermediate.x != x {
        return unrecognised("the feed-forward branch does not start where its residual does");
    }
    Ok((intermediate.weights, output.weights))
}
