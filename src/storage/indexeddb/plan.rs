//! What a commit makes of the items that it touches: the part of a transaction that needs no database.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::codec::{Stored, checksum};
use crate::model::ItemId;
use crate::storage::{Change, Put, Revision, Write};

/// The item that a write is about.
fn target(write: &Write) -> &ItemId {
    match write {
        Write::Put(put) => &put.id,
        Write::Delete(id) | Write::Refresh { id, .. } | Write::Sweep { id, .. } => id,
    }
}

/// The items that `writes` are about, each once, in order.
pub(super) fn targets(writes: &[Write]) -> Vec<ItemId> {
    let ids: BTreeSet<&ItemId> = writes.iter().map(target).collect();
    ids.into_iter().cloned().collect()
}

/// What one changed item has become.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Outcome {
    pub(super) id: ItemId,
    /// `None`: it is gone.
    pub(super) entry: Option<Stored>,
    /// Its new document; `None` leaves the stored one as it is.
    pub(super) document: Option<Rc<str>>,
}

impl Outcome {
    pub(super) fn change(&self) -> Change {
        match &self.entry {
            Some(stored) => Change::Stored(stored.entry.clone()),
            None => Change::Removed(self.id.clone()),
        }
    }
}

/// An item on its way through the writes of a commit.
struct State {
    changed: bool,
    entry: Option<Stored>,
    document: Option<Rc<str>>,
}

/// Applies `writes`, in order, to the present entries of their [`targets`], as the commit of that number, and gives the
/// items that changed.
pub(super) fn apply(
    targets: &[ItemId],
    present: Vec<Option<Stored>>,
    writes: &[Write],
    revision: Revision,
) -> Vec<Outcome> {
    let start = |entry| State {
        changed: false,
        entry,
        document: None,
    };
    let mut states: BTreeMap<&ItemId, State> = targets.iter().zip(present.into_iter().map(start)).collect();
    for write in writes {
        if let Some(state) = states.get_mut(target(write)) {
            state.changed |= state.apply(write, revision);
        }
    }
    let changed = states.into_iter().filter(|(_, state)| state.changed);
    changed
        .map(|(id, state)| Outcome {
            id: id.clone(),
            entry: state.entry,
            document: state.document,
        })
        .collect()
}

impl State {
    /// Applies one write and tells whether it changed anything.
    fn apply(&mut self, write: &Write, revision: Revision) -> bool {
        match write {
            Write::Put(put) => self.put(put, revision),
            Write::Delete(_) => self.remove(),
            Write::Sweep { now, .. } => {
                let expired = self
                    .entry
                    .as_ref()
                    .is_some_and(|stored| !stored.entry.alive_at(*now));
                expired && self.remove()
            }
            Write::Refresh {
                revision,
                now,
                expires_at,
                ..
            } => {
                let Some(Stored { entry, .. }) = &mut self.entry else {
                    return false;
                };
                let refreshable = entry.alive_at(*now) && entry.revision == *revision;
                refreshable && entry.expires_at.replace(*expires_at) != Some(*expires_at)
            }
        }
    }

    fn put(&mut self, put: &Put, revision: Revision) -> bool {
        let predecessor = self.entry.as_ref().map(|stored| &stored.entry);
        let record = put.clone().onto(predecessor, revision);
        self.entry = Some(Stored {
            entry: record.entry,
            document: checksum(record.value.as_bytes()),
        });
        self.document = Some(record.value);
        true
    }

    fn remove(&mut self) -> bool {
        self.document = None;
        self.entry.take().is_some()
    }
}
