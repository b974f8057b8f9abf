//! What is embedded, and the index's fingerprint.

use std::cell::RefCell;
use std::rc::Rc;

use burrow::embed::{Embedder, TextKind};
use burrow::store::{Observer, Phase, ReindexOptions, Store, StoreOptions};
use futures::executor::block_on;
use futures::poll;
use serde_json::{Value, json};

use crate::support::*;

/// Remembers progress, and cancels once so much is done.
#[derive(Default)]
struct Watch {
    heard: RefCell<Vec<(Phase, usize, usize)>>,
    cancel_at: Option<usize>,
}

impl Observer for Watch {
    fn progress(&self, phase: Phase, done: usize, total: usize) {
        self.heard.borrow_mut().push((phase, done, total));
    }

    fn cancelled(&self) -> bool {
        let done = self.heard.borrow().last().map_or(0, |&(_, done, _)| done);
        self.cancel_at.is_some_and(|at| done >= at)
    }
}

fn letters() -> Rc<Fake> {
    Fake::new("letters", |text| {
        let mut bag = vec![0.0; 26];
        text.bytes()
            .filter(u8::is_ascii_lowercase)
            .for_each(|letter| bag[usize::from(letter - b'a')] += 1.0);
        bag
    })
}

fn put(key: &str, text: &str) -> Value {
    json!({ "op": "put", "namespace": ["a"], "key": key, "value": { "text": text } })
}

fn ask(store: &Store, op: Value) -> burrow::Result<burrow::model::OpResult> {
    block_on(store.execute(parse(op)?))
}

fn found(store: &Store, query: &str) -> Vec<String> {
    let page = page(ask(store, search(json!({ "query": query, "minScore": 0.5 }))).unwrap());
    keys(&page).into_iter().map(str::to_owned).collect()
}

fn to(embedder: &Rc<Fake>) -> ReindexOptions {
    let embedder: Rc<dyn Embedder> = embedder.clone();
    ReindexOptions {
        embedder: Some(embedder),
        fields: vec!["text".into()],
        ..Default::default()
    }
}

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
fn opening_with_reindex_embeds_everything_anew_and_reports_progress() {
    let table = Table::new();
    for n in 0..40 {
        table.text(&["a"], &format!("{n:02}"), "abc");
    }
    table.ask(json!({ "op": "put", "namespace": ["b"], "key": "raw", "value": { "text": "abc" }, "index": false }))
        .unwrap();
    let before = table.get(&["a"], "07").unwrap();
    let watch = Rc::new(Watch::default());
    let options = StoreOptions {
        reindex: true,
        observer: Some(watch.clone()),
        ..fields(&["text"])
    };
    let store = open(&table.storage, Some(letters()), &table.clock, options).unwrap();
    assert_eq!(
        page(ask(&store, search(json!({ "query": "cab", "limit": 50 }))).unwrap())
            .items
            .len(),
        40
    );
    let heard = watch.heard.borrow();
    assert_eq!(heard.first(), Some(&(Phase::Reindex, 0, 41)));
    assert_eq!(heard.last(), Some(&(Phase::Reindex, 41, 41)));
    assert!(heard.windows(2).all(|pair| pair[0].1 <= pair[1].1));
    assert_eq!(table.get(&["a"], "07"), Some(before));
    assert!(
        table.stored().contains(&("raw".to_owned(), 0)),
        "index: false is remembered"
    );
}

#[test]
fn a_reindex_that_is_cancelled_or_fails_leaves_the_former_index() {
    let table = Table::new();
    for n in 0..40 {
        table.text(&["a"], &format!("{n:02}"), "abc");
    }
    let before = (table.stored(), table.stats());
    let watch = Rc::new(Watch {
        cancel_at: Some(16),
        ..Default::default()
    });
    let options = ReindexOptions {
        observer: Some(watch),
        ..to(&letters())
    };
    assert_eq!(
        block_on(table.store.reindex(options)).unwrap_err().code(),
        "aborted"
    );
    let failing = letters();
    failing
        .failures
        .borrow_mut()
        .extend([None, Some(burrow::Error::internal("no memory"))]);
    assert_eq!(
        block_on(table.store.reindex(to(&failing))).unwrap_err().code(),
        "embedding"
    );
    assert_eq!((table.stored(), table.stats()), before);
    assert_eq!(
        table.search(json!({ "query": "abc", "limit": 50 })).items.len(),
        40
    );
}

#[test]
fn while_a_reindex_runs_the_store_works_and_what_it_writes_is_in_the_new_index() {
    let table = Table::new();
    table.text(&["a"], "k", "abc");
    let next = letters();
    next.hold.set(true);
    block_on(async {
        let mut reindex = Box::pin(table.store.reindex(to(&next)));
        assert!(poll!(&mut reindex).is_pending());
        table
            .store
            .execute(parse(put("k", "xyz")).unwrap())
            .await
            .unwrap();
        table
            .store
            .execute(parse(put("new", "uvw")).unwrap())
            .await
            .unwrap();
        let during = table
            .store
            .execute(parse(search(json!({ "query": "uvw" }))).unwrap())
            .await
            .unwrap();
        assert_eq!(page(during).items[0].item.key.0, "new");
        let other = table.store.reindex(to(&letters())).await;
        assert_eq!(other.unwrap_err().code(), "conflict");
        next.release();
        assert!(
            poll!(&mut reindex).is_pending(),
            "what was written meanwhile is embedded"
        );
        next.release();
        reindex.await.unwrap();
        next.hold.set(false);
    });
    assert_eq!(
        (found(&table.store, "zyx"), found(&table.store, "wvu")),
        (vec!["k".to_owned()], vec!["new".to_owned()])
    );
    assert!(found(&table.store, "cba").is_empty());
    table.text(&["a"], "later", "mno");
    assert_eq!(found(&table.store, "onm"), ["later"]);
    assert!(
        block_on(table.store.reindex(to(&Fake::words()))).is_ok(),
        "another one can follow"
    );
}

#[test]
fn a_put_that_was_embedded_by_the_former_model_is_embedded_again() {
    let table = Table::new();
    let next = letters();
    table.embedder.hold.set(true);
    block_on(async {
        let mut held = Box::pin(table.store.execute(parse(put("k", "abc")).unwrap()));
        assert!(poll!(&mut held).is_pending());
        table.store.reindex(to(&next)).await.unwrap();
        table.embedder.release();
        held.await.unwrap();
    });
    assert_eq!(next.texts(TextKind::Document), ["abc"]);
    assert_eq!(found(&table.store, "cba"), ["k"]);
}

#[test]
fn a_query_that_was_embedded_by_the_former_model_is_embedded_again() {
    let table = Table::new();
    table.text(&["a"], "k", "abc");
    let next = letters();
    table.embedder.hold.set(true);
    block_on(async {
        let mut held = Box::pin(
            table
                .store
                .execute(parse(search(json!({ "query": "cab" }))).unwrap()),
        );
        assert!(poll!(&mut held).is_pending());
        table.store.reindex(to(&next)).await.unwrap();
        table.embedder.release();
        let found = page(held.await.unwrap());
        assert_eq!(
            (keys(&found), found.items[0].score.map(|score| score > 0.999)),
            (vec!["k"], Some(true))
        );
    });
    assert_eq!(next.texts(TextKind::Query), ["cab"]);
}

#[test]
fn a_reindex_spends_nothing_on_what_has_expired() {
    let table = Table::new();
    table
        .ask(json!({ "op": "put", "namespace": ["a"], "key": "old", "value": { "text": "abc" }, "ttl": 1 }))
        .unwrap();
    table.text(&["a"], "k", "xyz");
    table.clock.advance(MINUTE);
    let next = letters();
    block_on(table.store.reindex(to(&next))).unwrap();
    assert_eq!(next.texts(TextKind::Document), ["xyz"]);
}

#[test]
fn a_reindex_to_nothing_drops_the_index() {
    let table = Table::new();
    table.text(&["a"], "k", "tea");
    block_on(table.store.reindex(ReindexOptions::default())).unwrap();
    assert_eq!(
        table.try_search(json!({ "query": "tea" })).unwrap_err().code(),
        "no_index"
    );
    assert_eq!(
        (table.stored(), table.stats().fingerprint),
        (vec![("k".to_owned(), 0)], None)
    );
}

#[test]
fn closing_the_store_ends_a_reindex() {
    let table = Table::new();
    table.text(&["a"], "k", "tea");
    let next = letters();
    next.hold.set(true);
    block_on(async {
        let mut reindex = Box::pin(table.store.reindex(to(&next)));
        assert!(poll!(&mut reindex).is_pending());
        let mut close = Box::pin(table.store.close());
        assert!(poll!(&mut close).is_pending());
        next.release();
        assert_eq!(reindex.await.unwrap_err().code(), "closed");
        close.await.unwrap();
    });
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
