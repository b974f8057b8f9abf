//! IndexedDB storage and the model cache, in a real browser.
//!
//! Every case has a database of its own. What another tab, a full disk or a dropped connection does is done for real
//! where a page can (a second connection, a foreign version, a patched prototype that aborts as the browser would),
//! see [`page`].

#![cfg(target_arch = "wasm32")]

use std::rc::Rc;

use async_trait::async_trait;
use burrow::Result;
use burrow::storage::Storage;
use burrow::storage::contract::Backend;
use burrow::storage::indexeddb::{Durability, IndexedDb};

wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_browser);

mod page;

/// A database name that no other case and no earlier run has.
fn fresh_name() -> String {
    format!("test-{}", js_sys::Math::random())
}

struct Database {
    name: String,
    durability: Durability,
}

impl Database {
    fn new(durability: Durability) -> Self {
        Self { name: fresh_name(), durability }
    }
}

#[async_trait(?Send)]
impl Backend for Database {
    async fn open(&self) -> Result<Rc<dyn Storage>> {
        Ok(Rc::new(IndexedDb::open(&self.name, self.durability).await?))
    }
}

burrow::storage_contract!(relaxed, async { Database::new(Durability::Relaxed) });
burrow::storage_contract!(strict, async { Database::new(Durability::Strict) });
