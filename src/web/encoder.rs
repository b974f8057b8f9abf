//! The encoder by itself.

use js_sys::Uint8Array;
use serde_json::json;
use sha2::{Digest, Sha256};
use wasm_bindgen::prelude::*;

use super::vectors;
use crate::embed::encoder::{self, AlignedBytes, pack::Header};
use crate::embed::sentence::SentenceEncoder;
use crate::embed::verified::hex;
use crate::{Error, Result};

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
        let mut arriving = ArrivingPack::new(pack.length() as usize)?;
        arriving.push(pack)?;
        arriving.open()
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

/// A pack that arrives in pieces, at the place where the kernels will read it.
#[wasm_bindgen]
pub struct ArrivingPack {
    bytes: AlignedBytes,
    arrived: usize,
}

#[wasm_bindgen]
impl ArrivingPack {
    /// Makes room for so many bytes. The size may be only what a server claims.
    #[wasm_bindgen(constructor)]
    pub fn new(size: usize) -> Result<ArrivingPack> {
        let no_room =
            || Error::model_load("there is no memory for a model pack of this size").with("size", size);
        Ok(Self {
            bytes: AlignedBytes::try_zeroed(size).ok_or_else(no_room)?,
            arrived: 0,
        })
    }

    /// Takes the next bytes.
    pub fn push(&mut self, piece: &Uint8Array) -> Result<()> {
        let end = self.arrived + piece.length() as usize;
        let place = self.bytes.get_mut(self.arrived..end).ok_or_else(|| {
            Error::corrupted("the model pack is longer than announced: install the model again")
        })?;
        piece.copy_to(place);
        self.arrived = end;
        Ok(())
    }

    /// The hash of what has arrived, lower-case hex.
    pub fn sha256(&self) -> String {
        hex(&Sha256::digest(&self.bytes[..self.arrived]))
    }

    /// Checks the pack and makes it an encoder; a damaged one is `corrupted`.
    pub fn open(self) -> Result<Encoder> {
        let engine = encoder::Encoder::from_pack(self.bytes)?;
        let info = describe(engine.header());
        Ok(Encoder {
            inner: encoder::assemble(engine)?,
            info,
        })
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
