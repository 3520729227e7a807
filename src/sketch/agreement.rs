//! Counts of equal samples.
//!
//! In: signatures of one scheme. Out: counts, including chance agreements. [`crate::estimate`] knows what the counts
//! mean.

use super::signature::{Signature, Signatures};
use crate::error::Result;
use crate::kernel::Kernel;

/// Rows counted per call in [`Signatures::for_each_count`]. Their counts stay in the L1 cache.
const ROWS_PER_CALL: usize = 1024;

impl Signature {
    /// How many of the k samples agree with those of another signature of the same scheme. The count includes chance
    /// agreements; [`Signature::resemblance`] corrects for them. The samples of an empty set are all zero and mean
    /// nothing.
    pub fn count_equal(&self, other: &Signature) -> Result<u32> {
        self.check_scheme(other.shared_scheme())?;
        let mut count = [0];
        Kernel::best().count_equal(self.rows(), other.rows(), &mut count);
        Ok(u32::from(count[0]))
    }

    /// Which samples agree: bit i of the words stands for sample i.
    pub fn equal_mask(&self, other: &Signature) -> Result<Vec<u64>> {
        self.check_scheme(other.shared_scheme())?;
        let mut mask = vec![0; self.rows().words()];
        Kernel::best().equal_mask(self.rows(), other.rows(), &mut mask);
        Ok(mask)
    }
}

impl Signatures {
    /// How many samples of each row agree with those of `query`. `counts` is resized to the number of rows.
    pub fn count_equal(&self, query: &Signature, counts: &mut Vec<u16>) -> Result<()> {
        query.check_scheme(self.shared_scheme())?;
        counts.clear();
        counts.resize(self.len(), 0);
        Kernel::best().count_equal(query.rows(), self.rows(), counts);
        Ok(())
    }

    /// Calls `visit(row, equal samples)` for every row from `from` on that has at least `least` equal samples with
    /// `query`. The counts of other rows are not stored. Empty sets resemble nothing, so they are not visited, and an
    /// empty query visits no row.
    pub fn for_each_count(
        &self,
        query: &Signature,
        from: usize,
        least: u16,
        mut visit: impl FnMut(usize, u16),
    ) -> Result<()> {
        query.check_scheme(self.shared_scheme())?;
        if query.is_empty() {
            return Ok(());
        }
        let (query, rows, kernel) = (query.rows(), self.rows(), Kernel::best());
        let mut counts = [0; ROWS_PER_CALL];
        for start in (from..rows.len()).step_by(ROWS_PER_CALL) {
            let end = rows.len().min(start + ROWS_PER_CALL);
            let counts = &mut counts[..end - start];
            let next = rows.range(end, rows.len().min(end + ROWS_PER_CALL));
            kernel.count_equal_before(next, query, rows.range(start, end), counts);
            for (row, count) in (start..).zip(counts.iter()) {
                if *count >= least && !self.is_empty_set(row) {
                    visit(row, *count);
                }
            }
        }
        Ok(())
    }
}
