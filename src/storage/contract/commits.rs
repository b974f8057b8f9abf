//! Several writes at once: their order, all or nothing, racing.

use futures::future::join_all;

use super::*;

/// Each write sees what the ones before it did.
pub async fn writes_of_one_commit_apply_in_order(backend: &impl Backend) {
    let storage = backend.open().await.unwrap();
    let [twice, removed, revived, expired, swept] =
        ["twice", "removed", "revived", "expired", "swept"].map(|key| id(&["a"], key));
    let writes = vec![
        Write::Put(put(&twice, "first", 1000)),
        Write::Put(put(&removed, "text", 1000)),
        Write::Delete(removed.clone()),
        Write::Delete(revived.clone()),
        Write::Put(put(&revived, "text", 1000)),
        Write::Put(expiring(&expired, "first", 1000, 1000)),
        Write::Put(put(&expired, "second", 1000)),
        Write::Put(expiring(&swept, "text", 1000, 2000)),
        Write::Sweep {
            id: swept.clone(),
            now: 2000,
        },
        Write::Put(put(&twice, "last", 1000)),
    ];
    let (_, changes) = since(commit(&storage, writes).await);

    let last = record(&storage, &twice).await.unwrap();
    assert_eq!(last.value, document("last"));
    assert_eq!((last.entry.created_at, last.entry.updated_at), (1000, 1001));
    assert_eq!(last.entry.vectors, [vector("last")]);
    assert_eq!(entry(&storage, &removed).await, None);
    assert_eq!(entry(&storage, &swept).await, None);
    assert!(entry(&storage, &revived).await.is_some());
    let second = entry(&storage, &expired).await.unwrap();
    assert_eq!(
        (second.created_at, second.updated_at),
        (1000, 1000),
        "expired when it was written"
    );

    let stored: Vec<_> = sorted(changes)
        .into_iter()
        .filter(|change| matches!(change, Change::Stored(_)))
        .collect();
    let entries = storage.load().await.unwrap().entries;
    assert_eq!(
        stored,
        entries.into_iter().map(Change::Stored).collect::<Vec<_>>(),
        "once each, as they became"
    );
}

/// A tab with another model cannot write, nor delete by what it believes.
pub async fn a_wrong_epoch_writes_nothing(backend: &impl Backend) {
    let storage = backend.open().await.unwrap();
    let (old, new) = (id(&["a"], "old"), id(&["a"], "new"));
    commit_puts(&storage, [put(&old, "text", 1)]).await;
    let before = storage.load().await.unwrap();
    let epoch = before.index.epoch;
    let wrong = |database: u64, number: u64| Epoch {
        database: epoch.database.wrapping_add(database),
        number: epoch.number.wrapping_add(number),
    };
    for wrong in [wrong(0, 1), wrong(0, u64::MAX), wrong(1, 0)] {
        let writes = vec![
            Write::Put(put(&new, "text", 2)),
            Write::Delete(old.clone()),
            Write::Put(put(&old, "changed", 2)),
        ];
        let error = storage.commit(wrong, writes).await.unwrap_err();
        assert_eq!(error.code(), "model_mismatch");
        assert_eq!(storage.load().await.unwrap(), before);
        assert_eq!(record(&storage, &old).await.unwrap().value, document("text"));
        assert_eq!(record(&storage, &new).await, None);
    }
}

/// No write, or only writes without effect.
pub async fn a_commit_that_changes_nothing_keeps_the_sequence(backend: &impl Backend) {
    let storage = backend.open().await.unwrap();
    let (item, missing) = (id(&["a"], "k"), id(&["a"], "missing"));
    assert_eq!(since(commit(&storage, Vec::new()).await), (0, Vec::new()));
    commit_puts(&storage, [put(&item, "text", 1)]).await;
    let before = storage.load().await.unwrap();
    for writes in [
        Vec::new(),
        vec![Write::Delete(missing.clone())],
        vec![
            Write::Sweep {
                id: item.clone(),
                now: 9,
            },
            Write::Sweep {
                id: missing.clone(),
                now: 9,
            },
        ],
    ] {
        let (sequence, _) = since(commit(&storage, writes).await);
        assert_eq!(sequence, before.sequence);
        assert_eq!(storage.load().await.unwrap(), before);
        assert_eq!(since(storage.changes(before.sequence).await.unwrap()).1, []);
    }
}

/// And a thousand reads are one call.
pub async fn a_thousand_writes_are_one_commit(backend: &impl Backend) {
    let storage = backend.open().await.unwrap();
    let ids: Vec<ItemId> = (0..1000)
        .map(|n| id(&["bulk", &format!("n{}", n % 7)], &format!("k{n}")))
        .collect();
    let texts: Vec<String> = (0..1000).map(|n| format!("text {n}")).collect();
    let puts = ids.iter().zip(&texts).map(|(id, text)| put(id, text, 1));
    let (sequence, changes) = since(commit_puts(&storage, puts).await);
    assert_eq!((sequence, changes.len()), (1, 1000));
    assert_eq!(storage.load().await.unwrap().entries.len(), 1000);
    let records = storage.read(&ids).await.unwrap();
    for (record, text) in records.iter().zip(&texts) {
        let record = record.as_ref().unwrap();
        assert_eq!(
            (&record.value, record.entry.vectors.as_slice()),
            (&document(text), [vector(text)].as_slice())
        );
    }
}

/// Started together, over two connections, half of them at one key.
pub async fn racing_commits_all_arrive_whole(backend: &impl Backend) {
    let connections = [backend.open().await.unwrap(), backend.open().await.unwrap()];
    let shared = id(&["a"], "shared");
    let epoch = connections[0].load().await.unwrap().index.epoch;
    let commits = (0..40_usize).map(|n| {
        let own = id(&["a"], &format!("own{n}"));
        let text = format!("text {n}");
        let puts = vec![
            Write::Put(put(&shared, &text, 1000)),
            Write::Put(put(&own, &text, 1000)),
        ];
        connections[n % 2].commit(epoch, puts)
    });
    let mut sequences: Vec<Sequence> = join_all(commits)
        .await
        .into_iter()
        .map(|changes| since(changes.unwrap()).0)
        .collect();
    sequences.sort_unstable();
    assert_eq!(sequences, (1..=40).collect::<Vec<_>>());

    for storage in &connections {
        let entries = storage.load().await.unwrap().entries;
        assert_eq!(entries.len(), 41);
        let record = record(storage, &shared).await.unwrap();
        let value: serde_json::Value = serde_json::from_str(&record.value).unwrap();
        let text = value["text"].as_str().unwrap();
        assert_eq!(
            record.entry.vectors,
            [vector(text)],
            "document and vector are of one put"
        );
        assert_eq!((record.entry.created_at, record.entry.updated_at), (1000, 1039));
    }
}
