//! Attention of one sequence, head by head, eight queries at a time.
//!
//! For eight queries the scores against all keys are `[keys][8]`: 16 KB at 512 keys, so nothing but packed keys and
//! values ever leaves the first-level cache, and no table of all scores exists. Softmax's division is put off until
//! after the product with the values, where there is far less to divide.

use std::ops::Range;

use super::kernels::{self, COLUMNS, ROWS, Shape};
use super::layer::grow;

/// How the hidden size is split.
#[derive(Debug, Clone, Copy)]
pub struct Heads {
    /// How many.
    pub count: usize,
    /// How long each one's vectors are.
    pub width: usize,
}

/// One sequence: which rows are its keys and values, which its queries.
#[derive(Debug, Clone)]
pub struct Span {
    /// Rows of `[keys | values]`.
    pub keys: Range<usize>,
    /// Rows of queries.
    pub queries: Range<usize>,
}

/// Memory for one head.
#[derive(Debug, Default)]
pub struct Scratch {
    /// Left operand of the first product, `[keys/4][width][4]`.
    keys: Vec<f32>,
    /// Left operand of the second, `[width/4][keys][4]`.
    values: Vec<f32>,
    /// Right operand of the first, `[width][8]`.
    queries: Vec<f32>,
    /// Result of the first and right operand of the second, `[keys][8]`.
    scores: Vec<f32>,
    /// Result of the second, `[width][8]`.
    context: Vec<f32>,
}

/// Replaces each query row by its context: `softmax(q · kᵀ / √width) · v`, per head.
pub fn attend(heads: Heads, span: &Span, keys_values: &[f32], queries: &mut [f32], scratch: &mut Scratch) {
    let Heads { count, width } = heads;
    let (hidden, length) = (count * width, span.keys.len());
    grow(&mut scratch.keys, length.next_multiple_of(ROWS) * width);
    grow(&mut scratch.values, width.next_multiple_of(ROWS) * length);
    grow(&mut scratch.queries, width * COLUMNS);
    grow(&mut scratch.scores, length * COLUMNS);
    grow(&mut scratch.context, width * COLUMNS);
    let rows = &keys_values[span.keys.start * 2 * hidden..span.keys.end * 2 * hidden];
    for head in (0..hidden).step_by(width) {
        kernels::pack_rows::<ROWS>(&rows[head..], 2 * hidden, length, width, 1.0, &mut scratch.keys);
        pack_values(
            &rows[hidden + head..],
            2 * hidden,
            width,
            length,
            &mut scratch.values,
        );
        for first in span.queries.clone().step_by(COLUMNS) {
            let count = COLUMNS.min(span.queries.end - first);
            attend_eight(
                &mut queries[first * hidden + head..],
                hidden,
                count,
                heads,
                length,
                scratch,
            );
        }
    }
}

/// Lays the values out so that the product with them sums over keys: `[width/4][keys][4]`.
fn pack_values(source: &[f32], stride: usize, width: usize, keys: usize, panels: &mut [f32]) {
    for (first, panel) in (0..width).step_by(ROWS).zip(panels.chunks_exact_mut(ROWS * keys)) {
        let count = ROWS.min(width - first);
        for (row, quad) in source.chunks(stride).zip(panel.chunks_exact_mut(ROWS)) {
            if count == ROWS {
                quad.copy_from_slice(&row[first..first + ROWS]);
            } else {
                quad[..count].copy_from_slice(&row[first..first + count]);
            }
        }
    }
}

/// One head's context of up to eight queries, `rows` rows `stride` apart.
fn attend_eight(
    queries: &mut [f32],
    stride: usize,
    rows: usize,
    heads: Heads,
    keys: usize,
    scratch: &mut Scratch,
) {
    let width = heads.width;
    // Softmax in powers of two saves a multiplication per score; the factor makes it powers of e again.
    let factor = std::f32::consts::LOG2_E / (width as f32).sqrt();
    kernels::pack_rows::<COLUMNS>(queries, stride, rows, width, factor, &mut scratch.queries);
    let shape = Shape {
        rows: keys,
        depth: width,
        columns: COLUMNS,
    };
    kernels::gemm(
        shape,
        &scratch.keys,
        &scratch.queries,
        None,
        &mut scratch.scores,
        COLUMNS,
    );
    let sums = kernels::softmax_columns(&mut scratch.scores[..keys * COLUMNS]);
    let shape = Shape {
        rows: width,
        depth: keys,
        columns: COLUMNS,
    };
    kernels::gemm(
        shape,
        &scratch.values,
        &scratch.scores,
        None,
        &mut scratch.context,
        COLUMNS,
    );
    let context = &scratch.context[..width * COLUMNS];
    for (column, (query, sum)) in queries.chunks_mut(stride).zip(sums).take(rows).enumerate() {
        let share = 1.0 / sum;
        for (out, row) in query[..width].iter_mut().zip(context.chunks_exact(COLUMNS)) {
            *out = row[column] * share;
        }
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    /// The definition, in f64.
    fn naive(heads: Heads, span: &Span, keys_values: &[f32], queries: &[f32]) -> Vec<f64> {
        let hidden = heads.count * heads.width;
        let mut context = Vec::new();
        for query in span.queries.clone() {
            for at in 0..hidden {
                let head = at / heads.width * heads.width;
                let score = |key: usize| {
                    let product = |at: usize| {
                        f64::from(queries[query * hidden + head + at])
                            * f64::from(keys_values[key * 2 * hidden + head + at])
                    };
                    ((0..heads.width).map(product).sum::<f64>() / (heads.width as f64).sqrt()).exp()
                };
                let total: f64 = span.keys.clone().map(score).sum();
                let value = |key: usize| f64::from(keys_values[key * 2 * hidden + hidden + at]);
                context.push(span.keys.clone().map(|key| score(key) / total * value(key)).sum());
            }
        }
        context
    }

    #[test]
    fn the_context_is_the_softmax_weighted_mean_of_the_values() {
        let mut scratch = Scratch::default();
        for (count, width) in [(1, 8), (2, 26), (3, 4), (2, 32), (2, 5)] {
            for (before, keys) in [(0, 1), (2, 3), (0, 8), (1, 13), (0, 61)] {
                let (heads, hidden) = (Heads { count, width }, count * width);
                let number = |at: usize| ((at as u64 * 2_654_435_761) % 1009) as f32 / 300.0 - 1.6;
                let keys_values: Vec<f32> = (0..(before + keys) * 2 * hidden).map(number).collect();
                let queries: Vec<f32> = (0..(before + keys) * hidden).map(|at| number(at + 77)).collect();
                let span = Span {
                    keys: before..before + keys,
                    queries: before..before + keys,
                };
                let mut found = queries.clone();
                attend(heads, &span, &keys_values, &mut found, &mut scratch);
                assert_eq!(
                    found[..before * hidden],
                    queries[..before * hidden],
                    "another sequence was touched"
                );
                for (found, expected) in
                    found[before * hidden..]
                        .iter()
                        .zip(naive(heads, &span, &keys_values, &queries))
                {
                    assert!(
                        (f64::from(*found) - expected).abs() < 1e-5,
                        "{heads:?} {span:?}: {found} for {expected}"
                    );
                }
            }
        }
    }
}
