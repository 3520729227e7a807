//! Character n-grams: runs of consecutive characters. They suit languages without spaces between words.
//!
//! In: bytes that should be UTF-8. Out: one feature for each run of n characters of the gram text (FEAT-8, FEAT-9).
//! The gram text is the normalised text with one space for whatever is between words.

use xxhash_rust::xxh3::xxh3_64;

use super::limits::{Sink, Watch};
use super::words::{Flat, Words};
use crate::error::{Error, Result};
use crate::limits::MAX_GRAM_CHARACTERS;
use crate::scheme::Ends;

/// The features of a text: runs of `characters` characters each (FEAT-8, FEAT-9), 1 to [`MAX_GRAM_CHARACTERS`].
/// There is one for each character, because the last ones continue at the beginning of the text. Five is a good
/// length. For Chinese or Japanese, three finds more.
///
/// ```
/// use ringer::features::grams;
/// let a = grams("東京タワーは、高い。".as_bytes(), 3)?;
/// assert_eq!(a.len(), 9);
/// assert_eq!(a, grams("東京ﾀﾜｰは -- 高い".as_bytes(), 3)?);
/// # Ok::<(), ringer::Error>(())
/// ```
pub fn grams(text: &[u8], characters: u16) -> Result<Vec<u64>> {
    one_call(text, characters, Ends::Looped)
}

/// The same as [`grams`], without those that continue at the beginning. A shorter text is one gram.
///
/// ```
/// use ringer::features::{plain_grams, token};
/// assert_eq!(plain_grams(b"(To be)", 4)?, [token("to b"), token("o be")]);
/// # Ok::<(), ringer::Error>(())
/// ```
pub fn plain_grams(text: &[u8], characters: u16) -> Result<Vec<u64>> {
    one_call(text, characters, Ends::Plain)
}

fn one_call(text: &[u8], characters: u16, ends: Ends) -> Result<Vec<u64>> {
    let mut features = Vec::new();
    GramReader::new(characters, ends)?.features_into(text, &mut features);
    Ok(features)
}

/// Extracts character n-grams from many texts and reuses its buffers. They may grow to a few times the longest text
/// so far.
///
/// ```
/// use ringer::features::{Ends, GramReader};
/// let mut reader = GramReader::new(5, Ends::Plain)?;
/// let mut features = Vec::new();
/// reader.features_into("吾輩は猫である。".as_bytes(), &mut features);
/// assert_eq!(features.len(), 3);
/// # Ok::<(), ringer::Error>(())
/// ```
#[derive(Debug)]
pub struct GramReader {
    run: usize,
    ends: Ends,
    words: Words,
    /// The starts of characters, and the end of the last one.
    bounds: Vec<usize>,
    /// The first characters of a text that is not completely in memory.
    start: Vec<u8>,
}

impl GramReader {
    /// Makes a reader of grams of 1 to [`MAX_GRAM_CHARACTERS`] characters.
    pub fn new(characters: u16, ends: Ends) -> Result<GramReader> {
        if !(1..=MAX_GRAM_CHARACTERS).contains(&characters) {
            return Err(Error::invalid(
                format!("grams of {characters} characters"),
                format!("characters in a gram must be 1 to {MAX_GRAM_CHARACTERS}"),
            ));
        }
        let (run, words) = (characters.into(), Words::touching());
        Ok(GramReader { run, ends, words, bounds: Vec::new(), start: Vec::new() })
    }

    /// Appends the features of a text in order, with repeats.
    pub fn features_into(&mut self, text: &[u8], features: &mut Vec<u64>) {
        let mut sink = Sink { watch: Watch::none(), features, take: None };
        let read = self.read_into(text, &mut sink);
        debug_assert!(read.is_ok(), "nothing limits it");
    }

    /// The same within limits. Only the characters that the next grams need are in memory.
    pub(super) fn read_into(&mut self, text: &[u8], sink: &mut Sink<'_>) -> Result<()> {
        let (run, start, bounds) = (self.run, &mut self.start, &mut self.bounds);
        start.clear();
        let watch = sink.watch.of_text();
        let mut take = |words: &mut Flat| {
            find_bounds(&words.bytes, bounds);
            // The last character is the space after a word. A touching word may remove it again.
            let count = bounds.len().saturating_sub(2);
            if count < 2 * run {
                return Ok(());
            }
            if words.taken == 0 {
                start.extend_from_slice(&words.bytes[..bounds[run - 1]]);
            }
            let done = count - (run - 1);
            hash_grams(&words.bytes, &bounds[..count + 1], run, sink.features);
            words.drop_bytes(bounds[done]);
            sink.added()
        };
        let words = self.words.read_each(text, &watch, &mut take)?;
        let (whole, bytes) = (words.taken == 0, &mut words.bytes);
        // Removes the space after the last word.
        bytes.pop();
        if bytes.is_empty() {
            return Ok(());
        }
        find_bounds(bytes, &mut self.bounds);
        let mut run = run;
        match self.ends {
            Ends::Plain if whole => run = run.min(self.bounds.len() - 1),
            Ends::Plain => {}
            Ends::Looped if whole => {
                for i in 0..run - 1 {
                    bytes.extend_from_within(self.bounds[i]..self.bounds[i + 1]);
                    self.bounds.push(bytes.len());
                }
            }
            Ends::Looped => {
                bytes.extend_from_slice(&self.start);
                find_bounds(bytes, &mut self.bounds);
            }
        }
        hash_grams(bytes, &self.bounds, run, sink.features);
        sink.added()
    }
}

/// Finds the starts of characters, and the end of the last one.
fn find_bounds(bytes: &[u8], bounds: &mut Vec<usize>) {
    bounds.clear();
    let starts = bytes.iter().enumerate().filter(|(_, byte)| (**byte as i8) >= -0x40);
    bounds.extend(starts.map(|(at, _)| at));
    bounds.push(bytes.len());
}

/// Appends the features of all runs of characters (FEAT-9).
fn hash_grams(bytes: &[u8], bounds: &[usize], run: usize, features: &mut Vec<u64>) {
    let ends = bounds.get(run..).unwrap_or_default();
    features.extend(bounds.iter().zip(ends).map(|(s, e)| xxh3_64(&bytes[*s..*e])));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::{definition, tokens};

    /// FEAT-9 with many lengths, shorter and longer than the text.
    #[test]
    fn agrees_with_the_definition() {
        for text in
            ["", "a", "ab", "to be or not", "吾輩は猫である。名前はまだ無い", "é中a\u{10400} b"]
        {
            let whole = definition::gram_text(text.as_bytes());
            let parts: Vec<String> = whole.chars().map(String::from).collect();
            for n in 1..20 {
                let expected = |looped| tokens(definition::runs(&parts, n.into(), looped, ""));
                assert_eq!(grams(text.as_bytes(), n), Ok(expected(true)), "{text} {n}");
                assert_eq!(plain_grams(text.as_bytes(), n), Ok(expected(false)), "{text} {n}");
            }
        }
    }

    #[test]
    fn odd_input_is_no_error() {
        assert_eq!(grams(b" .. ", 5), Ok(vec![]));
        assert_eq!(plain_grams(b"\xFF", 5), Ok(vec![]));
        for characters in [0, 65, u16::MAX] {
            assert!(matches!(grams(b"word", characters), Err(Error::InvalidArgument { .. })));
        }
    }
}
