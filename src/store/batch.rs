//! Operations, one or many: preparation, execution in order, one commit.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use super::Store;
use super::indexer::{HashedText, Indexer, mismatch};
use super::overlay::Overlay;
use super::pending::Ticket;
use super::ttl::expiry;
use crate::model::{Document, GetOp, IndexFields, Item, Op, OpResult, PutOp};
use crate::storage::{Put, Record, TextVector};
use crate::{Error, Result};

/// How often a call prepares again because the index was replaced under it.
const MOST_ATTEMPTS: usize = 4;

/// What an application asked for in one call.
struct Call {
    ops: Vec<Op>,
    /// Whether errors name the position of the operation at fault.
    numbered: bool,
}

/// A call's place among the writers.
struct Admission {
    ticket: Ticket,
    writes: bool,
}

/// What was embedded for a call.
struct Prepared {
    /// The index that the vectors belong to; `None` when the call has nothing to do with the index.
    fingerprint: Option<Option<String>>,
    /// The length of the vectors that were embedded.
    dims: Option<usize>,
    /// Whether the store can embed at all.
    indexed: bool,
    /// For each put, its vectors.
    puts: HashMap<usize, Vec<TextVector>>,
    queries: HashMap<String, Rc<[f32]>>,
}

impl Store {
    /// Performs one operation. Its place among the writers of its key is taken at once, not when the answer is
    /// first awaited.
    pub fn execute(&self, op: Op) -> impl Future<Output = Result<OpResult>> + '_ {
        let results = self.perform(Call {
            ops: vec![op],
            numbered: false,
        });
        async {
            results
                .await?
                .pop()
                .ok_or_else(|| Error::internal("an operation gave no answer"))
        }
    }

    /// Performs operations in order, all or none. Each read sees the writes before it; the answers line up with the
    /// operations; the detail `position` of an error is that of the operation at fault.
    pub fn batch(&self, ops: Vec<Op>) -> impl Future<Output = Result<Vec<OpResult>>> + '_ {
        self.perform(Call { ops, numbered: true })
    }

    fn perform(&self, call: Call) -> impl Future<Output = Result<Vec<OpResult>>> + '_ {
        let admission = self.admit(&call);
        async move {
            let admission = admission?;
            let mut attempt = 1;
            loop {
                match self.attempt(&call, &admission).await {
                    Err(Error::ModelMismatch(_)) if attempt < MOST_ATTEMPTS => self.sync().await?,
                    outcome => return outcome,
                }
                attempt += 1;
            }
        }
    }

    fn admit(&self, call: &Call) -> Result<Admission> {
        self.gate.check()?;
        let keys: BTreeSet<_> = call.ops.iter().filter_map(written).cloned().collect();
        Ok(Admission {
            writes: !keys.is_empty(),
            ticket: self.pending.draw(keys),
        })
    }

    async fn attempt(&self, call: &Call, admission: &Admission) -> Result<Vec<OpResult>> {
        let preparing = async {
            let prepared = self.prepare(call).await?;
            admission.ticket.turn().await;
            Ok(prepared)
        };
        let prepared = self.gate.unless_closed(preparing).await??;
        let writing = admission.writes.then(|| self.gate.enter()).transpose()?;
        if call.needs_replica() {
            self.sync().await?;
        }
        self.check_index(&prepared)?;
        let mut overlay = Overlay::new(self.clock.now());
        let mut results = Vec::with_capacity(call.ops.len());
        for (position, op) in call.ops.iter().enumerate() {
            let result = self.answer(position, op, &prepared, &mut overlay).await;
            results.push(result.map_err(|error| call.at(position, error))?);
        }
        let writes = overlay.take_writes();
        if writes.is_empty() {
            return Ok(results);
        }
        self.check_index(&prepared)?;
        if writing.is_some() {
            self.commit(writes).await?;
        } else {
            self.refresh(writes, &overlay, &mut results).await?;
        }
        Ok(results)
    }

    /// Fails when the index is no longer the one that the vectors were made for.
    fn check_index(&self, prepared: &Prepared) -> Result<()> {
        let replica = self.replica.borrow();
        let current = &replica.index.fingerprint;
        match &prepared.fingerprint {
            Some(fingerprint) if fingerprint != current => Err(mismatch(
                current.as_deref(),
                fingerprint.as_deref().unwrap_or_default(),
            )),
            _ => replica.expect_dims(prepared.dims),
        }
    }

    /// Finds and embeds all texts and queries of a call.
    async fn prepare(&self, call: &Call) -> Result<Prepared> {
        let mut prepared = Prepared {
            fingerprint: None,
            dims: None,
            indexed: false,
            puts: HashMap::new(),
            queries: HashMap::new(),
        };
        let Some(first) = call.ops.iter().position(needs_index) else {
            return Ok(prepared);
        };
        let indexer = self.indexer().map_err(|error| call.at(first, error))?;
        prepared.fingerprint = Some(self.replica.borrow().index.fingerprint.clone());
        let Some(indexer) = indexer else {
            return Ok(prepared);
        };
        prepared.indexed = true;
        let kept = self.texts(call, &indexer)?;
        let fresh = kept
            .iter()
            .flat_map(|(_, texts)| texts)
            .filter_map(Kept::fresh)
            .cloned()
            .collect();
        let failed_at_first = |error| call.at(first, error);
        let embedded = indexer.embed_documents(fresh).await.map_err(failed_at_first)?;
        for (position, texts) in kept {
            let vectors = texts.into_iter().filter_map(|text| match text {
                Kept::Vector(vector) => Some(vector),
                Kept::Fresh(text) => embedded.get(&text.hash).cloned(),
            });
            prepared.puts.insert(position, vectors.collect());
        }
        let queries = call.ops.iter().filter_map(query).cloned().collect();
        prepared.queries = indexer.embed_queries(queries).await.map_err(failed_at_first)?;
        prepared.dims = indexer.dims();
        Ok(prepared)
    }

    /// The embedder, provided that the database is indexed by it.
    fn indexer(&self) -> Result<Option<Rc<Indexer>>> {
        let indexer = self.indexing.borrow().current.clone();
        let replica = self.replica.borrow();
        let stored = replica.index.fingerprint.as_deref();
        match indexer {
            Some(indexer) if stored != Some(indexer.fingerprint()) => {
                Err(mismatch(stored, indexer.fingerprint()))
            }
            indexer => {
                replica.expect_dims(indexer.as_ref().and_then(|indexer| indexer.dims()))?;
                Ok(indexer)
            }
        }
    }

    /// The texts of every put: with the vector that its item already has, or to be embedded.
    fn texts(&self, call: &Call, indexer: &Indexer) -> Result<Vec<(usize, Vec<Kept>)>> {
        let directory = &self.replica.borrow().directory;
        let mut puts = Vec::new();
        let superseded = call.superseded();
        for (position, op) in call.ops.iter().enumerate() {
            let Op::Put(put) = op else { continue };
            if superseded.contains(&position) {
                continue;
            }
            let texts = indexer
                .texts(&put.value, &put.index)
                .map_err(|error| call.at(position, error))?;
            let keep = |text: HashedText| match directory.vector(&put.id, &text.hash) {
                Some(vector) => Kept::Vector(vector),
                None => Kept::Fresh(text),
            };
            puts.push((position, texts.into_iter().map(keep).collect()));
        }
        Ok(puts)
    }

    async fn answer(
        &self,
        position: usize,
        op: &Op,
        prepared: &Prepared,
        overlay: &mut Overlay,
    ) -> Result<OpResult> {
        match op {
            Op::Put(put) => {
                let vectors = prepared.puts.get(&position).cloned().unwrap_or_default();
                let put = self.complete(put, vectors, !prepared.indexed, overlay.now)?;
                overlay.put(put, &self.replica.borrow().directory);
                Ok(OpResult::Written)
            }
            Op::Delete(delete) => {
                overlay.delete(&delete.id);
                Ok(OpResult::Written)
            }
            Op::Get(get) => Ok(OpResult::Item(self.get(get, overlay).await?)),
            Op::Search(search) => {
                let query = match &search.query {
                    Some(query) => Some(prepared.queries.get(query).cloned().ok_or_else(no_index)?),
                    None => None,
                };
                Ok(OpResult::Page(
                    self.search(search, query.as_deref(), overlay).await?,
                ))
            }
            Op::ListNamespaces(list) => Ok(OpResult::Namespaces(self.list(list, overlay))),
        }
    }

    /// A put as the storage takes it.
    fn complete(&self, put: &PutOp, vectors: Vec<TextVector>, unindexed: bool, now: i64) -> Result<Put> {
        let value = serde_json::to_string(&put.value).map_err(|error| {
            Error::invalid_document("The document could not be written as JSON.").caused_by(error)
        })?;
        let ttl = self.ttl.minutes(put.ttl);
        Ok(Put {
            id: put.id.clone(),
            value: value.into(),
            now,
            ttl,
            expires_at: expiry(now, ttl),
            index: put.index.clone(),
            pending: unindexed && put.index != IndexFields::None,
            vectors,
        })
    }

    async fn get(&self, get: &GetOp, overlay: &mut Overlay) -> Result<Option<Item>> {
        let record = match overlay.get(&get.id) {
            Some(own) => own.cloned(),
            None => self
                .storage
                .read(std::slice::from_ref(&get.id))
                .await?
                .pop()
                .flatten(),
        };
        match record.filter(|record| record.entry.alive_at(overlay.now)) {
            Some(record) => self.show(&record, get.refresh_ttl, overlay).map(Some),
            None => Ok(None),
        }
    }

    /// A record as a reader gets it; restarts its clock where that is wanted.
    pub(super) fn show(&self, record: &Record, refresh: Option<bool>, overlay: &mut Overlay) -> Result<Item> {
        let entry = &record.entry;
        let refreshed = self.ttl.refreshed(entry, refresh, overlay.now);
        if let Some(expires_at) = refreshed.filter(|_| refreshed != overlay.expiry(entry)) {
            overlay.refresh(entry, expires_at);
        }
        Ok(Item {
            namespace: entry.id.namespace.clone(),
            key: entry.id.key.clone(),
            value: document(record)?,
            created_at: entry.created_at,
            updated_at: entry.updated_at,
            expires_at: overlay.expiry(entry),
        })
    }
}

/// The document of a record.
pub(super) fn document(record: &Record) -> Result<Document> {
    parse(&record.value).map_err(|error| error.with("key", record.entry.id.key.0.as_str()))
}

/// A document from its stored text.
pub(super) fn parse(text: &str) -> Result<Document> {
    serde_json::from_str(text)
        .map_err(|error| Error::corrupted("A stored document is not JSON.").caused_by(error))
}

/// A text of a put.
enum Kept {
    Vector(TextVector),
    Fresh(HashedText),
}

impl Kept {
    fn fresh(&self) -> Option<&HashedText> {
        match self {
            Self::Vector(_) => None,
            Self::Fresh(text) => Some(text),
        }
    }
}

impl Call {
    fn at(&self, position: usize, error: Error) -> Error {
        if self.numbered {
            error.with("position", position)
        } else {
            error
        }
    }

    /// A single get reads the storage itself, and a write needs no more than the commit's own checks.
    fn needs_replica(&self) -> bool {
        let reads = self.ops.iter().filter(|op| written(op).is_none());
        let scans = self
            .ops
            .iter()
            .any(|op| matches!(op, Op::Search(_) | Op::ListNamespaces(_)));
        scans || (self.ops.len() > 1 && reads.count() > 0)
    }

    /// Positions of puts whose vectors nobody sees: the item is written again before anything is searched.
    fn superseded(&self) -> HashSet<usize> {
        let mut written_later = HashSet::new();
        let mut superseded = HashSet::new();
        for (position, op) in self.ops.iter().enumerate().rev() {
            match written(op) {
                Some(id) if !written_later.insert(id) => {
                    superseded.insert(position);
                }
                None if matches!(op, Op::Search(_)) => written_later.clear(),
                _ => {}
            }
        }
        superseded
    }
}

fn written(op: &Op) -> Option<&crate::model::ItemId> {
    match op {
        Op::Put(put) => Some(&put.id),
        Op::Delete(delete) => Some(&delete.id),
        Op::Get(_) | Op::Search(_) | Op::ListNamespaces(_) => None,
    }
}

fn query(op: &Op) -> Option<&String> {
    match op {
        Op::Search(search) => search.query.as_ref(),
        _ => None,
    }
}

fn needs_index(op: &Op) -> bool {
    match op {
        Op::Put(put) => put.index != IndexFields::None,
        op => query(op).is_some(),
    }
}

fn no_index() -> Error {
    Error::no_index(
        "This store has no embedder, so it cannot search by meaning; open it with `index: { embed }`.",
    )
}
