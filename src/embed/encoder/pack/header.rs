//! What a pack says about itself, as JSON.

use serde::{Deserialize, Serialize};

use crate::embed::encoder::kernels::COLUMNS;
use crate::embed::pooling::Pooling;
use crate::embed::sentence::Prefixes;
use crate::embed::source::Precision;
use crate::embed::tokenizer::TokenizerRules;
use crate::embed::weights::BertConfig;
use crate::{Error, Result};

/// Everything about a model that is not numbers; what the maker of a pack has to bring beside weights and vocabulary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PackInfo {
    /// What makes vectors comparable.
    pub fingerprint: String,
    /// SHA-256 of the model file, in hexadecimal.
    pub source_sha256: String,
    /// How token vectors become one.
    pub pooling: Pooling,
    /// Before a question.
    pub query_prefix: String,
    /// Before something to be found.
    pub document_prefix: String,
    /// The longest sequence, special tokens included.
    pub max_tokens: usize,
    /// How text becomes tokens.
    pub tokenizer: TokenizerRules,
}

impl PackInfo {
    /// Both prefixes.
    pub fn prefixes(&self) -> Prefixes {
        Prefixes {
            query: self.query_prefix.clone(),
            document: self.document_prefix.clone(),
        }
    }
}

/// A pack's header.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Header {
    /// The encoder's shape.
    pub config: BertConfig,
    /// How the weights are held.
    pub precision: Precision,
    /// Whether the integers are Burrow's own, with scale moved from activations into weights; absent where they are not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub smoothed: bool,
    /// Length of the vocabulary in bytes.
    pub vocabulary_bytes: usize,
    /// The rest.
    pub model: PackInfo,
}

impl Header {
    /// Refuses what no pack can hold, among it shapes that the kernels have no loops for.
    pub fn validate(&self) -> Result<()> {
        let config = &self.config;
        config.validate()?;
        for (name, size) in [("hidden", config.hidden), ("intermediate", config.intermediate)] {
            if !size.is_multiple_of(COLUMNS) {
                let message = format!("the encoder needs a {name} size that is a multiple of {COLUMNS}");
                return Err(Error::model_load(message).with(name, size));
            }
        }
        let max_tokens = self.model.max_tokens;
        if max_tokens < 2 || max_tokens > config.positions {
            let message = "a model reads at least two tokens and at most as many as it has positions for";
            return Err(Error::model_load(message)
                .with("maxTokens", max_tokens)
                .with("positions", config.positions));
        }
        Ok(())
    }
}
