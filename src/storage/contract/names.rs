//! Names and texts that a joined key, an order of bytes or a plain object would confuse.

use super::*;

/// Puts each id with its own text and checks that each has its own; gives the ids as the snapshot orders them.
async fn store_each(storage: &Rc<dyn Storage>, ids: &[ItemId]) -> Vec<ItemId> {
    let texts: Vec<String> = (0..ids.len()).map(|n| format!("text {n}")).collect();
    commit_puts(storage, ids.iter().zip(&texts).map(|(id, text)| put(id, text, 1))).await;
    for (id, text) in ids.iter().zip(&texts) {
        let record = record(storage, id).await.unwrap();
        assert_eq!((record.entry.id, record.value), (id.clone(), document(text)));
    }
    let entries = storage.load().await.unwrap().entries;
    assert_eq!(entries.len(), ids.len(), "no two ids meet");
    entries.into_iter().map(|entry| entry.id).collect()
}

/// However the parts are joined, two items are two.
pub async fn namespace_and_key_do_not_run_together(backend: &impl Backend) {
    let storage = backend.open().await.unwrap();
    let ids = [
        id(&["a"], "b:c"),
        id(&["a", "b"], "c"),
        id(&["a", "b", "c"], "d"),
        id(&["a"], "b.c"),
        id(&["a"], "b\0c"),
        id(&["a"], "b,c"),
        id(&["a,b"], "c"),
        id(&["a"], "b/c"),
        id(&["a/b"], "c"),
        id(&["a"], "b\u{1f}c"),
        id(&["a\u{1f}b"], "c"),
        id(&["a"], r#"b","c"#),
        id(&[r#"a","b"#], "c"),
        id(&["a"], r#"["b"]"#),
        id(&["ab"], "c"),
        id(&["a"], "bc"),
    ];
    store_each(&storage, &ids).await;
    commit(&storage, vec![Write::Delete(id(&["a"], "b:c"))]).await;
    assert!(entry(&storage, &id(&["a", "b"], "c")).await.is_some());
    assert_eq!(storage.load().await.unwrap().entries.len(), ids.len() - 1);
}

/// Labels that begin alike, and a namespace that is also a parent.
pub async fn prefixes_that_look_alike_stay_apart(backend: &impl Backend) {
    let storage = backend.open().await.unwrap();
    let ids = [
        id(&["t"], "k"),
        id(&["t", "acme"], "k"),
        id(&["t", "acme", "x"], "k"),
        id(&["t", "acme-corp"], "k"),
        id(&["t", "Acme"], "k"),
        id(&["t", "acme "], "k"),
        id(&["t", "acmé"], "k"),
        id(&["t", "acme\u{301}"], "k"),
        id(&["t", "acm"], "ek"),
        id(&["t", "acm"], "e"),
    ];
    store_each(&storage, &ids).await;
    commit(&storage, vec![Write::Delete(id(&["t", "acme"], "k"))]).await;
    let left = storage.load().await.unwrap().entries.len();
    assert_eq!(left, ids.len() - 1, "only the item itself is deleted");
}

/// Label by label, a parent before what is below it, each text by UTF-16 code unit.
pub async fn a_snapshot_is_ordered_by_namespace_and_key(backend: &impl Backend) {
    let storage = backend.open().await.unwrap();
    // U+1F600 is D83D DE00 in UTF-16: after U+D7FF, before U+E000 and U+FFFF.
    let expected = [
        id(&["*"], "k"),
        id(&["B"], "k"),
        id(&["a"], "\0"),
        id(&["a"], " "),
        id(&["a"], "Z"),
        id(&["a"], "a"),
        id(&["a"], "a\0"),
        id(&["a"], "aa"),
        id(&["a"], "é"),
        id(&["a"], "\u{d7ff}"),
        id(&["a"], "😀"),
        id(&["a"], "\u{10ffff}"),
        id(&["a"], "\u{e000}"),
        id(&["a"], "\u{ffff}"),
        id(&["a", "\u{1}"], "k"),
        id(&["a", "b"], "k"),
        id(&["a", "b", "c"], "k"),
        id(&["a", "b-c"], "k"),
        id(&["a\u{1}"], "k"),
        id(&["a "], "k"),
        id(&["a-b"], "k"),
        id(&["aa"], "k"),
        id(&["名"], "k"),
        id(&["😀"], "k"),
        id(&["😀", "x"], "k"),
        id(&["\u{e000}"], "k"),
    ];
    // 7 and 26 have no common divisor, so this visits each once, far from the expected order.
    let shuffled: Vec<ItemId> = (0..expected.len())
        .map(|n| expected[n * 7 % expected.len()].clone())
        .collect();
    assert_eq!(store_each(&storage, &shuffled).await, expected);
}

/// Field names of plain objects, controls, separators, a megabyte.
pub async fn odd_documents_survive(backend: &impl Backend) {
    let storage = backend.open().await.unwrap();
    let texts = [
        r#"{}"#.to_owned(),
        r#"{"__proto__":{"polluted":true},"constructor":"x","toString":1,"hasOwnProperty":null}"#.to_owned(),
        "{\"a\":\"\u{2028}\u{2029}\u{feff}\u{ffff}\u{7f}\"}".to_owned(),
        r#"{"a":"\u0000\u001f\"\\"}"#.to_owned(),
        r#"{"z":1,"a":1.50,"a2":-0.0,"n":123456789012345678901234567890}"#.to_owned(),
        format!(r#"{{"long":"{}"}}"#, "名".repeat(350_000)),
    ];
    for (n, text) in texts.iter().enumerate() {
        let key = ["constructor", "__proto__", "\0", "𝒳", "k", "long"][n];
        let id = id(&["prototype", "__proto__"], key);
        commit_puts(
            &storage,
            [Put {
                value: text.as_str().into(),
                ..put(&id, key, 1)
            }],
        )
        .await;
    }
    for (n, text) in texts.iter().enumerate() {
        let key = ["constructor", "__proto__", "\0", "𝒳", "k", "long"][n];
        let record = record(&storage, &id(&["prototype", "__proto__"], key))
            .await
            .unwrap();
        assert_eq!(&*record.value, text.as_str(), "as text, to the byte");
        assert_eq!(record.entry.vectors, [vector(key)]);
    }
}

/// With repeats and gaps; expired items too, since the store decides by its own clock.
pub async fn documents_are_read_in_the_order_asked(backend: &impl Backend) {
    let storage = backend.open().await.unwrap();
    let [a, b, expired, missing] = ["a", "b", "expired", "missing"].map(|key| id(&["n"], key));
    commit_puts(
        &storage,
        [
            put(&a, "a", 1),
            put(&b, "b", 1),
            expiring(&expired, "expired", 1, 2),
        ],
    )
    .await;
    let asked = [b.clone(), missing.clone(), a.clone(), b, expired, a];
    let records = storage.read(&asked).await.unwrap();
    let values: Vec<_> = records
        .into_iter()
        .map(|record| record.map(|record| record.value))
        .collect();
    let expected = [Some("b"), None, Some("a"), Some("b"), Some("expired"), Some("a")];
    assert_eq!(values, expected.map(|text| text.map(document)));
    assert_eq!(storage.read(&[]).await.unwrap(), []);
}
