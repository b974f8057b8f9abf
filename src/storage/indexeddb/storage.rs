//! [`Storage`] over IndexedDB.

use std::cell::RefCell;
use std::collections::HashMap;

use async_trait::async_trait;

use super::codec::Stored;
use super::connection::Connection;
use super::plan::{self, Outcome};
use super::records::{
    below, document_text, each_batch, item_key, put_entry, put_outcome, read_entries, read_state, sift,
    write_state,
};
use super::transaction::{Durability, Mode, Transaction, results};
use super::version::{CHANGES, DOCUMENTS, ENTRIES, META, STORE};
use super::{log, opening};
use crate::model::{ItemId, Namespace};
use crate::storage::{
    Change, Changes, Epoch, IndexState, Record, Reindexed, Replaced, Sequence, Sifted, Snapshot, Storage,
    Wanted, Write, vectors_of,
};
use crate::{Error, Result};

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
        Ok(Self {
            connection,
            durability,
        })
    }

    /// Deletes the database of this name with all that is in it. Stores open on it, in any tab, are closed by that.
    pub async fn destroy(name: &str) -> Result<()> {
        check_name(name)?;
        opening::delete(name).await
    }

    async fn write<T>(&self, stores: &[&str], work: impl AsyncFn(&Transaction) -> Result<T>) -> Result<T> {
        self.connection
            .transaction(stores, Mode::Write(self.durability), work)
            .await
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
            let mut index = state.index();
            each_batch(&transaction.store(ENTRIES)?, |stored| {
                settle_unknown(&mut index, &stored);
                entries.push(stored.entry);
                Ok(())
            })
            .await?;
            Ok(Snapshot {
                sequence: state.sequence,
                index,
                entries,
            })
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
            entries.into_iter().zip(documents).map(record).collect()
        })
        .await
    }

    async fn sift(&self, prefix: &Namespace, after: Option<&ItemId>, wanted: &Wanted<'_>) -> Result<Sifted> {
        self.look(&[DOCUMENTS], async |transaction| {
            sift(&transaction.store(DOCUMENTS)?, || below(prefix, after), wanted).await
        })
        .await
    }

    async fn commit(&self, epoch: Epoch, writes: Vec<Write>) -> Result<Changes> {
        let ids = plan::targets(&writes);
        self.write(&[META, ENTRIES, DOCUMENTS, CHANGES], async |transaction| {
            let meta = transaction.store(META)?;
            let entries = transaction.store(ENTRIES)?;
            let mut state = read_state(&meta).await?;
            state.expect_epoch(epoch)?;
            let mut index = state.index();
            if index.dims.is_none() && vectors_of(&writes).next().is_some() {
                each_batch(&entries, |stored| {
                    settle_unknown(&mut index, &stored);
                    Ok(())
                })
                .await?;
            }
            index.settle_dims(vectors_of(&writes))?;
            state.settle(index);
            let present = read_entries(&entries, &ids).await?;
            let outcomes = plan::apply(&ids, present, &writes, state.sequence + 1);
            if !outcomes.is_empty() {
                state.sequence += 1;
                let documents = transaction.store(DOCUMENTS)?;
                outcomes
                    .iter()
                    .try_for_each(|outcome| put_outcome(&entries, &documents, outcome))?;
                let ids = outcomes.iter().map(|outcome| &outcome.id);
                log::write(&transaction.store(CHANGES)?, state.sequence, ids)?;
                write_state(&meta, &state)?;
            }
            Ok(state.since(outcomes.iter().map(Outcome::change).collect()))
        })
        .await
    }

    async fn replace_index(
        &self,
        database: u64,
        fingerprint: Option<String>,
        items: Vec<Reindexed>,
    ) -> Result<Replaced> {
        let mut fresh = IndexState::default();
        fresh.settle_dims(items.iter().flat_map(|item| &item.vectors))?;
        let items: HashMap<&ItemId, &Reindexed> = items.iter().map(|item| (&item.id, item)).collect();
        let stale = RefCell::new(Vec::new());
        let replaced = self.write(&[META, ENTRIES, CHANGES], async |transaction| {
            stale.take();
            let meta = transaction.store(META)?;
            let mut state = read_state(&meta).await?;
            state.expect_database(database)?;
            let entries = transaction.store(ENTRIES)?;
            each_batch(&entries, |stored| match reindexed(stored, &items) {
                Ok(stored) => put_entry(&entries, &stored),
                Err(id) => {
                    stale.borrow_mut().push(id);
                    Ok(())
                }
            })
            .await?;
            if !stale.borrow().is_empty() {
                return Err(Error::conflict("items were written during a reindex"));
            }
            state.replace_index(fingerprint.clone(), fresh.dims);
            log::write_reload(&transaction.store(CHANGES)?, state.sequence)?;
            write_state(&meta, &state)?;
            Ok(Replaced::Done(state.index()))
        });
        let replaced = replaced.await;
        match stale.take() {
            stale if stale.is_empty() => replaced,
            // The failure above has undone what was written before the first stale item showed up.
            stale => Ok(Replaced::Stale(stale)),
        }
    }

    async fn close(&self) -> Result<()> {
        self.connection.close().await;
        Ok(())
    }
}

/// Schema 100 did not write down how long vectors are; their first one tells.
fn settle_unknown(index: &mut IndexState, stored: &Stored) {
    if index.dims.is_none() {
        index.dims = stored.entry.vectors.first().map(|vector| vector.vector.len());
    }
}

/// The entry with its new vectors; its id when these were not made from the put that is stored.
fn reindexed(
    mut stored: Stored,
    items: &HashMap<&ItemId, &Reindexed>,
) -> std::result::Result<Stored, ItemId> {
    match items.get(&stored.entry.id) {
        Some(item) if item.revision == stored.entry.revision => {
            stored.entry.vectors = item.vectors.clone();
            stored.entry.pending = false;
            Ok(stored)
        }
        _ => Err(stored.entry.id),
    }
}

/// Joins an entry and its document, which must be of the same put.
fn record((entry, document): (Option<Stored>, wasm_bindgen::JsValue)) -> Result<Option<Record>> {
    let Some(stored) = entry else { return Ok(None) };
    let value = document_text(&document, &stored)?;
    Ok(Some(Record {
        entry: stored.entry,
        value,
    }))
}
