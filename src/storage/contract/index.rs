//! Replacing the index: another model, another set of fields.

use super::super::IndexState;
use super::*;

async fn replace(storage: &Rc<dyn Storage>, fingerprint: &str, items: Vec<Reindexed>) -> Replaced {
    let database = database(storage).await;
    storage
        .replace_index(database, Some(fingerprint.to_owned()), items)
        .await
        .unwrap()
}

/// A database that was deleted and made anew counts its revisions from the start, so equal ones mean nothing.
pub async fn an_index_made_for_another_database_is_refused(backend: &impl Backend) {
    let storage = backend.open().await.unwrap();
    let id = id(&["a"], "k");
    commit_puts(&storage, [put(&id, "text", 1)]).await;
    let before = storage.load().await.unwrap();
    let items = vec![reindexed(&before.entries[0], "new")];
    let other = before.index.epoch.database + 1;
    let refused = storage
        .replace_index(other, Some("model".to_owned()), items)
        .await;
    assert_eq!(refused.unwrap_err().code(), "model_mismatch");
    assert_eq!(storage.load().await.unwrap(), before);
}

/// All vectors at once, and nothing but vectors.
pub async fn replacing_the_index_swaps_all_vectors(backend: &impl Backend) {
    let storage = backend.open().await.unwrap();
    let [indexed, pending, bare] = ["indexed", "pending", "bare"].map(|key| id(&["a"], key));
    let puts = [
        expiring(&indexed, "old", 1000, 9000),
        Put {
            pending: true,
            vectors: Vec::new(),
            ..put(&pending, "text", 1000)
        },
        Put {
            index: IndexFields::None,
            ..put(&bare, "text", 1000)
        },
    ];
    commit_puts(&storage, puts).await;
    let before = storage.load().await.unwrap();
    let without = |entry: &Entry| Reindexed {
        vectors: Vec::new(),
        ..reindexed(entry, "")
    };
    let items = before.entries.iter().map(|entry| match entry.id == bare {
        true => without(entry),
        false => reindexed(entry, &format!("new {}", entry.id.key.0)),
    });
    let replaced = replace(&storage, "model b", items.collect()).await;

    let after = storage.load().await.unwrap();
    assert_eq!(after.index.fingerprint.as_deref(), Some("model b"));
    assert_eq!(replaced, Replaced::Done(after.index.clone()));
    for (old, new) in before.entries.iter().zip(&after.entries) {
        let vectors = match new.id == bare {
            true => Vec::new(),
            false => vec![vector(&format!("new {}", new.id.key.0))],
        };
        assert_eq!(
            new,
            &Entry {
                pending: false,
                vectors,
                ..old.clone()
            }
        );
    }
    assert_eq!(record(&storage, &indexed).await.unwrap().value, document("old"));
}

/// They learn by `Reload` and by `model_mismatch`.
pub async fn replacing_the_index_turns_away_older_readers_and_writers(backend: &impl Backend) {
    let (storage, other) = (backend.open().await.unwrap(), backend.open().await.unwrap());
    let id = id(&["a"], "k");
    commit_puts(&storage, [put(&id, "text", 1)]).await;
    let before = storage.load().await.unwrap();
    let items = before
        .entries
        .iter()
        .map(|entry| reindexed(entry, "new"))
        .collect();
    let Replaced::Done(state) = replace(&storage, "model b", items).await else {
        panic!("not stale")
    };
    assert!(state.epoch > before.index.epoch);

    for connection in [&storage, &other] {
        assert_eq!(
            connection.changes(before.sequence).await.unwrap(),
            Changes::Reload
        );
        let late = connection
            .commit(before.index.epoch, vec![Write::Put(put(&id, "late", 2))])
            .await;
        assert_eq!(late.unwrap_err().code(), "model_mismatch");
        assert_eq!(connection.load().await.unwrap().index, state);
        assert_eq!(entry(connection, &id).await.unwrap().vectors, [vector("new")]);
    }
    let newest = sequence(&other).await;
    assert!(newest > before.sequence);
    let answer = other
        .commit(state.epoch, vec![Write::Put(put(&id, "in time", 3))])
        .await
        .unwrap();
    assert!(matches!(answer, Changes::Since { epoch, .. } if epoch == state.epoch));
    let (told, changes) = since(storage.changes(newest).await.unwrap());
    assert_eq!((told, changes.len()), (newest + 1, 1));
}

/// Somebody wrote while the new vectors were computed.
pub async fn a_stale_replacement_writes_nothing_and_names_the_items(backend: &impl Backend) {
    let storage = backend.open().await.unwrap();
    let [kept, changed, added] = ["kept", "changed", "added"].map(|key| id(&["a"], key));
    commit_puts(&storage, [put(&kept, "k", 1), put(&changed, "c", 1)]).await;
    let embedded = storage.load().await.unwrap().entries;
    commit_puts(&storage, [put(&changed, "c2", 2), put(&added, "a", 2)]).await;

    let before = storage.load().await.unwrap();
    let items = embedded.iter().map(|entry| reindexed(entry, "new")).collect();
    let Replaced::Stale(mut stale) = replace(&storage, "model b", items).await else {
        panic!("stale")
    };
    stale.sort();
    assert_eq!(stale, [added, changed]);
    assert_eq!(storage.load().await.unwrap(), before);

    let items = before
        .entries
        .iter()
        .map(|entry| reindexed(entry, "new"))
        .collect();
    assert!(matches!(
        replace(&storage, "model b", items).await,
        Replaced::Done(_)
    ));
}

/// An item that was put again with the text it had is another version.
pub async fn an_expired_item_must_be_listed_and_a_vanished_one_may_be(backend: &impl Backend) {
    let storage = backend.open().await.unwrap();
    let (expired, vanished) = (id(&["a"], "expired"), id(&["a"], "vanished"));
    commit_puts(&storage, [expiring(&expired, "e", 1, 2), put(&vanished, "v", 1)]).await;
    let embedded = storage.load().await.unwrap().entries;
    commit(&storage, vec![Write::Delete(vanished.clone())]).await;

    assert_eq!(
        replace(&storage, "model b", Vec::new()).await,
        Replaced::Stale(vec![expired.clone()])
    );
    let items = embedded.iter().map(|entry| reindexed(entry, "new")).collect();
    assert!(matches!(
        replace(&storage, "model b", items).await,
        Replaced::Done(_)
    ));
    assert_eq!(entry(&storage, &expired).await.unwrap().vectors, [vector("new")]);
    assert_eq!(entry(&storage, &vanished).await, None);
}

/// A new database has no fingerprint; one can be set, changed and taken away.
pub async fn the_first_index_is_of_an_empty_database(backend: &impl Backend) {
    let storage = backend.open().await.unwrap();
    let fresh = storage.load().await.unwrap();
    assert_eq!(
        fresh,
        Snapshot {
            sequence: 0,
            index: IndexState {
                epoch: fresh.index.epoch,
                ..Default::default()
            },
            entries: Vec::new()
        }
    );
    let mut epoch = fresh.index.epoch;
    assert_ne!(epoch.database, 0);
    for fingerprint in [Some("model a"), Some("model b"), None] {
        let fingerprint = fingerprint.map(str::to_owned);
        let replaced = storage
            .replace_index(epoch.database, fingerprint.clone(), Vec::new())
            .await
            .unwrap();
        let Replaced::Done(state) = replaced else {
            panic!("nothing is stale")
        };
        assert_eq!(state.fingerprint, fingerprint);
        assert_eq!(state.epoch.database, epoch.database);
        assert!(state.epoch > epoch);
        epoch = state.epoch;
        assert_eq!(backend.open().await.unwrap().load().await.unwrap().index, state);
    }
}

/// The first vector settles the length, for a commit as for a replacement; only another replacement settles it anew.
pub async fn vectors_of_another_length_are_refused(backend: &impl Backend) {
    let (storage, other) = (backend.open().await.unwrap(), backend.open().await.unwrap());
    let long = |key: &str| Put {
        vectors: vec![long_vector()],
        ..put(&id(&["a"], key), "long", 1)
    };
    commit_puts(&storage, [put(&id(&["a"], "k"), "text", 1)]).await;
    commit(&storage, vec![Write::Delete(id(&["a"], "k"))]).await;
    let before = storage.load().await.unwrap();
    assert_eq!(before.index.dims, Some(3));
    for connection in [&storage, &other] {
        let writes = vec![
            Write::Put(put(&id(&["a"], "fits"), "text", 1)),
            Write::Put(long("l")),
        ];
        let refused = connection.commit(before.index.epoch, writes).await.unwrap_err();
        assert_eq!(refused.code(), "model_mismatch");
        let details = &refused.context().details;
        assert_eq!((&details["storedDims"], &details["dims"]), (&3.into(), &4.into()));
        assert_eq!(connection.load().await.unwrap(), before);
    }
    replace(&storage, "model b", Vec::new()).await;
    assert_eq!(storage.load().await.unwrap().index.dims, None);
    commit_puts(&storage, [long("l")]).await;
    let entries = storage.load().await.unwrap().entries;
    let items = entries.iter().map(|entry| reindexed(entry, "short")).collect();
    replace(&storage, "model c", items).await;
    assert_eq!(other.load().await.unwrap().index.dims, Some(3));
}

fn long_vector() -> TextVector {
    TextVector {
        vector: Rc::from([0.5; 4]),
        ..vector("long")
    }
}
