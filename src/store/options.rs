//! What a store is opened with, and how it reports on long work.

use std::rc::Rc;

use serde::Serialize;

use crate::embed::Embedder;

/// How a store is opened.
#[derive(Clone, Default)]
pub struct StoreOptions {
    /// Field paths that are embedded when a put does not say; the whole document (`$`) when empty.
    pub fields: Vec<String>,
    /// The length of vectors that the application expects; a model that disagrees is refused.
    pub dims: Option<usize>,
    /// Whether an index made by another model or with other fields is made anew rather than refused.
    pub reindex: bool,
    /// How long items live.
    pub ttl: TtlOptions,
    /// Hears about the progress of indexing and may cancel it.
    pub observer: Option<Rc<dyn Observer>>,
}

/// How long items live when a put does not say, and what a read does about it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TtlOptions {
    /// Minutes; `None` is for ever.
    pub default_ttl: Option<f64>,
    /// Whether a read restarts the clock of the items it returns.
    pub refresh_on_read: bool,
}

impl Default for TtlOptions {
    fn default() -> Self {
        Self {
            default_ttl: None,
            refresh_on_read: true,
        }
    }
}

/// What the index is to become.
#[derive(Clone, Default)]
pub struct ReindexOptions {
    /// The new embedder; `None` drops the index.
    pub embedder: Option<Rc<dyn Embedder>>,
    /// See [`StoreOptions::fields`].
    pub fields: Vec<String>,
    /// See [`StoreOptions::dims`].
    pub dims: Option<usize>,
    /// See [`StoreOptions::observer`].
    pub observer: Option<Rc<dyn Observer>>,
}

/// Follows long work.
pub trait Observer {
    /// So many of so many items are done. The total grows when items are written meanwhile.
    fn progress(&self, phase: Phase, done: usize, total: usize) {
        let _ = (phase, done, total);
    }

    /// Asked between steps; once true, the work stops with `aborted` and nothing has changed.
    fn cancelled(&self) -> bool {
        false
    }
}

/// What is being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Items get their first vectors.
    Index,
    /// All vectors are made anew.
    Reindex,
}

impl Phase {
    /// The name that progress events carry.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Index => "index",
            Self::Reindex => "reindex",
        }
    }
}
