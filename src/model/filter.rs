//! Filters: which documents a search considers.
//!
//! A filter is read once into conditions, and everything that could be a mistake is refused then, by name: an
//! unknown operator must never become an answer without hits.
//!
//! | condition on a field          | holds for                                                          |
//! |-------------------------------|--------------------------------------------------------------------|
//! | `"x"`, `1`, `true`, `null`    | an equal value of the same type (`1` is `1.0`, not `"1"`)          |
//! | `[1, 2]`                      | an array of the same content                                       |
//! | `{ "a": …, "b": … }`          | an object in which each of these fields meets its condition        |
//! | `$eq` `$ne`                   | an equal value, objects as a whole; its opposite                   |
//! | `$gt` `$gte` `$lt` `$lte`     | a number compared with a number, a string with a string            |
//! | `$in` `$nin`                  | a value equal to one of the list; its opposite                     |
//! | `$exists`                     | a field that is there (`null` is there), or is not                 |
//! | `$and` `$or` `$not`           | all, any, or not the conditions given                              |
//!
//! Fields are ANDed, and so are the operators of one field. `$and`, `$or` and `$not` also stand beside fields. A
//! field that is missing meets only `$ne`, `$nin` and `{"$exists": false}`, and what `$not` makes of the others. A
//! nested object wants an object there; without one, no condition within it is met. A dot in a field name is a dot.

use std::cmp::Ordering;

use serde_json::Value;

use super::Document;
use super::document::{MAX_DEPTH, equal, kind, order, within_depth};
use crate::{Error, Result};

/// A filter that has been checked; the default one lets everything through.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Filter(Vec<(Target, Condition)>);

/// What a condition looks at.
#[derive(Debug, Clone, PartialEq)]
enum Target {
    Field(String),
    /// The object itself: `$and`, `$or`, `$not` beside fields.
    Whole,
}

#[derive(Debug, Clone, PartialEq)]
enum Condition {
    Equal(Value),
    NotEqual(Value),
    Range(Range, Value),
    In(Vec<Value>),
    NotIn(Vec<Value>),
    Exists(bool),
    Fields(Filter),
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Range {
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

impl Range {
    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
        }
    }
}

impl Filter {
    /// Reads and checks a filter; `null` is none.
    ///
    /// ```
    /// use burrow::model::Filter;
    /// use serde_json::json;
    ///
    /// let filter = Filter::parse(&json!({ "kind": "note", "stars": { "$gte": 3 } }))?;
    /// assert!(filter.matches(json!({ "kind": "note", "stars": 4.5 }).as_object().unwrap()));
    /// assert!(!filter.matches(json!({ "kind": "note", "stars": "high" }).as_object().unwrap()));
    ///
    /// let error = Filter::parse(&json!({ "name": { "$regex": "^a" } })).unwrap_err();
    /// assert_eq!(error.code(), "invalid_filter");
    /// assert!(error.to_string().contains("$regex"));
    /// # Ok::<(), burrow::Error>(())
    /// ```
    pub fn parse(filter: &Value) -> Result<Self> {
        if !within_depth(filter, MAX_DEPTH) {
            let message = format!("The filter is nested deeper than {MAX_DEPTH} levels.");
            return Err(Error::invalid_filter(message));
        }
        match filter {
            Value::Null => Ok(Self::default()),
            Value::Object(fields) => parse_fields(fields),
            other => Err(Error::invalid_filter(format!(
                "A filter is an object, not {}.",
                kind(other)
            ))),
        }
    }

    /// Whether the filter lets everything through, so that no document need be read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the document meets every condition.
    pub fn matches(&self, document: &Document) -> bool {
        self.0.iter().all(|(target, condition)| match target {
            Target::Field(name) => condition.holds(Place::from(document.get(name))),
            Target::Whole => condition.holds(Place::Document(document)),
        })
    }
}

/// What a condition is asked about.
#[derive(Clone, Copy)]
enum Place<'a> {
    Missing,
    Value(&'a Value),
    /// Fields that have no [`Value`] around them: the document, or an object seen from beside its fields.
    Document(&'a Document),
}

impl<'a> From<Option<&'a Value>> for Place<'a> {
    fn from(value: Option<&'a Value>) -> Self {
        value.map_or(Self::Missing, Self::Value)
    }
}

impl<'a> Place<'a> {
    fn value_is(self, test: impl Fn(&Value) -> bool) -> bool {
        matches!(self, Self::Value(value) if test(value))
    }

    fn fields(self) -> Option<&'a Document> {
        match self {
            Self::Missing => None,
            Self::Value(value) => value.as_object(),
            Self::Document(document) => Some(document),
        }
    }
}

impl Condition {
    fn holds(&self, place: Place) -> bool {
        match self {
            Self::Equal(wanted) => place.value_is(|value| equal(value, wanted)),
            Self::NotEqual(other) => !place.value_is(|value| equal(value, other)),
            Self::Range(range, bound) => {
                place.value_is(|value| order(value, bound).is_some_and(|order| range.holds(order)))
            }
            Self::In(list) => place.value_is(|value| list.iter().any(|wanted| equal(value, wanted))),
            Self::NotIn(list) => !place.value_is(|value| list.iter().any(|other| equal(value, other))),
            Self::Exists(wanted) => *wanted != matches!(place, Place::Missing),
            Self::Fields(filter) => place.fields().is_some_and(|fields| filter.matches(fields)),
            Self::All(conditions) => conditions.iter().all(|condition| condition.holds(place)),
            Self::Any(conditions) => conditions.iter().any(|condition| condition.holds(place)),
            Self::Not(condition) => !condition.holds(place),
        }
    }
}

fn is_operator(name: &str) -> bool {
    name.starts_with('$')
}

fn malformed(operator: &str, wants: &str, got: &Value) -> Error {
    Error::invalid_filter(format!("{operator} takes {wants}, not {} ({got}).", kind(got)))
        .with("operator", operator)
}

/// Fields, and the logic beside them.
fn parse_fields(fields: &Document) -> Result<Filter> {
    let condition = |(name, wanted): (&String, &Value)| {
        if !is_operator(name) {
            return Ok((Target::Field(name.clone()), parse_condition(wanted)?));
        }
        let parse_inner = |inner: &Value| match inner {
            Value::Object(fields) => Ok(Condition::Fields(parse_fields(fields)?)),
            other => Err(malformed(
                name,
                "conditions on fields here, as in {\"field\": …}",
                other,
            )),
        };
        match parse_logic(name, wanted, &parse_inner)? {
            Some(condition) => Ok((Target::Whole, condition)),
            None if is_comparison(name) => {
                let message = format!(
                    "{name} compares one field; write it within the field, as in {{\"field\": {{\"{name}\": …}}}}."
                );
                Err(Error::invalid_filter(message).with("operator", name.as_str()))
            }
            None => Err(unknown(name)),
        }
    };
    Ok(Filter(fields.iter().map(condition).collect::<Result<_>>()?))
}

/// The condition on one field.
fn parse_condition(wanted: &Value) -> Result<Condition> {
    match wanted {
        Value::Object(fields) if !fields.is_empty() && fields.keys().all(|name| is_operator(name)) => {
            let conditions = fields.iter().map(|(name, operand)| parse_operator(name, operand));
            let mut conditions = conditions.collect::<Result<Vec<_>>>()?;
            // One operator is the usual case, and need not be wrapped.
            match conditions.pop() {
                Some(only) if conditions.is_empty() => Ok(only),
                last => Ok(Condition::All(conditions.into_iter().chain(last).collect())),
            }
        }
        Value::Object(fields) => Ok(Condition::Fields(parse_fields(fields)?)),
        other => {
            refuse_operators_within(other)?;
            Ok(Condition::Equal(other.clone()))
        }
    }
}

fn parse_operator(name: &str, operand: &Value) -> Result<Condition> {
    if let Some(logic) = parse_logic(name, operand, &parse_condition)? {
        return Ok(logic);
    }
    let list = || {
        operand
            .as_array()
            .cloned()
            .ok_or_else(|| malformed(name, "an array", operand))
    };
    let range = |range| match operand {
        Value::Number(_) | Value::String(_) => Ok(Condition::Range(range, operand.clone())),
        other => Err(malformed(name, "a number or a string", other)),
    };
    match name {
        "$eq" => Ok(Condition::Equal(operand.clone())),
        "$ne" => Ok(Condition::NotEqual(operand.clone())),
        "$gt" => range(Range::Greater),
        "$gte" => range(Range::GreaterOrEqual),
        "$lt" => range(Range::Less),
        "$lte" => range(Range::LessOrEqual),
        "$in" => Ok(Condition::In(list()?)),
        "$nin" => Ok(Condition::NotIn(list()?)),
        "$exists" => {
            let wanted = operand
                .as_bool()
                .ok_or_else(|| malformed(name, "true or false", operand))?;
            Ok(Condition::Exists(wanted))
        }
        _ => Err(unknown(name)),
    }
}

/// `$and`, `$or` and `$not`, whose operands are conditions of the kind that `parse` reads.
fn parse_logic(
    name: &str,
    operand: &Value,
    parse: &dyn Fn(&Value) -> Result<Condition>,
) -> Result<Option<Condition>> {
    let list = || match operand {
        // An empty $or would let nothing through and an empty $and everything: neither is what somebody meant.
        Value::Array(items) if !items.is_empty() => items.iter().map(parse).collect::<Result<Vec<_>>>(),
        Value::Array(_) => {
            Err(Error::invalid_filter(format!("{name} takes at least one condition.")).with("operator", name))
        }
        other => Err(malformed(name, "an array of conditions", other)),
    };
    match name {
        "$and" => Ok(Some(Condition::All(list()?))),
        "$or" => Ok(Some(Condition::Any(list()?))),
        "$not" => Ok(Some(Condition::Not(Box::new(parse(operand)?)))),
        _ => Ok(None),
    }
}

fn is_comparison(name: &str) -> bool {
    matches!(
        name,
        "$eq" | "$ne" | "$gt" | "$gte" | "$lt" | "$lte" | "$in" | "$nin" | "$exists"
    )
}

fn unknown(operator: &str) -> Error {
    let known = "$eq, $ne, $gt, $gte, $lt, $lte, $in, $nin, $exists, $and, $or and $not";
    Error::invalid_filter(format!("Unknown operator {operator}; there are {known}."))
        .with("operator", operator)
}

/// An array is compared by content, so an operator in it would be taken for data and match nothing.
fn refuse_operators_within(wanted: &Value) -> Result<()> {
    match wanted {
        Value::Array(items) => items.iter().try_for_each(refuse_operators_within),
        Value::Object(fields) => match fields.keys().find(|name| is_operator(name)) {
            Some(name) => {
                let message = format!(
                    "{name} stands within an array, which is compared by its content; use $eq for content that looks like an operator."
                );
                Err(Error::invalid_filter(message).with("operator", name.as_str()))
            }
            None => fields.values().try_for_each(refuse_operators_within),
        },
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
