//! The int8 kernels of relaxed-simd: the narrow coding.
//!
//! `i32x4_relaxed_dot_i8x16_i7x16_add` would do in one instruction what takes three here. It is left alone: without
//! VNNI it is slower than the three, and Node 20's first compiler tier gets it wrong.
//!
//! A tile is three rows here, not four: LLVM puts all rows' first halves before the second ones, so that every row's
//! codes stay in a register. With four rows that is one register more than V8 has, and the sum that it spills waits for
//! its own store in every step (Chromium 156 on Zen 3: 76 GOP/s with four rows, 98 with three).
//!
//! # Safety
//! As in `simd128`: no alignment is needed, and every public function asserts the lengths its pointers run to.
#![allow(unsafe_code)]

use core::arch::wasm32::*;
use core::ops::Range;

use super::room::PAIR;
use super::simd128::{ROUNDER, highest_lane, load, madd, store};
use super::{COLUMNS, Int8Weights, QUAD, Quantised, Shape, Tight};

/// One activation, 0 to 127.
pub type Code = u8;

const LIMIT: f32 = 127.0;
/// Rows of a tile.
const TILE: usize = 3;

/// Quantises rows, `smoothing` times their values; the width is a multiple of eight. Zero keeps a code of its own.
pub fn quantise(source: &[f32], stride: usize, rows: usize, smoothing: &[f32], out: &mut Quantised<Code>) {
    let width = smoothing.len();
    assert!(width.is_multiple_of(COLUMNS) && (rows == 0 || source.len() >= (rows - 1) * stride + width));
    out.reserve(rows, width);
    for row in 0..rows {
        // SAFETY: the row and `smoothing` have `width` floats, read in groups of four up to a multiple of eight, and
        // `reserve` has made room for `width` codes of every row.
        unsafe {
            let (from, factors) = (source.as_ptr().add(row * stride), smoothing.as_ptr());
            let value = |at: usize| f32x4_mul(load(from.add(at)), load(factors.add(at)));
            let (mut low, mut high) = (f32x4_splat(0.0), f32x4_splat(0.0));
            for at in (0..width).step_by(4) {
                let value = value(at);
                (low, high) = (f32x4_pmin(low, value), f32x4_pmax(high, value));
            }
            let (low, high) = (-highest_lane(f32x4_neg(low)), highest_lane(high));
            let scale = ((high - low) / LIMIT).max(1e-20);
            let zero = (-low / scale).round_ties_even();
            (out.scale[row], out.zero[row]) = (scale, zero as i32);
            let (steps, rounder) = (f32x4_splat(1.0 / scale), f32x4_splat(ROUNDER));
            let offset = f32x4_splat(ROUNDER + zero);
            let code = |at: usize| i32x4_sub(madd(value(at), steps, offset), rounder);
            let to = out.codes.as_mut_ptr().add(row * width);
            for at in (0..width).step_by(8) {
                let codes = i16x8_narrow_i32x4(code(at), code(at + 4));
                let codes = u8x16_min(u8x16_narrow_i16x8(codes, codes), u8x16_splat(LIMIT as u8));
                v128_store64_lane::<0>(codes, to.add(at).cast());
            }
        }
    }
}

/// The pack's layout is this coding's.
pub fn arrange(values: &mut [i8], depth: usize) -> Tight {
    Tight::find(values, depth)
}

/// `out = left · right + bias` in integers, scaled at the end.
pub fn gemm(shape: Shape, left: &Quantised<Code>, right: Int8Weights, out: &mut [f32], stride: usize) {
    shape.check(left.codes.len(), right.values.len(), out.len(), stride);
    let Shape { rows, depth, columns } = shape;
    assert!(depth.is_multiple_of(PAIR) && left.scale.len() >= rows && left.zero.len() >= rows);
    assert!(right.scale.len() >= columns && right.bias.len() >= columns && right.sums.len() >= columns);
    right.tight.check(depth, columns);
    // Were it known to be ones, the compiler would turn the product with it into a pairwise addition, which is slower.
    let ones = core::hint::black_box(i16x8_splat(1));
    for column in (0..columns).step_by(COLUMNS) {
        let tight = right.tight.panel(column / COLUMNS);
        let mut row = 0;
        while row < rows {
            // Four are two and two: a tile of one row loads nearly as much as it multiplies.
            let count = if rows - row == 4 { 2 } else { TILE.min(rows - row) };
            // SAFETY: the shape's `check` has shown that rows of `depth` codes stand at `row * depth`, a panel of `depth` at
            // `column * depth`, and that `out` has `rows - row` rows of eight there; the assertions above cover scales,
            // zeros, sums and bias; the one of tight pairs has shown that they were found in this depth, so all are below its end.
            unsafe {
                let codes = left.codes.as_ptr().add(row * depth);
                let weights = right.values.as_ptr().add(column * depth);
                let rows = Codes { codes, depth, tight };
                let end = Finish {
                    row_scale: left.scale.as_ptr().add(row),
                    zero: left.zero.as_ptr().add(row),
                    scale: right.scale.as_ptr().add(column),
                    sums: right.sums.as_ptr().add(column),
                    bias: right.bias.as_ptr().add(column),
                    out: out.as_mut_ptr().add(row * stride + column),
                    stride,
                };
                match count {
                    1 => tile::<1>(rows, weights, ones, end),
                    2 => tile::<2>(rows, weights, ones, end),
                    _ => tile::<TILE>(rows, weights, ones, end),
                }
            }
            row += count;
        }
    }
}

/// What happens to a tile's integer sums.
struct Finish {
    row_scale: *const f32,
    zero: *const i32,
    scale: *const f32,
    sums: *const i32,
    bias: *const f32,
    out: *mut f32,
    stride: usize,
}

/// A tile's rows of codes, and which pairs of the weights that they meet are tight.
struct Codes<'a> {
    codes: *const u8,
    depth: usize,
    tight: &'a [u32],
}

/// # Safety
/// `left` is `M` rows of its depth, which is whole pairs and has the tight ones, ascending; `weights` is a panel of as
/// much, `end` has `M` rows and eight columns.
#[inline(always)]
unsafe fn tile<const M: usize>(left: Codes, weights: *const i8, ones: v128, end: Finish) {
    unsafe {
        let mut sums = [[i32x4_splat(0); 2]; M];
        let mut from = 0;
        for tight in left.tight {
            let to = *tight as usize * PAIR;
            add_pairs(&mut sums, &left, weights, ones, from..to);
            add_quad(&mut sums, &left, weights, ones, to);
            add_quad(&mut sums, &left, weights, ones, to + QUAD);
            from = to + PAIR;
        }
        add_pairs(&mut sums, &left, weights, ones, from..left.depth);
        for half in 0..2 {
            let (scale, bias) = (load(end.scale.add(4 * half)), load(end.bias.add(4 * half)));
            let columns = v128_load(end.sums.add(4 * half).cast());
            for (row, sums) in sums.iter().enumerate() {
                let sum = i32x4_sub(sums[half], i32x4_mul(i32x4_splat(*end.zero.add(row)), columns));
                let factor = f32x4_mul(f32x4_splat(*end.row_scale.add(row)), scale);
                store(
                    end.out.add(row * end.stride + 4 * half),
                    madd(f32x4_convert_i32x4(sum), factor, bias),
                );
            }
        }
    }
}

/// Adds the products of depths that are whole pairs, none of them tight.
///
/// # Safety
/// That of [`tile`], and `depths` within the depth.
#[inline(always)]
unsafe fn add_pairs<const M: usize>(
    sums: &mut [[v128; 2]; M],
    left: &Codes,
    weights: *const i8,
    ones: v128,
    depths: Range<usize>,
) {
    for at in depths.step_by(PAIR) {
        unsafe {
            let weights = weights.add(at * COLUMNS);
            let quads = [0, 16, 32, 48].map(|at| v128_load(weights.add(at).cast()));
            for (row, sums) in sums.iter_mut().enumerate() {
                let codes = left.codes.add(row * left.depth + at);
                let codes = [0, QUAD].map(|at| v128_load32_splat(codes.add(at).cast()));
                for half in 0..2 {
                    // The pair is not tight: 16 bits hold this sum.
                    let pairs = i16x8_add(
                        i16x8_relaxed_dot_i8x16_i7x16(quads[half], codes[0]),
                        i16x8_relaxed_dot_i8x16_i7x16(quads[half + 2], codes[1]),
                    );
                    sums[half] = i32x4_add(sums[half], i32x4_dot_i16x8(pairs, ones));
                }
            }
        }
    }
}

/// Adds the products of one quad.
///
/// # Safety
/// That of [`tile`], and a quad at depth `at`.
#[inline(always)]
unsafe fn add_quad<const M: usize>(
    sums: &mut [[v128; 2]; M],
    left: &Codes,
    weights: *const i8,
    ones: v128,
    at: usize,
) {
    unsafe {
        let weights = weights.add(at * COLUMNS);
        let quads = [0, 16].map(|at| v128_load(weights.add(at).cast()));
        for (row, sums) in sums.iter_mut().enumerate() {
            let code = v128_load32_splat(left.codes.add(row * left.depth + at).cast());
            for half in 0..2 {
                // Two products of ±128 · 127 at most: 16 bits hold their sum.
                let pairs = i16x8_relaxed_dot_i8x16_i7x16(quads[half], code);
                sums[half] = i32x4_add(sums[half], i32x4_dot_i16x8(pairs, ones));
            }
        }
    }
}
