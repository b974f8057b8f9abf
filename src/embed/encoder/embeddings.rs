//! From token ids to the first layer's input.

use std::ops::Range;

use super::layer::Norm;

/// A table of rows, one per token or position.
#[derive(Debug, Clone, Copy)]
pub enum Table<'a> {
    /// As they are.
    F32(&'a [f32]),
    /// An integer times its row's scale and its column's.
    Int8 {
        /// The integers.
        values: &'a [i8],
        /// One per row.
        rows: &'a [f32],
        /// One per column: a few columns of BERT are many times larger than the rest.
        columns: &'a [f32],
    },
}

impl Table<'_> {
    /// Adds a row to `out`, which is as long as the row.
    pub fn add(&self, row: usize, out: &mut [f32]) {
        let range = row * out.len()..(row + 1) * out.len();
        match self {
            Self::F32(values) => out
                .iter_mut()
                .zip(&values[range])
                .for_each(|(out, value)| *out += value),
            Self::Int8 {
                values,
                rows,
                columns,
            } => {
                let scale = rows[row];
                for ((out, value), column) in out.iter_mut().zip(&values[range]).zip(*columns) {
                    *out += f32::from(*value) * scale * column;
                }
            }
        }
    }
}

/// The embedding layer.
#[derive(Debug, Clone, Copy)]
pub struct Embeddings<'a> {
    /// By token id.
    pub word: Table<'a>,
    /// By place in the sequence.
    pub position: Table<'a>,
    /// The same for every token.
    pub token_type0: &'a [f32],
    /// Over the sum of the three.
    pub norm: Norm<'a>,
}

impl Embeddings<'_> {
    /// Fills `x` with a row per token and gives each sequence's rows.
    pub fn embed(&self, sequences: &[&[u32]], x: &mut Vec<f32>) -> Vec<Range<usize>> {
        let hidden = self.token_type0.len();
        let tokens = sequences.iter().map(|ids| ids.len()).sum::<usize>();
        x.clear();
        x.reserve_exact(tokens * hidden);
        let mut spans = Vec::with_capacity(sequences.len());
        for ids in sequences {
            let first = x.len() / hidden;
            for (position, id) in ids.iter().enumerate() {
                let start = x.len();
                x.extend_from_slice(self.token_type0);
                self.word.add(*id as usize, &mut x[start..]);
                self.position.add(position, &mut x[start..]);
            }
            spans.push(first..first + ids.len());
        }
        self.norm.add(x, None);
        spans
    }
}
