use super::*;
use serde_json::json;

fn with(base: Value, fields: Value) -> Value {
    let mut all = base.as_object().unwrap().clone();
    all.extend(fields.as_object().unwrap().clone());
    Value::Object(all)
}

fn put(fields: Value) -> Result<Op> {
    Op::parse(&with(
        json!({ "op": "put", "namespace": ["a"], "key": "k", "value": { "t": 1 } }),
        fields,
    ))
}

fn search(fields: Value) -> Result<SearchOp> {
    match Op::parse(&with(json!({ "op": "search", "prefix": ["a"] }), fields))? {
        Op::Search(search) => Ok(search),
        other => panic!("{other:?}"),
    }
}

fn list(fields: Value) -> Result<ListNamespacesOp> {
    match Op::parse(&with(json!({ "op": "listNamespaces" }), fields))? {
        Op::ListNamespaces(list) => Ok(list),
        other => panic!("{other:?}"),
    }
}

fn id() -> ItemId {
    ItemId {
        namespace: Namespace(vec!["a".to_owned()]),
        key: Key("k".to_owned()),
    }
}

#[test]
fn defaults_are_those_of_langgraph() {
    let value = json!({ "t": 1 }).as_object().unwrap().clone();
    let plain = PutOp {
        id: id(),
        value,
        ttl: Ttl::Default,
        index: IndexFields::Default,
    };
    assert_eq!(put(json!({})).unwrap(), Op::Put(plain));
    let expected = SearchOp {
        prefix: Namespace(vec!["a".to_owned()]),
        query: None,
        filter: Filter::default(),
        limit: 10,
        offset: 0,
        min_score: None,
        refresh_ttl: None,
        unscored: Unscored::Omit,
        order: Order::Updated,
    };
    assert_eq!(search(json!({})).unwrap(), expected);
    assert_eq!(
        search(json!({ "mode": "semantic", "query": "", "filter": null })).unwrap(),
        expected
    );
    let listed = list(json!({})).unwrap();
    assert_eq!((listed.limit, listed.offset, listed.max_depth), (100, 0, None));
}

#[test]
fn options_are_read() {
    let Op::Put(full) = put(json!({ "ttl": 0.5, "index": ["t", "a[*].b"] })).unwrap() else {
        panic!()
    };
    assert_eq!(full.ttl, Ttl::Minutes(0.5));
    assert_eq!(
        full.index,
        IndexFields::Paths(vec!["t".to_owned(), "a[*].b".to_owned()])
    );
    let Op::Put(never) = put(json!({ "ttl": null, "index": false })).unwrap() else {
        panic!()
    };
    assert_eq!((never.ttl, never.index), (Ttl::Never, IndexFields::None));

    let found = search(json!({
        "query": "q", "filter": { "a": 1 }, "limit": 0, "offset": 3.0, "minScore": -0.5, "refreshTtl": false,
        "unscored": "append",
    }));
    let found = found.unwrap();
    assert_eq!(
        (found.query.as_deref(), found.limit, found.offset),
        (Some("q"), 0, 3)
    );
    assert_eq!((found.min_score, found.refresh_ttl), (Some(-0.5), Some(false)));
    assert_eq!(found.unscored, Unscored::Append);
    assert!(!found.filter.is_empty());

    let get = Op::parse(&json!({ "op": "get", "namespace": ["a"], "key": "k", "refreshTtl": true }));
    assert_eq!(
        get.unwrap(),
        Op::Get(GetOp {
            id: id(),
            refresh_ttl: Some(true)
        })
    );
    let listed =
        list(json!({ "prefix": ["a", "*"], "suffix": ["b"], "maxDepth": 1, "limit": 5, "offset": 2 }));
    let listed = listed.unwrap();
    assert_eq!((listed.limit, listed.offset, listed.max_depth), (5, 2, Some(1)));
    assert!(
        listed
            .prefix
            .matches_prefix(&Namespace(vec!["a".to_owned(), "b".to_owned()]))
    );
}

#[test]
fn a_put_of_null_is_a_delete() {
    let delete = Op::Delete(DeleteOp { id: id() });
    assert_eq!(put(json!({ "value": null })).unwrap(), delete);
    assert_eq!(
        Op::parse(&json!({ "op": "delete", "namespace": ["a"], "key": "k" })).unwrap(),
        delete
    );
}

#[test]
fn each_mistake_has_its_code() {
    let get = |fields| {
        Op::parse(&with(
            json!({ "op": "get", "namespace": ["a"], "key": "k" }),
            fields,
        ))
    };
    let any = |op: Value| Op::parse(&op);
    for (result, code) in [
        (put(json!({ "namespace": ["a", 7] })), "invalid_namespace"),
        (put(json!({ "namespace": [] })), "invalid_namespace"),
        (put(json!({ "namespace": "a" })), "invalid_namespace"),
        (put(json!({ "namespace": ["langgraph"] })), "invalid_namespace"),
        (
            put(json!({ "namespace": ["langgraph"], "value": null })),
            "invalid_namespace",
        ),
        (get(json!({ "namespace": ["a."] })), "invalid_namespace"),
        (
            search(json!({ "prefix": ["a", ""] })).map(Op::Search),
            "invalid_namespace",
        ),
        (any(json!({ "op": "search" })), "invalid_namespace"),
        (
            list(json!({ "suffix": [1] })).map(Op::ListNamespaces),
            "invalid_namespace",
        ),
        (put(json!({ "key": "" })), "invalid_key"),
        (put(json!({ "key": 1 })), "invalid_key"),
        (get(json!({ "key": null })), "invalid_key"),
        (put(json!({ "value": "text" })), "invalid_document"),
        (put(json!({ "value": [{ "t": 1 }] })), "invalid_document"),
        (
            any(json!({ "op": "put", "namespace": ["a"], "key": "k" })),
            "invalid_document",
        ),
        (put(json!({ "ttl": 0 })), "invalid_argument"),
        (put(json!({ "ttl": -1 })), "invalid_argument"),
        (put(json!({ "ttl": "1" })), "invalid_argument"),
        (put(json!({ "index": true })), "invalid_argument"),
        (put(json!({ "index": "t" })), "invalid_argument"),
        (put(json!({ "index": ["a["] })), "invalid_argument"),
        (put(json!({ "index": [1] })), "invalid_argument"),
        (put(json!({ "indx": false })), "invalid_argument"),
        (put(json!({ "reservedRoot": 1 })), "invalid_argument"),
        (get(json!({ "refreshTtl": "yes" })), "invalid_argument"),
        (any(json!({ "op": "drop" })), "invalid_argument"),
        (any(json!({ "key": "k" })), "invalid_argument"),
        (any(json!(["put"])), "invalid_argument"),
    ] {
        assert_eq!(result.unwrap_err().code(), code);
    }
}

#[test]
fn a_search_refuses_what_it_cannot_do() {
    for fields in [
        json!({ "limit": -1 }),
        json!({ "limit": 1.5 }),
        json!({ "limit": "10" }),
        json!({ "limit": null }),
        json!({ "offset": -1 }),
        json!({ "offset": 0.1 }),
        json!({ "query": 1 }),
        json!({ "minScore": "0.5" }),
        json!({ "minScore": null }),
        json!({ "unscored": true }),
        json!({ "mode": "fuzzy" }),
        json!({ "fitler": { "a": 1 } }),
    ] {
        let error = search(fields.clone()).unwrap_err();
        assert_eq!(error.code(), "invalid_argument", "{fields}");
        let name = fields.as_object().unwrap().keys().next().unwrap();
        assert_eq!(error.context().details["argument"], json!(name));
    }
    assert_eq!(
        search(json!({ "filter": { "a": { "$x": 1 } } }))
            .unwrap_err()
            .code(),
        "invalid_filter"
    );
    assert_eq!(
        list(json!({ "maxDepth": 0 })).unwrap_err().code(),
        "invalid_argument"
    );
}

#[test]
fn lexical_and_hybrid_say_that_they_are_not_there_yet() {
    for mode in ["lexical", "hybrid"] {
        let error = search(json!({ "mode": mode, "query": "q" })).unwrap_err();
        assert_eq!(error.code(), "invalid_argument");
        assert!(
            error
                .context()
                .message
                .contains(r#"Only mode "semantic" is available in this version"#)
        );
    }
}

#[test]
fn a_limit_beyond_every_count_means_all() {
    assert_eq!(search(json!({ "limit": 1e300 })).unwrap().limit, usize::MAX);
}

#[test]
fn only_a_flagged_write_may_use_the_reserved_root() {
    let reserved = json!({ "namespace": ["langgraph", "x"], "reservedRoot": true });
    assert!(put(reserved.clone()).is_ok());
    assert!(Op::parse(&with(json!({ "op": "delete", "key": "k" }), reserved)).is_ok());
    let read = json!({ "op": "get", "namespace": ["langgraph", "x"], "key": "k" });
    assert!(Op::parse(&read).is_ok());
}

#[test]
fn a_ttl_is_finite_and_positive() {
    assert_eq!(
        Ttl::minutes(f64::MIN_POSITIVE).unwrap(),
        Ttl::Minutes(f64::MIN_POSITIVE)
    );
    for minutes in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(Ttl::minutes(minutes).unwrap_err().code(), "invalid_argument");
    }
}

#[test]
fn a_batch_names_the_position_of_the_operation_at_fault() {
    let good = json!({ "op": "get", "namespace": ["a"], "key": "k" });
    let batch = |last: Value| Op::list_from_json(&json!([good, good, last]).to_string());
    assert_eq!(batch(good.clone()).unwrap().len(), 3);
    let error = batch(json!({ "op": "put", "namespace": ["a"], "key": "k", "value": 1 })).unwrap_err();
    assert_eq!(
        (error.code(), &error.context().details["position"]),
        ("invalid_document", &json!(2))
    );
    let half = r#"[{"op":"get","namespace":["a"],"key":"k"},{"op":"get","namespace":["a"],"key":"\ud83d"}]"#;
    let error = Op::list_from_json(half).unwrap_err();
    assert_eq!(
        (error.code(), &error.context().details["position"]),
        ("invalid_document", &json!(1))
    );
    assert_eq!(Op::list_from_json("{}").unwrap_err().code(), "invalid_argument");
    assert_eq!(Op::list_from_json("[").unwrap_err().code(), "invalid_argument");
}

#[test]
fn a_document_at_the_depth_limit_fits_into_a_batch() {
    let batch = |levels: usize| {
        let value = format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
        Op::list_from_json(&format!(
            r#"[{{"op":"put","namespace":["a"],"key":"k","value":{value}}}]"#
        ))
    };
    assert!(batch(document::MAX_DEPTH).is_ok());
    assert_eq!(
        batch(document::MAX_DEPTH + 1).unwrap_err().code(),
        "invalid_document"
    );
    assert_eq!(batch(100_000).unwrap_err().code(), "invalid_document");
}
