//! The normal form of text: the same words look the same however they were typed.
//!
//! In: characters. Out: their compatibility decomposition, case-folded and composed again, without ignored
//! characters. The tables are those of Unicode 16.0.0 in the pinned crates (FEAT-3).

use caseless::Caseless;
use unicode_normalization::UnicodeNormalization;

/// Ignored characters: the default ignorable code points of Unicode 16.0.0, except the zero-width space, which
/// separates words (FEAT-5).
const IGNORED: [(char, char); 17] = [
    ('\u{AD}', '\u{AD}'),
    ('\u{34F}', '\u{34F}'),
    ('\u{61C}', '\u{61C}'),
    ('\u{115F}', '\u{1160}'),
    ('\u{17B4}', '\u{17B5}'),
    ('\u{180B}', '\u{180F}'),
    ('\u{200C}', '\u{200F}'),
    ('\u{202A}', '\u{202E}'),
    ('\u{2060}', '\u{206F}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{FE00}', '\u{FE0F}'),
    ('\u{FEFF}', '\u{FEFF}'),
    ('\u{FFA0}', '\u{FFA0}'),
    ('\u{FFF0}', '\u{FFF8}'),
    ('\u{1BCA0}', '\u{1BCA3}'),
    ('\u{1D173}', '\u{1D17A}'),
    ('\u{E0000}', '\u{E0FFF}'),
];

/// True if the normal form omits a character.
pub(super) fn is_ignored(c: char) -> bool {
    IGNORED.iter().any(|(first, last)| (*first..=*last).contains(&c))
}

/// White space in normalised text (FEAT-6). Compatibility decomposition maps all other white space to it.
pub(super) fn is_space(c: char) -> bool {
    matches!(c, '\t'..='\r' | ' ' | '\u{85}' | '\u{1680}' | '\u{2028}' | '\u{2029}')
}

/// The normal form of a text (FEAT-5).
pub(super) fn normal(text: impl Iterator<Item = char>) -> impl Iterator<Item = char> {
    text.filter(|c| !is_ignored(*c)).nfkd().default_case_fold().nfkc()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> String {
        normal(text.chars()).collect()
    }

    fn all() -> impl Iterator<Item = char> {
        '\0'..=char::MAX
    }

    #[test]
    fn all_tables_are_of_one_version_of_unicode() {
        assert_eq!(caseless::UNICODE_VERSION, (16, 0, 0));
        assert_eq!(unicode_normalization::UNICODE_VERSION, (16, 0, 0));
        assert_eq!(unicode_segmentation::UNICODE_VERSION, (16, 0, 0));
    }

    /// FEAT-5 treats as equal what Unicode's compatibility caseless matching (D146) treats as equal.
    #[test]
    fn is_compatibility_caseless_matching() {
        for c in all().filter(|c| !is_ignored(*c)) {
            let once = std::iter::once(c);
            let matched = once.nfd().default_case_fold().nfkd().default_case_fold().nfkd();
            assert_eq!(of(&c.to_string()), matched.nfkc().collect::<String>(), "{c:?}");
        }
    }

    #[test]
    fn is_its_own_normal_form_and_leaves_nothing_ignored() {
        for c in all() {
            let form = of(&c.to_string());
            assert_eq!(of(&form), form, "{c:?}");
            assert!(!form.chars().any(is_ignored), "{c:?}");
            assert!(!form.chars().any(|c| c.is_whitespace() && !is_space(c)), "{c:?}");
        }
    }

    #[test]
    fn telling_cases() {
        for (text, form) in [
            ("GROẞE Straße", "grosse strasse"),
            ("İI ıi", "i\u{307}i ıi"),
            ("ΟΔΥΣΣΕΥΣ ς", "οδυσσευσ σ"),
            ("e\u{301}É", "éé"),
            ("ﬁn ﬀ Ⅷ ½", "fin ff viii 1⁄2"),
            ("ＦＵＬＬ　ｗｉｄｔｈ", "full width"),
            ("ｶﾞ ガ", "ガ ガ"),
            ("한글 \u{1112}\u{1161}\u{11AB}", "한글 한"),
            ("hy\u{AD}phen \u{FEFF}x\u{200D}y", "hyphen xy"),
            ("\u{1FB3} \u{345}\u{391}", "αι ια"),
        ] {
            assert_eq!(of(text), form, "{text}");
        }
    }

    /// Long runs of marks are sorted once, not scanned again for each mark.
    #[test]
    fn long_runs_of_marks_take_linear_time() {
        let marks: String = ["\u{301}", "\u{316}", "\u{345}"].concat().repeat(100_000);
        assert_eq!(normal(marks.chars()).count(), 300_000);
    }
}
