//! Words to ids: the longest piece that the vocabulary has, again and again.

use std::ops::ControlFlow;

use super::rules::TokenizerRules;
use super::vocabulary::Vocabulary;
use super::{file, words};
use crate::{Error, Result};

/// One tokenized text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoded {
    /// `[CLS]`, the text, `[SEP]`.
    pub ids: Vec<u32>,
    /// The text had more tokens than fitted.
    pub truncated: bool,
}

/// A tokenizer with its vocabulary.
pub struct WordPiece {
    rules: TokenizerRules,
    vocabulary: Vocabulary,
    special: Vec<(String, u32)>,
    unknown: u32,
    cls: u32,
    sep: u32,
}

impl WordPiece {
    /// From a list of tokens, one an id, as in `vocab.txt`. A token that the rules name and the list lacks is an error;
    /// only the special tokens that exist are recognised in texts.
    pub fn new(vocab: Vec<String>, rules: TokenizerRules) -> Result<Self> {
        let vocabulary = Vocabulary::new(&vocab, &rules.continuing_prefix)?;
        let required = |token: &str| {
            vocabulary.id(token).ok_or_else(|| {
                Error::model_load(format!("the tokenizer's vocabulary has no {token:?}")).with("token", token)
            })
        };
        let (unknown, cls, sep) = (
            required(&rules.unknown)?,
            required(&rules.cls)?,
            required(&rules.sep)?,
        );
        let mut special: Vec<_> = rules
            .special
            .iter()
            .filter_map(|token| Some((token.clone(), vocabulary.id(token)?)))
            .collect();
        // Of two special tokens that begin alike the longer is meant.
        special.sort_by_key(|(token, _)| std::cmp::Reverse(token.len()));
        Ok(Self {
            rules,
            vocabulary,
            special,
            unknown,
            cls,
            sep,
        })
    }

    /// From the bytes of a `tokenizer.json`. `lowercase` overrules the file, for those that are known to be wrong.
    pub fn from_tokenizer_json(bytes: &[u8], lowercase: Option<bool>) -> Result<Self> {
        let (vocab, rules) = file::parse(bytes, lowercase)?;
        Self::new(vocab, rules)
    }

    /// Everything but the vocabulary.
    pub fn rules(&self) -> &TokenizerRules {
        &self.rules
    }

    /// The tokens in the order of their ids, for [`WordPiece::new`]; a gap is an empty string.
    pub fn vocab(&self) -> impl ExactSizeIterator<Item = &str> {
        // `Vocabulary` refuses more tokens than a u32 can count.
        (0..self.vocabulary.len()).map(|id| self.vocabulary.token(id as u32))
    }

    /// Number of ids; the model's word embedding has to have as many rows.
    pub fn vocab_size(&self) -> usize {
        self.vocabulary.len()
    }

    /// At most `max_tokens` ids, `[CLS]` and `[SEP]` included (and never fewer than those two).
    pub fn encode(&self, text: &str, max_tokens: usize) -> Encoded {
        let mut sink = Sink {
            ids: vec![self.cls],
            limit: max_tokens.max(2) - 1,
            truncated: false,
        };
        // A break only says that the rest of the text need not be looked at.
        let _ = self.pieces(text, &mut sink);
        sink.ids.push(self.sep);
        Encoded {
            ids: sink.ids,
            truncated: sink.truncated,
        }
    }

    fn pieces(&self, text: &str, sink: &mut Sink) -> ControlFlow<()> {
        let mut rest = text;
        while let Some((at, token, id)) = self.next_special(rest) {
            self.plain(&rest[..at], sink)?;
            sink.push(id)?;
            rest = &rest[at + token.len()..];
        }
        self.plain(rest, sink)
    }

    fn next_special(&self, text: &str) -> Option<(usize, &str, u32)> {
        let opens = |byte: u8| {
            self.special
                .iter()
                .any(|(token, _)| token.as_bytes().first() == Some(&byte))
        };
        text.bytes()
            .enumerate()
            .filter(|(_, byte)| opens(*byte))
            .find_map(|(at, _)| {
                let tail = text.get(at..)?;
                let (token, id) = self
                    .special
                    .iter()
                    .find(|(token, _)| tail.starts_with(token.as_str()))?;
                Some((at, token.as_str(), *id))
            })
    }

    fn plain(&self, text: &str, sink: &mut Sink) -> ControlFlow<()> {
        let mut pieces = Vec::new();
        words::for_each_word(text, &self.rules, &mut |word| {
            self.spell(word, &mut pieces);
            pieces.iter().try_for_each(|id| sink.push(*id))
        })
    }

    /// The pieces of one word; a word that cannot be spelt to its end is unknown as a whole.
    fn spell(&self, word: &str, pieces: &mut Vec<u32>) {
        pieces.clear();
        let mut rest = word;
        // Bytes bound characters from above, so most words need no counting.
        let limit = self.rules.max_word_chars;
        if word.len() > limit && word.chars().count() > limit {
            rest = "";
        }
        while let Some((id, length)) = self.longest_piece(rest, !pieces.is_empty()) {
            pieces.push(id);
            rest = &rest[length..];
            if rest.is_empty() {
                return;
            }
        }
        pieces.clear();
        pieces.push(self.unknown);
    }

    fn longest_piece(&self, rest: &str, continues: bool) -> Option<(u32, usize)> {
        let mut end = rest.floor_char_boundary(self.vocabulary.longest());
        while end > 0 {
            let piece = &rest[..end];
            let id = if continues {
                self.vocabulary.continuing(piece)
            } else {
                self.vocabulary.beginning(piece)
            };
            if let Some(id) = id {
                return Some((id, end));
            }
            end = rest.floor_char_boundary(end - 1);
        }
        None
    }
}

struct Sink {
    ids: Vec<u32>,
    limit: usize,
    truncated: bool,
}

impl Sink {
    fn push(&mut self, id: u32) -> ControlFlow<()> {
        if self.ids.len() < self.limit {
            self.ids.push(id);
            return ControlFlow::Continue(());
        }
        self.truncated = true;
        ControlFlow::Break(())
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
#[allow(clippy::unwrap_used, clippy::panic)] // a test may
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The vocabulary of BERT's own test, `tokenization_test.py`, behind one of a CJK character.
    const TOKENS: [&str; 12] = [
        "中", "[UNK]", "[CLS]", "[SEP]", "want", "##want", "##ed", "wa", "un", "runn", "##ing", ",",
    ];

    fn tokenizer() -> WordPiece {
        WordPiece::new(TOKENS.map(str::to_owned).to_vec(), TokenizerRules::default()).unwrap()
    }

    fn body(text: &str) -> Vec<u32> {
        let ids = tokenizer().encode(text, 100).ids;
        ids[1..ids.len() - 1].to_vec()
    }

    /// The first three lines are BERT's own: `test_full_tokenizer`, `test_wordpiece_tokenizer`.
    #[test]
    fn words_are_spelt_longest_piece_first_and_unknown_as_a_whole() {
        assert_eq!(body("UNwant\u{e9}d,running"), [8, 5, 6, 11, 9, 10]);
        assert_eq!(body("unwanted running"), [8, 5, 6, 9, 10]);
        assert_eq!(body("unwantedX running"), [1, 9, 10]);
        assert_eq!(body("running中want"), [9, 10, 0, 4]);
        assert!(body("").is_empty());
    }

    #[test]
    fn special_tokens_are_recognised_literally_and_only_in_their_own_case() {
        assert_eq!(body("want[SEP]want"), [4, 3, 4]);
        assert_eq!(body("[sep]"), [1, 1, 1]);
    }

    #[test]
    fn a_word_of_more_than_a_hundred_characters_is_unknown() {
        assert_eq!(body(&"want".repeat(25)).len(), 25);
        assert_eq!(body(&format!("{}ed", "want".repeat(25))), [1]);
    }

    #[test]
    fn a_long_text_is_cut_at_the_limit_and_says_so() {
        let cut = tokenizer().encode("want want want", 4);
        assert_eq!(
            cut,
            Encoded {
                ids: vec![2, 4, 4, 3],
                truncated: true
            }
        );
        assert!(!tokenizer().encode("want want", 4).truncated);
        assert_eq!(
            tokenizer().encode("want", 0),
            Encoded {
                ids: vec![2, 3],
                truncated: true
            }
        );
        let inside_a_word = tokenizer().encode("unwanted", 4);
        assert_eq!(
            inside_a_word,
            Encoded {
                ids: vec![2, 8, 5, 3],
                truncated: true
            }
        );
    }

    #[test]
    fn its_vocabulary_and_rules_make_it_again() {
        let first = tokenizer();
        let vocab = first.vocab().map(str::to_owned).collect();
        let second = WordPiece::new(vocab, first.rules().clone()).unwrap();
        assert_eq!(
            second.encode("unwanted, 中", 100),
            first.encode("unwanted, 中", 100)
        );
    }

    #[test]
    fn a_vocabulary_without_the_special_tokens_is_refused() {
        let error = WordPiece::new(vec!["a".to_owned()], TokenizerRules::default())
            .err()
            .unwrap();
        assert_eq!(error.code(), "model_load");
        assert_eq!(error.context().details["token"], "[UNK]");
    }

    proptest! {
        #[test]
        fn any_text_gives_known_ids_within_the_limit(
            text in "(\\PC|[\\x00-\\x1f]|\\[SEP\\]|unwanted|中|[\u{300}-\u{36f}]| ){0,60}",
            limit in 0usize..40,
        ) {
            let tokenizer = tokenizer();
            let cut = tokenizer.encode(&text, limit);
            prop_assert!(cut.ids.len() <= limit.max(2));
            prop_assert!(cut.ids.iter().all(|id| (*id as usize) < tokenizer.vocab_size()));
            let whole = tokenizer.encode(&text, usize::MAX);
            prop_assert!(!whole.truncated);
            prop_assert_eq!(cut.truncated, whole.ids.len() > limit.max(2));
            let kept = cut.ids.len() - 1;
            prop_assert_eq!(&cut.ids[..kept], &whole.ids[..kept]);
        }
    }
}
