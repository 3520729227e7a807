//! Limits on one document: the bytes of its normalised text, its features, and interruption.
//!
//! In: counts, as the work goes on. Out: `Ok`, or the error that ends the work. A few bytes of text can become
//! many: U+FDFA has 3 bytes, and 33 in its normal form. So the length of a document does not bound the work.

use std::fmt;
use std::sync::Arc;

use crate::error::{Error, Result};

/// The limits of one document. The defaults suit documents of up to 64 MiB of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The most bytes of normalised text, for features of text. Default 256 MiB.
    pub normal_bytes: u64,
    /// The most features, with repeats. Default 2^26.
    pub features: u64,
}

impl Limits {
    /// No limits.
    pub const NONE: Limits = Limits { normal_bytes: u64::MAX, features: u64::MAX };

    /// Replaces the limit on [normalised text](Limits::normal_bytes).
    #[must_use]
    pub const fn with_normal_bytes(self, normal_bytes: u64) -> Limits {
        Limits { normal_bytes, ..self }
    }

    /// Replaces the limit on [features](Limits::features).
    #[must_use]
    pub const fn with_features(self, features: u64) -> Limits {
        Limits { features, ..self }
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { normal_bytes: 256 << 20, features: 1 << 26 }
    }
}

/// A callback that returns true if the work should stop.
#[derive(Clone)]
pub(super) struct Interrupt(pub(super) Arc<dyn Fn() -> bool + Send + Sync>);

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Interrupt")
    }
}

/// Checks the limits during the work on one document.
#[derive(Debug)]
pub(super) struct Watch<'a> {
    limits: Limits,
    interrupt: Option<&'a Interrupt>,
    /// The number of features handed out so far.
    taken: u64,
}

impl<'a> Watch<'a> {
    pub(super) fn new(limits: Limits, interrupt: Option<&'a Interrupt>) -> Watch<'a> {
        Watch { limits, interrupt, taken: 0 }
    }

    /// A second watch with the same limits, for the reader of the text. Features are counted in the first one.
    pub(super) fn of_text(&self) -> Watch<'a> {
        Watch { ..*self }
    }

    /// A watch without limits or interruption.
    pub(super) fn none() -> Watch<'static> {
        Watch::new(Limits::NONE, None)
    }

    /// Checks the bytes of text so far, and the interrupt. It is called every few kilobytes, so the delay is short.
    pub(super) fn at(&self, normal_bytes: usize) -> Result<()> {
        if normal_bytes as u64 > self.limits.normal_bytes {
            let limit = self.limits.normal_bytes;
            return Err(Error::DocumentTooLarge { what: "bytes of normalised text", limit });
        }
        match self.interrupt {
            Some(Interrupt(asked)) if asked() => Err(Error::Interrupted),
            _ => Ok(()),
        }
    }

    /// Checks the number of features: `count` and those already handed out.
    pub(super) fn features(&self, count: usize) -> Result<()> {
        match self.taken.saturating_add(count as u64) > self.limits.features {
            true => {
                let limit = self.limits.features;
                Err(Error::DocumentTooLarge { what: "features", limit })
            }
            false => Ok(()),
        }
    }

    /// Records that `count` features were handed out.
    pub(super) fn took(&mut self, count: usize) {
        self.taken = self.taken.saturating_add(count as u64);
    }
}

/// Takes features. An error ends the work.
pub(super) type TakeFeatures<'a> = &'a mut dyn FnMut(&[u64]) -> Result<()>;

/// Collects features and hands them out in pieces.
pub(super) struct Sink<'a> {
    pub(super) watch: Watch<'a>,
    /// The features not handed out yet.
    pub(super) features: &'a mut Vec<u64>,
    /// Takes the features. Without it they stay in `features`.
    pub(super) take: Option<TakeFeatures<'a>>,
}

impl fmt::Debug for Sink<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sink").field("watch", &self.watch).finish_non_exhaustive()
    }
}

/// The number of features collected before they are handed out.
const GATHERED: usize = 1 << 16;

impl Sink<'_> {
    /// Checks the limits after features were added, and hands them out if there are enough.
    pub(super) fn added(&mut self) -> Result<()> {
        self.watch.features(self.features.len())?;
        if self.features.len() >= GATHERED { self.give() } else { Ok(()) }
    }

    /// Hands out the collected features.
    pub(super) fn give(&mut self) -> Result<()> {
        if let Some(take) = &mut self.take {
            self.watch.took(self.features.len());
            take(self.features)?;
            self.features.clear();
        }
        Ok(())
    }
}
