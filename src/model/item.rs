//! Items: JSON documents under a namespace and a key.

use super::{Key, Namespace};

/// A JSON object; field order is not significant.
pub type Document = serde_json::Map<String, serde_json::Value>;

/// Where an item lives. Two parts, never joined into one string: `(["a"], "b:c")` is not `(["a","b"], "c")`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemId {
    /// The path of labels.
    pub namespace: Namespace,
    /// The key within the namespace.
    pub key: Key,
}

/// Which parts of a document are embedded, as the put asked. Kept with the item, so that a reindex asks the same.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum IndexFields {
    /// The store's own `fields`.
    #[default]
    Default,
    /// No vectors (`index: false`).
    None,
    /// These paths (`index: [..]`), as written.
    Paths(Vec<String>),
}
