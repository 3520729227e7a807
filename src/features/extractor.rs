//! Documents become sets as a scheme says: the one door to all feature kinds.
//!
//! In: the bytes of a document, and whether it is HTML. Out: its features. An extractor keeps its buffers, so
//! that a thread can go through millions of documents without allocating.

use std::path::Path;

use super::html::TextReader;
use super::{Chunk, Chunker, GramReader, ShingleReader, SpotReader, UrlReader, token};
use crate::error::{Error, Result};
use crate::scheme::{Features, Scheme};

/// What the bytes of a text are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Media {
    /// Text as it is.
    #[default]
    Plain,
    /// HTML, of which only the visible text counts.
    Html,
}

impl Media {
    /// What a file's name says: `.html`, `.htm` and `.xhtml` are HTML.
    pub fn of_path(path: impl AsRef<Path>) -> Media {
        let extension = path.as_ref().extension().and_then(|e| e.to_str()).unwrap_or("");
        let html = ["html", "htm", "xhtml"].iter().any(|e| e.eq_ignore_ascii_case(extension));
        if html { Media::Html } else { Media::Plain }
    }
}

/// Turns documents into sets, as the features of a scheme say.
///
/// ```
/// use ringer::Sketcher;
/// use ringer::features::{Extractor, Media};
/// use ringer::scheme::{Features, Parameters, Scheme, presets};
///
/// let scheme = Scheme::new(Parameters { features: Features::TEXT, ..presets::NEAR_DUPLICATE })?;
/// let (mut extractor, sketcher) = (Extractor::of_scheme(&scheme), Sketcher::new(&scheme));
/// let (mut plain, mut page) = (Vec::new(), Vec::new());
/// extractor.extract(b"A rose is a rose is a rose.", Media::Plain, &mut plain)?;
/// extractor.extract(b"<p>A <b>rose</b> is a rose<p>is a rose", Media::Html, &mut page)?;
/// assert_eq!(sketcher.sketch(&plain)?, sketcher.sketch(&page)?);
/// # Ok::<(), ringer::Error>(())
/// ```
#[derive(Debug)]
pub struct Extractor {
    reader: Reader,
    html: TextReader,
}

/// What takes documents of one kind apart.
#[derive(Debug)]
enum Reader {
    Ids,
    Tokens,
    Shingles(ShingleReader),
    Grams(GramReader),
    Chunks(Chunker),
    Spots(SpotReader),
    Url(UrlReader),
}

impl Extractor {
    /// An extractor of a kind of features. Its parameters are checked.
    pub fn new(features: Features) -> Result<Extractor> {
        let reader = match features {
            Features::Ids => Reader::Ids,
            Features::Tokens => Reader::Tokens,
            Features::Shingles { words, ends } => {
                Reader::Shingles(ShingleReader::new(words, ends)?)
            }
            Features::Grams { characters, ends } => {
                Reader::Grams(GramReader::new(characters, ends)?)
            }
            Features::Chunks { horizon } => Reader::Chunks(Chunker::new(horizon)?),
            Features::Spots { distance, chain } => Reader::Spots(SpotReader::new(distance, chain)?),
            Features::Url => Reader::Url(UrlReader::new()),
        };
        Ok(Extractor { reader, html: TextReader::new() })
    }

    /// The extractor of a scheme's features.
    pub fn of_scheme(scheme: &Scheme) -> Extractor {
        Extractor::new(scheme.features).expect("a scheme's parameters were checked")
    }

    /// The features of a document, in place of what was in `set`. What a document is depends on the kind: a
    /// text for shingles, grams and spots; a URL; any bytes for chunks; of tokens and ids, a list with white
    /// space between them. Only texts can be HTML.
    pub fn extract(&mut self, document: &[u8], media: Media, set: &mut Vec<u64>) -> Result<()> {
        set.clear();
        let words = || document.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let text = match (&self.reader, media) {
            (Reader::Shingles(_) | Reader::Grams(_) | Reader::Spots(_), Media::Html) => {
                self.html.read(document)
            }
            _ => document,
        };
        match &mut self.reader {
            Reader::Ids => words().try_for_each(|word| id(word).map(|id| set.push(id)))?,
            Reader::Tokens => set.extend(words().map(token)),
            Reader::Shingles(reader) => reader.features_into(text, set),
            Reader::Grams(reader) => reader.features_into(text, set),
            Reader::Spots(reader) => reader.features_into(text, set),
            Reader::Url(reader) => reader.features_into(document.trim_ascii(), set),
            Reader::Chunks(chunker) => {
                // A chunker is for one document; a fresh one is small.
                let mut chunker = chunker.clone();
                let mut keep = |chunk: Chunk<'_>| set.push(chunk.feature());
                chunker.push(document, &mut keep);
                chunker.finish(&mut keep);
            }
        }
        Ok(())
    }
}

fn id(word: &[u8]) -> Result<u64> {
    let digits = std::str::from_utf8(word).ok().filter(|text| !text.starts_with('+'));
    digits.and_then(|text| text.parse().ok()).ok_or_else(|| {
        let shown = &word[..word.len().min(40)];
        Error::invalid(
            format!("id `{}`", shown.escape_ascii()),
            format!("ids are whole numbers from 0 to {}", u64::MAX),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features;
    use crate::scheme::Ends;

    /// The door gives what stands behind it, whatever was extracted before.
    #[test]
    fn every_kind_is_the_function_of_its_name() {
        let text = "It was the best of times, it was the worst of times; http://a.example/b?c=d";
        let bytes = text.as_bytes();
        let looped = Ends::Looped;
        let cases = [
            (Features::Tokens, features::tokens(text.split_whitespace())),
            (Features::TEXT, features::shingles(bytes, 5).unwrap()),
            (
                Features::Shingles { words: 2, ends: Ends::Plain },
                features::plain_shingles(bytes, 2).unwrap(),
            ),
            (Features::Grams { characters: 4, ends: looped }, features::grams(bytes, 4).unwrap()),
            (Features::CHUNKS, features::chunks(bytes, features::DEFAULT_HORIZON).unwrap()),
            (Features::Spots { distance: 1, chain: 2 }, features::spots(bytes, 1, 2).unwrap()),
            (Features::Url, features::url(bytes)),
        ];
        for (kind, expected) in cases {
            let mut extractor = Extractor::new(kind).unwrap();
            let mut set = vec![1, 2, 3];
            extractor.extract(b"something else before", Media::Html, &mut set).unwrap();
            extractor.extract(bytes, Media::Plain, &mut set).unwrap();
            assert_eq!(set, expected, "{kind}");
            assert!(!set.is_empty(), "{kind}");
        }
    }

    #[test]
    fn ids_are_numbers() {
        let mut extractor = Extractor::new(Features::Ids).unwrap();
        let mut set = Vec::new();
        extractor.extract(b" 3 18446744073709551615\n0\t3", Media::Plain, &mut set).unwrap();
        assert_eq!(set, [3, u64::MAX, 0, 3]);
        for wrong in [&b"x"[..], b"-1", b"+1", b"1.5", b"18446744073709551616", b"\xff", b"0x1"] {
            let error = extractor.extract(wrong, Media::Plain, &mut set).unwrap_err();
            assert!(error.to_string().contains("ids are whole numbers"), "{error}");
        }
    }

    #[test]
    fn names_say_what_is_html() {
        for (name, media) in [
            ("a.html", Media::Html),
            ("a.HTM", Media::Html),
            ("x/y.xhtml", Media::Html),
            ("a.txt", Media::Plain),
            ("html", Media::Plain),
            ("a.html.txt", Media::Plain),
        ] {
            assert_eq!(Media::of_path(name), media, "{name}");
        }
    }

    #[test]
    fn parameters_are_checked() {
        for kind in [
            Features::Shingles { words: 0, ends: Ends::Looped },
            Features::Grams { characters: 65, ends: Ends::Plain },
            Features::Chunks { horizon: 1 },
            Features::Spots { distance: 0, chain: 1 },
        ] {
            assert!(Extractor::new(kind).is_err(), "{kind}");
        }
    }
}
