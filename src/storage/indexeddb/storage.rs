//! [`Storage`] over IndexedDB.

use async_trait::async_trait;
use js_sys::{Array, ArrayBuffer, Uint8Array};
use serde::{Deserialize, Serialize};
use wasm_bindgen::{JsCast, JsValue};

use super::codec::{self, Stored, checksum};
use super::connection::Connection;
use super::plan::{self, Outcome};
use super::schema::{CHANGES, DOCUMENTS, ENTRIES, META, STORE};
use super::transaction::{Durability, Mode, Store, Transaction, above, result, results};
use super::{log, opening};
use crate::model::{ItemId, Key, Namespace};
use crate::storage::{
    Change, Changes, Entry, IndexState, Record, Reindexed, Replaced, Sequence, Snapshot, Storage, Write,
};
use crate::{Error, Result};

/// Entries read at once: some ten milliseconds of the page's thread, and a bounded message between processes.
const BATCH: u32 = 1000;
/// The key of the one record of `meta`.
const STATE: &str = "state";

/// A store's database in this browser.
pub struct IndexedDb {
    connection: Connection,
    durability: Durability,
}

impl IndexedDb {
    /// Opens the database of this name, creating or upgrading it.
    pub async fn open(name: &str, durability: Durability) -> Result<Self> {
        check_name(name)?;
        let connection = Connection::open(name, &STORE).await?;
        Ok(Self { connection, durability })
    }

    /// Deletes the database of this name with all that is in it. Stores open on it, in any tab, are closed by that.
    pub async fn destroy(name: &str) -> Result<()> {
        check_name(name)?;
        opening::delete(name).await
    }

    async fn write<T>(&self, stores: &[&str], work: impl AsyncFn(&Transaction) -> Result<T>) -> Result<T> {
        self.connection.transaction(stores, Mode::Write(self.durability), work).await
    }

    async fn look<T>(&self, stores: &[&str], work: impl AsyncFn(&Transaction) -> Result<T>) -> Result<T> {
        self.connection.transaction(stores, Mode::Read, work).await
    }
}

fn check_name(name: &str) -> Result<()> {
    if name.is_empty() || name == super::model_cache::DATABASE {
        let message = format!("{name:?} cannot be the name of a store");
        return Err(Error::invalid_argument(message).with("name", name));
    }
    Ok(())
}

#[async_trait(?Send)]
impl Storage for IndexedDb {
    async fn load(&self) -> Result<Snapshot> {
        self.look(&[META, ENTRIES], async |transaction| {
            let state = read_state(&transaction.store(META)?).await?;
            let mut entries = Vec::new();
            each_batch(&transaction.store(ENTRIES)?, |batch| {
                entries.extend(batch.into_iter().map(|stored| stored.entry));
                Ok(())
            })
            .await?;
            Ok(Snapshot { sequence: state.sequence, index: state.index(), entries })
        })
        .await
    }

    async fn changes(&self, sequence: Sequence) -> Result<Changes> {
        self.look(&[META, CHANGES, ENTRIES], async |transaction| {
            let state = read_state(&transaction.store(META)?).await?;
            if state.sequence == sequence {
                return Ok(state.since(Vec::new()));
            }
            if state.sequence < sequence {
                return Ok(Changes::Reload);
            }
            let log = transaction.store(CHANGES)?;
            let Some(ids) = log::read(&log, sequence, state.sequence).await? else {
                return Ok(Changes::Reload);
            };
            let present = read_entries(&transaction.store(ENTRIES)?, &ids).await?;
            let change = |(id, stored): (ItemId, Option<Stored>)| match stored {
                Some(stored) => Change::Stored(stored.entry),
                None => Change::Removed(id),
            };
            Ok(state.since(ids.into_iter().zip(present).map(change).collect()))
        })
        .await
    }

    async fn read(&self, ids: &[ItemId]) -> Result<Vec<Option<Record>>> {
        self.look(&[ENTRIES, DOCUMENTS], async |transaction| {
            let documents = transaction.store(DOCUMENTS)?;
            let get = |id: &ItemId| documents.get(&item_key(id));
            let requests = ids.iter().map(get).collect::<Result<Vec<_>>>()?;
            let entries = read_entries(&transaction.store(ENTRIES)?, ids).await?;
            let documents = results(&requests).await?;
            entries.into_iter().zip(documents).map(|(entry, document)| record(entry, &document)).collect()
        })
        .await
    }

    async fn commit(&self, epoch: u64, writes: Vec<Write>) -> Result<Changes> {
        let ids = plan::targets(&writes);
        self.write(&[META, ENTRIES, DOCUMENTS, CHANGES], async |transaction| {
            let meta = transaction.store(META)?;
            let entries = transaction.store(ENTRIES)?;
            let mut state = read_state(&meta).await?;
            state.expect_epoch(epoch)?;
            let present = read_entries(&entries, &ids).await?;
            let outcomes = plan::apply(ids.clone(), present, &writes);
            if !outcomes.is_empty() {
                state.sequence += 1;
                let documents = transaction.store(DOCUMENTS)?;
                outcomes.iter().try_for_each(|outcome| write_outcome(&entries, &documents, outcome))?;
                let ids = outcomes.iter().map(|outcome| &outcome.id);
                log::write(&transaction.store(CHANGES)?, state.sequence, ids)?;
                write_state(&meta, &state)?;
            }
            Ok(state.since(outcomes.iter().map(Outcome::change).collect()))
        })
        .await
    }

    async fn replace_index(&self, fingerprint: Option<String>, items: Vec<Reindexed>) -> Result<Replaced> {
        let by_id: std::collections::HashMap<&ItemId, &Reindexed> = items.iter().map(|item| (&item.id, item)).collect();
        self.write(&[META, ENTRIES, CHANGES], async |transaction| {
            let meta = transaction.store(META)?;
            let entries = transaction.store(ENTRIES)?;
            let mut stale = Vec::new();
            each_batch(&entries, |batch| {
                for stored in batch {
                    match reindexed(stored, &by_id) {
                        Ok(Some(stored)) => put_entry(&entries, &stored)?,
                        Ok(None) => {}
                        Err(id) => stale.push(id),
                    }
                }
                Ok(())
            })
            .await?;
            if !stale.is_empty() {
                return Err(stale_items(&stale));
            }
            let mut state = read_state(&meta).await?;
            state.sequence += 1;
            state.epoch += 1;
            state.fingerprint = fingerprint.clone();
            log::write_reload(&transaction.store(CHANGES)?, state.sequence)?;
            write_state(&meta, &state)?;
            Ok(Replaced::Done(state.index()))
        })
        .await
    }

    async fn close(&self) -> Result<()> {
        self.connection.close().await;
        Ok(())
    }
}
