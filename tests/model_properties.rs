//! Paths, filters and namespaces against naive models: the same rules, written once more in the plainest way.

#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used)] // The helpers of tests are tests to us, but not to clippy.

use burrow::model::{Document, FieldPath, Filter, Key, Namespace, NamespacePattern, Use};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Few names, so that what is looked for is often there.
fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c", "constructor", "名", "a.b"]).prop_map(str::to_owned)
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2..3_i64).prop_map(Value::from),
        prop::sample::select(vec![-1.0, 0.0, 0.5, 1.0, 2.0, 1e300]).prop_map(Value::from),
        prop::sample::select(vec!["", "1", "a", "b", "😀", "\u{e000}", "10", "9"]).prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(name(), inner, 0..4).prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn document() -> impl Strategy<Value = Document> {
    btree_map(name(), value(), 0..5).prop_map(|fields| fields.into_iter().collect::<Map<_, _>>())
}

// ---- paths ----

#[derive(Debug, Clone)]
enum Step {
    Field(String),
    Element(i64),
    Elements,
    Children,
    Any(Vec<Vec<Step>>),
}

fn plain_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => prop::sample::select(vec!["a", "b", "c", "constructor", "名"])
            .prop_map(|name| Step::Field(name.to_owned())),
        2 => (-3..3_i64).prop_map(Step::Element),
        1 => Just(Step::Elements),
        1 => Just(Step::Children),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let any = vec(vec(plain_step(), 1..3), 1..4).prop_map(Step::Any);
    prop_oneof![4 => plain_step(), 1 => any]
}

/// Writes a path down; brackets need no dot before them.
fn render(steps: &[Step]) -> String {
    let mut text = String::new();
    for (n, step) in steps.iter().enumerate() {
        let dot = if n == 0 { "" } else { "." };
        text += &match step {
            Step::Field(name) => format!("{dot}{name}"),
            Step::Element(index) => format!("[{index}]"),
            Step::Elements => "[*]".to_owned(),
            Step::Children => format!("{dot}*"),
            Step::Any(routes) => {
                let routes: Vec<String> = routes.iter().map(|route| render(route)).collect();
                format!("{dot}{{{}}}", routes.join(", "))
            }
        };
    }
    text
}

/// Where the steps lead, as JSON pointers with the values there, each place once.
fn places(from: Vec<(String, Value)>, steps: &[Step]) -> Vec<(String, Value)> {
    let Some((step, rest)) = steps.split_first() else {
        return from;
    };
    let mut found = Vec::new();
    for (pointer, value) in from {
        let child = |key: String, value: &Value| (format!("{pointer}/{key}"), value.clone());
        match (step, &value) {
            (Step::Field(name), Value::Object(fields)) => found.extend(
                fields
                    .iter()
                    .filter(|(key, _)| *key == name)
                    .map(|(key, v)| child(key.clone(), v)),
            ),
            (Step::Element(index), Value::Array(items)) => {
                let length = items.len() as i64;
                let meant = |n: usize| n as i64 == *index || n as i64 - length == *index;
                found.extend(
                    (0..items.len())
                        .filter(|n| meant(*n))
                        .map(|n| child(n.to_string(), &items[n])),
                )
            }
            (Step::Elements | Step::Children, Value::Array(items)) => found.extend(
                items
                    .iter()
                    .enumerate()
                    .map(|(n, item)| child(n.to_string(), item)),
            ),
            (Step::Children, Value::Object(fields)) => {
                found.extend(fields.iter().map(|(key, value)| child(key.clone(), value)))
            }
            (Step::Any(routes), value) => {
                for route in routes {
                    found.extend(places(vec![(pointer.clone(), value.clone())], route));
                }
            }
            _ => {}
        }
    }
    let mut once: Vec<(String, Value)> = Vec::new();
    for place in found {
        if !once.iter().any(|(pointer, _)| *pointer == place.0) {
            once.push(place);
        }
    }
    places(once, rest)
}

proptest! {
    #[test]
    fn a_path_finds_what_the_naive_walk_finds(document in document(), steps in vec(step(), 1..4)) {
        let path = render(&steps);
        let found = places(vec![(String::new(), Value::Object(document.clone()))], &steps);
        let expected: Vec<String> = found.into_iter().filter(|(_, value)| !value.is_null()).map(|(_, value)| {
            value.as_str().map_or_else(|| serde_json::to_string(&value).unwrap(), str::to_owned)
        }).collect();
        prop_assert_eq!(FieldPath::parse(&path).unwrap().texts(&document), expected, "{}", path);
    }

    #[test]
    fn any_text_is_a_path_or_an_invalid_argument(path in "[ab.$*,{}\\[\\]0-9 -]{0,12}", document in document()) {
        match FieldPath::parse(&path) {
            Ok(parsed) => { parsed.texts(&document); }
            Err(error) => prop_assert_eq!(error.code(), "invalid_argument"),
        }
    }
}

// ---- filters ----

fn comparison() -> impl Strategy<Value = (String, Value)> {
    let ordered = scalar().prop_filter("ranges take numbers and texts", |v| {
        v.is_number() || v.is_string()
    });
    let name = |names: &'static [&'static str]| prop::sample::select(names).prop_map(str::to_owned);
    prop_oneof![
        (name(&["$eq", "$ne"]), value()),
        (name(&["$gt", "$gte", "$lt", "$lte"]), ordered),
        (name(&["$in", "$nin"]), vec(value(), 0..3).prop_map(Value::from)),
        (name(&["$exists"]), any::<bool>().prop_map(Value::from)),
    ]
}

/// A condition on one field.
fn condition() -> impl Strategy<Value = Value> {
    let object = |fields: Vec<(String, Value)>| Value::Object(fields.into_iter().collect());
    let leaf = prop_oneof![
        scalar(),
        vec(value(), 0..3).prop_map(Value::from),
        vec(comparison(), 1..3).prop_map(object),
    ];
    leaf.prop_recursive(3, 12, 3, move |inner| {
        prop_oneof![
            vec((name(), inner.clone()), 0..3).prop_map(object),
            vec(inner.clone(), 1..3).prop_map(|list| json!({ "$and": list })),
            vec(inner.clone(), 1..3).prop_map(|list| json!({ "$or": list })),
            inner.prop_map(|condition| json!({ "$not": condition })),
        ]
    })
}

/// Fields, with logic beside them.
fn filter() -> impl Strategy<Value = Value> {
    let fields = vec((name(), condition()), 0..3)
        .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>()));
    fields.prop_recursive(2, 6, 3, |inner| {
        let beside = |key: &'static str| {
            move |(fields, logic): (Value, Value)| {
                let mut all = fields.as_object().unwrap().clone();
                all.insert(key.to_owned(), logic);
                Value::Object(all)
            }
        };
        let list = || vec(inner.clone(), 1..3).prop_map(Value::from);
        prop_oneof![
            (inner.clone(), list()).prop_map(beside("$and")),
            (inner.clone(), list()).prop_map(beside("$or")),
            (inner.clone(), inner.clone()).prop_map(beside("$not")),
        ]
    })
}

fn naive_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64().unwrap() == b.as_f64().unwrap(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && (0..a.len()).all(|n| naive_equal(&a[n], &b[n]))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.keys()
                    .all(|key| b.contains_key(key) && naive_equal(&a[key], &b[key]))
        }
        _ => a == b,
    }
}

fn naive_in_order(low: &Value, high: &Value, or_equal: bool) -> bool {
    match (low, high) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            a < b || or_equal && a == b
        }
        (Value::String(a), Value::String(b)) => {
            let (a, b): (Vec<u16>, Vec<u16>) = (a.encode_utf16().collect(), b.encode_utf16().collect());
            a < b || or_equal && a == b
        }
        _ => false,
    }
}

/// Reads the filter as it goes. A filter of a whole document is a condition on it; only a nested object of plain
/// fields wants an object there.
fn naive_holds(condition: &Value, value: Option<&Value>) -> bool {
    let Value::Object(parts) = condition else {
        return value.is_some_and(|value| naive_equal(value, condition));
    };
    let plain = parts.is_empty() || parts.keys().any(|key| !key.starts_with('$'));
    if plain && !value.is_some_and(Value::is_object) {
        return false;
    }
    parts.iter().all(|(key, operand)| {
        let list = || operand.as_array().unwrap().iter();
        match key.as_str() {
            "$eq" => value.is_some_and(|value| naive_equal(value, operand)),
            "$ne" => !value.is_some_and(|value| naive_equal(value, operand)),
            "$gt" => value.is_some_and(|value| naive_in_order(operand, value, false)),
            "$gte" => value.is_some_and(|value| naive_in_order(operand, value, true)),
            "$lt" => value.is_some_and(|value| naive_in_order(value, operand, false)),
            "$lte" => value.is_some_and(|value| naive_in_order(value, operand, true)),
            "$in" => value.is_some_and(|value| list().any(|wanted| naive_equal(value, wanted))),
            "$nin" => !value.is_some_and(|value| list().any(|other| naive_equal(value, other))),
            "$exists" => value.is_some() == operand.as_bool().unwrap(),
            "$and" => list().all(|part| naive_holds(part, value)),
            "$or" => list().any(|part| naive_holds(part, value)),
            "$not" => !naive_holds(operand, value),
            field => naive_holds(operand, value.unwrap().get(field)),
        }
    })
}

/// Puts an operator that is none at the `n`th object within the filter's conditions.
fn spoil(value: &mut Value, n: &mut usize) -> bool {
    match value {
        Value::Object(fields) if *n == 0 => {
            fields.insert("$regex".to_owned(), json!("x"));
            true
        }
        Value::Object(fields) => {
            *n -= 1;
            // What stands under these is data, in which anything may be.
            let conditions = fields
                .iter_mut()
                .filter(|(key, _)| !["$eq", "$ne", "$in", "$nin"].contains(&key.as_str()));
            conditions.map(|(_, field)| field).any(|field| spoil(field, n))
        }
        Value::Array(items) => items.iter_mut().any(|item| spoil(item, n)),
        _ => false,
    }
}

/// The same value with its whole numbers as floats.
fn rewritten(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64().unwrap()),
        Value::Array(items) => items.iter().map(rewritten).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| (key.clone(), rewritten(value)))
            .collect(),
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn a_filter_matches_what_the_naive_reading_matches(filter in filter(), document in document()) {
        let matches = Filter::parse(&filter).unwrap().matches(&document);
        prop_assert_eq!(matches, naive_holds(&filter, Some(&Value::Object(document))));
    }

    #[test]
    fn a_condition_holds_where_the_naive_reading_holds(condition in condition(), value in prop::option::of(value())) {
        let document: Document = value.iter().map(|value| ("f".to_owned(), value.clone())).collect();
        let matches = Filter::parse(&json!({ "f": condition })).unwrap().matches(&document);
        prop_assert_eq!(matches, naive_holds(&condition, value.as_ref()));
    }

    #[test]
    fn a_comparison_of_scalars_agrees_with_the_naive_reading((operator, operand) in comparison(), value in scalar()) {
        let condition = json!({ operator: operand });
        let matches = Filter::parse(&json!({ "f": condition })).unwrap().matches(json!({ "f": value }).as_object().unwrap());
        prop_assert_eq!(matches, naive_holds(&condition, Some(&value)));
    }

    #[test]
    fn equal_values_written_otherwise_match(value in value()) {
        let other = rewritten(&value);
        let document = json!({ "f": value });
        for condition in [json!({ "$eq": other }), json!({ "$in": [other] }), json!({ "$not": { "$ne": other } })] {
            let filter = Filter::parse(&json!({ "f": condition })).unwrap();
            prop_assert!(filter.matches(document.as_object().unwrap()));
        }
    }

    #[test]
    fn an_unknown_operator_is_named_wherever_it_stands(filter in filter(), n in 0..8_usize) {
        let mut spoiled = filter;
        prop_assume!(spoil(&mut spoiled, &mut n.clone()));
        let error = Filter::parse(&spoiled).unwrap_err();
        prop_assert_eq!(error.code(), "invalid_filter");
        prop_assert!(error.to_string().contains("$regex"), "{}", error);
    }
}

// ---- namespaces ----

fn label() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "ab", "b", "*", "😀", "\u{e000}", "\u{d7ff}", "é", " "])
        .prop_map(str::to_owned)
}

fn units(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

/// Every label closed by a mark that no label holds, so that a prefix of the text is a prefix of whole labels.
fn closed(labels: &[String]) -> String {
    labels.iter().map(|label| format!("{label}\0")).collect()
}

/// One label matches or is a star; by taking the pattern apart label by label.
fn naive_star(pattern: &[String], labels: &[String]) -> bool {
    match (pattern.split_first(), labels.split_first()) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some((wanted, pattern)), Some((label, labels))) => {
            (wanted == "*" || wanted == label) && naive_star(pattern, labels)
        }
    }
}

fn reversed(labels: &[String]) -> Vec<String> {
    labels.iter().rev().cloned().collect()
}

proptest! {
    #[test]
    fn namespaces_order_as_lists_of_code_units(a in vec(label(), 0..4), b in vec(label(), 0..4)) {
        let naive = |labels: &[String]| labels.iter().map(|label| units(label)).collect::<Vec<_>>();
        prop_assert_eq!(Namespace(a.clone()).cmp(&Namespace(b.clone())), naive(&a).cmp(&naive(&b)));
    }

    #[test]
    fn keys_order_as_code_units(a in "\\PC{0,4}", b in "\\PC{0,4}") {
        prop_assert_eq!(Key(a.clone()).cmp(&Key(b.clone())), units(&a).cmp(&units(&b)));
    }

    #[test]
    fn a_prefix_is_one_of_whole_labels(labels in vec(label(), 0..4), prefix in vec(label(), 0..3)) {
        let expected = closed(&labels).starts_with(&closed(&prefix));
        prop_assert_eq!(Namespace(labels).starts_with(&Namespace(prefix)), expected);
    }

    #[test]
    fn patterns_match_from_either_end(labels in vec(label(), 0..4), pattern in vec(label(), 0..4)) {
        let parsed = NamespacePattern::parse(&json!(pattern)).unwrap();
        let namespace = Namespace(labels.clone());
        prop_assert_eq!(parsed.matches_prefix(&namespace), naive_star(&pattern, &labels));
        let from_the_end = naive_star(&reversed(&pattern), &reversed(&labels));
        prop_assert_eq!(parsed.matches_suffix(&namespace), from_the_end);
    }

    #[test]
    fn a_label_is_refused_exactly_for_what_is_in_it(labels in vec("[a.:\0😀 ]{0,3}", 0..4)) {
        let good = labels.iter().all(|label| !label.is_empty() && label.chars().all(|c| !".:\0".contains(c)));
        for (purpose, good) in [(Use::Read, good), (Use::Write, good && !labels.is_empty())] {
            match Namespace::parse(&json!(labels), purpose) {
                Ok(namespace) => prop_assert!(good && namespace.0 == labels),
                Err(error) => prop_assert!(!good && error.code() == "invalid_namespace"),
            }
        }
    }
}
