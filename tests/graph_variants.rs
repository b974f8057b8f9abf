//! The same network written in many ways: tract must run each as onnxruntime does, and the matcher must take the right
//! weights out, or say why it cannot.
#![cfg(feature = "tract")]
#![allow(clippy::unwrap_used)] // a test may

mod common;
#[path = "common/naive.rs"]
mod naive;

use std::collections::BTreeMap;

use burrow::embed::pooling::Pooling;
use burrow::embed::presets::Preset;
use burrow::embed::sentence::Engine;
use burrow::embed::tokenizer::WordPiece;
use burrow::embed::tract::{OnnxModel, TractEngine, extract};
use burrow::embed::weights::{BertConfig, Matrix};
use common::{cosine, fixture, model_file};
use proptest::prelude::*;
use serde::Deserialize;

#[derive(Deserialize)]
struct Expected {
    shape: Shape,
    sequences: Vec<Vec<u32>>,
    graphs: BTreeMap<String, Graph>,
}

#[derive(Deserialize)]
struct Shape {
    vocab: usize,
    hidden: usize,
    layers: usize,
    heads: usize,
    intermediate: usize,
    positions: usize,
}

/// What onnxruntime gives, and what the matcher should say.
#[derive(Deserialize)]
struct Graph {
    hidden: Vec<Vec<f32>>,
    int8: Option<bool>,
    reason: Option<String>,
}

/// Its positions are a running sum over token ids, which tract 0.23.9 takes for symbolic dimensions.
const TRACT_CANNOT: &str = "roberta";

fn expected() -> Expected {
    serde_json::from_slice(&fixture("graphs/expected.json")).unwrap()
}

fn graph(name: &str) -> OnnxModel {
    OnnxModel::parse(&fixture(&format!("graphs/{name}.onnx"))).unwrap()
}

/// Dynamic int8 rounds activations, each implementation a little differently; nothing else here rounds.
fn tolerance(name: &str) -> f64 {
    if name.starts_with("int8") || name.starts_with("uint8") {
        0.99
    } else {
        0.999_999
    }
}

fn pooled(rows: &[f32], width: usize) -> [Vec<f32>; 2] {
    [Pooling::Cls, Pooling::Mean].map(|pooling| pooling.pool(rows, width))
}

#[test]
fn tract_runs_every_variant_as_onnxruntime_does() {
    let expected = expected();
    let sequences: Vec<_> = expected.sequences.iter().map(Vec::as_slice).collect();
    for (name, wanted) in expected.graphs.iter().filter(|(name, _)| *name != TRACT_CANNOT) {
        let engine = TractEngine::load(graph(name)).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        assert_eq!(engine.hidden_size(), expected.shape.hidden);
        for (at, pooling) in [Pooling::Cls, Pooling::Mean].into_iter().enumerate() {
            let vectors = engine.run(&sequences, pooling).unwrap();
            for (vector, rows) in vectors.iter().zip(&wanted.hidden) {
                let reached = cosine(vector, &pooled(rows, expected.shape.hidden)[at]);
                assert!(reached >= tolerance(name), "{name}: {reached}");
            }
        }
    }
}

#[test]
fn what_tract_cannot_run_is_an_error_when_it_is_loaded() {
    assert_eq!(
        TractEngine::load(graph(TRACT_CANNOT)).err().unwrap().code(),
        "model_load"
    );
}

#[test]
fn the_weights_of_every_bert_give_what_onnxruntime_gives() {
    let expected = expected();
    let shape = &expected.shape;
    let mut recognised = 0;
    for (name, wanted) in expected.graphs.iter().filter(|(_, graph)| graph.reason.is_none()) {
        let weights = extract(&graph(name)).unwrap_or_else(|reason| panic!("{name}: {reason}"));
        let config = BertConfig {
            hidden: shape.hidden,
            layers: shape.layers,
            heads: shape.heads,
            intermediate: shape.intermediate,
            vocab: shape.vocab,
            positions: shape.positions,
            eps: 1e-12,
        };
        assert_eq!(weights.config, config, "{name}");
        assert_eq!(Some(weights.is_int8()), wanted.int8, "{name}");
        for (ids, rows) in expected.sequences.iter().zip(&wanted.hidden) {
            let ours: Vec<f32> = naive::forward(&weights, ids)
                .into_iter()
                .flatten()
                .map(|value| value as f32)
                .collect();
            let reached = cosine(&ours, rows);
            assert!(reached >= tolerance(name), "{name}: {reached}");
        }
        recognised += 1;
    }
    assert_eq!(recognised, 17);
}

/// The quantised variants were made from `plain-opset14`: each number must be within half a step of it, which a vector's
/// cosine would be too blunt to show.
#[test]
fn quantised_weights_are_those_of_the_float_graph_to_half_a_step() {
    let plain = extract(&graph("plain-opset14")).unwrap();
    for name in ["int8-per-tensor", "int8-per-channel", "uint8-per-tensor"] {
        let quantised = extract(&graph(name)).unwrap();
        for (ours, plain) in quantised.layers.iter().zip(&plain.layers) {
            for ((part, ours), (_, plain)) in ours.linears().into_iter().zip(plain.linears()) {
                assert_eq!(ours.bias, plain.bias, "{name} {part}");
                let Matrix::F32(floats) = &plain.weight else {
                    panic!("{part} is not float")
                };
                let largest = floats
                    .iter()
                    .fold(0.0f32, |largest, float| largest.max(float.abs()));
                for (at, float) in floats.iter().enumerate() {
                    // The widest step there can be: reduced range over the whole tensor.
                    let (value, step) = match &ours.weight {
                        Matrix::F32(values) => (values[at], largest / 64.0),
                        Matrix::I8 { values, scale } => {
                            let scale = scale[at % ours.output];
                            (f32::from(values[at]) * scale, scale)
                        }
                    };
                    assert!(
                        (value - float).abs() <= step * 0.51,
                        "{name} {part} {at}: {value} for {float}"
                    );
                }
            }
        }
    }
}

#[test]
fn what_is_no_bert_is_told_why() {
    let mut refused = 0;
    for (name, wanted) in expected().graphs {
        let Some(reason) = wanted.reason else { continue };
        let told = extract(&graph(&name)).unwrap_err().to_string();
        assert!(told.contains(&reason), "{name}: {told}");
        refused += 1;
    }
    assert_eq!(refused, 4);
}

#[test]
fn the_real_files_are_recognised_with_the_shape_of_their_preset() {
    let files = [
        ("bge-small-en-v1.5", "model.onnx", 12),
        ("bge-small-en-v1.5", "model_quantized.onnx", 12),
        ("bge-small-zh-v1.5", "model.onnx", 4),
        ("bge-small-zh-v1.5", "model_quantized.onnx", 4),
        ("all-MiniLM-L6-v2", "model.onnx", 6),
        ("all-MiniLM-L6-v2", "model_quantized.onnx", 6),
        ("e5-small-v2", "model_quantized.onnx", 12),
    ];
    for (name, file, layers) in files {
        let preset = Preset::find(name).unwrap();
        let weights = extract(&OnnxModel::parse(&model_file(name, file)).unwrap()).unwrap();
        let tokenizer = WordPiece::from_tokenizer_json(&model_file(name, "tokenizer.json"), None).unwrap();
        let config = &weights.config;
        assert_eq!(
            (config.hidden, config.layers),
            (preset.dims, layers),
            "{name} {file}"
        );
        assert_eq!(
            (config.vocab, config.positions),
            (tokenizer.vocab_size(), 512),
            "{name} {file}"
        );
        assert_eq!(
            config.hidden / config.heads,
            if name.contains("zh") { 64 } else { 32 }
        );
        assert_eq!(weights.is_int8(), file.contains("quantized"));
    }
}

/// The naive encoder is slow; one short text through all layers of a real file is enough to catch a swapped weight.
#[test]
fn weights_of_a_real_file_give_what_tract_gives() {
    let model = OnnxModel::parse(&model_file("bge-small-zh-v1.5", "model.onnx")).unwrap();
    let ids = [101, 4500, 2787, 1599, 3614, 102];
    let ours: Vec<_> = naive::forward(&extract(&model).unwrap(), &ids)[0]
        .iter()
        .map(|v| *v as f32)
        .collect();
    let theirs = TractEngine::load(model)
        .unwrap()
        .run(&[&ids], Pooling::Cls)
        .unwrap();
    let reached = cosine(&ours, &theirs[0]);
    assert!(reached >= 0.999_999, "{reached}");
}

#[test]
fn ids_beyond_the_vocabulary_are_an_error_and_no_panic() {
    let engine = TractEngine::load(graph("plain-opset14")).unwrap();
    assert_eq!(
        engine.run(&[&[2, 40, 3]], Pooling::Cls).unwrap_err().code(),
        "embedding"
    );
    // More tokens than positions.
    assert_eq!(
        engine.run(&[&[2; 13]], Pooling::Cls).unwrap_err().code(),
        "embedding"
    );
    assert_eq!(engine.run(&[&[2; 12]], Pooling::Cls).unwrap().len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    /// What tract itself makes of such files is another matter: see `embed::tract`.
    #[test]
    fn a_mangled_graph_is_refused_or_read_but_never_a_panic(
        which in 0usize..21,
        places in prop::collection::vec((0.0f64..1.0, any::<u8>()), 1..6),
        end in 0.5f64..1.2,
    ) {
        let name = expected().graphs.into_keys().nth(which).unwrap();
        let mut bytes = fixture(&format!("graphs/{name}.onnx"));
        let length = bytes.len() as f64;
        for (place, byte) in places {
            // Squared: nodes come first in the file, weights after them.
            bytes[(place * place * length) as usize] = byte;
        }
        bytes.truncate((end * length) as usize);
        if let Ok(model) = OnnxModel::parse(&bytes) {
            let _ = extract(&model);
        }
    }
}
