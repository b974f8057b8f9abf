//! Character classes, exactly as the reference draws them.
//!
//! `unicode_categories` knows Unicode 8 and so does the reference, which uses it: a newer table would make punctuation
//! of characters that the reference keeps inside words.

use unicode_categories::UnicodeCategories;

/// Dropped from a text: controls, format and private-use characters, the replacement character.
pub(super) fn is_dropped(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' => false,
        '\0' | '\u{fffd}' => true,
        c if c.is_ascii() => c.is_ascii_control(),
        c => c.is_other(),
    }
}

/// A word of its own: all that `string.punctuation` has, and Unicode's punctuation.
pub(super) fn is_punctuation(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_punctuation()
    } else {
        c.is_punctuation()
    }
}

/// Goes with an accent when accents are stripped.
pub(super) fn is_accent(c: char) -> bool {
    !c.is_ascii() && c.is_mark_nonspacing()
}

/// The reference's CJK blocks. Extension E starts at U+2B920 there, not at U+2B820.
pub(super) fn is_cjk(c: char) -> bool {
    matches!(c,
        '\u{4e00}'..='\u{9fff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{2a6df}'
        | '\u{2a700}'..='\u{2b73f}'
        | '\u{2b740}'..='\u{2b81f}'
        | '\u{2b920}'..='\u{2ceaf}'
        | '\u{2f800}'..='\u{2fa1f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whitespace_controls_are_kept_and_other_controls_dropped() {
        assert!(['\t', '\n', '\r', ' ', 'a'].iter().all(|c| !is_dropped(*c)));
        let dropped = [
            '\0', '\u{1}', '\u{b}', '\u{7f}', '\u{85}', '\u{ad}', '\u{200b}', '\u{e000}', '\u{fffd}',
        ];
        assert!(dropped.iter().all(|c| is_dropped(*c)));
    }

    #[test]
    fn symbols_of_ascii_are_punctuation_and_currency_signs_are_not() {
        assert!(
            ['$', '+', '<', '^', '`', '|', '~', '。', '《', '¿']
                .iter()
                .all(|c| is_punctuation(*c))
        );
        assert!(
            ['€', '£', '°', '©', 'a', '中']
                .iter()
                .all(|c| !is_punctuation(*c))
        );
    }

    #[test]
    fn extension_e_starts_where_the_reference_starts_it() {
        assert!(is_cjk('\u{2b81f}') && !is_cjk('\u{2b820}') && !is_cjk('\u{2b91f}') && is_cjk('\u{2b920}'));
        assert!(!is_cjk('あ') && !is_cjk('한'));
    }
}
