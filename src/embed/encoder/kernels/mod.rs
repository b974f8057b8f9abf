//! The arithmetic of the encoder.
//!
//! Nearly all of the time goes into one shape of loop, a product of a tall left operand (tokens) with a wide right one
//! (weights), so the kernels are built around its inner tile: [`ROWS`] × [`COLUMNS`] sums kept in registers while the
//! depth runs by. WebAssembly hands us x64's sixteen vector registers at most; 4 × 8 sums in `f32x4` are eight of them,
//! two hold weights, one a broadcast token value, and nothing spills. Both operands are laid out in the order in which
//! the tile reads them:
//!
//! | operand          | layout                          | made                                |
//! |------------------|---------------------------------|-------------------------------------|
//! | left, f32        | `[rows/4][depth][4]`            | by [`pack_rows`], per chunk of rows |
//! | right, f32       | `[columns/8][depth][8]`         | once, in the pack                   |
//! | left, wide int8  | `[rows/4][depth/2][4][2]` `i16` | by `wide::quantise`                 |
//! | right, wide int8 | `[columns/8][depth/2][8][2]`    | by `wide::arrange`, at load         |
//! | left, narrow     | `[rows][depth]` `u8`            | by `narrow::quantise`               |
//! | right, narrow    | `[columns/8][depth/4][8][4]`    | once, in the pack                   |
//!
//! Attention is made of the same tile: keys are a left operand, eight queries a right one, and what comes out,
//! `[keys][8]`, is after softmax already the right operand of the product with the values. Softmax therefore runs down
//! columns, eight queries at once, without a horizontal sum anywhere.
//!
//! There are two codings of int8 activations, both per row, against the same int8 weights:
//! * **wide**: 14 bits and a sign, `i32x4_dot_i16x8`. What plain simd128 does best, and the more exact one;
//! * **narrow**: 7 bits with a zero point, `i16x8_relaxed_dot_i8x16_i7x16`, half as much again in speed. Seven, because
//!   only then does relaxed-simd promise one result everywhere, and because pairs of products fit in 16 bits.
//!
//! Which module runs is decided when the crate is compiled: `plain` natively, `simd128` in WebAssembly, its multiply-add
//! fused where relaxed-simd is enabled, and with it the narrow coding. `plain` is also the oracle that the tests hold the
//! others against. Everything exported is safe to call with any slices: sizes are asserted before a pointer is made.

// With simd128 most of these two is the tests' oracle only.
#[cfg_attr(all(target_arch = "wasm32", target_feature = "simd128"), allow(dead_code))]
pub mod plain;
#[cfg_attr(all(target_arch = "wasm32", target_feature = "simd128"), allow(dead_code))]
pub mod plain_int8;
#[cfg(all(target_arch = "wasm32", target_feature = "relaxed-simd"))]
pub mod relaxed;
mod room;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod simd128;
#[cfg(all(
    target_arch = "wasm32",
    target_feature = "simd128",
    any(test, not(target_feature = "relaxed-simd"))
))]
pub mod simd128_int8;
#[cfg(test)]
mod tests;

#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
pub use plain::{add_norm, gelu, gemm, pack_rows, softmax_columns};
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
pub use plain_int8::wide as int8;
#[cfg(all(target_arch = "wasm32", target_feature = "relaxed-simd"))]
pub use relaxed as int8;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
pub use simd128::{add_norm, gelu, gemm, pack_rows, softmax_columns};
#[cfg(all(
    target_arch = "wasm32",
    target_feature = "simd128",
    not(target_feature = "relaxed-simd")
))]
pub use simd128_int8 as int8;

pub use room::{Tight, TightPairs};

/// Rows of a tile, and of a panel of the left operand.
pub const ROWS: usize = 4;
/// Columns of a tile, and of a panel of the right operand.
pub const COLUMNS: usize = 8;
/// Int8 weights of one column that stand together.
pub const QUAD: usize = 4;

/// The sizes of a product `[rows][depth] · [depth][columns]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Rows of the left operand and the result.
    pub rows: usize,
    /// What is summed over.
    pub depth: usize,
    /// Columns of the right operand and the result; a multiple of [`COLUMNS`].
    pub columns: usize,
}

impl Shape {
    /// Panics unless every slice is long enough for the kernels' pointers.
    #[inline]
    fn check(self, left: usize, right: usize, out: usize, stride: usize) {
        let Self { rows, depth, columns } = self;
        assert!(columns.is_multiple_of(COLUMNS) && stride >= columns);
        assert!(left >= rows.next_multiple_of(ROWS) * depth);
        assert!(right >= columns * depth);
        assert!(rows == 0 || out >= (rows - 1) * stride + columns);
    }
}

/// The right operand of an int8 product.
#[derive(Debug, Clone, Copy)]
pub struct Int8Weights<'a> {
    /// In the layout of the coding.
    pub values: &'a [i8],
    /// One per column.
    pub scale: &'a [f32],
    /// What the values of each column add up to; takes the zero point out of the sums.
    pub sums: &'a [i32],
    /// One per column.
    pub bias: &'a [f32],
    /// What `arrange` found; only the narrow coding asks.
    #[cfg_attr(not(target_feature = "relaxed-simd"), allow(dead_code))]
    pub tight: TightPairs<'a>,
}

/// The left operand of an int8 product: rows of activations as integers.
#[derive(Debug, Default)]
pub struct Quantised<Code> {
    /// In the layout of the coding.
    pub codes: Vec<Code>,
    /// What one step is worth, one per row.
    pub scale: Vec<f32>,
    /// The code of zero, one per row; only the narrow coding has any.
    pub zero: Vec<i32>,
}

impl<Code: Copy + Default> Quantised<Code> {
    /// Makes room for `rows` rows of `width` codes.
    fn reserve(&mut self, rows: usize, width: usize) {
        let padded = rows.next_multiple_of(ROWS);
        if self.codes.len() < padded * width {
            self.codes.resize(padded * width, Code::default());
        }
        if self.scale.len() < padded {
            self.scale.resize(padded, 0.0);
            self.zero.resize(padded, 0);
        }
    }
}

/// The largest code of the wide coding: 14 bits, or fewer where a sum over `depth` products with -128 could otherwise
/// leave 32 bits.
pub fn wide_limit(depth: usize) -> i32 {
    const BITS: i32 = (1 << 13) - 1;
    (i32::MAX / 128)
        .checked_div(i32::try_from(depth).unwrap_or(i32::MAX))
        .map_or(BITS, |limit| limit.min(BITS))
}
