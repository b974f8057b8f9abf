//! Vectors on their way out.

use js_sys::{Float32Array, Object, Reflect, Uint8Array};
use wasm_bindgen::JsValue;

use crate::Error;
use crate::Result;
use crate::embed::{Embedding, TextKind};

/// `{vectors: Float32Array, truncated: Uint8Array}`: all vectors one after another, and a flag each.
pub(super) fn to_js(embeddings: &[Embedding]) -> JsValue {
    let length: usize = embeddings.iter().map(|embedding| embedding.vector.len()).sum();
    let mut flat = Vec::with_capacity(length);
    embeddings
        .iter()
        .for_each(|embedding| flat.extend_from_slice(&embedding.vector));
    let truncated: Vec<u8> = embeddings
        .iter()
        .map(|embedding| u8::from(embedding.truncated))
        .collect();
    let object = Object::new();
    // Setting a field of a fresh object cannot fail.
    let _ = Reflect::set(&object, &"vectors".into(), &Float32Array::from(flat.as_slice()));
    let _ = Reflect::set(
        &object,
        &"truncated".into(),
        &Uint8Array::from(truncated.as_slice()),
    );
    object.into()
}

/// `"query"` or `"document"`.
pub(super) fn kind(name: &str) -> Result<TextKind> {
    match name {
        "query" => Ok(TextKind::Query),
        "document" => Ok(TextKind::Document),
        _ => Err(Error::invalid_argument(format!(
            "a text is a \"query\" or a \"document\", not {name:?}"
        ))),
    }
}
