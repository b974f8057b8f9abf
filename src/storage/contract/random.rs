//! Long random histories, compared with the naive model after every step. Seeded: a failure repeats.

use std::collections::BTreeMap;

use super::naive::Naive;
use super::*;

/// Two connections take turns.
pub async fn histories_agree_with_the_naive_model(backend: &impl Backend) {
    History::begin(backend, 20_260_101).await.run(120, false).await;
}

/// Connections come and go between the steps.
pub async fn histories_with_reopening_agree_with_the_naive_model(backend: &impl Backend) {
    History::begin(backend, 7).await.run(60, true).await;
}

struct History<'a, B> {
    backend: &'a B,
    connections: Vec<Rc<dyn Storage>>,
    naive: Naive,
    random: Random,
    now: Millis,
}

impl<'a, B: Backend> History<'a, B> {
    async fn begin(backend: &'a B, seed: u64) -> Self {
        let connections = vec![backend.open().await.unwrap(), backend.open().await.unwrap()];
        Self {
            backend,
            connections,
            naive: Naive::new(),
            random: Random(seed),
            now: 1000,
        }
    }

    async fn run(mut self, steps: usize, reopen: bool) {
        for step in 0..steps {
            let connection = self.random.below(2);
            if reopen && self.random.below(3) == 0 {
                self.connections[connection].close().await.unwrap();
                self.connections[connection] = self.backend.open().await.unwrap();
            }
            self.step(connection).await;
            self.check(connection, step).await;
        }
    }

    async fn step(&mut self, connection: usize) {
        // Mostly forward, sometimes back, as when a device corrects its clock.
        self.now += self.random.below(60) as Millis - 10;
        let count = self.random.below(6);
        let writes: Vec<Write> = (0..count).map(|_| self.write()).collect();
        self.naive.commit(&writes);
        let (sequence, changes) = since(commit(&self.connections[connection], writes).await);
        assert_eq!(sequence, self.naive.sequence());
        for change in &changes {
            let latest = self
                .naive
                .find(changed_id(change))
                .map(|record| record.entry.clone());
            assert_eq!(
                change,
                &latest.map_or(Change::Removed(changed_id(change).clone()), Change::Stored)
            );
        }
    }

    fn write(&mut self) -> Write {
        let id = self.id();
        let now = self.now;
        match self.random.below(8) {
            0..4 => Write::Put(self.put(&id)),
            4 => Write::Delete(id),
            5 => Write::Sweep { id, now },
            _ => {
                let current = self.naive.find(&id).map_or(1, |record| record.entry.revision);
                let revision = current - self.random.below(2) as Revision;
                Write::Refresh {
                    id,
                    revision,
                    now,
                    expires_at: now + self.random.below(100) as Millis,
                }
            }
        }
    }

    fn put(&mut self, id: &ItemId) -> Put {
        let text = format!("text {}", self.random.below(1000));
        let vectors = (0..self.random.below(3))
            .map(|n| vector(&format!("{text} {n}")))
            .collect();
        let index = match self.random.below(3) {
            0 => IndexFields::Default,
            1 => IndexFields::None,
            _ => IndexFields::Paths(vec![text.clone()]),
        };
        let base = match self.random.below(2) {
            0 => put(id, &text, self.now),
            _ => expiring(id, &text, self.now, self.now + self.random.below(100) as Millis),
        };
        Put {
            vectors,
            index,
            pending: self.random.below(4) == 0,
            ..base
        }
    }

    /// Few enough that writes meet.
    fn id(&mut self) -> ItemId {
        let namespaces: [&[&str]; 5] = [&["a"], &["a", "b"], &["a-b"], &["😀"], &["\u{e000}"]];
        let namespace = namespaces[self.random.below(5)];
        id(namespace, ["k", "b:k", "😀", "\u{ffff}"][self.random.below(4)])
    }

    /// Both connections, all documents, and the changes from some earlier point.
    async fn check(&mut self, connection: usize, step: usize) {
        let entries = self.naive.entries();
        let ids: Vec<ItemId> = entries.iter().map(|entry| entry.id.clone()).collect();
        let known = self.random.below(self.naive.history.len());
        for storage in [&self.connections[connection], &self.connections[1 - connection]] {
            let snapshot = storage.load().await.unwrap();
            assert_eq!(
                (snapshot.sequence, &snapshot.entries),
                (self.naive.sequence(), &entries),
                "step {step}"
            );
            let records = storage.read(&ids).await.unwrap();
            let expected: Vec<_> = ids.iter().map(|id| self.naive.find(id).cloned()).collect();
            assert_eq!(records, expected, "step {step}");
            let (newest, changes) = since(storage.changes(known as Sequence).await.unwrap());
            assert_eq!(newest, self.naive.sequence());
            assert_eq!(
                caught_up(&self.naive.history[known], changes),
                entries,
                "step {step} since {known}"
            );
        }
    }
}

/// What a reader that knew `records` knows after the changes.
fn caught_up(records: &[Record], changes: Vec<Change>) -> Vec<Entry> {
    let mut entries: BTreeMap<ItemId, Entry> = records
        .iter()
        .map(|record| (record.entry.id.clone(), record.entry.clone()))
        .collect();
    for change in changes {
        match change {
            Change::Stored(entry) => entries.insert(entry.id.clone(), entry),
            Change::Removed(id) => entries.remove(&id),
        };
    }
    entries.into_values().collect()
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}
