//! Namespaces and keys: how they compare. Labels and keys compare by UTF-16 code unit, as JavaScript and IndexedDB
//! do, which differs from Rust's own order of strings for characters beyond U+FFFF.

use std::cmp::Ordering;

/// A path of labels, outermost first.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Namespace(pub Vec<String>);

/// A key within a namespace.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key(pub String);

fn compare(a: &str, b: &str) -> Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
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

impl Namespace {
    /// Whether this namespace is `prefix` or below it, by whole labels.
    pub fn starts_with(&self, prefix: &Namespace) -> bool {
        self.0.starts_with(&prefix.0)
    }
}
