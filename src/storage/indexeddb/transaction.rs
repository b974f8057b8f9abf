//! The one way to run a transaction.
//!
//! `idb` has its own future for a transaction, but that one hangs when the transaction has already committed, reports
//! a full disk as success without its reason, and commits when dropped. So this wrapper listens to `complete` and
//! `abort` itself, from the moment the transaction exists:
//!
//! | what happens                          | what the caller gets            | what is on disk |
//! |---------------------------------------|---------------------------------|-----------------|
//! | the work is done, `complete` fires    | `Ok`                            | everything      |
//! | the work is done, `abort` fires       | the transaction's own reason    | nothing         |
//! | the work fails                        | that failure, once it is undone | nothing         |
//! | the future is dropped amid the work   |                                 | nothing         |
//!
//! It never calls `commit()`: after that, Firefox and WebKit let a request fail without aborting the transaction, and
//! `complete` fires over a write that is missing.
//!
//! The requests of one transaction are answered in the order they were made. [`results`] therefore listens to the
//! last one only, which keeps a batch of thousands free of thousands of callbacks.

use std::cell::Cell;
use std::rc::Rc;

use futures::channel::oneshot;
use js_sys::{Array, Object, Reflect};
use wasm_bindgen::prelude::*;
use web_sys::{IdbDatabase, IdbRequest, IdbRequestReadyState, IdbTransaction};

use super::dom_exception::{coded, exception, from_idb};
use crate::{Error, Result};

/// What `complete` waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The operating system has the data: it survives the browser's crash, not the device's.
    #[default]
    Relaxed,
    /// The disk has the data; two to four times slower.
    Strict,
}

#[wasm_bindgen]
extern "C" {
    /// `IDBDatabase`, for the options that web-sys and idb leave out.
    type Durable;
    #[wasm_bindgen(method, catch)]
    fn transaction(
        this: &Durable,
        stores: &Array,
        mode: &str,
        options: &Object,
    ) -> std::result::Result<IdbTransaction, JsValue>;
}

/// What a transaction may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Read,
    Write(Durability),
}

/// Runs `work` in a transaction over `stores`. `work` must await nothing but this transaction's requests.
pub(super) async fn run<T>(
    database: &IdbDatabase,
    stores: &[&str],
    mode: Mode,
    work: impl AsyncFnOnce(&Transaction) -> Result<T>,
) -> Result<T> {
    let mut transaction = Transaction::begin(database, stores, mode)?;
    match work(&transaction).await {
        Ok(value) => {
            transaction.end().await?;
            Ok(value)
        }
        Err(failure) => {
            let _ = transaction.inner.abort();
            match transaction.end().await {
                // A request fails with AbortError when its transaction does: the transaction knows better why.
                Err(reason) if is_abort(&failure) => Err(reason),
                _ => Err(failure),
            }
        }
    }
}

fn is_abort(error: &Error) -> bool {
    exception(error) == Some("AbortError")
}

/// An open transaction. Dropped before its end, it aborts.
pub(super) struct Transaction {
    inner: IdbTransaction,
    ended: Rc<Cell<bool>>,
    outcome: Option<oneshot::Receiver<Result<()>>>,
    _callbacks: [Closure<dyn FnMut()>; 2],
}

impl Transaction {
    fn begin(database: &IdbDatabase, stores: &[&str], mode: Mode) -> Result<Self> {
        let names: Array = stores.iter().map(|name| JsValue::from_str(name)).collect();
        let (access, durability) = match mode {
            Mode::Read => ("readonly", "default"),
            Mode::Write(Durability::Relaxed) => ("readwrite", "relaxed"),
            Mode::Write(Durability::Strict) => ("readwrite", "strict"),
        };
        let options = Object::new();
        let inner = Reflect::set(&options, &"durability".into(), &durability.into())
            .and_then(|_| {
                database
                    .unchecked_ref::<Durable>()
                    .transaction(&names, access, &options)
            })
            .map_err(|thrown| coded(&thrown))?;
        Ok(Self::listen(inner))
    }

    fn listen(inner: IdbTransaction) -> Self {
        let (sender, outcome) = oneshot::channel();
        let sender = Rc::new(Cell::new(Some(sender)));
        let ended = Rc::new(Cell::new(false));
        let on_complete = {
            let (sender, ended) = (sender.clone(), ended.clone());
            Closure::new(move || {
                ended.set(true);
                sender.take().map(|sender| sender.send(Ok(())));
            })
        };
        let on_abort = {
            let (transaction, ended) = (inner.clone(), ended.clone());
            Closure::new(move || {
                ended.set(true);
                sender.take().map(|sender| sender.send(Err(reason(&transaction))));
            })
        };
        inner.set_oncomplete(Some(on_complete.as_ref().unchecked_ref()));
        inner.set_onabort(Some(on_abort.as_ref().unchecked_ref()));
        Self {
            inner,
            ended,
            outcome: Some(outcome),
            _callbacks: [on_complete, on_abort],
        }
    }

    async fn end(&mut self) -> Result<()> {
        match self.outcome.take() {
            Some(outcome) => outcome
                .await
                .unwrap_or_else(|_| Err(Error::internal("a transaction vanished"))),
            None => Err(Error::internal("a transaction ended twice")),
        }
    }

    /// One of the stores that the transaction was opened over.
    pub(super) fn store(&self, name: &str) -> Result<Store> {
        let store = self.inner.object_store(name).map_err(|thrown| coded(&thrown))?;
        Ok(store.into())
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if !self.ended.get() {
            let _ = self.inner.abort();
        }
        self.inner.set_oncomplete(None);
        self.inner.set_onabort(None);
    }
}

/// Why a transaction aborted. Chromium leaves the reason out when the connection is torn down.
fn reason(transaction: &IdbTransaction) -> Error {
    match transaction.error() {
        Some(exception) => coded(&exception),
        None => {
            Error::storage_unavailable("the browser cut a transaction off").with("exception", "AbortError")
        }
    }
}

/// An object store. Reads give a request to be awaited by [`results`]; the failure of a write ends the transaction,
/// which is where it shows.
pub(super) struct Store(idb::ObjectStore);

impl From<web_sys::IdbObjectStore> for Store {
    fn from(store: web_sys::IdbObjectStore) -> Self {
        Self(store.into())
    }
}

impl Store {
    pub(super) fn get(&self, key: &JsValue) -> Result<IdbRequest> {
        self.0.get(key.clone()).map(Into::into).map_err(from_idb)
    }

    pub(super) fn get_all(&self, range: Option<idb::KeyRange>, limit: Option<u32>) -> Result<IdbRequest> {
        self.0
            .get_all(range.map(Into::into), limit)
            .map(Into::into)
            .map_err(from_idb)
    }

    pub(super) fn get_all_keys(
        &self,
        range: Option<idb::KeyRange>,
        limit: Option<u32>,
    ) -> Result<IdbRequest> {
        self.0
            .get_all_keys(range.map(Into::into), limit)
            .map(Into::into)
            .map_err(from_idb)
    }

    pub(super) fn put(&self, key: &JsValue, value: &JsValue) -> Result<()> {
        self.0.put(value, Some(key)).map(drop).map_err(from_idb)
    }

    pub(super) fn delete(&self, key: &JsValue) -> Result<()> {
        self.0.delete(key.clone()).map(drop).map_err(from_idb)
    }

    pub(super) fn delete_range(&self, range: idb::KeyRange) -> Result<()> {
        self.0.delete(range).map(drop).map_err(from_idb)
    }
}

/// All keys above `lower`, exclusive.
pub(super) fn above(lower: &JsValue) -> Result<idb::KeyRange> {
    idb::KeyRange::lower_bound(lower, Some(true)).map_err(from_idb)
}

/// All keys up to `upper`, inclusive.
pub(super) fn up_to(upper: &JsValue) -> Result<idb::KeyRange> {
    idb::KeyRange::upper_bound(upper, Some(false)).map_err(from_idb)
}

/// All keys from `lower` to `upper`, both inclusive.
pub(super) fn between(lower: &JsValue, upper: &JsValue) -> Result<idb::KeyRange> {
    idb::KeyRange::bound(lower, upper, Some(false), Some(false)).map_err(from_idb)
}

/// All keys from `lower` to below `upper`; `after` leaves out `lower` itself.
pub(super) fn from_to_below(lower: &JsValue, after: bool, upper: &JsValue) -> Result<idb::KeyRange> {
    idb::KeyRange::bound(lower, upper, Some(after), Some(true)).map_err(from_idb)
}

/// The results of requests of one transaction, given in the order in which they were made; some may be answered already.
pub(super) async fn results(requests: &[IdbRequest]) -> Result<Vec<JsValue>> {
    let Some(last) = requests.last() else {
        return Ok(Vec::new());
    };
    answered(last).await?;
    let result = |request: &IdbRequest| request.result().map_err(|thrown| coded(&thrown));
    requests.iter().map(result).collect()
}

/// The result of one request.
pub(super) async fn result(request: IdbRequest) -> Result<JsValue> {
    answered(&request).await?;
    request.result().map_err(|thrown| coded(&thrown))
}

async fn answered(request: &IdbRequest) -> Result<()> {
    if request.ready_state() == IdbRequestReadyState::Done {
        return answer(request);
    }
    let (sender, receiver) = oneshot::channel();
    let sender = Cell::new(Some(sender));
    let tell = {
        let request = request.clone();
        Closure::new(move || {
            sender.take().map(|sender| sender.send(answer(&request)));
        })
    };
    let _listening = Listening::new(request, tell);
    receiver
        .await
        .unwrap_or_else(|_| Err(Error::internal("a request vanished")))
}

fn answer(request: &IdbRequest) -> Result<()> {
    match request.error() {
        Ok(None) => Ok(()),
        Ok(Some(exception)) => Err(coded(&exception)),
        Err(thrown) => Err(coded(&thrown)),
    }
}

/// A callback on a request, detached before it is freed.
struct Listening<'a> {
    request: &'a IdbRequest,
    _callback: Closure<dyn FnMut()>,
}

impl<'a> Listening<'a> {
    fn new(request: &'a IdbRequest, callback: Closure<dyn FnMut()>) -> Self {
        request.set_onsuccess(Some(callback.as_ref().unchecked_ref()));
        request.set_onerror(Some(callback.as_ref().unchecked_ref()));
        Self {
            request,
            _callback: callback,
        }
    }
}

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        self.request.set_onsuccess(None);
        self.request.set_onerror(None);
    }
}
