//! A view of signatures as the words that kernels read.
//!
//! Row-major except that plane 0 of all rows stands first: `first` holds `W` words a row, `rest` the
//! other `b - 1` planes of each row, `W` words a plane, with `W = ceil(k / 64)`. Bits past sample k are
//! zero in every plane, so they never differ.

use crate::scheme::Scheme;

/// One row that lies anywhere: plane 0, and the other planes one after the other.
pub type Row<'a> = (&'a [u64], &'a [u64]);

/// Signatures of one scheme, borrowed.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    samples: u32,
    bits: u8,
    first: &'a [u64],
    rest: &'a [u64],
}

impl<'a> Rows<'a> {
    /// Rows of a scheme, or `None` when the lengths do not fit each other. Bits past the last sample must
    /// be zero: those that differ would count as samples that differ.
    pub fn new(scheme: &Scheme, first: &'a [u64], rest: &'a [u64]) -> Option<Rows<'a>> {
        let words = scheme.words_per_plane();
        let others = scheme.words_per_signature() - words;
        let rows = first.len() / words;
        let fits = first.len().is_multiple_of(words) && rest.len() == rows * others;
        fits.then(|| Rows::of_whole(scheme, first, rest))
    }

    /// Rows whose lengths are known to fit.
    pub(crate) fn of_whole(scheme: &Scheme, first: &'a [u64], rest: &'a [u64]) -> Rows<'a> {
        Rows { samples: scheme.samples, bits: scheme.bits, first, rest }
    }

    /// k.
    pub fn samples(&self) -> u32 {
        self.samples
    }

    /// b.
    pub fn bits(&self) -> u8 {
        self.bits
    }

    /// Words of one plane of one row.
    pub fn words(&self) -> usize {
        (self.samples as usize).div_ceil(64)
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.first.len() / self.words()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// Plane 0 of all rows.
    pub fn first(&self) -> &'a [u64] {
        self.first
    }

    /// The other planes, row by row.
    pub fn rest(&self) -> &'a [u64] {
        self.rest
    }

    /// The same rows as if samples had one bit: plane 0 alone is a signature, too.
    pub fn plane_0(&self) -> Rows<'a> {
        Rows { bits: 1, rest: &[], ..*self }
    }

    /// Rows as if samples had fewer bits: the lowest planes are a signature, too. The lengths must fit each
    /// other.
    pub(crate) fn of_planes(
        samples: u32,
        planes: u8,
        first: &'a [u64],
        rest: &'a [u64],
    ) -> Rows<'a> {
        Rows { samples, bits: planes, first, rest }
    }

    /// One row: its words of plane 0, and those of the other planes.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn row(&self, i: usize) -> Row<'a> {
        let (words, others) = (self.words(), self.words() * (usize::from(self.bits) - 1));
        (&self.first[i * words..][..words], &self.rest[i * others..][..others])
    }

    /// Rows `from..to`, which must lie inside.
    pub(crate) fn range(&self, from: usize, to: usize) -> Rows<'a> {
        let (words, others) = (self.words(), self.words() * (usize::from(self.bits) - 1));
        Rows {
            first: &self.first[from * words..to * words],
            rest: &self.rest[from * others..to * others],
            ..*self
        }
    }
}
