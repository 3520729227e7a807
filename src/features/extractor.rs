//! The common entry point to all kinds of features, chosen by the scheme.
//!
//! In: the bytes of a document, and whether it is HTML. Out: its features. An extractor keeps its buffers, so a
//! thread can process millions of documents without allocating. The rules of each kind are in its own module.

use std::path::Path;
use std::sync::Arc;

use super::html::{Parts, TextReader};
use super::limits::{Interrupt, Limits, Sink, Watch};
use super::{Chunk, Chunker, GramReader, ShingleReader, SpotReader, UrlReader, Weighting, token};
use crate::error::{Error, Result};
use crate::scheme::{Features, Scheme};

/// The media type of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Media {
    /// Plain text.
    #[default]
    Plain,
    /// HTML, of which only the visible text counts.
    Html,
}

impl Media {
    /// Guesses from a file name: `.html`, `.htm` and `.xhtml` are HTML.
    pub fn of_path(path: impl AsRef<Path>) -> Media {
        let extension = path.as_ref().extension().and_then(|e| e.to_str()).unwrap_or("");
        let html = ["html", "htm", "xhtml"].iter().any(|e| e.eq_ignore_ascii_case(extension));
        if html { Media::Html } else { Media::Plain }
    }
}

/// Extracts sets from documents as the features of a scheme define.
///
/// ```
/// use ringer::Sketcher;
/// use ringer::features::{Extractor, Media};
/// use ringer::scheme::{Features, Scheme, presets};
///
/// let scheme = Scheme::new(presets::NEAR_DUPLICATE.with_features(Features::TEXT))?;
/// let (mut extractor, sketcher) = (Extractor::of_scheme(&scheme), Sketcher::new(&scheme));
/// let (mut plain, mut page) = (Vec::new(), Vec::new());
/// extractor.extract(b"A rose is a rose is a rose.", Media::Plain, &mut plain)?;
/// extractor.extract(b"<p>A <b>rose</b> is a rose<p>is a rose", Media::Html, &mut page)?;
/// assert_eq!(sketcher.sketch(&plain)?, sketcher.sketch(&page)?);
/// # Ok::<(), ringer::Error>(())
/// ```
///
/// # Memory
///
/// [`Limits`] bound the normalised text of a document and the number of its features. A document that exceeds them
/// is [`Error::DocumentTooLarge`]. Within the limits, extraction takes at most 128 bytes of memory for each byte of
/// the document, plus 2 MiB. The worst case is a text of U+FDFA, with 6 features per byte.
///
/// [`extract_each`](Extractor::extract_each) hands features out while it reads the document. For shingles, grams
/// and chunks it then takes 4 bytes for each byte of the document, plus 2 MiB, if the text has white space now and
/// then.
#[derive(Debug)]
pub struct Extractor {
    reader: Reader,
    html: TextReader,
    limits: Limits,
    interrupt: Option<Interrupt>,
    /// Features that were not handed out yet.
    some: Vec<u64>,
}

/// The reader of one kind of features.
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
    /// Makes an extractor for a kind of features and checks its parameters.
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
        let (html, limits) = (TextReader::new(), Limits::default());
        Ok(Extractor { reader, html, limits, interrupt: None, some: Vec::new() })
    }

    /// Replaces the limits of one document.
    ///
    /// ```
    /// use ringer::Error;
    /// use ringer::features::{Extractor, Limits, Media};
    /// use ringer::scheme::Features;
    ///
    /// let limits = Limits::default().with_features(3);
    /// let mut extractor = Extractor::new(Features::Tokens)?.limited(limits);
    /// let mut set = Vec::new();
    /// extractor.extract(b"one two three", Media::Plain, &mut set)?;
    /// let error = extractor.extract(b"one two three four", Media::Plain, &mut set).unwrap_err();
    /// assert!(matches!(error, Error::DocumentTooLarge { what: "features", limit: 3 }));
    /// # Ok::<(), ringer::Error>(())
    /// ```
    #[must_use]
    pub fn limited(self, limits: Limits) -> Extractor {
        Extractor { limits, ..self }
    }

    /// Makes extraction stop with [`Error::Interrupted`] when `asked` returns true. The extracting thread calls it
    /// every few kilobytes.
    #[must_use]
    pub fn interrupted_by(
        self,
        interrupted: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Extractor {
        Extractor { interrupt: Some(Interrupt(Arc::new(interrupted))), ..self }
    }

    /// Makes the extractor of a scheme.
    pub fn of_scheme(scheme: &Scheme) -> Extractor {
        Extractor::new(scheme.features).expect("a scheme's parameters were checked")
    }

    /// Replaces the content of `set` by the features of a document. A document is a text for shingles, grams and
    /// spots, any bytes for chunks, and a list separated by white space for tokens, ids and URLs.
    /// Only texts can be HTML.
    pub fn extract(&mut self, document: &[u8], media: Media, set: &mut Vec<u64>) -> Result<()> {
        set.clear();
        let watch = Watch::new(self.limits, self.interrupt.as_ref());
        let mut sink = Sink { watch, features: set, take: None };
        read(&mut self.reader, &mut self.html, document, media, &mut sink)
    }

    /// Hands features to `take` in pieces, in the order of the document and with repeats. Use it if a document may
    /// have more features than should be in memory at once. An error of `take` ends the extraction.
    pub fn extract_each(
        &mut self,
        document: &[u8],
        media: Media,
        take: &mut dyn FnMut(&[u64]) -> Result<()>,
    ) -> Result<()> {
        self.some.clear();
        let watch = Watch::new(self.limits, self.interrupt.as_ref());
        let mut sink = Sink { watch, features: &mut self.some, take: Some(take) };
        read(&mut self.reader, &mut self.html, document, media, &mut sink)?;
        sink.give()
    }
}

impl Extractor {
    /// Replaces the content of `weighted` by the features of a document with their weights, each once and in ascending order.
    /// See [`Weighting`]. The parts of an HTML page count for shingles, grams and spots. The features of its title and
    /// headings count towards the limit of features, too. This takes up to 32 bytes of memory for each feature more than
    /// [`extract`](Extractor::extract).
    pub fn extract_weighted(
        &mut self,
        document: &[u8],
        media: Media,
        weighting: &Weighting,
        weighted: &mut Vec<(u64, f64)>,
    ) -> Result<()> {
        weighted.clear();
        let Extractor { reader, html, limits, interrupt, some } = self;
        let watch = || Watch::new(*limits, interrupt.as_ref());
        let mut add = |reader: &mut Reader, text: &[u8], weight: f64| {
            some.clear();
            let mut watch = watch();
            watch.took(weighted.len());
            let mut sink = Sink { watch, features: some, take: None };
            read_text(reader, text, &mut sink)?;
            weighted.extend(some.iter().map(|feature| (*feature, weight)));
            Ok(())
        };
        if media == Media::Plain || !reader.takes_text() {
            add(reader, document, 1.0)?;
        } else {
            let (text, Parts { title, headings }) = html.read_parts(document, &watch())?;
            add(reader, text, 1.0)?;
            if let Some(at) = title.clone().filter(|_| weighting.title() > 1.0) {
                add(reader, &text[at], weighting.title() - 1.0)?;
            }
            if weighting.headings() > 1.0 {
                for at in headings {
                    add(reader, &text[at.clone()], weighting.headings() - 1.0)?;
                }
            }
        }
        weighting.finish(weighted);
        Ok(())
    }
}

/// The bytes of chunked files or lists that are read between two checks of the limits.
const PIECE: usize = 1 << 18;

/// Extracts the features of a document.
fn read(
    reader: &mut Reader,
    html: &mut TextReader,
    document: &[u8],
    media: Media,
    sink: &mut Sink<'_>,
) -> Result<()> {
    let text = match media {
        Media::Html if reader.takes_text() => html.read_watched(document, &sink.watch)?,
        Media::Html | Media::Plain => document,
    };
    read_text(reader, text, sink)
}

impl Reader {
    /// Whether documents are texts, which can be HTML.
    fn takes_text(&self) -> bool {
        match self {
            Reader::Shingles(_) | Reader::Grams(_) | Reader::Spots(_) => true,
            Reader::Ids | Reader::Tokens | Reader::Url(_) | Reader::Chunks(_) => false,
        }
    }
}

/// Extracts the features of a document that is not HTML.
fn read_text(reader: &mut Reader, text: &[u8], sink: &mut Sink<'_>) -> Result<()> {
    match reader {
        Reader::Ids => read_list(text, sink, id),
        Reader::Tokens => read_list(text, sink, |word| Ok(token(word))),
        Reader::Shingles(reader) => reader.read_into(text, sink),
        Reader::Grams(reader) => reader.read_into(text, sink),
        Reader::Spots(reader) => reader.read_into(text, sink),
        Reader::Url(reader) => {
            let mut urls = text.split(u8::is_ascii_whitespace).filter(|url| !url.is_empty());
            urls.try_for_each(|url| reader.read_into(url, sink))
        }
        // A chunker reads one document only. Cloning a fresh one is cheap.
        Reader::Chunks(chunker) => read_chunks(chunker.clone(), text, sink),
    }
}

/// Reads elements separated by white space.
fn read_list(
    list: &[u8],
    sink: &mut Sink<'_>,
    feature: impl Fn(&[u8]) -> Result<u64>,
) -> Result<()> {
    let words = list.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let mut read = 0;
    sink.watch.at(0)?;
    for word in words {
        sink.features.push(feature(word)?);
        sink.added()?;
        read += word.len() + 1;
        if read >= PIECE {
            read = 0;
            sink.watch.at(0)?;
        }
    }
    Ok(())
}

fn read_chunks(mut chunker: Chunker, bytes: &[u8], sink: &mut Sink<'_>) -> Result<()> {
    for piece in bytes.chunks(PIECE) {
        sink.watch.at(0)?;
        chunker.push(piece, &mut |chunk: Chunk<'_>| sink.features.push(chunk.feature()));
        sink.added()?;
    }
    chunker.finish(&mut |chunk: Chunk<'_>| sink.features.push(chunk.feature()));
    sink.added()
}

fn id(word: &[u8]) -> Result<u64> {
    let digits = std::str::from_utf8(word).ok().filter(|text| !text.starts_with('+'));
    digits.and_then(|text| text.parse().ok()).ok_or_else(|| {
        let shown = &word[..word.len().min(40)];
        Error::invalid(
            format!("id `{}`", shown.escape_ascii()),
            "this scheme takes sets of numbers below 2^64; for words, use the features tokens",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features;
    use crate::scheme::Ends;

    /// An extractor gives the features of the function of its kind, whatever was extracted before.
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
            (
                Features::Url,
                text.split(' ').flat_map(|url| features::url(url.as_bytes())).collect(),
            ),
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

    /// Weights are those of the formula, evaluated feature by feature on texts that were cut by hand.
    #[test]
    fn parts_of_a_page_have_weights() {
        use crate::features::DocumentFrequencies;
        let page = b"<title>A b c</title><h1>A b</h1>a b c d<h2>C d e</h2>b c<h3></h3>".as_slice();
        let (text, title, headings) = ("a b c a b a b c d c d e b c", "a b c", ["a b", "c d e"]);
        for kind in [
            Features::Shingles { words: 2, ends: Ends::Looped },
            Features::Shingles { words: 3, ends: Ends::Plain },
            Features::Grams { characters: 2, ends: Ends::Looped },
        ] {
            let mut extractor = Extractor::new(kind).unwrap();
            let mut of = |text: &str| {
                let mut set = Vec::new();
                extractor.extract(text.as_bytes(), Media::Plain, &mut set).unwrap();
                set
            };
            let (all, title, headings) = (of(text), of(title), headings.map(&mut of).concat());
            let counts = [(title[0], 3), (all[1], 1), (7, 4)];
            let frequencies = DocumentFrequencies::from_counts(4, counts).unwrap();
            for (t, h) in [(1.0, 1.0), (4.5, 1.0), (1.0, 2.0), (6.0, 2.25)] {
                let weighting = Weighting::new().with_frequencies(frequencies.clone());
                let weighting = weighting.with_title(t).unwrap().with_headings(h).unwrap();
                let count = |set: &[u64], x| set.iter().filter(|y| **y == x).count() as f64;
                let mut expected: Vec<u64> = all.clone();
                expected.extend(title.iter().filter(|_| t > 1.0));
                expected.extend(headings.iter().filter(|_| h > 1.0));
                expected.sort_unstable();
                expected.dedup();
                let mut found = vec![(1, 2.0)];
                extractor.extract_weighted(page, Media::Html, &weighting, &mut found).unwrap();
                assert_eq!(
                    found.iter().map(|(x, _)| *x).collect::<Vec<_>>(),
                    expected,
                    "{kind} {t} {h}"
                );
                for (x, weight) in found {
                    let tf = count(&all, x)
                        + (t - 1.0) * count(&title, x)
                        + (h - 1.0) * count(&headings, x);
                    let df = counts.iter().find(|(y, _)| *y == x).map_or(0.0, |(_, df)| *df as f64);
                    let right = tf * (1.0 + (5.0 / (1.0 + df)).ln());
                    assert!((weight - right).abs() < 1e-12, "{kind} {t} {h}: {weight} {right}");
                }
            }
            let weighting = Weighting::new().with_title(9.0).unwrap();
            let mut found = Vec::new();
            extractor
                .extract_weighted(text.as_bytes(), Media::Plain, &weighting, &mut found)
                .unwrap();
            assert_eq!(found, DocumentFrequencies::new().weigh(&all), "plain text has no title");
        }
    }

    #[test]
    fn the_features_of_parts_count_towards_the_limit() {
        let weighting = Weighting::new().with_title(2.0).unwrap();
        let mut found = Vec::new();
        let mut extract = |limit| {
            let limits = Limits::default().with_features(limit);
            let mut extractor = Extractor::new(Features::TEXT).unwrap().limited(limits);
            extractor.extract_weighted(
                b"<title>a b</title>c d",
                Media::Html,
                &weighting,
                &mut found,
            )
        };
        assert_eq!(extract(6), Ok(()));
        assert_eq!(extract(5), Err(Error::DocumentTooLarge { what: "features", limit: 5 }));
    }

    #[test]
    fn ids_are_numbers() {
        let mut extractor = Extractor::new(Features::Ids).unwrap();
        let mut set = Vec::new();
        extractor.extract(b" 3 18446744073709551615\n0\t3", Media::Plain, &mut set).unwrap();
        assert_eq!(set, [3, u64::MAX, 0, 3]);
        for wrong in [&b"x"[..], b"-1", b"+1", b"1.5", b"18446744073709551616", b"\xff", b"0x1"] {
            let error = extractor.extract(wrong, Media::Plain, &mut set).unwrap_err();
            assert!(error.to_string().contains("sets of numbers below 2^64"), "{error}");
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
