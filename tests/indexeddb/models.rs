//! The model cache. Its database has one name, so every case cleans up what it put.

use burrow::storage::indexeddb::{CachedModel, ModelCache, Partial};
use wasm_bindgen_test::wasm_bindgen_test;

use super::*;

const DATABASE: &str = "burrow-models";
const MEGABYTE: usize = 1 << 20;

async fn empty() -> ModelCache {
    page::raw_delete(DATABASE).await;
    ModelCache::open().await.unwrap()
}

/// Bytes in which no two chunks are alike.
fn bytes(length: usize, seed: u8) -> Vec<u8> {
    (0..length).map(|n| (n >> 16) as u8 ^ n as u8 ^ seed).collect()
}

fn listed(id: &str, size: usize, complete: bool, meta: &str) -> CachedModel {
    CachedModel {
        id: id.to_owned(),
        size: size as u64,
        complete,
        meta: meta.to_owned(),
    }
}

#[wasm_bindgen_test]
async fn a_model_comes_back_as_it_was_put() {
    let cache = empty().await;
    assert_eq!(cache.get("m").await.unwrap(), None);
    for length in [0, 1, 4 * MEGABYTE, 9 * MEGABYTE + 1] {
        let model = bytes(length, 1);
        cache.put("m", &model, r#"{"dims":384}"#).await.unwrap();
        let (got, meta) = cache.get("m").await.unwrap().unwrap();
        assert!(got == model, "{length} bytes");
        assert_eq!(meta, r#"{"dims":384}"#);
        assert_eq!(
            cache.list().await.unwrap(),
            [listed("m", length, true, r#"{"dims":384}"#)]
        );
        assert_eq!(
            page::raw_count(DATABASE, "chunks").await,
            length.div_ceil(4 * MEGABYTE) as f64
        );
    }
    cache.delete("m").await.unwrap();
    cache.delete("m").await.unwrap();
    assert_eq!(cache.get("m").await.unwrap(), None);
    assert_eq!(page::raw_count(DATABASE, "chunks").await, 0.0);
    assert_eq!(page::raw_count(DATABASE, "models").await, 0.0);
    assert_eq!(code(cache.put("", &[], "{}").await), "invalid_argument");
}

#[wasm_bindgen_test]
async fn a_full_disk_keeps_the_model_that_was_there() {
    let cache = empty().await;
    cache.put("m", b"old", "{}").await.unwrap();
    for at in 1..=3 {
        let patch = page::full_disk(at);
        assert_eq!(
            code(cache.put("m", &bytes(6 * MEGABYTE, 2), "{}").await),
            "quota_exceeded"
        );
        drop(patch);
        assert_eq!(cache.get("m").await.unwrap().unwrap().0, b"old");
    }
    cache.delete("m").await.unwrap();
}

#[wasm_bindgen_test]
async fn a_damaged_model_is_corrupted_and_can_be_put_again() {
    for damage in ["flip the last byte", "cut in half", "empty", "another type"] {
        let cache = empty().await;
        cache.put("m", &bytes(5 * MEGABYTE, 3), "{}").await.unwrap();
        cache.close().await;
        page::raw_damage(DATABASE, "chunks", damage).await;
        let cache = ModelCache::open().await.unwrap();
        let error = cache.get("m").await.unwrap_err();
        assert_eq!(error.code(), "corrupted");
        assert_eq!(error.context().details["model"], "m");
        cache.put("m", b"again", "{}").await.unwrap();
        assert_eq!(cache.get("m").await.unwrap().unwrap().0, b"again");
    }
    let cache = empty().await;
    cache.put("m", b"model", "{}").await.unwrap();
    page::raw_damage(DATABASE, "models", "cut in half").await;
    assert_eq!(code(cache.get("m").await), "corrupted");
    cache.delete("m").await.unwrap();
}

#[wasm_bindgen_test]
async fn a_download_goes_on_where_it_stopped() {
    let cache = empty().await;
    assert_eq!(cache.partial("m").await.unwrap(), None);
    assert_eq!(cache.append("m", 0, b"abc", "1").await.unwrap(), 3);
    assert_eq!(cache.append("m", 3, b"de", "2").await.unwrap(), 5);
    cache.close().await;

    let cache = ModelCache::open().await.unwrap();
    let partial = Partial {
        received: 5,
        chunks: 2,
        meta: "2".to_owned(),
    };
    assert_eq!(cache.partial("m").await.unwrap(), Some(partial));
    assert_eq!(cache.partial_chunk("m", 0).await.unwrap(), b"abc");
    assert_eq!(cache.partial_chunk("m", 1).await.unwrap(), b"de");
    assert_eq!(code(cache.partial_chunk("m", 2).await), "invalid_argument");
    assert_eq!(cache.get("m").await.unwrap(), None, "a partial model is no model");
    assert_eq!(cache.list().await.unwrap(), [listed("m", 5, false, "2")]);

    let error = cache.append("m", 3, b"de", "2").await.unwrap_err();
    assert_eq!(error.code(), "conflict");
    assert_eq!(error.context().details["received"], 5);
    assert_eq!(cache.append("m", 0, b"x", "3").await.unwrap(), 1);
    assert_eq!(cache.partial_chunk("m", 0).await.unwrap(), b"x");
    assert_eq!(page::raw_count(DATABASE, "chunks").await, 1.0);

    cache.put("m", b"whole", "4").await.unwrap();
    assert_eq!(cache.partial("m").await.unwrap(), None);
    assert_eq!(page::raw_count(DATABASE, "chunks").await, 1.0);
    cache.delete("m").await.unwrap();
}

#[wasm_bindgen_test]
async fn a_damaged_part_of_a_download_is_corrupted() {
    let cache = empty().await;
    cache.append("m", 0, b"abc", "{}").await.unwrap();
    page::raw_damage(DATABASE, "chunks", "flip the last byte").await;
    assert_eq!(code(cache.partial_chunk("m", 0).await), "corrupted");
    cache.delete("m").await.unwrap();
}

#[wasm_bindgen_test]
async fn models_are_listed_complete_ones_first() {
    let cache = empty().await;
    cache.append("a", 0, b"a", "{}").await.unwrap();
    cache.put("b", b"bb", "{}").await.unwrap();
    cache.put("a-b", b"", "{}").await.unwrap();
    let expected = [
        listed("a-b", 0, true, "{}"),
        listed("b", 2, true, "{}"),
        listed("a", 1, false, "{}"),
    ];
    assert_eq!(cache.list().await.unwrap(), expected);
    cache.delete("a").await.unwrap();
    assert_eq!(cache.list().await.unwrap(), expected[..2]);
    cache.close().await;
    page::raw_delete(DATABASE).await;
}

#[wasm_bindgen_test]
async fn a_whole_download_becomes_the_model_without_passing_through_here() {
    let cache = empty().await;
    cache.put("m", b"old", "{}").await.unwrap();
    let model = bytes(9 * MEGABYTE, 7);
    let mut at = 0;
    for chunk in model.chunks(4 * MEGABYTE) {
        cache.append("m/pack", at, chunk, "{}").await.unwrap();
        at += chunk.len() as u64;
    }
    cache.promote("m/pack", "m", r#"{"new":1}"#).await.unwrap();
    let (got, meta) = cache.get("m").await.unwrap().unwrap();
    assert!(got == model);
    assert_eq!(meta, r#"{"new":1}"#);
    assert_eq!(cache.partial("m/pack").await.unwrap(), None);
    let whole = cache.complete("m").await.unwrap().unwrap();
    assert_eq!((whole.received, whole.chunks), (9 * MEGABYTE as u64, 3));
    assert!(cache.chunk("m", 2).await.unwrap() == model[8 * MEGABYTE..]);
    assert_eq!(code(cache.chunk("m", 3).await), "invalid_argument");
    assert_eq!(code(cache.promote("none", "m", "{}").await), "invalid_argument");
    assert!(cache.get("m").await.unwrap().is_some());
    cache.delete("m").await.unwrap();
}
