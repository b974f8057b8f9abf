//! IndexedDB storage and the model cache, in a real browser.
//!
//! Every case has a database of its own. What another tab, a full disk or a dropped connection does is done for real
//! where a page can (a second connection, a foreign version, a patched prototype that aborts as the browser would),
//! see [`page`].
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test may
#![cfg(target_arch = "wasm32")]

use std::rc::Rc;

use async_trait::async_trait;
use burrow::Result;
use burrow::model::{IndexFields, ItemId, Key, Millis, Namespace};
use burrow::storage::contract::Backend;
use burrow::storage::indexeddb::{Durability, IndexedDb};
use burrow::storage::{Epoch, Put, Snapshot, Storage, TextVector, Write};

wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_browser);

mod damage;
mod format;
mod models;
mod page;
mod tabs;
mod transactions;

/// A database name that no other case and no earlier run has.
fn fresh_name() -> String {
    format!("test-{}", js_sys::Math::random())
}

struct Database {
    name: String,
}

impl Database {
    fn new() -> Self {
        Self { name: fresh_name() }
    }
}

#[async_trait(?Send)]
impl Backend for Database {
    async fn open(&self) -> Result<Rc<dyn Storage>> {
        Ok(Rc::new(IndexedDb::open(&self.name, Durability::Relaxed).await?))
    }

    /// By length; forgetting by width has a case of its own.
    fn overflow(&self) -> (usize, usize) {
        (260, 1)
    }
}

fn id(key: &str) -> ItemId {
    ItemId {
        namespace: Namespace(vec!["test".to_owned()]),
        key: Key(key.to_owned()),
    }
}

/// A put of `{"text": text}` with one vector.
fn put(key: &str, text: &str, now: Millis) -> Write {
    Write::Put(Put {
        id: id(key),
        value: serde_json::json!({ "text": text }).to_string().into(),
        now,
        ttl: None,
        expires_at: None,
        index: IndexFields::Default,
        pending: false,
        vectors: vec![TextVector {
            text: [1; 16],
            vector: Rc::from([0.6, 0.8]),
            truncated: false,
        }],
    })
}

async fn epoch_of(storage: &dyn Storage) -> Epoch {
    storage.load().await.unwrap().index.epoch
}

async fn text_of(storage: &Rc<dyn Storage>, key: &str) -> Option<String> {
    let record = storage.read(&[id(key)]).await.unwrap().remove(0)?;
    let document: serde_json::Value = serde_json::from_str(&record.value).unwrap();
    Some(document["text"].as_str().unwrap().to_owned())
}

fn code<T>(result: Result<T>) -> &'static str {
    result.err().expect("an error").code()
}

burrow::storage_contract!(contract, async { Database::new() });
