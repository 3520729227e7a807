//! Selection of the kernel for this machine.
//!
//! In: what the processor supports. Out: a [`Kernel`]. The variant of an instruction set can only be constructed
//! after asking the processor, so holding one proves that its instructions may be used.

use std::sync::LazyLock;

use super::early::{self, FOUND, HASHES};
use super::least::{self, LANES, Least};
#[cfg(target_arch = "aarch64")]
use super::neon::Neon;
use super::visits::{self, Moment, VISITS, Visitors};
use super::{BLOCK, Row, Rows, portable};
#[cfg(target_arch = "x86_64")]
use super::{avx2::Avx2, avx512::Avx512};

/// A set of implementations of all loops. All give the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kernel(Chosen);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chosen {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
    #[cfg(target_arch = "aarch64")]
    Neon(Neon),
}

/// A loop of another module that [`Kernel::run`] compiles for each instruction set. This only affects code that is
/// inlined into it, so `run` and everything it calls must be `#[inline(always)]`.
pub(crate) trait Work {
    type Done;
    fn run(self) -> Self::Done;
}

static BEST: LazyLock<Kernel> =
    LazyLock::new(|| Kernel::available().pop().unwrap_or(Kernel(Chosen::Portable)));

impl Kernel {
    /// The fastest kernel of this machine, determined once.
    pub fn best() -> Kernel {
        *BEST
    }

    /// All kernels that this machine can run, slowest first.
    pub fn available() -> Vec<Kernel> {
        let all = [
            Some(Chosen::Portable),
            #[cfg(target_arch = "x86_64")]
            Avx2::new().map(Chosen::Avx2),
            #[cfg(target_arch = "x86_64")]
            Avx512::new().map(Chosen::Avx512),
            #[cfg(target_arch = "aarch64")]
            Neon::new().map(Chosen::Neon),
        ];
        all.into_iter().flatten().map(Kernel).collect()
    }

    /// Whether [`Kernel::run`] has vectors of four words or more.
    pub(crate) fn is_wide(self) -> bool {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx2(_) | Chosen::Avx512(_) => true,
            _ => false,
        }
    }

    /// The name of the instruction set.
    #[cfg(any(test, feature = "internals"))]
    pub fn name(self) -> &'static str {
        match self.0 {
            Chosen::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx512(_) => "avx512",
            #[cfg(target_arch = "aarch64")]
            Chosen::Neon(_) => "neon",
        }
    }

    /// Counts, for each row, the samples that equal those of `query`, which is one row.
    ///
    /// # Panics
    /// When `query` is not one row, `counts` is not as long as there are rows, or the shapes differ.
    pub fn count_equal(self, query: Rows<'_>, rows: Rows<'_>, counts: &mut [u16]) {
        self.count_equal_before(rows.range(rows.len(), rows.len()), query, rows, counts);
    }

    /// The same, and prefetches the start of the rows that are counted next, which may be elsewhere. With few planes
    /// the loop is bound by memory.
    ///
    /// # Panics
    /// As `count_equal` does. The next rows may have any shape.
    pub fn count_equal_before(
        self,
        next: Rows<'_>,
        query: Rows<'_>,
        rows: Rows<'_>,
        counts: &mut [u16],
    ) {
        assert_same_shape(query, rows);
        assert_eq!(rows.len(), counts.len(), "one count a row");
        #[cfg(not(target_arch = "x86_64"))]
        let _ = next;
        match self.0 {
            Chosen::Portable => portable::count_equal(query, rows, counts),
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx2(kernel) => kernel.count_equal(query, rows, next, counts),
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx512(kernel) => kernel.count_equal(query, rows, counts),
            #[cfg(target_arch = "aarch64")]
            Chosen::Neon(kernel) => kernel.count_equal(query, rows, counts),
        }
    }

    /// Counts the samples that equal those of `query`, which is one row, for rows that are not adjacent.
    ///
    /// # Panics
    /// If `query` is not one row, a row has another length, or `counts` is not as long as `rows`.
    pub fn count_equal_each<'r>(
        self,
        query: Rows<'_>,
        rows: impl ExactSizeIterator<Item = Row<'r>> + Clone,
        counts: &mut [u16],
    ) {
        assert_eq!(query.len(), 1, "the query is one row");
        assert_eq!(rows.len(), counts.len(), "one count a row");
        let shape = (query.first().len(), query.rest().len());
        let mut all = rows.clone();
        assert!(all.all(|row| (row.0.len(), row.1.len()) == shape), "rows of one shape");
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx2(kernel) => kernel.count_equal_each(query, rows, counts),
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx512(kernel) => kernel.avx2().count_equal_each(query, rows, counts),
            _ => portable::count_equal_each(query, rows, counts),
        }
    }

    /// Marks which samples of two rows are equal. Bit i of `mask` is for sample i; bits past the last sample are 0.
    ///
    /// # Panics
    /// If either is not one row, the shapes differ, or `mask` is not as long as a plane.
    pub fn equal_mask(self, a: Rows<'_>, b: Rows<'_>, mask: &mut [u64]) {
        assert_same_shape(a, b);
        assert!(b.len() == 1 && mask.len() == a.words(), "one row and a mask as long as a plane");
        match self.0 {
            Chosen::Portable => portable::equal_mask(a, b, mask),
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx2(kernel) => kernel.equal_mask(a, b, mask),
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx512(kernel) => kernel.equal_mask(a, b, mask),
            #[cfg(target_arch = "aarch64")]
            Chosen::Neon(kernel) => kernel.equal_mask(a, b, mask),
        }
    }

    /// Packs samples into bit planes: bit i of sample j becomes bit `j mod 64` of word `j / 64` of plane i. The
    /// planes are `first` followed by `rest`, and all of them must be zero.
    ///
    /// # Panics
    /// If the planes do not have the length that the samples need, or there are more than 16 of them.
    pub fn pack(self, samples: &[u64], first: &mut [u64], rest: &mut [u64]) {
        let words = samples.len().div_ceil(64);
        let whole = |planes: &[u64]| planes.len().is_multiple_of(words);
        assert!(words >= 1 && whole(first) && whole(rest), "planes as long as the samples need");
        assert!(first.len() + rest.len() <= 16 * words, "up to 16 planes");
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx2(kernel) => kernel.pack(samples, first, rest),
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx512(kernel) => kernel.avx2().pack(samples, first, rest),
            _ => portable::pack(samples, first, rest),
        }
    }

    /// Packs samples of 16 bits, otherwise as [`Kernel::pack`] does.
    ///
    /// # Panics
    /// As `pack` does.
    pub(crate) fn pack_short(self, samples: &[u16], first: &mut [u64], rest: &mut [u64]) {
        let words = samples.len().div_ceil(64);
        let whole = |planes: &[u64]| planes.len().is_multiple_of(words);
        assert!(words >= 1 && whole(first) && whole(rest), "planes as long as the samples need");
        assert!(first.len() + rest.len() <= 16 * words, "up to 16 planes");
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx2(kernel) => kernel.pack_short(samples, first, rest),
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx512(kernel) => kernel.avx2().pack_short(samples, first, rest),
            _ => portable::pack_short(samples, first, rest),
        }
    }

    /// For 64 lanes of rows of a table, finds the least word, the row that has it, and whether several rows have it
    /// (unless it is 0). Row i starts at `starts[i]`; the lanes start at `lane`. There are 1 to 255 rows.
    ///
    /// # Panics
    /// If there are no rows or too many, or the table ends within a row.
    pub(crate) fn least(self, table: &[u16], starts: &[u32], lane: usize, least: &mut Least) {
        assert!((1..=least::MAX_ROWS).contains(&starts.len()), "1 to 255 rows");
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx2(kernel) => kernel.least(table, starts, lane, least),
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx512(kernel) => kernel.least(table, starts, lane, least),
            #[cfg(target_arch = "aarch64")]
            Chosen::Neon(kernel) => kernel.least(table, starts, lane, least),
            Chosen::Portable => least::portable(table, starts, lane, least),
        }
    }

    /// The table entry of each of 64 bytes, which are all below `most`.
    pub(crate) fn pick(
        self,
        table: &[u32; 256],
        most: usize,
        bytes: &[u8; LANES],
        picked: &mut [u32; LANES],
    ) {
        // A vector holds 16 entries. Other processors look up each entry.
        #[cfg_attr(
            not(target_arch = "x86_64"),
            expect(unused_variables, reason = "x86-64 alone has such a vector")
        )]
        let few = most <= 16;
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx2(kernel) if few => kernel.pick(table, bytes, picked),
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx512(kernel) if few => kernel.avx2().pick(table, bytes, picked),
            _ => least::pick(table, bytes, picked),
        }
    }

    /// Marks the visitors that go to an open bin. Bit i of mask j is for element `32 j + i`.
    ///
    /// # Panics
    /// If there are no bins or more than 256, or not as many elements as the masks have bits.
    pub(crate) fn visits(self, visitors: Visitors<'_>, moment: Moment<'_>, masks: &mut [u32]) {
        assert!((1..=256).contains(&moment.ranks.len()), "1 to 256 bins");
        let elements = VISITS * masks.len();
        assert!(
            [visitors.bins, visitors.rows].iter().all(|all| all.len() == elements),
            "a bit each"
        );
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx2(kernel) => kernel.visits(visitors, moment, masks),
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx512(kernel) => kernel.avx2().visits(visitors, moment, masks),
            _ => visits::portable(visitors, moment, masks),
        }
    }

    /// Whether [`Kernel::early`] is faster than comparing every hash, for this number of bins.
    pub(crate) fn finds_early(self, bins: usize) -> bool {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx512(_) => matches!(bins, 64 | 128),
            _ => false,
        }
    }

    /// Finds the hashes that do not exceed the limit of their bin, in order, and returns their number. The number of
    /// bins is a power of two.
    ///
    /// # Panics
    /// If there are fewer than 2 bins, or their number is not a power of two.
    pub(crate) fn early(
        self,
        hashes: &[u64; HASHES],
        limits: &[u16],
        found: &mut [u64; FOUND],
    ) -> usize {
        assert!(limits.len() >= 2 && limits.len().is_power_of_two(), "2 bins or more");
        let done = match self.0 {
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx512(kernel) => kernel.early(hashes, limits, found),
            _ => None,
        };
        done.unwrap_or_else(|| early::portable(hashes, limits, found))
    }

    /// Divides a bitmap into as many equal parts as there are `firsts`, and finds the first bit that is set in each
    /// part, or 0. Returns whether every part has one.
    ///
    /// # Panics
    /// If the blocks cannot be divided evenly, or a part has more than 2^16 bits.
    pub(crate) fn first_bits(self, bitmap: &[[u8; BLOCK]], firsts: &mut [u16]) -> bool {
        let per_part = bitmap.len() / firsts.len();
        assert!((1..=128).contains(&per_part), "1 to 128 blocks a part");
        assert_eq!(per_part * firsts.len(), bitmap.len(), "parts of one length");
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx512(kernel) => kernel.first_bits(bitmap, per_part, firsts),
            _ => early::first_bits(bitmap, per_part, firsts),
        }
    }

    /// Marks the bins that hold anything but `u64::MAX`. Bit i of `words` is for bin i.
    ///
    /// # Panics
    /// If there is not one word for each 64 bins.
    pub fn occupied(self, bins: &[u64], words: &mut [u64]) {
        assert_eq!(words.len(), bins.len().div_ceil(64), "a bit for each bin");
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx2(kernel) => kernel.occupied(bins, words),
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx512(kernel) => kernel.avx2().occupied(bins, words),
            _ => portable::occupied(bins, words),
        }
    }

    /// Runs work with the instructions of this kernel. Results are the same to the last bit: floating-point additions
    /// and multiplications are vectorised, but never fused or reordered.
    #[inline]
    pub(crate) fn run<W: Work>(self, work: W) -> W::Done {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx2(kernel) => kernel.run(work),
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx512(kernel) => kernel.run(work),
            _ => work.run(),
        }
    }
}

fn assert_same_shape(query: Rows<'_>, rows: Rows<'_>) {
    assert_eq!(query.len(), 1, "the query is one row");
    let shape = |rows: Rows<'_>| (rows.samples(), rows.bits(), rows.first_planes());
    assert_eq!(shape(query), shape(rows), "rows of one shape");
}
