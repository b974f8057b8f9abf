//! Scale moved from activations into weights (SmoothQuant), so that both survive being integers.
//!
//! A few input channels of BERT carry values many times larger than the rest; quantised per row, they cost all others
//! their resolution. So channel `k` of the input is divided by `s[k]` before it is quantised, and row `k` of the weight
//! multiplied with it:
//!
//! `s[k] = max|x[k]|^α / max|w[k]|^(1-α)`, scaled so that the geometric mean is 1.
//!
//! The product is the same; the difficulty is shared. How it is best shared differs from layer to layer and from model to
//! model (one α for all cost bge-small-zh a point or two of its ranking where it suited bge-small-en), so α is
//! chosen for each layer: by the noise that rounding is expected to leave in the layer's output for the calibration
//! texts. Rounding to steps of `d` leaves `d²/12` per number, on either side:
//!
//! `Σ_rows step(x)² · Σ w² + Σ_columns step(w)² · Σ x²`.

/// What α is chosen from.
const ALPHAS: [f32; 8] = [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

/// Smaller maxima are taken for this, so that a channel that never speaks does not become infinite.
const SMALLEST: f32 = 1e-5;

/// The steps of the narrow coding, which is the one that needs help.
const STEPS: f32 = 127.0;

/// A layer's weight and what calibration texts gave it to read.
pub struct Sample<'a> {
    /// Row-major `[input][output]`.
    pub weight: &'a [f32],
    /// Length of a row of the weight.
    pub output: usize,
    /// Rows of the input.
    pub rows: &'a [f32],
    /// Length of each.
    pub input: usize,
}

impl Sample<'_> {
    /// What each input channel is to be divided by, and each row of the weight multiplied with.
    pub fn scale(&self) -> Vec<f32> {
        let mut activations = vec![SMALLEST; self.input];
        for row in self.rows.chunks_exact(self.input) {
            raise(&mut activations, row);
        }
        let rows = self.weight.chunks_exact(self.output);
        let weights: Vec<f32> = rows
            .map(|row| {
                row.iter()
                    .fold(SMALLEST, |most: f32, value| most.max(value.abs()))
            })
            .collect();
        let candidates = ALPHAS.map(|alpha| moved(&activations, &weights, alpha));
        let noise = |scale: &Vec<f32>| self.noise(scale);
        candidates
            .into_iter()
            .min_by(|a, b| noise(a).total_cmp(&noise(b)))
            .unwrap_or_else(|| vec![1.0; self.input])
    }

    /// Twelve times the expected noise.
    fn noise(&self, scale: &[f32]) -> f64 {
        let (mut steps_x, mut squares_x) = (0.0, 0.0);
        for row in self.rows.chunks_exact(self.input) {
            let (mut low, mut high, mut square) = (0.0_f32, 0.0_f32, 0.0_f32);
            for (value, scale) in row.iter().zip(scale) {
                let value = value / scale;
                (low, high, square) = (low.min(value), high.max(value), square + value * value);
            }
            steps_x += f64::from((high - low) / STEPS).powi(2);
            squares_x += f64::from(square);
        }
        let (mut largest, mut squares_w) = (vec![0.0; self.output], 0.0);
        let mut scaled = vec![0.0; self.output];
        for (row, scale) in self.weight.chunks_exact(self.output).zip(scale) {
            scaled
                .iter_mut()
                .zip(row)
                .for_each(|(scaled, value)| *scaled = value * scale);
            raise(&mut largest, &scaled);
            squares_w += f64::from(scaled.iter().map(|value| value * value).sum::<f32>());
        }
        let steps_w: f64 = largest
            .iter()
            .map(|largest| f64::from(largest / STEPS).powi(2))
            .sum();
        steps_x * squares_w + steps_w * squares_x
    }
}

fn moved(activations: &[f32], weights: &[f32], alpha: f32) -> Vec<f32> {
    let ratio = |(activation, weight): (&f32, &f32)| activation.powf(alpha) / weight.powf(1.0 - alpha);
    let scale: Vec<f32> = activations.iter().zip(weights).map(ratio).collect();
    let mean = (scale.iter().map(|scale| scale.ln()).sum::<f32>() / scale.len().max(1) as f32).exp();
    scale.iter().map(|scale| scale / mean).collect()
}

/// `most = max(most, |values|)`, element by element.
fn raise(most: &mut [f32], values: &[f32]) {
    most.iter_mut()
        .zip(values)
        .for_each(|(most, value)| *most = most.max(value.abs()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_is_the_formula_with_a_geometric_mean_of_one() {
        // √(4/1) and √(1/4) at α = ½, whose geometric mean is 1.
        assert_eq!(moved(&[4.0, 1.0], &[1.0, 4.0], 0.5), [2.0, 0.5]);
        // At α = 1 only activations count: 8 and 2 over √16.
        let all = moved(&[8.0, 2.0], &[3.0, 5.0], 1.0);
        assert!(
            (all[0] - 2.0).abs() < 1e-6 && (all[1] - 0.5).abs() < 1e-6,
            "{all:?}"
        );
    }

    #[test]
    fn a_loud_channel_is_divided_by_more_and_the_noise_falls() {
        let input = 8;
        let weight: Vec<f32> = (0..input * 4)
            .map(|at| ((at * 37 % 19) as f32 - 9.0) / 9.0)
            .collect();
        let mut rows: Vec<f32> = (0..input * 10)
            .map(|at| ((at * 53 % 23) as f32 - 11.0) / 11.0)
            .collect();
        rows.iter_mut()
            .skip(5)
            .step_by(input)
            .for_each(|value| *value *= 100.0);
        let sample = Sample {
            weight: &weight,
            output: 4,
            rows: &rows,
            input,
        };
        let scale = sample.scale();
        let others = scale
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != 5)
            .map(|(_, scale)| *scale);
        assert!(others.fold(0.0, f32::max) < scale[5] / 3.0, "{scale:?}");
        assert!(sample.noise(&scale) < sample.noise(&[1.0; 8]) / 4.0);
    }
}
