//! From token ids to the first layer's input.

use std::ops::Range;

use super::layer::Norm;

/// A table of rows, one per token or position.
#[derive(Debug, Clone, Copy)]
pub enum Table<'a> {
    /// As they are.
    F32(&'a [f32]),
    /// A row's integers times the row's scale.
    Int8 {
        /// The integers.
        values: &'a [i8],
        /// One per row.
        scale: &'a [f32],
    },
}

impl Table<'_> {
    /// Adds a row to `out`, which is as long as the row.
    fn add(&self, row: usize, out: &mut [f32]) {
        let range = row * out.len()..(row + 1) * out.len();
        match self {
            Self::F32(values) => out
                .iter_mut()
                .zip(&values[range])
                .for_each(|(out, value)| *out += value),
            Self::Int8 { values, scale } => {
                let scale = scale[row];
                out.iter_mut()
                    .zip(&values[range])
                    .for_each(|(out, value)| *out += f32::from(*value) * scale);
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
