//! Making vectors for many items at once: the first index of a database, what was written without an embedder, and a
//! change of model or fields.
//!
//! The old index stays in place and in use while new vectors are made; then one transaction replaces fingerprint and
//! vectors together. Items that were written meanwhile are embedded and offered again, so that the new index never
//! holds the vectors of a former document. Cancelled or failed, nothing has changed.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::batch::document;
use super::gate::Gate;
use super::indexer::Indexer;
use super::options::{Observer, Phase, ReindexOptions};
use super::{Indexing, Store};
use crate::model::{ItemId, Millis};
use crate::storage::{Entry, Record, Reindexed, Replaced, Storage};
use crate::{Error, Result};

/// How many items are embedded between two looks at progress and cancellation.
const CHUNK: usize = 16;

/// A new index in the making.
pub(super) struct Rebuild<'a> {
    pub(super) storage: &'a dyn Storage,
    /// Where the items were read; one made anew in its place has other puts under the same revisions.
    pub(super) database: u64,
    /// `None` drops the index.
    pub(super) target: Option<&'a Indexer>,
    pub(super) phase: Phase,
    pub(super) observer: Option<&'a dyn Observer>,
    /// Closing the store ends the work.
    pub(super) gate: Option<&'a Gate>,
    /// Items that have expired by then are not embedded.
    pub(super) now: Millis,
}

impl Rebuild<'_> {
    /// Embeds `todo` and replaces the index by that and what is `kept`.
    pub(super) async fn run(&self, kept: &[Entry], mut todo: Vec<ItemId>) -> Result<()> {
        let mut ready: BTreeMap<ItemId, Reindexed> = kept.iter().map(keep).collect();
        let (mut done, mut total) = (0, todo.len());
        self.report(done, total);
        loop {
            for ids in todo.chunks(CHUNK) {
                self.check()?;
                ids.iter().for_each(|id| drop(ready.remove(id)));
                let items = self.embed(ids).await?;
                ready.extend(items.into_iter().map(|item| (item.id.clone(), item)));
                done += ids.len();
                self.report(done, total);
            }
            self.check()?;
            let _writing = self.gate.map(Gate::enter).transpose()?;
            let fingerprint = self.target.map(|indexer| indexer.fingerprint().to_owned());
            match self
                .storage
                .replace_index(self.database, fingerprint, ready.values().cloned().collect())
                .await?
            {
                Replaced::Done(_) => return Ok(()),
                Replaced::Stale(ids) => todo = ids,
            }
            total += todo.len();
        }
    }

    fn report(&self, done: usize, total: usize) {
        if let Some(observer) = self.observer {
            observer.progress(self.phase, done, total);
        }
    }

    fn check(&self) -> Result<()> {
        if self.observer.is_some_and(Observer::cancelled) {
            return Err(Error::aborted(
                "Indexing was cancelled; the former index is still in place.",
            ));
        }
        self.gate.map_or(Ok(()), Gate::check)
    }

    /// The embedder may never answer.
    async fn unless_closed<T>(&self, work: impl Future<Output = T>) -> Result<T> {
        match self.gate {
            Some(gate) => gate.unless_closed(work).await,
            None => Ok(work.await),
        }
    }

    /// New vectors for some items, in one embedder call. Items that are gone are left out.
    async fn embed(&self, ids: &[ItemId]) -> Result<Vec<Reindexed>> {
        let records = self.storage.read(ids).await?.into_iter().flatten();
        let mut items = Vec::new();
        let mut fresh = Vec::new();
        for record in records {
            let texts = self.texts(&record)?;
            let hashes: Vec<_> = texts.iter().map(|text| text.hash).collect();
            fresh.extend(texts);
            items.push((record.entry, hashes));
        }
        let embedded = match self.target {
            Some(indexer) => self.unless_closed(indexer.embed_documents(fresh)).await??,
            None => Default::default(),
        };
        let item = |(entry, hashes): (Entry, Vec<_>)| Reindexed {
            id: entry.id,
            revision: entry.revision,
            vectors: hashes
                .iter()
                .filter_map(|hash| embedded.get(hash).cloned())
                .collect(),
        };
        Ok(items.into_iter().map(item).collect())
    }

    fn texts(&self, record: &Record) -> Result<Vec<super::indexer::HashedText>> {
        match self.target {
            Some(indexer) if record.entry.alive_at(self.now) => {
                indexer.texts(&document(record)?, &record.entry.index)
            }
            _ => Ok(Vec::new()),
        }
    }
}

fn keep(entry: &Entry) -> (ItemId, Reindexed) {
    let (id, revision, vectors) = (entry.id.clone(), entry.revision, entry.vectors.clone());
    (
        id.clone(),
        Reindexed {
            id,
            revision,
            vectors,
        },
    )
}

impl Store {
    /// Embeds everything anew, by another embedder or with other fields, while the store goes on working. Fails with
    /// `conflict` when a reindex is under way already.
    pub async fn reindex(&self, options: ReindexOptions) -> Result<()> {
        self.gate.check()?;
        let indexer = Indexer::of(options.embedder, &options.fields, options.dims)?;
        let announced = self.announce(indexer.clone())?;
        self.sync().await?;
        let (database, todo) = {
            let replica = self.replica.borrow();
            let ids = replica.directory.iter().map(|(id, _)| ItemId::clone(id));
            (replica.index.epoch.database, ids.collect())
        };
        let rebuild = Rebuild {
            storage: &*self.storage,
            database,
            target: indexer.as_deref(),
            phase: Phase::Reindex,
            observer: options.observer.as_deref(),
            gate: Some(&self.gate),
            now: self.clock.now(),
        };
        match rebuild.run(&[], todo).await {
            // Another tab has made this very index meanwhile, and the store works by it already.
            Err(_) if announced.is_taken_up() => return Ok(()),
            outcome => outcome?,
        }
        announced.take_up();
        // The new index is in place, so its embedder is the store's from now on, even where reading it back fails: the
        // next call reads again.
        let _ = self.sync().await;
        Ok(())
    }

    /// Lets the store take up the indexer at the moment when the database turns out to be indexed by it.
    fn announce(&self, indexer: Option<Rc<Indexer>>) -> Result<Announced<'_>> {
        let mut indexing = self.indexing.borrow_mut();
        if indexing.next.is_some() {
            return Err(Error::conflict("A reindex is under way already."));
        }
        indexing.next = Some(indexer.clone());
        Ok(Announced { store: self, indexer })
    }
}

/// An indexer that is to become the store's; dropped, it is announced no longer.
struct Announced<'a> {
    store: &'a Store,
    indexer: Option<Rc<Indexer>>,
}

impl Announced<'_> {
    /// Whether the store has found the database indexed by it.
    fn is_taken_up(&self) -> bool {
        !self.store.indexing.borrow().awaits(self.indexer.as_ref())
    }

    /// The database is indexed by it.
    fn take_up(&self) {
        let mut indexing = self.store.indexing.borrow_mut();
        if indexing.awaits(self.indexer.as_ref()) {
            indexing.next = None;
            indexing.current.clone_from(&self.indexer);
        }
    }
}

impl Drop for Announced<'_> {
    fn drop(&mut self) {
        let mut indexing = self.store.indexing.borrow_mut();
        // It may be taken up already, and another one announced.
        if indexing.awaits(self.indexer.as_ref()) {
            indexing.next = None;
        }
    }
}

impl Indexing {
    /// Whether this very indexer is announced.
    fn awaits(&self, indexer: Option<&Rc<Indexer>>) -> bool {
        match (&self.next, indexer) {
            (Some(Some(next)), Some(indexer)) => Rc::ptr_eq(next, indexer),
            (Some(None), None) => true,
            _ => false,
        }
    }
}
