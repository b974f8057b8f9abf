use super::*;
use serde_json::json;

fn matches(filter: Value, document: Value) -> bool {
    Filter::parse(&filter)
        .unwrap()
        .matches(document.as_object().unwrap())
}

/// Which of the values, as field `f`, the condition lets through; `missing` stands for a document without `f`.
fn passing<'a>(condition: &Value, values: &[(&'a str, Option<Value>)]) -> Vec<&'a str> {
    let passes = |value: &Option<Value>| {
        let document = value
            .as_ref()
            .map_or(json!({ "g": 1 }), |value| json!({ "f": value }));
        matches(json!({ "f": condition }), document)
    };
    values
        .iter()
        .filter(|(_, value)| passes(value))
        .map(|(name, _)| *name)
        .collect()
}

fn one_of_each() -> Vec<(&'static str, Option<Value>)> {
    vec![
        ("missing", None),
        ("null", Some(json!(null))),
        ("false", Some(json!(false))),
        ("true", Some(json!(true))),
        ("0", Some(json!(0))),
        ("1", Some(json!(1))),
        ("1.0", Some(json!(1.0))),
        ("9", Some(json!(9))),
        ("10", Some(json!(10))),
        ("''", Some(json!(""))),
        ("'1'", Some(json!("1"))),
        ("'high'", Some(json!("high"))),
        ("[]", Some(json!([]))),
        ("[1,2]", Some(json!([1, 2]))),
        ("{}", Some(json!({}))),
        ("{a:1}", Some(json!({ "a": 1 }))),
        ("{a:1,b:2}", Some(json!({ "a": 1, "b": 2 }))),
    ]
}

#[test]
fn each_condition_holds_for_these_and_no_other_values() {
    let all: Vec<&str> = one_of_each().iter().map(|(name, _)| *name).collect();
    let all_but = |out: &[&str]| {
        all.iter()
            .copied()
            .filter(|name| !out.contains(name))
            .collect::<Vec<_>>()
    };
    for (condition, expected) in [
        (json!(1), vec!["1", "1.0"]),
        (json!("1"), vec!["'1'"]),
        (json!(null), vec!["null"]),
        (json!(false), vec!["false"]),
        (json!([1.0, 2]), vec!["[1,2]"]),
        (json!([2, 1]), vec![]),
        (json!([]), vec!["[]"]),
        (json!({}), vec!["{}", "{a:1}", "{a:1,b:2}"]),
        (json!({ "a": 1 }), vec!["{a:1}", "{a:1,b:2}"]),
        (json!({ "a": { "$gt": 0 } }), vec!["{a:1}", "{a:1,b:2}"]),
        (
            json!({ "c": { "$exists": false } }),
            vec!["{}", "{a:1}", "{a:1,b:2}"],
        ),
        (json!({ "$eq": 1 }), vec!["1", "1.0"]),
        (json!({ "$eq": { "a": 1.0 } }), vec!["{a:1}"]),
        (json!({ "$eq": { "$gt": 1 } }), vec![]),
        (json!({ "$ne": 1 }), all_but(&["1", "1.0"])),
        (json!({ "$ne": null }), all_but(&["null"])),
        (json!({ "$gt": 1 }), vec!["9", "10"]),
        (json!({ "$gte": 1 }), vec!["1", "1.0", "9", "10"]),
        (json!({ "$lt": 1 }), vec!["0"]),
        (json!({ "$lte": 9 }), vec!["0", "1", "1.0", "9"]),
        (json!({ "$gte": 9, "$lt": 10 }), vec!["9"]),
        (json!({ "$gt": "" }), vec!["'1'", "'high'"]),
        (json!({ "$gte": "10" }), vec!["'high'"]),
        (json!({ "$lt": "a" }), vec!["''", "'1'"]),
        (
            json!({ "$in": [1, "high", null] }),
            vec!["null", "1", "1.0", "'high'"],
        ),
        (json!({ "$in": [] }), vec![]),
        (json!({ "$in": [[1, 2], { "a": 1 }] }), vec!["[1,2]", "{a:1}"]),
        (
            json!({ "$nin": [1, "high", null] }),
            all_but(&["null", "1", "1.0", "'high'"]),
        ),
        (json!({ "$nin": [] }), all.clone()),
        (json!({ "$exists": true }), all_but(&["missing"])),
        (json!({ "$exists": false }), vec!["missing"]),
        (
            json!({ "$or": [{ "$lt": 1 }, "high", { "a": 1 }] }),
            vec!["0", "'high'", "{a:1}", "{a:1,b:2}"],
        ),
        (json!({ "$and": [{ "$gt": 0 }, { "$lt": 9 }] }), vec!["1", "1.0"]),
        (json!({ "$not": { "$gt": 0 } }), all_but(&["1", "1.0", "9", "10"])),
        (json!({ "$not": 1 }), all_but(&["1", "1.0"])),
    ] {
        assert_eq!(passing(&condition, &one_of_each()), expected, "{condition}");
    }
}

#[test]
fn numbers_compare_as_numbers_and_dates_as_text() {
    assert!(!matches(json!({ "n": { "$gte": 10 } }), json!({ "n": 9 })));
    assert!(matches(json!({ "n": { "$gt": -1.5 } }), json!({ "n": -1 })));
    let since = json!({ "at": { "$gte": "2026-01-01T00:00:00Z" } });
    assert!(matches(since.clone(), json!({ "at": "2026-03-01T00:00:00Z" })));
    assert!(!matches(since, json!({ "at": "2025-12-31T23:59:59Z" })));
}

#[test]
fn text_is_ordered_by_utf16_code_unit() {
    assert!(matches(
        json!({ "t": { "$lt": "\u{e000}" } }),
        json!({ "t": "😀" })
    ));
}

#[test]
fn fields_are_anded_and_logic_stands_beside_them() {
    let filter = json!({ "kind": "note", "$or": [{ "n": 1 }, { "tag": "x" }], "$not": { "hidden": true } });
    for (document, expected) in [
        (json!({ "kind": "note", "n": 1 }), true),
        (json!({ "kind": "note", "tag": "x", "hidden": false }), true),
        (json!({ "kind": "note", "n": 2 }), false),
        (json!({ "kind": "task", "n": 1 }), false),
        (json!({ "kind": "note", "n": 1, "hidden": true }), false),
    ] {
        assert_eq!(matches(filter.clone(), document.clone()), expected, "{document}");
    }
    let nested = json!({ "m": { "a": 1, "$or": [{ "b": 1 }, { "b": 2 }] } });
    assert!(matches(nested.clone(), json!({ "m": { "a": 1, "b": 2 } })));
    assert!(!matches(nested, json!({ "m": { "a": 1, "b": 3 } })));
}

#[test]
fn a_dot_in_a_field_name_is_a_dot() {
    assert!(matches(json!({ "a.b": 1 }), json!({ "a.b": 1 })));
    assert!(!matches(json!({ "a.b": 1 }), json!({ "a": { "b": 1 } })));
    assert!(matches(
        json!({ "a": { "b": 1 } }),
        json!({ "a": { "b": 1, "c": 2 } })
    ));
}

#[test]
fn object_internals_are_no_fields() {
    for name in ["constructor", "__proto__", "toString"] {
        assert!(!matches(json!({ name: { "$exists": true } }), json!({})));
        assert!(matches(json!({ name: "x" }), json!({ name: "x" })));
    }
}

#[test]
fn no_filter_lets_everything_through() {
    for filter in [json!(null), json!({})] {
        assert!(Filter::parse(&filter).unwrap().is_empty());
        assert!(matches(filter, json!({ "a": 1 })));
    }
}

#[test]
fn a_mistake_is_an_error_that_names_it() {
    for (filter, named) in [
        (json!({ "a": { "$regex": "x" } }), "$regex"),
        (json!({ "$nor": [{ "a": 1 }] }), "$nor"),
        (json!({ "$gt": 1 }), "$gt"),
        (json!({ "a": { "$gt": 1, "b": 2 } }), "$gt"),
        (json!({ "a": { "$gt": null } }), "$gt"),
        (json!({ "a": { "$lte": true } }), "$lte"),
        (json!({ "a": { "$lt": [1] } }), "$lt"),
        (json!({ "a": { "$in": "x" } }), "$in"),
        (json!({ "a": { "$nin": { "b": 1 } } }), "$nin"),
        (json!({ "a": { "$exists": 1 } }), "$exists"),
        (json!({ "$or": { "a": 1 } }), "$or"),
        (json!({ "$or": [] }), "$or"),
        (json!({ "$and": [1] }), "$and"),
        (json!({ "$not": "a" }), "$not"),
        (json!({ "a": { "$and": { "$gt": 1 } } }), "$and"),
        (json!({ "a": { "b": { "$like": "x" } } }), "$like"),
        (json!({ "a": [{ "$gt": 1 }] }), "$gt"),
        (json!({ "a": [[{ "b": { "$gt": 1 } }]] }), "$gt"),
        (json!({ "$or": [{ "a": { "$lk": 1 } }] }), "$lk"),
        (json!("a"), "a string"),
        (json!([]), "an array"),
    ] {
        let error = Filter::parse(&filter).unwrap_err();
        assert_eq!(error.code(), "invalid_filter", "{filter}");
        assert!(error.context().message.contains(named), "{filter}: {error}");
    }
}

#[test]
fn a_filter_nested_too_deep_is_an_error() {
    let deep = (0..1000).fold(json!({ "a": 1 }), |inner, _| json!({ "$not": inner }));
    assert_eq!(Filter::parse(&deep).unwrap_err().code(), "invalid_filter");
}
