//! Brings a database to the present schema, and checks that it is one.

use idb::{Database, ObjectStoreParams};

use web_sys::IdbTransaction;

use super::dom_exception::{coded, from_idb};
use super::transaction::Store;
use super::version::{DATABASE, Schema, Verdict, Version};
use crate::{Error, Result};

impl Schema {
    /// Runs the steps after `from`, inside an upgrade.
    pub(super) fn upgrade(
        &self,
        database: &Database,
        transaction: &IdbTransaction,
        from: Version,
    ) -> Result<()> {
        if self.judge(from) != Verdict::Upgrade {
            return Err(self.foreign(from));
        }
        for step in self.steps.iter().filter(|step| step.to > from) {
            for name in step.adds {
                database
                    .create_object_store(name, ObjectStoreParams::new())
                    .map_err(from_idb)?;
            }
            if let Some(name) = step.numbers {
                let store = transaction.object_store(name).map_err(|thrown| coded(&thrown))?;
                Store::from(store).put(&DATABASE.into(), &random_number().into())?;
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

/// Nobody guards anything by it, it only has to be another one each time: a whole number of 53 bits, never 0.
fn random_number() -> f64 {
    (js_sys::Math::random() * 2f64.powi(53)).max(1.0).floor()
}
