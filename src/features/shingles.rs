//! Shingles: runs of consecutive words.
//!
//! In: bytes that should be UTF-8. Out: one feature for each run of w words (FEAT-7). Normalisation removes
//! differences of case, of encoding, and of everything between words (FEAT-5, FEAT-6).

use xxhash_rust::xxh3::xxh3_64;

use super::limits::{Sink, Watch};
use super::words::{Flat, Words};
use crate::error::{Error, Result};
use crate::limits::MAX_SHINGLE_WORDS;
use crate::scheme::Ends;

/// The features of a text: shingles of `words` words each (FEAT-7), 1 to [`MAX_SHINGLE_WORDS`]. There is one for
/// each word, because the last ones continue at the beginning of the text. Bytes that are not UTF-8 count as
/// U+FFFD, which is not part of a word. A text without words has no shingles.
///
/// ```
/// use ringer::features::shingles;
/// let a = shingles(b"A rose is a rose is a rose.", 3)?;
/// assert_eq!(a.len(), 8);
/// assert_eq!(a, shingles("a ROSE is -- a rose\n is a ｒｏｓｅ".as_bytes(), 3)?);
/// # Ok::<(), ringer::Error>(())
/// ```
pub fn shingles(text: &[u8], words: u16) -> Result<Vec<u64>> {
    one_call(text, words, Ends::Looped)
}

/// The same as [`shingles`], without those that continue at the beginning. A text of fewer words is one shingle.
///
/// ```
/// use ringer::features::{plain_shingles, token};
/// assert_eq!(plain_shingles(b"A rose is a rose is a rose.", 3)?.len(), 6);
/// assert_eq!(plain_shingles(b"A rose!", 3)?, [token("a rose")]);
/// # Ok::<(), ringer::Error>(())
/// ```
pub fn plain_shingles(text: &[u8], words: u16) -> Result<Vec<u64>> {
    one_call(text, words, Ends::Plain)
}

fn one_call(text: &[u8], words: u16, ends: Ends) -> Result<Vec<u64>> {
    let mut features = Vec::new();
    ShingleReader::new(words, ends)?.features_into(text, &mut features);
    Ok(features)
}

/// Extracts shingles from many texts and reuses its buffers. They may grow to a few times the longest text so far.
///
/// ```
/// use ringer::features::{Ends, ShingleReader, shingles};
/// let mut reader = ShingleReader::new(5, Ends::Looped)?;
/// let mut features = Vec::new();
/// for text in ["one text", "another text"] {
///     features.clear();
///     reader.features_into(text.as_bytes(), &mut features);
///     assert_eq!(features, shingles(text.as_bytes(), 5)?);
/// }
/// # Ok::<(), ringer::Error>(())
/// ```
#[derive(Debug)]
pub struct ShingleReader {
    run: usize,
    ends: Ends,
    words: Words,
    /// The first words of a text that is not completely in memory.
    start: Flat,
}

impl ShingleReader {
    /// Makes a reader of shingles of 1 to [`MAX_SHINGLE_WORDS`] words.
    pub fn new(words: u16, ends: Ends) -> Result<ShingleReader> {
        if !(1..=MAX_SHINGLE_WORDS).contains(&words) {
            return Err(Error::invalid(
                format!("shingles of {words} words"),
                format!("words in a shingle must be 1 to {MAX_SHINGLE_WORDS}"),
            ));
        }
        Ok(ShingleReader { run: words.into(), ends, words: Words::new(), start: Flat::new() })
    }

    /// Appends the features of a text in order, with repeats.
    pub fn features_into(&mut self, text: &[u8], features: &mut Vec<u64>) {
        let mut sink = Sink { watch: Watch::none(), features, take: None };
        let read = self.read_into(text, &mut sink);
        debug_assert!(read.is_ok(), "nothing limits it");
    }

    /// The same within limits. Only the words that the next shingles need are in memory.
    pub(super) fn read_into(&mut self, text: &[u8], sink: &mut Sink<'_>) -> Result<()> {
        let (run, ends, start) = (self.run, self.ends, &mut self.start);
        start.clear();
        // The reader of the text checks its limits, and the sink checks those of the features.
        let watch = sink.watch.of_text();
        let mut take = |words: &mut Flat| {
            // With this many words, all but the last few can be removed.
            if words.len() < 2 * run {
                return Ok(());
            }
            if start.len() == 0 && words.taken == 0 {
                start.copy_words(words, run - 1);
            }
            hash_runs(words, run, sink.features);
            words.drop_words(words.len() - (run - 1));
            sink.added()
        };
        let words = self.words.read_each(text, &watch, &mut take)?;
        let whole = words.taken == 0;
        match ends {
            Ends::Looped if whole => repeat_start(words, run - 1),
            Ends::Looped => words.append(&self.start),
            Ends::Plain => {}
        }
        let run = if whole && ends == Ends::Plain { run.min(words.len()) } else { run };
        hash_runs(words, run, sink.features);
        sink.added()
    }
}

/// Appends the first `more` words again. If the text has fewer words, they are repeated.
fn repeat_start(words: &mut Flat, more: usize) {
    let count = words.len();
    if count == 0 {
        return;
    }
    for i in 0..more {
        let (start, end) = (words.bounds[i], words.bounds[i + 1]);
        words.bytes.extend_from_within(start..end);
        words.bounds.push(words.bytes.len());
    }
}

/// Appends the features of all runs (FEAT-7).
fn hash_runs(words: &Flat, run: usize, features: &mut Vec<u64>) {
    let bounds = &words.bounds[..];
    let count = bounds.len().saturating_sub(run);
    if run == 0 || count == 0 {
        return;
    }
    let (starts, ends, bytes) = (&bounds[..count], &bounds[run..], &words.bytes[..]);
    // If the range of the length is known, the compiler drops the branches of the hash for other lengths.
    features.extend(starts.iter().zip(ends).map(|(start, end)| {
        // The space after the last word is not part of the shingle.
        let run = &bytes[*start..*end - 1];
        match run.len() {
            17..=32 => xxh3_64(run),
            33..=64 => xxh3_64(run),
            _ => hash(run),
        }
    }));
}

#[inline(never)]
fn hash(run: &[u8]) -> u64 {
    xxh3_64(run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::{definition, tokens};

    /// FEAT-7 with many lengths, shorter and longer than the text.
    #[test]
    fn agrees_with_the_definition() {
        for text in
            ["", "one", "one two", "Ünïcode — Größe, ١٢٣; 東京 x²", "a b c d e f g h a b c d"]
        {
            let words = definition::words(text.as_bytes());
            for w in (1..=9).chain([64]) {
                let expected = |looped| tokens(definition::runs(&words, w.into(), looped, " "));
                assert_eq!(shingles(text.as_bytes(), w), Ok(expected(true)), "{text} {w}");
                assert_eq!(plain_shingles(text.as_bytes(), w), Ok(expected(false)), "{text} {w}");
            }
        }
    }

    #[test]
    fn odd_input_is_no_error() {
        assert_eq!(shingles(b"...", 5), Ok(vec![]));
        assert_eq!(plain_shingles(b"", 5), Ok(vec![]));
        for words in [0, 65, u16::MAX] {
            assert!(matches!(shingles(b"word", words), Err(Error::InvalidArgument { .. })));
        }
        assert_eq!(shingles(b"caf\xff one", 2), shingles(b"caf one", 2));
    }

    /// The buffers of a reader keep nothing of the text before.
    #[test]
    fn texts_do_not_disturb_each_other() {
        let mut reader = ShingleReader::new(3, Ends::Looped).unwrap();
        let texts = ["a long first text, Ünïcode and all", "", "short", "中文字 a b", "x y z w"];
        for text in texts.iter().cycle().take(20) {
            let mut features = vec![7];
            reader.features_into(text.as_bytes(), &mut features);
            assert_eq!(features.remove(0), 7);
            assert_eq!(Ok(features), shingles(text.as_bytes(), 3), "{text}");
        }
    }
}
