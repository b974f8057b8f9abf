//! Items: JSON documents under a namespace and a key, and the answers that carry them.

use serde::Serialize;

use super::{Document, Key, Millis, Namespace};
use crate::{Error, Result};

/// Where an item lives. Two parts, never joined into one string: `(["a"], "b:c")` is not `(["a","b"], "c")`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemId {
    /// The path of labels.
    pub namespace: Namespace,
    /// The key within the namespace.
    pub key: Key,
}

impl ItemId {
    /// The first place where an item at or below a namespace can stand: the empty key is the smallest.
    pub fn first_at(namespace: &Namespace) -> Self {
        Self {
            namespace: namespace.clone(),
            key: Key(String::new()),
        }
    }
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

/// One document, as a reader gets it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// Where it lives.
    pub namespace: Namespace,
    /// Its name there.
    pub key: Key,
    /// The document.
    pub value: Document,
    /// First put of this incarnation.
    pub created_at: Millis,
    /// Last put.
    pub updated_at: Millis,
    /// From this instant on the item does not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Millis>,
}

/// An item that a search found.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hit {
    /// The item.
    #[serde(flatten)]
    pub item: Item,
    /// What the hit was ranked by; none without a query, or for an item without vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The cosine of query and best vector, −1…1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similarity: Option<f64>,
    /// A text of this item was longer than the model reads, and was cut.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// One page of a search.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Page {
    /// The hits, best first.
    pub items: Vec<Hit>,
    /// Whether another page follows, since a silent cut at the limit is a trap.
    pub has_more: bool,
}

/// The answer to one operation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum OpResult {
    /// A put or a delete is done.
    Written,
    /// What a get found.
    Item(Option<Item>),
    /// What a search found.
    Page(Page),
    /// What a list found.
    Namespaces(Vec<Namespace>),
}

impl OpResult {
    /// The answer as JSON text: `null`, an item or `null`, `{items, hasMore}`, or a list of lists of labels.
    pub fn to_json(&self) -> Result<String> {
        to_json(self)
    }

    /// The answers of a batch as a JSON array.
    pub fn list_to_json(results: &[Self]) -> Result<String> {
        to_json(results)
    }
}

fn to_json(value: &(impl Serialize + ?Sized)) -> Result<String> {
    let failed = |error| Error::internal("An answer could not be written as JSON.").caused_by(error);
    serde_json::to_string(value).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn item() -> Item {
        Item {
            namespace: Namespace(vec!["users".to_owned(), "u1".to_owned()]),
            key: Key("k".to_owned()),
            value: json!({ "__proto__": 1 }).as_object().unwrap().clone(),
            created_at: 1,
            updated_at: 2,
            expires_at: None,
        }
    }

    fn json_of(result: &OpResult) -> Value {
        serde_json::from_str(&result.to_json().unwrap()).unwrap()
    }

    #[test]
    fn an_item_shows_its_expiry_only_when_it_has_one() {
        let shown = json!({
            "namespace": ["users", "u1"], "key": "k", "value": { "__proto__": 1 }, "createdAt": 1, "updatedAt": 2
        });
        assert_eq!(json_of(&OpResult::Item(Some(item()))), shown);
        let expiring = Item {
            expires_at: Some(3),
            ..item()
        };
        assert_eq!(json_of(&OpResult::Item(Some(expiring)))["expiresAt"], 3);
    }

    #[test]
    fn a_page_shows_scores_beside_the_item() {
        let hit = Hit {
            item: item(),
            score: Some(0.5),
            similarity: Some(0.5),
            truncated: true,
        };
        let plain = Hit {
            item: item(),
            score: None,
            similarity: None,
            truncated: false,
        };
        let page = json_of(&OpResult::Page(Page {
            items: vec![hit, plain],
            has_more: true,
        }));
        assert_eq!(page["hasMore"], true);
        assert_eq!(page["items"][0]["key"], "k");
        assert_eq!(page["items"][0]["score"], 0.5);
        assert_eq!(page["items"][0]["truncated"], true);
        assert_eq!(page["items"][1].as_object().unwrap().len(), 5);
    }

    #[test]
    fn writes_and_misses_answer_null() {
        assert_eq!(json_of(&OpResult::Written), Value::Null);
        assert_eq!(json_of(&OpResult::Item(None)), Value::Null);
        let list = OpResult::list_to_json(&[OpResult::Written, OpResult::Namespaces(vec![item().namespace])]);
        assert_eq!(list.unwrap(), r#"[null,[["users","u1"]]]"#);
    }
}
