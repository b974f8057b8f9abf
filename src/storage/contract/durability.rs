//! Reopening and closing.

use super::*;

/// Snapshot, documents, sequence, epoch and changes.
pub async fn reopening_gives_the_same_data(backend: &impl Backend) {
    let storage = backend.open().await.unwrap();
    let ids: Vec<ItemId> = (0..50).map(|n| id(&["a", "😀"], &format!("k{n}"))).collect();
    commit_puts(&storage, ids.iter().map(|id| put(id, &id.key.0, 1))).await;
    let items = storage.load().await.unwrap().entries;
    let items = items.iter().map(|entry| reindexed(entry, "new")).collect();
    storage
        .replace_index(database(&storage).await, Some("model".to_owned()), items)
        .await
        .unwrap();
    let full = Put {
        ttl: Some(0.5),
        index: IndexFields::Paths(vec!["$".to_owned()]),
        pending: true,
        vectors: Vec::new(),
        ..expiring(&ids[3], "changed", 2, 30_002)
    };
    commit_puts(&storage, [full]).await;
    let before = storage.load().await.unwrap();
    let records = storage.read(&ids).await.unwrap();
    let last = storage.changes(before.sequence - 1).await.unwrap();
    storage.close().await.unwrap();
    drop(storage);

    let storage = backend.open().await.unwrap();
    assert_eq!(storage.load().await.unwrap(), before);
    assert_eq!(storage.read(&ids).await.unwrap(), records);
    assert_eq!(storage.changes(before.sequence - 1).await.unwrap(), last);
    let (sequence, _) = since(commit_puts(&storage, [put(&ids[0], "text", 3)]).await);
    assert_eq!(sequence, before.sequence + 1);
}

/// Deleted, swept and replaced vectors do not come back from disk.
pub async fn erased_data_stays_erased(backend: &impl Backend) {
    let storage = backend.open().await.unwrap();
    let [deleted, swept, replaced] = ["deleted", "swept", "replaced"].map(|key| id(&["a"], key));
    let puts = [
        put(&deleted, "d", 1),
        expiring(&swept, "s", 1, 2),
        put(&replaced, "r", 1),
    ];
    commit_puts(&storage, puts).await;
    let unindexed = Put {
        index: IndexFields::None,
        vectors: Vec::new(),
        ..put(&replaced, "r2", 2)
    };
    let writes = vec![
        Write::Delete(deleted.clone()),
        Write::Sweep {
            id: swept.clone(),
            now: 2,
        },
        Write::Put(unindexed),
    ];
    commit(&storage, writes).await;
    storage.close().await.unwrap();

    let storage = backend.open().await.unwrap();
    assert_eq!(entry(&storage, &deleted).await, None);
    assert_eq!(entry(&storage, &swept).await, None);
    assert_eq!(entry(&storage, &replaced).await.unwrap().vectors, []);
    assert_eq!(storage.load().await.unwrap().entries.len(), 1);
}

/// Every later call, reads included.
pub async fn closing_twice_is_no_error_and_later_calls_are_closed(backend: &impl Backend) {
    let storage = backend.open().await.unwrap();
    let id = id(&["a"], "k");
    commit_puts(&storage, [put(&id, "text", 1)]).await;
    storage.close().await.unwrap();
    storage.close().await.unwrap();
    let refused = [
        storage.load().await.map(drop),
        storage.changes(0).await.map(drop),
        storage.read(std::slice::from_ref(&id)).await.map(drop),
        storage
            .commit(Epoch::default(), vec![Write::Delete(id.clone())])
            .await
            .map(drop),
        storage.replace_index(0, None, Vec::new()).await.map(drop),
    ];
    for result in refused {
        assert_eq!(result.unwrap_err().code(), "closed");
    }
    let storage = backend.open().await.unwrap();
    assert!(entry(&storage, &id).await.is_some());
}

/// The other tab goes on.
pub async fn closing_one_connection_leaves_the_others(backend: &impl Backend) {
    let (one, two) = (backend.open().await.unwrap(), backend.open().await.unwrap());
    let id = id(&["a"], "k");
    commit_puts(&one, [put(&id, "text", 1)]).await;
    one.close().await.unwrap();
    commit_puts(&two, [put(&id, "later", 2)]).await;
    assert_eq!(record(&two, &id).await.unwrap().value, document("later"));
}
