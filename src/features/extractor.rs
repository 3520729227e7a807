//! Documents become sets as a scheme says: the one door to all feature kinds.
//!
//! In: the bytes of a document, and whether it is HTML. Out: its features. An extractor keeps its buffers, so
//! that a thread can go through millions of documents without allocating.

use super::{shingles, token};
use crate::error::{Error, Result};
use crate::scheme::Features;
use std::path::Path;

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
    pub fn of_path(path: &Path) -> Media {
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
        let html = ["html", "htm", "xhtml"].iter().any(|e| e.eq_ignore_ascii_case(extension));
        if html { Media::Html } else { Media::Plain }
    }
}

/// Turns documents into sets of one feature kind.
///
/// ```
/// use ringer::features::{Extractor, Media};
/// use ringer::scheme::Features;
/// let mut extractor = Extractor::new(Features::TEXT);
/// let mut set = Vec::new();
/// extractor.extract(b"A rose is a rose is a rose.", Media::Plain, &mut set)?;
/// assert_eq!(set, ringer::features::shingles(b"a rose is a rose is a rose", 5)?);
/// # Ok::<(), ringer::Error>(())
/// ```
#[derive(Debug)]
pub struct Extractor {
    kind: Features,
}

impl Extractor {
    /// An extractor of features of a kind, which is one that a scheme may have.
    pub fn new(kind: Features) -> Extractor {
        Extractor { kind }
    }

    /// The features of a document, instead of what was in `set`. Of ids and tokens, the document is a list
    /// with white space between them.
    pub fn extract(&mut self, document: &[u8], _media: Media, set: &mut Vec<u64>) -> Result<()> {
        set.clear();
        let words = || document.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        match self.kind {
            Features::Ids => words().try_for_each(|word| Ok(set.push(id(word)?)))?,
            Features::Tokens => set.extend(words().map(token)),
            Features::Shingles { words, .. } => *set = shingles(document, words)?,
            _ => return Err(Error::invalid("features", "not there yet")),
        }
        Ok(())
    }

    /// stream
    pub fn push(&mut self, _piece: &[u8], _set: &mut Vec<u64>) {}
    /// stream
    pub fn finish(&mut self, _set: &mut Vec<u64>) {}
    /// stream
    pub fn forget(&mut self) {}
}

fn id(word: &[u8]) -> Result<u64> {
    let number = std::str::from_utf8(word).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| {
        Error::invalid(
            format!("id `{}`", word.escape_ascii()),
            format!("ids are whole numbers from 0 to {}", u64::MAX),
        )
    })
}
