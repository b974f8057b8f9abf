//! Where the narrow coding has room in 16 bits.
//!
//! Its inner step multiplies quads of weights with codes of 0 to 127 and adds two products each in 16 bits; widening
//! those sums to 32 bits costs as much as the product itself. Two quads are widened as one when no code can make the sum
//! of their 16-bit sums overflow: when the two plus two weights that meet in it add up to at most `32767 / 127 = 258`,
//! the positive ones and the negative ones each by themselves. That saves a quarter of the multiplications and changes
//! not a bit of the result.
//!
//! Nearly all neighbours are like that (98 to 99 % in the bge models). The others are tight; which ones they are is found
//! out once, when a pack is opened, and the product takes them one quad at a time.
//!
//! Invariant, which the kernel's pointers rely on: a panel's tight pairs ascend, and all are below `depth / 8`.

use std::ops::Range;

use super::{COLUMNS, QUAD};

/// Depths of a pair.
pub const PAIR: usize = 2 * QUAD;
/// What the weights of one sign that meet in a 16-bit sum may add up to.
const ROOM: i16 = i16::MAX / 127;

/// The tight pairs of a whole weight.
#[derive(Debug, Default)]
pub struct Tight {
    depth: usize,
    /// Of all panels, one after the other.
    pairs: Vec<u32>,
    /// Where each panel's end.
    ends: Vec<u32>,
}

/// The tight pairs of some of its panels.
#[derive(Debug, Default, Clone, Copy)]
#[cfg_attr(not(target_feature = "relaxed-simd"), allow(dead_code))] // the tests apart
pub struct TightPairs<'a> {
    depth: usize,
    pairs: &'a [u32],
    /// Where the first panel's begin.
    start: u32,
    ends: &'a [u32],
}

impl Tight {
    /// Of a coding that does not ask.
    pub const UNKNOWN: &'static Self = &Self {
        depth: 0,
        pairs: Vec::new(),
        ends: Vec::new(),
    };

    /// Looks for those of a weight in the pack's layout.
    #[cfg_attr(not(target_feature = "relaxed-simd"), allow(dead_code))] // the tests apart
    pub fn find(values: &[i8], depth: usize) -> Self {
        let mut tight = Self {
            depth,
            ..Self::default()
        };
        for panel in values.chunks_exact(depth * COLUMNS) {
            find_in_panel(panel, &mut tight.pairs);
            tight.ends.push(tight.pairs.len() as u32);
        }
        tight
    }

    /// Those of columns, which are whole panels.
    pub fn of(&self, columns: Range<usize>) -> TightPairs<'_> {
        let (first, last) = (columns.start / COLUMNS, columns.end / COLUMNS);
        let before = first.checked_sub(1).and_then(|before| self.ends.get(before));
        TightPairs {
            depth: self.depth,
            pairs: &self.pairs,
            start: before.copied().unwrap_or(0),
            ends: self.ends.get(first..last).unwrap_or_default(),
        }
    }
}

#[cfg_attr(not(target_feature = "relaxed-simd"), allow(dead_code))] // the tests apart
impl<'a> TightPairs<'a> {
    /// Panics unless these were found in weights of this depth, for so many columns.
    pub fn check(self, depth: usize, columns: usize) {
        assert!(self.depth == depth && self.ends.len() >= columns / COLUMNS);
    }

    /// Those of one panel.
    pub fn panel(self, index: usize) -> &'a [u32] {
        let start = index
            .checked_sub(1)
            .map_or(self.start, |before| self.ends[before]);
        &self.pairs[start as usize..self.ends[index] as usize]
    }
}

/// Kept a function of its own: a browser replaces slow code by fast code between calls.
#[inline(never)]
fn find_in_panel(panel: &[i8], found: &mut Vec<u32>) {
    for (at, pair) in panel.chunks_exact(PAIR * COLUMNS).enumerate() {
        if is_tight(pair) {
            found.push(at as u32);
        }
    }
}

/// Without a branch, so that all sums are looked at together.
fn is_tight(pair: &[i8]) -> bool {
    let (first, second) = pair.split_at(QUAD * COLUMNS);
    let sums = first.chunks_exact(2).zip(second.chunks_exact(2));
    sums.fold(false, |tight, (first, second)| {
        let weights = [first[0], first[1], second[0], second[1]].map(i16::from);
        let most: i16 = weights.iter().map(|weight| weight.max(&0)).sum();
        let least: i16 = weights.iter().map(|weight| weight.min(&0)).sum();
        tight | (most > ROOM) | (least < -ROOM)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::encoder::kernels::tests::Numbers;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    /// Whether codes of 0 to 127 can take a 16-bit sum of the pair out of 16 bits, tried with the worst of them.
    fn can_overflow(pair: &[i8]) -> bool {
        let weight = |quad: usize, at: usize| i32::from(pair[quad * QUAD * COLUMNS + at]);
        (0..QUAD * COLUMNS).step_by(2).any(|at| {
            let met = [weight(0, at), weight(0, at + 1), weight(1, at), weight(1, at + 1)];
            let worst = |sign: i32| met.iter().map(|weight| (weight * sign).max(0) * 127).sum::<i32>() * sign;
            i16::try_from(worst(1)).is_err() || i16::try_from(worst(-1)).is_err()
        })
    }

    #[test]
    fn the_room_ends_where_127_times_the_weights_leaves_sixteen_bits() {
        // 127 · 258 = 32766 and 127 · 259 = 32893; every lane is asked.
        for (at, sign) in (0..QUAD * COLUMNS).step_by(2).flat_map(|at| [(at, 1), (at, -1)]) {
            let mut pair = [0; PAIR * COLUMNS];
            for (place, weight) in [(at, 127), (at + 1, 2), (at + QUAD * COLUMNS, 127)] {
                pair[place] = weight * sign;
            }
            let last = at + 1 + QUAD * COLUMNS;
            pair[last] = 2 * sign;
            assert!(!is_tight(&pair) && !can_overflow(&pair));
            pair[last] = 3 * sign;
            assert!(is_tight(&pair) && can_overflow(&pair));
            // The other sign takes nothing away: its code may be 0.
            pair[last - 1] = -100 * sign;
            pair[last] = 127 * sign;
            assert!(!is_tight(&pair));
        }
    }

    #[test]
    fn exactly_those_pairs_are_tight_that_could_overflow() {
        let mut numbers = Numbers(11);
        let (mut tight_ones, mut others) = (0, 0);
        for (depth, columns, shift) in [(8, 8, 0), (40, 16, 1), (384, 24, 1), (384, 8, 2), (1536, 8, 0)] {
            let values: Vec<i8> = (numbers.int8(depth * columns).into_iter())
                .map(|value| value >> shift)
                .collect();
            let tight = Tight::find(&values, depth);
            // The second half of the columns must find its own.
            let half = columns / COLUMNS / 2 * COLUMNS;
            for part in [0..columns, half..columns] {
                let found = tight.of(part.clone());
                found.check(depth, part.len());
                for panel in 0..part.len() / COLUMNS {
                    let panel_values = &values[(part.start + panel * COLUMNS) * depth..][..depth * COLUMNS];
                    let pairs = panel_values.chunks_exact(PAIR * COLUMNS).enumerate();
                    let expected: Vec<u32> = pairs
                        .filter(|(_, pair)| can_overflow(pair))
                        .map(|(at, _)| at as u32)
                        .collect();
                    assert_eq!(found.panel(panel), expected);
                    (tight_ones, others) = (
                        tight_ones + expected.len(),
                        others + depth / PAIR - expected.len(),
                    );
                }
            }
        }
        assert!(tight_ones > 100 && others > 100, "{tight_ones} and {others}");
    }
}
