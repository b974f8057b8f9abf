//! The int8 kernels of plain simd128: the wide coding.
//!
//! # Safety
//! As in `simd128`: no alignment is needed, and every public function asserts the lengths its pointers run to.
#![allow(unsafe_code)]

use core::arch::wasm32::*;

use super::simd128::{ROUNDER, highest_lane, load, store};
use super::{COLUMNS, Int8Weights, QUAD, Quantised, ROWS, Shape, Tight, wide_limit};

/// One activation: 14 bits and a sign.
pub type Code = i16;

/// Quantises rows, `smoothing` times their values; the width is a multiple of eight.
pub fn quantise(source: &[f32], stride: usize, rows: usize, smoothing: &[f32], out: &mut Quantised<Code>) {
    let width = smoothing.len();
    assert!(width.is_multiple_of(COLUMNS) && (rows == 0 || source.len() >= (rows - 1) * stride + width));
    out.reserve(rows, width);
    let limit = wide_limit(width) as f32;
    for row in 0..rows {
        // SAFETY: the row and `smoothing` have `width` floats, read in groups of four up to a multiple of eight; the
        // panel of codes has `width * ROWS` elements, of which pair `p` of this row is at `(p * ROWS + row % ROWS) * 2`.
        unsafe {
            let (from, factors) = (source.as_ptr().add(row * stride), smoothing.as_ptr());
            let value = |at: usize| f32x4_mul(load(from.add(at)), load(factors.add(at)));
            let mut largest = f32x4_splat(1e-20);
            for at in (0..width).step_by(4) {
                largest = f32x4_pmax(largest, f32x4_abs(value(at)));
            }
            let largest = highest_lane(largest);
            out.scale[row] = largest / limit;
            let (steps, rounder) = (f32x4_splat(limit / largest), f32x4_splat(ROUNDER));
            let code = |at: usize| i32x4_sub(f32x4_add(f32x4_mul(value(at), steps), rounder), rounder);
            let mut to = out
                .codes
                .as_mut_ptr()
                .add(row / ROWS * ROWS * width + row % ROWS * 2)
                .cast::<u32>();
            for at in (0..width).step_by(8) {
                let codes = i16x8_narrow_i32x4(code(at), code(at + 4));
                v128_store32_lane::<0>(codes, to);
                v128_store32_lane::<1>(codes, to.add(ROWS));
                v128_store32_lane::<2>(codes, to.add(2 * ROWS));
                v128_store32_lane::<3>(codes, to.add(3 * ROWS));
                to = to.add(4 * ROWS);
            }
        }
    }
}

/// From the pack's layout to this coding's, in place: quads of one column become pairs of all eight.
pub fn arrange(values: &mut [i8], _depth: usize) -> Tight {
    for block in values.chunks_exact_mut(COLUMNS * QUAD) {
        // SAFETY: the block is exactly 32 bytes.
        unsafe {
            let at = block.as_mut_ptr().cast::<v128>();
            let (low, high) = (v128_load(at), v128_load(at.add(1)));
            v128_store(at, i16x8_shuffle::<0, 2, 4, 6, 8, 10, 12, 14>(low, high));
            v128_store(at.add(1), i16x8_shuffle::<1, 3, 5, 7, 9, 11, 13, 15>(low, high));
        }
    }
    Tight::default()
}

/// `out = left · right + bias` in integers, scaled at the end.
pub fn gemm(shape: Shape, left: &Quantised<Code>, right: Int8Weights, out: &mut [f32], stride: usize) {
    shape.check(left.codes.len(), right.values.len(), out.len(), stride);
    let Shape { rows, depth, columns } = shape;
    assert!(depth.is_multiple_of(2) && left.scale.len() >= rows);
    assert!(right.scale.len() >= columns && right.bias.len() >= columns);
    for column in (0..columns).step_by(COLUMNS) {
        for row in (0..rows).step_by(ROWS) {
            // SAFETY: `check` has shown that whole panels of `depth` stand at `row * depth` and `column * depth` and
            // that `out` has `rows - row` rows of eight there; the assertions above cover scales and bias.
            unsafe {
                let codes = left.codes.as_ptr().add(row * depth);
                let weights = right.values.as_ptr().add(column * depth);
                let end = Finish {
                    row_scale: left.scale.as_ptr().add(row),
                    scale: right.scale.as_ptr().add(column),
                    bias: right.bias.as_ptr().add(column),
                    out: out.as_mut_ptr().add(row * stride + column),
                    stride,
                };
                match rows - row {
                    1 => tile::<1>(depth, codes, weights, end),
                    2 => tile::<2>(depth, codes, weights, end),
                    3 => tile::<3>(depth, codes, weights, end),
                    _ => tile::<ROWS>(depth, codes, weights, end),
                }
            }
        }
    }
}

/// What happens to a tile's integer sums.
struct Finish {
    row_scale: *const f32,
    scale: *const f32,
    bias: *const f32,
    out: *mut f32,
    stride: usize,
}

/// # Safety
/// `codes` and `weights` are panels of `depth`, `end` has `M` rows and eight columns.
#[inline(always)]
unsafe fn tile<const M: usize>(depth: usize, mut codes: *const i16, mut weights: *const i8, end: Finish) {
    unsafe {
        let mut sums = [[i32x4_splat(0); 2]; M];
        let last = weights.add(depth * COLUMNS);
        while weights < last {
            let pairs = [
                i16x8_load_extend_i8x8(weights),
                i16x8_load_extend_i8x8(weights.add(8)),
            ];
            for (row, sums) in sums.iter_mut().enumerate() {
                let code = v128_load32_splat(codes.add(row * 2).cast());
                sums[0] = i32x4_add(sums[0], i32x4_dot_i16x8(code, pairs[0]));
                sums[1] = i32x4_add(sums[1], i32x4_dot_i16x8(code, pairs[1]));
            }
            weights = weights.add(2 * COLUMNS);
            codes = codes.add(2 * ROWS);
        }
        for half in 0..2 {
            let (scale, bias) = (load(end.scale.add(4 * half)), load(end.bias.add(4 * half)));
            for (row, sums) in sums.iter().enumerate() {
                let factor = f32x4_mul(f32x4_splat(*end.row_scale.add(row)), scale);
                let value = f32x4_add(f32x4_mul(f32x4_convert_i32x4(sums[half]), factor), bias);
                store(end.out.add(row * end.stride + 4 * half), value);
            }
        }
    }
}
