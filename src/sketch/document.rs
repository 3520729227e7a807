//! From documents to signatures, by the features of the scheme.
//!
//! In: a text, an HTML page or bytes. Out: features, or the signature of their set. An [`Extractor`] makes the
//! features; this file must not know how. Schemes whose sets are given by the caller have no extractor and reject
//! documents.

use std::cell::Cell;

use super::signature::Signature;
use super::sketcher::Sketcher;
use crate::error::{Error, Result};
use crate::features::{Extractor, Media};
use crate::scheme::{Features, Scheme};

/// Longer documents get an extractor of their own, so that no thread keeps large buffers.
const MAX_KEPT_BYTES: usize = 1 << 16;

thread_local! {
    /// The extractor of the last documents of this thread.
    static KEPT: Cell<Option<(Features, Box<Extractor>)>> = const { Cell::new(None) };
}

/// A document as the caller has it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Document<'a> {
    bytes: &'a [u8],
    media: Media,
}

impl<'a> Document<'a> {
    pub(crate) fn text(text: &'a str) -> Document<'a> {
        Document::bytes(text.as_bytes())
    }

    pub(crate) fn bytes(bytes: &'a [u8]) -> Document<'a> {
        Document { bytes, media: Media::Plain }
    }

    pub(crate) fn html(page: &'a [u8]) -> Document<'a> {
        Document { bytes: page, media: Media::Html }
    }
}

impl Sketcher {
    /// The signature of a text. Its features are those of the scheme: shingles, grams or spots of the text, chunks of
    /// its bytes, or the parts of its URLs. A scheme of `tokens` or `ids` has no features of documents and returns
    /// [`Error::NotDocuments`].
    ///
    /// Documents have the default [limits](crate::features::Limits).
    ///
    /// ```
    /// use ringer::{Scheme, Sketcher, features};
    /// let sketcher = Sketcher::new(&Scheme::default());
    /// let text = "A rose is a rose is a rose.";
    /// let shingles = features::shingles(text.as_bytes(), 5)?;
    /// assert_eq!(sketcher.sketch_text(text)?, sketcher.sketch(&shingles)?);
    /// # Ok::<(), ringer::Error>(())
    /// ```
    pub fn sketch_text(&self, text: &str) -> Result<Signature> {
        self.sketch_document(Document::text(text))
    }

    /// The signature of the bytes of a file. Features of text read them as UTF-8, with U+FFFD for invalid bytes.
    pub fn sketch_bytes(&self, bytes: &[u8]) -> Result<Signature> {
        self.sketch_document(Document::bytes(bytes))
    }

    /// The signature of an HTML page. Features of text see only the visible text.
    pub fn sketch_html(&self, page: &[u8]) -> Result<Signature> {
        self.sketch_document(Document::html(page))
    }

    pub(crate) fn sketch_document(&self, document: Document<'_>) -> Result<Signature> {
        self.sketch(&self.features_of(document)?)
    }

    /// The features of a document, in order and with repeats.
    pub(crate) fn features_of(&self, document: Document<'_>) -> Result<Vec<u64>> {
        self.check_sketches()?;
        let scheme = self.scheme();
        check_documents(scheme)?;
        let kept = KEPT.take().filter(|(features, _)| *features == scheme.features);
        let mut extractor =
            kept.map_or_else(|| Box::new(Extractor::of_scheme(scheme)), |(_, extractor)| extractor);
        let mut set = Vec::new();
        let extracted = extractor.extract(document.bytes, document.media, &mut set);
        if document.bytes.len() <= MAX_KEPT_BYTES {
            KEPT.set(Some((scheme.features, extractor)));
        }
        extracted.map(|()| set)
    }
}

/// Rejects documents if the caller gives the sets of this scheme.
fn check_documents(scheme: &Scheme) -> Result<()> {
    let features = scheme.features;
    let instead = match features {
        Features::Ids => "give the numbers to `put` or `Like::Features`",
        Features::Tokens => {
            "hash the words with `features::tokens`, and give that to `put` or `Like::Features`"
        }
        Features::Shingles { .. }
        | Features::Grams { .. }
        | Features::Chunks { .. }
        | Features::Spots { .. }
        | Features::Url => return Ok(()),
    };
    Err(Error::NotDocuments { features, instead })
}
