//! What the reference tests share: where the model files are, and what Python said about the 40 texts.
#![allow(dead_code)] // each test file uses its part
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test may

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// A file of the model cache. A missing one is a failure with the remedy in it, never a skip.
pub fn model_file(model: &str, file: &str) -> Vec<u8> {
    let path = models().join(model).join(file);
    std::fs::read(&path).unwrap_or_else(|error| {
        panic!(
            "{}: {error}. `cargo xtask models` gets the model files.",
            path.display()
        )
    })
}

fn models() -> PathBuf {
    let variable = |name| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let cache = || {
        variable("XDG_CACHE_HOME")
            .or_else(|| variable("HOME").map(|home| home.join(".cache")))
            .expect("HOME, XDG_CACHE_HOME or BURROW_MODELS has to be set")
            .join("burrow/models")
    };
    variable("BURROW_MODELS").unwrap_or_else(cache)
}

pub fn fixture(path: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(path);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[derive(Deserialize)]
pub struct Text {
    pub name: String,
    pub text: String,
}

pub fn texts() -> Vec<Text> {
    serde_json::from_slice(&fixture("embedding/texts.json")).unwrap()
}

/// Python `tokenizers` on the 40 texts, for one model.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tokens {
    pub prefix: String,
    pub max_tokens: usize,
    pub ids: BTreeMap<String, Vec<u32>>,
    pub truncated: Vec<String>,
}

pub fn tokens(model: &str) -> Tokens {
    let mut all: BTreeMap<String, Tokens> =
        serde_json::from_slice(&fixture("embedding/tokens.json")).unwrap();
    all.remove(model).unwrap()
}

/// Python onnxruntime on the 40 texts: unit vectors in the order of the texts.
pub fn vectors(model: &str, precision: &str, dims: usize) -> Vec<Vec<f32>> {
    floats(&fixture(&format!("embedding/{model}.{precision}.bin")))
        .chunks(dims)
        .map(<[f32]>::to_vec)
        .collect()
}

pub fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes
        .chunks_exact(4)
        .map(|four| f32::from_le_bytes(four.try_into().unwrap()))
        .collect()
}

pub fn cosine(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len());
    let dot = |a: &[f32], b: &[f32]| {
        a.iter()
            .zip(b)
            .map(|(a, b)| f64::from(*a) * f64::from(*b))
            .sum::<f64>()
    };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}
