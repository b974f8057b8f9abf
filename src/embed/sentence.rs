//! Texts to vectors with a local model: tokenizer, engine, pooling.
//!
//! An [`Engine`] is whatever can run the transformer: the encoder from a pack, tract from an ONNX file. Everything
//! around it is the same for all of them and lives here, so that two engines on one model differ by arithmetic only.
//! Batches are ragged: sequences keep their own lengths and are never padded, so a text's vector does not depend on
//! what it was embedded together with.

use crate::embed::pooling::{Pooling, normalise};
use crate::embed::tokenizer::{Encoded, WordPiece};
use crate::embed::{Embedding, TextKind};
use crate::{Error, Result};

/// Runs a transformer encoder.
pub trait Engine {
    /// Length of its vectors.
    fn hidden_size(&self) -> usize;

    /// One pooled vector per sequence of token ids, in order, not normalised. Sequences have different lengths.
    fn run(&self, sequences: &[&[u32]], pooling: Pooling) -> Result<Vec<Vec<f32>>>;
}

/// What a model wants put before a text, by what the text is to the search.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prefixes {
    /// Before a question.
    pub query: String,
    /// Before something to be found.
    pub document: String,
}

impl Prefixes {
    /// The prefix of one kind; often empty.
    pub fn of(&self, kind: TextKind) -> &str {
        match kind {
            TextKind::Query => &self.query,
            TextKind::Document => &self.document,
        }
    }
}

/// A local model, ready to embed.
pub struct SentenceEncoder {
    tokenizer: WordPiece,
    engine: Box<dyn Engine>,
    pooling: Pooling,
    prefixes: Prefixes,
    max_tokens: usize,
}

impl SentenceEncoder {
    /// Puts the parts together. `max_tokens` counts `[CLS]` and `[SEP]`.
    pub fn new(
        tokenizer: WordPiece,
        engine: Box<dyn Engine>,
        pooling: Pooling,
        prefixes: Prefixes,
        max_tokens: usize,
    ) -> Self {
        Self {
            tokenizer,
            engine,
            pooling,
            prefixes,
            max_tokens,
        }
    }

    /// Length of the vectors.
    pub fn dims(&self) -> usize {
        self.engine.hidden_size()
    }

    /// The longest sequence, `[CLS]` and `[SEP]` included.
    pub fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    /// Token ids of a text of this kind, prefix included.
    pub fn tokenize(&self, text: &str, kind: TextKind) -> Encoded {
        match self.prefixes.of(kind) {
            "" => self.tokenizer.encode(text, self.max_tokens),
            prefix => self.tokenizer.encode(&format!("{prefix}{text}"), self.max_tokens),
        }
    }

    /// One embedding of unit length per text, in order.
    pub fn embed(&self, texts: &[String], kind: TextKind) -> Result<Vec<Embedding>> {
        let encoded: Vec<_> = texts.iter().map(|text| self.tokenize(text, kind)).collect();
        let sequences: Vec<_> = encoded.iter().map(|encoded| encoded.ids.as_slice()).collect();
        let vectors = self.engine.run(&sequences, self.pooling)?;
        if vectors.len() != texts.len() {
            return Err(Error::embedding(
                "the model gave another number of vectors than texts",
            ));
        }
        encoded
            .iter()
            .zip(vectors)
            .map(|(encoded, vector)| finish(encoded, vector))
            .collect()
    }
}

fn finish(encoded: &Encoded, mut vector: Vec<f32>) -> Result<Embedding> {
    normalise(&mut vector);
    if vector.iter().any(|value| !value.is_finite()) {
        return Err(Error::embedding("the model gave a number that is not finite"));
    }
    Ok(Embedding {
        vector: vector.into(),
        truncated: encoded.truncated,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::tokenizer::TokenizerRules;

    /// One vector a token: its id and its position.
    struct Plain;

    impl Engine for Plain {
        fn hidden_size(&self) -> usize {
            2
        }

        fn run(&self, sequences: &[&[u32]], pooling: Pooling) -> Result<Vec<Vec<f32>>> {
            let rows = |ids: &[u32]| -> Vec<f32> {
                ids.iter()
                    .enumerate()
                    .flat_map(|(at, id)| [*id as f32, at as f32])
                    .collect()
            };
            Ok(sequences.iter().map(|ids| pooling.pool(&rows(ids), 2)).collect())
        }
    }

    fn encoder(pooling: Pooling) -> SentenceEncoder {
        let vocab = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "q", "d", "x"]
            .map(str::to_owned)
            .to_vec();
        let tokenizer = WordPiece::new(vocab, TokenizerRules::default()).unwrap();
        let prefixes = Prefixes {
            query: "q ".to_owned(),
            document: "d ".to_owned(),
        };
        SentenceEncoder::new(tokenizer, Box::new(Plain), pooling, prefixes, 4)
    }

    #[test]
    fn queries_and_documents_get_their_own_prefix() {
        assert_eq!(
            encoder(Pooling::Cls).tokenize("x", TextKind::Query).ids,
            [2, 4, 6, 3]
        );
        assert_eq!(
            encoder(Pooling::Cls).tokenize("x", TextKind::Document).ids,
            [2, 5, 6, 3]
        );
    }

    #[test]
    fn vectors_have_unit_length_and_long_texts_say_that_they_were_cut() {
        let texts = ["x".to_owned(), "x x".to_owned()];
        let embedded = encoder(Pooling::Cls).embed(&texts, TextKind::Query).unwrap();
        assert_eq!(*embedded[0].vector, [1.0, 0.0]);
        assert_eq!([embedded[0].truncated, embedded[1].truncated], [false, true]);
    }

    #[test]
    fn a_number_that_is_not_finite_is_an_error() {
        struct Broken;
        impl Engine for Broken {
            fn hidden_size(&self) -> usize {
                1
            }
            fn run(&self, sequences: &[&[u32]], _: Pooling) -> Result<Vec<Vec<f32>>> {
                Ok(vec![vec![f32::NAN]; sequences.len()])
            }
        }
        let broken = SentenceEncoder {
            engine: Box::new(Broken),
            ..encoder(Pooling::Mean)
        };
        assert_eq!(
            broken
                .embed(&["x".to_owned()], TextKind::Query)
                .unwrap_err()
                .code(),
            "embedding"
        );
    }
}
