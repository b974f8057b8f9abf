//! Requests to open and to delete a database.
//!
//! Either can wait for ever behind another tab, so both give up: some time after `blocked`, and after a silence that
//! no healthy browser needs. The browser keeps such a request queued. When it succeeds after all, the connection that
//! nobody waits for any more is closed at once, lest it block the next one.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures::channel::oneshot;
use idb::Factory;
use wasm_bindgen::prelude::*;
use web_sys::{IdbDatabase, IdbOpenDbRequest, IdbVersionChangeEvent};

use super::dom_exception::{coded, exception, from_idb};
use super::version::{Schema, Version};
use crate::{Error, Result};

/// How long `blocked` may last: a connection that is closing finishes its transactions first.
const BLOCKED_MS: i32 = 2_000;
/// How long a request may stay without any event. An upgrade that has begun takes the time it takes.
const SILENT_MS: i32 = 20_000;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = setTimeout)]
    fn set_timeout(callback: &js_sys::Function, ms: i32) -> JsValue;
    #[wasm_bindgen(js_name = clearTimeout)]
    fn clear_timeout(timer: &JsValue);
}

/// What to do where there is no database of the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Absent {
    Create,
    /// It was there before, so that somebody has deleted it.
    Refuse,
}

/// Opens a database at this code's schema, or at a newer one that this code can work with.
pub(super) async fn open(name: &str, schema: &'static Schema, absent: Absent) -> Result<IdbDatabase> {
    let upgrade = Upgrade { schema, absent };
    let database = match open_at(name, upgrade, Some(schema.version())).await {
        // A later step of our generation, perhaps: open at whatever version it has and look.
        Err(error) if exception(&error) == Some("VersionError") => open_at(name, upgrade, None).await?,
        other => other?,
    };
    schema.check(&database).inspect_err(|_| database.close())?;
    Ok(database)
}

/// Deletes a database; nothing when there is none.
pub(super) async fn delete(name: &str) -> Result<()> {
    let request = Factory::new()
        .and_then(|factory| factory.delete(name))
        .map_err(from_idb)?;
    Waiting::start(request.into(), None).finish().await.map(drop)
}

async fn open_at(name: &str, upgrade: Upgrade, version: Option<Version>) -> Result<IdbDatabase> {
    let request = Factory::new()
        .and_then(|factory| factory.open(name, version))
        .map_err(from_idb)?;
    let result = Waiting::start(request.into(), Some(upgrade)).finish().await?;
    Ok(result.unchecked_into())
}

/// How a database comes to the present schema.
#[derive(Clone, Copy)]
struct Upgrade {
    schema: &'static Schema,
    absent: Absent,
}

impl Upgrade {
    fn run(self, request: &IdbOpenDbRequest, from: Version, to: Option<Version>) -> Result<()> {
        let (Some(database), Some(transaction)) = (database_of(request), request.transaction()) else {
            return Err(Error::internal("an upgrade without a transaction"));
        };
        if from == 0 && self.absent == Absent::Refuse {
            let message = "the database was deleted, here or by the browser; open the store again";
            return Err(Error::closed(message));
        }
        // Opened at "whatever it has", and it was deleted meanwhile.
        if to != Some(self.schema.version()) {
            return Err(Error::storage_blocked(
                "another tab deleted the database; try again",
            ));
        }
        self.schema.upgrade(&database.into(), &transaction, from)
    }
}

type Callback = Closure<dyn FnMut(IdbVersionChangeEvent)>;

/// A request under way, with everything that listens to it.
struct Waiting {
    request: IdbOpenDbRequest,
    answer: oneshot::Receiver<Result<JsValue>>,
    teller: Rc<Teller>,
    _callbacks: [Callback; 4],
}

/// Tells the answer, once.
struct Teller {
    sender: Cell<Option<oneshot::Sender<Result<JsValue>>>>,
    /// Why an upgrade was undone.
    failure: RefCell<Option<Error>>,
    timer: RefCell<Option<Timer>>,
}

impl Teller {
    fn tell(&self, answer: Result<JsValue>) -> bool {
        self.timer.take();
        self.sender
            .take()
            .is_some_and(|sender| sender.send(answer).is_ok())
    }

    fn give_up_after(self: &Rc<Self>, ms: i32) {
        let teller = Rc::downgrade(self);
        let timer = Timer::new(ms, move || {
            let Some(teller) = teller.upgrade() else { return };
            // The timer is this very callback: it must outlive the call.
            if let Some(sender) = teller.sender.take() {
                let message = "another tab holds the database open; close it, or reload it";
                let _ = sender.send(Err(Error::storage_blocked(message)));
            }
        });
        *self.timer.borrow_mut() = Some(timer);
    }
}

impl Waiting {
    fn start(request: IdbOpenDbRequest, upgrade: Option<Upgrade>) -> Self {
        let (sender, answer) = oneshot::channel();
        let teller = Rc::new(Teller {
            sender: Cell::new(Some(sender)),
            failure: RefCell::default(),
            timer: RefCell::default(),
        });
        teller.give_up_after(SILENT_MS);
        let callbacks = [
            on_success(&request, &teller),
            on_error(&request, &teller),
            on_blocked(&teller),
            on_upgrade_needed(&request, &teller, upgrade),
        ];
        let [success, error, blocked, upgrade] = &callbacks;
        request.set_onsuccess(Some(success.as_ref().unchecked_ref()));
        request.set_onerror(Some(error.as_ref().unchecked_ref()));
        request.set_onblocked(Some(blocked.as_ref().unchecked_ref()));
        request.set_onupgradeneeded(Some(upgrade.as_ref().unchecked_ref()));
        Self {
            request,
            answer,
            teller,
            _callbacks: callbacks,
        }
    }

    async fn finish(mut self) -> Result<JsValue> {
        let vanished = || Err(Error::internal("a request vanished"));
        (&mut self.answer).await.unwrap_or_else(|_| vanished())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let unanswered = self.request.ready_state() != web_sys::IdbRequestReadyState::Done;
        self.teller.timer.take();
        self.request.set_onblocked(None);
        self.request.set_onerror(None);
        self.request.set_onupgradeneeded(None);
        self.request.set_onsuccess(None);
        if unanswered {
            abandon(&self.request);
        }
    }
}

/// Closes what opens after nobody waits for it, and upgrades nothing.
fn abandon(request: &IdbOpenDbRequest) {
    let opened = request.clone();
    let close = Closure::once_into_js(move || {
        if let Some(database) = database_of(&opened) {
            database.close();
        }
    });
    request.set_onsuccess(Some(close.unchecked_ref()));
    let upgrading = request.clone();
    let undo = Closure::once_into_js(move || {
        if let Some(transaction) = upgrading.transaction() {
            let _ = transaction.abort();
        }
    });
    request.set_onupgradeneeded(Some(undo.unchecked_ref()));
}

fn database_of(request: &IdbOpenDbRequest) -> Option<IdbDatabase> {
    request.result().ok()?.dyn_into().ok()
}

fn on_success(request: &IdbOpenDbRequest, teller: &Rc<Teller>) -> Callback {
    let (request, teller) = (request.clone(), teller.clone());
    Closure::new(move |_| {
        let heard = teller.tell(request.result().map_err(|thrown| coded(&thrown)));
        if !heard && let Some(database) = database_of(&request) {
            database.close();
        }
    })
}

fn on_error(request: &IdbOpenDbRequest, teller: &Rc<Teller>) -> Callback {
    let (request, teller) = (request.clone(), teller.clone());
    Closure::new(move |_| {
        let told = match request.error() {
            Ok(Some(exception)) => coded(&exception),
            _ => coded(&JsValue::NULL),
        };
        teller.tell(Err(teller.failure.take().unwrap_or(told)));
    })
}

fn on_blocked(teller: &Rc<Teller>) -> Callback {
    let teller = teller.clone();
    Closure::new(move |_| teller.give_up_after(BLOCKED_MS))
}

fn on_upgrade_needed(request: &IdbOpenDbRequest, teller: &Rc<Teller>, upgrade: Option<Upgrade>) -> Callback {
    let (request, teller) = (request.clone(), teller.clone());
    Closure::new(move |event: IdbVersionChangeEvent| {
        teller.timer.take();
        let to = event.new_version().map(|version| version as Version);
        let outcome = match upgrade {
            Some(upgrade) => upgrade.run(&request, event.old_version() as Version, to),
            None => Err(Error::internal("a deletion asked for an upgrade")),
        };
        if let Err(error) = outcome {
            *teller.failure.borrow_mut() = Some(error);
            if let Some(transaction) = request.transaction() {
                let _ = transaction.abort();
            }
        }
    })
}

/// A callback after some time, unless it is dropped before.
struct Timer {
    id: JsValue,
    _callback: Closure<dyn FnMut()>,
}

impl Timer {
    fn new(ms: i32, callback: impl FnMut() + 'static) -> Self {
        let callback = Closure::new(callback);
        let id = set_timeout(callback.as_ref().unchecked_ref(), ms);
        Self {
            id,
            _callback: callback,
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        clear_timeout(&self.id);
    }
}
