//! BERT's WordPiece tokenizer.
//!
//! Token ids must be those of the reference implementation (Hugging Face `tokenizers`), or the vectors are of another
//! text. The reference crate itself would be right by definition, but brings 2.7 MB of wasm and runs at a fifth of the
//! speed, so its BERT path is rebuilt here on the same Unicode tables.
//!
//! | file          | what                                                                        |
//! |---------------|-----------------------------------------------------------------------------|
//! | `rules`       | everything but the vocabulary: lower-casing, accents, special tokens        |
//! | `characters`  | which characters are controls, punctuation, CJK                             |
//! | `words`       | text to normalised words, without ever holding a normalised copy of the text |
//! | `vocabulary`  | token to id in little memory                                                |
//! | `wordpiece`   | words to ids: greedy, longest match first                                   |
//! | `file`        | `tokenizer.json`                                                            |

mod characters;
mod file;
mod rules;
mod vocabulary;
mod wordpiece;
mod words;

pub use rules::TokenizerRules;
pub use wordpiece::{Encoded, WordPiece};
