//! Everything a tokenizer needs beside its vocabulary; a pack stores it next to the weights.

use serde::{Deserialize, Serialize};

/// How text becomes words and which tokens are special. The default is `bert-base-uncased`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct TokenizerRules {
    /// Lower-case every character.
    pub lowercase: bool,
    /// Decompose and drop combining marks. BERT ties it to `lowercase` unless told otherwise.
    pub strip_accents: bool,
    /// Drop control characters, make every kind of whitespace a space.
    pub clean_text: bool,
    /// Make each CJK character a word of its own.
    pub split_cjk: bool,
    /// What continues a word, `##`.
    pub continuing_prefix: String,
    /// A longer word is unknown as a whole.
    pub max_word_chars: usize,
    /// Stands for a word that the vocabulary cannot spell.
    pub unknown: String,
    /// Opens every sequence.
    pub cls: String,
    /// Closes every sequence.
    pub sep: String,
    /// Recognised literally in a text before anything else happens to it, as the reference does.
    pub special: Vec<String>,
}

impl Default for TokenizerRules {
    fn default() -> Self {
        Self {
            lowercase: true,
            strip_accents: true,
            clean_text: true,
            split_cjk: true,
            continuing_prefix: "##".to_owned(),
            max_word_chars: 100,
            unknown: "[UNK]".to_owned(),
            cls: "[CLS]".to_owned(),
            sep: "[SEP]".to_owned(),
            special: ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
                .map(str::to_owned)
                .to_vec(),
        }
    }
}
