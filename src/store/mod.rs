//! Store semantics over the traits: what an application can rely on, whatever lies below.
//!
//! A call goes through the same rooms whether it is one operation or a batch:
//!
//! 1. **Admission** (`pending`, `gate`): before the call first yields it takes its place among the writers of its
//!    keys, so that of two racing puts the later call wins.
//! 2. **Preparation** (`batch`, `indexer`): everything slow. Texts are found and embedded, at most one embedder call
//!    for documents and one for queries. Many calls prepare at the same time.
//! 3. **Execution** (`batch`, `search`, `list`), in turn: the clock is read once; operations run in order against what
//!    is committed (`replica`, `directory`) with the call's own writes laid over it (`overlay`).
//! 4. **Commit**: all writes in one storage transaction, or none.
//!
//! Invariants:
//! - The replica holds committed state only, and catches up with other tabs before it is searched.
//! - A document and its vectors are one put, computed by one embedder; the storage refuses a commit against an index
//!   that was replaced meanwhile, and the call prepares again or fails with `model_mismatch`.
//! - No `RefCell` borrow is held across an await. Every method takes `&self`, and a call that is dropped half-way
//!   leaves nothing behind and blocks nobody.

mod batch;
mod directory;
mod gate;
mod indexer;
mod list;
mod open;
pub mod options;
mod overlay;
mod pending;
mod rebuild;
mod replica;
mod search;
mod sift;
mod stats;
mod ttl;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

pub use options::{Observer, Phase, ReindexOptions, StoreOptions, TtlOptions};
pub use stats::Stats;

use crate::Result;
use crate::model::Clock;
use crate::storage::Storage;
use gate::Gate;
use indexer::Indexer;
use pending::Pending;
use replica::Replica;

/// An open store. See the module for how a call goes.
pub struct Store {
    storage: Rc<dyn Storage>,
    clock: Rc<dyn Clock>,
    ttl: TtlOptions,
    indexing: RefCell<Indexing>,
    replica: RefCell<Replica>,
    pending: Pending,
    gate: Gate,
    /// Reads whose items could not be given their new expiry.
    failed_refreshes: Cell<u64>,
}

/// Who makes vectors, now and after a reindex that is under way.
struct Indexing {
    current: Option<Rc<Indexer>>,
    /// Becomes current as soon as the database says that it is.
    next: Option<Option<Rc<Indexer>>>,
}

impl Store {
    /// Refuses further calls with `closed`, and those that still wait for an embedder or for their turn; waits for the
    /// writes under way, and lets go of the storage.
    pub async fn close(&self) -> Result<()> {
        self.gate.close().await;
        self.storage.close().await
    }
}
