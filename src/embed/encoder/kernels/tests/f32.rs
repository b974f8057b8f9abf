//! The f32 kernels.

use super::super::plain;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
use super::super::simd128;
use super::super::{COLUMNS, ROWS, Shape};
use super::{Numbers, SHAPES, close, right_panels};

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

macro_rules! f32_kernels {
    ($name:ident, $($kernels:ident)::+) => {
        mod $name {
            #[cfg(target_arch = "wasm32")]
            use wasm_bindgen_test::wasm_bindgen_test as test;

            use super::*;
            use $($kernels::)+{add_norm, gelu, gemm, pack_rows, softmax_columns};

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
        }
    };
}

f32_kernels!(oracle, plain);
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
f32_kernels!(simd128_f32, simd128);
