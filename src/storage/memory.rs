//! Items in memory: for tests, for private windows, and wherever nothing has to outlive the process.
//!
//! A [`MemoryStorage`] is a connection; [`MemoryStorage::connect`] opens another one to the same data, as a second
//! tab would, and closing one leaves the others working. Each call runs without an await in it, so it is a
//! transaction by construction: what could fail is checked before the first change.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;

use super::{
    Change, Changes, Entry, Epoch, IndexState, Record, Reindexed, Replaced, Sequence, Sifted, Snapshot,
    Storage, Wanted, Write, vectors_of,
};
use crate::model::{ItemId, Namespace};
use crate::{Error, Result};

/// How many changed ids are remembered for readers that lag behind; one that lags further reloads.
const LOG_CAPACITY: usize = 4096;
/// How many documents are sifted in one go.
const SIFTED: usize = 1000;
/// The number of the next database. They live no longer than the process, so counting tells them apart.
static DATABASES: AtomicU64 = AtomicU64::new(1);

/// A connection to items in memory.
#[derive(Debug)]
pub struct MemoryStorage {
    data: Rc<RefCell<Data>>,
    closed: Cell<bool>,
}

#[derive(Debug, Default)]
struct Data {
    records: BTreeMap<ItemId, Record>,
    index: IndexState,
    sequence: Sequence,
    log: VecDeque<(Sequence, ItemId)>,
    /// The log is complete after this sequence: readers that know less must reload.
    log_starts_after: Sequence,
}

impl MemoryStorage {
    /// Empty storage.
    pub fn new() -> Self {
        let mut data = Data::default();
        data.index.epoch.database = DATABASES.fetch_add(1, Ordering::Relaxed);
        Self {
            data: Rc::new(RefCell::new(data)),
            closed: Cell::new(false),
        }
    }

    /// Another connection to the same items.
    pub fn connect(&self) -> Self {
        Self {
            data: Rc::clone(&self.data),
            closed: Cell::new(false),
        }
    }

    fn check_open(&self) -> Result<()> {
        if self.closed.get() {
            return Err(Error::closed("the storage was closed"));
        }
        Ok(())
    }
}

impl Default for MemoryStorage {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait(?Send)]
impl Storage for MemoryStorage {
    async fn load(&self) -> Result<Snapshot> {
        self.check_open()?;
        let data = self.data.borrow();
        Ok(Snapshot {
            sequence: data.sequence,
            index: data.index.clone(),
            entries: data.records.values().map(|record| record.entry.clone()).collect(),
        })
    }

    async fn changes(&self, sequence: Sequence) -> Result<Changes> {
        self.check_open()?;
        Ok(self.data.borrow().changes_since(sequence))
    }

    async fn read(&self, ids: &[ItemId]) -> Result<Vec<Option<Record>>> {
        self.check_open()?;
        let data = self.data.borrow();
        Ok(ids.iter().map(|id| data.records.get(id).cloned()).collect())
    }

    async fn sift(&self, prefix: &Namespace, after: Option<&ItemId>, wanted: &Wanted<'_>) -> Result<Sifted> {
        self.check_open()?;
        let data = self.data.borrow();
        let start = after.map_or_else(
            || Bound::Included(ItemId::first_at(prefix)),
            |id| Bound::Excluded(id.clone()),
        );
        let mut below = data
            .records
            .range((start, Bound::Unbounded))
            .take_while(|(id, _)| id.namespace.starts_with(prefix));
        let (mut found, mut last) = (Vec::new(), None);
        for (id, record) in below.by_ref().take(SIFTED) {
            if wanted(&record.value)? {
                found.push(id.clone());
            }
            last = Some(id);
        }
        let last = last.filter(|_| below.next().is_some()).cloned();
        Ok(Sifted { found, last })
    }

    async fn commit(&self, epoch: Epoch, writes: Vec<Write>) -> Result<Changes> {
        self.check_open()?;
        let mut data = self.data.borrow_mut();
        if data.index.epoch != epoch {
            return Err(Error::model_mismatch("the index was replaced meanwhile"));
        }
        let mut index = data.index.clone();
        index.settle_dims(vectors_of(&writes))?;
        data.index = index;
        let mut touched = BTreeSet::new();
        for write in writes {
            touched.extend(data.apply(write));
        }
        data.note(&touched);
        Ok(Changes::Since {
            sequence: data.sequence,
            epoch,
            changes: touched.into_iter().map(|id| data.latest(id)).collect(),
        })
    }

    async fn replace_index(
        &self,
        database: u64,
        fingerprint: Option<String>,
        items: Vec<Reindexed>,
    ) -> Result<Replaced> {
        self.check_open()?;
        let mut data = self.data.borrow_mut();
        if data.index.epoch.database != database {
            return Err(Error::model_mismatch("the database was made anew meanwhile"));
        }
        let mut fresh: BTreeMap<ItemId, Reindexed> =
            items.into_iter().map(|item| (item.id.clone(), item)).collect();
        let stale = data.not_covered_by(&fresh);
        if !stale.is_empty() {
            return Ok(Replaced::Stale(stale));
        }
        let mut index = IndexState {
            epoch: Epoch {
                number: data.index.epoch.number + 1,
                ..data.index.epoch
            },
            fingerprint,
            dims: None,
        };
        index.settle_dims(fresh.values().flat_map(|item| &item.vectors))?;
        for (id, record) in &mut data.records {
            record.entry.pending = false;
            record.entry.vectors = fresh.remove(id).map(|item| item.vectors).unwrap_or_default();
        }
        data.index = index;
        data.sequence += 1;
        data.log.clear();
        data.log_starts_after = data.sequence;
        Ok(Replaced::Done(data.index.clone()))
    }

    async fn close(&self) -> Result<()> {
        self.closed.set(true);
        Ok(())
    }
}

impl Data {
    /// Applies one write and tells which item it changed.
    fn apply(&mut self, write: Write) -> Option<ItemId> {
        match write {
            Write::Put(put) => {
                let id = put.id.clone();
                let record = put.onto(self.entry(&id), self.sequence + 1);
                self.records.insert(id.clone(), record);
                Some(id)
            }
            Write::Delete(id) => self.records.remove(&id).map(|_| id),
            Write::Refresh {
                id,
                revision,
                now,
                expires_at,
            } => {
                let entry = &mut self.records.get_mut(&id)?.entry;
                let refreshable = entry.alive_at(now) && entry.revision == revision;
                if !refreshable || entry.expires_at == Some(expires_at) {
                    return None;
                }
                entry.expires_at = Some(expires_at);
                Some(id)
            }
            Write::Sweep { id, now } => {
                if self.entry(&id)?.alive_at(now) {
                    return None;
                }
                self.records.remove(&id).map(|_| id)
            }
        }
    }

    fn entry(&self, id: &ItemId) -> Option<&Entry> {
        self.records.get(id).map(|record| &record.entry)
    }

    fn latest(&self, id: ItemId) -> Change {
        match self.entry(&id) {
            Some(entry) => Change::Stored(entry.clone()),
            None => Change::Removed(id),
        }
    }

    /// Counts a commit that touched these items.
    fn note(&mut self, touched: &BTreeSet<ItemId>) {
        if touched.is_empty() {
            return;
        }
        self.sequence += 1;
        self.log
            .extend(touched.iter().map(|id| (self.sequence, id.clone())));
        while self.log.len() > LOG_CAPACITY {
            if let Some((sequence, _)) = self.log.pop_front() {
                self.log_starts_after = sequence;
            }
        }
    }

    fn changes_since(&self, sequence: Sequence) -> Changes {
        if sequence < self.log_starts_after || sequence > self.sequence {
            return Changes::Reload;
        }
        let newer = self.log.iter().rev().take_while(|(at, _)| *at > sequence);
        let ids: BTreeSet<ItemId> = newer.map(|(_, id)| id.clone()).collect();
        Changes::Since {
            sequence: self.sequence,
            epoch: self.index.epoch,
            changes: ids.into_iter().map(|id| self.latest(id)).collect(),
        }
    }

    /// Items whose stored put is not the one that was embedded.
    fn not_covered_by(&self, fresh: &BTreeMap<ItemId, Reindexed>) -> Vec<ItemId> {
        let covered = |record: &Record| {
            fresh
                .get(&record.entry.id)
                .is_some_and(|item| item.revision == record.entry.revision)
        };
        let stale = self.records.iter().filter(|(_, record)| !covered(record));
        stale.map(|(id, _)| id.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::contract::Backend;

    #[async_trait(?Send)]
    impl Backend for MemoryStorage {
        async fn open(&self) -> Result<Rc<dyn Storage>> {
            Ok(Rc::new(self.connect()))
        }
    }

    crate::storage_contract!(contract, async { MemoryStorage::new() });
}
