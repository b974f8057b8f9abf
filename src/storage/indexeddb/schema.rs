//! Which stores a database has, and the steps that led there.
//!
//! A schema's version, the stores it expects and the steps to run are all derived from one table. A step, once
//! released, is never edited: add another, and a row in docs/format.md.

use idb::{Database, ObjectStoreParams};

use super::dom_exception::from_idb;
use super::version::{Verdict, Version, judge};
use crate::{Error, Result};

/// One step: what it leads to, and the stores that it adds. All stores have keys of their own (out of line).
pub(super) struct Step {
    pub(super) to: Version,
    pub(super) adds: &'static [&'static str],
}

/// A kind of database.
pub(super) struct Schema {
    /// For messages.
    pub(super) what: &'static str,
    /// Ascending.
    pub(super) steps: &'static [Step],
}

/// Sequence number, index state.
pub(super) const META: &str = "meta";
/// Entries: times, index options, vectors.
pub(super) const ENTRIES: &str = "entries";
/// Documents, as JSON text.
pub(super) const DOCUMENTS: &str = "documents";
/// The tail of the log of changes.
pub(super) const CHANGES: &str = "changes";

/// A store's database.
pub(super) const STORE: Schema = Schema {
    what: "store",
    steps: &[Step {
        to: 100,
        adds: &[META, ENTRIES, DOCUMENTS, CHANGES],
    }],
};

/// What is known of each model, complete or partial.
pub(super) const MODELS: &str = "models";
/// The bytes of models, in chunks.
pub(super) const CHUNKS: &str = "chunks";

/// The database of models, shared by all stores of an origin.
pub(super) const MODEL_CACHE: Schema = Schema {
    what: "model cache",
    steps: &[Step {
        to: 100,
        adds: &[MODELS, CHUNKS],
    }],
};

impl Schema {
    /// The version that this code writes.
    pub(super) fn version(&self) -> Version {
        self.steps.last().map_or(0, |step| step.to)
    }

    /// See [`judge`].
    pub(super) fn judge(&self, found: Version) -> Verdict {
        let numbers: Vec<Version> = self.steps.iter().map(|step| step.to).collect();
        judge(&numbers, found)
    }

    /// Runs the steps after `from`, inside an upgrade.
    pub(super) fn upgrade(&self, database: &Database, from: Version) -> Result<()> {
        if self.judge(from) != Verdict::Upgrade {
            return Err(self.foreign(from));
        }
        for step in self.steps.iter().filter(|step| step.to > from) {
            for name in step.adds {
                database
                    .create_object_store(name, ObjectStoreParams::new())
                    .map_err(from_idb)?;
            }
        }
        Ok(())
    }

    /// Whether a database at its version has what the version promises.
    pub(super) fn check(&self, database: &web_sys::IdbDatabase) -> Result<()> {
        let found = database.version() as Version;
        match self.judge(found) {
            Verdict::Open => {}
            Verdict::TooNew => return Err(self.too_new(found)),
            Verdict::Upgrade | Verdict::Foreign => return Err(self.foreign(found)),
        }
        let names = database.object_store_names();
        match self
            .steps
            .iter()
            .flat_map(|step| step.adds)
            .find(|name| !names.contains(name))
        {
            Some(missing) => Err(self.foreign(found).with("missing", *missing)),
            None => Ok(()),
        }
    }

    fn too_new(&self, found: Version) -> Error {
        let message = format!(
            "this {} was written by a newer Burrow (schema {found}, this one knows {}); reload the page or update",
            self.what,
            self.version()
        );
        Error::schema_too_new(message)
            .with("found", found)
            .with("known", self.version())
    }

    fn foreign(&self, found: Version) -> Error {
        let message = format!(
            "a database of this name exists, but it is not a Burrow {}",
            self.what
        );
        Error::corrupted(message).with("found", found)
    }
}
