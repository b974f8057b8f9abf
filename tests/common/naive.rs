//! BERT as the paper has it, in ten-line functions and double precision: the oracle for extracted weights.

use burrow::embed::weights::{BertWeights, LayerWeights, Linear, Matrix, Norm};

type Rows = Vec<Vec<f64>>;

/// One row per token.
pub fn forward(weights: &BertWeights, ids: &[u32]) -> Rows {
    let config = &weights.config;
    let embed = |(at, id): (usize, &u32)| {
        let word = row(&weights.word, *id as usize, config.hidden);
        let position = row(&weights.position, at, config.hidden);
        let sum = word
            .iter()
            .zip(&position)
            .zip(&weights.token_type0)
            .map(|((w, p), t)| w + p + f64::from(*t));
        norm(&weights.embedding_norm, config.eps, &sum.collect::<Vec<_>>())
    };
    let embedded = ids.iter().enumerate().map(embed).collect();
    weights
        .layers
        .iter()
        .fold(embedded, |x, one| layer(one, config.heads, config.eps, &x))
}

fn layer(weights: &LayerWeights, heads: usize, eps: f32, x: &Rows) -> Rows {
    let context = attention(weights, heads, x);
    let project = |(x, context): (&Vec<f64>, &Vec<f64>)| {
        norm(
            &weights.attention_norm,
            eps,
            &add(x, &linear(&weights.attention_output, context)),
        )
    };
    let y: Rows = x.iter().zip(&context).map(project).collect();
    let feed_forward = |y: &Vec<f64>| {
        let inner: Vec<_> = linear(&weights.intermediate, y).into_iter().map(gelu).collect();
        norm(
            &weights.output_norm,
            eps,
            &add(y, &linear(&weights.output, &inner)),
        )
    };
    y.iter().map(feed_forward).collect()
}

fn attention(weights: &LayerWeights, heads: usize, x: &Rows) -> Rows {
    let all = |of: &Linear| -> Rows { x.iter().map(|row| linear(of, row)).collect() };
    let (q, k, v) = (all(&weights.q), all(&weights.k), all(&weights.v));
    let size = weights.q.output / heads;
    let one_head = |q: &[f64], head: usize| {
        let part = head * size..(head + 1) * size;
        let score = |k: &Vec<f64>| dot(&q[part.clone()], &k[part.clone()]) / (size as f64).sqrt();
        let scores: Vec<_> = k.iter().map(score).collect();
        let largest = scores.iter().copied().fold(f64::MIN, f64::max);
        let powers: Vec<_> = scores.iter().map(|score| (score - largest).exp()).collect();
        let total: f64 = powers.iter().sum();
        let mix = |at: usize| {
            v.iter()
                .zip(&powers)
                .map(|(v, power)| v[at] * power / total)
                .sum()
        };
        part.map(mix).collect::<Vec<f64>>()
    };
    q.iter()
        .map(|q| (0..heads).flat_map(|head| one_head(q, head)).collect())
        .collect()
}

fn linear(weights: &Linear, x: &[f64]) -> Vec<f64> {
    let mut y: Vec<f64> = weights.bias.iter().map(|bias| f64::from(*bias)).collect();
    for (input, x) in x.iter().enumerate() {
        for (output, y) in y.iter_mut().enumerate() {
            let at = input * weights.output + output;
            *y += x * match &weights.weight {
                Matrix::F32(values) => f64::from(values[at]),
                Matrix::I8 { values, scale } => f64::from(values[at]) * f64::from(scale[output]),
            };
        }
    }
    y
}

fn norm(weights: &Norm, eps: f32, x: &[f64]) -> Vec<f64> {
    let count = x.len() as f64;
    let mean = x.iter().sum::<f64>() / count;
    let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
    let scale = 1.0 / (variance + f64::from(eps)).sqrt();
    let parameters = weights.gain.iter().zip(&weights.bias);
    x.iter()
        .zip(parameters)
        .map(|(x, (gain, bias))| (x - mean) * scale * f64::from(*gain) + f64::from(*bias))
        .collect()
}

/// With erf from its series and, further out, its continued fraction's limit; right to 1e-12 where it matters.
fn gelu(x: f64) -> f64 {
    let z = x / std::f64::consts::SQRT_2;
    let erf = if z.abs() > 5.0 {
        z.signum()
    } else {
        let mut term = z;
        let mut sum = z;
        for n in 1..120 {
            term *= -z * z / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        sum * std::f64::consts::FRAC_2_SQRT_PI
    };
    x * 0.5 * (1.0 + erf)
}

fn row(table: &Matrix, row: usize, width: usize) -> Vec<f64> {
    let range = row * width..(row + 1) * width;
    match table {
        Matrix::F32(values) => values[range].iter().map(|value| f64::from(*value)).collect(),
        Matrix::I8 { values, scale } => values[range]
            .iter()
            .map(|value| f64::from(*value) * f64::from(scale[row]))
            .collect(),
    }
}

fn add(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
