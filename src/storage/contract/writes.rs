//! One item's life.

use super::*;

/// Every part of an item survives, also the parts that the store alone understands.
pub async fn an_item_comes_back_as_it_was_put(backend: &impl Backend) {
    let storage = backend.open().await.unwrap();
    let full = Put {
        id: id(&["users", "u1"], "k"),
        value: r#"{"n":0.1,"big":1e300,"text":"héllo 😀","nested":{"a":[1,null,true]}}"#.into(),
        now: 1_700_000_000_123,
        ttl: Some(0.1),
        expires_at: Some(8_640_000_000_000_000),
        index: IndexFields::Paths(vec!["a.b[*]".to_owned(), "{x,名}".to_owned()]),
        pending: true,
        vectors: vec![vector("first"), vector("second")],
    };
    let bare = Put {
        index: IndexFields::None,
        vectors: Vec::new(),
        ..put(&id(&["users"], "k"), "bare", 5)
    };
    commit_puts(&storage, [full.clone(), bare.clone()]).await;
    for put in [full, bare] {
        let expected = Entry {
            id: put.id.clone(),
            created_at: put.now,
            updated_at: put.now,
            revision: 1,
            ttl: put.ttl,
            expires_at: put.expires_at,
            index: put.index,
            pending: put.pending,
            vectors: put.vectors,
        };
        assert_eq!(entry(&storage, &put.id).await, Some(expected));
        assert_eq!(record(&storage, &put.id).await.unwrap().value, put.value);
    }
}

/// Also where the clock stands still or goes back: an update is strictly later than what it updates.
pub async fn an_overwrite_keeps_created_at_and_moves_updated_at_on(backend: &impl Backend) {
    let storage = backend.open().await.unwrap();
    let id = id(&["a"], "k");
    for (now, updated_at) in [
        (1000, 1000),
        (2000, 2000),
        (2000, 2001),
        (1500, 2002),
        (2003, 2003),
    ] {
        commit_puts(&storage, [put(&id, "text", now)]).await;
        let entry = entry(&storage, &id).await.unwrap();
        assert_eq!((entry.created_at, entry.updated_at), (1000, updated_at));
    }
}

/// Nothing of a predecessor shines through.
pub async fn a_put_replaces_document_options_and_vectors_whole(backend: &impl Backend) {
    let storage = backend.open().await.unwrap();
    let id = id(&["a"], "k");
    let first = Put {
        index: IndexFields::Paths(vec!["x".to_owned()]),
        pending: true,
        vectors: vec![vector("one"), vector("two"), vector("three")],
        ..expiring(&id, "old", 1000, 9000)
    };
    commit_puts(&storage, [first]).await;
    commit_puts(&storage, [put(&id, "new", 2000)]).await;
    let record = record(&storage, &id).await.unwrap();
    let expected = Entry {
        id: id.clone(),
        created_at: 1000,
        updated_at: 2000,
        revision: 2,
        ttl: None,
        expires_at: None,
        index: IndexFields::Default,
        pending: false,
        vectors: vec![vector("new")],
    };
    assert_eq!(entry(&storage, &id).await, Some(expected));
    assert_eq!(record.value, document("new"));
}

/// Of a deleted item nothing is left, not even in a snapshot; its neighbours stay.
pub async fn a_delete_erases_document_and_vectors(backend: &impl Backend) {
    let storage = backend.open().await.unwrap();
    let (gone, kept) = (id(&["a"], "gone"), id(&["a"], "kept"));
    commit_puts(&storage, [put(&gone, "g", 1), put(&kept, "k", 1)]).await;
    let (_, changes) = since(commit(&storage, vec![Write::Delete(gone.clone())]).await);
    assert_eq!(changes, [Change::Removed(gone.clone())]);
    assert_eq!(entry(&storage, &gone).await, None);
    assert_eq!(entry(&storage, &kept).await.unwrap().vectors, [vector("k")]);
    assert_eq!(storage.load().await.unwrap().entries.len(), 1);
}

/// In one commit and in two.
pub async fn delete_and_put_start_anew(backend: &impl Backend) {
    let storage = backend.open().await.unwrap();
    let id = id(&["a"], "k");
    commit_puts(&storage, [put(&id, "first", 1000)]).await;
    commit(&storage, vec![Write::Delete(id.clone())]).await;
    commit_puts(&storage, [put(&id, "second", 900)]).await;
    let second = entry(&storage, &id).await.unwrap();
    assert_eq!((second.created_at, second.updated_at), (900, 900));

    commit(
        &storage,
        vec![Write::Delete(id.clone()), Write::Put(put(&id, "third", 800))],
    )
    .await;
    let third = entry(&storage, &id).await.unwrap();
    assert_eq!((third.created_at, third.updated_at), (800, 800));
    assert_eq!(third.vectors, [vector("third")]);
}

/// At the very instant of its expiry an item is gone; a millisecond before it is there.
pub async fn an_expired_predecessor_counts_as_absent(backend: &impl Backend) {
    let storage = backend.open().await.unwrap();
    for (key, now, created_at) in [("before", 4999, 1000), ("at", 5000, 5000), ("after", 5001, 5001)] {
        let id = id(&["a"], key);
        commit_puts(&storage, [expiring(&id, "old", 1000, 5000)]).await;
        commit_puts(&storage, [put(&id, "new", now)]).await;
        let entry = entry(&storage, &id).await.unwrap();
        assert_eq!((entry.created_at, entry.updated_at), (created_at, now), "{key}");
    }
}

fn refresh(id: &ItemId, revision: Revision, now: Millis, expires_at: Millis) -> Write {
    Write::Refresh {
        id: id.clone(),
        revision,
        now,
        expires_at,
    }
}

/// Neither `updated_at` nor the vectors change.
pub async fn a_refresh_moves_the_expiry_and_nothing_else(backend: &impl Backend) {
    let storage = backend.open().await.unwrap();
    let id = id(&["a"], "k");
    commit_puts(&storage, [expiring(&id, "text", 1000, 5000)]).await;
    let before = record(&storage, &id).await.unwrap();
    let (_, changes) = since(commit(&storage, vec![refresh(&id, 1, 4999, 9000)]).await);
    let after = Entry {
        expires_at: Some(9000),
        ..before.entry.clone()
    };
    assert_eq!(changes, [Change::Stored(after.clone())]);
    assert_eq!(entry(&storage, &id).await, Some(after));
    assert_eq!(record(&storage, &id).await.unwrap().value, before.value);
}

/// What has expired stays expired, and a newer put keeps its own expiry.
pub async fn a_refresh_of_another_version_or_of_nothing_does_nothing(backend: &impl Backend) {
    let storage = backend.open().await.unwrap();
    let (item, missing) = (id(&["a"], "k"), id(&["a"], "missing"));
    commit_puts(&storage, [expiring(&item, "text", 1000, 5000)]).await;
    let before = storage.load().await.unwrap();
    for write in [
        refresh(&item, 1, 5000, 9000),
        refresh(&item, 1, 7000, 9000),
        refresh(&item, 0, 2000, 9000),
        refresh(&missing, 1, 2000, 9000),
    ] {
        commit(&storage, vec![write]).await;
        assert_eq!(storage.load().await.unwrap(), before);
    }
}

/// A sweep by a clock that is behind takes nothing that lives by that clock.
pub async fn a_sweep_removes_only_what_has_expired(backend: &impl Backend) {
    let storage = backend.open().await.unwrap();
    let (expired, later, never) = (id(&["a"], "expired"), id(&["a"], "later"), id(&["a"], "never"));
    let puts = [
        expiring(&expired, "e", 1000, 5000),
        expiring(&later, "l", 1000, 5001),
        put(&never, "n", 1000),
    ];
    commit_puts(&storage, puts).await;
    let sweep = |now| {
        let ids = [&expired, &later, &never, &id(&["a"], "missing")];
        ids.map(|id| Write::Sweep { id: id.clone(), now }).to_vec()
    };
    let before = storage.load().await.unwrap();
    commit(&storage, sweep(4999)).await;
    assert_eq!(storage.load().await.unwrap(), before);

    commit(&storage, sweep(5000)).await;
    assert_eq!(entry(&storage, &expired).await, None);
    assert!(entry(&storage, &later).await.is_some());
    assert!(entry(&storage, &never).await.is_some());
}

/// Within a millisecond, under a clock that was set back, and across a delete.
pub async fn every_put_is_another_revision_whatever_the_clock_says(backend: &impl Backend) {
    let storage = backend.open().await.unwrap();
    let id = id(&["a"], "k");
    let mut revisions = Vec::new();
    for (now, delete) in [
        (1000, false),
        (1000, false),
        (500, false),
        (500, true),
        (1000, true),
    ] {
        if delete {
            commit(&storage, vec![Write::Delete(id.clone())]).await;
        }
        commit_puts(&storage, [expiring(&id, "text", now, 5000)]).await;
        let before = storage.load().await.unwrap();
        for former in &revisions {
            commit(&storage, vec![refresh(&id, *former, 2000, 9000)]).await;
        }
        assert_eq!(storage.load().await.unwrap(), before);
        revisions.push(entry(&storage, &id).await.unwrap().revision);
    }
    assert!(revisions.is_sorted_by(|a, b| a < b), "{revisions:?}");

    let last = *revisions.last().unwrap();
    commit(&storage, vec![refresh(&id, last, 2000, 9000)]).await;
    let refreshed = entry(&storage, &id).await.unwrap();
    assert_eq!((refreshed.revision, refreshed.expires_at), (last, Some(9000)));
    replace(&storage, vec![reindexed(&refreshed, "new")]).await;
    assert_eq!(entry(&storage, &id).await.unwrap().revision, last);
}

async fn replace(storage: &Rc<dyn Storage>, items: Vec<Reindexed>) {
    let database = database(storage).await;
    let replaced = storage
        .replace_index(database, Some("model".to_owned()), items)
        .await;
    assert!(matches!(replaced.unwrap(), Replaced::Done(_)));
}
