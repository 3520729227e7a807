//! Spot signatures: short phrases that start at stop words. They suit pages of news and similar text.
//!
//! In: bytes that should be UTF-8. Out: one feature for each stop word with some of the words after it (FEAT-10).
//! Running text is full of stop words, but headlines, menus and captions are not. So these features find the same
//! story on different pages (Theobald, Siddharth and Paepcke, SpotSigs, 2008).

use xxhash_rust::xxh3::xxh3_64;

use super::limits::{Sink, Watch};
use super::words::Words;
use crate::error::{Error, Result};
use crate::limits::MAX_SPOT_WORDS;

/// The English stop words at which spots start, in ascending order (FEAT-10).
const STOP_WORDS: [&str; 58] = [
    "a", "about", "after", "all", "also", "an", "and", "are", "as", "at", "be", "been", "but",
    "by", "can", "do", "for", "from", "had", "has", "have", "he", "her", "his", "i", "if", "in",
    "into", "is", "it", "its", "more", "not", "of", "on", "or", "said", "she", "that", "the",
    "their", "there", "they", "this", "to", "up", "was", "we", "were", "what", "when", "which",
    "who", "will", "with", "would", "you", "your",
];

/// The features of a text (FEAT-10). Each stop word gives a feature: the stop word and `chain` of the words that
/// follow, taking every `distance`-th word that is not a stop word. Both numbers are at least 1, and their product
/// is at most [`MAX_SPOT_WORDS`].
///
/// ```
/// use ringer::features::{spots, token};
/// let text = b"At a rally to kick off a weeklong campaign";
/// let found = spots(text, 1, 2)?;
/// assert_eq!(found[..2], [token("at rally kick"), token("a rally kick")]);
/// # Ok::<(), ringer::Error>(())
/// ```
pub fn spots(text: &[u8], distance: u8, chain: u8) -> Result<Vec<u64>> {
    let mut features = Vec::new();
    SpotReader::new(distance, chain)?.features_into(text, &mut features);
    Ok(features)
}

/// Extracts spots from many texts and reuses its buffers.
///
/// ```
/// use ringer::features::{SpotReader, spots};
/// let text = b"The pony galloped to the old barn.";
/// let mut features = Vec::new();
/// SpotReader::new(1, 1)?.features_into(text, &mut features);
/// assert_eq!(features, spots(text, 1, 1)?);
/// # Ok::<(), ringer::Error>(())
/// ```
#[derive(Debug)]
pub struct SpotReader {
    distance: usize,
    chain: usize,
    words: Words,
    /// The words that are not stop words.
    others: Vec<usize>,
    /// The stop words, each with the number of other words before it.
    stops: Vec<(usize, usize)>,
    spot: Vec<u8>,
}

impl SpotReader {
    /// Makes a reader for chains of `chain` words, taking every `distance`-th word.
    pub fn new(distance: u8, chain: u8) -> Result<SpotReader> {
        let (distance, chain) = (usize::from(distance), usize::from(chain));
        if !(1..=MAX_SPOT_WORDS).contains(&(distance * chain)) {
            return Err(Error::invalid(
                format!("spots of {chain} words at distance {distance}"),
                format!("both must be at least 1 and their product at most {MAX_SPOT_WORDS}"),
            ));
        }
        let (others, stops, spot) = (Vec::new(), Vec::new(), Vec::new());
        Ok(SpotReader { distance, chain, words: Words::new(), others, stops, spot })
    }

    /// Appends the features of a text in order, with repeats. A stop word with too few words after it has no
    /// feature.
    pub fn features_into(&mut self, text: &[u8], features: &mut Vec<u64>) {
        let mut sink = Sink { watch: Watch::none(), features, take: None };
        let read = self.read_into(text, &mut sink);
        debug_assert!(read.is_ok(), "nothing limits it");
    }

    /// The same within limits. All words are in memory, because a spot may reach over any number of stop words.
    pub(super) fn read_into(&mut self, text: &[u8], sink: &mut Sink<'_>) -> Result<()> {
        let watch = sink.watch.of_text();
        let words = self.words.read_each(text, &watch, &mut |_| Ok(()))?;
        self.others.clear();
        self.stops.clear();
        for i in 0..words.len() {
            match is_stop_word(words.word(i)) {
                true => self.stops.push((i, self.others.len())),
                false => self.others.push(i),
            }
        }
        for &(stop, before) in &self.stops {
            let behind = self.others[before..].chunks_exact(self.distance);
            let chain = behind.filter_map(|every| every.last()).take(self.chain);
            self.spot.clear();
            self.spot.extend_from_slice(words.word(stop));
            let mut length = 0;
            for other in chain {
                self.spot.push(b' ');
                self.spot.extend_from_slice(words.word(*other));
                length += 1;
            }
            if length == self.chain {
                sink.features.push(xxh3_64(&self.spot));
                sink.added()?;
            }
        }
        Ok(())
    }
}

fn is_stop_word(word: &[u8]) -> bool {
    word.len() <= 5 && STOP_WORDS.binary_search_by(|stop| stop.as_bytes().cmp(word)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::token;

    #[test]
    fn stop_words_are_in_order_and_short() {
        assert!(STOP_WORDS.is_sorted_by(|a, b| a < b));
        assert!(STOP_WORDS.iter().all(|word| is_stop_word(word.as_bytes())));
    }

    /// FEAT-10: stop words at any place, chains over other stop words, and the end of the text.
    #[test]
    fn chains_skip_stop_words_and_stop_at_the_end() {
        let text = b"Rain in Spain stays mainly in the plain";
        let of = |distance, chain| spots(text, distance, chain).unwrap();
        assert_eq!(of(1, 1), ["in spain", "in plain", "the plain"].map(token));
        assert_eq!(of(1, 3), ["in spain stays mainly"].map(token));
        assert_eq!(of(2, 2), ["in stays plain"].map(token));
        assert_eq!(of(1, 5), []);
        assert_eq!(
            spots(b"no words of that kind", 1, 1),
            Ok(vec![token("of kind"), token("that kind")])
        );
    }

    #[test]
    fn odd_input_is_no_error() {
        assert_eq!(spots(b"", 1, 1), Ok(vec![]));
        for (distance, chain) in [(0, 1), (1, 0), (0, 0), (9, 8), (255, 255)] {
            assert!(matches!(spots(b"the", distance, chain), Err(Error::InvalidArgument { .. })));
        }
    }
}
