//! Searches whose filter lets little pass.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use burrow::Result;
use burrow::model::{ItemId, Namespace};
use burrow::storage::memory::MemoryStorage;
use burrow::storage::{
    Changes, Epoch, Record, Reindexed, Replaced, Sifted, Snapshot, Storage, Wanted, Write,
};
use burrow::store::Store;
use futures::FutureExt;
use futures::executor::block_on;
use serde_json::{Value, json};

use crate::support::*;

/// Storage that counts what is read of it, and in which something can happen just after a look through it.
struct Counting {
    inner: MemoryStorage,
    read: Cell<usize>,
    sifts: Cell<usize>,
    after_sift: RefCell<Vec<Box<dyn FnOnce()>>>,
}

#[async_trait::async_trait(?Send)]
impl Storage for Counting {
    async fn load(&self) -> Result<Snapshot> {
        self.inner.load().await
    }
    async fn changes(&self, sequence: u64) -> Result<Changes> {
        self.inner.changes(sequence).await
    }
    async fn read(&self, ids: &[ItemId]) -> Result<Vec<Option<Record>>> {
        self.read.set(self.read.get() + ids.len());
        self.inner.read(ids).await
    }
    async fn sift(&self, prefix: &Namespace, after: Option<&ItemId>, wanted: &Wanted<'_>) -> Result<Sifted> {
        self.sifts.set(self.sifts.get() + 1);
        let sifted = self.inner.sift(prefix, after, wanted).await;
        let next = self.after_sift.borrow_mut().pop();
        if let Some(next) = next {
            next();
        }
        sifted
    }
    async fn commit(&self, epoch: Epoch, writes: Vec<Write>) -> Result<Changes> {
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

const ITEMS: usize = 2500;

/// Item `n` says `n` times "tea" beside one "coffee", so that a search for tea ranks the greatest `n` first.
fn filled() -> (Store, Rc<Counting>, Rc<Table>) {
    let embedder = || {
        Fake::new("teas", |text| {
            let teas = text.matches("tea").count() as f32 + text.parse::<f32>().unwrap_or(0.0);
            vec![teas, 1000.0]
        })
    };
    let table = Rc::new(Table::with(embedder(), fields(&["text"])));
    let puts: Value = (0..ITEMS)
        .map(|n| {
            let value = json!({ "text": n.to_string(), "n": n, "every": n % 500, "odd": n % 2 == 1 });
            json!({ "op": "put", "namespace": ["a"], "key": format!("{n:04}"), "value": value })
        })
        .collect();
    table.batch(puts).unwrap();
    let storage = Rc::new(Counting {
        inner: table.storage.connect(),
        read: Cell::new(0),
        sifts: Cell::new(0),
        after_sift: RefCell::default(),
    });
    let embedder: Rc<dyn burrow::embed::Embedder> = embedder();
    let store = Store::open(
        storage.clone(),
        Some(embedder),
        table.clock.clone(),
        fields(&["text"]),
    );
    (block_on(store).unwrap(), storage, table)
}

fn keys_of(store: &Store, options: Value) -> (Vec<String>, bool) {
    let page = page(ask(store, search(options)).unwrap());
    (
        keys(&page).into_iter().map(str::to_owned).collect(),
        page.has_more,
    )
}

#[test]
fn what_passes_is_found_in_the_order_of_scores_without_reading_all_one_by_one() {
    let (store, storage, _) = filled();
    let options = json!({ "query": "999999", "filter": { "every": 7 }, "limit": 3 });
    let expected = (["2007", "1507", "1007"].map(str::to_owned).to_vec(), true);
    assert_eq!(keys_of(&store, options), expected);
    assert!(
        storage.sifts.get() > 0 && storage.read.get() < 200,
        "{}",
        storage.read.get()
    );
    let none = json!({ "query": "999999", "filter": { "every": "never" } });
    assert_eq!(keys_of(&store, none), (Vec::new(), false));
}

#[test]
fn pages_of_what_passes_hold_each_item_once() {
    let (store, _, _) = filled();
    let mut found = Vec::new();
    for page in 0..3 {
        let options = json!({ "query": "999999", "filter": { "every": 7 }, "limit": 2, "offset": page * 2 });
        let (keys, more) = keys_of(&store, options);
        assert_eq!(more, page < 2);
        found.extend(keys);
    }
    assert_eq!(found, ["2007", "1507", "1007", "0507", "0007"]);
    let unranked = json!({ "filter": { "every": 7 }, "limit": 2, "offset": 3 });
    assert_eq!(keys_of(&store, unranked).0, ["1507", "2007"]);
}

#[test]
fn a_filter_that_lets_enough_pass_reads_no_more_than_it_takes() {
    let (store, storage, _) = filled();
    let options = json!({ "query": "999999", "filter": { "odd": true }, "limit": 3 });
    assert_eq!(keys_of(&store, options).0, ["2499", "2497", "2495"]);
    assert_eq!((storage.sifts.get(), storage.read.get()), (0, 32));
}

#[test]
fn a_batch_s_own_writes_pass_the_filter_or_not() {
    let (store, _, _) = filled();
    let put = |key: &str, every: usize| json!({ "op": "put", "namespace": ["a"], "key": key, "value": { "text": "1200", "every": every } });
    let find = search(json!({ "query": "999999", "filter": { "every": 7 }, "limit": 3, "offset": 1 }));
    let ops = json!([put("2007", 8), put("new", 7), put("1600", 8), find]);
    let mut results = block_on(store.batch(parse_all(ops).unwrap())).unwrap();
    assert_eq!(keys(&page(results.pop().unwrap())), ["new", "1007", "0507"]);
}

#[test]
fn what_another_tab_changes_while_documents_are_looked_through_is_ranked_anew() {
    for by_another in [
        json!({ "op": "put", "namespace": ["a"], "key": "2007", "value": { "text": "0", "every": 7 } }),
        json!({ "op": "delete", "namespace": ["a"], "key": "2007" }),
        json!({ "op": "put", "namespace": ["a"], "key": "2007", "value": { "text": "2007", "every": 8 } }),
    ] {
        let (store, storage, table) = filled();
        let (tab, op) = (Rc::clone(&table), by_another.clone());
        storage.after_sift.borrow_mut().push(Box::new(move || {
            tab.store
                .execute(parse(op).unwrap())
                .now_or_never()
                .unwrap()
                .unwrap();
        }));
        let options = json!({ "query": "999999", "filter": { "every": 7 }, "limit": 2 });
        assert_eq!(keys_of(&store, options).0, ["1507", "1007"], "{by_another}");
    }
}

#[test]
fn a_search_that_is_always_overtaken_while_it_looks_through_documents_still_answers() {
    let (store, storage, table) = filled();
    for n in 0..50 {
        let tab = Rc::clone(&table);
        storage.after_sift.borrow_mut().push(Box::new(move || {
            let value = json!({ "text": n.to_string(), "every": 9 });
            let op = json!({ "op": "put", "namespace": ["a"], "key": "0000", "value": value });
            tab.store
                .execute(parse(op).unwrap())
                .now_or_never()
                .unwrap()
                .unwrap();
        }));
    }
    let options = json!({ "query": "999999", "filter": { "every": 7 }, "limit": 2 });
    assert_eq!(keys_of(&store, options).0, ["2007", "1507"]);
    assert!(storage.after_sift.borrow().len() > 20, "it gave up soon");
}
