//! The store.

use std::rc::Rc;

use js_sys::Function;
use serde::Deserialize;
use wasm_bindgen::prelude::*;

use super::clock::BrowserClock;
use super::embedder::{AbortSignal, EmbedderHandle, JsEmbedder};
use super::observer::JsObserver;
use crate::embed::Embedder;
use crate::model::{Op, OpResult};
use crate::storage::Storage;
use crate::storage::indexeddb::{Durability, IndexedDb};
use crate::storage::memory::MemoryStorage;
use crate::store::{self, Observer, ReindexOptions, StoreOptions, TtlOptions};
use crate::{Error, Result};

/// A store of JSON documents.
#[wasm_bindgen]
pub struct Store {
    inner: Rc<store::Store>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    IndexedDb,
    Memory,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Options {
    name: String,
    storage: Kind,
    #[serde(default)]
    fields: Vec<String>,
    dims: Option<usize>,
    #[serde(default)]
    reindex: bool,
    #[serde(default)]
    ttl: Ttl,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Ttl {
    default_ttl: Option<f64>,
    refresh_on_read: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Reindex {
    #[serde(default)]
    fields: Vec<String>,
    dims: Option<usize>,
}

#[wasm_bindgen]
impl Store {
    /// Opens a store; `options` is JSON: `{name, storage, fields?, dims?, reindex?, ttl?}`. The signal cancels what has
    /// to be indexed first.
    pub async fn open(
        options: String,
        embedder: Option<EmbedderHandle>,
        on_progress: Option<Function>,
        signal: Option<AbortSignal>,
    ) -> Result<Store> {
        let Options {
            name,
            storage,
            fields,
            dims,
            reindex,
            ttl,
        } = parse(&options)?;
        let options = StoreOptions {
            fields,
            dims,
            reindex,
            ttl: TtlOptions {
                default_ttl: ttl.default_ttl,
                refresh_on_read: ttl.refresh_on_read.unwrap_or(true),
            },
            observer: observer(on_progress, signal.clone()),
        };
        let embedder = embedder.map(|handle| JsEmbedder::shared(handle, signal));
        // A database that cannot be opened may be done without; one that opened and then failed holds what was written.
        let storage = connect(&name, &storage)
            .await
            .map_err(|error| error.with("opened", false))?;
        let inner = store::Store::open(
            storage.clone(),
            as_core(embedder.as_ref()),
            Rc::new(BrowserClock),
            options,
        )
        .await;
        if let Some(embedder) = embedder {
            embedder.forget_signal();
        }
        match inner {
            Ok(inner) => Ok(Self {
                inner: Rc::new(inner),
            }),
            Err(error) => {
                // The connection would stand in the way of the next open; its own failure is not the story.
                let _ = storage.close().await;
                Err(error)
            }
        }
    }

    /// Deletes the database of a name.
    pub async fn destroy(name: String) -> Result<()> {
        IndexedDb::destroy(&name).await
    }

    /// Performs an operation, JSON in and out.
    pub async fn execute(&self, operation: String) -> Result<String> {
        self.inner.execute(Op::from_json(&operation)?).await?.to_json()
    }

    /// Performs operations in order, all or none.
    pub async fn batch(&self, operations: String) -> Result<String> {
        OpResult::list_to_json(&self.inner.batch(Op::list_from_json(&operations)?).await?)
    }

    /// Makes the index anew; without an embedder there is none afterwards. `options` is JSON: `{fields?, dims?}`.
    pub async fn reindex(
        &self,
        options: String,
        embedder: Option<EmbedderHandle>,
        on_progress: Option<Function>,
        signal: Option<AbortSignal>,
    ) -> Result<()> {
        let Reindex { fields, dims } = parse(&options)?;
        let embedder = embedder.map(|handle| JsEmbedder::shared(handle, signal.clone()));
        let options = ReindexOptions {
            embedder: as_core(embedder.as_ref()),
            fields,
            dims,
            observer: observer(on_progress, signal),
        };
        let outcome = self.inner.reindex(options).await;
        if let Some(embedder) = embedder {
            embedder.forget_signal();
        }
        outcome
    }

    /// The store in numbers, as JSON.
    pub async fn stats(&self) -> Result<String> {
        let stats = self.inner.stats().await?;
        serde_json::to_string(&stats)
            .map_err(|error| Error::internal("unwritable statistics").caused_by(error))
    }

    /// Gives the room of expired items back, and tells how many there were.
    pub async fn sweep(&self) -> Result<usize> {
        self.inner.sweep().await
    }

    /// Waits for writes under way and lets go of the database.
    pub async fn close(&self) -> Result<()> {
        self.inner.close().await
    }
}

async fn connect(name: &str, kind: &Kind) -> Result<Rc<dyn Storage>> {
    Ok(match kind {
        Kind::Memory => Rc::new(MemoryStorage::new()),
        Kind::IndexedDb => Rc::new(IndexedDb::open(name, Durability::Relaxed).await?),
    })
}

fn as_core(embedder: Option<&Rc<JsEmbedder>>) -> Option<Rc<dyn Embedder>> {
    embedder.map(|embedder| Rc::clone(embedder) as Rc<dyn Embedder>)
}

#[allow(clippy::unnecessary_wraps)] // The shape that the options want.
fn observer(on_progress: Option<Function>, signal: Option<AbortSignal>) -> Option<Rc<dyn Observer>> {
    Some(Rc::new(JsObserver { on_progress, signal }))
}

fn parse<T: for<'a> Deserialize<'a>>(options: &str) -> Result<T> {
    serde_json::from_str(options).map_err(|error| {
        Error::invalid_argument(format!("the options cannot be used: {error}")).caused_by(error)
    })
}
