//! From what an application writes to a model with nothing left to decide.

use sha2::{Digest, Sha256};
use wasm_bindgen::prelude::*;

use crate::embed::source::ModelSource;
use crate::embed::verified::hex;
use crate::{Error, Result};

/// A model source as JSON to its specification as JSON.
#[wasm_bindgen(js_name = resolveModel)]
pub fn resolve_model(source: &str) -> Result<String> {
    let source = serde_json::from_str(source)
        .map_err(|error| Error::invalid_argument("a model source has to be JSON").caused_by(error))?;
    let spec = ModelSource::parse(&source)?.resolve()?;
    serde_json::to_string(&spec).map_err(|error| Error::internal("unwritable specification").caused_by(error))
}

/// The sha256 of some bytes in lower-case hex, for pages that have no `crypto.subtle` (plain http).
#[wasm_bindgen]
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The version of this build.
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}
