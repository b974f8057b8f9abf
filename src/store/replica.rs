//! The committed state as this store knows it, and how it follows the database.
//!
//! Answers of the storage may arrive in another order than they were given, since calls overlap. Sequence numbers put
//! that right: an answer that is older than what is known is passed over, one that leaves a gap is filled by asking. They
//! count within one database; one that another tab has deleted and made anew is told by its number and read whole.

use super::Store;
use super::directory::Directory;
use super::indexer::Indexer;
use crate::Result;
use crate::storage::{Changes, IndexState, Sequence, Snapshot, Write};

/// A copy of everything but documents.
#[derive(Debug)]
pub(super) struct Replica {
    pub(super) sequence: Sequence,
    pub(super) index: IndexState,
    pub(super) directory: Directory,
}

/// What became of an answer.
#[derive(Debug, PartialEq, Eq)]
enum Followed {
    /// The replica is at least as new as the answer.
    Yes,
    /// Other commits lie between: ask for all of them.
    Gap,
    /// Only a snapshot helps.
    Reload,
}

impl Replica {
    pub(super) fn from_snapshot(snapshot: Snapshot) -> Result<Self> {
        Ok(Self {
            sequence: snapshot.sequence,
            index: snapshot.index,
            directory: Directory::from_entries(snapshot.entries)?,
        })
    }

    /// Fails when the stored vectors are known to have another length than an embedder's.
    pub(super) fn expect_dims(&self, dims: Option<usize>) -> Result<()> {
        match (self.directory.dims().or(self.index.dims), dims) {
            (Some(stored), Some(dims)) if stored != dims => Err(IndexState::other_dims(stored, dims)),
            _ => Ok(()),
        }
    }

    /// Follows an answer that holds everything after `since`.
    fn follow(&mut self, since: Sequence, changes: Changes) -> Result<Followed> {
        let Changes::Since {
            sequence,
            epoch,
            changes,
        } = changes
        else {
            return Ok(Followed::Reload);
        };
        // Of a database that was deleted and made anew; its sequence numbers say nothing here.
        if epoch.database != self.index.epoch.database {
            return Ok(Followed::Reload);
        }
        if sequence <= self.sequence {
            return Ok(Followed::Yes);
        }
        if epoch != self.index.epoch {
            return Ok(Followed::Reload);
        }
        if since > self.sequence {
            return Ok(Followed::Gap);
        }
        for change in changes {
            self.directory.apply(change)?;
        }
        self.sequence = sequence;
        Ok(Followed::Yes)
    }
}

impl Store {
    /// Catches up with what other tabs have committed.
    pub(super) async fn sync(&self) -> Result<()> {
        let since = self.replica.borrow().sequence;
        let changes = self.storage.changes(since).await?;
        let followed = self.replica.borrow_mut().follow(since, changes)?;
        if followed != Followed::Yes {
            self.reload().await?;
        }
        Ok(())
    }

    /// Commits at the index that is known, follows its own changes, and says how many items it touched.
    pub(super) async fn commit(&self, writes: Vec<Write>) -> Result<usize> {
        let epoch = self.replica.borrow().index.epoch;
        let answer = self.storage.commit(epoch, writes).await?;
        let (touched, since) = match &answer {
            // Nothing changed, so the sequence told is another commit's, and what led to it may not be known here.
            Changes::Since { changes, .. } if changes.is_empty() => return Ok(0),
            // A commit tells its own changes only: those after the commit before it.
            Changes::Since {
                changes, sequence, ..
            } => (changes.len(), sequence.saturating_sub(1)),
            Changes::Reload => (0, 0),
        };
        let followed = self.replica.borrow_mut().follow(since, answer)?;
        if followed != Followed::Yes {
            // What was written is written, even when reading the others' changes fails; the next call reads again.
            let _ = self.sync().await;
        }
        Ok(touched)
    }

    async fn reload(&self) -> Result<()> {
        let snapshot = self.storage.load().await?;
        let mut replica = self.replica.borrow_mut();
        let (known, epoch) = (replica.index.epoch, snapshot.index.epoch);
        let another = epoch.database != known.database;
        if another || snapshot.sequence > replica.sequence || epoch.number > known.number {
            let another_index = another || epoch.number != known.number;
            *replica = Replica::from_snapshot(snapshot)?;
            // The same index read again says nothing of a reindex under way, though the names agree.
            if another_index {
                self.indexing
                    .borrow_mut()
                    .adopt(replica.index.fingerprint.as_deref());
            }
        }
        Ok(())
    }
}

impl super::Indexing {
    /// Switches to the next indexer once the database is indexed by it, whoever did that.
    fn adopt(&mut self, fingerprint: Option<&str>) {
        let name = |indexer: &Option<std::rc::Rc<Indexer>>| {
            indexer.as_ref().map(|indexer| indexer.fingerprint().to_owned())
        };
        if let Some(next) = self.next.take_if(|next| name(next).as_deref() == fingerprint) {
            self.current = next;
        }
    }
}
