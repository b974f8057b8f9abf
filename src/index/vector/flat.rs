//! The exact scan: every row is a candidate, nothing is approximated.
//!
//! Rows lie in one buffer, so that a scan streams through memory. A row keeps its number for life and a removed one
//! is handed out again, so that owners hold plain numbers. An item owns several rows, one per text, and scores as
//! its best one. Rows are checked on entry (length, finite numbers, unit or zero), which is what lets the scan itself
//! be a bare loop that the compiler turns into SIMD.

use crate::{Error, Result};

/// A row's number, stable until it is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row(u32);

/// Unit vectors of one length, in one buffer.
#[derive(Debug, Default)]
pub struct FlatIndex {
    dims: usize,
    data: Vec<f32>,
    free: Vec<Row>,
}

impl FlatIndex {
    /// An empty index of vectors of this length.
    pub fn new(dims: usize) -> Self {
        Self {
            dims,
            ..Self::default()
        }
    }

    /// The length of every vector.
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// How many rows are in use.
    pub fn len(&self) -> usize {
        (self.data.len() / self.dims.max(1)).saturating_sub(self.free.len())
    }

    /// Whether no row is in use.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a row. A vector of another length or with a number that is not finite is an error.
    pub fn insert(&mut self, vector: &[f32]) -> Result<Row> {
        check(vector, self.dims)?;
        if let Some(row) = self.free.pop() {
            if let Some(place) = self.place(row).and_then(|range| self.data.get_mut(range)) {
                place.copy_from_slice(vector);
            }
            return Ok(row);
        }
        let next = u32::try_from(self.data.len() / self.dims.max(1))
            .map_err(|_| Error::quota_exceeded("the index holds no more than 4 billion vectors"))?;
        self.data.extend_from_slice(vector);
        Ok(Row(next))
    }

    /// Gives a row back and erases what was in it. The caller does not use the number again.
    pub fn remove(&mut self, row: Row) {
        if let Some(place) = self.place(row).and_then(|range| self.data.get_mut(range)) {
            place.fill(0.0);
        }
        self.free.push(row);
    }

    /// The vector in a row.
    pub fn vector(&self, row: Row) -> Option<&[f32]> {
        self.data.get(self.place(row)?)
    }

    /// The best cosine between the query and these rows; `None` without rows or for a query of another length.
    pub fn best(&self, query: &[f32], rows: impl IntoIterator<Item = Row>) -> Option<f32> {
        if query.len() != self.dims {
            return None;
        }
        rows.into_iter()
            .filter_map(|row| self.vector(row))
            .map(|vector| dot(query, vector))
            .reduce(f32::max)
    }

    fn place(&self, row: Row) -> Option<std::ops::Range<usize>> {
        let start = (row.0 as usize).checked_mul(self.dims)?;
        Some(start..start.checked_add(self.dims)?)
    }
}

fn check(vector: &[f32], dims: usize) -> Result<()> {
    if vector.len() != dims {
        let message = format!("a vector has {} numbers where the index has {dims}", vector.len());
        return Err(Error::embedding(message)
            .with("expected", dims)
            .with("got", vector.len()));
    }
    if vector.iter().any(|number| !number.is_finite()) {
        return Err(Error::embedding("a vector holds a number that is not finite"));
    }
    Ok(())
}

const LANES: usize = 16;

/// The dot product of two vectors of one length, summed in lanes so that it compiles to SIMD on every target.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a_lanes, a_rest) = a.as_chunks::<LANES>();
    let (b_lanes, b_rest) = b.as_chunks::<LANES>();
    let mut sums = [0.0_f32; LANES];
    for (x, y) in a_lanes.iter().zip(b_lanes) {
        for (sum, (x, y)) in sums.iter_mut().zip(x.iter().zip(y)) {
            *sum += x * y;
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum();
    sums.iter().sum::<f32>() + rest
}

#[cfg(all(test, not(target_arch = "wasm32")))]
#[allow(clippy::unwrap_used, clippy::panic)] // a test may
mod tests {
    use proptest::prelude::*;
    use std::collections::HashMap;

    use super::*;

    /// The oracle: one sum in f64, no lanes, no buffer.
    fn naive_dot(a: &[f32], b: &[f32]) -> f64 {
        a.iter().zip(b).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum()
    }

    fn unit(vector: Vec<f32>) -> Vec<f32> {
        let length = naive_dot(&vector, &vector).sqrt().max(f64::MIN_POSITIVE);
        vector.iter().map(|&x| (f64::from(x) / length) as f32).collect()
    }

    #[test]
    fn a_3_4_5_triangle_scores_its_cosine() {
        let mut index = FlatIndex::new(2);
        let row = index.insert(&unit(vec![30.0, 40.0])).unwrap();
        assert_eq!(index.vector(row).unwrap(), [0.6, 0.8]);
        assert_eq!(index.best(&[1.0, 0.0], [row]), Some(0.6));
    }

    #[test]
    fn an_item_scores_as_its_best_row() {
        let mut index = FlatIndex::new(2);
        let rows = [[0.0, 1.0], [0.6, 0.8], [-1.0, 0.0]].map(|v| index.insert(&v).unwrap());
        assert_eq!(index.best(&[1.0, 0.0], rows), Some(0.6));
        assert_eq!(index.best(&[1.0, 0.0], []), None);
    }

    #[test]
    fn wrong_lengths_and_numbers_that_are_not_finite_are_refused() {
        let mut index = FlatIndex::new(2);
        for bad in [
            &[1.0][..],
            &[1.0, 0.0, 0.0],
            &[f32::NAN, 1.0],
            &[f32::INFINITY, 0.0],
            &[],
        ] {
            assert_eq!(index.insert(bad).unwrap_err().code(), "embedding");
        }
        assert!(index.is_empty());
        let row = index.insert(&[1.0, 0.0]).unwrap();
        assert_eq!(index.best(&[1.0], [row]), None);
    }

    #[test]
    fn what_is_removed_is_gone_from_memory() {
        let mut index = FlatIndex::new(2);
        let rows = [[0.6, 0.8], [1.0, 0.0]].map(|v| index.insert(&v).unwrap());
        index.remove(rows[0]);
        assert_eq!(index.data, [0.0, 0.0, 1.0, 0.0]);
    }

    #[test]
    fn zero_vectors_give_the_score_zero() {
        let mut index = FlatIndex::new(3);
        let zero = index.insert(&unit(vec![0.0; 3])).unwrap();
        let one = index.insert(&[1.0, 0.0, 0.0]).unwrap();
        assert_eq!(index.best(&[0.0; 3], [zero, one]), Some(0.0));
    }

    proptest! {
        #[test]
        fn lanes_agree_with_a_plain_sum(pairs in prop::collection::vec((-1.0_f32..1.0, -1.0_f32..1.0), 0..70)) {
            let (a, b): (Vec<f32>, Vec<f32>) = pairs.into_iter().unzip();
            prop_assert!((f64::from(dot(&a, &b)) - naive_dot(&a, &b)).abs() < 1e-5);
        }

        #[test]
        fn rows_survive_any_order_of_inserts_and_removes(steps in prop::collection::vec((any::<bool>(), 0_usize..8, -9_i8..9), 1..60)) {
            let mut index = FlatIndex::new(3);
            let mut naive: HashMap<usize, (Row, Vec<f32>)> = HashMap::new();
            for (insert, slot, x) in steps {
                if let Some((row, _)) = naive.remove(&slot) {
                    index.remove(row);
                }
                if insert {
                    let vector = unit(vec![f32::from(x), slot as f32, 1.0]);
                    naive.insert(slot, (index.insert(&vector).unwrap(), vector));
                }
                prop_assert_eq!(index.len(), naive.len());
                for (row, vector) in naive.values() {
                    prop_assert_eq!(index.vector(*row).unwrap(), &vector[..]);
                }
            }
        }
    }
}
