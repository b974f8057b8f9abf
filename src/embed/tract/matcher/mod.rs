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
use crate::Error;
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

/// A BERT encoder in a graph. Its weights are taken out part by part, so that they need not stand in memory twice.
pub struct Recognised<'m> {
    graph: Graph<'m>,
    config: BertConfig,
    /// The closing norm of each layer, in order.
    tops: Vec<norm::LayerNorm<'m>>,
    embeddings: norm::LayerNorm<'m>,
}

/// The BERT encoder that this graph is, or why it is not one.
pub fn recognise(model: &OnnxModel) -> Matched<Recognised<'_>> {
    let Some((graph, output)) = Graph::new(model).zip(model.token_output()) else {
        return unrecognised("it has no graph or no output");
    };
    let mut top = norm::layer_norm(&graph, output).map_err(|reason| within("at its output", reason))?;
    let mut tops = Vec::new();
    let mut shape = None;
    while !embeddings::is_sum_of_lookups(&graph, top.x) {
        let place = format!("in layer {} from the end", tops.len() + 1);
        let found = layer(&graph, &top).map_err(|reason| within(&place, reason))?;
        if top.eps != found.below.eps || shape.is_some_and(|shape| shape != found.shape) {
            return unrecognised("its layers differ in their epsilon, their sizes or number of heads");
        }
        shape = Some(found.shape);
        tops.push(std::mem::replace(&mut top, found.below));
    }
    tops.reverse();
    let Some((heads, hidden, intermediate)) = shape else {
        return unrecognised("it has no layers");
    };
    let tables =
        embeddings::embeddings(&graph, top.x).map_err(|reason| within("in its embeddings", reason))?;
    let config = BertConfig {
        hidden,
        layers: tops.len(),
        heads,
        intermediate,
        vocab: tables.vocab,
        positions: tables.positions,
        eps: top.eps,
    };
    let recognised = Recognised {
        graph,
        config,
        tops,
        embeddings: top,
    };
    match recognised.with_tables(tables).validate_embeddings() {
        Ok(()) => Ok(recognised),
        Err(error) => unrecognised(error.to_string()),
    }
}

impl<'m> Recognised<'m> {
    /// Its shape.
    pub fn config(&self) -> &BertConfig {
        &self.config
    }

    /// Everything but the layers.
    pub fn embeddings(&self) -> Result<BertWeights, Error> {
        let tables = embeddings::embeddings(&self.graph, self.embeddings.x).map_err(changed)?;
        Ok(self.with_tables(tables))
    }

    /// The layers, in order, each taken out when it is asked for.
    pub fn layers(&self) -> impl Iterator<Item = Result<LayerWeights, Error>> {
        let weights = |top| Ok(layer(&self.graph, top).map_err(changed)?.weights);
        self.tops.iter().map(weights)
    }

    fn with_tables(&self, tables: embeddings::Embeddings) -> BertWeights {
        BertWeights {
            config: self.config.clone(),
            word: tables.word,
            position: tables.position,
            token_type0: tables.token_type0,
            embedding_norm: self.embeddings.norm.clone(),
            layers: Vec::new(),
        }
    }
}

/// What was recognised once is recognised again.
fn changed(reason: Unrecognised) -> Error {
    Error::internal("a recognised graph cannot be read").caused_by(reason)
}

/// All weights at once.
pub fn extract(model: &OnnxModel) -> Matched<BertWeights> {
    let recognised = recognise(model)?;
    let unreadable = |error: Error| Unrecognised(error.to_string());
    let mut weights = recognised.embeddings().map_err(unreadable)?;
    weights.layers = recognised
        .layers()
        .collect::<Result<_, _>>()
        .map_err(unreadable)?;
    if !weights.is_int8() {
        // Unsigned weights may or may not fit into signed bytes, each matrix for itself; the whole is one or the other.
        weights.layers.iter_mut().for_each(matrix::in_floats);
    }
    Ok(weights)
}

fn within(place: &str, reason: Unrecognised) -> Unrecognised {
    Unrecognised(format!("{place}, {reason}"))
}

struct Layer<'m> {
    weights: LayerWeights,
    /// Number of heads, hidden and intermediate size.
    shape: (usize, usize, usize),
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
        output_norm: top.norm.clone(),
    };
    let (hidden, inner) = (weights.q.input, weights.intermediate.output);
    match weights.check("layer's", hidden, inner) {
        Ok(()) => Ok(Layer {
            weights,
            shape: (heads, hidden, inner),
            below,
        }),
        Err(error) => unrecognised(error.to_string()),
    }
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
