//! Applying a filter to all documents at once.
//!
//! Reading documents one by one in the order of their scores is best while the filter lets enough pass: the page is full
//! soon. A filter that lets little pass would have nearly all documents read that way, and a read by key costs a
//! multiple of its share of a bulk read. So the first documents are taken as a sample: when it promises more single
//! reads than a bulk read of everything below the prefix is worth, the storage looks through the documents in its own
//! order ([`Storage::sift`](crate::storage::Storage::sift)), which leaves of the ranking what passes.
//!
//! No document is kept on the way, only which items passed. A document may have changed between ranking and sifting, so
//! afterwards the store catches up, and a ranking of puts that are no longer the last is given up, as everywhere in a
//! search.

use std::collections::{BinaryHeap, HashSet};

use super::Store;
use super::batch::{document, parse};
use super::overlay::Overlay;
use super::search::{Candidate, Reading};
use crate::Result;
use crate::model::ItemId;
use crate::storage::{Epoch, Sequence};

/// How many documents of a bulk read cost as much as one that is read by its key.
const COST_OF_A_KEY: usize = 10;

/// How far a store has followed which database.
pub(super) type Known = (Epoch, Sequence);

/// What the documents read so far have yielded.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Yield {
    pub(super) read: usize,
    pub(super) matched: usize,
}

impl Yield {
    /// How many more documents have to be read to find so many, by what was found so far.
    fn expected(self, missing: usize) -> usize {
        missing.saturating_mul(self.read) / (self.matched + 1)
    }
}

impl Store {
    /// Whether sifting costs less than going on one by one.
    pub(super) fn should_sift(&self, reading: &Reading<'_>, so_far: Yield, missing: usize) -> bool {
        if reading.sifted || so_far.read == 0 {
            return false;
        }
        let expected = so_far.expected(missing).min(reading.ranking.len());
        let reach = expected.saturating_mul(COST_OF_A_KEY);
        let replica = self.replica.borrow();
        // Counting ends where it has decided.
        let below = replica.directory.below(&reading.scoring.search.prefix);
        below.take(reach).count() < reach
    }

    /// Leaves of the ranking what passes the filter; false when it turned out to be out of date.
    pub(super) async fn sift(&self, reading: &mut Reading<'_>, overlay: &Overlay) -> Result<bool> {
        let search = reading.scoring.search;
        let wanted = |text: &str| Ok(search.filter.matches(&parse(text)?));
        let mut passed = HashSet::new();
        let mut after = None;
        loop {
            let sifted = self.storage.sift(&search.prefix, after.as_ref(), &wanted).await?;
            passed.extend(sifted.found);
            after = sifted.last;
            if after.is_none() {
                break;
            }
        }
        self.sync().await?;
        let ranking = std::mem::take(&mut reading.ranking).into_vec();
        if !reading.settle && self.known() != reading.known && !self.up_to_date(&ranking, overlay) {
            return Ok(false);
        }
        let mut left = BinaryHeap::new();
        for candidate in ranking {
            let passes = match overlay.get(&candidate.id).flatten() {
                Some(own) => search.filter.matches(&document(own)?),
                None => passed.contains::<ItemId>(&candidate.id),
            };
            if passes {
                left.push(candidate);
            }
        }
        reading.ranking = left;
        reading.sifted = true;
        Ok(true)
    }

    /// How far the store has followed which database.
    pub(super) fn known(&self) -> Known {
        let replica = self.replica.borrow();
        (replica.index.epoch, replica.sequence)
    }

    /// Whether all that was ranked is still the last put of its item.
    fn up_to_date(&self, ranking: &[Candidate], overlay: &Overlay) -> bool {
        let replica = self.replica.borrow();
        ranking.iter().all(|candidate| {
            let last = replica.directory.get(&candidate.id).map(|known| known.revision);
            overlay.get(&candidate.id).is_some() || last == Some(candidate.revision)
        })
    }
}
