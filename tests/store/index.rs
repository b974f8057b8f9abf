//! What is embedded, and the index's fingerprint.

use std::rc::Rc;

use burrow::embed::TextKind;
use burrow::model::{ItemId, Namespace};
use burrow::storage::{
    Changes, Epoch, Record, Reindexed, Replaced, Sifted, Snapshot, Storage, Wanted, Write,
};
use burrow::store::{Phase, Store, StoreOptions};
use futures::executor::block_on;
use serde_json::{Value, json};

use crate::support::*;

#[test]
fn an_update_embeds_only_texts_that_changed_and_drops_the_vectors_of_those_that_are_gone() {
    let table = Table::with(Fake::words(), fields(&["parts[*]"]));
    table.put(&["a"], "k", json!({ "parts": ["one", "two", "two"] }));
    table.put(&["a"], "k", json!({ "parts": ["two", "three"] }));
    assert_eq!(table.embedder.texts(TextKind::Document), ["one", "two", "three"]);
    assert_eq!(
        (table.stored(), table.stats().vectors),
        (vec![("k".to_owned(), 2)], 2)
    );
    assert_eq!(found(&table.store, "one"), Vec::<String>::new());
    assert_eq!(
        (found(&table.store, "two"), found(&table.store, "three")),
        (vec!["k".into()], vec!["k".into()])
    );
}

#[test]
fn a_put_chooses_its_own_paths_or_none() {
    let table = Table::new();
    let value = json!({ "text": "tea", "title": "cake", "n": 7, "nothing": null });
    let put = |key: &str, index: Value| {
        let op = json!({ "op": "put", "namespace": ["a"], "key": key, "value": value, "index": index });
        table.ask(op).unwrap();
    };
    put("none", json!(false));
    put("paths", json!(["title", "n", "nothing", "missing"]));
    assert_eq!(table.embedder.texts(TextKind::Document), ["cake", "7"]);
    assert_eq!(
        (found(&table.store, "tea").len(), found(&table.store, "cake")),
        (0, vec!["paths".to_owned()])
    );
}

#[test]
fn without_fields_the_whole_document_is_embedded() {
    let table = Table::with(Fake::words(), fields(&[]));
    table.put(&["a"], "k", json!({ "b": "tea", "a": 1 }));
    assert_eq!(table.embedder.texts(TextKind::Document), [r#"{"b":"tea","a":1}"#]);
}

#[test]
fn opening_with_another_model_or_other_fields_is_refused_and_offers_a_reindex() {
    let table = Table::new();
    table.text(&["a"], "k", "tea");
    for (embedder, paths) in [(letters(), ["text"]), (Fake::words(), ["title"])] {
        let error = open(&table.storage, Some(embedder), &table.clock, fields(&paths))
            .err()
            .unwrap();
        assert_eq!(error.code(), "model_mismatch");
        assert!(error.to_string().contains("reindex: true"), "{error}");
        let details = &error.context().details;
        assert_ne!(details["stored"], details["requested"]);
    }
    let reopened = open(
        &table.storage,
        Some(Fake::words()),
        &table.clock,
        fields(&["text"]),
    )
    .unwrap();
    assert_eq!(found(&reopened, "tea"), ["k"]);
}

#[test]
fn the_order_of_fields_makes_no_other_index() {
    let table = Table::with(Fake::words(), fields(&["a", "b"]));
    assert!(
        open(
            &table.storage,
            Some(Fake::words()),
            &table.clock,
            fields(&["b", "a", "b"])
        )
        .is_ok()
    );
}

#[test]
fn declared_dims_that_disagree_with_the_model_are_refused() {
    let (storage, clock) = (burrow::storage::memory::MemoryStorage::new(), ManualClock::new());
    let known = Rc::new(Fake {
        dims: Some(64),
        ..Rc::into_inner(Fake::words()).unwrap()
    });
    let declare = |dims| StoreOptions {
        dims: Some(dims),
        ..fields(&["text"])
    };
    let error = open(&storage, Some(known.clone()), &clock, declare(32))
        .err()
        .unwrap();
    assert_eq!(
        (error.code(), &error.context().details["declared"]),
        ("invalid_argument", &json!(32))
    );
    assert!(open(&storage, Some(known), &clock, declare(64)).is_ok());
    // A function tells its length with its first vector only.
    let store = open(&storage, Some(Fake::words()), &clock, declare(32)).unwrap();
    assert_eq!(ask(&store, put("k", "tea")).unwrap_err().code(), "embedding");
}

#[test]
fn stored_vectors_of_another_length_are_a_mismatch_though_the_name_is_the_same() {
    let table = Table::new();
    table.text(&["a"], "k", "tea");
    let longer = Rc::new(Fake {
        dims: Some(128),
        ..Rc::into_inner(Fake::words()).unwrap()
    });
    let error = open(&table.storage, Some(longer), &table.clock, fields(&["text"]))
        .err()
        .unwrap();
    assert_eq!(error.code(), "model_mismatch");
}

#[test]
fn what_is_put_without_an_embedder_is_embedded_at_the_next_open_that_has_one() {
    let table = Table::new();
    table.text(&["a"], "before", "tea");
    table.text(&["a"], "changed", "coffee");
    let bare = open(&table.storage, None, &table.clock, fields(&[])).unwrap();
    table.clock.advance(7);
    ask(&bare, put("changed", "tea")).unwrap();
    ask(&bare, put("new", "tea")).unwrap();
    assert_eq!(block_on(bare.stats()).unwrap().pending, 2);
    assert_eq!(
        keys(&table.search(json!({ "query": "tea" }))),
        ["before"],
        "no vector of the former document"
    );

    let (embedder, watch) = (Fake::words(), Rc::new(Watch::default()));
    let options = StoreOptions {
        observer: Some(watch.clone()),
        ..fields(&["text"])
    };
    let store = open(&table.storage, Some(embedder.clone()), &table.clock, options).unwrap();
    assert_eq!(
        embedder.texts(TextKind::Document),
        ["tea"],
        "only what was pending, and each text once"
    );
    assert_eq!(
        *watch.heard.borrow(),
        [(Phase::Index, 0, 2), (Phase::Index, 2, 2)]
    );
    assert_eq!(found(&store, "tea"), ["changed", "new", "before"]);
    let stats = block_on(store.stats()).unwrap();
    assert_eq!((stats.pending, stats.vectors), (0, 3));
    let again = Rc::new(Watch::default());
    let options = StoreOptions {
        observer: Some(again.clone()),
        ..fields(&["text"])
    };
    open(&table.storage, Some(Fake::words()), &table.clock, options).unwrap();
    assert!(again.heard.borrow().is_empty());
}

#[test]
fn a_database_that_was_never_indexed_is_indexed_at_the_first_open_with_an_embedder() {
    let (storage, clock) = (burrow::storage::memory::MemoryStorage::new(), ManualClock::new());
    let bare = open(&storage, None, &clock, fields(&[])).unwrap();
    ask(&bare, put("k", "tea")).unwrap();
    let store = open(&storage, Some(Fake::words()), &clock, fields(&["text"])).unwrap();
    assert_eq!(found(&store, "tea"), ["k"]);
}

#[test]
fn reopening_embeds_nothing() {
    let table = Table::new();
    table.text(&["a"], "k", "tea");
    let before = table.search(json!({ "query": "tea" }));
    let embedder = Fake::words();
    let store = open(
        &table.storage,
        Some(embedder.clone()),
        &table.clock,
        fields(&["text"]),
    )
    .unwrap();
    assert_eq!(
        page(ask(&store, search(json!({ "query": "tea" }))).unwrap()),
        before
    );
    assert!(embedder.texts(TextKind::Document).is_empty());
}

/// Storage that hands out vectors of two lengths, as a database has that was written before lengths were compared.
struct Mixed(burrow::storage::memory::MemoryStorage);

#[async_trait::async_trait(?Send)]
impl Storage for Mixed {
    async fn load(&self) -> burrow::Result<Snapshot> {
        let mut snapshot = self.0.load().await?;
        let last = snapshot
            .entries
            .iter_mut()
            .rev()
            .find(|entry| !entry.vectors.is_empty());
        if let Some(entry) = last.filter(|_| {
            snapshot
                .index
                .fingerprint
                .as_deref()
                .is_some_and(|name| name.contains("mixed"))
        }) {
            entry.vectors[0].vector = Rc::from([1.0, 0.0]);
        }
        Ok(snapshot)
    }
    async fn changes(&self, sequence: u64) -> burrow::Result<Changes> {
        self.0.changes(sequence).await
    }
    async fn read(&self, ids: &[ItemId]) -> burrow::Result<Vec<Option<Record>>> {
        self.0.read(ids).await
    }
    async fn sift(
        &self,
        prefix: &Namespace,
        after: Option<&ItemId>,
        wanted: &Wanted<'_>,
    ) -> burrow::Result<Sifted> {
        self.0.sift(prefix, after, wanted).await
    }
    async fn commit(&self, epoch: Epoch, writes: Vec<Write>) -> burrow::Result<Changes> {
        self.0.commit(epoch, writes).await
    }
    async fn replace_index(
        &self,
        database: u64,
        name: Option<String>,
        items: Vec<Reindexed>,
    ) -> burrow::Result<Replaced> {
        assert!(
            items
                .iter()
                .flat_map(|item| &item.vectors)
                .all(|vector| vector.vector.len() == 26)
        );
        let name = name.map(|name| name.replace("mixed", "whole"));
        self.0.replace_index(database, name, items).await
    }
    async fn close(&self) -> burrow::Result<()> {
        self.0.close().await
    }
}

#[test]
fn stored_vectors_of_several_lengths_are_a_mismatch_and_a_reindex_at_open_makes_them_anew() {
    let mixed = || {
        Fake::new("mixed", |text| {
            let mut bag = vec![0.0; 26];
            bag[text.len() % 26] = 1.0;
            bag
        })
    };
    let table = Table::with(mixed(), fields(&["text"]));
    table.text(&["a"], "k", "tea");
    table.text(&["a"], "l", "coffee");
    let open = |reindex| {
        let embedder: Rc<dyn burrow::embed::Embedder> = mixed();
        let storage = Rc::new(Mixed(table.storage.connect()));
        let options = StoreOptions {
            reindex,
            ..fields(&["text"])
        };
        block_on(Store::open(storage, Some(embedder), table.clock.clone(), options))
    };
    let refused = open(false).err().unwrap();
    assert_eq!(refused.code(), "model_mismatch", "{refused}");
    assert!(refused.to_string().contains("reindex: true"), "{refused}");
    open(true).unwrap();
    let fingerprint = block_on(table.storage.load()).unwrap().index.fingerprint.unwrap();
    assert!(fingerprint.contains("whole"), "the index was replaced");
}
