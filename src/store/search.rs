//! Search: filter, rank, page.
//!
//! Ranking needs no document, so all candidates are scored in memory first and documents are read in ranked order,
//! only as many as the page takes: exactly one page without a filter, growing chunks with one. A filter that lets little
//! pass is applied to all documents in bulk instead (see `sift`). Candidates come off a
//! heap, which costs a pass over all of them and then a logarithm for each that is looked at.
//!
//! While documents are read, other calls may commit. A document that is not the version that was ranked means that the
//! ranking is out of date, and the search starts again; after some rounds of that it takes what it reads, each hit
//! scored by the vectors that belong to its document.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::rc::Rc;

use super::Store;
use super::batch::document;
use super::directory::Directory;
use super::overlay::{self, Overlay};
use super::sift::{Known, Yield};
use crate::Result;
use crate::model::{Hit, ItemId, Millis, Order, Page, SearchOp, Unscored};
use crate::storage::{Entry, Record, Revision};

/// How often a search ranks anew before it puts up with a moving target.
const MOST_RANKINGS: usize = 4;

/// How many documents a filtered search reads at first and at most in one go.
const CHUNKS: (usize, usize) = (32, 512);

/// An item that may become a hit.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) id: Rc<ItemId>,
    /// The put that was ranked.
    pub(super) revision: Revision,
    /// What decides after the score; greater comes first.
    precedence: Millis,
    score: Option<f32>,
    truncated: bool,
}

impl Candidate {
    /// Greater is better: the score, then what the search orders by, then the id that comes first.
    fn rank(&self, other: &Self) -> Ordering {
        let by_score = match (self.score, other.score) {
            (Some(a), Some(b)) => a.total_cmp(&b),
            (a, b) => a.is_some().cmp(&b.is_some()),
        };
        by_score
            .then(self.precedence.cmp(&other.precedence))
            .then_with(|| other.id.cmp(&self.id))
    }
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank(other)
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate {}

/// How the items of one search are scored.
pub(super) struct Scoring<'a> {
    pub(super) search: &'a SearchOp,
    query: Option<&'a [f32]>,
    now: Millis,
}

impl Scoring<'_> {
    /// The score of an item with this cosine; `None` leaves the item out.
    fn score(&self, similarity: impl FnOnce(&[f32]) -> Option<f32>) -> Option<Option<f32>> {
        let Some(query) = self.query else {
            return Some(None);
        };
        // Rounding may carry a cosine past one; adding zero makes -0 the 0 that it equals.
        match similarity(query).map(|score| score.clamp(-1.0, 1.0) + 0.0) {
            Some(score) => {
                let enough = self
                    .search
                    .min_score
                    .is_none_or(|least| f64::from(score) >= least);
                enough.then_some(Some(score))
            }
            None => (self.search.unscored == Unscored::Append).then_some(None),
        }
    }

    /// An item made earlier comes first, or one updated later.
    fn precedence(&self, created_at: Millis, updated_at: Millis) -> Millis {
        match self.search.order {
            Order::Updated => updated_at,
            Order::Created => created_at.saturating_neg(),
        }
    }

    fn rank(&self, directory: &Directory, overlay: &Overlay) -> BinaryHeap<Candidate> {
        let committed = directory
            .below(&self.search.prefix)
            .filter(|(id, known)| known.alive_at(self.now) && overlay.get(id).is_none())
            .filter_map(|(id, known)| {
                let score = self.score(|query| directory.similarity(known, query))?;
                let truncated = known.truncated();
                Some(Candidate {
                    id: Rc::clone(id),
                    revision: known.revision,
                    precedence: self.precedence(known.created_at, known.updated_at),
                    score,
                    truncated,
                })
            });
        let own = overlay.below(&self.search.prefix);
        let own = own.filter_map(|(id, entry)| self.candidate(Rc::clone(id), entry));
        committed.chain(own).collect::<Vec<_>>().into()
    }

    fn candidate(&self, id: Rc<ItemId>, entry: &Entry) -> Option<Candidate> {
        if !entry.alive_at(self.now) {
            return None;
        }
        let score = self.score(|query| overlay::similarity(entry, query))?;
        let truncated = entry.vectors.iter().any(|vector| vector.truncated);
        Some(Candidate {
            id,
            revision: entry.revision,
            precedence: self.precedence(entry.created_at, entry.updated_at),
            score,
            truncated,
        })
    }
}

/// A ranking that is being read.
pub(super) struct Reading<'a> {
    pub(super) scoring: Scoring<'a>,
    pub(super) ranking: BinaryHeap<Candidate>,
    /// Whether to go on when a document is not the version that was ranked.
    pub(super) settle: bool,
    /// Whether the ranking holds nothing any more but what passes the filter.
    pub(super) sifted: bool,
    /// How far the store had got when it ranked.
    pub(super) known: Known,
}

impl Reading<'_> {
    fn pass_over(&mut self, mut candidates: usize) {
        while candidates > 0 && self.ranking.pop().is_some() {
            candidates -= 1;
        }
    }
}

impl Store {
    /// One page of a search.
    pub(super) async fn search(
        &self,
        search: &SearchOp,
        query: Option<&[f32]>,
        overlay: &mut Overlay,
    ) -> Result<Page> {
        let mut rankings = 1;
        loop {
            let scoring = Scoring {
                search,
                query,
                now: overlay.now,
            };
            let ranking = scoring.rank(&self.replica.borrow().directory, overlay);
            let reading = Reading {
                scoring,
                ranking,
                settle: rankings >= MOST_RANKINGS,
                sifted: false,
                known: self.known(),
            };
            if let Some((found, has_more)) = self.page(reading, overlay).await? {
                return self.show_page(search, found, has_more, overlay);
            }
            self.sync().await?;
            rankings += 1;
        }
    }

    /// Reads the ranking until the page is full; `None` when it turned out to be out of date.
    async fn page(
        &self,
        mut reading: Reading<'_>,
        overlay: &Overlay,
    ) -> Result<Option<(Vec<(Candidate, Record)>, bool)>> {
        let search = reading.scoring.search;
        let filtered = !search.filter.is_empty();
        // Without a filter every candidate is a hit, so nothing is read of those before the page. With one, only
        // another match tells that there is more.
        let (mut to_skip, wanted) = if filtered {
            (search.offset, search.limit.saturating_add(1))
        } else {
            reading.pass_over(search.offset);
            (0, search.limit)
        };
        let mut found = Vec::new();
        let mut chunk = CHUNKS.0;
        let mut yielded = Yield::default();
        while found.len() < wanted && !reading.ranking.is_empty() {
            if filtered && self.should_sift(&reading, yielded, (wanted - found.len()).saturating_add(to_skip))
            {
                if !self.sift(&mut reading, overlay).await? {
                    return Ok(None);
                }
                reading.pass_over(std::mem::take(&mut to_skip));
                continue;
            }
            let exact = !filtered || reading.sifted;
            let size = if exact { wanted - found.len() } else { chunk };
            let Some(records) = self.documents(&mut reading, size.min(CHUNKS.1), overlay).await? else {
                return Ok(None);
            };
            yielded.read += records.len();
            for (candidate, record) in records {
                if filtered && !search.filter.matches(&document(&record)?) {
                    continue;
                }
                yielded.matched += 1;
                match to_skip {
                    0 => found.push((candidate, record)),
                    _ => to_skip -= 1,
                }
            }
            chunk = chunk.saturating_mul(2);
        }
        let has_more = !reading.ranking.is_empty() && !filtered || found.len() > search.limit;
        found.truncate(search.limit);
        Ok(Some((found, has_more)))
    }

    /// The next candidates with their documents.
    async fn documents(
        &self,
        reading: &mut Reading<'_>,
        size: usize,
        overlay: &Overlay,
    ) -> Result<Option<Vec<(Candidate, Record)>>> {
        let next: Vec<Candidate> = std::iter::from_fn(|| reading.ranking.pop()).take(size).collect();
        let committed = next
            .iter()
            .filter(|candidate| overlay.get(&candidate.id).is_none());
        let ids: Vec<ItemId> = committed.map(|candidate| ItemId::clone(&candidate.id)).collect();
        let mut read = if ids.is_empty() {
            Vec::new()
        } else {
            self.storage.read(&ids).await?
        }
        .into_iter();
        let mut found = Vec::with_capacity(next.len());
        for candidate in next {
            let record = match overlay.get(&candidate.id) {
                Some(own) => own.cloned(),
                None => read.next().flatten(),
            };
            match record {
                Some(record) if record.entry.revision == candidate.revision => {
                    found.push((candidate, record))
                }
                _ if !reading.settle => return Ok(None),
                Some(record) => {
                    let renewed = reading.scoring.candidate(candidate.id, &record.entry);
                    found.extend(renewed.map(|candidate| (candidate, record)));
                }
                None => {}
            }
        }
        Ok(Some(found))
    }

    fn show_page(
        &self,
        search: &SearchOp,
        found: Vec<(Candidate, Record)>,
        has_more: bool,
        overlay: &mut Overlay,
    ) -> Result<Page> {
        let show = |(candidate, record): (Candidate, Record)| {
            let score = candidate.score.map(f64::from);
            let item = self.show(&record, search.refresh_ttl, overlay)?;
            Ok(Hit {
                item,
                score,
                similarity: score,
                truncated: candidate.truncated,
            })
        };
        Ok(Page {
            items: found.into_iter().map(show).collect::<Result<_>>()?,
            has_more,
        })
    }
}
