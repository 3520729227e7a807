//! Documents become signatures, by the features that the scheme chose.
//!
//! In: a text, a page or any bytes. Out: features, or the signature of their set. It must not know how features are made:
//! an [`Extractor`] does that. A scheme whose sets are given by the caller has no extractor, and refuses documents.

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
    /// The signature of a text, whose features are those of the scheme: shingles, grams or spots of the text, chunks of its
    /// bytes, or the parts of a URL. A scheme of `tokens` or `ids` has no such features, and refuses with
    /// [`Error::NotDocuments`].
    ///
    /// The [limits](crate::features::Limits) of a document are the default ones.
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

    /// The same for the bytes of a file. Where the scheme's features are made of text, they are read as UTF-8, and what is
    /// not UTF-8 as U+FFFD.
    pub fn sketch_bytes(&self, bytes: &[u8]) -> Result<Signature> {
        self.sketch_document(Document::bytes(bytes))
    }

    /// The same for an HTML page, of which features of text see the visible text only.
    pub fn sketch_html(&self, page: &[u8]) -> Result<Signature> {
        self.sketch_document(Document::html(page))
    }

    pub(crate) fn sketch_document(&self, document: Document<'_>) -> Result<Signature> {
        self.sketch(&self.features_of(document)?)
    }

    /// The features of a document, in their order and with repeats.
    pub(crate) fn features_of(&self, document: Document<'_>) -> Result<Vec<u64>> {
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

/// Refuses schemes whose sets the caller gives.
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
