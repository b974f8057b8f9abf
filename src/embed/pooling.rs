//! From one vector per token to one per text.

use serde::{Deserialize, Serialize};

/// How a model's token vectors become the text's vector; every model was trained for one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pooling {
    /// The first token's vector, `[CLS]`.
    Cls,
    /// The mean of all tokens' vectors, `[CLS]` and `[SEP]` included.
    Mean,
}

impl Pooling {
    /// Its name, as it stands in a model source and in a fingerprint.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cls => "cls",
            Self::Mean => "mean",
        }
    }

    /// Pools `tokens`, rows of `width` numbers. No row gives zeros.
    pub fn pool(self, tokens: &[f32], width: usize) -> Vec<f32> {
        let mut pooled = vec![0.0; width];
        if width == 0 || tokens.len() < width {
            return pooled;
        }
        match self {
            Self::Cls => pooled.copy_from_slice(&tokens[..width]),
            Self::Mean => {
                let rows = tokens.chunks_exact(width);
                let share = 1.0 / rows.len() as f32;
                for row in rows {
                    for (sum, value) in pooled.iter_mut().zip(row) {
                        *sum += value;
                    }
                }
                for sum in &mut pooled {
                    *sum *= share;
                }
            }
        }
        pooled
    }
}

/// Scales to unit length; a vector of zeros stays one. In f64, where squares of f32 neither overflow nor vanish and the
/// factor of a tiny vector is still a number.
pub fn normalise(vector: &mut [f32]) {
    let square: f64 = vector.iter().map(|value| f64::from(*value).powi(2)).sum();
    if square > 0.0 {
        let factor = square.sqrt().recip();
        for value in vector {
            *value = (f64::from(*value) * factor) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cls_is_the_first_row_and_mean_the_average_of_all() {
        let tokens = [1.0, 2.0, 3.0, 6.0, 5.0, 1.0];
        assert_eq!(Pooling::Cls.pool(&tokens, 2), [1.0, 2.0]);
        assert_eq!(Pooling::Mean.pool(&tokens, 2), [3.0, 3.0]);
    }

    #[test]
    fn nothing_to_pool_gives_zeros() {
        assert_eq!(Pooling::Mean.pool(&[], 2), [0.0, 0.0]);
        assert_eq!(Pooling::Cls.pool(&[], 2), [0.0, 0.0]);
    }

    #[test]
    fn a_normalised_vector_has_unit_length_and_its_direction() {
        let mut vector = [3.0, 4.0];
        normalise(&mut vector);
        assert_eq!(vector, [0.6, 0.8]);
        let mut zeros = [0.0; 3];
        normalise(&mut zeros);
        assert_eq!(zeros, [0.0; 3]);
    }

    #[test]
    fn extreme_magnitudes_normalise_to_unit_length() {
        for magnitude in [f32::MAX, f32::MIN_POSITIVE, 1e-44] {
            let mut vector = [magnitude, magnitude];
            normalise(&mut vector);
            let square: f64 = vector.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
            assert!((square - 1.0).abs() < 1e-6, "{magnitude}: {vector:?}");
        }
    }
}
