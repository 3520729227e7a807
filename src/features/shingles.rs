//! Texts as sets of runs of consecutive words.
//!
//! In: bytes, meant to be UTF-8. Out: one feature a word: the w words from there on, from the end of
//! the text back to its beginning. Case and everything between words is ignored.

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result};
use crate::limits::MAX_SHINGLE_WORDS;

/// The features of a text, shingles of `words` words each (FEAT-3, FEAT-4), 1 to [`MAX_SHINGLE_WORDS`].
/// Bytes that are not UTF-8 are read as U+FFFD, which is no part of a word. A text without words has none.
///
/// ```
/// use ringer::features::shingles;
/// let a = shingles(b"A rose is a rose is a rose.", 3)?;
/// assert_eq!(a.len(), 8);
/// assert_eq!(a, shingles("a ROSE is -- a rose\n is a rose".as_bytes(), 3)?);
/// # Ok::<(), ringer::Error>(())
/// ```
pub fn shingles(text: &[u8], words: u16) -> Result<Vec<u64>> {
    if !(1..=MAX_SHINGLE_WORDS).contains(&words) {
        return Err(Error::invalid(
            format!("shingles of {words} words"),
            format!("words in a shingle must be 1 to {MAX_SHINGLE_WORDS}"),
        ));
    }
    let words = usize::from(words);
    let text = String::from_utf8_lossy(text);
    // All words, lower case, each followed by a space; and where each starts.
    let mut flat = String::with_capacity(text.len() + 1);
    let mut starts = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()) {
        starts.push(flat.len());
        flat.extend(word.chars().flat_map(char::to_lowercase));
        flat.push(' ');
    }
    let count = starts.len();
    if count == 0 {
        return Ok(Vec::new());
    }
    starts.push(flat.len());
    // Runs that do not wrap around are slices of the text; the others are put together.
    let inside = (count + 1).saturating_sub(words);
    let mut features = Vec::with_capacity(count);
    features.extend((0..inside).map(|i| {
        let run = &flat.as_bytes()[starts[i]..starts[i + words] - 1];
        xxh3_64(run)
    }));
    let mut run = String::new();
    for i in inside..count {
        run.clear();
        (i..i + words).for_each(|j| run.push_str(&flat[starts[j % count]..starts[j % count + 1]]));
        features.push(xxh3_64(&run.as_bytes()[..run.len() - 1]));
    }
    Ok(features)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, word by word.
    fn by_definition(text: &str, w: usize) -> Vec<u64> {
        let lower: String = text
            .chars()
            .flat_map(|c| if c.is_alphanumeric() { c.to_lowercase().collect() } else { vec![' '] })
            .collect();
        let words: Vec<&str> = lower.split(' ').filter(|w| !w.is_empty()).collect();
        let run = |i: usize| (i..i + w).map(|j| words[j % words.len()]).collect::<Vec<_>>();
        (0..words.len()).map(|i| xxh3_64(run(i).join(" ").as_bytes())).collect()
    }

    #[test]
    fn agrees_with_the_definition() {
        for text in
            ["", "one", "one two", "Ünïcode — Größe, ١٢٣; 東京 x²", "a b c d e f g h a b c d"]
        {
            for w in 1..=9 {
                let expected = by_definition(text, usize::from(w));
                assert_eq!(shingles(text.as_bytes(), w), Ok(expected), "{text} {w}");
            }
        }
    }

    #[test]
    fn odd_input_is_no_error() {
        assert_eq!(shingles(b"...", 5), Ok(vec![]));
        for words in [0, 65, u16::MAX] {
            assert!(matches!(shingles(b"word", words), Err(Error::InvalidArgument { .. })));
        }
        assert_eq!(shingles(b"caf\xff one", 2), shingles(b"caf one", 2));
    }
}
