//! Time to live.
//!
//! An item that has expired does not exist: not for a get, not in a search, not in a count, whether or not it has been
//! swept. Sweeping only gives the space back. The clock is read once per call, so that one answer never mixes two
//! instants.
//!
//! | event            | restarts the clock        | changes `updated_at` |
//! |------------------|---------------------------|----------------------|
//! | write            | with the write's ttl      | yes                  |
//! | read, refreshing | with the item's own ttl   | no                   |
//! | read otherwise   | no                        | no                   |

use super::Store;
use super::options::TtlOptions;
use super::overlay::Overlay;
use crate::model::{ItemId, Millis, OpResult, Ttl};
use crate::storage::{Entry, Write};
use crate::{Error, Result};

/// The last instant that a JavaScript `Date` can hold.
const LAST_INSTANT: Millis = 8_640_000_000_000_000;

/// How many expired items one transaction removes.
const SWEEP_CHUNK: usize = 500;

impl TtlOptions {
    /// The minutes that a put gets.
    pub(super) fn minutes(&self, ttl: Ttl) -> Option<f64> {
        match ttl {
            Ttl::Default => self.default_ttl,
            Ttl::Never => None,
            Ttl::Minutes(minutes) => Some(minutes),
        }
    }

    /// The expiry that a read gives an item which it returns, if it gives it one.
    pub(super) fn refreshed(&self, entry: &Entry, wanted: Option<bool>, now: Millis) -> Option<Millis> {
        expiry(now, entry.ttl).filter(|_| wanted.unwrap_or(self.refresh_on_read))
    }
}

/// When something expires that lives so many minutes from now on: at least a millisecond later.
pub(super) fn expiry(now: Millis, minutes: Option<f64>) -> Option<Millis> {
    let millis = (minutes? * 60_000.0).ceil().max(1.0);
    Some(now.saturating_add(millis as Millis).min(LAST_INSTANT))
}

impl Store {
    /// Gives back the space of expired items and says how many there were. Nothing that a reader can see changes.
    pub async fn sweep(&self) -> Result<usize> {
        let _writing = self.gate.enter()?;
        self.sync().await?;
        let now = self.clock.now();
        let expired: Vec<ItemId> = {
            let replica = self.replica.borrow();
            let items = replica.directory.iter().filter(|(_, known)| !known.alive_at(now));
            items.map(|(id, _)| ItemId::clone(id)).collect()
        };
        let mut swept = 0;
        for ids in expired.chunks(SWEEP_CHUNK) {
            let writes = ids
                .iter()
                .map(|id| Write::Sweep { id: id.clone(), now })
                .collect();
            swept += self.commit(writes).await?;
        }
        Ok(swept)
    }

    /// Moves the expiry of what a call has read that writes nothing else. The call has its answer, so a full disk or a
    /// closing store does not take it away: the items then show the expiry that they really have.
    pub(super) async fn refresh(
        &self,
        writes: Vec<Write>,
        overlay: &Overlay,
        results: &mut [OpResult],
    ) -> Result<()> {
        let refreshed = match self.gate.enter() {
            Ok(_writing) => self.commit(writes).await,
            Err(closed) => Err(closed),
        };
        match refreshed {
            Ok(_) => {}
            // The whole call is repeated against the index as it is now.
            Err(mismatch @ Error::ModelMismatch(_)) => return Err(mismatch),
            Err(_) => {
                self.failed_refreshes.set(self.failed_refreshes.get() + 1);
                overlay.take_back_refreshes(results);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_of_a_minute_count_and_nothing_expires_at_once() {
        assert_eq!(expiry(1_000, Some(1.0)), Some(61_000));
        assert_eq!(expiry(1_000, Some(0.001)), Some(1_060));
        assert_eq!(expiry(1_000, Some(1e-12)), Some(1_001));
        assert_eq!(expiry(1_000, None), None);
    }

    #[test]
    fn an_endless_ttl_ends_with_the_calendar() {
        assert_eq!(expiry(1_000, Some(f64::MAX)), Some(LAST_INSTANT));
    }
}
