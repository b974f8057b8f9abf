//! Storage that fails, and a database that is another one all of a sudden.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use burrow::embed::Embedder;
use burrow::model::{ItemId, Namespace};
use burrow::storage::memory::MemoryStorage;
use burrow::storage::{
    Changes, Epoch, Record, Reindexed, Replaced, Sifted, Snapshot, Storage, Wanted, Write,
};
use burrow::store::{ReindexOptions, Store};
use burrow::{Error, Result};
use futures::channel::oneshot;
use futures::executor::block_on;
use futures::poll;
use serde_json::{Value, json};

use crate::support::*;

type Fault = Rc<dyn Fn() -> Error>;

/// Storage whose calls fail while they are told to, and whose database can be exchanged.
struct Faulty {
    inner: RefCell<MemoryStorage>,
    commits: RefCell<Option<Fault>>,
    /// The next read has its answer, but hands it over only then.
    held_read: RefCell<Option<oneshot::Receiver<()>>>,
    /// The next commit begins only then.
    held_commit: RefCell<Option<oneshot::Receiver<()>>>,
    changes: RefCell<Option<Fault>>,
    /// Changes fail as soon as the index was replaced.
    changes_fail_after_replacing: Cell<bool>,
}

fn check(fault: &RefCell<Option<Fault>>) -> Result<()> {
    fault.borrow().as_ref().map_or(Ok(()), |fault| Err(fault()))
}

impl Faulty {
    fn over(storage: &MemoryStorage) -> Rc<Self> {
        Rc::new(Self {
            inner: RefCell::new(storage.connect()),
            commits: RefCell::default(),
            held_read: RefCell::default(),
            held_commit: RefCell::default(),
            changes: RefCell::default(),
            changes_fail_after_replacing: Cell::new(false),
        })
    }

    fn now(&self) -> MemoryStorage {
        self.inner.borrow().connect()
    }

    fn open(self: &Rc<Self>, embedder: Option<Rc<Fake>>, table: &Table) -> Store {
        let embedder = embedder.map(|embedder| embedder as Rc<dyn Embedder>);
        let storage = Rc::clone(self) as Rc<dyn Storage>;
        block_on(Store::open(
            storage,
            embedder,
            table.clock.clone(),
            fields(&["text"]),
        ))
        .unwrap()
    }
}

#[async_trait::async_trait(?Send)]
impl Storage for Faulty {
    async fn load(&self) -> Result<Snapshot> {
        self.now().load().await
    }
    async fn changes(&self, sequence: u64) -> Result<Changes> {
        check(&self.changes)?;
        self.now().changes(sequence).await
    }
    async fn read(&self, ids: &[ItemId]) -> Result<Vec<Option<Record>>> {
        let records = self.now().read(ids).await;
        let held = self.held_read.take();
        if let Some(held) = held {
            let _ = held.await;
        }
        records
    }
    async fn sift(&self, prefix: &Namespace, after: Option<&ItemId>, wanted: &Wanted<'_>) -> Result<Sifted> {
        self.now().sift(prefix, after, wanted).await
    }
    async fn commit(&self, epoch: Epoch, writes: Vec<Write>) -> Result<Changes> {
        check(&self.commits)?;
        let held = self.held_commit.take();
        if let Some(held) = held {
            let _ = held.await;
        }
        self.now().commit(epoch, writes).await
    }
    async fn replace_index(
        &self,
        database: u64,
        fingerprint: Option<String>,
        items: Vec<Reindexed>,
    ) -> Result<Replaced> {
        let replaced = self.now().replace_index(database, fingerprint, items).await?;
        if self.changes_fail_after_replacing.get() {
            *self.changes.borrow_mut() = Some(Rc::new(|| Error::storage_unavailable("gone for a moment")));
        }
        Ok(replaced)
    }
    async fn close(&self) -> Result<()> {
        self.now().close().await
    }
}

fn brief(key: &str) -> Value {
    json!({ "op": "put", "namespace": ["a"], "key": key, "value": { "text": "tea" }, "ttl": 1 })
}

fn refreshing(op: &str) -> Value {
    match op {
        "get" => json!({ "op": "get", "namespace": ["a"], "key": "k", "refreshTtl": true }),
        _ => json!({ "op": "search", "prefix": ["a"], "query": "tea", "refreshTtl": true }),
    }
}

fn expiry(result: burrow::model::OpResult, op: &str) -> Option<i64> {
    match op {
        "get" => item(result).unwrap().expires_at,
        _ => page(result).items.remove(0).item.expires_at,
    }
}

#[test]
fn a_read_answers_on_a_full_disk_with_the_expiry_that_holds() {
    for op in ["get", "search"] {
        let table = Table::new();
        let storage = Faulty::over(&table.storage);
        let store = storage.open(Some(Fake::words()), &table);
        ask(&store, brief("k")).unwrap();
        table.clock.advance(1_000);
        *storage.commits.borrow_mut() = Some(Rc::new(|| Error::quota_exceeded("full")));
        let stale = expiry(ask(&store, refreshing(op)).unwrap(), op);
        assert_eq!(stale, Some(START + MINUTE), "{op}: what the database has");
        assert_eq!(block_on(store.stats()).unwrap().failed_refreshes, 1, "{op}");
        assert_eq!(stored_expiry(&table), Some(START + MINUTE), "{op}");
        let refused = ask(&store, brief("k"));
        assert_eq!(
            refused.unwrap_err().code(),
            "quota_exceeded",
            "a write still fails"
        );
        *storage.commits.borrow_mut() = None;
        let moved = expiry(ask(&store, refreshing(op)).unwrap(), op);
        assert_eq!(moved, Some(START + MINUTE + 1_000), "{op}");
    }
}

#[test]
fn a_read_that_close_overtakes_answers_without_its_refresh() {
    for op in ["get", "search"] {
        let table = Table::new();
        let storage = Faulty::over(&table.storage);
        let store = storage.open(Some(Fake::words()), &table);
        ask(&store, brief("k")).unwrap();
        table.clock.advance(1_000);
        let (let_go, held) = oneshot::channel();
        *storage.held_read.borrow_mut() = Some(held);
        block_on(async {
            let mut read = Box::pin(store.execute(parse(refreshing(op)).unwrap()));
            assert!(poll!(&mut read).is_pending());
            store.close().await.unwrap();
            let_go.send(()).unwrap();
            assert_eq!(expiry(read.await.unwrap(), op), Some(START + MINUTE), "{op}");
        });
        assert_eq!(stored_expiry(&table), Some(START + MINUTE), "{op}");
    }
}

#[test]
fn close_waits_for_a_write_that_commits_unless_it_is_abandoned() {
    for abandoned in [false, true] {
        let table = Table::new();
        let storage = Faulty::over(&table.storage);
        let store = storage.open(Some(Fake::words()), &table);
        let (let_go, held) = oneshot::channel();
        *storage.held_commit.borrow_mut() = Some(held);
        block_on(async {
            let mut write = Box::pin(store.execute(parse(put("k", "tea")).unwrap()));
            assert!(poll!(&mut write).is_pending());
            let mut close = Box::pin(store.close());
            assert!(poll!(&mut close).is_pending());
            if abandoned {
                drop(write);
            } else {
                let_go.send(()).unwrap();
                write.await.unwrap();
            }
            close.await.unwrap();
        });
        assert_eq!(table.stored().len(), usize::from(!abandoned));
    }
}

fn stored_expiry(table: &Table) -> Option<i64> {
    block_on(table.storage.load()).unwrap().entries[0].expires_at
}

fn to(embedder: &Rc<Fake>) -> ReindexOptions {
    ReindexOptions {
        embedder: Some(embedder.clone() as Rc<dyn Embedder>),
        fields: vec!["text".into()],
        ..Default::default()
    }
}

#[test]
fn a_reindex_whose_index_is_in_place_has_succeeded_though_reading_it_back_fails() {
    let table = Table::new();
    let storage = Faulty::over(&table.storage);
    let store = storage.open(Some(Fake::words()), &table);
    ask(&store, put("k", "abc")).unwrap();
    storage.changes_fail_after_replacing.set(true);
    block_on(store.reindex(to(&letters()))).unwrap();
    storage.changes_fail_after_replacing.set(false);
    *storage.changes.borrow_mut() = None;
    ask(&store, put("l", "xyz")).unwrap();
    assert_eq!(
        (found(&store, "cba"), found(&store, "zyx")),
        (vec!["k".to_owned()], vec!["l".to_owned()])
    );
}

#[test]
fn another_reindex_may_follow_one_that_was_not_read_back() {
    let table = Table::new();
    let storage = Faulty::over(&table.storage);
    let store = storage.open(Some(Fake::words()), &table);
    storage.changes_fail_after_replacing.set(true);
    let _ = block_on(store.reindex(to(&letters())));
    storage.changes_fail_after_replacing.set(false);
    *storage.changes.borrow_mut() = None;
    block_on(store.reindex(to(&Fake::words()))).unwrap();
    ask(&store, put("k", "tea")).unwrap();
    assert_eq!(found(&store, "tea"), ["k"]);
}

/// Another tab deleted the database and made it anew.
fn made_anew(storage: &Faulty, table: &Table, puts: &[(&str, &str)]) {
    *storage.inner.borrow_mut() = MemoryStorage::new();
    let other = open(
        &storage.now(),
        Some(Fake::words()),
        &table.clock,
        fields(&["text"]),
    )
    .unwrap();
    for (key, text) in puts {
        ask(&other, put(key, text)).unwrap();
    }
}

#[test]
fn a_database_that_was_made_anew_is_read_anew_whatever_its_sequence() {
    let anew = [
        ("new", "coffee"),
        ("newer", "cake"),
        ("newest", "pie"),
        ("k", "coffee"),
    ];
    for commits in 0..=anew.len() {
        let table = Table::new();
        let storage = Faulty::over(&table.storage);
        let store = storage.open(Some(Fake::words()), &table);
        ask(&store, put("k", "tea")).unwrap();
        ask(&store, put("l", "tea")).unwrap();
        made_anew(&storage, &table, &anew[..commits]);
        assert!(found(&store, "tea").is_empty(), "after {commits} commits");
        assert_eq!(
            block_on(store.stats()).unwrap().items,
            commits,
            "after {commits} commits"
        );
    }
}

#[test]
fn a_put_into_a_database_that_was_made_anew_arrives_beside_what_is_there() {
    let table = Table::new();
    let storage = Faulty::over(&table.storage);
    let store = storage.open(Some(Fake::words()), &table);
    ask(&store, put("old", "tea")).unwrap();
    made_anew(&storage, &table, &[("new", "coffee")]);
    ask(&store, put("k", "tea")).unwrap();
    assert_eq!(
        (found(&store, "tea"), found(&store, "coffee")),
        (vec!["k".to_owned()], vec!["new".to_owned()])
    );
}

#[test]
fn vectors_do_not_get_into_a_database_that_was_made_anew_by_another_model() {
    let table = Table::new();
    let storage = Faulty::over(&table.storage);
    let store = storage.open(Some(Fake::words()), &table);
    *storage.inner.borrow_mut() = MemoryStorage::new();
    let other = open(&storage.now(), Some(letters()), &table.clock, fields(&["text"])).unwrap();
    assert_eq!(ask(&store, put("k", "abc")).unwrap_err().code(), "model_mismatch");
    assert_eq!(block_on(other.stats()).unwrap().items, 0);
}
