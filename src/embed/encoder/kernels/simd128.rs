//! The f32 kernels in 128-bit SIMD; with relaxed-simd, multiply and add are one instruction.
//!
//! # Safety
//! Loads and stores of WebAssembly need no alignment, so a pointer is good when it stays inside its slice. Each public
//! function asserts the lengths that its loops run to before it makes a pointer; the private functions state what they
//! rely on.
#![allow(unsafe_code)]

use core::arch::wasm32::*;

use super::plain::{ERF_DENOMINATOR, ERF_NUMERATOR};
use super::{COLUMNS, ROWS, Shape};

/// Depth that one pass over the tiles covers: a panel of weights this deep (12 KB) stays in the first-level cache while
/// all rows go by.
const DEPTH_BLOCK: usize = 384;

/// `a * b + c`.
#[inline(always)]
pub(super) fn madd(a: v128, b: v128, c: v128) -> v128 {
    #[cfg(target_feature = "relaxed-simd")]
    return f32x4_relaxed_madd(a, b, c);
    #[cfg(not(target_feature = "relaxed-simd"))]
    return f32x4_add(f32x4_mul(a, b), c);
}

/// # Safety
/// Four floats can be read at `at`.
#[inline(always)]
pub(super) unsafe fn load(at: *const f32) -> v128 {
    unsafe { v128_load(at.cast()) }
}

/// # Safety
/// Four floats can be written at `at`.
#[inline(always)]
pub(super) unsafe fn store(at: *mut f32, value: v128) {
    unsafe { v128_store(at.cast(), value) }
}

/// `out = left · right + bias`; `out` has rows `stride` apart, no bias is zero.
pub fn gemm(shape: Shape, left: &[f32], right: &[f32], bias: Option<&[f32]>, out: &mut [f32], stride: usize) {
    shape.check(left.len(), right.len(), out.len(), stride);
    assert!(bias.is_none_or(|bias| bias.len() >= shape.columns));
    let Shape { rows, depth, columns } = shape;
    let bias = bias.map_or(core::ptr::null(), <[f32]>::as_ptr);
    let (left, right, out) = (left.as_ptr(), right.as_ptr(), out.as_mut_ptr());
    let mut from = 0;
    loop {
        let block = DEPTH_BLOCK.min(depth - from);
        for column in (0..columns).step_by(COLUMNS) {
            for row in (0..rows).step_by(ROWS) {
                // SAFETY: `check` has shown that a panel of `depth` stands at `row * depth` and `column * depth`, of
                // which this reads the part `from..from + block`; that `rows - row` rows of eight can be written at
                // `out`; and `bias` is null or has `columns` elements.
                unsafe {
                    let left = left.add(row * depth + from * ROWS);
                    let right = right.add(column * depth + from * COLUMNS);
                    let out = out.add(row * stride + column);
                    let start = match (from, bias.is_null()) {
                        (0, true) => Start::Zero,
                        (0, false) => Start::Bias(bias.add(column)),
                        _ => Start::Out,
                    };
                    tile_of(rows - row, block, left, right, start, out, stride);
                }
            }
        }
        from += block;
        if from >= depth {
            break;
        }
    }
}

/// What a tile's sums begin with.
#[derive(Clone, Copy)]
enum Start {
    Zero,
    Bias(*const f32),
    Out,
}

/// A full tile, or what is left of one.
///
/// # Safety
/// That of [`tile`], for as many rows as there are, at most four.
#[inline(always)]
unsafe fn tile_of(
    rows: usize,
    depth: usize,
    left: *const f32,
    right: *const f32,
    start: Start,
    out: *mut f32,
    stride: usize,
) {
    unsafe {
        match rows {
            1 => tile::<1>(depth, left, right, start, out, stride),
            2 => tile::<2>(depth, left, right, start, out, stride),
            3 => tile::<3>(depth, left, right, start, out, stride),
            _ => tile::<ROWS>(depth, left, right, start, out, stride),
        }
    }
}

/// # Safety
/// `left` and `right` are panels of `depth`, `out` has `M` rows of eight `stride` apart, a bias has eight elements.
#[inline(always)]
unsafe fn tile<const M: usize>(
    depth: usize,
    mut left: *const f32,
    mut right: *const f32,
    start: Start,
    out: *mut f32,
    stride: usize,
) {
    unsafe {
        let mut sums = [[f32x4_splat(0.0); 2]; M];
        match start {
            Start::Zero => {}
            Start::Bias(bias) => sums = [[load(bias), load(bias.add(4))]; M],
            Start::Out => {
                for (row, sums) in sums.iter_mut().enumerate() {
                    let out = out.add(row * stride);
                    *sums = [load(out), load(out.add(4))];
                }
            }
        }
        let end = right.add(depth * COLUMNS);
        while right < end {
            let weights = [load(right), load(right.add(4))];
            for (row, sums) in sums.iter_mut().enumerate() {
                let value = v128_load32_splat(left.add(row).cast());
                sums[0] = madd(value, weights[0], sums[0]);
                sums[1] = madd(value, weights[1], sums[1]);
            }
            right = right.add(COLUMNS);
            left = left.add(ROWS);
        }
        for (row, sums) in sums.iter().enumerate() {
            let out = out.add(row * stride);
            store(out, sums[0]);
            store(out.add(4), sums[1]);
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
    assert!(W == ROWS || W == COLUMNS);
    assert!(rows == 0 || source.len() >= (rows - 1) * stride + width);
    assert!(panels.len() >= rows.next_multiple_of(W) * width);
    let zeros = [0.0_f32; 4];
    let by = f32x4_splat(factor);
    for row in (0..rows.next_multiple_of(W)).step_by(4) {
        // SAFETY: a row below `rows` has `width` floats in `source`, read four at a time while four are left and then
        // singly; a row that does not exist is read from `zeros` without advancing. Panel `row / W` has `width * W`
        // floats, written four at a time at `row % W`, which is at most `W - 4`.
        unsafe {
            let mut from = [zeros.as_ptr(); 4];
            let mut step = [0; 4];
            for at in 0..rows.saturating_sub(row).min(4) {
                (from[at], step[at]) = (source.as_ptr().add((row + at) * stride), 1);
            }
            let mut to = panels.as_mut_ptr().add(row / W * W * width + row % W);
            for column in (0..width / 4 * 4).step_by(4) {
                let quad = transpose([
                    load(from[0].add(column * step[0])),
                    load(from[1].add(column * step[1])),
                    load(from[2].add(column * step[2])),
                    load(from[3].add(column * step[3])),
                ]);
                for values in quad {
                    store(to, f32x4_mul(values, by));
                    to = to.add(W);
                }
            }
            for column in width / 4 * 4..width {
                for at in 0..4 {
                    *to.add(at) = *from[at].add(column * step[at]) * factor;
                }
                to = to.add(W);
            }
        }
    }
}

/// Rows of a 4 × 4 block to its columns.
#[inline(always)]
fn transpose([a, b, c, d]: [v128; 4]) -> [v128; 4] {
    let (ab_low, ab_high) = (
        i32x4_shuffle::<0, 4, 1, 5>(a, b),
        i32x4_shuffle::<2, 6, 3, 7>(a, b),
    );
    let (cd_low, cd_high) = (
        i32x4_shuffle::<0, 4, 1, 5>(c, d),
        i32x4_shuffle::<2, 6, 3, 7>(c, d),
    );
    [
        i64x2_shuffle::<0, 2>(ab_low, cd_low),
        i64x2_shuffle::<1, 3>(ab_low, cd_low),
        i64x2_shuffle::<0, 2>(ab_high, cd_high),
        i64x2_shuffle::<1, 3>(ab_high, cd_high),
    ]
}

/// In each of the eight columns of `scores`, `2^(score - highest)`; gives the columns' sums.
pub fn softmax_columns(scores: &mut [f32]) -> [f32; COLUMNS] {
    let mut highest = [f32x4_splat(f32::NEG_INFINITY); 2];
    let mut sums = [f32x4_splat(0.0); 2];
    let mut result = [0.0; COLUMNS];
    // SAFETY: each chunk is exactly eight floats, and so is `result`.
    unsafe {
        for row in scores.chunks_exact(COLUMNS) {
            highest[0] = f32x4_pmax(highest[0], load(row.as_ptr()));
            highest[1] = f32x4_pmax(highest[1], load(row.as_ptr().add(4)));
        }
        for row in scores.chunks_exact_mut(COLUMNS) {
            let at = row.as_mut_ptr();
            let low = exp2(f32x4_sub(load(at), highest[0]));
            let high = exp2(f32x4_sub(load(at.add(4)), highest[1]));
            store(at, low);
            store(at.add(4), high);
            sums = [f32x4_add(sums[0], low), f32x4_add(sums[1], high)];
        }
        store(result.as_mut_ptr(), sums[0]);
        store(result.as_mut_ptr().add(4), sums[1]);
    }
    result
}

/// Adding this to a small f32 rounds it to an integer, which then stands in the lowest bits: 1.5 · 2^23.
pub(super) const ROUNDER: f32 = 12_582_912.0;

/// `2^x` for `x` up to 0, to 2e-7 of itself; the least result is `2^-126`.
///
/// `x` is split into an integer, which goes straight into the exponent's bits, and a rest within a half, for which a
/// polynomial of degree five (minimax, first coefficient 1) does.
#[inline(always)]
fn exp2(x: v128) -> v128 {
    #[allow(clippy::approx_constant)] // a minimax coefficient near ln 2, not ln 2
    const POLYNOMIAL: [f32; 4] = [9.671_513e-3, 5.550_733_6e-2, 2.402_224_2e-1, 6.931_47e-1];
    let x = f32x4_pmax(x, f32x4_splat(-126.0));
    let shifted = f32x4_add(x, f32x4_splat(ROUNDER));
    let rest = f32x4_sub(x, f32x4_sub(shifted, f32x4_splat(ROUNDER)));
    let mut power = f32x4_splat(1.326_472e-3);
    for coefficient in POLYNOMIAL {
        power = madd(power, rest, f32x4_splat(coefficient));
    }
    let power = madd(power, rest, f32x4_splat(1.0));
    i32x4_add(power, i32x4_shl(shifted, 23))
}

/// The largest of the four.
#[inline(always)]
pub(super) fn highest_lane(x: v128) -> f32 {
    let low = f32x4_extract_lane::<0>(x).max(f32x4_extract_lane::<1>(x));
    low.max(f32x4_extract_lane::<2>(x).max(f32x4_extract_lane::<3>(x)))
}

#[inline(always)]
fn sum_of_lanes(x: v128) -> f32 {
    (f32x4_extract_lane::<0>(x) + f32x4_extract_lane::<1>(x))
        + (f32x4_extract_lane::<2>(x) + f32x4_extract_lane::<3>(x))
}

/// `x = norm(x + y)`, row by row; the rows are as long as `gain`, no `y` adds nothing.
pub fn add_norm(x: &mut [f32], y: Option<&[f32]>, gain: &[f32], bias: &[f32], eps: f32) {
    let width = gain.len();
    assert!(width > 0 && width.is_multiple_of(4) && bias.len() == width);
    assert!(y.is_none_or(|y| y.len() >= x.len()));
    for (index, row) in x.chunks_exact_mut(width).enumerate() {
        let at = row.as_mut_ptr();
        // SAFETY: every access is to four floats at a multiple of four below `width`, the length of the row, of the
        // gain and of the bias; `y` is as long as `x`, so it has that row too.
        unsafe {
            let mut sum = f32x4_splat(0.0);
            for column in (0..width).step_by(4) {
                let mut value = load(at.add(column));
                if let Some(y) = y {
                    value = f32x4_add(value, load(y.as_ptr().add(index * width + column)));
                    store(at.add(column), value);
                }
                sum = f32x4_add(sum, value);
            }
            let mean = f32x4_splat(sum_of_lanes(sum) / width as f32);
            let mut squares = f32x4_splat(0.0);
            for column in (0..width).step_by(4) {
                let distance = f32x4_sub(load(at.add(column)), mean);
                squares = madd(distance, distance, squares);
            }
            let factor = f32x4_splat(1.0 / (sum_of_lanes(squares) / width as f32 + eps).sqrt());
            for column in (0..width).step_by(4) {
                let value = f32x4_mul(f32x4_sub(load(at.add(column)), mean), factor);
                let scaled = madd(
                    value,
                    load(gain.as_ptr().add(column)),
                    load(bias.as_ptr().add(column)),
                );
                store(at.add(column), scaled);
            }
        }
    }
}

/// `x · Φ(x)`, the exact form with erf, not the tanh approximation.
pub fn gelu(x: &mut [f32]) {
    let mut chunks = x.chunks_exact_mut(4);
    for chunk in &mut chunks {
        // SAFETY: the chunk is exactly four floats.
        unsafe { store(chunk.as_mut_ptr(), gelu4(load(chunk.as_ptr()))) }
    }
    super::plain::gelu(chunks.into_remainder());
}

#[inline(always)]
fn gelu4(x: v128) -> v128 {
    let z = f32x4_mul(x, f32x4_splat(core::f32::consts::FRAC_1_SQRT_2));
    let z = f32x4_pmin(f32x4_splat(4.0), f32x4_pmax(f32x4_splat(-4.0), z));
    let square = f32x4_mul(z, z);
    let numerator = f32x4_mul(z, polynomial(&ERF_NUMERATOR, square));
    let erf = f32x4_div(numerator, polynomial(&ERF_DENOMINATOR, square));
    let half = f32x4_mul(x, f32x4_splat(0.5));
    madd(half, erf, half)
}

/// By Horner's rule, highest power first.
#[inline(always)]
fn polynomial<const N: usize>(coefficients: &[f32; N], x: v128) -> v128 {
    let mut sum = f32x4_splat(coefficients[0]);
    for coefficient in &coefficients[1..] {
        sum = madd(sum, x, f32x4_splat(*coefficient));
    }
    sum
}
