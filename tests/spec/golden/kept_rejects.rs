//! Files whose kept sets break one rule each. Numbers are offsets of `format-spec/elements.md`.
//!
//! `kept.ringer` has six ids: {7} in 9 bytes at offset 0, {10, 11, 14, 18} in 11 bytes at 9, a run of 100 in 13 bytes
//! at 20, 1,500 elements over both pages, the empty set in 1 byte, and {0, 2^64 - 1} in the last 18 bytes.

use super::edit::{Edit, Segment};
use super::rejects::Reject;

const FIRST: Segment = Segment(0);

/// Changes bytes of the sets in the first page.
fn in_sets(e: &mut Edit, change: impl Fn(&mut Edit, usize)) {
    e.in_page(e.sets(FIRST, 0), change);
}

macro_rules! rejects {
    ($($name:literal, $of:literal, $what:literal, $change:expr;)*) => {
        /// All rejects of kept sets.
        pub(crate) const OF_SETS: &[Reject] =
            &[$(Reject { name: $name, of: $of, what: $what, change: $change }),*];
    };
}

rejects! {
    "SUPER-8", "mixed", "a required feature that the scheme does not need", |e| {
        e.superblocks(|e, at| e.set(at + 16, 8, 1));
    };
    "SUPER-8-missing", "kept", "sets are kept, and no required feature says so", |e| {
        e.superblocks(|e, at| e.set(at + 16, 8, 0));
    };
    "SCHEME-18", "kept", "elements are kept in 7 bits", |e| {
        e.in_manifest(|e, at| e.set(at + 32 + 26, 1, 7));
    };
    "SCHEME-18-measure", "weighted", "elements of weighted sets are kept", |e| {
        e.in_manifest(|e, at| e.set(at + 32 + 26, 1, 64));
    };
    "KEPT-1", "kept", "the last set has more elements than bytes", |e| {
        let last = e.set_bytes(FIRST) - 18;
        e.in_page(e.sets(FIRST, 1), |e, at| e.set(at + last - 8168, 1, 100));
    };
    "KEPT-2", "kept", "a count in more bytes than it needs", |e| in_sets(e, |e, at| e.set(at, 2, 0x81));
    "KEPT-2-most", "kept", "a count above all that are allowed", |e| {
        in_sets(e, |e, at| e.set(at, 4, 0x0480_8081));
    };
    "KEPT-3", "kept", "gaps in fewer bits than the largest needs", |e| {
        in_sets(e, |e, at| e.set(at + 9 + 9, 1, 1));
    };
    "KEPT-3-bits", "kept", "bits after the last gap", |e| {
        in_sets(e, |e, at| e.bytes[at + 9 + 10] |= 0x80);
    };
    "KEPT-4", "kept", "an element past all words", |e| {
        let last = e.set_bytes(FIRST) - 18;
        e.in_page(e.sets(FIRST, 1), |e, at| e.set(at + last - 8168 + 1, 1, 1));
    };
    "KEPT-4-bits", "kept20", "an element of more bits than are kept", |e| {
        in_sets(e, |e, at| e.set(at + 1, 3, 1 << 20));
    };
    "KEPT-5", "kept", "fewer bytes of sets than sets", |e| {
        e.in_header(FIRST, |e, at| e.set(at + 224, 8, 5));
    };
    "KEPT-5-length", "kept", "more bytes of sets than the region has pages for", |e| {
        e.in_header(FIRST, |e, at| e.set(at + 224, 8, 3 * 8168));
    };
    "KEPT-6", "kept", "a page of sets is too short", |e| e.shorten(e.sets(FIRST, 0), 1);
    "KEPT-7", "kept", "starts fall", |e| {
        e.in_page(e.sets_directory(FIRST), |e, at| e.set(at + 5 * 2, 5, 8));
    };
    "KEPT-7-first", "kept", "the first set does not start at 0", |e| {
        e.in_page(e.sets_directory(FIRST), |e, at| e.set(at, 5, 1));
    };
    "KEPT-7-end", "kept", "a set starts behind all sets", |e| {
        e.in_page(e.sets_directory(FIRST), |e, at| e.set(at + 5 * 5, 5, e.set_bytes(FIRST)));
    };
    "KEPT-7-count", "kept", "a start is missing", |e| e.shorten(e.sets_directory(FIRST), 5);
    "KEPT-8", "kept", "a set ends before the next one starts", |e| in_sets(e, |e, at| e.set(at, 1, 0));
    "KEPT-9", "kept", "a set without elements that is not the empty set", |e| {
        in_sets(e, |e, at| {
            // The second set becomes a run of 289 and starts after a count of 0.
            e.bytes[at..at + 20].fill(0);
            e.set(at + 1, 2, 0x02A1);
        });
        e.in_page(e.sets_directory(FIRST), |e, at| e.set(at + 5, 5, 1));
    };
    "KEPT-10", "kept", "a set has another element than its signature", |e| {
        in_sets(e, |e, at| e.set(at + 1, 1, 8));
    };
    "KEPT-10-size", "kept20", "a set has more elements than its size says", |e| {
        // Three signatures of two words, then their codes.
        e.in_page(e.signatures(FIRST), |e, at| e.set(at + 3 * 16, 1, 1));
    };
}
