//! The application's embedder, or the package's own in JavaScript's hands, as the core's trait.

use std::cell::RefCell;
use std::rc::Rc;

use async_trait::async_trait;
use js_sys::{Array, Float32Array, Reflect};
use wasm_bindgen::prelude::*;

use super::thrown::from_js;
use crate::embed::{Embedder, Embedding, TextKind};
use crate::{Error, Result};

#[wasm_bindgen]
extern "C" {
    /// `{fingerprint, dims?, embed(texts, kind, signal?) => Promise<{vectors, truncated?}>}`
    pub type EmbedderHandle;

    #[wasm_bindgen(method, getter)]
    fn fingerprint(this: &EmbedderHandle) -> String;

    #[wasm_bindgen(method, getter)]
    fn dims(this: &EmbedderHandle) -> Option<f64>;

    #[wasm_bindgen(method, catch)]
    async fn embed(
        this: &EmbedderHandle,
        texts: Vec<String>,
        kind: &str,
        signal: Option<AbortSignal>,
    ) -> std::result::Result<JsValue, JsValue>;

    /// The DOM's `AbortSignal`.
    #[derive(Clone)]
    pub type AbortSignal;

    /// Whether it has fired.
    #[wasm_bindgen(method, getter)]
    pub fn aborted(this: &AbortSignal) -> bool;
}

/// See the module.
pub(super) struct JsEmbedder {
    handle: EmbedderHandle,
    fingerprint: String,
    /// Handed to each call while an open or a reindex that can be cancelled runs.
    signal: RefCell<Option<AbortSignal>>,
}

impl JsEmbedder {
    /// Takes a handle, and the signal that its calls are to hear until [`Self::forget_signal`].
    pub(super) fn shared(handle: EmbedderHandle, signal: Option<AbortSignal>) -> Rc<Self> {
        let fingerprint = handle.fingerprint();
        Rc::new(Self {
            handle,
            fingerprint,
            signal: RefCell::new(signal),
        })
    }

    /// The work that the signal could cancel is over: when it fires later, that does not concern later calls.
    pub(super) fn forget_signal(&self) {
        self.signal.take();
    }
}

#[async_trait(?Send)]
impl Embedder for JsEmbedder {
    fn fingerprint(&self) -> String {
        self.fingerprint.clone()
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Checked to be a small whole number.
    fn dims(&self) -> Option<usize> {
        self.handle
            .dims()
            .filter(|dims| (1.0..1e6).contains(dims) && dims.fract() == 0.0)
            .map(|dims| dims as usize)
    }

    async fn embed(&self, texts: &[String], kind: TextKind) -> Result<Vec<Embedding>> {
        let name = match kind {
            TextKind::Query => "query",
            TextKind::Document => "document",
        };
        let signal = self.signal.borrow().clone();
        let answer = self.handle.embed(texts.to_vec(), name, signal).await;
        embeddings(&answer.map_err(|thrown| from_js(&thrown, Error::embedding))?)
    }
}

fn embeddings(answer: &JsValue) -> Result<Vec<Embedding>> {
    let field = |name: &str| Reflect::get(answer, &name.into()).unwrap_or_default();
    let vectors = field("vectors")
        .dyn_into::<Array>()
        .map_err(|_| Error::embedding("the embedder gave no vectors"))?;
    let truncated = field("truncated").dyn_into::<Array>().ok();
    let embedding = |(index, vector): (usize, JsValue)| {
        let vector = vector
            .dyn_into::<Float32Array>()
            .map_err(|_| Error::embedding("a vector is no Float32Array"))?;
        let flag = truncated
            .as_ref()
            .map(|flags| flags.get(u32::try_from(index).unwrap_or(u32::MAX)));
        Ok(Embedding {
            vector: vector.to_vec().into(),
            truncated: flag.is_some_and(|flag| flag.is_truthy()),
        })
    };
    vectors.iter().enumerate().map(embedding).collect()
}
