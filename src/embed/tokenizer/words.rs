//! Text to normalised words.
//!
//! The reference normalises the whole text (clean, space CJK, NFD, strip, lower-case) and then splits it. Here the text
//! is split at whitespace and CJK characters first and each stretch is normalised by itself: whitespace and CJK
//! characters are starters, so NFD does not reach across them, and neither stripping nor lower-casing makes whitespace.
//! The result is the same, no copy of the text is made, and a long text costs nothing beyond the model's limit.

use std::ops::ControlFlow;

use unicode_normalization::UnicodeNormalization;

use super::characters::{is_accent, is_cjk, is_dropped, is_punctuation};
use super::rules::TokenizerRules;

/// Hands every word of `text` to `each` until it breaks.
pub(super) fn for_each_word(
    text: &str,
    rules: &TokenizerRules,
    each: &mut impl FnMut(&str) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut stretch = String::new();
    for c in text.chars() {
        if rules.clean_text && is_dropped(c) {
            continue;
        }
        if c.is_whitespace() {
            flush(&mut stretch, rules, each)?;
        } else if rules.split_cjk && is_cjk(c) {
            flush(&mut stretch, rules, each)?;
            stretch.push(c);
            flush(&mut stretch, rules, each)?;
        } else {
            stretch.push(c);
        }
    }
    flush(&mut stretch, rules, each)
}

fn flush(
    stretch: &mut String,
    rules: &TokenizerRules,
    each: &mut impl FnMut(&str) -> ControlFlow<()>,
) -> ControlFlow<()> {
    if stretch.is_empty() {
        return ControlFlow::Continue(());
    }
    normalise(stretch, rules);
    let flow = split_punctuation(stretch, each);
    stretch.clear();
    flow
}

fn normalise(stretch: &mut String, rules: &TokenizerRules) {
    if stretch.is_ascii() {
        if rules.lowercase {
            stretch.make_ascii_lowercase();
        }
        return;
    }
    if rules.strip_accents {
        *stretch = stretch.nfd().filter(|c| !is_accent(*c)).collect();
    }
    if rules.lowercase {
        // Character by character: `str::to_lowercase` would look at a word's end for the final sigma.
        *stretch = stretch.chars().flat_map(char::to_lowercase).collect();
    }
}

fn split_punctuation(stretch: &str, each: &mut impl FnMut(&str) -> ControlFlow<()>) -> ControlFlow<()> {
    let mut start = 0;
    for (at, c) in stretch.char_indices().filter(|(_, c)| is_punctuation(*c)) {
        let end = at + c.len_utf8();
        for word in [&stretch[start..at], &stretch[at..end]] {
            if !word.is_empty() {
                each(word)?;
            }
        }
        start = end;
    }
    match &stretch[start..] {
        "" => ControlFlow::Continue(()),
        word => each(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str, rules: &TokenizerRules) -> Vec<String> {
        let mut words = Vec::new();
        let flow = for_each_word(text, rules, &mut |word| {
            words.push(word.to_owned());
            ControlFlow::Continue(())
        });
        assert!(flow.is_continue());
        words
    }

    #[test]
    fn punctuation_and_cjk_characters_are_words_of_their_own() {
        let found = words("Don't use Python写代码!", &TokenizerRules::default());
        assert_eq!(found, ["don", "'", "t", "use", "python", "写", "代", "码", "!"]);
    }

    #[test]
    fn controls_vanish_without_splitting_and_every_whitespace_splits() {
        let found = words("a\u{200b}b\u{3000}c\u{a0}d\u{85}e", &TokenizerRules::default());
        assert_eq!(found, ["ab", "c", "de"]);
    }

    #[test]
    fn accents_go_only_when_the_rules_say_so() {
        assert_eq!(
            words("Café İ ΣΑΣ", &TokenizerRules::default()),
            ["cafe", "i", "σασ"]
        );
        let kept = TokenizerRules {
            strip_accents: false,
            ..TokenizerRules::default()
        };
        assert_eq!(words("Café", &kept), ["café"]);
        let cased = TokenizerRules {
            lowercase: false,
            strip_accents: false,
            ..TokenizerRules::default()
        };
        assert_eq!(words("Café", &cased), ["Café"]);
    }

    #[test]
    fn it_stops_when_told() {
        let mut seen = 0;
        let flow = for_each_word("a b c", &TokenizerRules::default(), &mut |_| {
            seen += 1;
            if seen == 2 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        assert_eq!((seen, flow), (2, ControlFlow::Break(())));
    }
}
