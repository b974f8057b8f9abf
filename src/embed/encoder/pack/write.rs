//! Writing a pack, one layer at a time: a maker that drops each layer of the model file once it is written never holds
//! the model twice.

use super::layout::{LinearPlace, NormPlace, PanelsPlace, TablePlace};
use super::{
    Header, Layout, MAGIC, OwnedLayer, OwnedLinear, OwnedPanels, PRELUDE, PackInfo, VERSION, checksum,
};
use crate::embed::encoder::bytes::AlignedBytes;
use crate::embed::source::Precision;
use crate::embed::weights::{BertConfig, BertWeights, Matrix, Norm};
use crate::{Error, Result};

/// A pack in the making.
#[derive(Debug)]
pub struct PackWriter {
    bytes: AlignedBytes,
    layout: Layout,
}

impl PackWriter {
    /// Makes room for a pack of this shape and writes everything but weights.
    pub fn new(
        config: BertConfig,
        precision: Precision,
        smoothed: bool,
        vocabulary: &[String],
        model: PackInfo,
    ) -> Result<Self> {
        if let Some(token) = vocabulary.iter().find(|token| token.contains('\n')) {
            return Err(
                Error::model_load("a token of the vocabulary contains a line break")
                    .with("token", token.as_str()),
            );
        }
        if vocabulary.len() > config.vocab {
            let message = "the vocabulary has more tokens than the model has word embeddings";
            return Err(Error::model_load(message)
                .with("tokens", vocabulary.len())
                .with("embeddings", config.vocab));
        }
        let text = vocabulary.join("\n");
        let header = Header {
            config,
            precision,
            smoothed,
            vocabulary_bytes: text.len(),
            model,
        };
        header.validate()?;
        let json = serde_json::to_vec(&header)
            .map_err(|error| Error::internal("a pack's header").caused_by(error))?;
        let layout = Layout::new(&header, PRELUDE + json.len())?;
        let mut bytes = AlignedBytes::zeroed(layout.end());
        bytes[..MAGIC.len()].copy_from_slice(MAGIC);
        bytes[16..20].copy_from_slice(&VERSION.to_le_bytes());
        bytes[20..24].copy_from_slice(&(json.len() as u32).to_le_bytes());
        bytes[24..32].copy_from_slice(&(layout.end() as u64).to_le_bytes());
        bytes[PRELUDE..PRELUDE + json.len()].copy_from_slice(&json);
        layout
            .vocabulary
            .of_mut(&mut bytes)
            .copy_from_slice(text.as_bytes());
        Ok(Self { bytes, layout })
    }

    /// Writes the embedding layer; int8 packs quantise per row and column what is not yet int8.
    pub fn embeddings(&mut self, weights: &BertWeights) {
        let hidden = weights.config.hidden;
        let Self { bytes, layout } = self;
        layout.word.write(bytes, &weights.word, hidden);
        layout.position.write(bytes, &weights.position, hidden);
        layout
            .token_type0
            .of_mut(bytes)
            .copy_from_slice(&weights.token_type0);
        layout.embedding_norm.write(bytes, &weights.embedding_norm);
    }

    /// Writes one layer.
    pub fn layer(&mut self, index: usize, layer: &OwnedLayer) -> Result<()> {
        let Self { bytes, layout } = self;
        let place = &layout.layers[index];
        place.qkv.write(bytes, &layer.qkv)?;
        place.attention_output.write(bytes, &layer.attention_output)?;
        place.attention_norm.write(bytes, &layer.attention_norm);
        place.intermediate.write(bytes, &layer.intermediate)?;
        place.output.write(bytes, &layer.output)?;
        place.output_norm.write(bytes, &layer.output_norm);
        Ok(())
    }

    /// Seals the pack.
    pub fn finish(mut self) -> AlignedBytes {
        let checksum = checksum(&self.bytes);
        self.bytes[8..16].copy_from_slice(&checksum.to_le_bytes());
        self.bytes
    }
}

impl TablePlace {
    fn write(&self, bytes: &mut AlignedBytes, matrix: &Matrix, width: usize) {
        match (self, matrix) {
            (Self::F32(place), Matrix::F32(values)) => place.of_mut(bytes).copy_from_slice(values),
            (Self::F32(place), Matrix::I8 { values, scale }) => {
                let rows = place
                    .of_mut(bytes)
                    .chunks_exact_mut(width)
                    .zip(values.chunks_exact(width));
                for ((out, row), scale) in rows.zip(scale) {
                    out.iter_mut()
                        .zip(row)
                        .for_each(|(out, value)| *out = f32::from(*value) * scale);
                }
            }
            (
                Self::Int8 {
                    values: place,
                    rows,
                    columns,
                },
                Matrix::I8 { values, scale },
            ) => {
                place.of_mut(bytes).copy_from_slice(values);
                rows.of_mut(bytes).copy_from_slice(scale);
                columns.of_mut(bytes).fill(1.0);
            }
            (
                Self::Int8 {
                    values: place,
                    rows,
                    columns,
                },
                Matrix::F32(values),
            ) => {
                let scale = column_scale(values, width);
                columns.of_mut(bytes).copy_from_slice(&scale);
                let mut even = vec![0.0; width];
                for (index, row) in values.chunks_exact(width).enumerate() {
                    even.iter_mut()
                        .zip(row)
                        .zip(&scale)
                        .for_each(|((even, value), scale)| *even = value / scale);
                    let largest = even
                        .iter()
                        .fold(1e-20, |largest: f32, value| largest.max(value.abs()));
                    rows.of_mut(bytes)[index] = largest / 127.0;
                    let out = &mut place.of_mut(bytes)[index * width..][..width];
                    let step = 127.0 / largest;
                    out.iter_mut()
                        .zip(&even)
                        .for_each(|(out, value)| *out = (value * step).round() as i8);
                }
            }
        }
    }
}

/// The root mean square of each column; dividing by it makes all columns fit one scale per row.
fn column_scale(values: &[f32], width: usize) -> Vec<f32> {
    let mut squares = vec![0.0_f64; width];
    for row in values.chunks_exact(width) {
        squares
            .iter_mut()
            .zip(row)
            .for_each(|(sum, value)| *sum += f64::from(*value) * f64::from(*value));
    }
    let rows = (values.len() / width).max(1) as f64;
    squares
        .iter()
        .map(|sum| ((sum / rows).sqrt() as f32).max(1e-20))
        .collect()
}

impl NormPlace {
    fn write(&self, bytes: &mut AlignedBytes, norm: &Norm) {
        self.gain.of_mut(bytes).copy_from_slice(&norm.gain);
        self.bias.of_mut(bytes).copy_from_slice(&norm.bias);
    }
}

impl LinearPlace {
    fn write(&self, bytes: &mut AlignedBytes, linear: &OwnedLinear) -> Result<()> {
        match (&self.panels, &linear.panels) {
            (PanelsPlace::F32(place), OwnedPanels::F32(panels)) => {
                place.of_mut(bytes).copy_from_slice(panels)
            }
            (
                PanelsPlace::Int8 {
                    smoothing,
                    values,
                    scale,
                    sums,
                },
                OwnedPanels::Int8 { .. },
            ) => {
                if let OwnedPanels::Int8 {
                    values: v,
                    scale: c,
                    sums: u,
                    smoothing: s,
                } = &linear.panels
                {
                    smoothing.of_mut(bytes).copy_from_slice(s);
                    values.of_mut(bytes).copy_from_slice(v);
                    scale.of_mut(bytes).copy_from_slice(c);
                    sums.of_mut(bytes).copy_from_slice(u);
                }
            }
            _ => return Err(Error::internal("a layer of one precision in a pack of another")),
        }
        self.bias.of_mut(bytes).copy_from_slice(&linear.bias);
        Ok(())
    }
}
