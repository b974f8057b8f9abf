//! Every kernel against arithmetic that nobody can get wrong, at shapes that leave tiles, panels and blocks unfilled.
//!
//! Natively these hold `plain` against naive loops in f64; in WebAssembly the SIMD kernels take `plain`'s place, in
//! whichever build is tested.

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::plain_int8::{narrow, wide};
use super::*;

/// Numbers that look random and are the same everywhere (splitmix64).
struct Numbers(u64);

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

    fn int8(&mut self, length: usize) -> Vec<i8> {
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

#[test]
fn an_f32_product_is_the_sum_of_products_at_any_shape() {
    let mut numbers = Numbers(1);
    for [rows, depth, columns] in SHAPES {
        let shape = Shape { rows, depth, columns };
        let (source_stride, stride) = (depth + 3, columns + 5);
        let source = numbers.vector(rows * source_stride);
        let matrix = numbers.vector(depth * columns);
        let bias = numbers.vector(columns);
        let mut left = vec![f32::NAN; rows.next_multiple_of(ROWS) * depth];
        pack_rows::<ROWS>(&source, source_stride, rows, depth, 1.0, &mut left);
        for bias in [None, Some(bias.as_slice())] {
            let mut out = vec![7.0; rows * stride];
            gemm(
                shape,
                &left,
                &right_panels(&matrix, shape, 1),
                bias,
                &mut out,
                stride,
            );
            for (row, column) in (0..rows).flat_map(|row| (0..stride).map(move |column| (row, column))) {
                let found = out[row * stride + column];
                if column >= columns {
                    assert_eq!(found, 7.0, "written beyond the row");
                    continue;
                }
                let product = |at| {
                    f64::from(source[row * source_stride + at]) * f64::from(matrix[at * columns + column])
                };
                let expected =
                    (0..depth).map(product).sum::<f64>() + bias.map_or(0.0, |bias| f64::from(bias[column]));
                close(found, expected, 1e-6 * depth as f64, &(shape, row, column));
            }
        }
    }
}

#[test]
fn packed_rows_stand_in_panels_and_missing_ones_are_zero() {
    fn check<const W: usize>(rows: usize, width: usize) {
        let stride = width + 1;
        let source = Numbers(2).vector(rows * stride);
        let mut panels = vec![f32::NAN; rows.next_multiple_of(W) * width];
        pack_rows::<W>(&source, stride, rows, width, 2.0, &mut panels);
        for (at, value) in panels.iter().enumerate() {
            let (panel, column, row) = (at / (W * width), at / W % width, at % W);
            let row = panel * W + row;
            let expected = if row < rows {
                source[row * stride + column] * 2.0
            } else {
                0.0
            };
            assert_eq!(*value, expected, "rows {rows}, width {width}, at {at}");
        }
    }
    for rows in [1, 2, 3, 4, 5, 7, 8, 9, 12, 17] {
        for width in [1, 3, 4, 7, 26, 32] {
            check::<ROWS>(rows, width);
            check::<COLUMNS>(rows, width);
        }
    }
}

#[test]
fn softmax_gives_powers_of_two_below_the_highest_and_their_sum() {
    for keys in [1, 2, 5, 64, 513] {
        let mut numbers = Numbers(3);
        let scores: Vec<f32> = (0..keys * COLUMNS)
            .map(|_| numbers.unit() * 60.0 - 300.0)
            .collect();
        let mut found = scores.clone();
        let sums = softmax_columns(&mut found);
        for column in 0..COLUMNS {
            let of = |values: &[f32]| -> Vec<f64> {
                values
                    .chunks_exact(COLUMNS)
                    .map(|row| f64::from(row[column]))
                    .collect()
            };
            let scores = of(&scores);
            let highest = scores.iter().copied().fold(f64::MIN, f64::max);
            let expected: Vec<f64> = scores.iter().map(|score| (score - highest).exp2()).collect();
            for (found, expected) in of(&found).into_iter().zip(&expected) {
                assert!(
                    (found - expected).abs() <= 5e-7 * expected,
                    "{found} for {expected}"
                );
            }
            close(
                sums[column],
                expected.iter().sum(),
                1e-6 * keys as f64,
                &(keys, column),
            );
        }
    }
}

#[test]
fn softmax_of_a_very_low_score_is_nothing() {
    let mut scores = vec![0.0; 2 * COLUMNS];
    scores[COLUMNS..].fill(-1e9);
    let sums = softmax_columns(&mut scores);
    assert_eq!(sums, [1.0; COLUMNS]);
    assert!(scores[COLUMNS..].iter().all(|power| (0.0..1e-37).contains(power)));
}

#[test]
fn add_norm_centres_and_scales_each_row() {
    for width in [4, 8, 24, 384] {
        let mut numbers = Numbers(4);
        let rows = 3;
        let x: Vec<f32> = (0..rows * width).map(|_| numbers.unit() * 5.0 + 2.0).collect();
        let y = numbers.vector(rows * width);
        let (gain, bias) = (numbers.vector(width), numbers.vector(width));
        for y in [None, Some(y.as_slice())] {
            let mut found = x.clone();
            add_norm(&mut found, y, &gain, &bias, 1e-5);
            for row in 0..rows {
                let sum = |at: usize| {
                    let at = row * width + at;
                    f64::from(x[at]) + y.map_or(0.0, |y| f64::from(y[at]))
                };
                let mean = (0..width).map(sum).sum::<f64>() / width as f64;
                let variance = (0..width).map(|at| (sum(at) - mean).powi(2)).sum::<f64>() / width as f64;
                for at in 0..width {
                    let normal = (sum(at) - mean) / (variance + 1e-5).sqrt();
                    let expected = normal * f64::from(gain[at]) + f64::from(bias[at]);
                    close(found[row * width + at], expected, 1e-5, &(width, row, at));
                }
            }
        }
    }
}

/// `x · Φ(x)` from C's erfc in double precision.
const GELU: [[f64; 2]; 12] = [
    [-10.0, -7.61985302416e-23],
    [-5.0, -1.4332578594e-06],
    [-3.0, -0.00404969409489],
    [-1.5, -0.100210801903],
    [-1.0, -0.158655253931],
    [-0.25, -0.100323418579],
    [0.0, 0.0],
    [0.1, 0.0539827837277],
    [0.75, 0.580029485717],
    [2.0, 1.9544997361],
    [4.0, 3.99987331503],
    [20.0, 20.0],
];

#[test]
fn gelu_is_exact_to_six_digits() {
    for length in [1, 3, 4, 12] {
        let mut values: Vec<f32> = GELU.iter().map(|[x, _]| *x as f32).collect();
        gelu(&mut values[..length]);
        for (found, [x, expected]) in values[..length].iter().zip(GELU) {
            close(*found, expected, 6e-7_f64.max(x.abs() * 2e-7), &x);
        }
    }
}

/// One int8 product through a coding's functions, with what is needed to judge it.
struct Sample {
    shape: Shape,
    source: Vec<f32>,
    stride: usize,
    smoothing: Vec<f32>,
    matrix: Vec<i8>,
    scale: Vec<f32>,
    bias: Vec<f32>,
}

impl Sample {
    fn new([rows, depth, columns]: [usize; 3], numbers: &mut Numbers) -> Self {
        let stride = depth + 8;
        Self {
            shape: Shape { rows, depth, columns },
            source: (0..rows * stride)
                .map(|at| numbers.unit() * (1.0 + (at % 7) as f32))
                .collect(),
            stride,
            smoothing: (0..depth).map(|_| numbers.unit() + 1.5).collect(),
            matrix: numbers.int8(depth * columns),
            scale: (0..columns).map(|_| numbers.unit() + 1.1).collect(),
            bias: numbers.vector(columns),
        }
    }

    /// What each column of the matrix adds up to.
    fn sums(&self) -> Vec<i32> {
        let columns = self.shape.columns;
        (0..columns)
            .map(|column| {
                self.matrix
                    .iter()
                    .skip(column)
                    .step_by(columns)
                    .map(|value| i32::from(*value))
                    .sum()
            })
            .collect()
    }

    /// Without quantising: the result, and how much one step of a row's code is worth in it at most.
    fn exact(&self, row: usize, column: usize) -> (f64, f64) {
        let columns = self.shape.columns;
        let value =
            |at: usize| f64::from(self.source[row * self.stride + at]) * f64::from(self.smoothing[at]);
        let weight =
            |at: usize| f64::from(self.matrix[at * columns + column]) * f64::from(self.scale[column]);
        let sum: f64 = (0..self.shape.depth).map(|at| value(at) * weight(at)).sum();
        let weights: f64 = (0..self.shape.depth).map(|at| weight(at).abs()).sum();
        (sum + f64::from(self.bias[column]), weights)
    }
}

macro_rules! coding {
    ($name:ident, $kernel:path, $oracle:path) => {
        mod $name {
            #[cfg(target_arch = "wasm32")]
            use wasm_bindgen_test::wasm_bindgen_test as test;

            use super::*;
            use $kernel as kernel;
            use $oracle as oracle;

            #[test]
            fn a_product_is_off_by_the_rounding_of_activations_only() {
                let mut numbers = Numbers(5);
                for shape in SHAPES {
                    let sample = Sample::new(shape, &mut numbers);
                    let Shape { rows, columns, .. } = sample.shape;
                    let mut left = Quantised::default();
                    kernel::quantise(
                        &sample.source,
                        sample.stride,
                        rows,
                        &sample.smoothing,
                        &mut left,
                    );
                    let mut values = right_panels(&sample.matrix, sample.shape, QUAD);
                    kernel::arrange(&mut values);
                    let (scale, sums, bias) = (&sample.scale, &sample.sums(), &sample.bias);
                    let stride = columns + 3;
                    let mut out = vec![7.0; rows * stride];
                    let right = Int8Weights {
                        values: &values,
                        scale,
                        sums,
                        bias,
                    };
                    kernel::gemm(sample.shape, &left, right, &mut out, stride);
                    for (row, column) in
                        (0..rows).flat_map(|row| (0..stride).map(move |column| (row, column)))
                    {
                        let found = out[row * stride + column];
                        if column >= columns {
                            assert_eq!(found, 7.0, "written beyond the row");
                            continue;
                        }
                        let (expected, weights) = sample.exact(row, column);
                        // Half a step from rounding, and as much again where a zero point shifts the range.
                        let tolerance = weights * f64::from(left.scale[row]) + expected.abs() * 1e-6;
                        close(found, expected, tolerance, &(sample.shape, row, column));
                    }
                }
            }

            #[test]
            fn codes_and_sums_are_the_oracles() {
                let mut numbers = Numbers(6);
                for shape in SHAPES {
                    let sample = Sample::new(shape, &mut numbers);
                    let Shape {
                        rows,
                        depth,
                        columns,
                    } = sample.shape;
                    let (mut left, mut expected) = (Quantised::default(), Quantised::default());
                    kernel::quantise(
                        &sample.source,
                        sample.stride,
                        rows,
                        &sample.smoothing,
                        &mut left,
                    );
                    oracle::quantise(
                        &sample.source,
                        sample.stride,
                        rows,
                        &sample.smoothing,
                        &mut expected,
                    );
                    assert_eq!((&left.scale, &left.zero), (&expected.scale, &expected.zero));
                    // A fused multiply-add may round a value that lies on the edge to the other side.
                    let apart =
                        |(a, b): (&kernel::Code, &oracle::Code)| i32::from(*a).abs_diff(i32::from(*b));
                    let distances: Vec<u32> = left.codes.iter().zip(&expected.codes).map(apart).collect();
                    assert!(distances.iter().all(|distance| *distance <= 1));
                    let unequal = distances.iter().filter(|distance| **distance > 0).count();
                    assert!(
                        unequal * 100 <= rows * depth,
                        "{unequal} codes differ at {:?}",
                        sample.shape
                    );

                    let mut values = right_panels(&sample.matrix, sample.shape, QUAD);
                    let mut oracle_values = values.clone();
                    kernel::arrange(&mut values);
                    oracle::arrange(&mut oracle_values);
                    assert_eq!(values, oracle_values);
                    let (scale, sums, bias) = (&sample.scale, &sample.sums(), &sample.bias);
                    let right = Int8Weights {
                        values: &values,
                        scale,
                        sums,
                        bias,
                    };
                    let (mut out, mut oracle_out) = (vec![0.0; rows * columns], vec![0.0; rows * columns]);
                    kernel::gemm(sample.shape, &expected, right, &mut out, columns);
                    oracle::gemm(sample.shape, &expected, right, &mut oracle_out, columns);
                    for (found, expected) in out.iter().zip(&oracle_out) {
                        close(
                            *found,
                            f64::from(*expected),
                            f64::from(expected.abs()) * 1e-6 + 1e-4,
                            &sample.shape,
                        );
                    }
                }
            }

            #[test]
            fn the_largest_activations_and_weights_do_not_overflow() {
                for depth in [8, 1536, 2048, 4096] {
                    let shape = Shape {
                        rows: 1,
                        depth,
                        columns: 8,
                    };
                    let (source, smoothing) = (vec![1.0; depth], vec![1.0; depth]);
                    let mut left = Quantised::default();
                    kernel::quantise(&source, depth, 1, &smoothing, &mut left);
                    let values = vec![-128; depth * 8];
                    let sums = [-128 * depth as i32; 8];
                    let right = Int8Weights {
                        values: &values,
                        scale: &[1.0; 8],
                        sums: &sums,
                        bias: &[0.0; 8],
                    };
                    let mut out = [0.0; 8];
                    kernel::gemm(shape, &left, right, &mut out, 8);
                    let expected = -128.0 * depth as f64;
                    assert!(
                        out.iter()
                            .all(|sum| (f64::from(*sum) / expected - 1.0).abs() < 1e-6),
                        "{depth}: {out:?}"
                    );
                }
            }

            #[test]
            fn a_row_of_zeros_gives_the_bias() {
                let shape = Shape {
                    rows: 1,
                    depth: 8,
                    columns: 8,
                };
                let mut left = Quantised::default();
                kernel::quantise(&[0.0; 8], 8, 1, &[1.0; 8], &mut left);
                let bias = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
                let right = Int8Weights {
                    values: &[5; 64],
                    scale: &[1.0; 8],
                    sums: &[40; 8],
                    bias: &bias,
                };
                let mut out = [0.0; 8];
                kernel::gemm(shape, &left, right, &mut out, 8);
                assert_eq!(out, bias);
            }
        }
    };
}

coding!(oracle_of_wide, wide, wide);
coding!(oracle_of_narrow, narrow, narrow);
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
coding!(simd128_wide, simd128_int8, wide);
#[cfg(all(target_arch = "wasm32", target_feature = "relaxed-simd"))]
coding!(relaxed_narrow, relaxed, narrow);
