//! Vectors of another length than the database's.

use std::rc::Rc;

use burrow::Result;
use burrow::storage::memory::MemoryStorage;
use burrow::store::Store;
use serde_json::json;

use crate::support::*;

/// Two tabs whose embedders have the same name and another length, on a database without vectors.
fn lengths(storage: &MemoryStorage, clock: &Rc<ManualClock>, dims: usize, declared: bool) -> Result<Store> {
    let embedder = Rc::new(Fake {
        dims: declared.then_some(dims),
        ..Rc::into_inner(Fake::new("custom:unnamed", move |text| {
            let mut vector = vec![0.0; dims];
            vector[text.len() % dims] = 1.0;
            vector
        }))
        .unwrap()
    });
    open(storage, Some(embedder), clock, fields(&["text"]))
}

#[test]
fn vectors_of_two_lengths_do_not_get_into_one_database() {
    for declared in [true, false] {
        let (storage, clock) = (MemoryStorage::new(), ManualClock::new());
        let one = lengths(&storage, &clock, 3, declared).unwrap();
        let two = lengths(&storage, &clock, 5, declared).unwrap();
        ask(&one, put("one", "a")).unwrap();
        let error = ask(&two, put("two", "bb")).unwrap_err();
        assert_eq!(error.code(), "model_mismatch", "{error}");
        let details = &error.context().details;
        assert_eq!((&details["storedDims"], &details["dims"]), (&json!(3), &json!(5)));
        let error = ask(&two, search(json!({ "query": "bb" }))).unwrap_err();
        assert_eq!(error.code(), "model_mismatch");
        assert_eq!(
            keys(&page(ask(&one, search(json!({ "query": "a" }))).unwrap())),
            ["one"]
        );
        let again = lengths(&storage, &clock, 3, true).unwrap();
        assert_eq!(
            keys(&page(ask(&again, search(json!({ "query": "a" }))).unwrap())),
            ["one"]
        );
        assert_eq!(
            lengths(&storage, &clock, 5, true).err().unwrap().code(),
            "model_mismatch"
        );
    }
}

#[test]
fn a_query_of_another_length_than_the_index_is_a_mismatch_and_not_an_empty_page() {
    let (storage, clock) = (MemoryStorage::new(), ManualClock::new());
    let one = lengths(&storage, &clock, 3, true).unwrap();
    let two = lengths(&storage, &clock, 5, true).unwrap();
    ask(&one, put("one", "a")).unwrap();
    let error = ask(&two, search(json!({ "query": "a" }))).unwrap_err();
    assert_eq!(error.code(), "model_mismatch");
}
