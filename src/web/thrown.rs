//! Errors on their way from JavaScript: what an embedder, a callback or a signal threw.

use js_sys::{JSON, Object, Reflect};
use serde_json::{Map, Value};
use wasm_bindgen::{JsCast, JsValue};

use super::errors::NAME;
use crate::Error;

/// Whatever the application's code threw, as an error of its own code or else of `otherwise`'s.
pub(super) fn from_js(thrown: &JsValue, otherwise: fn(String) -> Error) -> Error {
    let message = text(thrown, "message").unwrap_or_else(|| format!("{thrown:?}"));
    match (text(thrown, "name").as_deref(), text(thrown, "code")) {
        (Some(NAME), Some(code)) => coded(thrown, &code, message),
        (Some("AbortError"), _) => Error::aborted(message),
        (Some(name), _) => otherwise(message.clone()).caused_by(format!("{name}: {message}")),
        (None, _) => otherwise(message.clone()).caused_by(message),
    }
}

fn coded(thrown: &JsValue, code: &str, message: String) -> Error {
    let error = details_from_js(thrown)
        .into_iter()
        .fold(Error::from_code(code, message), |error, (name, value)| {
            error.with(&name, value)
        });
    match text(thrown, "cause") {
        Some(cause) => error.caused_by(cause),
        None => error,
    }
}

fn text(object: &JsValue, name: &str) -> Option<String> {
    let object = object.dyn_ref::<Object>()?;
    Reflect::get(object, &name.into()).ok()?.as_string()
}

fn details_from_js(thrown: &JsValue) -> Map<String, Value> {
    let details = Reflect::get(thrown, &"details".into()).ok();
    let json = details.and_then(|details| JSON::stringify(&details).ok()?.as_string());
    json.and_then(|json| serde_json::from_str(&json).ok())
        .unwrap_or_default()
}
