//! Operations: what an application asks for, checked and typed.
//!
//! Over the wire an operation is a JSON object with `op` and the fields named in its struct here. A field that no
//! such operation has is refused, so that a misspelt `fitler` is an error and not a search without a filter. Numbers
//! that JSON cannot hold (NaN, Infinity) arrive as `null`, and so `null` is refused where it has no meaning.

use std::fmt::Display;

use serde_json::Value;
use serde_json::value::RawValue;

use super::document::{self, kind};
use super::{Document, FieldPath, Filter, IndexFields, ItemId, Key, Namespace, NamespacePattern, Use};
use crate::{Error, Result};

/// How many hits a search gives when it does not say.
pub const DEFAULT_SEARCH_LIMIT: usize = 10;

/// How many namespaces a list gives when it does not say.
pub const DEFAULT_LIST_LIMIT: usize = 100;

/// One operation.
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// Store a document.
    Put(PutOp),
    /// Read one item.
    Get(GetOp),
    /// Find items.
    Search(SearchOp),
    /// Remove an item; also a put of `null`.
    Delete(DeleteOp),
    /// List the namespaces that have items.
    ListNamespaces(ListNamespacesOp),
}

/// `{op: "put", namespace, key, value, ttl?, index?, reservedRoot?}`
#[derive(Debug, Clone, PartialEq)]
pub struct PutOp {
    /// Where the item goes.
    pub id: ItemId,
    /// The whole document.
    pub value: Document,
    /// How long it lives.
    pub ttl: Ttl,
    /// What of it is embedded; the paths are known to be well formed.
    pub index: IndexFields,
}

/// How long an item lives.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Ttl {
    /// As the store says.
    #[default]
    Default,
    /// For ever (`ttl: null`).
    Never,
    /// So many minutes; finite and positive.
    Minutes(f64),
}

/// `{op: "get", namespace, key, refreshTtl?}`
#[derive(Debug, Clone, PartialEq)]
pub struct GetOp {
    /// Which item.
    pub id: ItemId,
    /// Whether the read restarts the item's clock; as the store says when absent.
    pub refresh_ttl: Option<bool>,
}

/// `{op: "delete", namespace, key, reservedRoot?}`
#[derive(Debug, Clone, PartialEq)]
pub struct DeleteOp {
    /// Which item.
    pub id: ItemId,
}

/// `{op: "search", prefix, query?, filter?, limit?, offset?, mode?, minScore?, refreshTtl?, unscored?, order?}`
#[derive(Debug, Clone, PartialEq)]
pub struct SearchOp {
    /// Where to look.
    pub prefix: Namespace,
    /// What to look for; never the empty string.
    pub query: Option<String>,
    /// Which documents count.
    pub filter: Filter,
    /// How many hits at most.
    pub limit: usize,
    /// How many hits to pass over.
    pub offset: usize,
    /// The least raw score of a hit. Has no effect where nothing is scored.
    pub min_score: Option<f64>,
    /// Whether the read restarts the clocks of the items returned; as the store says when absent.
    pub refresh_ttl: Option<bool>,
    /// What becomes of items without vectors.
    pub unscored: Unscored,
    /// How items come that the score does not tell apart.
    pub order: Order,
}

/// What becomes of items without vectors in a semantic search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unscored {
    /// They are no hits.
    #[default]
    Omit,
    /// They follow the scored ones, as in LangGraph.
    Append,
}

/// How items come that a score does not tell apart, or that have none. Ties are broken by namespace and key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Last written first.
    #[default]
    Updated,
    /// First made first, as LangGraph.js lists.
    Created,
}

/// `{op: "listNamespaces", prefix?, suffix?, maxDepth?, limit?, offset?}`
#[derive(Debug, Clone, PartialEq)]
pub struct ListNamespacesOp {
    /// How they begin.
    pub prefix: NamespacePattern,
    /// How they end.
    pub suffix: NamespacePattern,
    /// Cut to so many labels, at least one.
    pub max_depth: Option<usize>,
    /// How many at most.
    pub limit: usize,
    /// How many to pass over.
    pub offset: usize,
}

impl Op {
    /// Reads and checks one operation.
    ///
    /// ```
    /// use burrow::model::Op;
    /// use serde_json::json;
    ///
    /// let op = Op::parse(&json!({ "op": "search", "prefix": ["users"], "limit": 5 }))?;
    /// assert!(matches!(op, Op::Search(search) if search.limit == 5 && search.query.is_none()));
    ///
    /// let error = Op::parse(&json!({ "op": "search", "prefix": [], "limit": -1 })).unwrap_err();
    /// assert_eq!(error.code(), "invalid_argument");
    /// # Ok::<(), burrow::Error>(())
    /// ```
    pub fn parse(op: &Value) -> Result<Self> {
        Self::from_value(op.clone())
    }

    /// Reads and checks one operation from JSON text.
    pub fn from_json(text: &str) -> Result<Self> {
        Self::from_value(document::read_json(text)?)
    }

    /// Reads and checks a batch from JSON text; the error's detail `position` is that of the operation at fault.
    pub fn list_from_json(text: &str) -> Result<Vec<Self>> {
        // Cut first, read later: a document that cannot be read is then the fault of one operation.
        let ops: Vec<&RawValue> = serde_json::from_str(text).map_err(|error| {
            Error::invalid_argument("A batch is a JSON array of operations.").caused_by(error)
        })?;
        let parse = |(position, op): (usize, &&RawValue)| {
            Self::from_json(op.get()).map_err(|error| error.with("position", position))
        };
        ops.iter().enumerate().map(parse).collect()
    }

    fn from_value(op: Value) -> Result<Self> {
        let mut fields = Fields::new(op)?;
        let op = match fields.name.as_str() {
            "put" => parse_put(&mut fields)?,
            "get" => Self::Get(GetOp {
                id: fields.id(Use::Read)?,
                refresh_ttl: fields.boolean("refreshTtl")?,
            }),
            "delete" => Self::Delete(DeleteOp {
                id: fields.id_to_write()?,
            }),
            "search" => Self::Search(parse_search(&mut fields)?),
            "listNamespaces" => Self::ListNamespaces(parse_list(&mut fields)?),
            other => {
                let message = format!(
                    "Unknown operation \"{other}\"; there are put, get, search, delete and listNamespaces."
                );
                return Err(Error::invalid_argument(message));
            }
        };
        fields.finish()?;
        Ok(op)
    }
}

fn parse_put(fields: &mut Fields) -> Result<Op> {
    let id = fields.id_to_write()?;
    let ttl = fields.ttl()?;
    let index = fields.index()?;
    match fields.take("value") {
        Some(Value::Null) => Ok(Op::Delete(DeleteOp { id })),
        Some(value) => Ok(Op::Put(PutOp {
            id,
            value: document::from_value(value)?,
            ttl,
            index,
        })),
        None => Err(Error::invalid_document(
            "A put needs a value: an object, or null to delete.",
        )),
    }
}

fn parse_search(fields: &mut Fields) -> Result<SearchOp> {
    fields.mode()?;
    let prefix = fields.take("prefix").unwrap_or(Value::Null);
    Ok(SearchOp {
        prefix: Namespace::parse(&prefix, Use::Read)?,
        query: fields.query()?,
        filter: Filter::parse(&fields.take("filter").unwrap_or(Value::Null))?,
        limit: fields.count("limit", 0)?.unwrap_or(DEFAULT_SEARCH_LIMIT),
        offset: fields.count("offset", 0)?.unwrap_or(0),
        min_score: fields.min_score()?,
        refresh_ttl: fields.boolean("refreshTtl")?,
        unscored: fields.unscored()?,
        order: fields.order()?,
    })
}

fn parse_list(fields: &mut Fields) -> Result<ListNamespacesOp> {
    let mut pattern = |name| match fields.take(name) {
        None | Some(Value::Null) => Ok(NamespacePattern::default()),
        Some(labels) => NamespacePattern::parse(&labels),
    };
    Ok(ListNamespacesOp {
        prefix: pattern("prefix")?,
        suffix: pattern("suffix")?,
        max_depth: fields.count("maxDepth", 1)?,
        limit: fields.count("limit", 0)?.unwrap_or(DEFAULT_LIST_LIMIT),
        offset: fields.count("offset", 0)?.unwrap_or(0),
    })
}

/// The fields of one operation; what has been read is taken out, so that what is left over is a mistake.
struct Fields {
    name: String,
    rest: Document,
}

impl Fields {
    fn new(op: Value) -> Result<Self> {
        let Value::Object(mut rest) = op else {
            return Err(Error::invalid_argument(format!(
                "An operation is an object, not {}.",
                kind(&op)
            )));
        };
        match rest.remove("op") {
            Some(Value::String(name)) => Ok(Self { name, rest }),
            _ => Err(Error::invalid_argument(
                "An operation has a field \"op\" that names it.",
            )),
        }
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        self.rest.remove(name)
    }

    fn finish(self) -> Result<()> {
        match self.rest.keys().next() {
            None => Ok(()),
            Some(field) => Err(
                Error::invalid_argument(format!("{} has no option \"{field}\".", self.name))
                    .with("argument", field.as_str()),
            ),
        }
    }

    fn id(&mut self, purpose: Use) -> Result<ItemId> {
        let namespace = self.take("namespace").unwrap_or(Value::Null);
        let key = self.take("key").unwrap_or(Value::Null);
        Ok(ItemId {
            namespace: Namespace::parse(&namespace, purpose)?,
            key: Key::parse(&key)?,
        })
    }

    fn id_to_write(&mut self) -> Result<ItemId> {
        let reserved = self.boolean("reservedRoot")?.unwrap_or(false);
        self.id(if reserved { Use::ReservedWrite } else { Use::Write })
    }

    fn boolean(&mut self, name: &str) -> Result<Option<bool>> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(other) => Err(unusable(name, "true or false", &other)),
        }
    }

    /// A whole number, not below `least`; one too large for this machine stands for "all".
    fn count(&mut self, name: &str, least: u64) -> Result<Option<usize>> {
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        let whole = |number: f64| (number >= 0.0 && number.fract() == 0.0).then_some(number as u64);
        match value.as_u64().or_else(|| value.as_f64().and_then(whole)) {
            Some(count) if count >= least => Ok(Some(usize::try_from(count).unwrap_or(usize::MAX))),
            _ => Err(unusable(
                name,
                &format!("a whole number, {least} or more"),
                &value,
            )),
        }
    }

    fn query(&mut self) -> Result<Option<String>> {
        match self.take("query") {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(query)) => Ok(Some(query).filter(|query| !query.is_empty())),
            Some(other) => Err(unusable("query", "a string", &other)),
        }
    }

    fn mode(&mut self) -> Result<()> {
        match self.take("mode") {
            None => Ok(()),
            Some(Value::String(mode)) if mode == "semantic" => Ok(()),
            Some(Value::String(mode)) if mode == "lexical" || mode == "hybrid" => {
                let message = format!("Only mode \"semantic\" is available in this version, not \"{mode}\".");
                Err(Error::invalid_argument(message).with("argument", "mode"))
            }
            Some(other) => Err(unusable("mode", "\"semantic\"", &other)),
        }
    }

    fn min_score(&mut self) -> Result<Option<f64>> {
        let Some(value) = self.take("minScore") else {
            return Ok(None);
        };
        let number = value.as_f64().filter(|number| number.is_finite());
        number
            .map(Some)
            .ok_or_else(|| unusable("minScore", "a number", &value))
    }

    fn unscored(&mut self) -> Result<Unscored> {
        match self.take("unscored") {
            None => Ok(Unscored::Omit),
            Some(Value::String(choice)) if choice == "omit" => Ok(Unscored::Omit),
            Some(Value::String(choice)) if choice == "append" => Ok(Unscored::Append),
            Some(other) => Err(unusable("unscored", "\"omit\" or \"append\"", &other)),
        }
    }

    fn order(&mut self) -> Result<Order> {
        match self.take("order") {
            None => Ok(Order::Updated),
            Some(Value::String(choice)) if choice == "updated" => Ok(Order::Updated),
            Some(Value::String(choice)) if choice == "created" => Ok(Order::Created),
            Some(other) => Err(unusable("order", "\"updated\" or \"created\"", &other)),
        }
    }

    fn ttl(&mut self) -> Result<Ttl> {
        match self.take("ttl") {
            None => Ok(Ttl::Default),
            Some(Value::Null) => Ok(Ttl::Never),
            Some(value) => Ttl::minutes(value.as_f64().unwrap_or(f64::NAN))
                .map_err(|_| unusable("ttl", "minutes above 0, or null for ever", &value)),
        }
    }

    fn index(&mut self) -> Result<IndexFields> {
        let wants = "false or an array of field paths";
        match self.take("index") {
            None => Ok(IndexFields::Default),
            Some(Value::Bool(false)) => Ok(IndexFields::None),
            Some(Value::Array(paths)) => {
                let path = |path: &Value| match path {
                    Value::String(path) => FieldPath::parse(path).map(|path| path.as_str().to_owned()),
                    other => Err(unusable("index", wants, other)),
                };
                Ok(IndexFields::Paths(paths.iter().map(path).collect::<Result<_>>()?))
            }
            Some(other) => Err(unusable("index", wants, &other)),
        }
    }
}

impl Ttl {
    /// So many minutes; refused unless finite and above 0.
    pub fn minutes(minutes: f64) -> Result<Self> {
        if minutes.is_finite() && minutes > 0.0 {
            return Ok(Self::Minutes(minutes));
        }
        Err(unusable("ttl", "minutes above 0, or null for ever", minutes))
    }
}

fn unusable(name: &str, wants: &str, got: impl Display) -> Error {
    Error::invalid_argument(format!("{name} is {wants}, not {got}.")).with("argument", name)
}

#[cfg(test)]
mod tests;
