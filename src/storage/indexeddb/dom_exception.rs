//! From `DOMException` to error code: the one list.
//!
//! The exception's name is kept as the detail `exception`. It is also how [`lost`] tells a connection that the
//! browser dropped, which is worth one more try, from everything else.

use serde_json::Value;
use wasm_bindgen::{JsCast, JsValue};

use crate::Error;

type Make = fn(&str) -> Error;

/// Whether a fresh connection can cure it.
#[derive(Clone, Copy, PartialEq)]
enum Cure {
    Reconnect,
    None,
}

const UNAVAILABLE: &str = "this browser does not let the page use IndexedDB here";
const LOST: &str = "the connection to IndexedDB was lost; reload the page if this stays";
const BUG: &str = "IndexedDB refused a request";

/// Name, code, message, and whether to reconnect. What is not listed is `internal`.
const TABLE: &[(&str, Make, &str, Cure)] = &[
    (
        "QuotaExceededError",
        |m| Error::quota_exceeded(m),
        "no room left on this device for this site",
        Cure::None,
    ),
    (
        "VersionError",
        |m| Error::schema_too_new(m),
        "the database was written by a newer Burrow; reload the page",
        Cure::None,
    ),
    (
        "SecurityError",
        |m| Error::storage_unavailable(m),
        UNAVAILABLE,
        Cure::None,
    ),
    (
        "NotAllowedError",
        |m| Error::storage_unavailable(m),
        UNAVAILABLE,
        Cure::None,
    ),
    (
        "InvalidStateError",
        |m| Error::storage_unavailable(m),
        LOST,
        Cure::Reconnect,
    ),
    (
        "UnknownError",
        |m| Error::storage_unavailable(m),
        LOST,
        Cure::Reconnect,
    ),
    (
        "AbortError",
        |m| Error::storage_unavailable(m),
        LOST,
        Cure::Reconnect,
    ),
    (
        "TimeoutError",
        |m| Error::storage_unavailable(m),
        LOST,
        Cure::Reconnect,
    ),
    (
        "NotReadableError",
        |m| Error::corrupted(m),
        "the browser cannot read a stored record any more",
        Cure::None,
    ),
    (
        "NotFoundError",
        |m| Error::corrupted(m),
        "the database lacks one of its object stores",
        Cure::None,
    ),
];

/// The coded error of an exception, or of whatever else was thrown.
pub(super) fn coded(thrown: &JsValue) -> Error {
    let (name, words) = name_and_words(thrown);
    let row = TABLE.iter().find(|row| row.0 == name);
    let error = row.map_or_else(|| Error::internal(BUG), |(_, make, message, _)| make(message));
    error.with("exception", name).caused_by(words)
}

/// The coded error of a failure that `idb` reports.
pub(super) fn from_idb(error: idb::Error) -> Error {
    use idb::Error as E;
    match error {
        E::IndexedDbNotFound(_) => Error::storage_unavailable("there is no IndexedDB here"),
        E::DomException(exception) => coded(&exception),
        E::AddFailed(thrown)
        | E::ClearFailed(thrown)
        | E::CountFailed(thrown)
        | E::DeleteFailed(thrown)
        | E::GetAllFailed(thrown)
        | E::GetAllKeysFailed(thrown)
        | E::GetFailed(thrown)
        | E::IndexedDbDeleteFailed(thrown)
        | E::IndexedDbOpenFailed(thrown)
        | E::KeyRangeCreateFailed(thrown)
        | E::ObjectStoreCreateFailed(thrown)
        | E::ObjectStoreNotFound(thrown)
        | E::TransactionOpenFailed(thrown)
        | E::UpdateFailed(thrown) => coded(&thrown),
        other => Error::internal(BUG).caused_by(other),
    }
}

/// Whether the failure came from a connection that the browser dropped.
pub(super) fn lost(error: &Error) -> bool {
    let name = exception(error);
    TABLE
        .iter()
        .any(|row| Some(row.0) == name && row.3 == Cure::Reconnect)
}

/// The name of the exception underneath.
pub(super) fn exception(error: &Error) -> Option<&str> {
    error.context().details.get("exception").and_then(Value::as_str)
}

fn name_and_words(thrown: &JsValue) -> (String, String) {
    // Not `instanceof`: an exception may come from another realm, and all that is needed is two strings.
    let field = |name: &str| {
        let value = js_sys::Reflect::get(thrown, &name.into()).ok()?;
        value.as_string()
    };
    let name = field("name").unwrap_or_else(|| "unknown".to_owned());
    let words = match field("message") {
        Some(message) if !message.is_empty() => format!("{name}: {message}"),
        Some(_) => name.clone(),
        None if thrown.is_null() || thrown.is_undefined() => "no reason given".to_owned(),
        None => format!("{:?}", thrown.unchecked_ref::<JsValue>()),
    };
    (name, words)
}
