#![cfg(target_arch = "wasm32")]
use burrow::storage::Storage;
use burrow::storage::indexeddb::{Durability, IndexedDb};
use wasm_bindgen_test::*;
wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen_test]
async fn opens() {
    let db = IndexedDb::open("smoke", Durability::Relaxed).await.unwrap();
    assert_eq!(db.load().await.unwrap().sequence, 0);
    db.close().await.unwrap();
    IndexedDb::destroy("smoke").await.unwrap();
}
