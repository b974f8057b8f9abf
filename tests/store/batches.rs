//! Batches: in order, one for all.

use burrow::embed::TextKind;
use burrow::model::OpResult;
use serde_json::{Value, json};

use crate::support::*;

fn put(key: &str, text: &str) -> Value {
    json!({ "op": "put", "namespace": ["a"], "key": key, "value": { "text": text } })
}

fn get(key: &str) -> Value {
    json!({ "op": "get", "namespace": ["a"], "key": key })
}

fn delete(key: &str) -> Value {
    json!({ "op": "delete", "namespace": ["a"], "key": key })
}

fn text_of(result: &OpResult) -> Option<String> {
    let found = item(result.clone())?;
    Some(found.value["text"].as_str().unwrap().to_owned())
}

#[test]
fn each_read_sees_the_writes_before_it_and_not_those_after() {
    let table = Table::new();
    table.text(&["a"], "k", "old");
    let ops = json!([
        get("k"),
        put("k", "new"),
        get("k"),
        delete("k"),
        get("k"),
        put("k", "last")
    ]);
    let answers = table.batch(ops).unwrap();
    let [before, _, after, _, gone, _] = &answers[..] else {
        panic!("six answers")
    };
    assert_eq!(
        [text_of(before), text_of(after), text_of(gone)],
        [Some("old".to_owned()), Some("new".to_owned()), None]
    );
    assert_eq!(table.get(&["a"], "k").unwrap().value["text"], "last");
}

#[test]
fn searches_and_lists_in_a_batch_see_its_writes() {
    let table = Table::new();
    table.text(&["a"], "old", "green tea");
    let find = search(json!({ "query": "green tea" }));
    let list = json!({ "op": "listNamespaces" });
    let away = json!({ "op": "put", "namespace": ["b"], "key": "new", "value": { "text": "green" } });
    let answers = table
        .batch(json!([find, away, delete("old"), find, list, search(json!({}))]))
        .unwrap();
    let found = |at: usize| {
        keys(&page(answers[at].clone()))
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (found(0), found(3), found(5)),
        (vec!["old".into()], vec!["new".into()], vec!["new".into()])
    );
    let listed = namespaces(answers[4].clone());
    assert_eq!(
        listed
            .iter()
            .map(|namespace| namespace.0[0].as_str())
            .collect::<Vec<_>>(),
        ["b"]
    );
}

#[test]
fn an_item_shown_within_a_batch_has_the_times_it_will_be_stored_with() {
    let table = Table::new();
    table.text(&["a"], "k", "old");
    let answers = table
        .batch(json!([
            put("k", "new"),
            get("k"),
            put("fresh", "x"),
            get("fresh")
        ]))
        .unwrap();
    assert_eq!(item(answers[1].clone()), table.get(&["a"], "k"));
    assert_eq!(item(answers[3].clone()), table.get(&["a"], "fresh"));
}

#[test]
fn an_expiry_that_a_read_moved_is_seen_until_the_item_is_put_again() {
    let table = Table::new();
    table
        .ask(json!({ "op": "put", "namespace": ["a"], "key": "k", "value": { "text": "x" }, "ttl": 1 }))
        .unwrap();
    table.clock.advance(1_000);
    let look = json!({ "op": "get", "namespace": ["a"], "key": "k", "refreshTtl": false });
    let answers = table
        .batch(json!([look, get("k"), look, put("k", "y"), look]))
        .unwrap();
    let expiry = |at: usize| {
        item(answers[at].clone())
            .unwrap()
            .expires_at
            .map(|expiry| expiry - START)
    };
    assert_eq!(
        [expiry(0), expiry(2), expiry(4)],
        [Some(MINUTE), Some(MINUTE + 1_000), None]
    );
}

#[test]
fn the_last_put_of_a_key_wins_with_its_own_vector() {
    let table = Table::new();
    table.batch(json!([put("k", "coffee"), put("k", "tea")])).unwrap();
    assert_eq!(table.stored(), [("k".to_owned(), 1)]);
    let page = table.search(json!({ "query": "tea" }));
    assert!(page.items[0].score.unwrap() > 0.999);
}

#[test]
fn a_put_that_is_written_over_is_embedded_only_if_something_searches_before() {
    let table = Table::new();
    let ops = json!([
        put("k", "coffee"),
        get("k"),
        put("k", "tea"),
        put("gone", "cocoa"),
        delete("gone")
    ]);
    table.batch(ops).unwrap();
    assert_eq!(table.embedder.texts(TextKind::Document), ["tea"]);
    let table = Table::new();
    let find = search(json!({ "query": "coffee" }));
    let answers = table
        .batch(json!([put("k", "coffee"), find, put("k", "tea")]))
        .unwrap();
    assert!(page(answers[1].clone()).items[0].score.unwrap() > 0.999);
    assert_eq!(table.embedder.texts(TextKind::Document), ["coffee", "tea"]);
}

#[test]
fn a_batch_embeds_in_one_call_for_documents_and_one_for_queries() {
    let table = Table::new();
    let find = |query: &str| search(json!({ "query": query }));
    table
        .batch(json!([
            put("x", "one"),
            find("q"),
            put("y", "two"),
            find("q"),
            put("z", "one")
        ]))
        .unwrap();
    assert_eq!(table.embedder.calls.borrow().len(), 2);
    assert_eq!(table.embedder.texts(TextKind::Document), ["one", "two"]);
    assert_eq!(table.embedder.texts(TextKind::Query), ["q"]);
}

#[test]
fn answers_line_up_with_operations() {
    let table = Table::new();
    let answers = table
        .batch(json!([put("k", "x"), get("k"), search(json!({})), get("none")]))
        .unwrap();
    assert!(matches!(
        &answers[..],
        [
            OpResult::Written,
            OpResult::Item(Some(_)),
            OpResult::Page(_),
            OpResult::Item(None)
        ]
    ));
    assert!(table.batch(json!([])).unwrap().is_empty());
}

#[test]
fn an_embedder_that_fails_stores_nothing_and_the_store_goes_on() {
    let table = Table::new();
    table.embedder.fail_next(burrow::Error::internal("CUDA on fire"));
    let error = table.ask(put("k", "tea")).unwrap_err();
    assert_eq!(
        (error.code(), error.context().cause.as_deref()),
        ("embedding", Some("CUDA on fire"))
    );
    assert!(!error.context().details.contains_key("position"));
    assert!(table.stored().is_empty());
    table.text(&["a"], "k", "tea");
    table.embedder.fail_next(burrow::Error::aborted("stopped"));
    assert_eq!(
        table.try_search(json!({ "query": "tea" })).unwrap_err().code(),
        "aborted"
    );
    assert_eq!(keys(&table.search(json!({ "query": "tea" }))), ["k"]);
}

#[test]
fn unusable_vectors_are_refused_and_nothing_is_stored() {
    let vector = |text: &str| match text {
        "nan" => vec![f32::NAN, 0.0],
        "infinite" => vec![f32::INFINITY, 0.0],
        "long" => vec![1.0; 3],
        "empty" => vec![],
        _ => vec![3.0, 4.0],
    };
    let table = Table::with(Fake::new("fragile", vector), fields(&["text"]));
    table.text(&["a"], "good", "good");
    for bad in ["nan", "infinite", "long", "empty"] {
        assert_eq!(
            table.ask(put("bad", bad)).unwrap_err().code(),
            "embedding",
            "{bad}"
        );
        assert_eq!(
            table.try_search(json!({ "query": bad })).unwrap_err().code(),
            "embedding",
            "{bad}"
        );
    }
    assert_eq!(table.stored(), [("good".to_owned(), 1)]);
    let score = table.search(json!({ "query": "good" })).items[0].score.unwrap();
    assert!(
        (score - 1.0).abs() < 1e-6,
        "vectors are scaled to unit length: {score}"
    );
}

#[test]
fn a_zero_query_vector_gives_finite_scores() {
    let table = Table::new();
    table.text(&["a"], "k", "tea");
    table.text(&["a"], "zero", "…");
    let page = table.search(json!({ "query": "!?" }));
    assert_eq!(
        page.items.iter().map(|hit| hit.score).collect::<Vec<_>>(),
        [Some(0.0), Some(0.0)]
    );
}
