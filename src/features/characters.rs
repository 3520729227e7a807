//! Properties of single characters, so that most text is read without regard to neighbours.
//!
//! In: a character. Out: its normal form, if that is one character in any context, and its role in word boundaries.
//! All answers come from the pinned Unicode crates and are cached in pages of 256 characters, computed on first
//! use. There is no table here that could differ from theirs.

use std::iter::once;
use std::sync::OnceLock;

use caseless::Caseless;
use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};
use unicode_segmentation::UnicodeSegmentation;

use super::normal::{is_ignored, is_space, normal};

/// The role of a character in word boundaries (FEAT-6).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    /// The normal form or the role depends on neighbours, or the normal form is several characters.
    Depends,
    /// A letter or digit that forms one word with such neighbours.
    Joins,
    /// Katakana, which forms words only with Katakana.
    Katakana,
    /// A word by itself, such as an ideograph.
    Alone,
    /// A part of the word before it.
    Extends,
    /// A part of a word only between two characters that join.
    Middle,
    /// No part of a word.
    Breaks,
}

/// The normal form and the role of a character.
#[derive(Clone, Copy, Debug)]
pub(super) struct Character {
    pub(super) normal: char,
    pub(super) kind: Kind,
}

const PAGE: usize = 256;
const PAGES: usize = (char::MAX as usize + 1) / PAGE;

static ALL: [OnceLock<Box<[Character; PAGE]>>; PAGES] = [const { OnceLock::new() }; PAGES];

/// Looks a character up.
#[inline]
pub(super) fn look_up(c: char) -> Character {
    let (page, at) = (c as usize / PAGE, c as usize % PAGE);
    ALL[page].get_or_init(|| make_page(page))[at]
}

#[cold]
fn make_page(page: usize) -> Box<[Character; PAGE]> {
    let code = |at: usize| (page * PAGE + at) as u32;
    let unknown = Character { normal: '\u{FFFD}', kind: Kind::Depends };
    Box::new(std::array::from_fn(|at| char::from_u32(code(at)).map_or(unknown, find_out)))
}

/// True if normalised text may be cut before this character: nothing before it is ever reordered or composed with
/// it.
fn starts_anew(c: char) -> bool {
    let is_starter = |c: char| canonical_combining_class(c) == 0;
    let decomposed = once(c).nfkd().next();
    let folded = once(c).nfkd().default_case_fold().nfkd().next();
    decomposed.is_some_and(is_starter)
        && folded.is_some_and(|c| is_starter(c) && is_nfc_quick(once(c)) == IsNormalized::Yes)
}

fn find_out(c: char) -> Character {
    let mut form = normal(once(c));
    let (first, second) = (form.next(), form.next());
    match (first, second) {
        (Some(normal), None) if !is_ignored(c) && starts_anew(c) => {
            Character { normal, kind: kind_of(normal) }
        }
        _ => Character { normal: c, kind: Kind::Depends },
    }
}

/// Finds the role of a character of normalised text by testing it beside characters of all other roles.
fn kind_of(c: char) -> Kind {
    let joined = |text: String| text.split_word_bounds().count() == 1;
    if is_space(c) {
        return Kind::Breaks;
    }
    let is_word = c.to_string().unicode_words().next().is_some();
    // A letter, a digit, a low line, Katakana, half of a flag, and characters that may join in the middle. Hebrew
    // letters form words with quotes. That needs no test here, because Hebrew depends on its neighbours and quotes
    // are middle characters.
    const OTHERS: [char; 13] = ['a', '1', '_', 'ア', '🇦', '\'', '"', '.', ',', ':', '·', '!', '😀'];
    let beside_all: String = OTHERS.iter().flat_map(|other| [c, *other]).chain(once(c)).collect();
    let bounds = beside_all.split_word_bounds().count();
    if bounds == 2 * OTHERS.len() + 1 {
        let between = |other: char| joined([other, c, other].iter().collect());
        return match is_word {
            _ if between('a') || between('1') || between('א') => Kind::Middle,
            true => Kind::Alone,
            false => Kind::Breaks,
        };
    }
    let before = |other: char| joined([c, other].iter().collect());
    let after = |other: char| joined([other, c].iter().collect());
    if after('!') {
        return Kind::Extends;
    }
    let with = |other: char| before(other) && after(other);
    if is_word && with('a') && with('1') && !after('ア') && !before('ア') && !before('\'') {
        return Kind::Joins;
    }
    if is_word && with('ア') && !after('a') && !before('a') && !after('1') && !before('1') {
        return Kind::Katakana;
    }
    Kind::Depends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds() {
        for (characters, kind) in [
            ("azAZ09éÉжЖαΣ한٣", Kind::Joins),
            ("カーｱ", Kind::Katakana),
            ("中文ひก", Kind::Alone),
            ("ािः", Kind::Extends),
            (".:',;’·\"", Kind::Middle),
            ("!?-/«»。、😀\u{FFFD}\u{200B} \u{3000}", Kind::Breaks),
            ("ß½ﬁ\u{301}\u{AD}_\u{1161}🇦א\u{94D}", Kind::Depends),
        ] {
            for c in characters.chars() {
                assert_eq!(look_up(c).kind, kind, "{c:?}");
            }
        }
        assert_eq!(look_up('É').normal, 'é');
    }
}
