//! A view of signatures as the words that kernels read.
//!
//! Rows are in row-major order, except that the first planes of all rows precede the others. `first` holds plane 0 of
//! each row, or planes 0 and 1, adjacent, if there are three planes or more. `rest` holds the other planes of each
//! row, or nothing if [only the first](Rows::first_only) are compared. A plane has `W = ceil(k / 64)` words. Bits
//! past sample k are zero in every plane, so they never differ.

use crate::scheme::{self, Scheme};

/// One row in memory anywhere: its first planes, and its other planes.
pub type Row<'a> = (&'a [u64], &'a [u64]);

/// Signatures of one scheme, borrowed.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    samples: u32,
    bits: u8,
    /// Planes of a row in `first`.
    first_planes: u8,
    first: &'a [u64],
    rest: &'a [u64],
}

impl<'a> Rows<'a> {
    /// Rows of a scheme, or `None` if the lengths do not match. Bits past the last sample must be zero, since
    /// differing bits would count as differing samples.
    pub fn new(scheme: &Scheme, first: &'a [u64], rest: &'a [u64]) -> Option<Rows<'a>> {
        let words = scheme.first_words();
        let others = scheme.words_per_signature() - words;
        let rows = first.len() / words;
        let fits = first.len().is_multiple_of(words) && rest.len() == rows * others;
        fits.then(|| Rows::of_whole(scheme, first, rest))
    }

    /// Rows whose lengths are known to match.
    pub(crate) fn of_whole(scheme: &Scheme, first: &'a [u64], rest: &'a [u64]) -> Rows<'a> {
        Rows::of_planes(scheme.samples, scheme.bits, first, rest)
    }

    /// Rows as if samples had fewer bits. The lowest planes are a signature, too. The lengths must match.
    pub(crate) fn of_planes(
        samples: u32,
        planes: u8,
        first: &'a [u64],
        rest: &'a [u64],
    ) -> Rows<'a> {
        Rows { samples, bits: planes, first_planes: scheme::first_planes(planes), first, rest }
    }

    /// k.
    pub fn samples(&self) -> u32 {
        self.samples
    }

    /// b.
    pub fn bits(&self) -> u8 {
        self.bits
    }

    /// The number of planes of a row in [`first`](Rows::first).
    pub fn first_planes(&self) -> u8 {
        self.first_planes
    }

    /// Words of one plane of one row.
    pub fn words(&self) -> usize {
        (self.samples as usize).div_ceil(64)
    }

    /// Words of a row in `first` and in `rest`.
    fn words_of_row(&self) -> (usize, usize) {
        let planes = (usize::from(self.first_planes), usize::from(self.bits));
        (self.words() * planes.0, self.words() * (planes.1 - planes.0))
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.first.len() / self.words_of_row().0
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// The first planes, row by row.
    pub fn first(&self) -> &'a [u64] {
        self.first
    }

    /// The other planes, row by row.
    pub fn rest(&self) -> &'a [u64] {
        self.rest
    }

    /// The same rows as if samples had only the bits of the first planes. Those alone are a signature, too.
    pub fn first_only(&self) -> Rows<'a> {
        Rows { bits: self.first_planes, rest: &[], ..*self }
    }

    /// One row: its words of the first planes, and those of the other planes.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, i: usize) -> Row<'a> {
        let (words, others) = self.words_of_row();
        (&self.first[i * words..][..words], &self.rest[i * others..][..others])
    }

    /// Rows `from..to`, which must exist.
    pub(crate) fn range(&self, from: usize, to: usize) -> Rows<'a> {
        let (words, others) = self.words_of_row();
        Rows {
            first: &self.first[from * words..to * words],
            rest: &self.rest[from * others..to * others],
            ..*self
        }
    }
}
