//! The door of a store: calls come in until it is closed, and closing waits for the writes that are inside.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

use crate::{Error, Result};

/// Counts writes under way and refuses calls after [`Gate::close`].
#[derive(Debug, Default, Clone)]
pub(super) struct Gate(Rc<State>);

#[derive(Debug, Default)]
struct State {
    closed: Cell<bool>,
    writing: Cell<usize>,
    closers: RefCell<Vec<Waker>>,
}

/// A write that is under way.
#[derive(Debug)]
pub(super) struct Writing(Rc<State>);

impl Gate {
    /// Fails when the store was closed.
    pub(super) fn check(&self) -> Result<()> {
        if self.0.closed.get() {
            return Err(Error::closed("The store was closed; open it again to use it."));
        }
        Ok(())
    }

    /// Comes in to write; closing waits until the answer is dropped.
    pub(super) fn enter(&self) -> Result<Writing> {
        self.check()?;
        self.0.writing.set(self.0.writing.get() + 1);
        Ok(Writing(Rc::clone(&self.0)))
    }

    /// Refuses new calls from now on and waits for the writes under way.
    pub(super) async fn close(&self) {
        self.0.closed.set(true);
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
