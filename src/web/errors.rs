//! Errors on their way to JavaScript.

use js_sys::{JSON, Object, Reflect};
use serde_json::{Map, Value};
use wasm_bindgen::JsValue;

use crate::Error;

/// What the package's class is called; the facade makes a real one of it.
pub(super) const NAME: &str = "BurrowError";

impl From<Error> for JsValue {
    fn from(error: Error) -> Self {
        let context = error.context();
        let thrown = js_sys::Error::new(&context.message);
        thrown.set_name(NAME);
        set(&thrown, "code", &error.code().into());
        set(&thrown, "details", &details_to_js(&context.details));
        if let Some(cause) = &context.cause {
            set(&thrown, "cause", &cause.as_str().into());
        }
        thrown.into()
    }
}

fn set(object: &JsValue, name: &str, value: &JsValue) {
    // Setting a field of a fresh error cannot fail.
    let _ = Reflect::set(object, &name.into(), value);
}

fn details_to_js(details: &Map<String, Value>) -> JsValue {
    JSON::parse(&Value::from(details.clone()).to_string()).unwrap_or_else(|_| Object::new().into())
}
