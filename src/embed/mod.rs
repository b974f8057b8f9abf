//! Texts to vectors.

pub mod encoder;
pub mod pooling;
pub mod presets;
pub mod sentence;
pub mod source;
pub mod tokenizer;
#[cfg(feature = "tract")]
pub mod tract;
pub mod verified;
pub mod weights;

use std::rc::Rc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::Result;

/// What a text is to the search: some models are told apart by a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TextKind {
    /// A question.
    Query,
    /// Something to be found.
    Document,
}

/// One embedded text.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding {
    /// Unit length, unless the embedder gave zeros.
    pub vector: Rc<[f32]>,
    /// The text was longer than the model reads and was cut.
    pub truncated: bool,
}

/// Makes vectors. Implementations may be slow and remote; the store calls them before it opens a transaction.
#[async_trait(?Send)]
pub trait Embedder {
    /// Model, weights hash, pooling and document prefix: what makes stored vectors comparable.
    fn fingerprint(&self) -> String;

    /// Length of the vectors, when it is known before the first call.
    fn dims(&self) -> Option<usize>;

    /// One embedding per text, in order.
    async fn embed(&self, texts: &[String], kind: TextKind) -> Result<Vec<Embedding>>;
}
