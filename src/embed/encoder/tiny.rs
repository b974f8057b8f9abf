//! A tiny random BERT for tests: the one of tests/fixtures/packs/make_tiny.py, number for number.

use serde::Deserialize;

use super::pack::PackInfo;
use crate::embed::pooling::Pooling;
use crate::embed::tokenizer::TokenizerRules;
use crate::embed::weights::{BertConfig, BertWeights, LayerWeights, Linear, Matrix, Norm};

/// The packs that the script wrote.
pub const PACK_F32: &[u8] = include_bytes!("../../../tests/fixtures/packs/tiny-f32-v1.pack");
pub const PACK_INT8: &[u8] = include_bytes!("../../../tests/fixtures/packs/tiny-int8-v1.pack");

/// Sequences, and the vectors that numpy computed for them.
#[derive(Deserialize)]
pub struct Expected {
    pub sequences: Vec<Vec<u32>>,
    pub f32: ExpectedVectors,
    pub int8: ExpectedVectors,
}

#[derive(Deserialize)]
pub struct ExpectedVectors {
    pub cls: Vec<Vec<f32>>,
    pub mean: Vec<Vec<f32>>,
}

pub fn expected() -> Expected {
    serde_json::from_str(include_str!("../../../tests/fixtures/packs/tiny-v1.json")).unwrap()
}

/// splitmix64; floats are exact in f32.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn floats(&mut self, count: usize) -> Vec<f32> {
        (0..count)
            .map(|_| (self.next() >> 40) as f32 / (1 << 23) as f32 - 1.0)
            .collect()
    }

    fn matrix(&mut self, rows: usize, columns: usize, int8: bool, scales: usize) -> Matrix {
        if int8 {
            let values = (0..rows * columns).map(|_| self.next() as i8).collect();
            Matrix::I8 {
                values,
                scale: self
                    .floats(scales)
                    .iter()
                    .map(|scale| (scale + 2.0) / 256.0)
                    .collect(),
            }
        } else {
            Matrix::F32(
                self.floats(rows * columns)
                    .iter()
                    .map(|value| value * 0.5)
                    .collect(),
            )
        }
    }

    fn linear(&mut self, input: usize, output: usize, int8: bool) -> Linear {
        Linear {
            input,
            output,
            weight: self.matrix(input, output, int8, output),
            bias: self.floats(output),
        }
    }

    fn norm(&mut self, width: usize) -> Norm {
        Norm {
            gain: self.floats(width).iter().map(|value| value + 1.0).collect(),
            bias: self.floats(width),
        }
    }
}

pub fn weights(int8: bool) -> BertWeights {
    let config = BertConfig {
        hidden: 16,
        layers: 2,
        heads: 2,
        intermediate: 24,
        vocab: 12,
        positions: 10,
        eps: 1e-12,
    };
    let (hidden, intermediate) = (config.hidden, config.intermediate);
    let mut numbers = Numbers(if int8 { 8 } else { 32 });
    BertWeights {
        word: numbers.matrix(config.vocab, hidden, int8, config.vocab),
        position: numbers.matrix(config.positions, hidden, int8, config.positions),
        token_type0: numbers.floats(hidden),
        embedding_norm: numbers.norm(hidden),
        layers: (0..config.layers)
            .map(|_| LayerWeights {
                q: numbers.linear(hidden, hidden, int8),
                k: numbers.linear(hidden, hidden, int8),
                v: numbers.linear(hidden, hidden, int8),
                attention_output: numbers.linear(hidden, hidden, int8),
                attention_norm: numbers.norm(hidden),
                intermediate: numbers.linear(hidden, intermediate, int8),
                output: numbers.linear(intermediate, hidden, int8),
                output_norm: numbers.norm(hidden),
            })
            .collect(),
        config,
    }
}

pub fn vocabulary() -> Vec<String> {
    let tokens = [
        "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "den", "set", "##t", "##s", "", "家",
    ];
    tokens.map(str::to_owned).to_vec()
}

pub fn info() -> PackInfo {
    PackInfo {
        fingerprint: "tiny".to_owned(),
        source_sha256: "00".repeat(32),
        pooling: Pooling::Cls,
        query_prefix: "q: ".to_owned(),
        document_prefix: String::new(),
        max_tokens: 10,
        tokenizer: TokenizerRules::default(),
    }
}
