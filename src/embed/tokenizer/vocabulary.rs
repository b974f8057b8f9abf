//! Token to id.
//!
//! Thirty thousand short strings in a `HashMap<String, u32>` are megabytes of headers and allocations, on a device
//! where the whole model has forty. Here they are one text with offsets, and two hash tables of bare ids that compare
//! against it: one for tokens that begin a word, one for tokens that continue one, so that looking up a continuation
//! needs no `##` pasted before it.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::{Error, Result};

/// More tokens than any model has; a damaged file may claim any number.
const MAX_TOKENS: usize = 1 << 20;

pub(super) struct Vocabulary {
    text: String,
    /// Where each token ends in `text`; the next begins there.
    ends: Vec<usize>,
    prefix: String,
    beginnings: HashTable<u32>,
    continuations: HashTable<u32>,
    hasher: DefaultHashBuilder,
    longest: usize,
}

impl Vocabulary {
    /// Ids are positions; an empty string is a gap. Of two equal tokens the later wins, as in the reference.
    pub(super) fn new(tokens: &[String], continuing_prefix: &str) -> Result<Self> {
        if tokens.is_empty() || tokens.len() > MAX_TOKENS {
            return Err(
                Error::model_load("the tokenizer's vocabulary is empty or impossibly large")
                    .with("tokens", tokens.len()),
            );
        }
        let mut vocabulary = Self {
            text: tokens.concat(),
            ends: Vec::with_capacity(tokens.len()),
            prefix: continuing_prefix.to_owned(),
            beginnings: HashTable::new(),
            continuations: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            longest: 0,
        };
        let mut end = 0;
        for token in tokens {
            end += token.len();
            vocabulary.ends.push(end);
        }
        for (id, token) in (0..).zip(tokens) {
            vocabulary.insert(id, token);
        }
        Ok(vocabulary)
    }

    fn insert(&mut self, id: u32, token: &str) {
        if token.is_empty() {
            return;
        }
        self.longest = self.longest.max(token.len());
        self.index(id, token, false);
        if let Some(rest) = self.continuation(token) {
            self.index(id, rest, true);
        }
    }

    fn index(&mut self, id: u32, key: &str, continues: bool) {
        let Self {
            text,
            ends,
            prefix,
            beginnings,
            continuations,
            hasher,
            ..
        } = self;
        let skip = if continues { prefix.len() } else { 0 };
        let table = if continues { continuations } else { beginnings };
        let stored = |id: &u32| token_at(text, ends, *id).get(skip..).unwrap_or_default();
        let hash = hasher.hash_one(key);
        match table.find_mut(hash, |id| stored(id) == key) {
            Some(earlier) => *earlier = id,
            None => {
                table.insert_unique(hash, id, |id| hasher.hash_one(stored(id)));
            }
        }
    }

    fn continuation<'t>(&self, token: &'t str) -> Option<&'t str> {
        token
            .strip_prefix(self.prefix.as_str())
            .filter(|rest| !rest.is_empty())
    }

    /// The id of a token, whole.
    pub(super) fn id(&self, token: &str) -> Option<u32> {
        self.beginning(token)
    }

    /// The id of a piece that begins a word.
    pub(super) fn beginning(&self, piece: &str) -> Option<u32> {
        let hash = self.hasher.hash_one(piece);
        self.beginnings.find(hash, |id| self.token(*id) == piece).copied()
    }

    /// The id of a piece that continues a word, given without the prefix.
    pub(super) fn continuing(&self, piece: &str) -> Option<u32> {
        let hash = self.hasher.hash_one(piece);
        let stored = |id: &u32| self.token(*id).get(self.prefix.len()..) == Some(piece);
        self.continuations.find(hash, stored).copied()
    }

    /// The token of an id; empty for a gap and for an id that there is not.
    pub(super) fn token(&self, id: u32) -> &str {
        token_at(&self.text, &self.ends, id)
    }

    /// Number of ids.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Bytes of the longest token: no longer piece needs to be tried.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }
}

fn token_at<'t>(text: &'t str, ends: &[usize], id: u32) -> &'t str {
    let at = id as usize;
    let start = at
        .checked_sub(1)
        .and_then(|before| ends.get(before))
        .copied()
        .unwrap_or(0);
    ends.get(at)
        .and_then(|end| text.get(start..*end))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vocabulary(tokens: &[&str]) -> Vocabulary {
        let tokens: Vec<_> = tokens.iter().map(|token| (*token).to_owned()).collect();
        Vocabulary::new(&tokens, "##").unwrap()
    }

    #[test]
    fn beginnings_and_continuations_are_told_apart() {
        let vocabulary = vocabulary(&["a", "##b", "b", "", "##", "##é"]);
        assert_eq!(vocabulary.beginning("b"), Some(2));
        assert_eq!(vocabulary.continuing("b"), Some(1));
        assert_eq!(vocabulary.continuing("a"), None);
        assert_eq!(vocabulary.continuing("é"), Some(5));
        assert_eq!(vocabulary.continuing(""), None);
        assert_eq!(vocabulary.beginning(""), None);
        assert_eq!(
            (vocabulary.token(1), vocabulary.token(3), vocabulary.token(9)),
            ("##b", "", "")
        );
    }

    #[test]
    fn of_two_equal_tokens_the_later_wins() {
        assert_eq!(vocabulary(&["a", "b", "a"]).beginning("a"), Some(2));
    }

    #[test]
    fn an_empty_vocabulary_is_refused() {
        assert!(Vocabulary::new(&[], "##").is_err());
    }
}
