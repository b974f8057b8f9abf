//! One transformer layer: what it is made of, and its forward pass.
//!
//! Everything is borrowed. A pack's layers are views into the pack's bytes; the quantiser, which runs one layer at a time
//! to see what goes through it, borrows from weights it is about to throw away.
//!
//! Tokens of all sequences stand in one block of rows, without padding; only attention knows where a sequence begins.
//! All else works on chunks of rows small enough that what lies between two products stays in the second-level cache.

use std::ops::Range;

use super::attention::{self, Span};
use super::kernels::{self, Int8Weights, Quantised, ROWS, Shape, Tight};
use crate::embed::weights;

/// Rows between two products: 96 rows of 1536 floats are half a megabyte.
const CHUNK: usize = 96;

/// The right side of a linear layer in the kernels' layout.
#[derive(Debug, Clone, Copy)]
pub enum Panels<'a> {
    /// `[output/8][input][8]`.
    F32(&'a [f32]),
    /// `[output/8][input/4][8][4]` in the pack, rearranged by the coding when it is opened.
    Int8 {
        /// The integers.
        values: &'a [i8],
        /// One per output channel.
        scale: &'a [f32],
        /// What each output channel's integers add up to.
        sums: &'a [i32],
        /// What each input channel is multiplied with before it is quantised.
        smoothing: &'a [f32],
        /// What the coding found out about the values.
        tight: &'a Tight,
    },
}

/// `y = x · weight + bias`, ready for the kernels.
#[derive(Debug, Clone, Copy)]
pub struct Linear<'a> {
    /// Length of `x`.
    pub input: usize,
    /// Length of `y`.
    pub output: usize,
    /// The weight.
    pub panels: Panels<'a>,
    /// One per output channel.
    pub bias: &'a [f32],
}

/// LayerNorm's vectors.
#[derive(Debug, Clone, Copy)]
pub struct Norm<'a> {
    /// Multiplies.
    pub gain: &'a [f32],
    /// Is added.
    pub bias: &'a [f32],
    /// Is added to the variance.
    pub eps: f32,
}

impl<'a> Norm<'a> {
    /// A model file's.
    pub fn of(norm: &'a weights::Norm, eps: f32) -> Self {
        Self {
            gain: &norm.gain,
            bias: &norm.bias,
            eps,
        }
    }

    /// `x = norm(x + y)` for every row of `x`.
    pub fn add(&self, x: &mut [f32], y: Option<&[f32]>) {
        kernels::add_norm(x, y, self.gain, self.bias, self.eps);
    }
}

/// One transformer layer.
#[derive(Debug, Clone, Copy)]
pub struct Layer<'a> {
    /// Number of attention heads.
    pub heads: usize,
    /// Queries, keys and values side by side: they share their input.
    pub qkv: Linear<'a>,
    /// From the heads' joined context back to the hidden size.
    pub attention_output: Linear<'a>,
    /// After attention and residual.
    pub attention_norm: Norm<'a>,
    /// Up, before GELU.
    pub intermediate: Linear<'a>,
    /// And down.
    pub output: Linear<'a>,
    /// After feed-forward and residual.
    pub output_norm: Norm<'a>,
}

/// What a linear layer reads, for the quantiser, which wants to see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// Of queries, keys and values.
    Qkv,
    /// Of the attention's output layer.
    AttentionOutput,
    /// Of the first feed-forward layer.
    Intermediate,
    /// Of the second.
    Output,
}

/// All rows of each [`Input`].
pub type Watched = [Vec<f32>; 4];

/// The left side of a product, packed or quantised, whichever the weights ask for.
#[derive(Debug, Default)]
struct Operand {
    panels: Vec<f32>,
    codes: Quantised<kernels::int8::Code>,
    watched: Option<Watched>,
}

impl Operand {
    /// Takes `rows` rows of `linear`'s input, `stride` apart.
    fn load(&mut self, linear: &Linear, source: &[f32], stride: usize, rows: usize, input: Input) {
        let width = linear.input;
        match linear.panels {
            Panels::F32(_) => {
                grow(&mut self.panels, rows.next_multiple_of(ROWS) * width);
                kernels::pack_rows::<ROWS>(source, stride, rows, width, 1.0, &mut self.panels);
            }
            Panels::Int8 { smoothing, .. } => {
                kernels::int8::quantise(source, stride, rows, smoothing, &mut self.codes);
            }
        }
        if let Some(watched) = &mut self.watched {
            let rows = source.chunks(stride).take(rows);
            rows.for_each(|row| watched[input as usize].extend_from_slice(&row[..width]));
        }
    }

    /// The `columns` of `linear`'s output for the `rows` rows that were loaded, into rows `stride` apart.
    fn multiply(&self, linear: &Linear, rows: usize, columns: Range<usize>, out: &mut [f32], stride: usize) {
        let depth = linear.input;
        let shape = Shape {
            rows,
            depth,
            columns: columns.len(),
        };
        let range = columns.start * depth..columns.end * depth;
        let bias = &linear.bias[columns.clone()];
        match linear.panels {
            Panels::F32(panels) => {
                kernels::gemm(shape, &self.panels, &panels[range], Some(bias), out, stride)
            }
            Panels::Int8 {
                values,
                scale,
                sums,
                tight,
                ..
            } => {
                let (scale, sums) = (&scale[columns.clone()], &sums[columns.clone()]);
                let right = Int8Weights {
                    values: &values[range],
                    scale,
                    sums,
                    bias,
                    tight: tight.of(columns),
                };
                kernels::int8::gemm(shape, &self.codes, right, out, stride);
            }
        }
    }
}

/// Memory that lives from layer to layer and from call to call. It grows to what the longest batch needs.
#[derive(Debug, Default)]
pub struct Scratch {
    operand: Operand,
    /// `[tokens][hidden]`: queries, and then each head's context in their place.
    queries: Vec<f32>,
    /// `[tokens][2 · hidden]`.
    keys_values: Vec<f32>,
    /// `[chunk][hidden]`: what is added to the residual.
    narrow: Vec<f32>,
    /// `[chunk][intermediate]`.
    wide: Vec<f32>,
    attention: attention::Scratch,
}

impl Scratch {
    /// Starts to record what all linear layers read.
    pub fn watch(&mut self) {
        self.operand.watched = Some(Watched::default());
    }

    /// What has been recorded since [`Scratch::watch`].
    pub fn watched(&mut self) -> Watched {
        self.operand.watched.take().unwrap_or_default()
    }
}

impl Layer<'_> {
    fn hidden(&self) -> usize {
        self.qkv.input
    }

    /// Runs the layer on all tokens: `x` holds a row per token, `sequences` the rows that belong together.
    pub fn run(&self, x: &mut [f32], sequences: &[Range<usize>], scratch: &mut Scratch) {
        let hidden = self.hidden();
        let tokens = x.len() / hidden;
        grow(&mut scratch.queries, tokens * hidden);
        grow(&mut scratch.keys_values, tokens * 2 * hidden);
        for rows in chunks(tokens) {
            scratch.operand.load(
                &self.qkv,
                &x[rows.start * hidden..],
                hidden,
                rows.len(),
                Input::Qkv,
            );
            self.queries(rows.clone(), scratch);
            self.keys_values(rows, scratch);
        }
        let spans = sequences.iter().map(|rows| Span {
            keys: rows.clone(),
            queries: rows.clone(),
        });
        self.attend(spans, scratch);
        self.feed_forward(x, scratch);
    }

    /// Runs the last layer of a model that is pooled by its first token.
    ///
    /// Nobody reads what the other tokens become, so they only give keys and values; queries, both output layers and
    /// the feed-forward layer, ten of twelve parts of the work, are done for first tokens alone. The result is theirs,
    /// one row per sequence, and equal to what [`Layer::run`] gives to the last bit that rounding leaves.
    pub fn run_first_tokens(&self, x: &[f32], sequences: &[Range<usize>], scratch: &mut Scratch) -> Vec<f32> {
        let hidden = self.hidden();
        let tokens = x.len() / hidden;
        grow(&mut scratch.queries, sequences.len() * hidden);
        grow(&mut scratch.keys_values, tokens * 2 * hidden);
        for rows in chunks(tokens) {
            scratch.operand.load(
                &self.qkv,
                &x[rows.start * hidden..],
                hidden,
                rows.len(),
                Input::Qkv,
            );
            self.keys_values(rows, scratch);
        }
        let mut first: Vec<f32> = sequences
            .iter()
            .flat_map(|rows| &x[rows.start * hidden..][..hidden])
            .copied()
            .collect();
        for rows in chunks(sequences.len()) {
            scratch.operand.load(
                &self.qkv,
                &first[rows.start * hidden..],
                hidden,
                rows.len(),
                Input::Qkv,
            );
            self.queries(rows, scratch);
        }
        let spans = sequences.iter().enumerate().map(|(at, rows)| Span {
            keys: rows.clone(),
            queries: at..at + 1,
        });
        self.attend(spans, scratch);
        self.feed_forward(&mut first, scratch);
        first
    }

    fn queries(&self, rows: Range<usize>, scratch: &mut Scratch) {
        let hidden = self.hidden();
        let out = &mut scratch.queries[rows.start * hidden..];
        scratch
            .operand
            .multiply(&self.qkv, rows.len(), 0..hidden, out, hidden);
    }

    fn keys_values(&self, rows: Range<usize>, scratch: &mut Scratch) {
        let hidden = self.hidden();
        let out = &mut scratch.keys_values[rows.start * 2 * hidden..];
        scratch
            .operand
            .multiply(&self.qkv, rows.len(), hidden..3 * hidden, out, 2 * hidden);
    }

    fn attend(&self, spans: impl Iterator<Item = Span>, scratch: &mut Scratch) {
        let Scratch {
            queries,
            keys_values,
            attention,
            ..
        } = scratch;
        let heads = attention::Heads {
            count: self.heads,
            width: self.hidden() / self.heads,
        };
        for span in spans {
            attention::attend(heads, &span, keys_values, queries, attention);
        }
    }

    /// From the context, which stands where the queries were, to the layer's output in `x`.
    fn feed_forward(&self, x: &mut [f32], scratch: &mut Scratch) {
        let (hidden, intermediate) = (self.hidden(), self.intermediate.output);
        let Scratch {
            operand,
            queries,
            narrow,
            wide,
            ..
        } = scratch;
        for rows in chunks(x.len() / hidden) {
            let count = rows.len();
            grow(narrow, count * hidden);
            grow(wide, count * intermediate);
            let x = &mut x[rows.start * hidden..rows.end * hidden];
            let context = &queries[rows.start * hidden..];
            operand.load(
                &self.attention_output,
                context,
                hidden,
                count,
                Input::AttentionOutput,
            );
            operand.multiply(&self.attention_output, count, 0..hidden, narrow, hidden);
            self.attention_norm.add(x, Some(narrow));
            operand.load(&self.intermediate, x, hidden, count, Input::Intermediate);
            operand.multiply(&self.intermediate, count, 0..intermediate, wide, intermediate);
            kernels::gelu(&mut wide[..count * intermediate]);
            operand.load(&self.output, wide, intermediate, count, Input::Output);
            operand.multiply(&self.output, count, 0..hidden, narrow, hidden);
            self.output_norm.add(x, Some(narrow));
        }
    }
}

/// Splits rows into chunks of nearly one size, whole panels but for the last: a rest of a few rows would read all
/// weights once more for next to nothing.
fn chunks(rows: usize) -> impl Iterator<Item = Range<usize>> {
    let size = rows
        .div_ceil(rows.div_ceil(CHUNK).max(1))
        .next_multiple_of(ROWS)
        .max(ROWS);
    (0..rows)
        .step_by(size)
        .map(move |start| start..(start + size).min(rows))
}

/// Lengthens a buffer to at least `length`.
pub fn grow(buffer: &mut Vec<f32>, length: usize) {
    if buffer.len() < length {
        buffer.resize(length, 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_all_rows_once_and_none_is_a_leftover() {
        for rows in 0..600 {
            let chunks: Vec<_> = chunks(rows).collect();
            assert_eq!(
                chunks.iter().cloned().flatten().collect::<Vec<_>>(),
                (0..rows).collect::<Vec<_>>()
            );
            assert!(chunks.iter().all(|chunk| chunk.len() <= CHUNK));
            assert!(chunks.iter().rev().skip(1).all(|chunk| chunk.len() % ROWS == 0));
            if rows > CHUNK {
                assert!(
                    chunks.iter().all(|chunk| chunk.len() > CHUNK / 3),
                    "{rows}: {chunks:?}"
                );
            }
        }
    }
}
