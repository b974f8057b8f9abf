//! Where everything lies in a pack: a walk over the header's shape, each tensor on the next multiple of 64.

use super::{Header, corrupted};
use crate::Result;
use crate::embed::encoder::bytes::{AlignedBytes, Place};
use crate::embed::encoder::embeddings::{Embeddings, Table};
use crate::embed::encoder::kernels::Tight;
use crate::embed::encoder::layer::{Layer, Linear, Norm, Panels};
use crate::embed::source::Precision;
use crate::embed::weights::BertConfig;

/// A cache line; every tensor starts on one.
const ALIGNMENT: u64 = 64;

#[derive(Debug, Clone, Copy)]
pub(super) enum TablePlace {
    F32(Place<f32>),
    Int8 {
        values: Place<i8>,
        rows: Place<f32>,
        columns: Place<f32>,
    },
}

#[derive(Debug, Clone, Copy)]
pub(super) struct NormPlace {
    pub gain: Place<f32>,
    pub bias: Place<f32>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum PanelsPlace {
    F32(Place<f32>),
    Int8 {
        smoothing: Place<f32>,
        values: Place<i8>,
        scale: Place<f32>,
        sums: Place<i32>,
    },
}

#[derive(Debug, Clone, Copy)]
pub(super) struct LinearPlace {
    pub input: usize,
    pub output: usize,
    pub panels: PanelsPlace,
    pub bias: Place<f32>,
}

#[derive(Debug, Clone)]
pub(super) struct LayerPlace {
    pub qkv: LinearPlace,
    pub attention_output: LinearPlace,
    pub attention_norm: NormPlace,
    pub intermediate: LinearPlace,
    pub output: LinearPlace,
    pub output_norm: NormPlace,
}

/// The places of all tensors.
#[derive(Debug)]
pub struct Layout {
    pub(super) vocabulary: Place<u8>,
    pub(super) word: TablePlace,
    pub(super) position: TablePlace,
    pub(super) token_type0: Place<f32>,
    pub(super) embedding_norm: NormPlace,
    pub(super) layers: Vec<LayerPlace>,
    end: usize,
}

/// Hands out places. Counts in 64 bits, so that a hostile header cannot wrap it on a 32-bit machine.
struct Walk {
    at: u64,
    precision: Precision,
}

impl Walk {
    fn take<T: bytemuck::AnyBitPattern + bytemuck::NoUninit>(
        &mut self,
        rows: usize,
        columns: usize,
    ) -> Result<Place<T>> {
        let start = self.at.next_multiple_of(ALIGNMENT);
        let count = rows as u64 * columns as u64;
        self.at = start + count * size_of::<T>() as u64;
        if isize::try_from(self.at).is_err() {
            return Err(corrupted("describes a model larger than memory"));
        }
        Ok(Place::new(start as usize, count as usize))
    }

    fn table(&mut self, rows: usize, columns: usize) -> Result<TablePlace> {
        Ok(match self.precision {
            Precision::F32 => TablePlace::F32(self.take(rows, columns)?),
            Precision::Int8 => TablePlace::Int8 {
                values: self.take(rows, columns)?,
                rows: self.take(rows, 1)?,
                columns: self.take(columns, 1)?,
            },
        })
    }

    fn norm(&mut self, width: usize) -> Result<NormPlace> {
        Ok(NormPlace {
            gain: self.take(width, 1)?,
            bias: self.take(width, 1)?,
        })
    }

    fn linear(&mut self, input: usize, output: usize) -> Result<LinearPlace> {
        let panels = match self.precision {
            Precision::F32 => PanelsPlace::F32(self.take(input, output)?),
            Precision::Int8 => PanelsPlace::Int8 {
                smoothing: self.take(input, 1)?,
                values: self.take(input, output)?,
                scale: self.take(output, 1)?,
                sums: self.take(output, 1)?,
            },
        };
        Ok(LinearPlace {
            input,
            output,
            panels,
            bias: self.take(output, 1)?,
        })
    }

    fn layer(&mut self, hidden: usize, intermediate: usize) -> Result<LayerPlace> {
        Ok(LayerPlace {
            qkv: self.linear(hidden, 3 * hidden)?,
            attention_output: self.linear(hidden, hidden)?,
            attention_norm: self.norm(hidden)?,
            intermediate: self.linear(hidden, intermediate)?,
            output: self.linear(intermediate, hidden)?,
            output_norm: self.norm(hidden)?,
        })
    }
}

impl Layout {
    /// Walks over what a valid header describes, from the end of the header on.
    pub fn new(header: &Header, start: usize) -> Result<Self> {
        let BertConfig {
            hidden,
            layers,
            intermediate,
            vocab,
            positions,
            ..
        } = header.config;
        let mut walk = Walk {
            at: start as u64,
            precision: header.precision,
        };
        let vocabulary = walk.take(header.vocabulary_bytes, 1)?;
        let word = walk.table(vocab, hidden)?;
        let position = walk.table(positions, hidden)?;
        let token_type0 = walk.take(hidden, 1)?;
        let embedding_norm = walk.norm(hidden)?;
        let layers = (0..layers)
            .map(|_| walk.layer(hidden, intermediate))
            .collect::<Result<_>>()?;
        Ok(Self {
            vocabulary,
            word,
            position,
            token_type0,
            embedding_norm,
            layers,
            end: walk.at as usize,
        })
    }

    /// The length of the whole file.
    pub fn end(&self) -> usize {
        self.end
    }

    /// The integers of all linear layers, each with its depth.
    pub(super) fn int8_values(&self) -> impl Iterator<Item = (Place<i8>, usize)> + '_ {
        let linears = |layer: &LayerPlace| {
            [
                layer.qkv,
                layer.attention_output,
                layer.intermediate,
                layer.output,
            ]
        };
        self.layers
            .iter()
            .flat_map(linears)
            .filter_map(|linear| match linear.panels {
                PanelsPlace::F32(_) => None,
                PanelsPlace::Int8 { values, .. } => Some((values, linear.input)),
            })
    }

    pub(super) fn embeddings<'a>(&self, bytes: &'a AlignedBytes, eps: f32) -> Embeddings<'a> {
        Embeddings {
            word: self.word.of(bytes),
            position: self.position.of(bytes),
            token_type0: self.token_type0.of(bytes),
            norm: self.embedding_norm.of(bytes, eps),
        }
    }

    /// `tight` has what was found for each of [`Layout::int8_values`].
    pub(super) fn layers<'a>(
        &self,
        bytes: &'a AlignedBytes,
        tight: &'a [Tight],
        config: &BertConfig,
    ) -> Vec<Layer<'a>> {
        let mut tight = tight.iter();
        let mut next = || tight.next().unwrap_or(Tight::UNKNOWN);
        let layer = |place: &LayerPlace| Layer {
            heads: config.heads,
            qkv: place.qkv.of(bytes, next()),
            attention_output: place.attention_output.of(bytes, next()),
            attention_norm: place.attention_norm.of(bytes, config.eps),
            intermediate: place.intermediate.of(bytes, next()),
            output: place.output.of(bytes, next()),
            output_norm: place.output_norm.of(bytes, config.eps),
        };
        self.layers.iter().map(layer).collect()
    }
}

impl TablePlace {
    fn of<'a>(&self, bytes: &'a AlignedBytes) -> Table<'a> {
        match self {
            Self::F32(values) => Table::F32(values.of(bytes)),
            Self::Int8 {
                values,
                rows,
                columns,
            } => Table::Int8 {
                values: values.of(bytes),
                rows: rows.of(bytes),
                columns: columns.of(bytes),
            },
        }
    }
}

impl NormPlace {
    fn of<'a>(&self, bytes: &'a AlignedBytes, eps: f32) -> Norm<'a> {
        Norm {
            gain: self.gain.of(bytes),
            bias: self.bias.of(bytes),
            eps,
        }
    }
}

impl LinearPlace {
    fn of<'a>(&self, bytes: &'a AlignedBytes, tight: &'a Tight) -> Linear<'a> {
        let panels = match &self.panels {
            PanelsPlace::F32(panels) => Panels::F32(panels.of(bytes)),
            PanelsPlace::Int8 {
                smoothing,
                values,
                scale,
                sums,
            } => Panels::Int8 {
                values: values.of(bytes),
                scale: scale.of(bytes),
                sums: sums.of(bytes),
                smoothing: smoothing.of(bytes),
                tight,
            },
        };
        Linear {
            input: self.input,
            output: self.output,
            panels,
            bias: self.bias.of(bytes),
        }
    }
}
