//! What every storage must do, as tests that a backend instantiates in one line.
//!
//! A backend says how to get a database ([`Backend`]); [`storage_contract!`](crate::storage_contract) makes a test of
//! every case, native or in a browser. Each case gets a database of its own. The cases know the trait only: time is
//! a number in the writes, and nothing waits.
//!
//! ```ignore
//! storage_contract!(memory, async { Memory::new() });
//! ```
//!
//! | module      | about                                                                      |
//! |-------------|----------------------------------------------------------------------------|
//! | `writes`    | one item's life: put, overwrite, delete, expiry, refresh, sweep            |
//! | `commits`   | order, all or nothing, racing commits                                      |
//! | `changes`   | sequence numbers, what changed since, several connections                  |
//! | `names`     | namespaces and keys that look alike, odd texts, order                      |
//! | `sift`      | looking through documents                                                  |
//! | `index`     | replacing the index                                                        |
//! | `durability`| reopening and closing                                                      |
//! | `random`    | long random histories, compared with a naive model after every step        |

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // These are tests, also when built as a feature.

use std::rc::Rc;

use async_trait::async_trait;

use super::{
    Change, Changes, Entry, Epoch, Put, Record, Reindexed, Replaced, Revision, Sequence, Snapshot, Storage,
    TextVector, Write,
};
use crate::Result;
use crate::model::{IndexFields, ItemId, Key, Millis, Namespace};

pub mod changes;
pub mod commits;
pub mod durability;
pub mod index;
mod naive;
pub mod names;
pub mod random;
pub mod sift;
pub mod writes;

/// One empty database, to be opened as often as a case likes.
#[async_trait(?Send)]
pub trait Backend {
    /// Opens a connection; all see the same data, also after all earlier ones were closed.
    async fn open(&self) -> Result<Rc<dyn Storage>>;

    /// So many commits of so many items each make the storage forget what the first of them changed.
    fn overflow(&self) -> (usize, usize) {
        (5, 1000)
    }
}

/// Instantiates every case: `storage_contract!(name, future of a Backend)`. The second argument is evaluated anew for
/// every case. The calling crate needs `futures` with its executor natively, `wasm_bindgen_test` on wasm.
#[macro_export]
macro_rules! storage_contract {
    ($name:ident, $backend:expr) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            $crate::storage_contract! { @all $backend;
                writes::an_item_comes_back_as_it_was_put
                writes::an_overwrite_keeps_created_at_and_moves_updated_at_on
                writes::a_put_replaces_document_options_and_vectors_whole
                writes::a_delete_erases_document_and_vectors
                writes::delete_and_put_start_anew
                writes::an_expired_predecessor_counts_as_absent
                writes::a_refresh_moves_the_expiry_and_nothing_else
                writes::a_refresh_of_another_version_or_of_nothing_does_nothing
                writes::a_sweep_removes_only_what_has_expired
                writes::every_put_is_another_revision_whatever_the_clock_says
                commits::writes_of_one_commit_apply_in_order
                commits::a_wrong_epoch_writes_nothing
                commits::a_commit_that_changes_nothing_keeps_the_sequence
                commits::a_thousand_writes_are_one_commit
                commits::racing_commits_all_arrive_whole
                changes::each_commit_gets_the_next_sequence_and_tells_what_became
                changes::changes_give_the_latest_state_of_each_item_once
                changes::another_connection_sees_what_was_committed
                changes::a_reader_that_lags_too_far_reloads
                changes::a_sequence_that_never_was_reloads
                names::namespace_and_key_do_not_run_together
                names::prefixes_that_look_alike_stay_apart
                names::a_snapshot_is_ordered_by_namespace_and_key
                names::odd_documents_survive
                names::documents_are_read_in_the_order_asked
                sift::what_lies_at_or_below_a_prefix_is_looked_through_in_order
                sift::a_long_list_is_gone_on_with
                sift::a_failure_to_judge_a_document_is_the_answer
                index::replacing_the_index_swaps_all_vectors
                index::replacing_the_index_turns_away_older_readers_and_writers
                index::a_stale_replacement_writes_nothing_and_names_the_items
                index::an_expired_item_must_be_listed_and_a_vanished_one_may_be
                index::the_first_index_is_of_an_empty_database
                index::an_index_made_for_another_database_is_refused
                index::vectors_of_another_length_are_refused
                durability::reopening_gives_the_same_data
                durability::erased_data_stays_erased
                durability::closing_twice_is_no_error_and_later_calls_are_closed
                durability::closing_one_connection_leaves_the_others
                random::histories_agree_with_the_naive_model
                random::histories_with_reopening_agree_with_the_naive_model
            }
        }
    };
    (@all $backend:expr; $($module:ident::$case:ident)*) => {
        $($crate::storage_contract!(@one $backend, $module, $case);)*
    };
    (@one $backend:expr, $module:ident, $case:ident) => {
        #[cfg(not(target_arch = "wasm32"))]
        #[test]
        fn $case() {
            ::futures::executor::block_on(async {
                $crate::storage::contract::$module::$case(&$backend.await).await;
            });
        }

        #[cfg(target_arch = "wasm32")]
        #[wasm_bindgen_test::wasm_bindgen_test]
        async fn $case() {
            $crate::storage::contract::$module::$case(&$backend.await).await;
        }
    };
}

fn id(labels: &[&str], key: &str) -> ItemId {
    ItemId {
        namespace: Namespace(labels.iter().map(|&label| label.to_owned()).collect()),
        key: Key(key.to_owned()),
    }
}

/// A document that says who it is.
fn document(text: &str) -> Rc<str> {
    serde_json::json!({ "text": text }).to_string().into()
}

/// A vector that says who it is: the same text gives the same one, another text another one.
fn vector(text: &str) -> TextVector {
    let hash = text.bytes().fold(7_u32, |hash, byte| {
        hash.wrapping_mul(31).wrapping_add(u32::from(byte))
    });
    let angle = hash as f32;
    TextVector {
        text: [hash.to_le_bytes(); 4].concat().try_into().unwrap(),
        vector: Rc::from([angle.cos(), angle.sin(), 0.0]),
        truncated: hash.is_multiple_of(2),
    }
}

/// A put without expiry whose document and vector come from `text`.
fn put(id: &ItemId, text: &str, now: Millis) -> Put {
    Put {
        id: id.clone(),
        value: document(text),
        now,
        ttl: None,
        expires_at: None,
        index: IndexFields::Default,
        pending: false,
        vectors: vec![vector(text)],
    }
}

/// The same with an expiry, which a ttl of a minute may or may not have led to.
fn expiring(id: &ItemId, text: &str, now: Millis, expires_at: Millis) -> Put {
    Put {
        ttl: Some(1.0),
        expires_at: Some(expires_at),
        ..put(id, text, now)
    }
}

/// Commits at the current epoch.
async fn commit(storage: &Rc<dyn Storage>, writes: Vec<Write>) -> Changes {
    let epoch = storage.load().await.unwrap().index.epoch;
    storage.commit(epoch, writes).await.unwrap()
}

async fn commit_puts(storage: &Rc<dyn Storage>, puts: impl IntoIterator<Item = Put>) -> Changes {
    commit(storage, puts.into_iter().map(Write::Put).collect()).await
}

async fn sequence(storage: &Rc<dyn Storage>) -> Sequence {
    storage.load().await.unwrap().sequence
}

async fn record(storage: &Rc<dyn Storage>, id: &ItemId) -> Option<Record> {
    let mut records = storage.read(std::slice::from_ref(id)).await.unwrap();
    assert_eq!(records.len(), 1);
    records.remove(0)
}

/// The item's entry, after checking that snapshot and record agree on it.
async fn entry(storage: &Rc<dyn Storage>, id: &ItemId) -> Option<Entry> {
    let entries = storage.load().await.unwrap().entries;
    let mut found = entries.into_iter().filter(|entry| &entry.id == id);
    let (entry, twice) = (found.next(), found.next());
    assert_eq!(twice, None, "an item is in the snapshot once");
    assert_eq!(record(storage, id).await.map(|record| record.entry), entry);
    entry
}

/// The number of the database.
async fn database(storage: &Rc<dyn Storage>) -> u64 {
    storage.load().await.unwrap().index.epoch.database
}

/// Sequence and changes of an answer that is no reload.
fn since(changes: Changes) -> (Sequence, Vec<Change>) {
    match changes {
        Changes::Since {
            sequence, changes, ..
        } => (sequence, changes),
        Changes::Reload => panic!("expected changes, got a reload"),
    }
}

/// Puts changes into an order that can be compared.
fn sorted(mut changes: Vec<Change>) -> Vec<Change> {
    changes.sort_by(|a, b| changed_id(a).cmp(changed_id(b)));
    changes
}

fn changed_id(change: &Change) -> &ItemId {
    match change {
        Change::Stored(entry) => &entry.id,
        Change::Removed(id) => id,
    }
}

fn reindexed(entry: &Entry, text: &str) -> Reindexed {
    Reindexed {
        id: entry.id.clone(),
        revision: entry.revision,
        vectors: vec![vector(text)],
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
#[allow(clippy::unwrap_used, clippy::panic)] // a test may
mod tests {
    #[test]
    fn every_case_is_in_the_macro() {
        let list = include_str!("mod.rs");
        for (module, source) in [
            ("writes", include_str!("writes.rs")),
            ("commits", include_str!("commits.rs")),
            ("changes", include_str!("changes.rs")),
            ("names", include_str!("names.rs")),
            ("sift", include_str!("sift.rs")),
            ("index", include_str!("index.rs")),
            ("durability", include_str!("durability.rs")),
            ("random", include_str!("random.rs")),
        ] {
            let cases = source
                .lines()
                .filter_map(|line| line.strip_prefix("pub async fn "));
            let names: Vec<&str> = cases.filter_map(|case| case.split('(').next()).collect();
            assert!(!names.is_empty());
            for name in names {
                assert!(
                    list.contains(&format!(" {module}::{name}\n")),
                    "{module}::{name} is never run"
                );
            }
        }
    }
}
