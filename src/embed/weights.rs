//! The weights of a BERT encoder, as they come out of a model file.
//!
//! This is the meeting point of three parts that know nothing of each other: the matcher that finds a BERT encoder in
//! an ONNX graph, the quantiser that makes int8 of f32, and the pack that lays everything out for the kernels. Numbers
//! here are exactly those of the file; nothing is transposed, fused or rescaled yet.
//!
//! Invariants, held by [`BertWeights::validate`] and relied upon by everybody after it:
//! * a linear layer's weight is row-major `[input][output]`, as ONNX stores the right side of a MatMul;
//! * an int8 value `w` means `w * scale`: there is no zero point. A file's unsigned values are converted by whoever
//!   reads them (`u8` minus its zero point);
//! * linear layers have one scale per output channel, embedding tables one per row. A file with one scale for the whole
//!   tensor repeats it.

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// No real model comes near these; a hostile header does.
const MAX_DIMENSION: usize = 1 << 20;
const MAX_ELEMENTS: usize = 1 << 29;

/// The shape of a BERT encoder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BertConfig {
    /// Length of a token's vector.
    pub hidden: usize,
    /// Number of transformer layers.
    pub layers: usize,
    /// Number of attention heads; divides `hidden`.
    pub heads: usize,
    /// Length of the vector between the two feed-forward layers.
    pub intermediate: usize,
    /// Number of tokens known.
    pub vocab: usize,
    /// Longest sequence that has position embeddings.
    pub positions: usize,
    /// What LayerNorm adds to the variance.
    pub eps: f32,
}

impl BertConfig {
    /// Length of one attention head's vectors.
    pub fn head_dim(&self) -> usize {
        self.hidden / self.heads
    }

    /// Refuses shapes that no BERT has, so that later arithmetic on them cannot overflow or divide by zero.
    pub fn validate(&self) -> Result<()> {
        let named = [
            ("hidden", self.hidden),
            ("layers", self.layers),
            ("heads", self.heads),
            ("intermediate", self.intermediate),
            ("vocab", self.vocab),
            ("positions", self.positions),
        ];
        for (name, value) in named {
            if value == 0 || value > MAX_DIMENSION {
                return Err(bad(name, "is outside what a BERT encoder can have").with("value", value));
            }
        }
        if !self.hidden.is_multiple_of(self.heads) {
            return Err(bad("heads", "does not divide the hidden size").with("value", self.heads));
        }
        let largest = self
            .hidden
            .saturating_mul(self.vocab.max(self.positions).max(self.intermediate));
        if largest > MAX_ELEMENTS || self.layers > 1024 {
            return Err(bad("config", "describes a model larger than memory"));
        }
        if !(self.eps > 0.0 && self.eps < 1.0) {
            return Err(bad("eps", "must lie between 0 and 1").with("value", f64::from(self.eps)));
        }
        Ok(())
    }
}

/// A table of numbers, row-major.
#[derive(Debug, Clone, PartialEq)]
pub enum Matrix {
    /// As they are.
    F32(Vec<f32>),
    /// `values * scale`; what a scale belongs to (row or column) is the owner's affair.
    I8 {
        /// The integers.
        values: Vec<i8>,
        /// One factor per output channel (linear layers) or per row (embedding tables).
        scale: Vec<f32>,
    },
}

impl Matrix {
    /// Number of elements.
    pub fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::I8 { values, .. } => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// As f32, where scales belong to columns, `columns` of them.
    pub fn to_f32(&self, columns: usize) -> Vec<f32> {
        match self {
            Self::F32(values) => values.clone(),
            Self::I8 { values, scale } => {
                let rows = values.chunks_exact(columns);
                rows.flat_map(|row| {
                    row.iter()
                        .zip(scale)
                        .map(|(value, scale)| f32::from(*value) * scale)
                })
                .collect()
            }
        }
    }

    fn check(&self, what: &str, elements: usize, scales: usize) -> Result<()> {
        if self.len() != elements {
            return Err(bad(what, "has the wrong number of elements")
                .with("expected", elements)
                .with("found", self.len()));
        }
        match self {
            Self::F32(values) => finite(what, values),
            Self::I8 { scale, .. } if scale.len() != scales => {
                Err(bad(what, "has the wrong number of scales")
                    .with("expected", scales)
                    .with("found", scale.len()))
            }
            Self::I8 { scale, .. } => finite(what, scale),
        }
    }
}

/// `y = x · weight + bias`.
#[derive(Debug, Clone, PartialEq)]
pub struct Linear {
    /// Length of `x`.
    pub input: usize,
    /// Length of `y`.
    pub output: usize,
    /// Row-major `[input][output]`, scales per output channel.
    pub weight: Matrix,
    /// One per output channel.
    pub bias: Vec<f32>,
}

impl Linear {
    fn check(&self, what: &str, input: usize, output: usize) -> Result<()> {
        if (self.input, self.output) != (input, output) {
            let found = format!("{}x{}", self.input, self.output);
            return Err(bad(what, "has the wrong shape")
                .with("expected", format!("{input}x{output}"))
                .with("found", found));
        }
        self.weight.check(what, input * output, output)?;
        vector(what, &self.bias, output)
    }
}

/// LayerNorm's two vectors.
#[derive(Debug, Clone, PartialEq)]
pub struct Norm {
    /// Multiplies the normalised vector.
    pub gain: Vec<f32>,
    /// Is added afterwards.
    pub bias: Vec<f32>,
}

impl Norm {
    fn check(&self, what: &str, length: usize) -> Result<()> {
        vector(what, &self.gain, length)?;
        vector(what, &self.bias, length)
    }
}

/// One transformer layer.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerWeights {
    /// Queries; the `1/sqrt(head_dim)` of attention is *not* in it.
    pub q: Linear,
    /// Keys.
    pub k: Linear,
    /// Values.
    pub v: Linear,
    /// From the heads' joined context back to the hidden size.
    pub attention_output: Linear,
    /// After attention and residual.
    pub attention_norm: Norm,
    /// First feed-forward layer, before GELU.
    pub intermediate: Linear,
    /// Second feed-forward layer.
    pub output: Linear,
    /// After feed-forward and residual.
    pub output_norm: Norm,
}

impl LayerWeights {
    /// The six linear layers with the names errors and documents use, in the order the forward pass meets them.
    pub fn linears(&self) -> [(&'static str, &Linear); 6] {
        [
            ("q", &self.q),
            ("k", &self.k),
            ("v", &self.v),
            ("attention_output", &self.attention_output),
            ("intermediate", &self.intermediate),
            ("output", &self.output),
        ]
    }

    /// Checks every shape, and that every number is finite; `place` names the layer in errors.
    pub fn check(&self, place: &str, hidden: usize, intermediate: usize) -> Result<()> {
        for (name, linear) in self.linears() {
            let (input, output) = match name {
                "intermediate" => (hidden, intermediate),
                "output" => (intermediate, hidden),
                _ => (hidden, hidden),
            };
            linear.check(&format!("{place} {name}"), input, output)?;
        }
        self.attention_norm
            .check(&format!("{place} attention norm"), hidden)?;
        self.output_norm.check(&format!("{place} output norm"), hidden)
    }
}

/// A whole encoder.
#[derive(Debug, Clone, PartialEq)]
pub struct BertWeights {
    /// Its shape.
    pub config: BertConfig,
    /// `[vocab][hidden]`.
    pub word: Matrix,
    /// `[positions][hidden]`.
    pub position: Matrix,
    /// The one row of the token type table that single sentences use.
    pub token_type0: Vec<f32>,
    /// After the sum of the three embeddings.
    pub embedding_norm: Norm,
    /// In order.
    pub layers: Vec<LayerWeights>,
}

impl BertWeights {
    /// Checks every shape against the configuration, and that every number is finite.
    pub fn validate(&self) -> Result<()> {
        let config = &self.config;
        self.validate_embeddings()?;
        if self.layers.len() != config.layers {
            return Err(bad("layers", "has the wrong number")
                .with("expected", config.layers)
                .with("found", self.layers.len()));
        }
        let mut layers = self.layers.iter().enumerate();
        layers.try_for_each(|(index, layer)| {
            layer.check(&format!("layer {index}"), config.hidden, config.intermediate)
        })
    }

    /// The same for everything but the layers, which may not be here yet.
    pub fn validate_embeddings(&self) -> Result<()> {
        let config = &self.config;
        config.validate()?;
        let hidden = config.hidden;
        self.word
            .check("word embeddings", config.vocab * hidden, config.vocab)?;
        self.position
            .check("position embeddings", config.positions * hidden, config.positions)?;
        vector("token type embedding", &self.token_type0, hidden)?;
        self.embedding_norm.check("embedding norm", hidden)
    }

    /// Whether the linear layers are integers, as in a published int8 file.
    pub fn is_int8(&self) -> bool {
        let int8 = |linear: &Linear| matches!(linear.weight, Matrix::I8 { .. });
        self.layers
            .iter()
            .all(|layer| layer.linears().iter().all(|(_, linear)| int8(linear)))
    }
}

fn vector(what: &str, values: &[f32], length: usize) -> Result<()> {
    if values.len() != length {
        return Err(bad(what, "has the wrong length")
            .with("expected", length)
            .with("found", values.len()));
    }
    finite(what, values)
}

fn finite(what: &str, values: &[f32]) -> Result<()> {
    if values.iter().all(|value| value.is_finite()) {
        Ok(())
    } else {
        Err(bad(what, "holds a number that is not finite"))
    }
}

fn bad(what: &str, problem: &str) -> Error {
    Error::model_load(format!("the model's {what} {problem}")).with("tensor", what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linear(input: usize, output: usize) -> Linear {
        let weight = Matrix::I8 {
            values: vec![1; input * output],
            scale: vec![0.5; output],
        };
        Linear {
            input,
            output,
            weight,
            bias: vec![0.0; output],
        }
    }

    fn norm(length: usize) -> Norm {
        Norm {
            gain: vec![1.0; length],
            bias: vec![0.0; length],
        }
    }

    fn sample() -> BertWeights {
        let config = BertConfig {
            hidden: 4,
            layers: 1,
            heads: 2,
            intermediate: 6,
            vocab: 5,
            positions: 3,
            eps: 1e-12,
        };
        let layer = LayerWeights {
            q: linear(4, 4),
            k: linear(4, 4),
            v: linear(4, 4),
            attention_output: linear(4, 4),
            attention_norm: norm(4),
            intermediate: linear(4, 6),
            output: linear(6, 4),
            output_norm: norm(4),
        };
        BertWeights {
            config,
            word: Matrix::F32(vec![0.0; 20]),
            position: Matrix::I8 {
                values: vec![0; 12],
                scale: vec![1.0; 3],
            },
            token_type0: vec![0.0; 4],
            embedding_norm: norm(4),
            layers: vec![layer],
        }
    }

    fn tensor(weights: &BertWeights) -> String {
        let error = weights.validate().unwrap_err();
        assert_eq!(error.code(), "model_load");
        error.context().details["tensor"].as_str().unwrap().to_owned()
    }

    #[test]
    fn a_consistent_encoder_is_accepted() {
        sample().validate().unwrap();
        assert!(sample().is_int8());
    }

    #[test]
    fn each_wrong_shape_is_named() {
        let mut weights = sample();
        weights.word = Matrix::F32(vec![0.0; 19]);
        assert_eq!(tensor(&weights), "word embeddings");

        let mut weights = sample();
        weights.position = Matrix::I8 {
            values: vec![0; 12],
            scale: vec![1.0; 4],
        };
        assert_eq!(tensor(&weights), "position embeddings");

        let mut weights = sample();
        weights.layers[0].output = linear(4, 6);
        assert_eq!(tensor(&weights), "layer 0 output");

        let mut weights = sample();
        weights.layers[0].k.bias.pop();
        assert_eq!(tensor(&weights), "layer 0 k");

        let mut weights = sample();
        weights.layers.clear();
        assert_eq!(tensor(&weights), "layers");

        let mut weights = sample();
        weights.config.heads = 3;
        assert_eq!(tensor(&weights), "heads");
    }

    #[test]
    fn numbers_that_are_not_finite_are_refused() {
        let mut weights = sample();
        weights.layers[0].output_norm.gain[2] = f32::NAN;
        assert_eq!(tensor(&weights), "layer 0 output norm");
    }

    #[test]
    fn hostile_sizes_are_refused_before_any_multiplication_can_overflow() {
        for value in [0, usize::MAX, 1 << 21] {
            let mut weights = sample();
            weights.config.hidden = value;
            assert_eq!(tensor(&weights), "hidden");
        }
        let mut weights = sample();
        weights.config = BertConfig {
            hidden: 1 << 20,
            vocab: 1 << 20,
            ..weights.config
        };
        assert_eq!(tensor(&weights), "config");
    }
}
