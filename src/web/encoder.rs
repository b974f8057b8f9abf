//! The encoder by itself.

use wasm_bindgen::prelude::*;

use crate::{Error, Result};

/// A model that embeds.
#[wasm_bindgen]
pub struct Encoder {}

#[wasm_bindgen]
impl Encoder {
    /// Reads a pack.
    #[wasm_bindgen(constructor)]
    pub fn new(pack: Vec<u8>) -> Result<Encoder> {
        Err(Error::corrupted(format!("no pack reader yet for {} bytes", pack.len())))
    }

    /// JSON.
    pub fn info(&self) -> String {
        String::new()
    }

    /// Vectors.
    pub fn embed(&self, texts: Vec<String>, kind: &str) -> Result<JsValue> {
        super::vectors::kind(kind)?;
        let _ = texts;
        Ok(super::vectors::to_js(&[]))
    }
}
