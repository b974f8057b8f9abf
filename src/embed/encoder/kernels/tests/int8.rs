//! The int8 kernels, in both codings.

use super::super::plain_int8::{narrow, wide};
#[cfg(all(target_arch = "wasm32", target_feature = "relaxed-simd"))]
use super::super::relaxed;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
use super::super::simd128_int8;
use super::super::{Int8Weights, QUAD, Quantised, Shape};
use super::{Numbers, SHAPES, close, right_panels};

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
            // Of all sizes: the narrow coding treats large weights and small ones apart.
            matrix: (numbers.int8(depth * columns).into_iter())
                .map(|value| value >> (columns / 8 % 3))
                .collect(),
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
                    let tight = kernel::arrange(&mut values, sample.shape.depth);
                    let (scale, sums, bias) = (&sample.scale, &sample.sums(), &sample.bias);
                    let stride = columns + 3;
                    let mut out = vec![7.0; rows * stride];
                    let right = Int8Weights {
                        values: &values,
                        scale,
                        sums,
                        bias,
                        tight: tight.of(0..columns),
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
                    let tight = kernel::arrange(&mut values, depth);
                    let oracle_tight = oracle::arrange(&mut oracle_values, depth);
                    let (scale, sums, bias) = (&sample.scale, &sample.sums(), &sample.bias);
                    let right = |values, tight| Int8Weights {
                        values,
                        scale,
                        sums,
                        bias,
                        tight,
                    };
                    let (mut out, mut oracle_out) = (vec![0.0; rows * columns], vec![0.0; rows * columns]);
                    let (mine, its) = (tight.of(0..columns), oracle_tight.of(0..columns));
                    kernel::gemm(
                        sample.shape,
                        &expected,
                        right(&values, mine),
                        &mut out,
                        columns,
                    );
                    oracle::gemm(
                        sample.shape,
                        &expected,
                        right(&oracle_values, its),
                        &mut oracle_out,
                        columns,
                    );
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
                // The second and third are the most that the narrow coding adds up in 16 bits, of either sign, the
                // fourth is more.
                let quads: [[i8; QUAD]; 4] = [
                    [-128; QUAD],
                    [127, 2, 0, 0],
                    [0, 0, -2, -127],
                    [127, 3, 0, 0],
                ];
                for (depth, quad) in [8, 1536, 2048, 4096].into_iter().zip(quads.iter().cycle()) {
                    let shape = Shape {
                        rows: 1,
                        depth,
                        columns: 8,
                    };
                    let (source, smoothing) = (vec![1.0; depth], vec![1.0; depth]);
                    let mut left = Quantised::default();
                    kernel::quantise(&source, depth, 1, &smoothing, &mut left);
                    let mut values = quad.repeat(depth / QUAD * 8);
                    let tight = kernel::arrange(&mut values, depth);
                    let sum = quad.iter().map(|value| i32::from(*value)).sum::<i32>() * (depth / QUAD) as i32;
                    let right = Int8Weights {
                        values: &values,
                        scale: &[1.0; 8],
                        sums: &[sum; 8],
                        bias: &[0.0; 8],
                        tight: tight.of(0..8),
                    };
                    let mut out = [0.0; 8];
                    kernel::gemm(shape, &left, right, &mut out, 8);
                    let expected = f64::from(sum);
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
                let mut values = [5; 64];
                let tight = kernel::arrange(&mut values, 8);
                let bias = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
                let right = Int8Weights {
                    values: &values,
                    scale: &[1.0; 8],
                    sums: &[40; 8],
                    bias: &bias,
                    tight: tight.of(0..8),
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
