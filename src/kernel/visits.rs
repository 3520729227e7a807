//! Finds the elements that visit an open bin at a given time (SAMPLE-12).
//!
//! In: the first bin and the order of each element, the step of each order at this time, and the rank of each bin. A
//! bin is open if its rank is high enough. Out: a bit for each element. There are at most 256 bins and orders, so each
//! number is a byte. Where the instruction set allows, the tables are held in registers, and many elements are looked
//! up at a time.

/// Elements per mask.
pub(crate) const VISITS: usize = 32;

/// The elements. Their number is a multiple of [`VISITS`].
#[derive(Clone, Copy)]
pub(crate) struct Visitors<'a> {
    /// The first bin of each element.
    pub(crate) bins: &'a [u8],
    /// The order of each element.
    pub(crate) rows: &'a [u8],
}

/// The state of the bins at one time.
#[derive(Clone, Copy)]
pub(crate) struct Moment<'a> {
    /// The distance of the elements of each order from their first bin. Less than the number of bins.
    pub(crate) steps: &'a [u8; 256],
    /// A rank for each bin, 1 to 256 of them.
    pub(crate) ranks: &'a [u16],
    /// Bins of at least this rank are open.
    pub(crate) least: u16,
}

impl Moment<'_> {
    /// The bin of an element.
    #[inline(always)]
    pub(crate) fn bin(&self, first: u8, row: u8) -> usize {
        let bin = usize::from(first) + usize::from(self.steps[usize::from(row)]);
        let bins = self.ranks.len();
        if bin >= bins { bin - bins } else { bin }
    }
}

/// The portable loop.
pub(super) fn portable(visitors: Visitors<'_>, moment: Moment<'_>, masks: &mut [u32]) {
    let bins = visitors.bins.as_chunks::<VISITS>().0;
    let rows = visitors.rows.as_chunks::<VISITS>().0;
    for (mask, (bins, rows)) in masks.iter_mut().zip(bins.iter().zip(rows)) {
        *mask = 0;
        for (i, (bin, row)) in bins.iter().zip(rows).enumerate() {
            let rank = moment.ranks.get(moment.bin(*bin, *row));
            *mask |= u32::from(rank.is_some_and(|rank| *rank >= moment.least)) << i;
        }
    }
}
