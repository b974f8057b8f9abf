//! Several stores over one storage, as several tabs over one database.

use std::cell::RefCell;
use std::rc::Rc;

use burrow::Result;
use burrow::model::{ItemId, Namespace, OpResult};
use burrow::storage::memory::MemoryStorage;
use burrow::storage::{
    Changes, Epoch, Record, Reindexed, Replaced, Sifted, Snapshot, Storage, Wanted, Write,
};
use burrow::store::{ReindexOptions, Store};
use futures::FutureExt;
use futures::executor::block_on;
use serde_json::{Value, json};

use crate::support::*;

/// Memory answers at once, so this also works where another call is being polled.
fn ask(store: &Store, op: Value) -> Result<OpResult> {
    store.execute(parse(op)?).now_or_never().unwrap()
}

fn put(key: &str, text: &str) -> Value {
    json!({ "op": "put", "namespace": ["a"], "key": key, "value": { "text": text } })
}

#[test]
fn each_tab_sees_the_other_s_commits_at_its_next_operation() {
    let (table, other) = two_tabs();
    table.text(&["a"], "k", "tea");
    let found = page(ask(&other, search(json!({ "query": "tea" }))).unwrap());
    assert_eq!(
        (keys(&found), found.items[0].score.unwrap() > 0.999),
        (vec!["k"], true)
    );
    ask(&other, put("k", "coffee")).unwrap();
    ask(&other, put("l", "tea")).unwrap();
    assert_eq!(
        keys(&table.search(json!({ "query": "coffee", "minScore": 0.9 }))),
        ["k"]
    );
    assert_eq!(table.get(&["a"], "k").unwrap().value["text"], "coffee");
    table.delete(&["a"], "k");
    assert_eq!(block_on(other.stats()).unwrap().items, 1);
    let list = json!({ "op": "listNamespaces" });
    table.delete(&["a"], "l");
    assert!(namespaces(ask(&other, list).unwrap()).is_empty());
}

#[test]
fn writes_that_alternate_leave_no_gap() {
    let (table, other) = two_tabs();
    for n in 0..20 {
        table.text(&["a"], &format!("mine {n}"), "tea");
        ask(&other, put(&format!("theirs {n}"), "tea")).unwrap();
    }
    assert_eq!(
        table.search(json!({ "query": "tea", "limit": 100 })).items.len(),
        40
    );
    let found = page(ask(&other, search(json!({ "query": "tea", "limit": 100 }))).unwrap());
    assert_eq!(found.items.len(), 40);
}

#[test]
fn a_commit_that_changes_nothing_hides_nothing_of_the_other_tab() {
    let (table, other) = two_tabs();
    table.text(&["a"], "k", "tea");
    ask(
        &other,
        json!({ "op": "delete", "namespace": ["a"], "key": "not there" }),
    )
    .unwrap();
    assert_eq!(block_on(other.stats()).unwrap().items, 1);
}

#[test]
fn a_tab_that_lags_beyond_the_log_reads_everything_anew() {
    let (table, other) = two_tabs();
    table.text(&["a"], "gone", "tea");
    block_on(other.stats()).unwrap();
    table.delete(&["a"], "gone");
    let puts: Value = (0..5_000)
        .map(|n| json!({ "op": "put", "namespace": ["a"], "key": format!("{n}"), "value": {}, "index": false }))
        .collect();
    table.batch(puts).unwrap();
    table.text(&["a"], "new", "tea");
    let found = page(ask(&other, search(json!({ "query": "tea" }))).unwrap());
    assert_eq!(keys(&found), ["new"]);
    assert_eq!(block_on(other.stats()).unwrap().items, 5_001);
}

#[test]
fn another_tab_s_reindex_by_another_model_is_a_mismatch_for_what_needs_vectors() {
    let (table, other) = two_tabs();
    table.text(&["a"], "k", "tea");
    let letters = Fake::new("letters", |text| vec![text.len() as f32, 1.0]);
    let options = ReindexOptions {
        embedder: Some(letters),
        fields: vec!["text".into()],
        ..Default::default()
    };
    block_on(other.reindex(options)).unwrap();

    let error = table.ask(put("k", "coffee")).unwrap_err();
    assert_eq!(error.code(), "model_mismatch");
    let details = &error.context().details;
    assert!(
        details["stored"].as_str().unwrap().contains("letters"),
        "{details:?}"
    );
    assert!(
        details["requested"].as_str().unwrap().contains("words"),
        "{details:?}"
    );
    assert_eq!(
        table.try_search(json!({ "query": "tea" })).unwrap_err().code(),
        "model_mismatch"
    );
    // What needs no vectors goes on.
    assert_eq!(table.get(&["a"], "k").unwrap().value["text"], "tea");
    assert_eq!(keys(&table.search(json!({}))), ["k"]);
    table.delete(&["a"], "k");
    // Nothing of the old model got in, and the other tab works with the new one.
    assert!(table.stored().is_empty());
    ask(&other, put("k", "coffee")).unwrap();
    assert_eq!(
        keys(&page(ask(&other, search(json!({ "query": "coffee" }))).unwrap())),
        ["k"]
    );
}

#[test]
fn another_tab_s_reindex_by_the_same_model_goes_unnoticed() {
    let (table, other) = two_tabs();
    table.text(&["a"], "k", "tea");
    let options = ReindexOptions {
        embedder: Some(Fake::words()),
        fields: vec!["text".into()],
        ..Default::default()
    };
    block_on(other.reindex(options)).unwrap();
    table.text(&["a"], "l", "tea");
    assert_eq!(keys(&table.search(json!({ "query": "tea" }))), ["k", "l"]);
}

#[test]
fn closing_one_tab_leaves_the_other_open() {
    let (table, other) = two_tabs();
    block_on(other.close()).unwrap();
    table.text(&["a"], "k", "tea");
    assert_eq!(keys(&table.search(json!({ "query": "tea" }))), ["k"]);
}

type Interruption = Box<dyn FnOnce()>;

/// Storage in which something happens just before a read or a commit.
struct Interrupted {
    inner: MemoryStorage,
    before_read: RefCell<Vec<Interruption>>,
    before_commit: RefCell<Vec<Interruption>>,
}

fn interrupt(queue: &RefCell<Vec<Interruption>>) {
    let next = queue.borrow_mut().pop();
    if let Some(next) = next {
        next();
    }
}

#[async_trait::async_trait(?Send)]
impl Storage for Interrupted {
    async fn load(&self) -> Result<Snapshot> {
        self.inner.load().await
    }
    async fn changes(&self, sequence: u64) -> Result<Changes> {
        self.inner.changes(sequence).await
    }
    async fn read(&self, ids: &[ItemId]) -> Result<Vec<Option<Record>>> {
        interrupt(&self.before_read);
        self.inner.read(ids).await
    }
    async fn sift(&self, prefix: &Namespace, after: Option<&ItemId>, wanted: &Wanted<'_>) -> Result<Sifted> {
        self.inner.sift(prefix, after, wanted).await
    }
    async fn commit(&self, epoch: Epoch, writes: Vec<Write>) -> Result<Changes> {
        interrupt(&self.before_commit);
        self.inner.commit(epoch, writes).await
    }
    async fn replace_index(
        &self,
        database: u64,
        fingerprint: Option<String>,
        items: Vec<Reindexed>,
    ) -> Result<Replaced> {
        self.inner.replace_index(database, fingerprint, items).await
    }
    async fn close(&self) -> Result<()> {
        self.inner.close().await
    }
}

/// A store whose storage can be interrupted by another tab, and that tab.
fn interrupted() -> (Store, Rc<Interrupted>, Rc<Table>) {
    let table = Rc::new(Table::new());
    let storage = Rc::new(Interrupted {
        inner: table.storage.connect(),
        before_read: RefCell::default(),
        before_commit: RefCell::default(),
    });
    let embedder: Rc<dyn burrow::embed::Embedder> = Fake::words();
    let open = Store::open(
        storage.clone(),
        Some(embedder),
        table.clock.clone(),
        fields(&["text"]),
    );
    (block_on(open).unwrap(), storage, table)
}

fn meanwhile(table: &Rc<Table>, op: Value) -> Interruption {
    let table = Rc::clone(table);
    Box::new(move || drop(ask(&table.store, op).unwrap()))
}

#[test]
fn a_document_that_changes_while_a_search_reads_is_ranked_anew() {
    let (store, storage, table) = interrupted();
    for (key, text) in [
        ("best", "green tea"),
        ("next", "tea"),
        ("third", "tea house cake"),
    ] {
        table.text(&["a"], key, text);
    }
    storage
        .before_read
        .borrow_mut()
        .push(meanwhile(&table, put("best", "coffee")));
    let found = page(ask(&store, search(json!({ "query": "green tea", "limit": 2 }))).unwrap());
    assert_eq!((keys(&found), found.has_more), (vec!["next", "third"], true));

    let gone = json!({ "op": "delete", "namespace": ["a"], "key": "next" });
    storage.before_read.borrow_mut().push(meanwhile(&table, gone));
    let found = page(ask(&store, search(json!({ "query": "green tea", "limit": 2 }))).unwrap());
    assert_eq!((keys(&found), found.has_more), (vec!["third", "best"], false));
}

#[test]
fn a_search_that_is_always_overtaken_still_answers_with_scores_that_fit_the_documents() {
    let (store, storage, table) = interrupted();
    table.text(&["a"], "k", "tea");
    for n in 0..50 {
        let text = if n % 2 == 0 { "coffee" } else { "tea" };
        storage
            .before_read
            .borrow_mut()
            .push(meanwhile(&table, put("k", text)));
    }
    let found = page(ask(&store, search(json!({ "query": "tea" }))).unwrap());
    let fits = if found.items[0].item.value["text"] == "tea" {
        1.0
    } else {
        0.0
    };
    assert!((found.items[0].score.unwrap() - fits).abs() < 1e-6);
    assert!(storage.before_read.borrow().len() > 40, "it gave up soon");
}

#[test]
fn a_refresh_does_not_touch_the_ttl_of_a_put_that_came_between() {
    let (store, storage, table) = interrupted();
    let brief = json!({ "op": "put", "namespace": ["a"], "key": "k", "value": { "text": "tea" }, "ttl": 1 });
    table.ask(brief).unwrap();
    table.clock.advance(1_000);
    storage
        .before_commit
        .borrow_mut()
        .push(meanwhile(&table, put("k", "for ever")));
    let read = json!({ "op": "get", "namespace": ["a"], "key": "k", "refreshTtl": true });
    assert_eq!(item(ask(&store, read).unwrap()).unwrap().value["text"], "tea");
    let stored = table.get(&["a"], "k").unwrap();
    assert_eq!(
        (stored.value["text"].as_str(), stored.expires_at),
        (Some("for ever"), None)
    );
}

/// Deleted and put again while the clock stands still: all its times are those of the former item.
fn twin(table: &Rc<Table>, op: Value) -> Interruption {
    let table = Rc::clone(table);
    Box::new(move || {
        table.delete(&["a"], "k");
        drop(ask(&table.store, op).unwrap());
    })
}

#[test]
fn a_refresh_does_not_touch_another_item_of_the_same_instant() {
    let (store, storage, table) = interrupted();
    let op = |ttl: Value| json!({ "op": "put", "namespace": ["a"], "key": "k", "value": { "text": "tea" }, "ttl": ttl });
    table.ask(op(json!(1))).unwrap();
    storage
        .before_commit
        .borrow_mut()
        .push(twin(&table, op(json!(null))));
    // The clock stands still for the item, not for the read: its expiry was moved by a former one.
    let read = json!({ "op": "get", "namespace": ["a"], "key": "k", "refreshTtl": true });
    table.clock.advance(1_000);
    let clock = Rc::clone(&table.clock);
    let back = storage.before_commit.borrow_mut().pop().unwrap();
    storage.before_commit.borrow_mut().push(Box::new(move || {
        clock.advance(-1_000);
        back();
        clock.advance(1_000);
    }));
    ask(&store, read).unwrap();
    assert_eq!(table.get(&["a"], "k").unwrap().expires_at, None);
}

#[test]
fn a_search_does_not_show_another_item_of_the_same_instant_under_the_score_of_the_former() {
    let (store, storage, table) = interrupted();
    table.text(&["a"], "k", "tea");
    table.text(&["a"], "next", "tea house");
    storage
        .before_read
        .borrow_mut()
        .push(twin(&table, put("k", "coffee")));
    let found = page(ask(&store, search(json!({ "query": "tea" }))).unwrap());
    assert_eq!(keys(&found), ["next", "k"]);
}

#[test]
fn a_commit_against_an_index_replaced_by_the_same_model_is_tried_again() {
    let (store, storage, table) = interrupted();
    let tab = Rc::clone(&table);
    storage.before_commit.borrow_mut().push(Box::new(move || {
        let options = ReindexOptions {
            embedder: Some(Fake::words()),
            fields: vec!["text".into()],
            ..Default::default()
        };
        tab.store.reindex(options).now_or_never().unwrap().unwrap();
    }));
    ask(&store, put("k", "tea")).unwrap();
    assert_eq!(keys(&table.search(json!({ "query": "tea" }))), ["k"]);
}
