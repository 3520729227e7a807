//! What one document may take: bytes of its normal form, features, and time.
//!
//! In: counts, as the work goes on. Out: leave to go on, or the error that ends it. A few bytes of text can become
//! many (U+FDFA has 3 bytes, and 33 in its normal form), so what a document takes is not known from its length.

use std::fmt;
use std::sync::Arc;

use crate::error::{Error, Result};

/// Limits of one document. The defaults are for documents of up to 64 MiB of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of its text after normalisation, for features that are made of text. Default 256 MiB.
    pub normal_bytes: u64,
    /// Features, with repeats. Default 2^26.
    pub features: u64,
}

impl Limits {
    /// No limits.
    pub const NONE: Limits = Limits { normal_bytes: u64::MAX, features: u64::MAX };

    /// The same with another limit of [normalised text](Limits::normal_bytes).
    #[must_use]
    pub const fn with_normal_bytes(self, normal_bytes: u64) -> Limits {
        Limits { normal_bytes, ..self }
    }

    /// The same with another limit of [features](Limits::features).
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

/// Says whether work should be given up.
#[derive(Clone)]
pub(super) struct Interrupt(pub(super) Arc<dyn Fn() -> bool + Send + Sync>);

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Interrupt")
    }
}

/// Watches over the work on one document.
#[derive(Debug)]
pub(super) struct Watch<'a> {
    limits: Limits,
    interrupt: Option<&'a Interrupt>,
    /// Features that were given away so far.
    taken: u64,
}

impl<'a> Watch<'a> {
    pub(super) fn new(limits: Limits, interrupt: Option<&'a Interrupt>) -> Watch<'a> {
        Watch { limits, interrupt, taken: 0 }
    }

    /// The same limits, for whoever reads the text while features are counted elsewhere.
    pub(super) fn of_text(&self) -> Watch<'a> {
        Watch { ..*self }
    }

    /// Nothing is limited and nothing interrupts.
    pub(super) fn none() -> Watch<'static> {
        Watch::new(Limits::NONE, None)
    }

    /// The text has so many bytes so far. Called every few kilobytes, which take far less than a second.
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

    /// There are so many features beside those that were given away.
    pub(super) fn features(&self, count: usize) -> Result<()> {
        match self.taken.saturating_add(count as u64) > self.limits.features {
            true => {
                let limit = self.limits.features;
                Err(Error::DocumentTooLarge { what: "features", limit })
            }
            false => Ok(()),
        }
    }

    /// So many features are given away.
    pub(super) fn took(&mut self, count: usize) {
        self.taken = self.taken.saturating_add(count as u64);
    }
}

/// Takes some features; an error ends the work.
pub(super) type TakeFeatures<'a> = &'a mut dyn FnMut(&[u64]) -> Result<()>;

/// Where features go, piece by piece.
pub(super) struct Sink<'a> {
    pub(super) watch: Watch<'a>,
    /// Those that were not given away yet.
    pub(super) features: &'a mut Vec<u64>,
    /// Takes them; without it they stay.
    pub(super) take: Option<TakeFeatures<'a>>,
}

impl fmt::Debug for Sink<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sink").field("watch", &self.watch).finish_non_exhaustive()
    }
}

/// Features that are gathered before they are given away.
const GATHERED: usize = 1 << 16;

impl Sink<'_> {
    /// Called after some features were added.
    pub(super) fn added(&mut self) -> Result<()> {
        self.watch.features(self.features.len())?;
        if self.features.len() >= GATHERED { self.give() } else { Ok(()) }
    }

    /// Gives away what there is.
    pub(super) fn give(&mut self) -> Result<()> {
        if let Some(take) = &mut self.take {
            self.watch.took(self.features.len());
            take(self.features)?;
            self.features.clear();
        }
        Ok(())
    }
}
