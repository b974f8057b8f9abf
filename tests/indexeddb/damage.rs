//! Records that are not what was written.

use wasm_bindgen_test::wasm_bindgen_test;

use super::*;

/// Two items, of which `a` is the first record of each store.
async fn two_items(damage: &[(&str, &str)]) -> (Rc<dyn Storage>, Epoch) {
    let database = Database::new();
    let storage = database.open().await.unwrap();
    let epoch = epoch_of(&*storage).await;
    storage
        .commit(epoch, vec![put("a", "text", 1), put("b", "text", 1)])
        .await
        .unwrap();
    storage.close().await.unwrap();
    for (store, damage) in damage {
        page::raw_damage(&database.name, store, damage).await;
    }
    (database.open().await.unwrap(), epoch)
}

#[wasm_bindgen_test]
async fn a_damaged_entry_is_corrupted_and_never_another_entry() {
    for damage in ["flip the last byte", "cut in half", "empty", "another type"] {
        let (storage, _) = two_items(&[("entries", damage)]).await;
        assert_eq!(code(storage.load().await), "corrupted", "{damage}");
        assert_eq!(code(storage.changes(0).await), "corrupted", "{damage}");
        assert_eq!(code(storage.read(&[id("a")]).await), "corrupted", "{damage}");
        assert_eq!(text_of(&storage, "b").await.as_deref(), Some("text"));
    }
}

#[wasm_bindgen_test]
async fn a_document_of_another_put_is_corrupted() {
    for damage in ["another text", "cut in half", "another type"] {
        let (storage, _) = two_items(&[("documents", damage)]).await;
        assert_eq!(storage.load().await.unwrap().entries.len(), 2);
        assert_eq!(code(storage.read(&[id("a")]).await), "corrupted", "{damage}");
        assert_eq!(text_of(&storage, "b").await.as_deref(), Some("text"));
    }
}

#[wasm_bindgen_test]
async fn a_damaged_item_can_be_overwritten_by_nothing_but_a_repair() {
    let (storage, epoch) = two_items(&[("entries", "cut in half")]).await;
    assert_eq!(
        code(storage.commit(epoch, vec![put("a", "new", 2)]).await),
        "corrupted"
    );
    storage.commit(epoch, vec![put("b", "new", 2)]).await.unwrap();
    assert_eq!(text_of(&storage, "b").await.as_deref(), Some("new"));
}

#[wasm_bindgen_test]
async fn a_damaged_state_or_log_is_corrupted() {
    for damage in ["cut in half", "another type"] {
        let (storage, epoch) = two_items(&[("meta", damage)]).await;
        assert_eq!(code(storage.load().await), "corrupted");
        assert_eq!(
            code(storage.commit(epoch, vec![put("c", "text", 2)]).await),
            "corrupted"
        );
    }
    let (storage, _) = two_items(&[("changes", "another type")]).await;
    assert_eq!(code(storage.changes(0).await), "corrupted");
    assert_eq!(storage.load().await.unwrap().entries.len(), 2);
}

#[wasm_bindgen_test]
async fn a_database_without_its_number_is_corrupted() {
    let database = Database::new();
    let storage = database.open().await.unwrap();
    let epoch = epoch_of(&*storage).await;
    storage.close().await.unwrap();
    page::raw_take(&database.name, "meta").await;
    let storage = database.open().await.unwrap();
    assert_eq!(code(storage.load().await), "corrupted");
    assert_eq!(
        code(storage.commit(epoch, vec![put("a", "text", 1)]).await),
        "corrupted"
    );
}
