//! Real model files, all the way from ONNX bytes to a pack that tract vouches for.
//!
//! int8 packs are held to more than that, with every model and in both wasm builds, by tests/e2e/vectors.test.mjs; making
//! one runs the model over the calibration texts, which takes minutes without optimisation.
#![cfg(feature = "tract")]
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::PathBuf;

use burrow::embed::TextKind;
use burrow::embed::encoder;
use burrow::embed::source::{ModelSource, Precision};
use burrow::embed::tract::{Installation, PROBES};
use serde_json::json;

fn models() -> PathBuf {
    let cache = || {
        let home = || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache");
        std::env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from)
    };
    std::env::var_os("BURROW_MODELS").map_or_else(|| cache().join("burrow/models"), PathBuf::from)
}

/// Installs from the files of a folder; the bytes come in pieces, as from a network.
fn install(name: &str, file: &str, precision: &str) -> Installation {
    let spec = ModelSource::parse(&json!({ "preset": name, "precision": precision }))
        .unwrap()
        .resolve()
        .unwrap();
    let mut installation = Installation::new(spec);
    let folder = models().join(name);
    installation
        .tokenizer(&std::fs::read(folder.join("tokenizer.json")).unwrap())
        .unwrap();
    for chunk in std::fs::read(folder.join(file)).unwrap().chunks(1 << 20) {
        installation.model_chunk(chunk).unwrap();
    }
    installation.verify().unwrap();
    installation
}

fn least_cosine(name: &str, file: &str, precision: Precision) -> f64 {
    let mut installation = install(name, file, precision.name());
    assert_eq!(installation.compile().unwrap().unrecognised, None);
    let pack = install(name, file, precision.name()).pack(precision).unwrap();
    if let Some(folder) = std::env::var_os("BURROW_KEEP_PACKS") {
        let path = PathBuf::from(folder).join(format!("{name}-{}.pack", precision.name()));
        std::fs::write(path, &*pack).unwrap();
    }
    let probes: Vec<String> = PROBES.iter().map(|&text| text.to_owned()).collect();
    let expected = installation.embed(&probes, TextKind::Document).unwrap();
    let found = encoder::open(pack)
        .unwrap()
        .embed(&probes, TextKind::Document)
        .unwrap();
    let cosine = |(a, b): (&[f32], &[f32])| {
        a.iter()
            .zip(b)
            .map(|(a, b)| f64::from(*a) * f64::from(*b))
            .sum::<f64>()
    };
    let pairs = expected.iter().zip(&found).map(|(a, b)| (&*a.vector, &*b.vector));
    pairs.map(cosine).fold(f64::INFINITY, f64::min)
}

#[test]
fn tract_vouches_for_an_f32_pack_to_four_digits() {
    let cosine = least_cosine("bge-small-zh-v1.5", "model.onnx", Precision::F32);
    assert!(cosine >= 0.9999, "{cosine}");
}

#[test]
fn a_step_out_of_turn_is_an_error() {
    let spec = ModelSource::parse(&json!("bge-small-en-v1.5"))
        .unwrap()
        .resolve()
        .unwrap();
    let mut installation = Installation::new(spec);
    assert_eq!(installation.compile().unwrap_err().code(), "internal");
    assert_eq!(installation.pack(Precision::Int8).unwrap_err().code(), "internal");
    assert_eq!(
        installation.embed(&[], TextKind::Query).unwrap_err().code(),
        "internal"
    );
}
