//! Namespaces and keys: which there are, and how they compare.
//!
//! Labels and keys compare by UTF-16 code unit, as JavaScript and IndexedDB do, which differs from Rust's own order
//! of strings for characters beyond U+FFFF. A namespace stays a list of labels in every code path: joined into one
//! string, `(["a"], "b:c")` and `(["a","b"], "c")` would meet, and a prefix would match half a label.

use std::cmp::Ordering;

use serde::Serialize;
use serde_json::Value;

use super::document::kind;
use crate::{Error, Result};

/// The root label that LangGraph keeps for itself.
pub const RESERVED_ROOT: &str = "langgraph";

/// A path of labels, outermost first.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(transparent)]
pub struct Namespace(pub Vec<String>);

/// A key within a namespace.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct Key(pub String);

/// What a namespace is wanted for; reads check labels only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Put or delete: not empty, and not under the reserved root.
    Write,
    /// A write that may go under the reserved root, as LangGraph's own raw batch may.
    ReservedWrite,
    /// Get, search and list.
    Read,
}

/// The order of UTF-16 code units, found in the UTF-8 that both already are: it is the order of bytes, except that
/// U+E000..U+FFFF (first byte EE or EF) come after everything beyond (F0 and up). All other bytes are below EE, so two
/// that differ and are not both first bytes of such characters compare as they are.
pub(super) fn compare(a: &str, b: &str) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    let rank = |byte: u8| {
        if matches!(byte, 0xEE | 0xEF) {
            byte + 0x10
        } else {
            byte
        }
    };
    let differing = a.bytes().zip(b.bytes()).find(|(a, b)| a != b);
    differing.map_or(a.len().cmp(&b.len()), |(a, b)| rank(a).cmp(&rank(b)))
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(&self.0, &other.0)
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Namespace {
    fn cmp(&self, other: &Self) -> Ordering {
        let labels = self.0.iter().zip(&other.0).map(|(a, b)| compare(a, b));
        labels
            .fold(Ordering::Equal, Ordering::then)
            .then(self.0.len().cmp(&other.0.len()))
    }
}

impl PartialOrd for Namespace {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Key {
    /// Any string but the empty one.
    pub fn parse(key: &Value) -> Result<Self> {
        match key {
            Value::String(key) if key.is_empty() => Err(Error::invalid_key("A key cannot be empty.")),
            Value::String(key) => Ok(Self(key.clone())),
            other => Err(Error::invalid_key(format!(
                "A key is a string, not {} ({other}).",
                kind(other)
            ))),
        }
    }
}

impl Namespace {
    /// Reads and checks a list of labels.
    ///
    /// ```
    /// use burrow::model::{Namespace, Use};
    /// use serde_json::json;
    ///
    /// let namespace = Namespace::parse(&json!(["users", "u42"]), Use::Write)?;
    /// assert!(namespace.starts_with(&Namespace::parse(&json!([]), Use::Read)?));
    ///
    /// let error = Namespace::parse(&json!(["users", 42]), Use::Read).unwrap_err();
    /// assert_eq!(error.code(), "invalid_namespace");
    /// # Ok::<(), burrow::Error>(())
    /// ```
    pub fn parse(labels: &Value, purpose: Use) -> Result<Self> {
        let Value::Array(items) = labels else {
            let message = format!(
                "A namespace is an array of labels, not {} ({labels}).",
                kind(labels)
            );
            return Err(Error::invalid_namespace(message));
        };
        let labels = items
            .iter()
            .map(|label| parse_label(label, labels))
            .collect::<Result<_>>()?;
        let namespace = Self(labels);
        if purpose != Use::Read && namespace.0.is_empty() {
            return Err(Error::invalid_namespace(
                "A namespace to write to cannot be empty.",
            ));
        }
        if purpose == Use::Write && namespace.0.first().is_some_and(|root| root == RESERVED_ROOT) {
            let reason = "is reserved as the root of a namespace";
            return Err(bad_label(
                &Value::from(RESERVED_ROOT),
                labels_json(&namespace),
                reason,
            ));
        }
        Ok(namespace)
    }

    /// Whether this namespace is `prefix` or below it, by whole labels.
    pub fn starts_with(&self, prefix: &Namespace) -> bool {
        self.0.starts_with(&prefix.0)
    }

    /// The first `depth` labels.
    pub fn truncated(&self, depth: usize) -> Namespace {
        Self(self.0.iter().take(depth).cloned().collect())
    }
}

fn labels_json(namespace: &Namespace) -> Value {
    Value::from(namespace.0.clone())
}

fn parse_label(label: &Value, whole: &Value) -> Result<String> {
    let Value::String(text) = label else {
        let reason = format!("is {}; labels are strings", kind(label));
        return Err(bad_label(label, whole.clone(), &reason));
    };
    let forbidden = [
        ('.', "a period (\".\")"),
        (':', "a colon (\":\")"),
        ('\0', "a NUL character"),
    ];
    if text.is_empty() {
        return Err(bad_label(label, whole.clone(), "is empty"));
    }
    match forbidden.iter().find(|(character, _)| text.contains(*character)) {
        Some((_, name)) => Err(bad_label(label, whole.clone(), &format!("contains {name}"))),
        None => Ok(text.clone()),
    }
}

fn bad_label(label: &Value, namespace: Value, reason: &str) -> Error {
    Error::invalid_namespace(format!(
        "Invalid namespace {namespace}: the label {label} {reason}."
    ))
    .with("label", label.clone())
    .with("namespace", namespace)
    .with("reason", reason)
}

/// Labels to look for at one end of a namespace, where `*` stands for any one label.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NamespacePattern(Vec<String>);

impl NamespacePattern {
    /// Reads and checks a list of labels and `*`.
    pub fn parse(labels: &Value) -> Result<Self> {
        Namespace::parse(labels, Use::Read).map(|namespace| Self(namespace.0))
    }

    /// Whether the namespace begins with these labels.
    pub fn matches_prefix(&self, namespace: &Namespace) -> bool {
        namespace
            .0
            .get(..self.0.len())
            .is_some_and(|labels| self.matches(labels))
    }

    /// Whether the namespace ends with these labels.
    pub fn matches_suffix(&self, namespace: &Namespace) -> bool {
        let start = namespace.0.len().checked_sub(self.0.len());
        start
            .and_then(|start| namespace.0.get(start..))
            .is_some_and(|labels| self.matches(labels))
    }

    fn matches(&self, labels: &[String]) -> bool {
        self.0
            .iter()
            .zip(labels)
            .all(|(wanted, label)| wanted == "*" || wanted == label)
    }
}

impl From<Namespace> for NamespacePattern {
    fn from(namespace: Namespace) -> Self {
        Self(namespace.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(labels: Value, purpose: Use) -> Error {
        let error = Namespace::parse(&labels, purpose).unwrap_err();
        assert_eq!(error.code(), "invalid_namespace", "{labels}");
        error
    }

    fn namespace(labels: &[&str]) -> Namespace {
        Namespace(labels.iter().map(|&label| label.to_owned()).collect())
    }

    #[test]
    fn a_message_names_the_label_and_the_reason() {
        for (label, reason) in [
            (json!("a.b"), "period"),
            (json!("a:b"), "colon"),
            (json!("a\0b"), "NUL"),
            (json!(""), "empty"),
            (json!(42), "is a number; labels are strings"),
            (json!(null), "is null; labels are strings"),
            (json!(["a"]), "is an array; labels are strings"),
        ] {
            for purpose in [Use::Write, Use::ReservedWrite, Use::Read] {
                let error = refused(json!(["users", label]), purpose);
                let message = &error.context().message;
                assert!(
                    message.contains(&label.to_string()) && message.contains(reason),
                    "{message}"
                );
                assert_eq!(error.context().details["label"], label);
            }
        }
    }

    #[test]
    fn the_empty_namespace_can_be_read_but_not_written() {
        assert_eq!(Namespace::parse(&json!([]), Use::Read).unwrap(), namespace(&[]));
        refused(json!([]), Use::Write);
        refused(json!([]), Use::ReservedWrite);
    }

    #[test]
    fn the_reserved_root_is_refused_at_the_root_of_a_write_only() {
        assert!(
            refused(json!(["langgraph", "a"]), Use::Write)
                .context()
                .message
                .contains("langgraph")
        );
        for (labels, purpose) in [
            (json!(["langgraph", "a"]), Use::ReservedWrite),
            (json!(["langgraph"]), Use::Read),
            (json!(["a", "langgraph"]), Use::Write),
            (json!(["Langgraph"]), Use::Write),
        ] {
            assert!(Namespace::parse(&labels, purpose).is_ok(), "{labels}");
        }
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for labels in [json!("users"), json!({}), json!(null), json!(7)] {
            refused(labels, Use::Read);
        }
    }

    #[test]
    fn a_key_is_any_string_but_the_empty_one() {
        for key in ["b:c", ".", "\0", " ", "__proto__", "😀"] {
            assert_eq!(Key::parse(&json!(key)).unwrap().0, key);
        }
        for key in [json!(""), json!(1), json!(null)] {
            assert_eq!(Key::parse(&key).unwrap_err().code(), "invalid_key");
        }
    }

    #[test]
    fn a_prefix_matches_whole_labels_only() {
        let prefix = namespace(&["t", "acme"]);
        assert!(namespace(&["t", "acme"]).starts_with(&prefix));
        assert!(namespace(&["t", "acme", "x"]).starts_with(&prefix));
        assert!(!namespace(&["t", "acme-corp"]).starts_with(&prefix));
        assert!(!namespace(&["t"]).starts_with(&prefix));
    }

    #[test]
    fn a_star_stands_for_exactly_one_label() {
        let pattern = |labels| NamespacePattern::parse(&labels).unwrap();
        let long = namespace(&["users", "u1", "prefs"]);
        assert!(pattern(json!(["users", "*"])).matches_prefix(&long));
        assert!(pattern(json!(["*", "prefs"])).matches_suffix(&long));
        assert!(pattern(json!(["*", "*", "*"])).matches_prefix(&long));
        assert!(!pattern(json!(["*", "*", "*", "*"])).matches_prefix(&long));
        assert!(!pattern(json!(["*", "*", "*", "*"])).matches_suffix(&long));
        assert!(!pattern(json!(["*", "prefs"])).matches_prefix(&long));
        assert!(!pattern(json!(["u*"])).matches_prefix(&long));
        assert!(pattern(json!([])).matches_prefix(&long) && pattern(json!([])).matches_suffix(&long));
    }

    #[cfg(not(target_arch = "wasm32"))]
    proptest::proptest! {
        #[test]
        fn comparing_bytes_gives_the_order_of_code_units(a in "[a-b\u{7f}-\u{80}\u{7ff}-\u{800}\u{d7ff}\u{e000}-\u{e001}\u{ffff}-\u{10000}\u{10ffff}]{0,4}",
            b in "[a-b\u{7f}-\u{80}\u{7ff}-\u{800}\u{d7ff}\u{e000}-\u{e001}\u{ffff}-\u{10000}\u{10ffff}]{0,4}") {
            proptest::prop_assert_eq!(compare(&a, &b), a.encode_utf16().cmp(b.encode_utf16()));
        }
    }

    #[test]
    fn labels_are_ordered_by_utf16_code_unit() {
        // U+1F600 is D83D DE00 in UTF-16, so it comes before U+E000, against the order of code points.
        assert!(namespace(&["😀"]) < namespace(&["\u{e000}"]));
        assert!(Key("a😀".to_owned()) < Key("a\u{e000}".to_owned()));
        assert!(namespace(&["a"]) < namespace(&["a", ""]));
        assert!(namespace(&["a", "z"]) < namespace(&["b"]));
        assert!(namespace(&["B"]) < namespace(&["a"]));
    }
}
