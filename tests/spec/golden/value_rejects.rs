//! Files whose values break one rule each. Numbers are offsets of `format-spec/values.md`.
//!
//! The first segment of `values.ringer` has six rows. Their encoded values: 6 bytes at offset 0, 7 bytes at 6, none (1
//! byte) at 13, 17 bytes at 14, an empty value (1 byte) at 31, and 9,002 bytes over both pages at 32.

use super::edit::{Edit, Segment};
use super::rejects::Reject;

const FIRST: Segment = Segment(0);

/// Changes bytes of the values in the first page.
fn in_values(e: &mut Edit, change: impl Fn(&mut Edit, usize)) {
    e.in_page(e.values(FIRST, 0), change);
}

macro_rules! rejects {
    ($($name:literal, $what:literal, $change:expr;)*) => {
        /// All rejects of values.
        pub(crate) const OF_VALUES: &[Reject] =
            &[$(Reject { name: $name, of: "values", what: $what, change: $change }),*];
    };
}

rejects! {
    "SEG-4-values", "bytes after the postings that belong to no region", |e| {
        e.in_header(FIRST, |e, at| e.set(at + 112, 8, 0));
    };
    "VALUE-1", "the last value is longer than its bytes", |e| in_values(e, |e, at| e.set(at + 33, 1, 0x47));
    "VALUE-2", "a size in more bytes than it needs", |e| in_values(e, |e, at| e.set(at + 14, 2, 0x91));
    "VALUE-2-most", "a size above all that are allowed", |e| {
        in_values(e, |e, at| e.set(at + 32, 3, 0x0004_8082));
    };
    "VALUE-3", "fewer bytes of values than rows", |e| e.in_header(FIRST, |e, at| e.set(at + 112, 8, 5));
    "VALUE-3-length", "more bytes of values than the region has pages for", |e| {
        e.in_header(FIRST, |e, at| e.set(at + 112, 8, 3 * 8168));
    };
    "VALUE-4", "a page of values is too short", |e| e.shorten(e.values(FIRST, 0), 1);
    "VALUE-5", "starts fall", |e| {
        e.in_page(e.values_directory(FIRST), |e, at| e.set(at + 5 * 2, 5, 5));
    };
    "VALUE-5-first", "the first value does not start at 0", |e| {
        e.in_page(e.values_directory(FIRST), |e, at| e.set(at, 5, 1));
    };
    "VALUE-5-end", "a value starts behind all values", |e| {
        e.in_page(e.values_directory(FIRST), |e, at| e.set(at + 5 * 5, 5, e.value_bytes(FIRST)));
    };
    "VALUE-5-count", "a start is missing", |e| e.shorten(e.values_directory(FIRST), 5);
    "VALUE-6", "a value ends before the next one starts", |e| in_values(e, |e, at| e.set(at + 6, 1, 6));
}
