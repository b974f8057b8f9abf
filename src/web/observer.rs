//! Progress out, cancellation in.

use js_sys::Function;
use wasm_bindgen::JsValue;

use super::embedder::AbortSignal;
use crate::store::{Observer, Phase};

/// Calls `onProgress(phase, done, total)`, and looks at a signal.
pub(super) struct JsObserver {
    pub(super) on_progress: Option<Function>,
    pub(super) signal: Option<AbortSignal>,
}

impl Observer for JsObserver {
    #[allow(clippy::cast_precision_loss)] // Counts of items.
    fn progress(&self, phase: Phase, done: usize, total: usize) {
        if let Some(on_progress) = &self.on_progress {
            // What the application's callback throws is not the store's failure.
            let _ = on_progress.call3(
                &JsValue::NULL,
                &phase.as_str().into(),
                &(done as f64).into(),
                &(total as f64).into(),
            );
        }
    }

    fn cancelled(&self) -> bool {
        self.signal.as_ref().is_some_and(AbortSignal::aborted)
    }
}
