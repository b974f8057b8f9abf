//! Random histories against a store of forty lines: one ordered map, every rule of the specification spelt out in the
//! plainest way, nothing remembered between calls.
//!
//! Texts stand for vectors whose cosines are exact in binary (0, ±½, ±1), so that scores are compared with `==` and
//! ties, which decide order and paging, are frequent.

use std::collections::{BTreeMap, BTreeSet};

use burrow::model::{Millis, OpResult};
use burrow::store::Store;
use futures::executor::block_on;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::*;

/// ±a unit vector, or all four numbers ±½.
fn vector(text: &str) -> Vec<f32> {
    let number: usize = text.parse().unwrap();
    let sign = |bit: usize| if number >> bit & 1 == 1 { -1.0 } else { 1.0 };
    match number {
        0..8 => (0..4)
            .map(|axis| if axis == number / 2 { sign(0) } else { 0.0 })
            .collect(),
        _ => (0..4).map(|axis| 0.5 * sign(axis)).collect(),
    }
}

fn cosine(a: &str, b: &str) -> f64 {
    vector(a)
        .iter()
        .zip(vector(b))
        .map(|(&a, b)| f64::from(a) * f64::from(b))
        .sum()
}

#[derive(Debug, Clone)]
struct Naive {
    value: Value,
    created_at: Millis,
    updated_at: Millis,
    ttl: Option<f64>,
    expires_at: Option<Millis>,
    indexed: bool,
}

type Id = (Vec<String>, String);

#[derive(Debug, Clone, Default)]
struct Oracle(BTreeMap<Id, Naive>);

fn strings(labels: &Value) -> Vec<String> {
    labels
        .as_array()
        .unwrap()
        .iter()
        .map(|label| label.as_str().unwrap().to_owned())
        .collect()
}

fn expiry(ttl: Option<f64>, now: Millis) -> Option<Millis> {
    ttl.map(|minutes| now + (minutes * 60_000.0) as Millis)
}

fn shown((namespace, key): &Id, item: &Naive) -> Value {
    let mut shown = json!({
        "namespace": namespace, "key": key, "value": item.value, "createdAt": item.created_at, "updatedAt": item.updated_at
    });
    if let Some(expiry) = item.expires_at {
        shown["expiresAt"] = json!(expiry);
    }
    shown
}

impl Oracle {
    fn live(&self, now: Millis) -> impl Iterator<Item = (&Id, &Naive)> {
        self.0
            .iter()
            .filter(move |(_, item)| item.expires_at.is_none_or(|expiry| expiry > now))
    }

    fn apply(&mut self, op: &Value, now: Millis) -> Value {
        match op["op"].as_str().unwrap() {
            "put" => self.put(op, now),
            "delete" => {
                self.0.remove(&id(op));
                Value::Null
            }
            "get" => {
                let found = self.live(now).any(|(at, _)| *at == id(op));
                if !found {
                    return Value::Null;
                }
                self.refresh(&id(op), op, now);
                shown(&id(op), &self.0[&id(op)])
            }
            "search" => self.search(op, now),
            _ => self.list(op, now),
        }
    }

    fn put(&mut self, op: &Value, now: Millis) -> Value {
        let before = self
            .live(now)
            .find(|(at, _)| **at == id(op))
            .map(|(_, item)| item.clone());
        let ttl = op["ttl"].as_f64();
        let item = Naive {
            value: op["value"].clone(),
            created_at: before.as_ref().map_or(now, |item| item.created_at),
            updated_at: before.map_or(now, |item| now.max(item.updated_at + 1)),
            ttl,
            expires_at: expiry(ttl, now),
            indexed: op["index"] != false,
        };
        self.0.insert(id(op), item);
        Value::Null
    }

    fn refresh(&mut self, id: &Id, op: &Value, now: Millis) {
        let item = self.0.get_mut(id).unwrap();
        if op["refreshTtl"] != false {
            item.expires_at = expiry(item.ttl, now).or(item.expires_at);
        }
    }

    fn search(&mut self, op: &Value, now: Millis) -> Value {
        let prefix = strings(&op["prefix"]);
        let mut found: Vec<(Option<f64>, Millis, Id)> = Vec::new();
        for (id, item) in self.live(now) {
            let kind = &op["filter"]["kind"];
            if !id.0.starts_with(&prefix) || !(kind.is_null() || *kind == item.value["kind"]) {
                continue;
            }
            let texts = item.value["texts"].as_array().unwrap();
            let score = op["query"].as_str().filter(|_| item.indexed).and_then(|query| {
                texts
                    .iter()
                    .map(|text| cosine(query, text.as_str().unwrap()))
                    .reduce(f64::max)
            });
            let enough = score.is_none_or(|score| score >= op["minScore"].as_f64().unwrap_or(-2.0));
            let wanted = score.is_some() || op["query"].is_null() || op["unscored"] == "append";
            if enough && wanted {
                found.push((score, item.updated_at, id.clone()));
            }
        }
        // A missing score comes after every score.
        found.sort_by(|a, b| {
            let score = |hit: &(Option<f64>, Millis, Id)| hit.0.unwrap_or(-9.0);
            score(b)
                .total_cmp(&score(a))
                .then(b.1.cmp(&a.1))
                .then(a.2.cmp(&b.2))
        });
        let (offset, limit) = (
            op["offset"].as_u64().unwrap() as usize,
            op["limit"].as_u64().unwrap() as usize,
        );
        let has_more = found.len() > offset + limit;
        let mut items = Vec::new();
        for (score, _, id) in found.into_iter().skip(offset).take(limit) {
            self.refresh(&id, op, now);
            let mut hit = shown(&id, &self.0[&id]);
            if let Some(score) = score {
                hit["score"] = json!(score);
                hit["similarity"] = json!(score);
            }
            items.push(hit);
        }
        json!({ "items": items, "hasMore": has_more })
    }

    fn list(&self, op: &Value, now: Millis) -> Value {
        let depth = op["maxDepth"].as_u64().unwrap() as usize;
        let cut = |namespace: &[String]| namespace[..namespace.len().min(depth)].to_vec();
        let all: BTreeSet<Vec<String>> = self.live(now).map(|(id, _)| cut(&id.0)).collect();
        json!(all)
    }
}

fn id(op: &Value) -> Id {
    (strings(&op["namespace"]), op["key"].as_str().unwrap().to_owned())
}

fn namespace() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!(["a"]),
        json!(["a", "b"]),
        json!(["a-b"]),
        json!(["a", "b", "c"]),
        json!(["z"]),
    ])
}

fn key() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["k", "l", "b:k", "é"])
}

fn text() -> impl Strategy<Value = String> {
    (0..24_u32).prop_map(|number| number.to_string())
}

fn minutes() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![json!(null), json!(null), json!(0.5), json!(1), json!(3)])
}

fn put() -> impl Strategy<Value = Value> {
    let value = (prop::collection::vec(text(), 0..4), 0..3)
        .prop_map(|(texts, kind)| json!({ "texts": texts, "kind": kind }));
    (namespace(), key(), value, minutes(), prop::bool::weighted(0.8)).prop_map(
        |(namespace, key, value, ttl, indexed)| {
            let mut op =
                json!({ "op": "put", "namespace": namespace, "key": key, "value": value, "ttl": ttl });
            if !indexed {
                op["index"] = json!(false);
            }
            op
        },
    )
}

fn find() -> impl Strategy<Value = Value> {
    let prefix = prop::sample::select(vec![json!([]), json!(["a"]), json!(["a", "b"]), json!(["none"])]);
    let options = (0_usize..6, 0_usize..6, any::<bool>(), any::<bool>());
    let narrowed = (
        prop::option::of(0..3),
        prop::option::of(prop::sample::select(vec![0.0, 0.5])),
    );
    (prefix, prop::option::of(text()), options, narrowed).prop_map(
        |(prefix, query, (limit, offset, append, refresh), (kind, least))| {
            let mut op = json!({ "op": "search", "prefix": prefix, "query": query, "limit": limit, "offset": offset,
                "refreshTtl": refresh, "unscored": if append { "append" } else { "omit" } });
            if let Some(kind) = kind {
                op["filter"] = json!({ "kind": kind });
            }
            if let Some(least) = least {
                op["minScore"] = json!(least);
            }
            op
        },
    )
}

fn operation() -> impl Strategy<Value = Value> {
    let get = (namespace(), key(), any::<bool>()).prop_map(|(namespace, key, refresh)| {
        json!({ "op": "get", "namespace": namespace, "key": key, "refreshTtl": refresh })
    });
    let delete = (namespace(), key())
        .prop_map(|(namespace, key)| json!({ "op": "delete", "namespace": namespace, "key": key }));
    let list = (1..4).prop_map(|depth| json!({ "op": "listNamespaces", "maxDepth": depth }));
    prop_oneof![6 => put(), 1 => delete, 2 => get, 4 => find(), 1 => list]
}

#[derive(Debug, Clone)]
enum Step {
    One(Value),
    Batch(Vec<Value>),
    Wait(Millis),
    Sweep,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => operation().prop_map(Step::One),
        2 => prop::collection::vec(operation(), 0..6).prop_map(Step::Batch),
        3 => prop::sample::select(vec![1, 10_000, MINUTE / 2, MINUTE, 2 * MINUTE]).prop_map(Step::Wait),
        1 => Just(Step::Sweep),
        1 => Just(Step::Reopen),
    ]
}

fn answers(result: burrow::Result<Vec<OpResult>>) -> Value {
    serde_json::from_str(&OpResult::list_to_json(&result.unwrap()).unwrap()).unwrap()
}

fn one(store: &Store, op: &Value) -> Value {
    answers(block_on(store.execute(parse(op.clone()).unwrap())).map(|answer| vec![answer]))[0].take()
}

/// Every page of a search, and each item once.
fn check_pages(store: &Store, oracle: &mut Oracle, now: Millis, query: Value) {
    let op = |limit: usize, offset: usize| {
        json!({ "op": "search", "prefix": [], "query": query, "limit": limit, "offset": offset,
            "refreshTtl": false, "unscored": "append" })
    };
    let whole = oracle.apply(&op(1_000, 0), now);
    assert_eq!(one(store, &op(1_000, 0)), whole);
    let mut paged = Vec::new();
    loop {
        let page = one(store, &op(3, paged.len()));
        paged.extend(page["items"].as_array().unwrap().clone());
        if page["hasMore"] == false {
            break;
        }
    }
    assert_eq!(json!(paged), whole["items"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn the_store_does_what_the_naive_one_does(history in prop::collection::vec((step(), 0_usize..2), 1..40)) {
        let table = Table::with(Fake::new("exact", vector), fields(&["texts[*]"]));
        let tab = || open(&table.storage, Some(Fake::new("exact", vector)), &table.clock, fields(&["texts[*]"])).unwrap();
        let mut tabs = [tab(), tab()];
        let (mut oracle, mut now) = (Oracle::default(), START);
        for (step, at) in history {
            match step {
                Step::One(op) => prop_assert_eq!(one(&tabs[at], &op), oracle.apply(&op, now), "{}", op),
                Step::Batch(ops) => {
                    let expected: Vec<Value> = ops.iter().map(|op| oracle.apply(op, now)).collect();
                    let answered = answers(block_on(tabs[at].batch(parse_all(json!(ops)).unwrap())));
                    prop_assert_eq!(answered, json!(expected), "{}", json!(ops));
                }
                Step::Wait(millis) => {
                    table.clock.advance(millis);
                    now += millis;
                }
                Step::Sweep => {
                    let swept = block_on(tabs[at].sweep()).unwrap();
                    let before = oracle.0.len();
                    oracle = Oracle(oracle.live(now).map(|(id, item)| (id.clone(), item.clone())).collect());
                    prop_assert_eq!(swept, before - oracle.0.len());
                }
                Step::Reopen => tabs[at] = tab(),
            }
        }
        for store in &tabs {
            check_pages(store, &mut oracle, now, Value::Null);
            check_pages(store, &mut oracle, now, json!("9"));
        }
        prop_assert_eq!(table.stored().len(), oracle.0.len());
    }
}
