//! Words and gram text exactly as `format-spec/features.md` defines them, without optimisations.
//!
//! In: bytes. Out: words and gram text. Tests and fuzz targets compare the library with it. It is slow and not part
//! of the interface.

use unicode_segmentation::UnicodeSegmentation;

use super::normal::{is_space, normal};

/// The words of a text (FEAT-4, FEAT-5, FEAT-6).
pub fn words(text: &[u8]) -> Vec<String> {
    let text: String = normal(String::from_utf8_lossy(text).chars()).collect();
    text.split(is_space).flat_map(|part| part.unicode_words()).map(str::to_string).collect()
}

/// The gram text of a text (FEAT-8): each run of characters outside of words becomes one space.
pub fn gram_text(text: &[u8]) -> String {
    let text: String = normal(String::from_utf8_lossy(text).chars()).collect();
    let mut kept = String::new();
    for part in text.split(is_space) {
        let mut end = 0;
        kept.push(' ');
        for (at, word) in part.unicode_word_indices() {
            if at > end {
                kept.push(' ');
            }
            kept.push_str(word);
            end = at + word.len();
        }
        if end < part.len() {
            kept.push(' ');
        }
    }
    kept.split(' ').filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The runs of `length` parts of a sequence (FEAT-7, FEAT-9), joined by `glue`.
pub fn runs(parts: &[String], length: usize, looped: bool, glue: &str) -> Vec<String> {
    let n = parts.len();
    let (count, length) = match looped {
        _ if n == 0 => return Vec::new(),
        true => (n, length),
        false => (n.saturating_sub(length - 1).max(1), length.min(n)),
    };
    let run = |i: usize| (i..i + length).map(|j| &*parts[j % n]).collect::<Vec<&str>>();
    (0..count).map(|i| run(i).join(glue)).collect()
}
