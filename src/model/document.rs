//! Documents: JSON objects, and how two JSON values compare.
//!
//! Walks over foreign JSON are bounded: serde_json refuses text nested deeper than 127 levels, and a document deeper
//! than [`MAX_DEPTH`] is refused before anything recurses over it, so that no input can exhaust the stack. The bound
//! leaves room for what a document travels in (an operation, a batch, an export).

use std::cmp::Ordering;

use serde_json::Value;

use crate::{Error, Result};

/// A JSON object; field order is not significant. Fields may have any name, `__proto__` and `constructor` included.
pub type Document = serde_json::Map<String, Value>;

/// How deep objects and arrays may nest, the document itself being level 1.
pub const MAX_DEPTH: usize = 120;

/// Checks that a value is a document: an object, and not nested too deep.
pub fn from_value(value: Value) -> Result<Document> {
    if !within_depth(&value, MAX_DEPTH) {
        return Err(too_deep());
    }
    match value {
        Value::Object(document) => Ok(document),
        other => Err(Error::invalid_document(format!(
            "A value is a JSON object, not {}; wrap it in one, as in {{\"text\": …}}.",
            kind(&other)
        ))),
    }
}

/// Reads JSON text that an application handed in; what text cannot be is `invalid_document` where the document is to
/// blame (depth, half a surrogate pair) and `invalid_argument` where the text is no JSON at all.
pub fn read_json(text: &str) -> Result<Value> {
    serde_json::from_str(text).map_err(|error| {
        let words = error.to_string();
        if words.contains("recursion limit") {
            return too_deep().caused_by(words);
        }
        if words.contains("surrogate") || words.contains("hex escape") {
            let message = "A text holds half of a surrogate pair, which no JSON document can store.";
            return Error::invalid_document(message).caused_by(words);
        }
        Error::invalid_argument("This is not JSON.").caused_by(words)
    })
}

fn too_deep() -> Error {
    Error::invalid_document(format!("The document is nested deeper than {MAX_DEPTH} levels."))
        .with("maxDepth", MAX_DEPTH)
}

/// Whether objects and arrays nest at most `levels` deep. Does not recurse.
pub(super) fn within_depth(value: &Value, levels: usize) -> bool {
    let mut open = vec![(value, 1)];
    while let Some((value, level)) = open.pop() {
        if level > levels && (value.is_object() || value.is_array()) {
            return false;
        }
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, level + 1))),
            Value::Object(fields) => open.extend(fields.values().map(|field| (field, level + 1))),
            _ => {}
        }
    }
    true
}

/// JSON equality: same type, same content. Numbers are JavaScript's, so `1` equals `1.0`, and never `"1"`.
pub fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            let same = |(name, a): (&String, &Value)| b.get(name).is_some_and(|b| equal(a, b));
            a.len() == b.len() && a.iter().all(same)
        }
        _ => a == b,
    }
}

/// The order of two numbers, or of two strings by UTF-16 code unit; nothing else has an order.
pub fn order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64()?.partial_cmp(&b.as_f64()?),
        (Value::String(a), Value::String(b)) => Some(super::namespace::compare(a, b)),
        _ => None,
    }
}

/// What a value is, for a message.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn nested(levels: usize) -> Value {
        (1..levels).fold(json!({}), |inner, _| json!({ "a": inner }))
    }

    #[test]
    fn a_document_at_the_depth_limit_is_taken_and_one_deeper_is_refused() {
        assert!(from_value(nested(MAX_DEPTH)).is_ok());
        let error = from_value(nested(MAX_DEPTH + 1)).unwrap_err();
        assert_eq!(error.code(), "invalid_document");
    }

    #[test]
    fn text_nested_a_hundred_thousand_deep_is_an_error_and_not_a_stack_overflow() {
        for open in ["[", r#"{"a":"#] {
            assert_eq!(
                read_json(&open.repeat(100_000)).unwrap_err().code(),
                "invalid_document"
            );
        }
    }

    #[test]
    fn half_a_surrogate_pair_is_refused_and_a_whole_one_is_read() {
        for text in [r#"{"t":"\ud83d"}"#, r#"{"t":"\ude00"}"#, r#"{"t":"\ud83dx"}"#] {
            assert_eq!(read_json(text).unwrap_err().code(), "invalid_document", "{text}");
        }
        assert_eq!(
            read_json(r#"{"t":"\ud83d\ude00"}"#).unwrap(),
            json!({ "t": "😀" })
        );
    }

    #[test]
    fn only_an_object_is_a_document() {
        for value in [json!(null), json!(1), json!("a"), json!([1]), json!(true)] {
            assert_eq!(from_value(value).unwrap_err().code(), "invalid_document");
        }
    }

    #[test]
    fn fields_named_like_object_internals_are_ordinary_fields() {
        let text = r#"{"__proto__":{"a":1},"constructor":"x"}"#;
        let document = from_value(read_json(text).unwrap()).unwrap();
        assert_eq!(serde_json::to_string(&document).unwrap(), text);
    }
}
