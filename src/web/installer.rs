//! The installer.

use std::cell::RefCell;

use js_sys::Uint8Array;
use serde_json::json;
use wasm_bindgen::prelude::*;

use super::vectors;
use crate::embed::encoder::AlignedBytes;
use crate::embed::source::{ModelSpec, Precision};
use crate::embed::tract::{Installation, PROBES};
use crate::{Error, Result};

/// Installs one model, and runs it by tract.
#[wasm_bindgen]
pub struct Installer {
    inner: RefCell<Installation>,
}

#[wasm_bindgen]
impl Installer {
    /// Begins with a specification, as `resolveModel` gives it.
    #[wasm_bindgen(constructor)]
    pub fn new(spec: &str) -> Result<Installer> {
        let spec: ModelSpec = serde_json::from_str(spec)
            .map_err(|error| Error::internal("the specification cannot be read").caused_by(error))?;
        Ok(Self {
            inner: RefCell::new(Installation::new(spec)),
        })
    }

    /// Takes the next bytes of the model file.
    #[wasm_bindgen(js_name = modelChunk)]
    pub fn model_chunk(&self, chunk: &[u8]) -> Result<()> {
        self.inner.borrow_mut().model_chunk(chunk)
    }

    /// Takes the whole `tokenizer.json`.
    pub fn tokenizer(&self, bytes: &[u8]) -> Result<()> {
        self.inner.borrow_mut().tokenizer(bytes)
    }

    /// Checks size and hash.
    pub fn verify(&self) -> Result<()> {
        self.inner.borrow_mut().verify()
    }

    /// Loads the graph; JSON: `{recognised, reason?, dims}`.
    pub fn compile(&self) -> Result<String> {
        let compiled = self.inner.borrow_mut().compile()?;
        let recognised = compiled.unrecognised.is_none();
        Ok(
            json!({ "recognised": recognised, "reason": compiled.unrecognised, "dims": compiled.dims })
                .to_string(),
        )
    }

    /// Makes the pack, `"int8"` or `"f32"`, instead of compiling.
    pub fn pack(&self, precision: &str) -> Result<MadePack> {
        let precision = match precision {
            "int8" => Precision::Int8,
            "f32" => Precision::F32,
            _ => {
                return Err(Error::invalid_argument(format!(
                    "there is no precision {precision:?}"
                )));
            }
        };
        Ok(MadePack {
            bytes: self.inner.borrow_mut().pack(precision)?,
        })
    }

    /// The texts that both engines embed.
    pub fn probes(&self) -> Vec<String> {
        PROBES.iter().map(|&text| text.to_owned()).collect()
    }

    /// Embeds by tract.
    pub fn embed(&self, texts: Vec<String>, kind: &str) -> Result<JsValue> {
        Ok(vectors::to_js(
            &self.inner.borrow().embed(&texts, vectors::kind(kind)?)?,
        ))
    }
}

/// A pack where it was made: taken out in pieces, since a copy of the whole is what memory is short of.
#[wasm_bindgen]
pub struct MadePack {
    bytes: AlignedBytes,
}

#[wasm_bindgen]
impl MadePack {
    /// In bytes.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// The bytes from `start` on, at most `length`; none behind the end.
    pub fn piece(&self, start: usize, length: usize) -> Uint8Array {
        let rest = self.bytes.get(start..).unwrap_or_default();
        Uint8Array::from(&rest[..length.min(rest.len())])
    }
}
