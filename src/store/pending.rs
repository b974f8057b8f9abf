//! Who writes a key next.
//!
//! Embedding takes as long as it takes, so two racing puts of one key may be ready in any order; the later *call* has
//! to win, with its own vectors. A call therefore draws a [`Ticket`] for all its keys at once, before it first yields,
//! prepares whatever it likes concurrently, and waits for its [`Ticket::turn`] before it commits. Tickets are numbered
//! and a ticket waits only for smaller numbers, so there is no deadlock. A ticket that is dropped (done, failed, or a
//! call that was abandoned half-way) steps out of every queue and wakes its successors.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

use crate::model::ItemId;

/// The queues of all keys that are being written.
#[derive(Debug, Default, Clone)]
pub(super) struct Pending(Rc<RefCell<Queues>>);

#[derive(Debug, Default)]
struct Queues {
    last: u64,
    waiting: BTreeMap<ItemId, BTreeSet<u64>>,
    wakers: HashMap<u64, Waker>,
}

/// A place in the queues of some keys.
#[derive(Debug)]
pub(super) struct Ticket {
    queues: Rc<RefCell<Queues>>,
    number: u64,
    keys: BTreeSet<ItemId>,
}

impl Pending {
    /// Draws a ticket behind everybody who already waits for one of these keys.
    pub(super) fn draw(&self, keys: BTreeSet<ItemId>) -> Ticket {
        let mut queues = self.0.borrow_mut();
        queues.last += 1;
        let number = queues.last;
        for key in &keys {
            queues.waiting.entry(key.clone()).or_default().insert(number);
        }
        Ticket {
            queues: Rc::clone(&self.0),
            number,
            keys,
        }
    }
}

impl Ticket {
    /// Waits until every earlier ticket of these keys is gone. Stays true until the ticket is dropped.
    pub(super) async fn turn(&self) {
        poll_fn(|context| {
            let mut queues = self.queues.borrow_mut();
            if self.keys.iter().all(|key| queues.next(key) == Some(self.number)) {
                return Poll::Ready(());
            }
            queues.wakers.insert(self.number, context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

impl Queues {
    fn next(&self, key: &ItemId) -> Option<u64> {
        self.waiting.get(key)?.first().copied()
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut queues = self.queues.borrow_mut();
        queues.wakers.remove(&self.number);
        let mut successors = BTreeSet::new();
        for key in &self.keys {
            if let Some(queue) = queues.waiting.get_mut(key) {
                queue.remove(&self.number);
                if queue.is_empty() {
                    queues.waiting.remove(key);
                }
            }
            successors.extend(queues.next(key));
        }
        let wakers: Vec<Waker> = successors
            .iter()
            .filter_map(|number| queues.wakers.remove(number))
            .collect();
        drop(queues);
        wakers.into_iter().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;
    use crate::model::{Key, Namespace};

    fn keys(names: &[&str]) -> BTreeSet<ItemId> {
        let id = |name: &&str| ItemId {
            namespace: Namespace::default(),
            key: Key((*name).to_owned()),
        };
        names.iter().map(id).collect()
    }

    fn has_turn(ticket: &Ticket) -> bool {
        ticket.turn().now_or_never().is_some()
    }

    #[test]
    fn tickets_of_one_key_go_in_the_order_they_were_drawn() {
        let pending = Pending::default();
        let first = pending.draw(keys(&["a"]));
        let second = pending.draw(keys(&["a"]));
        assert!(has_turn(&first) && !has_turn(&second));
        drop(first);
        assert!(has_turn(&second));
    }

    #[test]
    fn other_keys_do_not_wait() {
        let pending = Pending::default();
        let _first = pending.draw(keys(&["a"]));
        assert!(has_turn(&pending.draw(keys(&["b"]))));
        assert!(has_turn(&pending.draw(keys(&[]))));
    }

    #[test]
    fn a_ticket_for_several_keys_waits_for_all_of_them() {
        let pending = Pending::default();
        let a = pending.draw(keys(&["a"]));
        let b = pending.draw(keys(&["b"]));
        let both = pending.draw(keys(&["a", "b"]));
        let after = pending.draw(keys(&["b"]));
        drop(a);
        assert!(!has_turn(&both));
        drop(b);
        assert!(has_turn(&both) && !has_turn(&after));
        drop(both);
        assert!(has_turn(&after));
    }

    #[test]
    fn a_waiter_is_woken_when_its_predecessor_is_dropped() {
        let pending = Pending::default();
        let first = pending.draw(keys(&["a"]));
        let second = pending.draw(keys(&["a"]));
        let mut pool = futures::executor::LocalPool::new();
        let woken = Rc::new(std::cell::Cell::new(false));
        let flag = Rc::clone(&woken);
        let task = async move {
            second.turn().await;
            flag.set(true);
        };
        futures::task::LocalSpawnExt::spawn_local(&pool.spawner(), task).unwrap();
        pool.run_until_stalled();
        assert!(!woken.get());
        drop(first);
        pool.run_until_stalled();
        assert!(woken.get());
    }

    #[test]
    fn an_abandoned_ticket_in_the_middle_blocks_nobody_and_leaves_nothing_behind() {
        let pending = Pending::default();
        let first = pending.draw(keys(&["a"]));
        let abandoned = pending.draw(keys(&["a"]));
        let last = pending.draw(keys(&["a"]));
        drop(abandoned);
        assert!(!has_turn(&last));
        drop(first);
        assert!(has_turn(&last));
        drop(last);
        let queues = pending.0.borrow();
        assert!(queues.waiting.is_empty() && queues.wakers.is_empty());
    }
}
