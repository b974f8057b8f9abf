//! Making a pack, and int8 weights where the model file has none.
//!
//! From an f32 file the integers are our own: one scale per output channel, so that every channel uses its full range
//! (published int8 files use half of it), and **scale moved from activations into weights** first (SmoothQuant). A
//! few input channels of BERT carry values many times larger than the rest; quantised per row, they cost all others
//! their resolution. So channel `k` of the input is divided by `s[k]` before it is quantised, and row `k` of the weight
//! multiplied with it:
//!
//! `s[k] = max|x[k]|^α / max|w[k]|^(1-α)`, scaled so that the geometric mean is 1.
//!
//! The product is the same; the difficulty is shared. BERT's residual uses the LayerNorm's output too, so the division
//! cannot be hidden in its gain: the quantiser does it, one multiplication per element.
//!
//! The maxima of `x` come from running the f32 model over calibration texts. That is done one layer at a time, for all
//! texts: a layer is laid out as f32, run, quantised, written and dropped before the next one, so making the int8 pack
//! needs hardly more memory than the f32 weights that came in.
//!
//! From an int8 file the integers and scales are kept exactly; nothing is moved.

use super::bytes::AlignedBytes;
use super::embeddings::{Embeddings, Table};
use super::layer::{Maxima, Norm, Scratch};
use super::pack::{OwnedLayer, OwnedLinear, PackInfo, PackWriter};
use crate::Result;
use crate::embed::source::Precision;
use crate::embed::tokenizer::WordPiece;
use crate::embed::weights::{BertWeights, LayerWeights, Linear, Matrix};

/// How far scale is moved, α: 0 leaves it in the activations, 1 moves all of it.
pub const SMOOTHING: f32 = 0.6;

/// Smaller maxima are taken for this, so that a channel that never speaks does not become infinite.
const SMALLEST: f32 = 1e-5;

/// One text a line, English and Chinese: questions, statements, code, numbers, lists. Written for this purpose.
const CALIBRATION_TEXTS: &str = include_str!("calibration.txt");

/// Makes a pack of a model. An int8 pack of an f32 model is quantised as described above, the tokenizer reading the
/// calibration texts.
pub fn make_pack(
    weights: BertWeights,
    precision: Precision,
    vocabulary: Vec<String>,
    info: PackInfo,
) -> Result<AlignedBytes> {
    weights.validate()?;
    if precision == Precision::Int8 && !weights.is_int8() {
        return make_quantised(weights, vocabulary, info, SMOOTHING);
    }
    let mut writer = PackWriter::new(weights.config.clone(), precision, None, &vocabulary, info)?;
    writer.embeddings(&weights);
    for (index, layer) in weights.layers.into_iter().enumerate() {
        let layer = match precision {
            Precision::F32 => OwnedLayer::f32(&layer),
            Precision::Int8 => OwnedLayer::int8(&layer),
        };
        writer.layer(index, &layer)?;
    }
    Ok(writer.finish())
}

fn make_quantised(
    weights: BertWeights,
    vocabulary: Vec<String>,
    info: PackInfo,
    alpha: f32,
) -> Result<AlignedBytes> {
    let (max_tokens, rules) = (info.max_tokens, info.tokenizer.clone());
    let config = weights.config.clone();
    let mut writer = PackWriter::new(config.clone(), Precision::Int8, Some(alpha), &vocabulary, info)?;
    writer.embeddings(&weights);
    let tokenizer = WordPiece::new(vocabulary, rules)?;
    let texts: Vec<_> = CALIBRATION_TEXTS
        .lines()
        .map(|text| tokenizer.encode(text, max_tokens).ids)
        .collect();
    drop(tokenizer);
    let sequences: Vec<_> = texts.iter().map(Vec::as_slice).collect();
    let mut x = Vec::new();
    let spans = embeddings(&weights).embed(&sequences, &mut x);
    let BertWeights {
        layers,
        word,
        position,
        ..
    } = weights;
    drop((word, position));
    let mut scratch = Scratch::default();
    for (index, layer) in layers.into_iter().enumerate() {
        let exact = OwnedLayer::f32(&layer);
        scratch.watch();
        exact
            .view(config.heads, config.eps)
            .run(&mut x, &spans, &mut scratch);
        writer.layer(index, &quantise(&layer, &scratch.watched(), alpha))?;
    }
    Ok(writer.finish())
}

/// The embedding layer of a model file. A table that is int8 there is so for the calibration too.
fn embeddings(weights: &BertWeights) -> Embeddings<'_> {
    fn table(matrix: &Matrix) -> Table<'_> {
        match matrix {
            Matrix::F32(values) => Table::F32(values),
            Matrix::I8 { values, scale } => Table::Int8 { values, scale },
        }
    }
    Embeddings {
        word: table(&weights.word),
        position: table(&weights.position),
        token_type0: &weights.token_type0,
        norm: Norm::of(&weights.embedding_norm, weights.config.eps),
    }
}

fn quantise(
    layer: &LayerWeights,
    [qkv, attention_output, intermediate, output]: &Maxima,
    alpha: f32,
) -> OwnedLayer {
    OwnedLayer {
        qkv: smoothed(&[&layer.q, &layer.k, &layer.v], qkv, alpha),
        attention_output: smoothed(&[&layer.attention_output], attention_output, alpha),
        attention_norm: layer.attention_norm.clone(),
        intermediate: smoothed(&[&layer.intermediate], intermediate, alpha),
        output: smoothed(&[&layer.output], output, alpha),
        output_norm: layer.output_norm.clone(),
    }
}

/// Layers that share their input share its scale.
fn smoothed(parts: &[&Linear], maxima: &[f32], alpha: f32) -> OwnedLinear {
    let weights: Vec<Vec<f32>> = parts.iter().map(|part| part.weight.to_f32(part.output)).collect();
    let scale = moved_scale(&weights, parts, maxima, alpha);
    let quantised: Vec<Linear> = parts
        .iter()
        .zip(weights)
        .map(|(part, mut weight)| {
            for (row, scale) in weight.chunks_exact_mut(part.output).zip(&scale) {
                row.iter_mut().for_each(|value| *value *= scale);
            }
            let weight = per_output_channel(&weight, part.output);
            Linear {
                input: part.input,
                output: part.output,
                weight,
                bias: part.bias.clone(),
            }
        })
        .collect();
    OwnedLinear::int8(
        &quantised.iter().collect::<Vec<_>>(),
        scale.iter().map(|scale| 1.0 / scale).collect(),
    )
}

/// What each input channel is divided by and each row of the weights multiplied with.
fn moved_scale(weights: &[Vec<f32>], parts: &[&Linear], maxima: &[f32], alpha: f32) -> Vec<f32> {
    let scale: Vec<f32> = maxima
        .iter()
        .enumerate()
        .map(|(channel, activation)| {
            let rows = weights
                .iter()
                .zip(parts)
                .map(|(weight, part)| &weight[channel * part.output..][..part.output]);
            let weight = rows
                .flatten()
                .fold(0.0, |largest: f32, value| largest.max(value.abs()));
            activation.max(SMALLEST).powf(alpha) / weight.max(SMALLEST).powf(1.0 - alpha)
        })
        .collect();
    let mean = (scale.iter().map(|scale| scale.ln()).sum::<f32>() / scale.len() as f32).exp();
    scale.iter().map(|scale| scale / mean).collect()
}

/// Integers between -127 and 127, a scale for each column.
fn per_output_channel(weight: &[f32], output: usize) -> Matrix {
    let mut largest = vec![0.0_f32; output];
    for row in weight.chunks_exact(output) {
        largest
            .iter_mut()
            .zip(row)
            .for_each(|(largest, value)| *largest = largest.max(value.abs()));
    }
    let scale: Vec<f32> = largest.iter().map(|largest| largest.max(1e-20) / 127.0).collect();
    let quantised =
        |(at, value): (usize, &f32)| (value / scale[at % output]).round().clamp(-127.0, 127.0) as i8;
    Matrix::I8 {
        values: weight.iter().enumerate().map(quantised).collect(),
        scale,
    }
}
