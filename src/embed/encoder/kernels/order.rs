//! In which order the narrow coding multiplies.
//!
//! Its inner step multiplies quads of weights (four depths of eight columns) with codes of 0 to 127 and adds up pairs of
//! products in 16 bits; widening those sums to 32 bits costs as much as the product itself. Two quads may be widened as
//! one when their 16-bit sums cannot overflow, whatever the codes are: when in every column the positive weights of both
//! add up to at most `32767 / 127 = 258`, and the negative ones to no less than -258. That saves a quarter of the
//! multiplications, and not a bit of the result.
//!
//! Neighbours in a file agree often enough for a saving to be worth little. But a sum may be taken in any order, so each
//! panel's quads are matched, once, when a pack is opened: pairs first, then the few that found no partner (some 2 % in
//! the bge models). A list says where in a row of codes each quad belongs.
//!
//! Invariants, which the kernel's pointers rely on: each panel's offsets are a permutation of the multiples of [`QUAD`]
//! below the depth, and it has no more than half as many pairs.

use std::ops::Range;

use super::{COLUMNS, QUAD};

/// What a column's weights of one sign in a pair may add up to.
const CALM: i32 = i16::MAX as i32 / 127;
/// Quads without a partner that are tried; a bound on the work that a pack can cause.
const TRIED: usize = 16;

/// The order of a whole weight.
#[derive(Debug, Default)]
pub struct Order {
    depth: usize,
    offsets: Vec<u32>,
    pairs: Vec<u32>,
}

/// The order of some of its panels.
#[derive(Debug, Default, Clone, Copy)]
pub struct Steps<'a> {
    depth: usize,
    offsets: &'a [u32],
    pairs: &'a [u32],
}

impl Order {
    /// Of a coding that needs none.
    pub const NONE: &'static Self = &Self {
        depth: 0,
        offsets: Vec::new(),
        pairs: Vec::new(),
    };

    /// Rearranges the panels of a weight so that partners stand together.
    #[cfg_attr(not(target_feature = "relaxed-simd"), allow(dead_code))] // the tests apart
    pub fn arrange(values: &mut [i8], depth: usize) -> Self {
        let mut order = Self {
            depth,
            ..Self::default()
        };
        for panel in values.chunks_exact_mut(depth * COLUMNS) {
            let (offsets, pairs) = arrange_panel(panel);
            order.offsets.extend(offsets);
            order.pairs.push(pairs);
        }
        order
    }

    /// That of columns, which are whole panels.
    pub fn of(&self, columns: Range<usize>) -> Steps<'_> {
        let (first, last) = (columns.start / COLUMNS, columns.end / COLUMNS);
        let quads = self.depth / QUAD;
        Steps {
            depth: self.depth,
            offsets: self.offsets.get(first * quads..last * quads).unwrap_or_default(),
            pairs: self.pairs.get(first..last).unwrap_or_default(),
        }
    }
}

#[cfg_attr(not(target_feature = "relaxed-simd"), allow(dead_code))] // the tests apart
impl<'a> Steps<'a> {
    /// Panics unless there is an order of this depth for so many columns.
    pub fn check(self, depth: usize, columns: usize) {
        assert!(self.depth == depth && self.pairs.len() >= columns / COLUMNS);
        assert!(self.offsets.len() >= columns / COLUMNS * (depth / QUAD));
    }

    /// A panel's offsets into a row of codes, and how many pairs they begin with.
    pub fn panel(self, index: usize) -> (&'a [u32], usize) {
        let quads = self.depth / QUAD;
        (
            &self.offsets[index * quads..][..quads],
            self.pairs[index] as usize,
        )
    }
}

/// What a quad's columns add up to, positive and negative weights apart.
#[derive(Clone, Copy)]
struct Sums {
    positive: [i32; COLUMNS],
    negative: [i32; COLUMNS],
}

impl Sums {
    /// All columns at once: a column's quad is a word, a word is a lane.
    fn of(quad: &[i8]) -> Self {
        let mut words = [0; COLUMNS];
        for (word, weights) in words.iter_mut().zip(quad.chunks_exact(QUAD)) {
            *word = weights
                .iter()
                .rev()
                .fold(0, |word, weight| word << 8 | i32::from(*weight as u8));
        }
        let (mut positive, mut negative) = ([0; COLUMNS], [0; COLUMNS]);
        for shift in [0, 8, 16, 24] {
            for (column, word) in words.iter().enumerate() {
                let weight = word << shift >> 24;
                positive[column] += weight.max(0);
                negative[column] += weight.min(0);
            }
        }
        Self { positive, negative }
    }

    fn is_calm_with(&self, other: &Self) -> bool {
        (0..COLUMNS).fold(true, |calm, column| {
            let most = self.positive[column] + other.positive[column];
            let least = self.negative[column] + other.negative[column];
            calm & (most <= CALM) & (least >= -CALM)
        })
    }
}

/// Kept a function of its own: a browser replaces slow code by fast code between calls.
#[inline(never)]
fn arrange_panel(panel: &mut [i8]) -> (impl Iterator<Item = u32> + use<>, u32) {
    const QUAD_BYTES: usize = QUAD * COLUMNS;
    let (mut order, mut alone) = (Vec::with_capacity(panel.len() / QUAD_BYTES), Vec::new());
    for (quad, values) in panel.chunks_exact(QUAD_BYTES).enumerate() {
        let sums = Sums::of(values);
        let tried = alone.iter().take(TRIED);
        match tried.into_iter().position(|(_, other)| sums.is_calm_with(other)) {
            Some(found) => {
                let (partner, _) = alone.swap_remove(found);
                order.extend([partner, quad]);
            }
            None => alone.push((quad, sums)),
        }
    }
    let pairs = order.len() as u32 / 2;
    order.extend(alone.into_iter().map(|(quad, _)| quad));
    let before = panel.to_vec();
    for (values, quad) in panel.chunks_exact_mut(QUAD_BYTES).zip(&order) {
        values.copy_from_slice(&before[quad * QUAD_BYTES..][..QUAD_BYTES]);
    }
    (order.into_iter().map(|quad| (quad * QUAD) as u32), pairs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::encoder::kernels::tests::Numbers;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    /// The extreme 16-bit sums of a column over some quads, computed without the rule that is tested.
    fn extremes(quads: &[i8], column: usize) -> (i32, i32) {
        let (mut even, mut odd) = ((0, 0), (0, 0));
        for quad in quads.chunks_exact(QUAD * COLUMNS) {
            for (depth, weight) in quad[column * QUAD..][..QUAD].iter().enumerate() {
                let lane = if depth < 2 { &mut even } else { &mut odd };
                let product = i32::from(*weight) * 127;
                *lane = (lane.0 + product.min(0), lane.1 + product.max(0));
            }
        }
        (even.0.min(odd.0), even.1.max(odd.1))
    }

    #[test]
    fn pairs_fit_in_sixteen_bits_and_every_quad_stands_where_its_offset_says() {
        let mut numbers = Numbers(11);
        for (depth, columns, shift) in [(8, 8, 0), (40, 16, 1), (384, 24, 1), (384, 8, 2), (1536, 8, 0)] {
            let values: Vec<i8> = (numbers.int8(depth * columns).into_iter())
                .map(|value| value >> shift)
                .collect();
            let mut arranged = values.clone();
            let order = Order::arrange(&mut arranged, depth);
            let steps = order.of(0..columns);
            steps.check(depth, columns);
            for panel in 0..columns / COLUMNS {
                let (offsets, pairs) = steps.panel(panel);
                let mut sorted = offsets.to_vec();
                sorted.sort_unstable();
                assert!(sorted.iter().copied().eq((0..depth as u32).step_by(QUAD)));
                let before = &values[panel * depth * COLUMNS..][..depth * COLUMNS];
                let after = &arranged[panel * depth * COLUMNS..][..depth * COLUMNS];
                for (quad, offset) in after.chunks_exact(QUAD * COLUMNS).zip(offsets) {
                    assert_eq!(quad, &before[*offset as usize * COLUMNS..][..QUAD * COLUMNS]);
                }
                for pair in after.chunks_exact(2 * QUAD * COLUMNS).take(pairs) {
                    for column in 0..COLUMNS {
                        let (low, high) = extremes(pair, column);
                        assert!(low >= i32::from(i16::MIN) && high <= i32::from(i16::MAX));
                    }
                }
                // Weights of this size nearly all find a partner; those of full range hardly any.
                let quads = depth / QUAD;
                assert!(shift < 2 || pairs * 2 >= quads - 2, "{pairs} of {quads}");
            }
        }
    }
}
