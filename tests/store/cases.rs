//! Failures that other stores were reported for. Each test names where.

use std::rc::Rc;

use burrow::storage::{Put, Storage, TextVector, Write};
use futures::executor::block_on;
use serde_json::{Value, json};

use crate::support::*;

/// langchain-ai/langgraphjs#2721
#[test]
fn a_prefix_matches_whole_labels_only() {
    let table = Table::new();
    table.text(&["tenant", "acme"], "own", "x");
    table.text(&["tenant", "acme", "below"], "below", "x");
    table.text(&["tenant", "acme-corp"], "other", "x");
    table.text(&["tenant", "acm"], "shorter", "x");
    let found = |query: Value| {
        let page = table.search(json!({ "prefix": ["tenant", "acme"], "query": query }));
        let mut keys: Vec<_> = keys(&page).into_iter().map(str::to_owned).collect();
        keys.sort();
        keys
    };
    assert_eq!(found(json!(null)), ["below", "own"]);
    assert_eq!(found(json!("x")), ["below", "own"]);
}

/// langchain-ai/langgraph#8340, #7411
#[test]
fn overwriting_keeps_created_at_and_advances_updated_at() {
    let table = Table::new();
    table.text(&["a"], "k", "one");
    table.clock.advance(5);
    table.text(&["a"], "k", "two");
    let item = table.get(&["a"], "k").unwrap();
    assert_eq!((item.created_at, item.updated_at), (START, START + 5));
    // The clock stands still: the update is later all the same.
    table.text(&["a"], "k", "three");
    assert_eq!(table.get(&["a"], "k").unwrap().updated_at, START + 6);
}

#[test]
fn delete_and_put_start_anew() {
    let table = Table::new();
    table.text(&["a"], "k", "one");
    table.clock.advance(5);
    table.delete(&["a"], "k");
    table.text(&["a"], "k", "two");
    assert_eq!(table.get(&["a"], "k").unwrap().created_at, START + 5);
}

/// langchain-ai/langgraph#8757
#[test]
fn deleting_an_item_erases_its_vectors_from_memory_and_from_storage() {
    let table = Table::new();
    table.text(&["a"], "k", "tea");
    assert_eq!(
        (table.stored(), table.stats().vectors),
        (vec![("k".to_owned(), 1)], 1)
    );
    table.delete(&["a"], "k");
    assert_eq!((table.stored(), table.stats().vectors), (vec![], 0));
    assert!(table.search(json!({ "query": "tea" })).items.is_empty());
}

/// langchain-ai/langgraph#8822
#[test]
fn two_puts_with_one_text_in_one_batch_are_both_stored_and_embedded_once() {
    let table = Table::new();
    let put =
        |key: &str| json!({ "op": "put", "namespace": ["a"], "key": key, "value": { "text": "same words" } });
    table.batch(json!([put("x"), put("y")])).unwrap();
    assert_eq!(table.stored(), [("x".to_owned(), 1), ("y".to_owned(), 1)]);
    let calls: Vec<_> = table
        .embedder
        .calls
        .borrow()
        .iter()
        .map(|(texts, _)| texts.clone())
        .collect();
    assert_eq!(calls, [["same words"]]);
    let page = table.search(json!({ "query": "same words" }));
    assert_eq!(keys(&page), ["x", "y"]);
}

/// langchain-ai/langgraph#8977
#[test]
fn an_item_with_several_vectors_is_one_hit_and_pages_are_full() {
    let table = Table::with(Fake::words(), fields(&["parts[*]"]));
    for key in 0..6 {
        let parts: Vec<String> = (0..5).map(|part| format!("tea number {key} {part}")).collect();
        table.put(&["a"], &format!("k{key}"), json!({ "parts": parts }));
    }
    let mut seen = Vec::new();
    for offset in [0, 2, 4] {
        let page = table.search(json!({ "query": "tea", "limit": 2, "offset": offset }));
        assert_eq!(page.items.len(), 2);
        assert_eq!(page.has_more, offset < 4);
        seen.extend(keys(&page).into_iter().map(str::to_owned));
    }
    seen.sort();
    assert_eq!(seen, ["k0", "k1", "k2", "k3", "k4", "k5"]);
}

/// langchain-ai/langgraph#7880
#[test]
fn a_range_skips_items_whose_field_is_missing_or_not_a_number() {
    let table = Table::new();
    for (key, value) in [
        ("low", json!({ "score": 1 })),
        ("high", json!({ "score": 7 })),
        ("word", json!({ "score": "high" })),
        ("null", json!({ "score": null })),
        ("none", json!({})),
    ] {
        table.put(&["a"], key, value);
    }
    assert_eq!(
        keys(&table.search(json!({ "filter": { "score": { "$gt": 5 } } }))),
        ["high"]
    );
}

/// langchain-ai/langgraph#7684
#[test]
fn numbers_compare_as_numbers() {
    let table = Table::new();
    table.put(&["a"], "nine", json!({ "n": 9 }));
    table.put(&["a"], "ten", json!({ "n": 10 }));
    assert_eq!(
        keys(&table.search(json!({ "filter": { "n": { "$gte": 10 } } }))),
        ["ten"]
    );
}

/// langchain-ai/langgraph#8829
#[test]
fn an_operator_is_honoured_or_an_error_and_never_silently_empty() {
    let table = Table::new();
    for key in ["a", "b", "c"] {
        table.put(&["a"], key, json!({ "kind": key }));
    }
    let mut either = table.search(json!({ "filter": { "$or": [{ "kind": "a" }, { "kind": "c" }] } }));
    either.items.sort_by(|a, b| key(a).cmp(key(b)));
    assert_eq!(keys(&either), ["a", "c"]);
    let error = table
        .try_search(json!({ "filter": { "kind": { "$regex": "a" } } }))
        .unwrap_err();
    assert_eq!(error.code(), "invalid_filter");
    assert!(error.to_string().contains("$regex"), "{error}");
}

/// langchain-ai/langgraph#8696
#[test]
fn a_negative_or_broken_limit_is_refused() {
    let table = Table::new();
    for field in ["limit", "offset"] {
        for bad in [json!(-1), json!(1.5), json!("3"), json!(null)] {
            let mut op = search(json!({}));
            op[field] = bad;
            assert_eq!(table.ask(op).unwrap_err().code(), "invalid_argument");
        }
    }
}

/// langchain-ai/langgraph#8831
#[test]
fn without_a_query_the_order_is_last_update_then_namespace_then_key() {
    let table = Table::new();
    for (namespace, key) in [("b", "k1"), ("a", "k2"), ("a", "k1"), ("b", "k0")] {
        table.text(&[namespace], key, "x");
    }
    table.clock.advance(1);
    table.text(&["c"], "newest", "x");
    let page = table.search(json!({}));
    let order: Vec<_> = page
        .items
        .iter()
        .map(|hit| (hit.item.namespace.0[0].as_str(), key(hit)))
        .collect();
    assert_eq!(
        order,
        [
            ("c", "newest"),
            ("a", "k1"),
            ("a", "k2"),
            ("b", "k0"),
            ("b", "k1")
        ]
    );
    assert!(page.items.iter().all(|hit| hit.score.is_none()));
    assert_eq!(table.search(json!({})), page);
}

/// langchain-ai/langgraph#8806
#[test]
fn a_refreshing_read_extends_each_item_by_its_own_ttl_and_spares_those_without() {
    let table = Table::new();
    for (key, ttl) in [("short", json!(1)), ("long", json!(10)), ("never", json!(null))] {
        let op = json!({ "op": "put", "namespace": ["a"], "key": key, "value": {}, "ttl": ttl });
        table.ask(op).unwrap();
    }
    table.clock.advance(MINUTE / 2);
    table.search(json!({ "refreshTtl": true }));
    let expiry = |key| table.get(&["a"], key).unwrap().expires_at;
    let now = START + MINUTE / 2;
    assert_eq!(
        [expiry("short"), expiry("long"), expiry("never")],
        [Some(now + MINUTE), Some(now + 10 * MINUTE), None]
    );
}

/// langchain-ai/langgraph#8590
#[test]
fn a_batch_that_fails_leaves_nothing() {
    let table = Table::new();
    table.text(&["a"], "old", "old");
    let put = |key: &str, text: &str| json!({ "op": "put", "namespace": ["a"], "key": key, "value": { "text": text } });
    let delete = json!({ "op": "delete", "namespace": ["a"], "key": "old" });

    table
        .embedder
        .fail_next(burrow::Error::embedding("out of memory"));
    let error = table
        .batch(json!([delete, put("x", "one"), put("y", "two")]))
        .unwrap_err();
    assert_eq!(
        (error.code(), &error.context().details["position"]),
        ("embedding", &json!(1))
    );
    assert_eq!(table.stored(), [("old".to_owned(), 1)]);

    let bad = json!({ "op": "search", "prefix": [], "filter": { "n": { "$near": 1 } } });
    let error = table.batch(json!([delete, put("x", "one"), bad])).unwrap_err();
    assert_eq!(
        (error.code(), &error.context().details["position"]),
        ("invalid_filter", &json!(2))
    );
    assert_eq!(table.stored(), [("old".to_owned(), 1)]);

    table.batch(json!([delete, put("x", "one")])).unwrap();
    assert_eq!(table.stored(), [("x".to_owned(), 1)]);
}

/// Seen in LangGraph.js' InMemoryStore.
#[test]
fn any_text_can_be_indexed_and_found() {
    let table = Table::new();
    for text in [
        "constructor",
        "__proto__",
        "toString",
        "",
        "\0",
        "😀",
        "hasOwnProperty",
    ] {
        table.text(&["a"], "k", text);
        let found = table.search(json!({ "query": "constructor" }));
        assert_eq!(found.items[0].item.value["text"], text);
        assert!(found.items[0].score.unwrap().is_finite());
    }
    table.put(
        &["a"],
        "own",
        json!({ "__proto__": { "x": 1 }, "constructor": "mine" }),
    );
    let value = Value::Object(table.get(&["a"], "own").unwrap().value);
    assert_eq!(value, json!({ "__proto__": { "x": 1 }, "constructor": "mine" }));
}

/// Seen: a stock store fails on 130,000 items in one namespace.
#[test]
fn one_namespace_holds_130_000_items() {
    const ITEMS: usize = 130_000;
    let embedder = Fake::new("needle", |text| {
        if text == "needle" {
            vec![0.0, 1.0]
        } else {
            vec![1.0, 0.0]
        }
    });
    let mut table = Table::with(embedder.clone(), fields(&["text"]));
    table.text(&["all"], "needle", "needle");
    let template = block_on(table.storage.load()).unwrap().entries.remove(0);
    let put = |n: usize| {
        let mut id = template.id.clone();
        id.key.0 = n.to_string();
        let vector = TextVector {
            vector: Rc::from([1.0, 0.0]),
            ..template.vectors[0].clone()
        };
        let index = template.index.clone();
        let value = Rc::from("{}");
        Write::Put(Put {
            id,
            value,
            now: START,
            ttl: None,
            expires_at: None,
            index,
            pending: false,
            vectors: vec![vector],
        })
    };
    let epoch = block_on(table.storage.load()).unwrap().index.epoch;
    block_on(table.storage.commit(epoch, (1..ITEMS).map(put).collect())).unwrap();
    table.store = open(&table.storage, Some(embedder), &table.clock, fields(&["text"])).unwrap();
    let page = table.search(json!({ "query": "needle", "limit": 3 }));
    let scores: Vec<_> = page.items.iter().map(|hit| hit.score.unwrap()).collect();
    assert_eq!(
        (key(&page.items[0]), &scores[..], page.has_more),
        ("needle", &[1.0, 0.0, 0.0][..], true)
    );
    assert_eq!(
        table
            .search(json!({ "limit": 5, "offset": ITEMS - 3 }))
            .items
            .len(),
        3
    );
    assert_eq!(table.stats().items, ITEMS);
}

/// langchain-ai/langgraph#7427
#[test]
fn an_integer_in_a_namespace_is_a_clear_error() {
    let table = Table::new();
    let op = json!({ "op": "put", "namespace": ["users", 42], "key": "k", "value": {} });
    let error = table.ask(op).unwrap_err();
    assert_eq!(error.code(), "invalid_namespace");
    assert!(
        error.to_string().contains("42") && error.to_string().contains("number"),
        "{error}"
    );
    assert!(table.stored().is_empty());
}
