//! Every kernel against arithmetic that nobody can get wrong, at shapes that leave tiles, panels and blocks unfilled.
//!
//! One suite per kind, instantiated for each implementation that the build has: `plain` everywhere, against loops in f64;
//! the SIMD kernels in WebAssembly, in both builds, against the same, and their codes and sums against `plain`.

mod f32;
mod int8;

use super::{COLUMNS, Shape};

/// Numbers that look random and are the same everywhere (splitmix64).
pub(super) struct Numbers(pub(super) u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Between -1 and 1.
    fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    fn vector(&mut self, length: usize) -> Vec<f32> {
        (0..length).map(|_| self.unit()).collect()
    }

    pub(super) fn int8(&mut self, length: usize) -> Vec<i8> {
        (0..length).map(|_| self.next() as i8).collect()
    }
}

/// Rows, depth, columns: around every edge of tile, panel and depth block, and a few in the middle of nowhere.
const SHAPES: [[usize; 3]; 14] = [
    [1, 8, 8],
    [2, 16, 8],
    [3, 24, 16],
    [4, 8, 24],
    [5, 32, 8],
    [6, 40, 40],
    [7, 384, 16],
    [8, 392, 24],
    [9, 8, 72],
    [13, 768, 8],
    [16, 776, 16],
    [17, 64, 64],
    [31, 120, 48],
    [96, 48, 8],
];

fn close(found: f32, expected: f64, tolerance: f64, what: &dyn std::fmt::Debug) {
    let distance = (f64::from(found) - expected).abs();
    assert!(distance <= tolerance, "{what:?}: {found} for {expected}");
}

/// Right operands from row-major `[depth][columns]`: groups of `quad` of one column stand together.
fn right_panels<T: Copy>(matrix: &[T], shape: Shape, quad: usize) -> Vec<T> {
    let Shape { depth, columns, .. } = shape;
    let mut panels = matrix.to_vec();
    for (at, panel) in panels.iter_mut().enumerate() {
        let (block, within) = (at / (COLUMNS * depth), at % (COLUMNS * depth));
        let (group, within) = (within / (COLUMNS * quad), within % (COLUMNS * quad));
        let (column, row) = (block * COLUMNS + within / quad, group * quad + within % quad);
        *panel = matrix[row * columns + column];
    }
    panels
}
