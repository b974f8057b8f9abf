//! What a commit makes of the items that it touches: the part of a transaction that needs no database.

use std::collections::HashMap;
use std::rc::Rc;

use super::codec::{Stored, checksum};
use crate::model::{ItemId, Millis};
use crate::storage::{Change, Entry, Put, Write};

/// The item that a write is about.
pub(super) fn target(write: &Write) -> &ItemId {
    match write {
        Write::Put(put) => &put.id,
        Write::Delete(id) | Write::Refresh { id, .. } | Write::Sweep { id, .. } => id,
    }
}

/// The items that `writes` touch, each once, in the order of their first write.
pub(super) fn targets(writes: &[Write]) -> Vec<ItemId> {
    let mut seen = std::collections::HashSet::new();
    writes.iter().map(target).filter(|id| seen.insert(*id)).cloned().collect()
}

/// What one item becomes.
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

struct State {
    existed: bool,
    changed: bool,
    entry: Option<Stored>,
    document: Option<Rc<str>>,
}

/// Applies `writes`, in order, to the items' present entries (in the order of `ids`), and gives those that changed.
pub(super) fn apply(ids: Vec<ItemId>, present: Vec<Option<Stored>>, writes: &[Write]) -> Vec<Outcome> {
    let start = |entry: Option<Stored>| State {
        existed: entry.is_some(),
        changed: false,
        entry,
        document: None,
    };
    let mut states: HashMap<ItemId, State> = ids.iter().cloned().zip(present.into_iter().map(start)).collect();
    for write in writes {
        if let Some(state) = states.get_mut(target(write)) {
            state.apply(write);
        }
    }
    let outcome = |id: ItemId| {
        let state = states.remove(&id)?;
        let changed = state.changed && (state.existed || state.entry.is_some());
        changed.then_some(Outcome { id, entry: state.entry, document: state.document })
    };
    ids.into_iter().filter_map(outcome).collect()
}

impl State {
    fn apply(&mut self, write: &Write) {
        match write {
            Write::Put(put) => self.put(put),
            Write::Delete(_) => self.remove(|_| true),
            Write::Sweep { now, .. } => self.remove(|entry| !is_alive(entry, *now)),
            Write::Refresh { now, expires_at, .. } => self.refresh(*now, *expires_at),
        }
    }

    fn put(&mut self, put: &Put) {
        let before = self.entry.take().map(|stored| stored.entry);
        let before = before.filter(|entry| is_alive(entry, put.now));
        let entry = Entry {
            id: put.id.clone(),
            created_at: before.as_ref().map_or(put.now, |entry| entry.created_at),
            updated_at: before.map_or(put.now, |entry| put.now.max(entry.updated_at + 1)),
            ttl: put.ttl,
            expires_at: put.expires_at,
            index: put.index.clone(),
            pending: put.pending,
            vectors: put.vectors.clone(),
        };
        self.entry = Some(Stored { entry, document: checksum(put.value.as_bytes()) });
        self.document = Some(put.value.clone());
        self.changed = true;
    }

    fn remove(&mut self, when: impl Fn(&Entry) -> bool) {
        if self.entry.take_if(|stored| when(&stored.entry)).is_some() {
            self.document = None;
            self.changed = true;
        }
    }

    fn refresh(&mut self, now: Millis, expires_at: Millis) {
        let Some(stored) = &mut self.entry else { return };
        if is_alive(&stored.entry, now) && stored.entry.expires_at != Some(expires_at) {
            stored.entry.expires_at = Some(expires_at);
            self.changed = true;
        }
    }
}

fn is_alive(entry: &Entry, now: Millis) -> bool {
    entry.expires_at.is_none_or(|expiry| now < expiry)
}
