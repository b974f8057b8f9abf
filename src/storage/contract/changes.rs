//! What changed since, and several connections to one database.

use super::*;

/// Counted from 1, without gaps.
pub async fn each_commit_gets_the_next_sequence_and_tells_what_became(backend: &impl Backend) {
    let storage = backend.open().await.unwrap();
    assert_eq!(sequence(&storage).await, 0);
    for n in 1..=5 {
        let id = id(&["a"], &format!("k{}", n % 2));
        let (told, changes) = since(commit_puts(&storage, [put(&id, "text", 10)]).await);
        assert_eq!(told, n);
        assert_eq!(sequence(&storage).await, n);
        assert_eq!(changes, [Change::Stored(entry(&storage, &id).await.unwrap())]);
    }
}

/// From every point that a reader may have stopped at.
pub async fn changes_give_the_latest_state_of_each_item_once(backend: &impl Backend) {
    let storage = backend.open().await.unwrap();
    let [a, b, c] = ["a", "b", "c"].map(|key| id(&["n"], key));
    let commits = [
        vec![Write::Put(put(&a, "a1", 1)), Write::Put(put(&b, "b1", 1))],
        vec![Write::Put(put(&a, "a2", 2))],
        vec![Write::Delete(b.clone()), Write::Put(expiring(&c, "c1", 3, 100))],
        vec![Write::Refresh {
            id: c.clone(),
            revision: 3,
            now: 4,
            expires_at: 200,
        }],
        vec![Write::Put(put(&a, "a3", 5))],
    ];
    let touched: [&[&ItemId]; 6] = [&[&a, &b, &c], &[&a, &b, &c], &[&a, &b, &c], &[&a, &c], &[&a], &[]];
    for writes in commits {
        commit(&storage, writes).await;
    }
    for (known, ids) in (0..).zip(touched) {
        let mut expected = Vec::new();
        for id in ids {
            let latest = entry(&storage, id).await;
            expected.push(latest.map_or(Change::Removed((*id).clone()), Change::Stored));
        }
        let answer = storage.changes(known).await.unwrap();
        let index = storage.load().await.unwrap().index;
        assert!(matches!(answer, Changes::Since { epoch, .. } if epoch == index.epoch));
        let (newest, changes) = since(answer);
        assert_eq!((newest, sorted(changes)), (5, expected), "since {known}");
    }
}

/// Two tabs.
pub async fn another_connection_sees_what_was_committed(backend: &impl Backend) {
    let (one, two) = (backend.open().await.unwrap(), backend.open().await.unwrap());
    let id = id(&["a"], "k");
    commit_puts(&one, [put(&id, "from one", 1)]).await;
    let seen = entry(&one, &id).await.unwrap();
    assert_eq!(
        since(two.changes(0).await.unwrap()),
        (1, vec![Change::Stored(seen)])
    );
    assert_eq!(record(&two, &id).await.unwrap().value, document("from one"));

    let (sequence, _) = since(commit_puts(&two, [put(&id, "from two", 1)]).await);
    assert_eq!(sequence, 2);
    let (newest, changes) = since(one.changes(1).await.unwrap());
    assert_eq!(
        (newest, changes),
        (2, vec![Change::Stored(entry(&two, &id).await.unwrap())])
    );
    assert_eq!(one.load().await.unwrap(), two.load().await.unwrap());
}

/// A bounded log forgets, and says so instead of telling half.
pub async fn a_reader_that_lags_too_far_reloads(backend: &impl Backend) {
    let storage = backend.open().await.unwrap();
    let first = id(&["a"], "first");
    commit_puts(&storage, [put(&first, "text", 1)]).await;
    let (commits, items) = backend.overflow();
    let ids: Vec<ItemId> = (0..items).map(|n| id(&["b"], &format!("k{n}"))).collect();
    for now in 0..commits {
        commit_puts(&storage, ids.iter().map(|id| put(id, "text", now as Millis))).await;
    }
    assert_eq!(storage.changes(0).await.unwrap(), Changes::Reload);
    let newest = sequence(&storage).await;
    assert_eq!(newest, 1 + commits as Sequence);
    assert_eq!(
        since(storage.changes(newest).await.unwrap()),
        (newest, Vec::new())
    );
}

/// The database was deleted and made anew behind the reader's back.
pub async fn a_sequence_that_never_was_reloads(backend: &impl Backend) {
    let storage = backend.open().await.unwrap();
    assert_eq!(storage.changes(1).await.unwrap(), Changes::Reload);
    commit_puts(&storage, [put(&id(&["a"], "k"), "text", 1)]).await;
    let epoch = storage.load().await.unwrap().index.epoch;
    assert_eq!(
        storage.changes(1).await.unwrap(),
        Changes::Since {
            sequence: 1,
            epoch,
            changes: Vec::new()
        }
    );
    assert_eq!(storage.changes(2).await.unwrap(), Changes::Reload);
}
