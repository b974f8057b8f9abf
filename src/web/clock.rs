//! Time, as the browser tells it.

use crate::model::{Clock, Millis};

/// `Date.now()`.
pub(super) struct BrowserClock;

impl Clock for BrowserClock {
    #[allow(clippy::cast_possible_truncation)] // A date's milliseconds are whole and far within i64.
    fn now(&self) -> Millis {
        js_sys::Date::now() as Millis
    }
}
