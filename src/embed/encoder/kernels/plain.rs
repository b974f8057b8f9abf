//! The f32 kernels without tricks: what native builds run, and the oracle of the others.

use super::{COLUMNS, ROWS, Shape};

/// `out = left · right + bias`; `out` has rows `stride` apart, no bias is zero.
pub fn gemm(shape: Shape, left: &[f32], right: &[f32], bias: Option<&[f32]>, out: &mut [f32], stride: usize) {
    shape.check(left.len(), right.len(), out.len(), stride);
    let Shape { rows, depth, columns } = shape;
    for row in (0..rows).step_by(ROWS) {
        let left = &left[row * depth..][..ROWS * depth];
        for column in (0..columns).step_by(COLUMNS) {
            let right = &right[column * depth..][..COLUMNS * depth];
            let mut sums = [[0.0_f32; COLUMNS]; ROWS];
            for (left, right) in left.chunks_exact(ROWS).zip(right.chunks_exact(COLUMNS)) {
                for (sums, left) in sums.iter_mut().zip(left) {
                    for (sum, right) in sums.iter_mut().zip(right) {
                        *sum += left * right;
                    }
                }
            }
            for (index, sums) in sums.iter().enumerate().take(rows - row) {
                let out = &mut out[(row + index) * stride + column..][..COLUMNS];
                for (offset, (out, sum)) in out.iter_mut().zip(sums).enumerate() {
                    *out = sum + bias.map_or(0.0, |bias| bias[column + offset]);
                }
            }
        }
    }
}

/// Lays rows out as panels `[rows/W][width][W]`, multiplied by `factor`; rows that a last panel lacks are zero.
pub fn pack_rows<const W: usize>(
    source: &[f32],
    stride: usize,
    rows: usize,
    width: usize,
    factor: f32,
    panels: &mut [f32],
) {
    for row in 0..rows.next_multiple_of(W) {
        let panel = &mut panels[row / W * W * width..][..W * width];
        for column in 0..width {
            let value = if row < rows {
                source[row * stride + column] * factor
            } else {
                0.0
            };
            panel[column * W + row % W] = value;
        }
    }
}

/// In each of the eight columns of `scores`, `2^(score - highest)`; gives the columns' sums.
pub fn softmax_columns(scores: &mut [f32]) -> [f32; COLUMNS] {
    let mut highest = [f32::NEG_INFINITY; COLUMNS];
    for row in scores.chunks_exact(COLUMNS) {
        for (highest, score) in highest.iter_mut().zip(row) {
            *highest = highest.max(*score);
        }
    }
    let mut sums = [0.0; COLUMNS];
    for row in scores.chunks_exact_mut(COLUMNS) {
        for ((sum, score), highest) in sums.iter_mut().zip(row).zip(&highest) {
            *score = (*score - highest).exp2();
            *sum += *score;
        }
    }
    sums
}

/// `x = norm(x + y)`, row by row; the rows are as long as `gain`, no `y` adds nothing.
pub fn add_norm(x: &mut [f32], y: Option<&[f32]>, gain: &[f32], bias: &[f32], eps: f32) {
    let width = gain.len();
    if let Some(y) = y {
        for (x, y) in x.iter_mut().zip(y) {
            *x += y;
        }
    }
    for row in x.chunks_exact_mut(width) {
        let mean = row.iter().sum::<f32>() / width as f32;
        let variance = row
            .iter()
            .map(|value| (value - mean) * (value - mean))
            .sum::<f32>()
            / width as f32;
        let factor = 1.0 / (variance + eps).sqrt();
        for ((value, gain), bias) in row.iter_mut().zip(gain).zip(bias) {
            *value = (*value - mean) * factor * gain + bias;
        }
    }
}

/// `x · Φ(x)`, the exact form with erf, not the tanh approximation.
pub fn gelu(x: &mut [f32]) {
    for value in x {
        *value = *value * 0.5 * (1.0 + erf(*value * std::f32::consts::FRAC_1_SQRT_2));
    }
}

/// Numerator and denominator of a rational approximation of erf in `z²` on ±4, highest power first; beyond, erf is ±1
/// in f32. Absolute error below 3e-7. The coefficients are Eigen's.
pub(super) const ERF_NUMERATOR: [f32; 7] = [
    -2.726_142_3e-10,
    2.770_681_4e-8,
    -2.101_024e-6,
    -5.692_506_4e-5,
    -7.349_906_3e-4,
    -2.954_6e-3,
    -1.609_603_3e-2,
];
pub(super) const ERF_DENOMINATOR: [f32; 5] = [
    -1.456_607_2e-5,
    -2.133_740_6e-4,
    -1.682_827e-3,
    -7.373_329e-3,
    -1.426_473_9e-2,
];

fn erf(z: f32) -> f32 {
    let z = z.clamp(-4.0, 4.0);
    let polynomial = |coefficients: &[f32]| coefficients.iter().fold(0.0, |sum, next| sum * (z * z) + next);
    z * polynomial(&ERF_NUMERATOR) / polynomial(&ERF_DENOMINATOR)
}
