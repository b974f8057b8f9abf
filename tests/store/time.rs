//! Time to live.

use burrow::store::{StoreOptions, TtlOptions};
use futures::executor::block_on;
use serde_json::{Value, json};

use crate::support::*;

fn put(table: &Table, key: &str, ttl: Value) {
    let op = json!({ "op": "put", "namespace": [key], "key": key, "value": { "text": "tea" }, "ttl": ttl });
    table.ask(op).unwrap();
}

#[test]
fn an_expired_item_is_gone_from_every_answer_at_that_instant_swept_or_not() {
    let table = Table::new();
    put(&table, "brief", json!(0.5));
    put(&table, "stays", json!(null));
    let seen = || {
        let list = namespaces(table.ask(json!({ "op": "listNamespaces" })).unwrap()).len();
        let found = table.search(json!({})).items.len();
        let meant = table.search(json!({ "query": "tea" })).items.len();
        let one = table.search(json!({ "limit": 1, "query": "tea" })).has_more;
        (
            table.get(&["brief"], "brief").is_some(),
            list,
            found,
            meant,
            one,
            table.stats().items,
        )
    };
    table.clock.advance(MINUTE / 2 - 1);
    assert_eq!(seen(), (true, 2, 2, 2, true, 2));
    table.clock.advance(1);
    assert_eq!(seen(), (false, 1, 1, 1, false, 1));
    assert_eq!(table.stats().expired, 1);
    assert_eq!(block_on(table.store.sweep()), Ok(1));
    assert_eq!(seen(), (false, 1, 1, 1, false, 1));
    assert_eq!(table.stored(), [("stays".to_owned(), 1)]);
    assert_eq!(block_on(table.store.sweep()), Ok(0));
}

#[test]
fn written_again_after_expiry_it_is_a_new_item() {
    let table = Table::new();
    put(&table, "k", json!(1));
    table.clock.advance(MINUTE);
    put(&table, "k", json!(1));
    let item = table.get(&["k"], "k").unwrap();
    assert_eq!(
        (item.created_at, item.updated_at),
        (START + MINUTE, START + MINUTE)
    );
}

#[test]
fn a_refreshing_get_restarts_the_clock_and_leaves_updated_at() {
    let table = Table::new();
    put(&table, "k", json!(1));
    table.clock.advance(MINUTE - 1);
    let read = |refresh: bool| {
        let op = json!({ "op": "get", "namespace": ["k"], "key": "k", "refreshTtl": refresh });
        item(table.ask(op).unwrap())
    };
    assert_eq!(read(false).unwrap().expires_at, Some(START + MINUTE));
    let refreshed = read(true).unwrap();
    assert_eq!(
        (refreshed.expires_at, refreshed.updated_at),
        (Some(START + 2 * MINUTE - 1), START)
    );
    table.clock.advance(MINUTE - 1);
    assert_eq!(read(false), Some(refreshed));
    table.clock.advance(1);
    assert_eq!(read(true), None);
}

#[test]
fn a_search_refreshes_only_what_it_returns() {
    let table = Table::new();
    for key in ["a", "b", "c"] {
        put(&table, key, json!(1));
    }
    table.clock.advance(1_000);
    let page =
        table.search(json!({ "limit": 1, "offset": 1, "refreshTtl": true, "filter": { "text": "tea" } }));
    assert_eq!(keys(&page), ["b"]);
    assert_eq!(page.items[0].item.expires_at, Some(START + MINUTE + 1_000));
    let expiry = |key| table.get(&[key], key).unwrap().expires_at.unwrap() - START;
    assert_eq!(["a", "b", "c"].map(expiry), [MINUTE, MINUTE + 1_000, MINUTE]);
}

#[test]
fn the_store_says_what_a_put_and_a_read_do_unless_they_say_it_themselves() {
    let ttl = TtlOptions {
        default_ttl: Some(2.0),
        refresh_on_read: false,
    };
    let table = Table::with(
        Fake::words(),
        StoreOptions {
            ttl,
            ..fields(&["text"])
        },
    );
    table.text(&["default"], "default", "tea");
    put(&table, "own", json!(1));
    put(&table, "never", json!(null));
    table.clock.advance(1_000);
    let op = json!({ "op": "get", "namespace": ["default"], "key": "default" });
    let expiry = |key| table.get(&[key], key).unwrap().expires_at;
    assert_eq!(
        item(table.ask(op).unwrap()).unwrap().expires_at,
        Some(START + 2 * MINUTE)
    );
    assert_eq!([expiry("own"), expiry("never")], [Some(START + MINUTE), None]);
}

#[test]
fn a_put_without_ttl_over_one_with_a_ttl_lives_by_the_store_s_default() {
    let table = Table::new();
    put(&table, "k", json!(1));
    table.text(&["k"], "k", "tea");
    assert_eq!(table.get(&["k"], "k").unwrap().expires_at, None);
}

#[test]
fn a_default_that_is_no_time_is_refused() {
    for minutes in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let ttl = TtlOptions {
            default_ttl: Some(minutes),
            refresh_on_read: true,
        };
        let table = Table::new();
        let options = StoreOptions {
            ttl,
            ..Default::default()
        };
        let error = open(&table.storage, None, &table.clock, options).err().unwrap();
        assert_eq!(error.code(), "invalid_argument");
    }
}
