//! How many samples agree.
//!
//! In: signatures as bit planes ([`Rows`]). Out: counts of equal samples, and masks of which. Equality
//! of b-bit samples is XOR, OR over the planes, and a count of bits: one loop for every b. The same
//! loop is written once for every machine ([`portable`]) and again for each instruction set that does
//! it faster; all give the same numbers. This is the only folder with unsafe code, and what little
//! there is, is loads and stores of whole arrays.
//!
//! What the counts mean is no business of this folder: see [`crate::estimate`].

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod dispatch;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;

pub use crate::sketch::Rows;
pub use dispatch::Kernel;

use crate::error::Result;
use crate::sketch::{Signature, Signatures};

/// Rows counted in one go by [`Signatures::for_each_count`]: their counts stay in the fastest cache.
const ROWS_PER_CALL: usize = 1024;

impl Signature {
    /// How many of the k samples agree with those of another signature of the same scheme. Chance
    /// agreements are counted too; [`Signature::resemblance`] takes them out.
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
    /// How many samples of each row agree with those of `query`, into `counts`, which is made as long
    /// as there are rows.
    pub fn count_equal(&self, query: &Signature, counts: &mut Vec<u16>) -> Result<()> {
        query.check_scheme(self.shared_scheme())?;
        counts.clear();
        counts.resize(self.len(), 0);
        Kernel::best().count_equal(query.rows(), self.rows(), counts);
        Ok(())
    }

    /// Calls `visit(row, equal samples)` for every row from `from` on that has at least `least` equal
    /// samples with `query`, without storing the counts of the others.
    pub fn for_each_count(
        &self,
        query: &Signature,
        from: usize,
        least: u16,
        mut visit: impl FnMut(usize, u16),
    ) -> Result<()> {
        query.check_scheme(self.shared_scheme())?;
        let (query, rows, kernel) = (query.rows(), self.rows(), Kernel::best());
        let mut counts = [0; ROWS_PER_CALL];
        for start in (from..rows.len()).step_by(ROWS_PER_CALL) {
            let end = rows.len().min(start + ROWS_PER_CALL);
            let counts = &mut counts[..end - start];
            kernel.count_equal(query, rows.range(start, end), counts);
            for (i, count) in counts.iter().enumerate().filter(|(_, count)| **count >= least) {
                visit(start + i, *count);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
