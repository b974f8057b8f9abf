//! Models kept on the device.

use js_sys::{Array, Object};
use wasm_bindgen::prelude::*;

use crate::storage::indexeddb;
use crate::{Error, Result};

/// The models of this origin, complete and partial.
#[wasm_bindgen]
pub struct ModelCache {
    inner: indexeddb::ModelCache,
}

#[wasm_bindgen]
impl ModelCache {
    /// Opens the cache.
    pub async fn open() -> Result<ModelCache> {
        Ok(Self {
            inner: indexeddb::ModelCache::open().await?,
        })
    }

    /// `{received, chunks, meta}` of a complete model.
    pub async fn complete(&self, id: String) -> Result<JsValue> {
        Ok(self.inner.complete(&id).await?.map_or(JsValue::UNDEFINED, found))
    }

    /// One chunk of a complete model.
    pub async fn chunk(&self, id: String, index: usize) -> Result<Vec<u8>> {
        self.inner.chunk(&id, index).await
    }

    /// Makes a whole partial download the complete model `id`.
    pub async fn promote(&self, partial: String, id: String, meta: String) -> Result<()> {
        self.inner.promote(&partial, &id, &meta).await
    }

    /// Removes a model and its partial download.
    pub async fn delete(&self, id: String) -> Result<()> {
        self.inner.delete(&id).await
    }

    /// All models as JSON: `[{id, size, complete, meta}]`.
    pub async fn list(&self) -> Result<String> {
        let models = self.inner.list().await?;
        serde_json::to_string(&models).map_err(|error| Error::internal("unwritable list").caused_by(error))
    }

    /// `{received, chunks, meta}` of a download that has begun.
    pub async fn partial(&self, id: String) -> Result<JsValue> {
        Ok(self.inner.partial(&id).await?.map_or(JsValue::UNDEFINED, found))
    }

    /// One chunk of a partial download.
    #[wasm_bindgen(js_name = partialChunk)]
    pub async fn partial_chunk(&self, id: String, index: usize) -> Result<Vec<u8>> {
        self.inner.partial_chunk(&id, index).await
    }

    /// Keeps the bytes of a download from `offset` on.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // A file's size.
    pub async fn append(&self, id: String, offset: f64, chunk: Vec<u8>, meta: String) -> Result<()> {
        self.inner
            .append(&id, offset as u64, &chunk, &meta)
            .await
            .map(drop)
    }

    /// Waits for what is under way and closes.
    pub async fn close(&self) {
        self.inner.close().await;
    }
}

#[allow(clippy::cast_precision_loss)] // A file's size.
fn found(found: indexeddb::Partial) -> JsValue {
    record([
        ("received", (found.received as f64).into()),
        ("chunks", (found.chunks as f64).into()),
        ("meta", found.meta.into()),
    ])
}

fn record<const N: usize>(fields: [(&str, JsValue); N]) -> JsValue {
    let entries: Array = fields
        .into_iter()
        .map(|(name, value)| Array::of2(&name.into(), &value))
        .collect();
    Object::from_entries(&entries).unwrap_or_default().into()
}
