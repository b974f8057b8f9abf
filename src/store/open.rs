//! Opening: the database's index and the application's embedder have to be one.
//!
//! | the database            | opened with an embedder                    | without one                             |
//! |-------------------------|--------------------------------------------|-----------------------------------------|
//! | never indexed           | everything is indexed now                  | no semantic search; puts wait (pending) |
//! | indexed by the same     | what is pending is indexed now             | the same; the index stays as it is      |
//! | indexed by another      | `model_mismatch`, or a reindex if asked to | the same                                |

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::indexer::{Indexer, mismatch};
use super::options::{Phase, StoreOptions};
use super::pending::Pending;
use super::rebuild::Rebuild;
use super::replica::Replica;
use super::{Indexing, Store, gate::Gate};
use crate::Result;
use crate::embed::Embedder;
use crate::model::{Clock, Ttl};
use crate::storage::{Entry, IndexState, Snapshot, Storage};

/// What is missing of an index.
struct Missing {
    phase: Phase,
    /// Items whose vectors are as they should be.
    kept: Vec<Entry>,
    /// The others.
    todo: Vec<Entry>,
}

impl Store {
    /// Opens a store over a storage that is connected already.
    pub async fn open(
        storage: Rc<dyn Storage>,
        embedder: Option<Rc<dyn Embedder>>,
        clock: Rc<dyn Clock>,
        options: StoreOptions,
    ) -> Result<Self> {
        options.ttl.default_ttl.map_or(Ok(Ttl::Never), Ttl::minutes)?;
        let indexer = Indexer::of(embedder, &options.fields, options.dims)?;
        let mut snapshot = storage.load().await?;
        if let Some(indexer) = &indexer
            && let Some(missing) = missing(&snapshot, indexer, options.reindex)?
        {
            let rebuild = Rebuild {
                storage: &*storage,
                database: snapshot.index.epoch.database,
                target: Some(indexer),
                phase: missing.phase,
                observer: options.observer.as_deref(),
                gate: None,
                now: clock.now(),
            };
            drop(snapshot);
            let todo = missing.todo.into_iter().map(|entry| entry.id).collect();
            rebuild.run(&missing.kept, todo).await?;
            snapshot = storage.load().await?;
        }
        Ok(Self {
            storage,
            clock,
            ttl: options.ttl,
            indexing: RefCell::new(Indexing {
                current: indexer,
                next: None,
            }),
            replica: RefCell::new(Replica::from_snapshot(snapshot)?),
            pending: Pending::default(),
            gate: Gate::default(),
            failed_refreshes: Cell::new(0),
        })
    }
}

/// Compares the index with what is wanted; `None` when nothing has to be done.
fn missing(snapshot: &Snapshot, indexer: &Indexer, reindex: bool) -> Result<Option<Missing>> {
    let stored = snapshot.index.fingerprint.as_deref();
    let dims = snapshot.index.dims;
    let mut vectors = snapshot.entries.iter().flat_map(|entry| &entry.vectors);
    let same_model = stored == Some(indexer.fingerprint());
    let same_dims = same_model && indexer.agrees_on(dims);
    // A database of schema 100 may hold vectors of several lengths, written by tabs whose embedders shared a name.
    let same = same_dims && vectors.all(|vector| Some(vector.vector.len()) == dims);
    // The usual open: nothing to do, and so nothing to copy.
    if same && !snapshot.entries.iter().any(|entry| entry.pending) {
        return Ok(None);
    }
    let entries = snapshot.entries.iter().cloned();
    if same {
        let (todo, kept) = entries.partition(|entry| entry.pending);
        return Ok(Some(Missing {
            phase: Phase::Index,
            kept,
            todo,
        }));
    }
    let phase = match stored {
        None => Phase::Index,
        Some(_) if reindex => Phase::Reindex,
        Some(_) => {
            let lengths = (dims, indexer.dims());
            return Err(match lengths {
                (Some(stored), Some(dims)) if same_model && !same_dims => {
                    IndexState::other_dims(stored, dims)
                }
                _ => mismatch(stored, indexer.fingerprint()),
            });
        }
    };
    Ok(Some(Missing {
        phase,
        kept: Vec::new(),
        todo: entries.collect(),
    }))
}
