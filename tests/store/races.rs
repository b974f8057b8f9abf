//! Calls that overlap. Embedders are held and released by hand, so that every order is chosen and none is luck.

use std::future::Future;
use std::pin::Pin;

use burrow::model::OpResult;
use burrow::{Error, Result};
use futures::executor::block_on;
use futures::future::join_all;
use futures::poll;
use serde_json::{Value, json};

use crate::support::*;

fn put(key: &str, text: &str) -> Value {
    json!({ "op": "put", "namespace": ["a"], "key": key, "value": { "text": text } })
}

fn delete(key: &str) -> Value {
    json!({ "op": "delete", "namespace": ["a"], "key": key })
}

type Call<'a> = Pin<Box<dyn Future<Output = Result<OpResult>> + 'a>>;

/// Calls without awaiting.
fn call(table: &Table, op: Value) -> Call<'_> {
    Box::pin(table.store.execute(parse(op).unwrap()))
}

/// The text of `k`, and whether its vector is that text's.
fn settled(table: &Table) -> (String, bool) {
    let text = table.get(&["a"], "k").unwrap().value["text"]
        .as_str()
        .unwrap()
        .to_owned();
    let page = table.search(json!({ "query": text }));
    (text, page.items[0].score.unwrap() > 0.999)
}

#[test]
fn of_two_racing_puts_the_later_call_wins_though_its_vector_is_ready_first() {
    let table = Table::new();
    table.embedder.hold.set(true);
    block_on(async {
        let (mut first, mut second) = (call(&table, put("k", "coffee")), call(&table, put("k", "tea")));
        assert!(poll!(&mut first).is_pending() && poll!(&mut second).is_pending());
        table.embedder.release_at(1);
        assert!(poll!(&mut second).is_pending(), "it waits for its turn");
        table.embedder.release();
        assert!(poll!(&mut first).is_ready() && poll!(&mut second).is_ready());
    });
    table.embedder.hold.set(false);
    assert_eq!(settled(&table), ("tea".to_owned(), true));
}

#[test]
fn the_order_is_that_of_the_calls_and_not_of_the_awaits() {
    let table = Table::new();
    block_on(async {
        let (first, mut second) = (call(&table, put("k", "coffee")), call(&table, put("k", "tea")));
        assert!(poll!(&mut second).is_pending());
        first.await.unwrap();
        second.await.unwrap();
    });
    assert_eq!(settled(&table), ("tea".to_owned(), true));
}

#[test]
fn a_delete_called_after_a_put_wins_over_it() {
    let table = Table::new();
    table.embedder.hold.set(true);
    block_on(async {
        let (mut first, mut second) = (call(&table, put("k", "coffee")), call(&table, delete("k")));
        assert!(poll!(&mut first).is_pending() && poll!(&mut second).is_pending());
        table.embedder.release();
        first.await.unwrap();
        second.await.unwrap();
    });
    assert_eq!(table.get(&["a"], "k"), None);
}

#[test]
fn a_put_that_fails_or_is_abandoned_does_not_block_its_successors() {
    let table = Table::new();
    table.embedder.hold.set(true);
    table.embedder.fail_next(Error::embedding("no"));
    block_on(async {
        let (mut hung, mut failing) = (call(&table, put("k", "hung")), call(&table, put("k", "failing")));
        let mut last = call(&table, put("k", "tea"));
        for pending in [&mut hung, &mut failing, &mut last] {
            assert!(poll!(pending).is_pending());
        }
        for _ in 0..2 {
            table.embedder.release_at(1);
        }
        assert!(poll!(&mut failing).is_ready());
        assert!(poll!(&mut last).is_pending());
        drop(hung);
        last.await.unwrap();
    });
    table.embedder.hold.set(false);
    assert_eq!(settled(&table), ("tea".to_owned(), true));
}

#[test]
fn other_keys_do_not_wait() {
    let table = Table::new();
    table.embedder.hold.set(true);
    block_on(async {
        let mut held = call(&table, put("k", "coffee"));
        assert!(poll!(&mut held).is_pending());
        table.embedder.hold.set(false);
        call(&table, put("other", "tea")).await.unwrap();
        let found = call(&table, search(json!({ "query": "tea" }))).await.unwrap();
        assert_eq!(keys(&page(found)), ["other"]);
        table.embedder.release();
        held.await.unwrap();
    });
    assert_eq!(table.stored().len(), 2);
}

#[test]
fn racing_batches_with_keys_in_common_are_applied_one_after_the_other() {
    let table = Table::new();
    table.embedder.hold.set(true);
    block_on(async {
        let ops = |text: &str| parse_all(json!([put("k", text), put("l", text)])).unwrap();
        let mut first = Box::pin(table.store.batch(ops("coffee")));
        let mut second = Box::pin(table.store.batch(ops("tea").into_iter().rev().collect()));
        assert!(poll!(&mut first).is_pending() && poll!(&mut second).is_pending());
        table.embedder.release_at(1);
        assert!(poll!(&mut second).is_pending());
        table.embedder.release();
        first.await.unwrap();
        second.await.unwrap();
    });
    let texts = ["k", "l"].map(|key| table.get(&["a"], key).unwrap().value["text"].clone());
    assert_eq!(texts, ["tea", "tea"]);
}

#[test]
fn sixty_concurrent_puts_are_all_stored_and_those_that_fail_leave_nothing() {
    let table = Table::new();
    let third = |n: usize| n.is_multiple_of(3).then(|| Error::embedding("half-way"));
    table.embedder.failures.borrow_mut().extend((0..60).map(third));
    let ops = (0..60).map(|n| call(&table, put(&format!("{n:02}"), &format!("tea {n}"))));
    let answers = block_on(join_all(ops));
    let failed = answers.iter().filter(|answer| answer.is_err()).count();
    assert_eq!((failed, table.stored().len()), (20, 40));
    for n in 0..60 {
        assert_eq!(table.get(&["a"], &format!("{n:02}")).is_some(), n % 3 != 0);
    }
    let page = table.search(json!({ "query": "tea", "limit": 100 }));
    assert_eq!(page.items.len(), 40);
}

#[test]
fn close_rejects_what_is_still_embedded_and_does_not_wait_for_it() {
    let table = Table::new();
    table.embedder.hold.set(true);
    block_on(async {
        let mut write = call(&table, put("k", "tea"));
        let mut behind = call(&table, delete("k"));
        let mut read = call(&table, search(json!({ "query": "tea" })));
        for pending in [&mut write, &mut behind, &mut read] {
            assert!(poll!(pending).is_pending());
        }
        // The embedder never answers.
        table.store.close().await.unwrap();
        for refused in [write, behind, read, call(&table, put("late", "tea"))] {
            assert_eq!(refused.await.unwrap_err().code(), "closed");
        }
    });
    assert!(table.stored().is_empty());
}
