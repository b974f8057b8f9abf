//! A connection that stays usable.
//!
//! | what happens                                  | what we do              | the next call                         |
//! |-----------------------------------------------|-------------------------|---------------------------------------|
//! | another tab wants to upgrade (`versionchange`) | close, let it           | reopens: works, or `schema_too_new`   |
//! | another tab deletes the database               | close, let it           | `closed`, for good                    |
//! | the browser clears the site's data             | refuse to create it     | `closed`, for good                    |
//! | the browser drops the connection               | reopen, repeat once     | the same                              |
//! | `close()`                                      | finish what is under way | `closed`                              |
//!
//! A deleted database is not silently made anew: the caller's memory of it would be of another one.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures::channel::oneshot;
use wasm_bindgen::prelude::*;
use web_sys::{IdbDatabase, IdbVersionChangeEvent};

use super::opening::Absent;
use super::transaction::{Mode, Transaction, run};
use super::version::Schema;
use super::{dom_exception, opening};
use crate::{Error, Result};

/// See the module.
pub(super) struct Connection {
    name: String,
    schema: &'static Schema,
    handle: RefCell<Option<Rc<Handle>>>,
    deleted: Rc<Cell<bool>>,
    closed: Cell<bool>,
    calls: Calls,
}

impl Connection {
    /// Opens, creating or upgrading as needed.
    pub(super) async fn open(name: &str, schema: &'static Schema) -> Result<Self> {
        let connection = Self {
            name: name.to_owned(),
            schema,
            handle: RefCell::default(),
            deleted: Rc::default(),
            closed: Cell::new(false),
            calls: Calls::default(),
        };
        connection.connect(Absent::Create).await?;
        Ok(connection)
    }

    /// Runs `work` in one transaction, once more on a new connection if this one was lost.
    pub(super) async fn transaction<T>(
        &self,
        stores: &[&str],
        mode: Mode,
        work: impl AsyncFn(&Transaction) -> Result<T>,
    ) -> Result<T> {
        if self.closed.get() {
            return Err(Error::closed("the store was closed"));
        }
        let _call = self.calls.enter();
        let handle = self.handle().await?;
        match run(&handle.database, stores, mode, &work).await {
            Err(error) if dom_exception::lost(&error) => {
                self.let_go(&handle);
                run(&self.handle().await?.database, stores, mode, &work).await
            }
            other => other,
        }
    }

    /// Waits for the calls under way, then closes. Twice is no error.
    pub(super) async fn close(&self) {
        self.closed.set(true);
        self.calls.all_done().await;
        self.handle.take();
    }

    async fn handle(&self) -> Result<Rc<Handle>> {
        if let Some(handle) = self.usable() {
            return Ok(handle);
        }
        if self.deleted.get() {
            return Err(Error::closed("the database was deleted; open the store again"));
        }
        let again = self.connect(Absent::Refuse).await;
        if matches!(again, Err(Error::Closed(_))) {
            self.deleted.set(true);
        }
        again
    }

    async fn connect(&self, absent: Absent) -> Result<Rc<Handle>> {
        let database = opening::open(&self.name, self.schema, absent).await?;
        let handle = Rc::new(Handle::new(database, self.deleted.clone()));
        // A call beside this one may have been faster; then its connection serves both.
        let mut current = self.handle.borrow_mut();
        match current.as_ref().filter(|current| current.alive.get()) {
            Some(faster) => Ok(faster.clone()),
            None => Ok(current.insert(handle).clone()),
        }
    }

    fn usable(&self) -> Option<Rc<Handle>> {
        self.handle
            .borrow()
            .as_ref()
            .filter(|handle| handle.alive.get())
            .cloned()
    }

    fn let_go(&self, lost: &Rc<Handle>) {
        lost.alive.set(false);
        let mut current = self.handle.borrow_mut();
        if current.as_ref().is_some_and(|current| Rc::ptr_eq(current, lost)) {
            *current = None;
        }
    }
}

/// One IndexedDB connection, closed when dropped.
struct Handle {
    database: IdbDatabase,
    alive: Rc<Cell<bool>>,
    _on_close: Closure<dyn FnMut()>,
    _on_version_change: Closure<dyn FnMut(IdbVersionChangeEvent)>,
}

impl Handle {
    fn new(database: IdbDatabase, deleted: Rc<Cell<bool>>) -> Self {
        let alive = Rc::new(Cell::new(true));
        let on_close = {
            let alive = alive.clone();
            Closure::new(move || alive.set(false))
        };
        let on_version_change = {
            let (alive, database) = (alive.clone(), database.clone());
            Closure::new(move |event: IdbVersionChangeEvent| {
                alive.set(false);
                if event.new_version().is_none() {
                    deleted.set(true);
                }
                database.close();
            })
        };
        database.set_onclose(Some(on_close.as_ref().unchecked_ref()));
        database.set_onversionchange(Some(on_version_change.as_ref().unchecked_ref()));
        Self {
            database,
            alive,
            _on_close: on_close,
            _on_version_change: on_version_change,
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.database.set_onclose(None);
        self.database.set_onversionchange(None);
        self.database.close();
    }
}

/// Counts calls under way.
#[derive(Default)]
struct Calls {
    running: Cell<usize>,
    waiting: RefCell<Vec<oneshot::Sender<()>>>,
}

impl Calls {
    fn enter(&self) -> Call<'_> {
        self.running.set(self.running.get() + 1);
        Call(self)
    }

    async fn all_done(&self) {
        if self.running.get() > 0 {
            let (sender, receiver) = oneshot::channel();
            self.waiting.borrow_mut().push(sender);
            let _ = receiver.await;
        }
    }
}

struct Call<'a>(&'a Calls);

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let left = self.0.running.get() - 1;
        self.0.running.set(left);
        if left == 0 {
            self.0.waiting.take().into_iter().for_each(|waiting| {
                let _ = waiting.send(());
            });
        }
    }
}
