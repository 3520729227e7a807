//! Every limit of the library, by name and with its reason.
//!
//! A limit that an argument or a stored value can break is checked where the value enters, and the
//! error names the limit.

/// Most samples a signature may have. With [`MAX_BITS`] a signature is then at most 32 KiB, so that
/// a 64 KiB page always holds at least one, and a count of equal samples fits a `u16`.
pub const MAX_SAMPLES: u32 = 16_384;

/// Most bits kept of each sample. At 16 bits chance agreements are one in 65,536: more bits would
/// cost space and buy no accuracy.
pub const MAX_BITS: u8 = 16;

/// Most bits of a slot value: posting directories address values by `u32`.
pub const MAX_VALUE_BITS: u8 = 32;

/// Smallest bounded universe: with one possible element there is nothing to permute.
pub const MIN_UNIVERSE: u64 = 2;

/// Fewest places of a bounded universe in each bin of a one-permutation signature. The bias of the
/// agreement rate is at most `k/(2eD)`; with 64 places in a bin it stays below .003.
pub const MIN_PLACES_PER_BIN: u64 = 64;

/// Longest shingle of the text features, in words. Longer ones only find exact copies.
pub const MAX_SHINGLE_WORDS: u16 = 64;

/// Longest character n-gram of the text features. Longer ones only find exact copies.
pub const MAX_GRAM_CHARACTERS: u16 = 64;

/// Most words of substance that a spot reaches over: distance times chain. Longer ones only find exact copies.
pub const MAX_SPOT_WORDS: usize = 64;

/// Most elements of a set whose cardinality is stored exactly (the field has 32 bits).
pub const MAX_EXACT_CARDINALITY: u64 = u32::MAX as u64;

/// Most elements of a set whose cardinality is stored as a `Log8` code: the code 255 stands for
/// `2^31.75`, and what rounds to it is at most `2^(31.75 + 1/16)`.
pub const MAX_LOG8_CARDINALITY: u64 = 3_771_522_796;

/// Most sets in one many-way estimate over a bounded universe: the number of subsets doubles with
/// each set, and the exact recursion visits every pair of nested subsets.
pub const MAX_SETS_DENSE: usize = 8;

/// Most sets in one many-way estimate over the open universe. It needs `2^b >= n`, and the weights
/// grow like a factorial: past sixteen sets no practical number of samples tames the variance.
pub const MAX_SETS_SPARSE: usize = 16;

/// Longest key. One of this length and what goes with it take half of an 8 KiB page of keys, and two
/// only fit if they start alike; longer names belong into the caller's data, with a hash as the key.
pub const MAX_KEY_BYTES: usize = 4096;

/// Most operations of one batch. More go into several commits, or into a bulk load.
pub const MAX_BATCH_OPERATIONS: usize = 1 << 20;

/// Most bytes of one batch: it is held in memory several times while it is committed.
pub const MAX_BATCH_BYTES: usize = 64 << 20;

/// Most elements of a set that is kept. Encoded, such a set has at most 50 MB, so that every set that is kept
/// fits into one batch ([`MAX_BATCH_BYTES`]). The sets of a batch have no more together, so that reading a batch back
/// takes at most 64 MiB for their elements.
pub const MAX_KEPT_ELEMENTS: usize = 1 << 23;

/// Fewest bits in which an element is kept. With fewer, sets of a dozen elements would collide in themselves.
pub const MIN_KEPT_BITS: u8 = 8;

/// Most bits in which an element is kept: all it has.
pub const MAX_KEPT_BITS: u8 = 64;

/// Smallest horizon of chunks: that of the 16 bytes that a cut is recognised by.
pub const MIN_HORIZON: u32 = 16;

/// Largest horizon of chunks. Chunks are then at most 512 KiB long, and cutting takes about 6 MiB of memory.
pub const MAX_HORIZON: u32 = 1 << 16;
