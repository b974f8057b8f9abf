//! What a store holds, in numbers.

use serde::Serialize;

use super::Store;
use crate::Result;

/// A store in numbers. Expired items count only in `expired`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// Items that a reader can find.
    pub items: usize,
    /// Expired items that have not been swept.
    pub expired: usize,
    /// Items that wait for an embedder.
    pub pending: usize,
    /// Vectors of live items.
    pub vectors: usize,
    /// The room that all vectors take in memory.
    pub vector_bytes: usize,
    /// The length of a vector, as far as it is known.
    pub dims: Option<usize>,
    /// What the database remembers of its index.
    pub fingerprint: Option<String>,
    /// How often the index was replaced.
    pub epoch: u64,
    /// How many transactions have changed something.
    pub sequence: u64,
    /// Reads since the open that answered without moving the expiry of their items, because the storage failed.
    pub failed_refreshes: u64,
}

impl Store {
    /// The store in numbers, other tabs' writes included.
    pub async fn stats(&self) -> Result<Stats> {
        self.gate.check()?;
        self.sync().await?;
        let now = self.clock.now();
        let replica = self.replica.borrow();
        let directory = &replica.directory;
        let (mut items, mut expired, mut pending, mut vectors) = (0, 0, 0, 0);
        for (_, known) in directory.iter() {
            if known.alive_at(now) {
                items += 1;
                pending += usize::from(known.pending);
                vectors += known.vectors();
            } else {
                expired += 1;
            }
        }
        let own = self
            .indexing
            .borrow()
            .current
            .as_ref()
            .and_then(|indexer| indexer.dims());
        let dims = directory.dims().or(own);
        Ok(Stats {
            items,
            expired,
            pending,
            vectors,
            vector_bytes: directory.vectors() * dims.unwrap_or(0) * size_of::<f32>(),
            dims,
            fingerprint: replica.index.fingerprint.clone(),
            epoch: replica.index.epoch.number,
            sequence: replica.sequence,
            failed_refreshes: self.failed_refreshes.get(),
        })
    }
}
