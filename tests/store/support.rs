//! A store on a table: a clock that is set by hand, embedders that are watched, and short ways to ask.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use burrow::embed::{Embedder, Embedding, TextKind};
use burrow::model::{Clock, Hit, Item, Millis, Namespace, Op, OpResult, Page};
use burrow::storage::Storage;
use burrow::storage::memory::MemoryStorage;
use burrow::store::{Observer, Phase, Store, StoreOptions};
use burrow::{Error, Result};
use futures::channel::oneshot;
use futures::executor::block_on;
use serde_json::{Value, json};

pub const MINUTE: Millis = 60_000;
pub const START: Millis = 1_700_000_000_000;

/// A clock that stands still until it is moved.
#[derive(Debug)]
pub struct ManualClock(Cell<Millis>);

impl ManualClock {
    pub fn new() -> Rc<Self> {
        Rc::new(Self(Cell::new(START)))
    }

    pub fn advance(&self, millis: Millis) {
        self.0.set(self.0.get() + millis);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Millis {
        self.0.get()
    }
}

type Vectors = Box<dyn Fn(&str) -> Vec<f32>>;

/// An embedder made of a function, which remembers what it was asked and can be held up or made to fail.
pub struct Fake {
    pub fingerprint: String,
    pub dims: Option<usize>,
    pub vector: Vectors,
    /// Every call: its texts and their kind.
    pub calls: RefCell<Vec<(Vec<String>, TextKind)>>,
    /// Fails this call, counted from the next one on.
    pub failures: RefCell<VecDeque<Option<Error>>>,
    /// While set, a call waits until its sender in `held` is used.
    pub hold: Cell<bool>,
    pub held: RefCell<VecDeque<oneshot::Sender<()>>>,
}

impl Fake {
    pub fn new(fingerprint: &str, vector: impl Fn(&str) -> Vec<f32> + 'static) -> Rc<Self> {
        Rc::new(Self {
            fingerprint: fingerprint.to_owned(),
            dims: None,
            vector: Box::new(vector),
            calls: RefCell::default(),
            failures: RefCell::default(),
            hold: Cell::new(false),
            held: RefCell::default(),
        })
    }

    /// Words hashed into a bag of 64, so that texts that share words are alike.
    pub fn words() -> Rc<Self> {
        Self::new("words", bag_of_words)
    }

    pub fn texts(&self, kind: TextKind) -> Vec<String> {
        let calls = self.calls.borrow();
        calls
            .iter()
            .filter(|(_, of)| *of == kind)
            .flat_map(|(texts, _)| texts.clone())
            .collect()
    }

    /// Lets the oldest call that is held go on.
    pub fn release(&self) {
        self.release_at(0);
    }

    /// Lets the call that has so many others held before it go on.
    pub fn release_at(&self, position: usize) {
        let sender = self.held.borrow_mut().remove(position);
        sender
            .expect("a call is held")
            .send(())
            .expect("the call still waits");
    }

    pub fn fail_next(&self, error: Error) {
        self.failures.borrow_mut().push_back(Some(error));
    }
}

#[async_trait::async_trait(?Send)]
impl Embedder for Fake {
    fn fingerprint(&self) -> String {
        self.fingerprint.clone()
    }

    fn dims(&self) -> Option<usize> {
        self.dims
    }

    async fn embed(&self, texts: &[String], kind: TextKind) -> Result<Vec<Embedding>> {
        self.calls.borrow_mut().push((texts.to_vec(), kind));
        if self.hold.get() {
            let (sender, receiver) = oneshot::channel();
            self.held.borrow_mut().push_back(sender);
            let _ = receiver.await;
        }
        if let Some(Some(error)) = self.failures.borrow_mut().pop_front() {
            return Err(error);
        }
        let embed = |text: &String| Embedding {
            vector: (self.vector)(text).into(),
            truncated: text.len() > 100,
        };
        Ok(texts.iter().map(embed).collect())
    }
}

pub fn bag_of_words(text: &str) -> Vec<f32> {
    let mut bag = vec![0.0; 64];
    for word in text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
    {
        let hash = word
            .to_lowercase()
            .bytes()
            .fold(7_usize, |hash, byte| hash * 31 % 65_537 + usize::from(byte));
        bag[hash % 64] += 1.0;
    }
    bag
}

/// A store over memory with everything around it in reach.
pub struct Table {
    pub store: Store,
    pub storage: MemoryStorage,
    pub clock: Rc<ManualClock>,
    pub embedder: Rc<Fake>,
}

impl Table {
    /// Embeds the field `text` as a bag of words.
    pub fn new() -> Self {
        Self::with(
            Fake::words(),
            StoreOptions {
                fields: vec!["text".to_owned()],
                ..Default::default()
            },
        )
    }

    pub fn with(embedder: Rc<Fake>, options: StoreOptions) -> Self {
        let (storage, clock) = (MemoryStorage::new(), ManualClock::new());
        let store = open(&storage, Some(embedder.clone()), &clock, options).unwrap();
        Self {
            store,
            storage,
            clock,
            embedder,
        }
    }

    pub fn ask(&self, op: Value) -> Result<OpResult> {
        block_on(self.store.execute(parse(op)?))
    }

    pub fn put(&self, namespace: &[&str], key: &str, value: Value) {
        let op = json!({ "op": "put", "namespace": namespace, "key": key, "value": value });
        assert_eq!(self.ask(op).unwrap(), OpResult::Written);
    }

    pub fn text(&self, namespace: &[&str], key: &str, text: &str) {
        self.put(namespace, key, json!({ "text": text }));
    }

    pub fn get(&self, namespace: &[&str], key: &str) -> Option<Item> {
        let op = json!({ "op": "get", "namespace": namespace, "key": key, "refreshTtl": false });
        item(self.ask(op).unwrap())
    }

    pub fn delete(&self, namespace: &[&str], key: &str) {
        self.ask(json!({ "op": "delete", "namespace": namespace, "key": key }))
            .unwrap();
    }

    /// A search below the root, without refreshing.
    pub fn search(&self, options: Value) -> Page {
        self.try_search(options).unwrap()
    }

    pub fn try_search(&self, options: Value) -> Result<Page> {
        self.ask(search(options)).map(page)
    }

    pub fn batch(&self, ops: Value) -> Result<Vec<OpResult>> {
        block_on(self.store.batch(parse_all(ops)?))
    }

    /// What lies in the storage: for each item its key and how many vectors it has.
    pub fn stored(&self) -> Vec<(String, usize)> {
        let entries = block_on(self.storage.load()).unwrap().entries;
        entries
            .into_iter()
            .map(|entry| (entry.id.key.0, entry.vectors.len()))
            .collect()
    }

    pub fn stats(&self) -> burrow::store::Stats {
        block_on(self.store.stats()).unwrap()
    }
}

pub fn open(
    storage: &MemoryStorage,
    embedder: Option<Rc<Fake>>,
    clock: &Rc<ManualClock>,
    options: StoreOptions,
) -> Result<Store> {
    let embedder = embedder.map(|embedder| embedder as Rc<dyn Embedder>);
    block_on(Store::open(
        Rc::new(storage.connect()),
        embedder,
        clock.clone(),
        options,
    ))
}

/// A table, and a second tab beside it.
pub fn two_tabs() -> (Table, Store) {
    let table = Table::new();
    let other = open(
        &table.storage,
        Some(Fake::words()),
        &table.clock,
        fields(&["text"]),
    )
    .unwrap();
    (table, other)
}

pub fn fields(paths: &[&str]) -> StoreOptions {
    StoreOptions {
        fields: paths.iter().map(|&path| path.to_owned()).collect(),
        ..Default::default()
    }
}

pub fn parse(op: Value) -> Result<Op> {
    Op::parse(&op)
}

pub fn parse_all(ops: Value) -> Result<Vec<Op>> {
    Op::list_from_json(&ops.to_string())
}

/// A search operation with defaults for what is not given.
pub fn search(options: Value) -> Value {
    let mut op = json!({ "op": "search", "prefix": [], "refreshTtl": false });
    let given = options.as_object().unwrap().clone();
    op.as_object_mut().unwrap().extend(given);
    op
}

pub fn item(result: OpResult) -> Option<Item> {
    match result {
        OpResult::Item(item) => item,
        other => panic!("not an item: {other:?}"),
    }
}

pub fn page(result: OpResult) -> Page {
    match result {
        OpResult::Page(page) => page,
        other => panic!("not a page: {other:?}"),
    }
}

pub fn namespaces(result: OpResult) -> Vec<Namespace> {
    match result {
        OpResult::Namespaces(namespaces) => namespaces,
        other => panic!("not a list: {other:?}"),
    }
}

pub fn keys(page: &Page) -> Vec<&str> {
    page.items.iter().map(key).collect()
}

pub fn key(hit: &Hit) -> &str {
    &hit.item.key.0
}

/// Remembers progress, and cancels once so much is done.
#[derive(Default)]
pub struct Watch {
    pub heard: RefCell<Vec<(Phase, usize, usize)>>,
    pub cancel_at: Option<usize>,
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

/// Letters counted, so that anagrams are the same: another model.
pub fn letters() -> Rc<Fake> {
    Fake::new("letters", |text| {
        let mut bag = vec![0.0; 26];
        text.bytes()
            .filter(u8::is_ascii_lowercase)
            .for_each(|letter| bag[usize::from(letter - b'a')] += 1.0);
        bag
    })
}

/// Puts a text below `a`.
pub fn put(key: &str, text: &str) -> Value {
    json!({ "op": "put", "namespace": ["a"], "key": key, "value": { "text": text } })
}

/// Performs one operation.
pub fn ask(store: &Store, op: Value) -> Result<OpResult> {
    block_on(store.execute(parse(op)?))
}

/// The keys of what a query finds with half of the best score or more.
pub fn found(store: &Store, query: &str) -> Vec<String> {
    let page = page(ask(store, search(json!({ "query": query, "minScore": 0.5 }))).unwrap());
    keys(&page).into_iter().map(str::to_owned).collect()
}
