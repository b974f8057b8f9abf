//! A storage so simple that its answers are plain to see: a list of records, and the state after every commit.

use super::*;

/// See the module. `history[n]` is what the items were at sequence `n`.
#[derive(Default)]
pub(super) struct Naive {
    pub(super) records: Vec<Record>,
    pub(super) history: Vec<Vec<Record>>,
}

impl Naive {
    pub(super) fn new() -> Self {
        Self {
            records: Vec::new(),
            history: vec![Vec::new()],
        }
    }

    pub(super) fn sequence(&self) -> Sequence {
        self.history.len() as Sequence - 1
    }

    pub(super) fn find(&self, id: &ItemId) -> Option<&Record> {
        self.records.iter().find(|record| &record.entry.id == id)
    }

    /// A put counts as a change even where it writes what was there.
    pub(super) fn commit(&mut self, writes: &[Write]) {
        let mut changed = false;
        for write in writes {
            changed |= self.apply(write);
        }
        if changed {
            self.history.push(self.records.clone());
        }
    }

    fn apply(&mut self, write: &Write) -> bool {
        match write {
            Write::Put(put) => self.put(put),
            Write::Delete(id) => self.remove(|entry| &entry.id == id),
            Write::Sweep { id, now } => {
                self.remove(|entry| &entry.id == id && entry.expires_at.is_some_and(|expiry| expiry <= *now))
            }
            Write::Refresh {
                id,
                revision,
                now,
                expires_at,
            } => {
                let mut changed = false;
                for entry in self.records.iter_mut().map(|record| &mut record.entry) {
                    let alive = entry.expires_at.is_none_or(|expiry| *now < expiry);
                    let meant = &entry.id == id && entry.revision == *revision && alive;
                    if meant && entry.expires_at != Some(*expires_at) {
                        entry.expires_at = Some(*expires_at);
                        changed = true;
                    }
                }
                changed
            }
        }
    }

    fn put(&mut self, put: &Put) -> bool {
        let alive = |record: &&Record| match record.entry.expires_at {
            Some(expiry) => put.now < expiry,
            None => true,
        };
        let (created_at, updated_at) = match self.find(&put.id).filter(alive) {
            Some(old) if put.now > old.entry.updated_at => (old.entry.created_at, put.now),
            Some(old) => (old.entry.created_at, old.entry.updated_at + 1),
            None => (put.now, put.now),
        };
        self.remove(|entry| entry.id == put.id);
        let entry = Entry {
            id: put.id.clone(),
            created_at,
            updated_at,
            revision: self.history.len() as Sequence,
            ttl: put.ttl,
            expires_at: put.expires_at,
            index: put.index.clone(),
            pending: put.pending,
            vectors: put.vectors.clone(),
        };
        self.records.push(Record {
            entry,
            value: put.value.clone(),
        });
        true
    }

    fn remove(&mut self, which: impl Fn(&Entry) -> bool) -> bool {
        let before = self.records.len();
        self.records.retain(|record| !which(&record.entry));
        self.records.len() < before
    }

    pub(super) fn entries(&self) -> Vec<Entry> {
        let mut entries: Vec<Entry> = self.records.iter().map(|record| record.entry.clone()).collect();
        entries.sort_by_key(|entry| utf16_parts(&entry.id));
        entries
    }
}

/// An id as lists of UTF-16 code units, which order as the contract says: label by label, then the key.
fn utf16_parts(id: &ItemId) -> (Vec<Vec<u16>>, Vec<u16>) {
    let units = |text: &String| text.encode_utf16().collect();
    (id.namespace.0.iter().map(units).collect(), units(&id.key.0))
}
