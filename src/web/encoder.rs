//! The encoder by itself.

use js_sys::Uint8Array;
use serde_json::json;
use wasm_bindgen::prelude::*;

use super::vectors;
use crate::Result;
use crate::embed::encoder::{self, AlignedBytes, pack::Header};
use crate::embed::sentence::SentenceEncoder;

/// A model that embeds, made from a pack.
#[wasm_bindgen]
pub struct Encoder {
    inner: SentenceEncoder,
    info: String,
}

#[wasm_bindgen]
impl Encoder {
    /// Reads a pack; a damaged one is `corrupted`. The bytes are copied once, to where the kernels read them.
    #[wasm_bindgen(constructor)]
    pub fn new(pack: &Uint8Array) -> Result<Encoder> {
        let mut bytes = AlignedBytes::zeroed(pack.length() as usize);
        pack.copy_to(&mut bytes);
        let engine = encoder::Encoder::from_pack(bytes)?;
        let info = describe(engine.header());
        Ok(Self {
            inner: encoder::assemble(engine)?,
            info,
        })
    }

    /// What the model is, as JSON: `{fingerprint, precision, pooling, dims, maxTokens, layers, vocabulary}`.
    pub fn info(&self) -> String {
        self.info.clone()
    }

    /// Embeds texts of a kind, `"query"` or `"document"`.
    pub fn embed(&self, texts: Vec<String>, kind: &str) -> Result<JsValue> {
        Ok(vectors::to_js(&self.inner.embed(&texts, vectors::kind(kind)?)?))
    }

    /// The token ids of a text of a kind.
    pub fn tokenize(&self, text: &str, kind: &str) -> Result<Vec<u32>> {
        Ok(self.inner.tokenize(text, vectors::kind(kind)?).ids)
    }
}

fn describe(header: &Header) -> String {
    let (config, model) = (&header.config, &header.model);
    json!({
        "fingerprint": model.fingerprint,
        "precision": header.precision,
        "pooling": model.pooling,
        "dims": config.hidden,
        "maxTokens": model.max_tokens,
        "layers": config.layers,
        "vocabulary": config.vocab,
    })
    .to_string()
}
