//! Other tabs, other versions, and a browser that takes the connection away.

use burrow::storage::Changes;
use wasm_bindgen_test::wasm_bindgen_test;

use super::*;

async fn one_item() -> (Database, Rc<dyn Storage>, Epoch) {
    let database = Database::new();
    let storage = database.open().await.unwrap();
    let epoch = epoch_of(&*storage).await;
    storage.commit(epoch, vec![put("a", "text", 1)]).await.unwrap();
    (database, storage, epoch)
}

#[wasm_bindgen_test]
async fn an_open_store_makes_room_for_a_newer_tab_and_goes_on_while_it_can() {
    let (database, storage, epoch) = one_item().await;
    page::raw_upgrade(&database.name, 201).await;
    assert_eq!(text_of(&storage, "a").await.as_deref(), Some("text"));
    page::raw_upgrade(&database.name, 300).await;
    assert_eq!(code(storage.load().await), "schema_too_new");
    assert_eq!(
        code(storage.commit(epoch, vec![put("a", "new", 2)]).await),
        "schema_too_new"
    );
    assert_eq!(page::raw_version(&database.name).await, 300);
}

#[wasm_bindgen_test]
async fn a_newer_schema_is_refused_and_left_alone() {
    let name = fresh_name();
    page::raw_close(&page::raw_open(&name, 300, vec!["future".to_owned()]).await);
    let error = IndexedDb::open(&name, Durability::Relaxed).await.err().unwrap();
    assert_eq!(error.code(), "schema_too_new");
    assert_eq!(error.context().details["found"], 300);
    assert_eq!(error.context().details["known"], 200);
    assert_eq!(page::raw_version(&name).await, 300);
    assert_eq!(page::raw_count(&name, "future").await, 0.0);
}

#[wasm_bindgen_test]
async fn a_database_of_somebody_else_is_refused_and_left_alone() {
    for version in [3, 200] {
        let name = fresh_name();
        page::raw_close(&page::raw_open(&name, version, vec!["theirs".to_owned()]).await);
        assert_eq!(
            code(IndexedDb::open(&name, Durability::Relaxed).await),
            "corrupted"
        );
        assert_eq!(page::raw_version(&name).await, version);
        assert_eq!(page::raw_count(&name, "theirs").await, 0.0);
    }
}

#[wasm_bindgen_test]
async fn a_tab_that_does_not_make_room_blocks_with_an_error() {
    let name = fresh_name();
    let held = page::raw_open(&name, 50, vec!["theirs".to_owned()]).await;
    assert_eq!(
        code(IndexedDb::open(&name, Durability::Relaxed).await),
        "storage_blocked"
    );
    assert_eq!(code(IndexedDb::destroy(&name).await), "storage_blocked");
    page::raw_close(&held);
    // The refused request to open comes to its turn now, and must upgrade nothing and hold nothing.
    page::raw_delete(&name).await;
    let storage = IndexedDb::open(&name, Durability::Relaxed).await.unwrap();
    assert_eq!(storage.load().await.unwrap().sequence, 0);
}

#[wasm_bindgen_test]
async fn destroying_closes_the_stores_that_are_open() {
    let (database, storage, epoch) = one_item().await;
    IndexedDb::destroy(&database.name).await.unwrap();
    assert_eq!(code(storage.load().await), "closed");
    assert_eq!(
        code(storage.commit(epoch, vec![put("a", "text", 1)]).await),
        "closed"
    );
    let anew = database.open().await.unwrap();
    assert_eq!(anew.load().await.unwrap().entries, []);
}

/// The store's memory is of the database that is gone: made anew under it, later writes would be lost to its searches.
#[wasm_bindgen_test]
async fn a_database_that_the_browser_cleared_is_not_made_anew_under_an_open_store() {
    let (database, storage, epoch) = one_item().await;
    let patch = page::cleared_data(&database.name);
    assert_eq!(
        code(storage.commit(epoch, vec![put("b", "text", 2)]).await),
        "closed"
    );
    drop(patch);
    assert_eq!(code(storage.load().await), "closed");
    let anew = database.open().await.unwrap();
    assert_eq!(anew.load().await.unwrap().entries, []);
}

/// Its connection makes room for a newer tab, and before it is reopened another database stands in the former's place.
#[wasm_bindgen_test]
async fn a_database_that_was_made_anew_unnoticed_is_told_by_its_number() {
    let (database, storage, epoch) = one_item().await;
    page::raw_upgrade(&database.name, 201).await;
    page::raw_delete(&database.name).await;
    let anew = database.open().await.unwrap();
    let other = epoch_of(&*anew).await;
    anew.commit(other, vec![put("b", "text", 1)]).await.unwrap();

    assert_ne!(other.database, epoch.database);
    let changes = storage.changes(1).await.unwrap();
    assert!(matches!(changes, Changes::Since { sequence: 1, epoch, .. } if epoch == other));
    assert_eq!(
        code(storage.commit(epoch, vec![put("c", "text", 2)]).await),
        "model_mismatch"
    );
    assert_eq!(anew.load().await.unwrap().entries.len(), 1);
}

#[wasm_bindgen_test]
async fn destroying_nothing_is_no_error() {
    IndexedDb::destroy(&fresh_name()).await.unwrap();
}

#[wasm_bindgen_test]
async fn a_lost_connection_is_reopened_and_the_call_repeated_once() {
    let (_, storage, _) = one_item().await;
    let patch = page::losing_connection(1);
    assert_eq!(text_of(&storage, "a").await.as_deref(), Some("text"));
    drop(patch);

    let patch = page::losing_connection(2);
    assert_eq!(code(storage.load().await), "storage_unavailable");
    drop(patch);
    assert_eq!(text_of(&storage, "a").await.as_deref(), Some("text"));
}

#[wasm_bindgen_test]
async fn a_write_that_was_cut_off_is_repeated_and_counts_once() {
    let (_, storage, epoch) = one_item().await;
    let patch = page::cut_off(1);
    storage.commit(epoch, vec![put("b", "text", 2)]).await.unwrap();
    drop(patch);
    assert_eq!(storage.load().await.unwrap().sequence, 2);

    let patch = page::cut_off(2);
    assert_eq!(
        code(storage.commit(epoch, vec![put("c", "text", 3)]).await),
        "storage_unavailable"
    );
    drop(patch);
    assert_eq!(storage.load().await.unwrap().sequence, 2);
    assert_eq!(text_of(&storage, "c").await, None);
}

#[wasm_bindgen_test]
async fn a_browser_without_indexed_db_says_so() {
    let open = async || code(IndexedDb::open(&fresh_name(), Durability::Relaxed).await);
    let patch = page::no_indexed_db();
    assert_eq!(open().await, "storage_unavailable");
    drop(patch);
    for exception in ["SecurityError", "InvalidStateError", "UnknownError"] {
        let patch = page::refused_open(exception);
        assert_eq!(open().await, "storage_unavailable");
        drop(patch);
    }
}

#[wasm_bindgen_test]
async fn a_store_cannot_take_the_name_of_the_model_cache() {
    for name in ["burrow-models", ""] {
        assert_eq!(
            code(IndexedDb::open(name, Durability::Relaxed).await),
            "invalid_argument"
        );
        assert_eq!(code(IndexedDb::destroy(name).await), "invalid_argument");
    }
}
