//! What a batch has written but not committed, laid over the directory so that the batch reads its own writes.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::directory::Directory;
use crate::index::vector::flat::dot;
use crate::model::{ItemId, Millis, Namespace, OpResult};
use crate::storage::{Entry, Put, Record, Revision, Write};

/// The commit will number the batch's own puts. Nothing asks before: a read at the instant of the put finds the expiry
/// as it would set it, and so refreshes nothing.
const UNCOMMITTED: Revision = 0;

/// A batch under way, at one instant.
#[derive(Debug)]
pub(super) struct Overlay {
    /// The instant of every read and write of the batch.
    pub(super) now: Millis,
    items: BTreeMap<Rc<ItemId>, Option<Record>>,
    /// Where reads of the batch have moved the expiry of committed items, and from where.
    refreshed: BTreeMap<ItemId, Refreshed>,
    writes: Vec<Write>,
}

impl Overlay {
    pub(super) fn new(now: Millis) -> Self {
        Self {
            now,
            items: BTreeMap::new(),
            refreshed: BTreeMap::new(),
            writes: Vec::new(),
        }
    }

    /// Stores an item over its predecessor in the batch or in the directory, by the same rule as a backend.
    pub(super) fn put(&mut self, put: Put, directory: &Directory) {
        let committed;
        let predecessor = match self.items.get(&put.id) {
            Some(own) => own.as_ref().map(|record| &record.entry),
            None => {
                committed = directory.get(&put.id).map(|known| known.times_of(&put.id));
                committed.as_ref()
            }
        };
        self.writes.push(Write::Put(put.clone()));
        self.refreshed.remove(&put.id);
        let record = put.onto(predecessor, UNCOMMITTED);
        self.items.insert(Rc::new(record.entry.id.clone()), Some(record));
    }

    /// Removes an item.
    pub(super) fn delete(&mut self, id: &ItemId) {
        self.writes.push(Write::Delete(id.clone()));
        self.refreshed.remove(id);
        self.items.insert(Rc::new(id.clone()), None);
    }

    /// Moves the expiry of an item that a read returns.
    pub(super) fn refresh(&mut self, entry: &Entry, expires_at: Millis) {
        let (id, revision, now) = (entry.id.clone(), entry.revision, self.now);
        let (from, to) = (entry.expires_at, expires_at);
        self.refreshed.insert(id.clone(), Refreshed { from, to });
        self.writes.push(Write::Refresh {
            id,
            revision,
            now,
            expires_at,
        });
    }

    /// When an item expires, as a read of the batch sees it.
    pub(super) fn expiry(&self, entry: &Entry) -> Option<Millis> {
        let refreshed = self.refreshed.get(&entry.id);
        refreshed.map(|refreshed| refreshed.to).or(entry.expires_at)
    }

    /// What the batch made of an item: `Some(None)` is gone, `None` untouched.
    pub(super) fn get(&self, id: &ItemId) -> Option<Option<&Record>> {
        self.items.get(id).map(Option::as_ref)
    }

    /// The items that the batch stored at or below a namespace.
    pub(super) fn below<'a>(
        &'a self,
        prefix: &'a Namespace,
    ) -> impl Iterator<Item = (&'a Rc<ItemId>, &'a Entry)> {
        let range = self
            .items
            .range(ItemId::first_at(prefix)..)
            .take_while(|(id, _)| id.namespace.starts_with(prefix));
        range.filter_map(|(id, record)| Some((id, &record.as_ref()?.entry)))
    }

    /// All writes, in order.
    pub(super) fn take_writes(&mut self) -> Vec<Write> {
        std::mem::take(&mut self.writes)
    }

    /// Shows items with the expiry that they have when nothing came of the refreshing.
    pub(super) fn take_back_refreshes(&self, results: &mut [OpResult]) {
        let items = results.iter_mut().flat_map(|result| match result {
            OpResult::Item(Some(item)) => vec![item],
            OpResult::Page(page) => page.items.iter_mut().map(|hit| &mut hit.item).collect(),
            _ => Vec::new(),
        });
        for item in items {
            let (namespace, key) = (item.namespace.clone(), item.key.clone());
            if let Some(refreshed) = self.refreshed.get(&ItemId { namespace, key }) {
                item.expires_at = refreshed.from;
            }
        }
    }
}

/// A move of an expiry.
#[derive(Debug)]
struct Refreshed {
    from: Option<Millis>,
    to: Millis,
}

/// The best cosine of an entry's vectors.
pub(super) fn similarity(entry: &Entry, query: &[f32]) -> Option<f32> {
    entry
        .vectors
        .iter()
        .map(|vector| dot(query, &vector.vector))
        .reduce(f32::max)
}
