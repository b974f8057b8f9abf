//! From a model file's weights to the kernels' panels.

use crate::embed::encoder::kernels::{COLUMNS, QUAD};
use crate::embed::encoder::layer::{self, Layer, Panels};
use crate::embed::weights::{LayerWeights, Linear, Matrix, Norm};

/// A linear layer in the kernels' layout, not yet in a pack.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnedLinear {
    /// Length of the input.
    pub input: usize,
    /// Length of the output.
    pub output: usize,
    /// The weight.
    pub panels: OwnedPanels,
    /// One per output channel.
    pub bias: Vec<f32>,
}

/// What [`Panels`] borrows.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)] // as there
pub enum OwnedPanels {
    F32(Vec<f32>),
    Int8 {
        values: Vec<i8>,
        scale: Vec<f32>,
        sums: Vec<i32>,
        smoothing: Vec<f32>,
    },
}

/// A transformer layer in the kernels' layout, not yet in a pack.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)] // as in `Layer`
pub struct OwnedLayer {
    pub qkv: OwnedLinear,
    pub attention_output: OwnedLinear,
    pub attention_norm: Norm,
    pub intermediate: OwnedLinear,
    pub output: OwnedLinear,
    pub output_norm: Norm,
}

impl OwnedLinear {
    /// Joins layers that share their input, as f32 whatever they were.
    pub fn f32(parts: &[&Linear]) -> Self {
        Self::join(parts, |input| {
            let panels = parts
                .iter()
                .flat_map(|part| f32_panels(&part.weight.to_f32(part.output), part.output, input));
            OwnedPanels::F32(panels.collect())
        })
    }

    /// Joins int8 layers that share their input. `smoothing` is what the input is multiplied with before it is quantised:
    /// the weights have to expect that.
    pub fn int8(parts: &[&Linear], smoothing: Vec<f32>) -> Self {
        Self::join(parts, |input| {
            let (mut all, mut scales, mut sums) = (Vec::new(), Vec::new(), Vec::new());
            for part in parts {
                if let Matrix::I8 { values, scale } = &part.weight {
                    all.extend(quads(values, part.output, input));
                    scales.extend_from_slice(scale);
                    sums.extend(column_sums(values, part.output));
                }
            }
            OwnedPanels::Int8 {
                values: all,
                scale: scales,
                sums,
                smoothing,
            }
        })
    }

    fn join(parts: &[&Linear], panels: impl FnOnce(usize) -> OwnedPanels) -> Self {
        let input = parts.first().map_or(0, |part| part.input);
        let bias = parts.iter().flat_map(|part| part.bias.iter().copied()).collect();
        let output = parts.iter().map(|part| part.output).sum();
        Self {
            input,
            output,
            panels: panels(input),
            bias,
        }
    }

    /// As the kernels want it.
    pub fn view(&self) -> layer::Linear<'_> {
        let panels = match &self.panels {
            OwnedPanels::F32(panels) => Panels::F32(panels),
            OwnedPanels::Int8 {
                values,
                scale,
                sums,
                smoothing,
            } => Panels::Int8 {
                values,
                scale,
                sums,
                smoothing,
            },
        };
        layer::Linear {
            input: self.input,
            output: self.output,
            panels,
            bias: &self.bias,
        }
    }
}

impl OwnedLayer {
    /// Lays a layer out as f32, whatever it was.
    pub fn f32(layer: &LayerWeights) -> Self {
        Self {
            qkv: OwnedLinear::f32(&[&layer.q, &layer.k, &layer.v]),
            attention_output: OwnedLinear::f32(&[&layer.attention_output]),
            attention_norm: layer.attention_norm.clone(),
            intermediate: OwnedLinear::f32(&[&layer.intermediate]),
            output: OwnedLinear::f32(&[&layer.output]),
            output_norm: layer.output_norm.clone(),
        }
    }

    /// As the kernels want it.
    pub fn view(&self, heads: usize, eps: f32) -> Layer<'_> {
        Layer {
            heads,
            qkv: self.qkv.view(),
            attention_output: self.attention_output.view(),
            attention_norm: layer::Norm::of(&self.attention_norm, eps),
            intermediate: self.intermediate.view(),
            output: self.output.view(),
            output_norm: layer::Norm::of(&self.output_norm, eps),
        }
    }
}

/// Row-major `[input][output]` to `[output/8][input][8]`.
fn f32_panels(matrix: &[f32], output: usize, input: usize) -> Vec<f32> {
    let mut panels = Vec::with_capacity(matrix.len());
    for column in (0..output).step_by(COLUMNS) {
        for row in 0..input {
            panels.extend_from_slice(&matrix[row * output + column..][..COLUMNS]);
        }
    }
    panels
}

/// Row-major `[input][output]` to `[output/8][input/4][8][4]`.
fn quads(matrix: &[i8], output: usize, input: usize) -> Vec<i8> {
    let mut panels = Vec::with_capacity(matrix.len());
    for first in (0..output).step_by(COLUMNS) {
        for row in (0..input).step_by(QUAD) {
            for column in first..first + COLUMNS {
                panels.extend((row..row + QUAD).map(|row| matrix[row * output + column]));
            }
        }
    }
    panels
}

fn column_sums(matrix: &[i8], output: usize) -> Vec<i32> {
    let mut sums = vec![0; output];
    for row in matrix.chunks_exact(output) {
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum += i32::from(*value);
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_hold_eight_columns_side_by_side() {
        // Element [row][column] is row * 100 + column.
        let matrix: Vec<f32> = (0..4 * 16).map(|at| (at / 16 * 100 + at % 16) as f32).collect();
        let panels = f32_panels(&matrix, 16, 4);
        assert_eq!(panels[..8], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
        assert_eq!(
            panels[8..16],
            [100.0, 101.0, 102.0, 103.0, 104.0, 105.0, 106.0, 107.0]
        );
        assert_eq!(panels[32..40], [8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0]);
    }

    #[test]
    fn quads_hold_four_rows_of_a_column_together() {
        let matrix: Vec<i8> = (0..8 * 8).map(|at| (at / 8 * 10 + at % 8) as i8).collect();
        let panels = quads(&matrix, 8, 8);
        assert_eq!(panels[..8], [0, 10, 20, 30, 1, 11, 21, 31]);
        assert_eq!(panels[32..40], [40, 50, 60, 70, 41, 51, 61, 71]);
        assert_eq!(column_sums(&matrix, 8)[..2], [280, 288]);
    }
}
