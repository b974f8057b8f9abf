//! The door of a store: calls come in until it is closed. Closing waits for the writes that are inside, and for nothing
//! else: an embedder may never answer, so whoever still prepares is sent away ([`Gate::unless_closed`]).

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Poll, Waker};

use futures::channel::oneshot;
use futures::future::{Either, FutureExt, Shared, select};

use crate::{Error, Result};

/// Counts writes under way and refuses calls after [`Gate::close`].
#[derive(Debug, Default, Clone)]
pub(super) struct Gate(Rc<State>);

#[derive(Debug)]
struct State {
    /// Dropped to close, which whoever waits for `closed` hears.
    open: RefCell<Option<oneshot::Sender<()>>>,
    closed: Shared<oneshot::Receiver<()>>,
    writing: Cell<usize>,
    closers: RefCell<Vec<Waker>>,
}

impl Default for State {
    fn default() -> Self {
        let (open, closed) = oneshot::channel();
        Self {
            open: RefCell::new(Some(open)),
            closed: closed.shared(),
            writing: Cell::new(0),
            closers: RefCell::default(),
        }
    }
}

/// A write that is under way.
#[derive(Debug)]
pub(super) struct Writing(Rc<State>);

impl Gate {
    /// Fails when the store was closed.
    pub(super) fn check(&self) -> Result<()> {
        if self.0.open.borrow().is_some() {
            return Ok(());
        }
        Err(refused())
    }

    /// Does what leaves nothing behind when it is dropped, or drops it when the store is closed.
    pub(super) async fn unless_closed<T>(&self, work: impl Future<Output = T>) -> Result<T> {
        self.check()?;
        match select(pin!(work), self.0.closed.clone()).await {
            Either::Left((done, _)) => Ok(done),
            Either::Right(_) => Err(refused()),
        }
    }

    /// Comes in to write; closing waits until the answer is dropped.
    pub(super) fn enter(&self) -> Result<Writing> {
        self.check()?;
        self.0.writing.set(self.0.writing.get() + 1);
        Ok(Writing(Rc::clone(&self.0)))
    }

    /// Refuses new calls from now on and waits for the writes under way.
    pub(super) async fn close(&self) {
        self.0.open.take();
        poll_fn(|context| {
            if self.0.writing.get() == 0 {
                return Poll::Ready(());
            }
            self.0.closers.borrow_mut().push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

fn refused() -> Error {
    Error::closed("The store was closed; open it again to use it.")
}

impl Drop for Writing {
    fn drop(&mut self) {
        let left = self.0.writing.get().saturating_sub(1);
        self.0.writing.set(left);
        if left == 0 {
            let closers = self.0.closers.take();
            closers.into_iter().for_each(Waker::wake);
        }
    }
}
