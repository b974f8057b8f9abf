//! Databases that a released format wrote. Files in `tests/fixtures/indexeddb` are never made anew.

use burrow::storage::{Changes, IndexState, Reindexed, Replaced, Revision, TextVector};
use serde_json::Value;
use wasm_bindgen_test::wasm_bindgen_test;

use super::*;

const SCHEMA_100: &str = include_str!("../fixtures/indexeddb/schema-100.json");
/// Made of the former by a script that shares no code with Burrow.
const SCHEMA_200: &str = include_str!("../fixtures/indexeddb/schema-200.json");

/// The history that the fixture holds, written by hand: what each item is after it.
fn items() -> Vec<Write> {
    let vectors = |texts: &[(u8, [f32; 3], bool)]| -> Vec<TextVector> {
        let vector = |&(text, vector, truncated): &(u8, [f32; 3], bool)| TextVector {
            text: [text; 16],
            vector: Rc::from(vector),
            truncated,
        };
        texts.iter().map(vector).collect()
    };
    let item = |labels: &[&str], key: &str, value: &str, now: Millis| Put {
        id: ItemId {
            namespace: Namespace(labels.iter().map(|&label| label.to_owned()).collect()),
            key: Key(key.to_owned()),
        },
        value: value.into(),
        now,
        ttl: None,
        expires_at: None,
        index: IndexFields::Default,
        pending: false,
        vectors: Vec::new(),
    };
    let plain = item(
        &["users", "u1"],
        "plain",
        r#"{"n":1.5,"text":"tea"}"#,
        1_700_000_000_000,
    );
    let chinese = item(
        &["用户", "😀"],
        "爱好",
        r#"{"text":"喜欢喝茶 😀"}"#,
        1_700_000_000_001,
    );
    let hidden = item(
        &["users", "u1"],
        "a:b.c",
        r#"{"__proto__":{}}"#,
        1_700_000_000_002,
    );
    let expiring = item(&["users"], "soon", "{}", 1_700_000_000_003);
    vec![
        Write::Put(Put {
            vectors: vectors(&[(1, [0.6, 0.8, 0.0], false)]),
            ..plain
        }),
        Write::Put(Put {
            index: IndexFields::Paths(vec!["text".to_owned(), "a[*].b".to_owned()]),
            vectors: vectors(&[(2, [0.0, -1.0, 0.0], true), (3, [1.0, 0.0, 0.0], false)]),
            ..chinese
        }),
        Write::Put(Put {
            index: IndexFields::None,
            ..hidden
        }),
        Write::Put(Put {
            ttl: Some(0.5),
            expires_at: Some(1_700_000_030_003),
            pending: true,
            ..expiring
        }),
    ]
}

async fn write_history(storage: &IndexedDb) {
    let database = storage.load().await.unwrap().index.epoch.database;
    let replaced = storage
        .replace_index(database, Some("model-1".to_owned()), Vec::new())
        .await;
    let Replaced::Done(IndexState { epoch, .. }) = replaced.unwrap() else {
        panic!("nothing is stale")
    };
    assert_eq!(epoch.number, 1);
    storage.commit(epoch, items()).await.unwrap();
    let gone = Write::Put(Put {
        vectors: Vec::new(),
        ..put_of("gone")
    });
    storage.commit(epoch, vec![gone]).await.unwrap();
    storage
        .commit(epoch, vec![Write::Delete(id("gone"))])
        .await
        .unwrap();
}

/// A put of a vector of three numbers.
fn put_of(key: &str) -> Put {
    let Write::Put(put) = put(key, "text", 1) else {
        unreachable!()
    };
    let vector = TextVector {
        vector: Rc::from([1.0, 0.0, 0.0]),
        ..put.vectors[0].clone()
    };
    Put {
        vectors: vec![vector],
        ..put
    }
}

/// Imports a fixture whose items have this revision, and does everything to it that a store does.
async fn opens_reads_and_writes(fixture: &str, revision: Revision) -> String {
    let name = fresh_name();
    page::import_database(&name, fixture).await;
    let storage = IndexedDb::open(&name, Durability::Relaxed).await.unwrap();

    let snapshot = storage.load().await.unwrap();
    let IndexState {
        epoch,
        fingerprint,
        dims,
    } = snapshot.index;
    assert_eq!((snapshot.sequence, epoch.number, dims), (4, 1, Some(3)));
    assert_eq!(fingerprint.as_deref(), Some("model-1"));
    assert_eq!(snapshot.entries.len(), 4);
    for write in items() {
        let Write::Put(put) = write else { unreachable!() };
        let mut records = storage.read(std::slice::from_ref(&put.id)).await.unwrap();
        let expected = put.onto(None, revision);
        assert!(snapshot.entries.contains(&expected.entry));
        assert_eq!(records.remove(0), Some(expected));
    }
    let Changes::Since { changes, .. } = storage.changes(2).await.unwrap() else {
        panic!("the log is short")
    };
    assert_eq!(changes.len(), 1);
    assert_eq!(storage.changes(0).await.unwrap(), Changes::Reload);
    let found = storage
        .sift(&Namespace(Vec::new()), None, &|text| Ok(text.contains("text")))
        .await;
    assert_eq!(found.unwrap().found.len(), 2);

    let two_numbers = storage.commit(epoch, vec![put("new", "text", 1)]).await;
    assert_eq!(code(two_numbers), "model_mismatch");
    storage
        .commit(epoch, vec![Write::Put(put_of("new"))])
        .await
        .unwrap();
    let mut overwritten = items();
    overwritten.truncate(1);
    storage.commit(epoch, overwritten).await.unwrap();
    let entries = storage.load().await.unwrap().entries;
    let mut revisions: Vec<Revision> = entries.iter().map(|entry| entry.revision).collect();
    revisions.sort_unstable();
    assert_eq!(revisions, [revision, revision, revision, 5, 6]);
    let stale = storage
        .replace_index(epoch.database, None, Vec::<Reindexed>::new())
        .await
        .unwrap();
    assert!(matches!(stale, Replaced::Stale(ids) if ids.len() == 5));
    storage.close().await.unwrap();
    name
}

/// The step to 200 gives it a number and touches nothing else: entries are written anew as they are put anew.
#[wasm_bindgen_test]
async fn a_database_of_schema_100_still_opens_reads_and_writes() {
    let name = opens_reads_and_writes(SCHEMA_100, 0).await;
    assert_eq!(page::raw_version(&name).await, 200);
    let number = async || {
        let storage = IndexedDb::open(&name, Durability::Relaxed).await.unwrap();
        epoch_of(&storage).await.database
    };
    let first = number().await;
    assert!(first != 0 && number().await == first);
}

#[wasm_bindgen_test]
async fn a_database_of_schema_200_still_opens_reads_and_writes() {
    opens_reads_and_writes(SCHEMA_200, 2).await;
}

/// Vectors of a database of schema 100 are as long as its first one, though nobody has written that down.
#[wasm_bindgen_test]
async fn a_database_of_schema_100_takes_no_vectors_of_another_length() {
    let name = fresh_name();
    page::import_database(&name, SCHEMA_100).await;
    let storage = IndexedDb::open(&name, Durability::Relaxed).await.unwrap();
    let Changes::Since { epoch, .. } = storage.changes(4).await.unwrap() else {
        panic!("nothing has changed")
    };
    let two_numbers = storage.commit(epoch, vec![put("new", "text", 1)]).await;
    assert_eq!(code(two_numbers), "model_mismatch");
}

/// What is written today is, record by record, what the fixture holds, but for the random number. When this fails, the
/// format has changed: add a schema step and a fixture beside the old ones.
#[wasm_bindgen_test]
async fn this_code_writes_schema_200() {
    let name = fresh_name();
    let storage = IndexedDb::open(&name, Durability::Relaxed).await.unwrap();
    write_history(&storage).await;
    storage.close().await.unwrap();
    let written = page::export_database(&name).await.as_string().unwrap();
    let mut written: Value = serde_json::from_str(&written).unwrap();
    let fixture: Value = serde_json::from_str(SCHEMA_200).unwrap();
    let number = &mut written["stores"]["meta"][0];
    assert!(number[0] == "database" && number[1].as_f64().unwrap() >= 1.0);
    *number = fixture["stores"]["meta"][0].clone();
    assert_eq!(written, fixture);
}
