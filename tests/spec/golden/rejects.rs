//! Files that break one rule each, made from golden files. Numbers are offsets of `format-spec/`.
//!
//! Segment 0 of `mixed.ringer` has the rows apple, banana, cherry, date, empty, k, kkk.. | lll.., nothing in two
//! leaves. Their ids are 0 1 0 2 3 4 5 | 6 3, so there are two duplicate rows. Banana, date and nothing are hidden.

use super::edit::{Edit, Segment};
use super::kept_rejects::OF_SETS;
use super::posting_rejects::OF_POSTINGS;
use super::value_rejects::OF_VALUES;

/// A file that breaks a rule.
pub(crate) struct Reject {
    /// The rule, with a suffix if several files break it.
    pub(crate) name: &'static str,
    /// The golden file that it is made from.
    pub(crate) of: &'static str,
    /// What is wrong, as a sentence.
    pub(crate) what: &'static str,
    /// The change to the golden file.
    pub(crate) change: fn(&mut Edit),
}

/// Rejects or rules that reading rows does not notice, because what they break is derived or only counted. `check`
/// does.
pub(crate) const NEED_CHECK: &[&str] = &[
    "DUP-1",
    "DUP-2",
    "DUP-3-count",
    "DUP-3-first",
    "DUP-4",
    "FENCE-3-separator",
    "FILTER-1",
    "KEPT-10",
    "KEPT-10-size",
    "LEAF-3-id",
    "LEAF-7",
    "TOMB-3",
    "MAN-7",
    "POST-10-low",
    "POST-10-short",
    "POST-2",
    "POST-2-length",
    "POST-2-zero",
    "POST-3",
    "POST-3-first",
    "POST-3-long",
    "POST-4",
    "POST-4-bits",
    "POST-5",
    "POST-5-order",
    "POST-6",
    "POST-6-order",
    "POST-6-page",
    "POST-7",
    "POST-7-bits",
    "POST-8",
    "POST-8-bits",
    "POST-9",
    "POST-9-length",
    "SEG-2-key-bytes",
    "SEG-3-checkpointed",
    "SEG-3-sequence",
];

const FIRST: Segment = Segment(0);
const LAST_LEAF: usize = 1;

/// Returns all rejects.
pub(crate) fn all() -> impl Iterator<Item = &'static Reject> {
    OF_OTHERS.iter().chain(OF_POSTINGS).chain(OF_SETS).chain(OF_VALUES)
}

macro_rules! rejects {
    ($($name:literal, $of:literal, $what:literal, $change:expr;)*) => {
        const OF_OTHERS: &[Reject] =
            &[$(Reject { name: $name, of: $of, what: $what, change: $change }),*];
    };
}

rejects! {
    // file.md: superblock
    "SUPER-1", "mixed", "the checksums of both superblocks are wrong", |e| {
        e.bytes[4092] ^= 1;
        e.bytes[8188] ^= 1;
    };
    "SUPER-2", "mixed", "a later format version", |e| e.superblocks(|e, at| e.set(at + 8, 2, 4));
    "SUPER-2-old", "mixed", "an earlier format version", |e| e.superblocks(|e, at| e.set(at + 8, 2, 2));
    "SUPER-2-one", "mixed", "a later format version in one superblock, and another that is valid", |e| {
        e.superblock(4096, |e, at| e.set(at + 8, 2, 4));
    };
    "SUPER-3", "mixed", "a required feature that nobody knows", |e| {
        e.superblocks(|e, at| e.set(at + 16, 8, 2));
    };
    "SUPER-4-reserved", "mixed", "reserved bytes are not 0", |e| {
        e.superblocks(|e, at| e.set(at + 10, 1, 1));
    };
    "SUPER-4-unused", "mixed", "the last unused byte is not 0", |e| {
        e.superblocks(|e, at| e.set(at + 4091, 1, 1));
    };
    "SUPER-4-clean", "mixed", "clean is 2", |e| e.superblocks(|e, at| e.set(at + 96, 1, 2));
    "SUPER-5-states", "mixed", "two different states of one generation", |e| {
        e.superblock(4096, |e, at| e.set(at + 24, 8, 1));
    };
    "SUPER-5-databases", "mixed", "the superblock before this one is of another database", |e| {
        e.superblock(4096, |e, at| {
            e.set(at + 32, 8, 1);
            e.set(at + 48, 8, e.number(at + 48, 8) - 1);
        });
    };
    "SUPER-5-foreign", "mixed", "no superblock has the magic: this is no database", |e| {
        e.superblocks(|e, at| e.set(at, 1, 0));
    };
    "SUPER-6-manifest", "mixed", "the manifest starts before the data", |e| {
        e.superblocks(|e, at| e.set(at + 56, 8, 64));
    };
    "SUPER-6-length", "mixed", "the manifest goes on behind the end of data", |e| {
        e.superblocks(|e, at| e.set(at + 64, 4, e.number(at + 64, 4) + 64));
    };
    "SUPER-6-end", "mixed", "the end of data is no multiple of 64", |e| {
        e.superblocks(|e, at| e.set(at + 72, 8, e.number(at + 72, 8) + 1));
    };
    "SUPER-6-cut", "mixed", "the file ends before its data", |e| e.bytes.truncate(e.bytes.len() - 1);
    "SUPER-7", "mixed", "a clean database with a log", |e| {
        e.superblocks(|e, at| e.set(at + 80, 8, 1));
    };
    "SUPER-7-number", "mixed", "a log number above all that were made", |e| e.superblocks(|e, at| {
        e.set(at + 96, 1, 0);
        e.set(at + 80, 8, e.number(at + 88, 8) + 1);
    });
    // file.md: manifest
    "MAN-1-checksum", "mixed", "the checksum of the manifest does not match", |e| {
        let manifest = e.manifest();
        e.bytes[manifest + 96] ^= 1;
    };
    "MAN-1-magic", "mixed", "the manifest has another magic", |e| {
        e.in_manifest(|e, at| e.set(at, 1, 0));
    };
    "MAN-1-other", "mixed", "the superblock names another manifest", |e| {
        e.superblocks(|e, at| e.set(at + 68, 4, 1));
    };
    "MAN-1-database", "mixed", "the manifest is of another database", |e| {
        e.superblocks(|e, at| e.bytes[at + 32] ^= 1);
    };
    "MAN-2-count", "mixed", "an entry is missing", |e| {
        e.in_manifest(|e, at| e.set(at + 104, 4, e.number(at + 104, 4) + 1));
    };
    "MAN-2-fewer", "mixed", "an entry too many", |e| {
        e.in_manifest(|e, at| e.set(at + 104, 4, e.number(at + 104, 4) - 1));
    };
    "MAN-2-reserved", "mixed", "reserved bytes are not 0", |e| {
        e.in_manifest(|e, at| e.set(at + 108, 4, 1));
    };
    "MAN-3-rows", "one", "a segment without rows", |e| e.in_manifest(|e, _| {
        e.set(e.entry(FIRST) + 28, 4, 0);
        e.set(e.entry(FIRST) + 32, 4, 0);
    });
    "MAN-3-live", "one", "more live rows than rows", |e| {
        e.in_manifest(|e, _| e.set(e.entry(FIRST) + 32, 4, 2));
    };
    "MAN-3-id", "one", "a segment with the number 0", |e| {
        e.in_manifest(|e, _| e.set(e.entry(FIRST), 8, 0));
    };
    "MAN-3-reserved", "one", "reserved bytes are not 0", |e| {
        e.in_manifest(|e, _| e.set(e.entry(FIRST) + 36, 4, 1));
    };
    "MAN-4-order", "mixed", "segment ids do not rise", |e| e.in_manifest(|e, _| {
        let (first, second) = (e.entry(FIRST), e.entry(Segment(1)));
        for i in 0..64 {
            e.bytes.swap(first + i, second + i);
        }
    });
    "MAN-4-next", "mixed", "the next extent id is in use", |e| {
        e.in_manifest(|e, at| e.set(at + 88, 8, e.number(e.entry(Segment(2)), 8)));
    };
    "MAN-4-twice", "mixed", "a tombstone bitmap has the number of a segment", |e| {
        e.in_manifest(|e, _| e.set(e.entry(FIRST) + 40, 8, e.number(e.entry(Segment(1)), 8)));
    };
    "MAN-5-overlap", "mixed", "two segments in one place", |e| {
        e.in_manifest(|e, _| e.set(e.entry(Segment(1)) + 8, 8, e.number(e.entry(FIRST) + 8, 8)));
    };
    "MAN-5-start", "one", "a segment before the data", |e| {
        e.in_manifest(|e, _| e.set(e.entry(FIRST) + 8, 8, 8192));
    };
    "MAN-5-end", "one", "a segment that goes on behind the end of data", |e| {
        e.in_manifest(|e, _| e.set(e.entry(FIRST) + 16, 8, 1 << 40));
    };
    "MAN-5-aligned", "one", "a segment whose length is no multiple of 64", |e| {
        e.in_manifest(|e, _| e.set(e.entry(FIRST) + 16, 8, 65));
    };
    "MAN-6-none", "mixed", "hidden rows without a tombstone bitmap", |e| e.in_manifest(|e, _| {
        (40..64).step_by(8).for_each(|at| e.set(e.entry(FIRST) + at, 8, 0));
    });
    "MAN-6-needless", "one", "a place of a tombstone bitmap where no row is hidden", |e| {
        e.in_manifest(|e, _| e.set(e.entry(FIRST) + 48, 8, 12_288));
    };
    "MAN-6-length", "mixed", "a tombstone bitmap of another length", |e| {
        e.in_manifest(|e, _| e.set(e.entry(FIRST) + 56, 8, 128));
    };
    "MAN-7", "mixed", "a key has two live rows: the first banana is not hidden any more", |e| {
        e.in_page(e.tombstones(FIRST), |e, at| e.bytes[at] &= !2);
        e.in_manifest(|e, _| e.set(e.entry(FIRST) + 32, 4, e.number(e.entry(FIRST) + 32, 4) + 1));
    };
    // scheme.md
    "SCHEME-2", "mixed", "a later layout of the scheme", |e| {
        e.in_manifest(|e, at| e.set(at + 32, 2, 2));
    };
    "SCHEME-3", "mixed", "reserved bytes of the scheme are not 0", |e| {
        e.in_manifest(|e, at| e.set(at + 32 + 31, 1, 1));
    };
    "SCHEME-4", "mixed", "a measure that nobody knows", |e| {
        e.in_manifest(|e, at| e.set(at + 32 + 9, 1, 4));
    };
    "SCHEME-5", "mixed", "no samples", |e| e.in_manifest(|e, at| e.set(at + 32 + 16, 4, 0));
    "SCHEME-6", "mixed", "17 bits", |e| e.in_manifest(|e, at| e.set(at + 32 + 12, 1, 17));
    "SCHEME-7", "mixed", "slots of no samples", |e| e.in_manifest(|e, at| e.set(at + 32 + 20, 2, 1));
    "SCHEME-8", "mixed", "an open universe with a size", |e| {
        e.in_manifest(|e, at| e.set(at + 32 + 32, 8, 9));
    };
    "SCHEME-9", "mixed", "ids with a feature parameter", |e| {
        e.in_manifest(|e, at| e.set(at + 32 + 4, 4, 1));
    };
    "SCHEME-10", "bounded", "tokens in a bounded universe", |e| e.in_manifest(|e, at| {
        e.set(at + 32 + 2, 1, 2);
        e.set(at + 32 + 8, 1, 2);
    });
    "SCHEME-11", "bounded", "a bounded universe without cardinalities", |e| {
        e.in_manifest(|e, at| e.set(at + 32 + 14, 1, 0));
    };
    "SCHEME-12", "bounded", "a universe too small for its bins", |e| {
        e.in_manifest(|e, at| e.set(at + 32 + 32, 8, 6399));
    };
    "SCHEME-13", "mixed", "one permutation for the cosine", |e| {
        e.in_manifest(|e, at| e.set(at + 32 + 9, 1, 3));
    };
    "SCHEME-14", "bounded", "lazy samples of a bounded universe", |e| {
        e.in_manifest(|e, at| e.set(at + 32 + 10, 1, 3));
    };
    "SCHEME-15", "weighted", "a cardinality field for weights", |e| {
        e.in_manifest(|e, at| e.set(at + 32 + 14, 1, 3));
    };
    "SCHEME-16", "vectors", "signs of two bits", |e| {
        e.in_manifest(|e, at| e.set(at + 32 + 12, 1, 2));
    };
    "SCHEME-17", "vectors", "pairs of signs", |e| {
        e.in_manifest(|e, at| e.set(at + 32 + 13, 1, 2));
    };
    // pages.md
    "PAGE-1", "mixed", "a bit of a leaf is flipped", |e| {
        let leaf = e.leaf(FIRST, LAST_LEAF);
        e.bytes[leaf.payload() + 100] ^= 1;
    };
    "PAGE-1-header", "one", "a bit of a segment's header is flipped", |e| {
        let header = e.header(FIRST);
        e.bytes[header.payload() + 100] ^= 1;
    };
    "PAGE-2", "mixed", "a later page version", |e| {
        e.in_page(e.leaf(FIRST, 0), |e, at| e.set(at - 24 + 5, 1, 2));
    };
    "PAGE-3-kind", "mixed", "a leaf that says it is a fence", |e| {
        e.in_page(e.leaf(FIRST, 0), |e, at| e.set(at - 24 + 4, 1, 4));
    };
    "PAGE-3-block", "mixed", "a leaf of another segment", |e| {
        e.in_page(e.leaf(FIRST, 0), |e, at| e.set(at - 24 + 8, 8, 99));
    };
    "PAGE-3-number", "mixed", "a leaf of another place", |e| {
        e.in_page(e.leaf(FIRST, 0), |e, at| e.set(at - 24 + 16, 4, 99));
    };
    "PAGE-4-reserved", "mixed", "reserved bytes are not 0", |e| {
        e.in_page(e.root(FIRST), |e, at| e.set(at - 24 + 6, 2, 1));
    };
    "PAGE-4-padding", "mixed", "the padding is not 0", |e| {
        let page = e.root(FIRST);
        assert!(e.whole(page) > 24 + e.payload_length(page), "no padding");
        e.in_page(page, |e, at| e.set(at - 24 + e.whole(page) - 1, 1, 1));
    };
    "PAGE-5", "mixed", "a leaf longer than leaves may be", |e| {
        e.in_page(e.leaf(FIRST, 0), |e, at| e.set(at - 24 + 20, 4, 8_193));
    };
    "PAGE-5-region", "mixed", "a page that goes on behind its region", |e| {
        e.in_page(e.signatures(FIRST), |e, at| e.set(at - 24 + 20, 4, 1_000));
    };
    // segment.md: header
    "SEG-1-magic", "one", "another magic", |e| e.in_header(FIRST, |e, at| e.set(at, 1, 0));
    "SEG-1-reserved", "one", "reserved bytes are not 0", |e| {
        e.in_header(FIRST, |e, at| e.set(at + 108, 4, 1));
    };
    "SEG-1-zero", "one", "bytes that must be zero are not", |e| {
        e.in_header(FIRST, |e, at| e.set(at + 207, 1, 1));
    };
    "SEG-1-length", "one", "the header has 207 bytes", |e| {
        e.in_header(FIRST, |e, at| e.set(at - 24 + 20, 4, 207));
    };
    "SEG-2", "mixed", "more ids than rows", |e| e.in_header(FIRST, |e, at| e.set(at + 100, 4, 10));
    "SEG-2-key-bytes", "mixed", "the bytes of all keys are counted wrongly", |e| {
        e.in_header(FIRST, |e, at| e.set(at + 160, 8, 1));
    };
    "SEG-3-empty", "mixed", "the empty id is past the last", |e| {
        e.in_header(FIRST, |e, at| e.set(at + 104, 4, 7));
    };
    "SEG-3-order", "mixed", "the first sequence is above the last", |e| {
        e.in_header(FIRST, |e, at| e.set(at + 80, 8, 3));
    };
    "SEG-3-sequence", "mixed", "rows have sequences above the last", |e| {
        e.in_header(FIRST, |e, at| e.set(at + 88, 8, 1));
    };
    "SEG-3-checkpointed", "mixed", "the last sequence is above the checkpointed one", |e| {
        e.in_header(FIRST, |e, at| e.set(at + 88, 8, 99));
    };
    "SEG-4-gap", "mixed", "a gap between signatures and keys", |e| {
        e.in_header(FIRST, |e, at| e.set(at + 128, 8, e.number(at + 128, 8) + 64));
    };
    "SEG-4-signatures", "mixed", "the signatures are not as long as their number says", |e| {
        e.in_header(FIRST, |e, at| {
            e.set(at + 120, 8, e.number(at + 120, 8) + 64);
            e.set(at + 128, 8, e.number(at + 128, 8) + 64);
            e.set(at + 136, 8, e.number(at + 136, 8) - 64);
        });
    };
    "SEG-5", "mixed", "the root lies behind the keys", |e| {
        e.in_header(FIRST, |e, at| e.set(at + 168, 4, e.number(at + 136, 8) / 64));
    };
    "SEG-5-level", "mixed", "the root is a leaf", |e| e.in_header(FIRST, |e, at| e.set(at + 172, 1, 0));
    "SEG-6-checksum", "one", "the manifest refers to another header", |e| {
        e.in_manifest(|e, _| e.set(e.entry(FIRST) + 24, 4, 1));
    };
    "SEG-6-rows", "one", "the manifest gives another number of rows", |e| e.in_manifest(|e, _| {
        e.set(e.entry(FIRST) + 28, 4, 2);
        e.set(e.entry(FIRST) + 32, 4, 2);
    });
    "SEG-6-length", "one", "the manifest gives another length", |e| {
        e.in_manifest(|e, _| e.set(e.entry(FIRST) + 16, 8, e.number(e.entry(FIRST) + 16, 8) - 64));
    };
    "SEG-6-database", "one", "the header names another database", |e| {
        e.in_header(FIRST, |e, at| e.bytes[at + 8] ^= 1);
    };
    "SEG-6-scheme", "one", "the header has another scheme", |e| {
        e.in_header(FIRST, |e, at| e.bytes[at + 24 + 40] ^= 1);
    };
    // segment.md: signatures
    "SIGP-1", "mixed", "a signature page is too short", |e| e.shorten(e.signatures(FIRST), 1);
    "SIGP-2", "bounded", "a bit past the last sample", |e| {
        e.in_page(e.signatures(FIRST), |e, at| e.bytes[at + 15] |= 128);
    };
    "SIGP-2-plane", "bounded", "a bit past the last sample of the last plane", |e| {
        e.in_page(e.signatures(FIRST), |e, at| e.bytes[at + 8 * 5 * 8 - 1] |= 128);
    };
    "SIGP-2-code", "bounded", "bits above the last code", |e| {
        e.in_page(e.signatures(FIRST), |e, at| e.bytes[at + 8 * 5 * 8 + 2] |= 16);
    };
    "SIGP-3", "mixed", "a set that is not empty has no elements (log8)", |e| {
        e.in_page(e.signatures(FIRST), |e, at| e.set(at + 7 * 16, 1, 0));
    };
    "SIGP-3-exact", "exact16", "a set that is not empty has no elements (exact)", |e| {
        e.in_page(e.signatures(FIRST), |e, at| e.set(at + 4 * 128, 4, 0));
    };
    "SIGP-4-plane", "mixed", "the empty set has a word that is not 0", |e| {
        e.in_page(e.signatures(FIRST), |e, at| e.set(at + 7 * 8 + 3 * 8, 1, 1));
    };
    "SIGP-4-code", "mixed", "the empty set has elements", |e| {
        e.in_page(e.signatures(FIRST), |e, at| e.set(at + 7 * 16 + 3, 1, 1));
    };
    // segment.md: leaves
    "LEAF-1", "mixed", "the prefix is longer than the page", |e| {
        e.in_page(e.leaf(FIRST, 0), |e, at| e.set(at + 10, 2, 9_000));
    };
    "LEAF-1-start", "one", "the page is too short for its start", |e| {
        e.in_page(e.leaf(FIRST, 0), |e, at| {
            e.bytes[at + 23..at + 40].fill(0);
            e.set(at - 24 + 20, 4, 23);
        });
    };
    "LEAF-2-count", "mixed", "a leaf without rows", |e| {
        e.in_page(e.leaf(FIRST, 0), |e, at| e.set(at + 8, 2, 0));
    };
    "LEAF-2-width", "mixed", "sequences of 9 bytes", |e| {
        e.in_page(e.leaf(FIRST, 0), |e, at| e.set(at + 16, 1, 9));
    };
    "LEAF-2-zero", "mixed", "bytes that must be zero are not", |e| {
        e.in_page(e.leaf(FIRST, 0), |e, at| e.set(at + 17, 1, 1));
    };
    "LEAF-3", "mixed", "the last leaf has a row past the last", |e| {
        e.in_page(e.leaf(FIRST, LAST_LEAF), |e, at| e.set(at, 4, 8));
        e.in_page(e.root(FIRST), |e, _| e.set(e.fence_entry(FIRST, LAST_LEAF) + 4, 4, 8));
    };
    "LEAF-3-overlap", "mixed", "the last leaf starts with the last row of the leaf before", |e| {
        e.in_page(e.leaf(FIRST, LAST_LEAF), |e, at| e.set(at, 4, 6));
        e.in_page(e.root(FIRST), |e, _| e.set(e.fence_entry(FIRST, LAST_LEAF) + 4, 4, 6));
    };
    "LEAF-3-id", "mixed", "the last leaf starts with the last id of the leaf before", |e| {
        e.in_page(e.leaf(FIRST, LAST_LEAF), |e, at| e.set(at + 4, 4, 5));
        e.in_page(e.root(FIRST), |e, _| e.set(e.fence_entry(FIRST, LAST_LEAF) + 8, 4, 5));
    };
    "LEAF-4", "mixed", "the suffixes do not fill the page", |e| {
        e.in_page(e.leaf(FIRST, LAST_LEAF), |e, at| e.set(at + 24 + 2, 2, 4_101));
    };
    "LEAF-4-falls", "mixed", "ends of suffixes fall", |e| {
        e.in_page(e.leaf(FIRST, 0), |e, at| e.set(at + 24, 2, 100));
    };
    "LEAF-4-empty", "mixed", "a key without bytes", |e| {
        e.in_page(e.leaf(FIRST, 0), |e, at| e.set(at + 24, 2, 0));
    };
    "LEAF-4-equal", "bounded", "five times the same key, all of it prefix", |e| {
        e.in_page(e.leaf(FIRST, 0), |e, at| {
            e.set(at + 10, 2, 25);
            e.set(at + 12, 2, 0);
        });
    };
    "LEAF-4-long", "mixed", "a key of 4,097 bytes", |e| {
        e.in_page(e.leaf(FIRST, 0), |e, at| e.set(at + 24 + 10, 2, e.number(at + 24 + 10, 2) - 1));
    };
    "LEAF-5", "mixed", "the last leaf has ids past the last", |e| {
        e.in_page(e.leaf(FIRST, LAST_LEAF), |e, at| e.set(at + 4, 4, 99));
        e.in_page(e.root(FIRST), |e, _| e.set(e.fence_entry(FIRST, LAST_LEAF) + 8, 4, 99));
    };
    "LEAF-6-place", "mixed", "a duplicate row past the last row", |e| {
        e.in_page(e.leaf(FIRST, 0), |e, at| e.set(at + 45, 2, 7));
    };
    "LEAF-6-id", "mixed", "a duplicate of a signature that comes after it", |e| {
        e.in_page(e.leaf(FIRST, 0), |e, at| e.set(at + 47, 4, 2));
    };
    "LEAF-7", "mixed", "keys do not rise: apple is called zpple", |e| {
        e.in_page(e.leaf(FIRST, 0), |e, at| e.set(at + 51, 1, usize::from(b'z')));
    };
    // segment.md: fences
    "FENCE-1", "mixed", "more children than the page has", |e| {
        e.in_page(e.root(FIRST), |e, at| e.set(at + 4, 2, 9_000));
    };
    "FENCE-1-keys", "mixed", "separators longer than the page", |e| {
        e.in_page(e.root(FIRST), |e, _| e.set(e.fence_entry(FIRST, LAST_LEAF) + 12, 4, 9_000));
    };
    "FENCE-2-level", "mixed", "a root of another level than the header says", |e| {
        e.in_page(e.root(FIRST), |e, at| e.set(at, 1, 2));
    };
    "FENCE-2-zero", "mixed", "bytes that must be zero are not", |e| {
        e.in_page(e.root(FIRST), |e, at| e.set(at + 6, 2, 1));
    };
    "FENCE-3-row", "mixed", "first rows do not rise", |e| {
        e.in_page(e.root(FIRST), |e, _| e.set(e.fence_entry(FIRST, LAST_LEAF) + 4, 4, 0));
    };
    "FENCE-3-id", "mixed", "first ids fall", |e| {
        e.in_page(e.root(FIRST), |e, _| e.set(e.fence_entry(FIRST, 0) + 8, 4, 99));
    };
    "FENCE-3-separator", "mixed", "the separator of the last leaf is above its keys", |e| {
        e.in_page(e.root(FIRST), |e, _| {
            e.set(e.fence_entry(FIRST, LAST_LEAF) + 20, 1, usize::from(b'z'));
        });
    };
    "FENCE-4", "mixed", "bytes behind the filters", |e| e.in_page(e.root(FIRST), |e, _| {
        let end = e.fence_entry(FIRST, LAST_LEAF) + 16;
        e.set(end, 4, e.number(end, 4) - 1);
    });
    "FENCE-5-row", "mixed", "a leaf starts with another row than its fence says", |e| {
        e.in_page(e.root(FIRST), |e, _| e.set(e.fence_entry(FIRST, LAST_LEAF) + 4, 4, 6));
    };
    "FENCE-5-id", "mixed", "a leaf starts with another id than its fence says", |e| {
        e.in_page(e.root(FIRST), |e, _| e.set(e.fence_entry(FIRST, LAST_LEAF) + 8, 4, 5));
    };
    "FENCE-5-region", "mixed", "a leaf lies behind the keys", |e| {
        e.in_page(e.root(FIRST), |e, _| e.set(e.fence_entry(FIRST, LAST_LEAF), 4, 9_000));
    };
    "FILTER-1", "mixed", "the filter of the last leaf has no bits", |e| {
        e.in_page(e.root(FIRST), |e, at| {
            let (end, last) = (e.payload_length(e.root(FIRST)), 3);
            e.bytes[at + end - last..at + end].fill(0);
        });
    };
    // segment.md: duplicate rows
    "DUP-1", "mixed", "a pair is missing", |e| e.shorten(e.duplicates(FIRST), 8);
    "DUP-2", "mixed", "pairs do not rise", |e| {
        e.in_page(e.duplicates(FIRST), |e, at| e.set(at, 4, 4));
    };
    "DUP-3-count", "mixed", "the directory has no entry", |e| e.shorten(e.directory(FIRST), 4);
    "DUP-3-first", "mixed", "the directory gives another first id", |e| {
        e.in_page(e.directory(FIRST), |e, at| e.set(at, 4, 1));
    };
    "DUP-4", "mixed", "a pair whose row is no duplicate", |e| {
        e.in_page(e.duplicates(FIRST), |e, at| e.set(at + 4, 4, 1));
    };
    // segment.md: tombstones
    "TOMB-1", "mixed", "the bitmap is too short", |e| e.shorten(e.tombstones(FIRST), 1);
    "TOMB-2", "mixed", "a bit past the last row", |e| {
        e.in_page(e.tombstones(FIRST), |e, at| e.bytes[at + 1] |= 2);
    };
    "TOMB-3", "mixed", "one more row is hidden than the manifest says", |e| {
        e.in_page(e.tombstones(FIRST), |e, at| e.bytes[at] |= 1);
    };
}
