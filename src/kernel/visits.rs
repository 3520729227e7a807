//! Which elements go to a bin that is still open.
//!
//! In: the first bin and the order of each element as bytes, how far each of 256 orders has come, and the ranks of at
//! most 256 bins, which say which are open. Out: a bit for each element. Where the instruction set allows, tables of
//! 256 bytes are looked up in registers, many elements at a time.

/// Elements per mask.
pub(crate) const VISITS: usize = 32;

/// Elements that move through at most 256 bins, padded to whole masks.
#[derive(Clone, Copy)]
pub(crate) struct Visitors<'a> {
    /// The first bin of each.
    pub(crate) bins: &'a [u8],
    /// The number of the order of each.
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
