//! Databases that a released format wrote. Files in `tests/fixtures/indexeddb` are never made anew.

use burrow::storage::{Changes, Reindexed, Replaced, TextVector};
use wasm_bindgen_test::wasm_bindgen_test;

use super::*;

const SCHEMA_100: &str = include_str!("../fixtures/indexeddb/schema-100.json");

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
    assert!(matches!(
        storage.replace_index(Some("model-1".to_owned()), Vec::new()).await.unwrap(),
        Replaced::Done(state) if state.epoch == 1
    ));
    storage.commit(1, items()).await.unwrap();
    storage.commit(1, vec![put("gone", "text", 1)]).await.unwrap();
    storage.commit(1, vec![Write::Delete(id("gone"))]).await.unwrap();
}

#[wasm_bindgen_test]
async fn a_database_of_schema_100_still_opens_reads_and_writes() {
    let name = fresh_name();
    page::import_database(&name, SCHEMA_100).await;
    let storage = IndexedDb::open(&name, Durability::Relaxed).await.unwrap();

    let snapshot = storage.load().await.unwrap();
    assert_eq!((snapshot.sequence, snapshot.index.epoch), (4, 1));
    assert_eq!(snapshot.index.fingerprint.as_deref(), Some("model-1"));
    assert_eq!(snapshot.entries.len(), 4);
    for write in items() {
        let Write::Put(put) = write else { unreachable!() };
        let record = storage
            .read(std::slice::from_ref(&put.id))
            .await
            .unwrap()
            .remove(0);
        let expected = put.onto(None);
        assert!(snapshot.entries.contains(&expected.entry));
        assert_eq!(record, Some(expected));
    }
    let Changes::Since { changes, .. } = storage.changes(2).await.unwrap() else {
        panic!("the log is short")
    };
    assert_eq!(changes.len(), 1);
    assert_eq!(storage.changes(0).await.unwrap(), Changes::Reload);

    storage.commit(1, vec![put("new", "text", 1)]).await.unwrap();
    let stale = storage
        .replace_index(None, Vec::<Reindexed>::new())
        .await
        .unwrap();
    assert!(matches!(stale, Replaced::Stale(ids) if ids.len() == 5));
}

/// What is written today is, record by record, what the fixture holds. When this fails, the format has changed: add
/// a schema step and a fixture beside the old one.
#[wasm_bindgen_test]
async fn this_code_writes_schema_100() {
    let name = fresh_name();
    let storage = IndexedDb::open(&name, Durability::Relaxed).await.unwrap();
    write_history(&storage).await;
    storage.close().await.unwrap();
    let written = page::export_database(&name).await.as_string().unwrap();
    assert_eq!(written.trim(), SCHEMA_100.trim());
}
