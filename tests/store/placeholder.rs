//! An external oracle: the scores that a published walk-through of LangGraph's InMemoryStore printed for its
//! placeholder embedding (character bigrams, CRC-32, 128 buckets) must come out of `put` and `search`.

use burrow::store::StoreOptions;
use serde_json::json;

use crate::support::*;

fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| {
        if crc & 1 == 1 {
            (crc >> 1) ^ 0xEDB8_8320
        } else {
            crc >> 1
        }
    };
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| step(crc))
    })
}

/// Not scaled to unit length: that is the store's business.
fn bigrams(text: &str) -> Vec<f32> {
    let mut counts = vec![0.0; 128];
    let letters: Vec<char> = text.chars().collect();
    for start in 0..letters.len().saturating_sub(1).max(1) {
        let gram: String = letters.iter().skip(start).take(2).collect();
        counts[crc32(gram.as_bytes()) as usize % 128] += 1.0;
    }
    counts
}

#[test]
fn the_checksum_has_the_check_value_of_its_specification() {
    assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
}

#[test]
fn scores_equal_the_published_table_to_four_digits() {
    let options = StoreOptions {
        dims: Some(128),
        ..fields(&["text"])
    };
    let table = Table::with(Fake::new("bigrams", bigrams), options);
    let namespace = ["u-42", "memories"];
    table.text(&namespace, "m-food", "用户喜欢吃披萨，尤其是玛格丽特");
    table.text(&namespace, "m-code", "用户主要写 Python，用 pytest 做测试");
    table.text(&namespace, "m-schedule", "用户周三下午三点之后不排会");
    table.text(&namespace, "m-style", "用户要求回答简短，不要用感叹号");
    let raw = json!({ "kind": "meta", "text": "这条不建索引" });
    let op = json!({ "op": "put", "namespace": namespace, "key": "m-raw", "value": raw, "index": false });
    table.ask(op).unwrap();

    let published = [
        (
            "用户喜欢吃什么",
            [("m-food", 0.4364), ("m-style", 0.2041), ("m-schedule", 0.1179)],
        ),
        (
            "用户用什么写代码",
            [("m-food", 0.3030), ("m-schedule", 0.2182), ("m-style", 0.0945)],
        ),
        (
            "回复风格有什么要求",
            [("m-style", 0.2652), ("m-code", 0.1387), ("m-food", 0.0000)],
        ),
    ];
    for (query, expected) in published {
        let page = table.search(json!({ "prefix": namespace, "query": query, "limit": 3 }));
        for (hit, (key, score)) in page.items.iter().zip(expected) {
            assert!((hit.score.unwrap() - score).abs() < 0.000_05, "{query}: {hit:?}");
            // What scores nothing is in no order that the walk-through promises.
            assert!(score == 0.0 || hit.item.key.0 == key, "{query}: {hit:?}");
        }
        assert_eq!(page.items.len(), 3);
        let all = table.search(json!({ "query": query, "limit": 10 }));
        assert!(!keys(&all).contains(&"m-raw"));
    }
    assert!(table.get(&namespace, "m-raw").is_some());
}
