use serde_json::json;

use super::*;

fn resolve(source: Value) -> ModelSpec {
    ModelSource::parse(&source).unwrap().resolve().unwrap()
}

fn refused(source: Value) -> Error {
    let error = ModelSource::parse(&source)
        .and_then(|source| source.resolve())
        .unwrap_err();
    assert_eq!(error.code(), "invalid_argument");
    error
}

const HASH: &str = "00000000000000000000000000000000000000000000000000000000000000ab";

#[test]
fn a_name_alone_means_int8_from_the_hub_with_everything_pinned() {
    let spec = serde_json::to_value(resolve(json!("bge-small-en-v1.5"))).unwrap();
    let mut expected = json!({
        "precision": "int8",
        "model": {
            "url": "https://huggingface.co/Xenova/bge-small-en-v1.5/resolve/main/onnx/model_quantized.onnx",
            "size": 34_014_426,
            "sha256": "6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4"},
        "tokenizer": {
            "url": "https://huggingface.co/Xenova/bge-small-en-v1.5/resolve/main/tokenizer.json",
            "size": 711_396,
            "sha256": "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66"},
        "pooling": "cls", "queryPrefix": "", "documentPrefix": "", "lowercase": true, "maxTokens": 512, "dims": 384,
        "queryInstruction": "Represent this sentence for searching relevant passages: ",
        "fingerprint": "model=sha256:6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4;\
            precision=int8;pooling=cls;lowercase=yes;maxTokens=512;documentPrefix=\"\"",
    });
    expected["id"] = spec["id"].clone();
    assert_eq!(spec, expected);
    assert!(
        spec["id"]
            .as_str()
            .unwrap()
            .starts_with("bge-small-en-v1.5-int8-")
    );
}

#[test]
fn the_chinese_preset_lower_cases_and_e5_has_its_prefixes_on() {
    assert_eq!(resolve(json!("bge-small-zh-v1.5")).lowercase, Some(true));
    let e5 = resolve(json!("e5-small-v2"));
    assert_eq!(
        (e5.query_prefix.as_str(), e5.document_prefix.as_str()),
        ("query: ", "passage: ")
    );
}

#[test]
fn what_is_given_overrules_the_preset() {
    let spec = resolve(
        json!({"preset": "all-MiniLM-L6-v2", "precision": "f32", "pooling": "cls",
        "queryPrefix": "q", "documentPrefix": "d", "lowercase": false, "maxTokens": 512}),
    );
    assert_eq!(spec.model.unwrap().size, Some(90_984_153));
    assert_eq!(
        (spec.pooling, spec.lowercase, spec.max_tokens),
        (Pooling::Cls, Some(false), 512)
    );
    assert_eq!(
        (spec.query_prefix.as_str(), spec.document_prefix.as_str()),
        ("q", "d")
    );
}

#[test]
fn a_mirror_is_checked_by_the_presets_hash_and_gives_the_same_identities() {
    let hub = resolve(json!("bge-small-en-v1.5"));
    let mirror = resolve(json!({"preset": "bge-small-en-v1.5", "url": "https://mirror/m"}));
    assert_eq!(
        mirror.model.as_ref().unwrap().url.as_deref(),
        Some("https://mirror/m/onnx/model_quantized.onnx")
    );
    assert_eq!(
        mirror.model.as_ref().unwrap().sha256,
        hub.model.as_ref().unwrap().sha256
    );
    assert_eq!((mirror.fingerprint, mirror.id), (hub.fingerprint, hub.id));
}

#[test]
fn a_url_alone_is_enough_and_its_own_identity() {
    let spec = resolve(json!({"url": "https://h/onnx/model.onnx"}));
    assert_eq!(
        spec.tokenizer.unwrap().url.as_deref(),
        Some("https://h/tokenizer.json")
    );
    assert_eq!(
        (spec.pooling, spec.lowercase, spec.max_tokens, spec.dims),
        (Pooling::Mean, None, 512, None)
    );
    assert_eq!(
        spec.fingerprint.unwrap(),
        "model=url:https://h/onnx/model.onnx;precision=int8;pooling=mean;lowercase=file;maxTokens=512;documentPrefix=\"\""
    );
    let named = resolve(json!({"url": "https://h/model.onnx", "tokenizerUrl": "https://t/x.json"}));
    assert_eq!(named.tokenizer.unwrap().url.as_deref(), Some("https://t/x.json"));
}

#[test]
fn another_hash_replaces_the_presets_and_its_size() {
    let spec = resolve(
        json!({"preset": "bge-small-en-v1.5", "url": "https://h/mine.onnx", "sha256": HASH.to_uppercase()}),
    );
    let model = spec.model.unwrap();
    assert_eq!((model.size, model.sha256.as_deref()), (None, Some(HASH)));
}

/// All that decides a stored vector, and only that.
#[test]
fn the_fingerprint_follows_what_decides_a_stored_vector() {
    let base = json!({"preset": "bge-small-zh-v1.5"});
    let fingerprint = |field: &str, value: Value| {
        let mut source = base.clone();
        source[field] = value;
        resolve(source).fingerprint
    };
    let same = resolve(base.clone()).fingerprint;
    for (field, value) in [
        ("precision", json!("f32")),
        ("sha256", json!(HASH)),
        ("pooling", json!("mean")),
        ("documentPrefix", json!("d")),
        ("lowercase", json!(false)),
        ("maxTokens", json!(128)),
    ] {
        assert_ne!(fingerprint(field, value), same, "{field}");
    }
    assert_eq!(fingerprint("queryPrefix", json!("q")), same);
}

#[test]
fn the_id_follows_the_query_prefix_too_because_a_pack_holds_it() {
    let id = |source| resolve(source).id;
    assert_ne!(
        id(json!({"preset": "e5-small-v2", "queryPrefix": ""})),
        id(json!("e5-small-v2"))
    );
}

#[test]
fn bytes_need_a_hash_and_have_no_url() {
    assert!(refused(json!({"files": {}})).to_string().contains("sha256"));
    let spec = resolve(json!({"files": {}, "sha256": HASH}));
    assert_eq!(
        (spec.model.unwrap().url, spec.tokenizer.unwrap().url),
        (None, None)
    );
    let preset = resolve(json!({"preset": "bge-small-en-v1.5", "files": true}));
    assert_eq!(preset.id, resolve(json!("bge-small-en-v1.5")).id);
}

#[test]
fn a_pack_brings_its_own_settings() {
    let spec = resolve(json!({"pack": "https://h/x.pack", "sha256": HASH}));
    assert_eq!((spec.fingerprint, spec.model, spec.tokenizer), (None, None, None));
    let expected = FileSpec {
        url: Some("https://h/x.pack".to_owned()),
        size: None,
        sha256: Some(HASH.to_owned()),
    };
    assert_eq!(spec.pack, Some(expected));
    for field in ["url", "pooling", "queryPrefix", "maxTokens"] {
        let value = match field {
            "pooling" => json!("cls"),
            "maxTokens" => json!(64),
            _ => json!("x"),
        };
        let mut source = json!({"pack": "https://h/x.pack"});
        source[field] = value;
        assert_eq!(refused(source).context().details["field"], field);
    }
    assert!(refused(json!({"pack": {}})).to_string().contains("sha256"));
}

#[test]
fn what_cannot_be_used_is_refused() {
    let unknown = refused(json!("bge-large"));
    assert_eq!(unknown.context().details["preset"], "bge-large");
    for source in [
        json!({}),
        json!(null),
        json!(7),
        json!({"preset": "e5-small-v2", "precision": "int4"}),
        json!({"preset": "e5-small-v2", "pooling": "max"}),
        json!({"preset": "e5-small-v2", "maxTokens": 2}),
        json!({"preset": "e5-small-v2", "maxTokens": 513}),
        json!({"preset": "e5-small-v2", "maxTokens": -1}),
        json!({"preset": "e5-small-v2", "sha256": "abc"}),
        json!({"preset": "e5-small-v2", "colour": "red"}),
        json!({"url": ""}),
        json!({"files": {}, "url": "https://h/m", "sha256": HASH}),
    ] {
        refused(source);
    }
}

#[test]
fn a_spec_survives_its_own_json() {
    for source in [
        json!("e5-small-v2"),
        json!({"url": "https://h/m"}),
        json!({"pack": "https://h/p"}),
    ] {
        let spec = resolve(source);
        let text = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<ModelSpec>(&text).unwrap(), spec);
    }
}
