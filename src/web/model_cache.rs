//! Models kept on the device.

use js_sys::{Array, Object, Uint8Array};
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

    /// `{bytes, meta}` of a complete model.
    pub async fn get(&self, id: String) -> Result<JsValue> {
        Ok(match self.inner.get(&id).await? {
            Some((bytes, meta)) => record([
                ("bytes", Uint8Array::from(bytes.as_slice()).into()),
                ("meta", meta.into()),
            ]),
            None => JsValue::UNDEFINED,
        })
    }

    /// Keeps a model.
    pub async fn put(&self, id: String, bytes: Vec<u8>, meta: String) -> Result<()> {
        self.inner.put(&id, &bytes, &meta).await
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
    #[allow(clippy::cast_precision_loss)] // A file's size.
    pub async fn partial(&self, id: String) -> Result<JsValue> {
        Ok(match self.inner.partial(&id).await? {
            Some(partial) => record([
                ("received", (partial.received as f64).into()),
                ("chunks", (partial.chunks as f64).into()),
                ("meta", partial.meta.into()),
            ]),
            None => JsValue::UNDEFINED,
        })
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

fn record<const N: usize>(fields: [(&str, JsValue); N]) -> JsValue {
    let entries: Array = fields
        .into_iter()
        .map(|(name, value)| Array::of2(&name.into(), &value))
        .collect();
    Object::from_entries(&entries).unwrap_or_default().into()
}
