//! Every limit of the library, with its reason.
//!
//! Arguments and stored values are checked against these limits where they enter the library. The error names the limit.

/// The most samples of a signature. With [`MAX_BITS`], a signature has at most 32 KiB, so a 64 KiB page always has space
/// for one, and a count of equal samples fits into a `u16`.
pub const MAX_SAMPLES: u32 = 16_384;

/// The most bits of a sample. With 16 bits, one sample in 65,536 agrees by chance; more bits would take space without
/// improving accuracy.
pub const MAX_BITS: u8 = 16;

/// The most bits of a slot value, since posting directories address values by `u32`.
pub const MAX_VALUE_BITS: u8 = 32;

/// The smallest bounded universe. A single element cannot be permuted.
pub const MIN_UNIVERSE: u64 = 2;

/// The fewest elements of a bounded universe in each bin of a one-permutation signature. The bias of the agreement rate
/// is at most `k/(2eD)`, which is below .003 with 64 elements per bin.
pub const MIN_PLACES_PER_BIN: u64 = 64;

/// The longest shingle of a text, in words. Longer ones only find exact duplicates.
pub const MAX_SHINGLE_WORDS: u16 = 64;

/// The longest n-gram of a text, in characters. Longer ones only find exact duplicates.
pub const MAX_GRAM_CHARACTERS: u16 = 64;

/// The most words that a spot spans, stop words excluded: distance times chain. Longer ones only find exact duplicates.
pub const MAX_SPOT_WORDS: usize = 64;

/// The largest weight of the title of a page, or of its headings ([`Weighting`](crate::features::Weighting)).
pub const MAX_PART_WEIGHT: f64 = 1e6;

/// The most elements of a set whose cardinality is stored exactly. The field has 32 bits.
pub const MAX_EXACT_CARDINALITY: u64 = u32::MAX as u64;

/// The most elements of a set whose cardinality is stored as a `Log8` code. The largest code, 255, means `2^31.75`, and
/// the largest number that is rounded to it is `2^(31.75 + 1/16)`.
pub const MAX_LOG8_CARDINALITY: u64 = 3_771_522_796;

/// The most sets in one many-way estimate over a bounded universe. The number of subsets doubles with each set, and the
/// exact recursion visits every pair of nested subsets.
pub const MAX_SETS_DENSE: usize = 8;

/// The most sets in one many-way estimate over the open universe. The estimate needs `2^b >= n`, and its weights grow
/// like a factorial. Beyond sixteen sets, the variance is too large for any practical number of samples.
pub const MAX_SETS_SPARSE: usize = 16;

/// The longest key, in bytes. A key of this length takes half of an 8 KiB leaf page, so two of them fit only if they share
/// a prefix. Callers with longer names can use a hash of the name as the key.
pub const MAX_KEY_BYTES: usize = 4096;

/// The longest value that is stored with a key, in bytes. Values are for labels, paths and small records; a thousand of
/// the longest fit into one batch ([`MAX_BATCH_BYTES`]). Callers with larger data can store a name of it.
pub const MAX_VALUE_BYTES: usize = 1 << 16;

/// The most operations of one batch. Use several commits or a bulk load for more.
pub const MAX_BATCH_OPERATIONS: usize = 1 << 20;

/// The most bytes of one batch. Several copies of a batch are in memory while it is committed.
pub const MAX_BATCH_BYTES: usize = 64 << 20;

/// The most elements of a kept set, and of all kept sets of a batch together. Encoded, such a set has at most 50 MB, so it
/// fits into one batch ([`MAX_BATCH_BYTES`]). Reading a batch back takes at most 64 MiB for elements.
pub const MAX_KEPT_ELEMENTS: usize = 1 << 23;

/// The fewest bits of a kept element. With fewer, the elements of a set of a dozen would collide with each other.
pub const MIN_KEPT_BITS: u8 = 8;

/// The most bits of a kept element: all that it has.
pub const MAX_KEPT_BITS: u8 = 64;

/// The smallest horizon of chunks, which is the number of bytes by which a cut is recognised.
pub const MIN_HORIZON: u32 = 16;

/// The largest horizon of chunks. Its chunks have at most 512 KiB, and cutting takes about 6 MiB of memory.
pub const MAX_HORIZON: u32 = 1 << 16;
