//! Items, namespaces, searches and lists, one at a time.

use burrow::model::Namespace;
use serde_json::{Value, json};

use crate::support::*;

fn list(table: &Table, options: Value) -> Vec<Vec<String>> {
    let mut op = json!({ "op": "listNamespaces" });
    op.as_object_mut()
        .unwrap()
        .extend(options.as_object().unwrap().clone());
    namespaces(table.ask(op).unwrap())
        .into_iter()
        .map(|Namespace(labels)| labels)
        .collect()
}

#[test]
fn a_put_replaces_the_whole_document() {
    let table = Table::new();
    table.put(&["a"], "k", json!({ "text": "one", "mood": "good" }));
    table.put(&["a"], "k", json!({ "text": "two" }));
    assert_eq!(
        Value::Object(table.get(&["a"], "k").unwrap().value),
        json!({ "text": "two" })
    );
}

#[test]
fn a_put_of_null_deletes_and_deleting_what_is_not_there_is_no_error() {
    let table = Table::new();
    table.text(&["a"], "k", "one");
    table
        .ask(json!({ "op": "put", "namespace": ["a"], "key": "k", "value": null }))
        .unwrap();
    assert_eq!(table.get(&["a"], "k"), None);
    table.delete(&["a"], "k");
    table.delete(&["nowhere"], "k");
}

#[test]
fn a_colon_in_a_key_and_a_level_of_namespace_are_two_items() {
    let table = Table::new();
    table.text(&["a"], "b:c", "first");
    table.text(&["a", "b"], "c", "second");
    assert_eq!(table.get(&["a"], "b:c").unwrap().value["text"], "first");
    assert_eq!(table.get(&["a", "b"], "c").unwrap().value["text"], "second");
    assert_eq!(table.search(json!({ "query": "first" })).items.len(), 2);
    table.delete(&["a"], "b:c");
    assert_eq!(table.get(&["a", "b"], "c").unwrap().value["text"], "second");
}

#[test]
fn numbers_survive_to_the_last_bit() {
    let table = Table::new();
    let value =
        json!({ "sum": 0.30000000000000004, "tiny": 5e-324, "large": 9007199254740993_u64, "text": "é😀" });
    table.put(&["a"], "k", value.clone());
    assert_eq!(Value::Object(table.get(&["a"], "k").unwrap().value), value);
}

#[test]
fn an_empty_query_is_no_query() {
    let table = Table::new();
    table.text(&["a"], "k", "tea");
    let page = table.search(json!({ "query": "" }));
    assert_eq!((keys(&page), page.items[0].score), (vec!["k"], None));
    assert!(table.embedder.texts(burrow::embed::TextKind::Query).is_empty());
}

#[test]
fn a_hit_carries_cosine_and_cut_texts() {
    let table = Table::new();
    table.text(&["a"], "same", "green tea");
    table.text(&["a"], "long", &"tea ".repeat(40));
    let page = table.search(json!({ "query": "green tea" }));
    assert_eq!(keys(&page), ["same", "long"]);
    let [same, long] = &page.items[..] else {
        panic!("two hits")
    };
    // "tea" against "green tea" is 1/√2.
    assert!((same.score.unwrap() - 1.0).abs() < 1e-6 && !same.truncated);
    assert!((long.score.unwrap() - 0.5_f64.sqrt()).abs() < 1e-6 && long.truncated);
    assert_eq!(same.similarity, same.score);
}

#[test]
fn min_score_filters_on_the_raw_score_before_paging() {
    let table = Table::new();
    for (key, text) in [("both", "green tea"), ("one", "green"), ("none", "coffee")] {
        table.text(&["a"], key, text);
    }
    let page = table.search(json!({ "query": "green tea", "minScore": 0.7, "limit": 2 }));
    assert_eq!((keys(&page), page.has_more), (vec!["both", "one"], false));
    let page = table.search(json!({ "query": "green tea", "minScore": 0.71 }));
    assert_eq!(keys(&page), ["both"]);
}

#[test]
fn items_without_vectors_are_left_out_or_appended_unscored() {
    let table = Table::new();
    for key in ["scored", "other"] {
        table.text(&["a"], key, "tea");
    }
    table.put(&["a"], "no text", json!({ "n": 1 }));
    table.clock.advance(1);
    let op = json!({ "op": "put", "namespace": ["a"], "key": "index false", "value": { "text": "tea" }, "index": false });
    table.ask(op).unwrap();
    assert_eq!(
        keys(&table.search(json!({ "query": "tea" }))),
        ["other", "scored"]
    );
    let page =
        |offset| table.search(json!({ "query": "tea", "unscored": "append", "limit": 3, "offset": offset }));
    assert_eq!(
        (keys(&page(0)), page(0).has_more),
        (vec!["other", "scored", "index false"], true)
    );
    assert_eq!((keys(&page(3)), page(3).has_more), (vec!["no text"], false));
    assert_eq!(page(3).items[0].score, None);
}

#[test]
fn a_search_may_ask_for_the_order_in_which_items_were_made() {
    let table = Table::new();
    for key in ["z", "m", "a"] {
        table.text(&["n"], key, "tea");
        table.clock.advance(1);
    }
    table.text(&["n"], "z", "tea again");
    table.text(&["n"], "b", "coffee");
    let made = |options: Value| {
        let mut options = options;
        options["order"] = json!("created");
        table.search(options)
    };
    assert_eq!(keys(&table.search(json!({}))), ["b", "z", "a", "m"]);
    assert_eq!(keys(&made(json!({}))), ["z", "m", "a", "b"]);
    assert_eq!(keys(&made(json!({ "limit": 2, "offset": 1 }))), ["m", "a"]);
    assert_eq!(keys(&made(json!({ "query": "tea" }))), ["m", "a", "z", "b"]);
    let refused = table.ask(search(json!({ "order": "random" }))).unwrap_err();
    assert_eq!(refused.code(), "invalid_argument");
}

#[test]
fn equal_scores_are_ordered_by_last_update_then_namespace_then_key() {
    let table = Table::new();
    for (namespace, key) in [("b", "k"), ("a", "k2"), ("a", "k1")] {
        table.text(&[namespace], key, "tea");
    }
    table.clock.advance(1);
    table.text(&["z"], "newest", "tea");
    assert_eq!(
        keys(&table.search(json!({ "query": "tea" }))),
        ["newest", "k1", "k2", "k"]
    );
}

#[test]
fn a_filtered_search_pages_through_every_match_once() {
    let table = Table::new();
    for n in 0..200 {
        table.put(
            &["a"],
            &format!("{n:03}"),
            json!({ "text": "tea", "even": n % 2 == 0 }),
        );
    }
    for query in [json!(null), json!("tea")] {
        let mut seen = Vec::new();
        loop {
            let options =
                json!({ "query": query, "filter": { "even": true }, "limit": 7, "offset": seen.len() });
            let page = table.search(options);
            seen.extend(keys(&page).into_iter().map(str::to_owned));
            assert_eq!(page.has_more, seen.len() < 100);
            if !page.has_more {
                break;
            }
        }
        let even: Vec<String> = (0..100).map(|n| format!("{:03}", 2 * n)).collect();
        assert_eq!(seen, even);
    }
}

#[test]
fn a_limit_of_zero_only_tells_whether_there_is_anything() {
    let table = Table::new();
    assert!(!table.search(json!({ "limit": 0 })).has_more);
    table.text(&["a"], "k", "tea");
    for filter in [json!({}), json!({ "text": "tea" })] {
        let page = table.search(json!({ "limit": 0, "filter": filter }));
        assert_eq!((page.items.len(), page.has_more), (0, true));
    }
    assert!(
        !table
            .search(json!({ "limit": 0, "filter": { "text": "coffee" } }))
            .has_more
    );
}

#[test]
fn a_store_without_embedder_refuses_to_search_by_meaning() {
    let table = Table::new();
    let store = open(&table.storage, None, &table.clock, fields(&[])).unwrap();
    let ask = |op| futures::executor::block_on(store.execute(parse(op).unwrap()));
    ask(json!({ "op": "put", "namespace": ["a"], "key": "k", "value": {} })).unwrap();
    assert_eq!(
        ask(search(json!({ "query": "tea" }))).unwrap_err().code(),
        "no_index"
    );
    assert_eq!(keys(&page(ask(search(json!({}))).unwrap())), ["k"]);
}

#[test]
fn namespaces_are_listed_matched_cut_and_sorted() {
    let table = Table::new();
    for namespace in [
        &["users", "u2", "prefs"][..],
        &["users", "u1", "prefs"],
        &["users", "u1", "log"],
        &["app"],
    ] {
        table.text(namespace, "k", "x");
        table.text(namespace, "k2", "x");
    }
    assert_eq!(list(&table, json!({})).len(), 4);
    assert_eq!(list(&table, json!({ "maxDepth": 1 })), [["app"], ["users"]]);
    assert_eq!(
        list(&table, json!({ "prefix": ["users", "*"], "maxDepth": 2 })),
        [["users", "u1"], ["users", "u2"]]
    );
    assert_eq!(
        list(&table, json!({ "suffix": ["prefs"], "limit": 1, "offset": 1 })),
        [["users", "u2", "prefs"]]
    );
    table.delete(&["app"], "k");
    assert_eq!(list(&table, json!({ "limit": 1 })), [["app"]]);
    table.delete(&["app"], "k2");
    assert_eq!(list(&table, json!({ "limit": 1 })), [["users", "u1", "log"]]);
}

#[test]
fn stats_count_what_is_there() {
    let table = Table::new();
    table.text(&["a"], "one", "tea");
    table.put(&["a"], "two", json!({ "n": 1 }));
    let stats = table.stats();
    assert_eq!(
        (stats.items, stats.vectors, stats.vector_bytes, stats.dims),
        (2, 1, 64 * 4, Some(64))
    );
    let shown = serde_json::to_value(&stats).unwrap();
    assert_eq!(
        (&shown["vectorBytes"], &shown["pending"]),
        (&json!(256), &json!(0))
    );
}

#[test]
fn a_closed_store_refuses_every_call() {
    let table = Table::new();
    futures::executor::block_on(table.store.close()).unwrap();
    futures::executor::block_on(table.store.close()).unwrap();
    for op in [
        json!({ "op": "get", "namespace": ["a"], "key": "k" }),
        json!({ "op": "delete", "namespace": ["a"], "key": "k" }),
        search(json!({})),
    ] {
        assert_eq!(table.ask(op).unwrap_err().code(), "closed");
    }
    assert_eq!(table.batch(json!([])).unwrap_err().code(), "closed");
    assert_eq!(
        futures::executor::block_on(table.store.stats())
            .unwrap_err()
            .code(),
        "closed"
    );
    assert_eq!(
        futures::executor::block_on(table.store.sweep())
            .unwrap_err()
            .code(),
        "closed"
    );
}
