//! The int8 kernels without tricks, in both codings.

use super::{COLUMNS, Int8Weights, QUAD, Quantised, ROWS, Shape, Tight};

/// Scales the integer sums that `sum` gives for a row and a column.
fn scale(
    shape: Shape,
    sum: impl Fn(usize, usize) -> i32,
    row_scale: &[f32],
    weights: &Int8Weights,
    out: &mut [f32],
    stride: usize,
) {
    for row in 0..shape.rows {
        for column in 0..shape.columns {
            let factor = row_scale[row] * weights.scale[column];
            out[row * stride + column] = sum(row, column) as f32 * factor + weights.bias[column];
        }
    }
}

/// Fourteen bits and a sign.
pub mod wide {
    use super::{COLUMNS, Int8Weights, QUAD, Quantised, ROWS, Shape, Tight};
    use crate::embed::encoder::kernels::wide_limit;

    /// One activation.
    pub type Code = i16;

    /// Where the code of a row at a depth stands.
    fn place(row: usize, depth: usize, width: usize) -> usize {
        row / ROWS * ROWS * width + depth / 2 * 2 * ROWS + row % ROWS * 2 + depth % 2
    }

    /// Quantises rows, `smoothing` times their values.
    pub fn quantise(
        source: &[f32],
        stride: usize,
        rows: usize,
        smoothing: &[f32],
        out: &mut Quantised<Code>,
    ) {
        let width = smoothing.len();
        out.reserve(rows, width);
        let limit = wide_limit(width) as f32;
        for row in 0..rows {
            let values = source[row * stride..][..width]
                .iter()
                .zip(smoothing)
                .map(|(value, factor)| value * factor);
            let largest = values
                .clone()
                .fold(1e-20, |largest: f32, value| largest.max(value.abs()));
            out.scale[row] = largest / limit;
            for (depth, value) in values.enumerate() {
                out.codes[place(row, depth, width)] = (value * (limit / largest)).round_ties_even() as i16;
            }
        }
    }

    /// From the pack's layout to this coding's, in place: quads of one column become pairs of all eight.
    pub fn arrange(values: &mut [i8], _depth: usize) -> Tight {
        for block in values.chunks_exact_mut(COLUMNS * QUAD) {
            let mut pairs = [0; COLUMNS * QUAD];
            for (at, value) in block.iter().enumerate() {
                let (column, depth) = (at / QUAD, at % QUAD);
                pairs[depth / 2 * 2 * COLUMNS + column * 2 + depth % 2] = *value;
            }
            block.copy_from_slice(&pairs);
        }
        Tight::default()
    }

    /// `out = left · right + bias` in integers, scaled at the end.
    pub fn gemm(shape: Shape, left: &Quantised<Code>, right: Int8Weights, out: &mut [f32], stride: usize) {
        shape.check(left.codes.len(), right.values.len(), out.len(), stride);
        let depth = shape.depth;
        let code = |row, at| i32::from(left.codes[place(row, at, depth)]);
        let weight = |column: usize, at: usize| {
            let panel = &right.values[column / COLUMNS * COLUMNS * depth..];
            i32::from(panel[at / 2 * 2 * COLUMNS + column % COLUMNS * 2 + at % 2])
        };
        let sum = |row, column| (0..depth).map(|at| code(row, at) * weight(column, at)).sum();
        super::scale(shape, sum, &left.scale, &right, out, stride);
    }
}

/// Seven bits and a zero point.
#[cfg_attr(not(test), allow(dead_code))] // the oracle of the relaxed-simd kernels; no build runs it
pub mod narrow {
    use super::{COLUMNS, Int8Weights, QUAD, Quantised, Shape, Tight};

    /// One activation, 0 to 127.
    pub type Code = u8;

    const LIMIT: f32 = 127.0;

    /// Quantises rows, `smoothing` times their values. Zero keeps a code of its own.
    pub fn quantise(
        source: &[f32],
        stride: usize,
        rows: usize,
        smoothing: &[f32],
        out: &mut Quantised<Code>,
    ) {
        let width = smoothing.len();
        out.reserve(rows, width);
        for row in 0..rows {
            let values = source[row * stride..][..width]
                .iter()
                .zip(smoothing)
                .map(|(value, factor)| value * factor);
            let (low, high) = values.clone().fold((0.0_f32, 0.0_f32), |(low, high), value| {
                (low.min(value), high.max(value))
            });
            let scale = ((high - low) / LIMIT).max(1e-20);
            let zero = (-low / scale).round_ties_even();
            (out.scale[row], out.zero[row]) = (scale, zero as i32);
            for (depth, value) in values.enumerate() {
                let code = (value * (1.0 / scale) + zero).round_ties_even();
                out.codes[row * width + depth] = code.clamp(0.0, LIMIT) as u8;
            }
        }
    }

    /// The pack's layout is this coding's, and no sum here is narrow.
    pub fn arrange(_: &mut [i8], _depth: usize) -> Tight {
        Tight::default()
    }

    /// `out = left · right + bias` in integers, scaled at the end.
    pub fn gemm(shape: Shape, left: &Quantised<Code>, right: Int8Weights, out: &mut [f32], stride: usize) {
        shape.check(left.codes.len(), right.values.len(), out.len(), stride);
        let depth = shape.depth;
        let code = |row, at| i32::from(left.codes[row * depth + at]);
        let weight = |column: usize, at: usize| {
            let panel = &right.values[column / COLUMNS * COLUMNS * depth..];
            i32::from(panel[at / QUAD * QUAD * COLUMNS + column % COLUMNS * QUAD + at % QUAD])
        };
        let sum = |row, column| {
            let sum: i32 = (0..depth).map(|at| code(row, at) * weight(column, at)).sum();
            sum - left.zero[row] * right.sums[column]
        };
        super::scale(shape, sum, &left.scale, &right, out, stride);
    }
}
