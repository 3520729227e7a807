//! Files whose postings break one rule each. Numbers are offsets of `format-spec/postings.md`.
//!
//! `lists.ringer` has 520 ids and 4 slots of 8 bits: 64 buckets a slot in one directory page, low parts of 2
//! bits and ids of 10 in one short page, and one page of the list table.

use crate::edit::{Edit, Segment};
use crate::rejects::Reject;

const FIRST: Segment = Segment(0);

/// Bits of a short entry, and those of its id.
const WIDTH: usize = 12;
const ID: usize = 0x3FF;

fn entry(e: &Edit, at: usize, i: usize) -> usize {
    e.number(at + WIDTH * i / 8, 2) >> (WIDTH * i % 8) & 0xFFF
}

fn set_entry(e: &mut Edit, at: usize, i: usize, entry: usize) {
    let (at, shift) = (at + WIDTH * i / 8, WIDTH * i % 8);
    let others = e.number(at, 2) & !(0xFFF << shift);
    e.set(at, 2, others | entry << shift);
}

/// The first entry of the first bucket that has so many.
fn first_of(e: &Edit, count: std::ops::RangeInclusive<usize>) -> usize {
    let at = e.posting_directory(FIRST).payload() + 8;
    let mut before = 0;
    for bucket in 0..256 {
        let length = usize::from(e.bytes[at + 64 * (bucket / 60) + 4 + bucket % 60]);
        if count.contains(&length) {
            return before;
        }
        before += if length == 255 { 0 } else { length };
    }
    panic!("no such bucket");
}

macro_rules! rejects {
    ($($name:literal, $of:literal, $what:literal, $change:expr;)*) => {
        /// All of them.
        pub(crate) const OF_POSTINGS: &[Reject] =
            &[$(Reject { name: $name, of: $of, what: $what, change: $change }),*];
    };
}

rejects! {
    "POST-1", "one", "the header counts fewer short entries than slots", |e| {
        e.in_header(FIRST, |e, at| e.set(at + 192, 8, 31));
    };
    "POST-1-lists", "lists", "the header counts more lists than there is room for", |e| {
        e.in_header(FIRST, |e, at| e.set(at + 200, 4, 1000));
    };
    "POST-2", "lists", "a length past the last bucket", |e| {
        e.in_page(e.posting_directory(FIRST), |e, at| e.bytes[at + 8 + 5 * 64 - 1] = 1);
    };
    "POST-2-length", "lists", "a block of the directory is missing", |e| {
        e.shorten(e.posting_directory(FIRST), 64);
    };
    "POST-3", "lists", "a block starts one entry late", |e| {
        e.in_page(e.posting_directory(FIRST), |e, at| e.set(at + 72, 4, e.number(at + 72, 4) + 1));
    };
    "POST-3-first", "lists", "the directory starts one entry late", |e| {
        e.in_page(e.posting_directory(FIRST), |e, at| e.set(at, 8, 1));
    };
    "POST-4", "lists", "the last short entry is missing", |e| e.shorten(e.short_postings(FIRST), 2);
    "POST-4-bits", "one", "more short entries than the place gives", |e| {
        e.in_page(e.short_postings(FIRST), |e, at| e.set(at - 4, 4, 66));
    };
    "POST-5", "lists", "an id that the segment does not have", |e| {
        e.in_page(e.short_postings(FIRST), |e, at| set_entry(e, at, 0, entry(e, at, 0) | ID));
    };
    "POST-5-order", "lists", "two entries of a bucket are the wrong way round", |e| {
        e.in_page(e.short_postings(FIRST), |e, at| {
            let i = first_of(e, 2..=254);
            let (a, b) = (entry(e, at, i), entry(e, at, i + 1));
            set_entry(e, at, i, b);
            set_entry(e, at, i + 1, a);
        });
    };
    "POST-6", "lists", "the zero of a list is not", |e| {
        e.in_page(e.list_table(FIRST), |e, at| e.set(at + 2, 2, 1));
    };
    "POST-6-order", "lists", "two lists of the same value", |e| {
        e.in_page(e.list_table(FIRST), |e, at| {
            e.set(at + 16, 2, e.number(at, 2));
            e.set(at + 20, 4, e.number(at + 4, 4));
        });
    };
    "POST-6-page", "lists", "the last list lies behind the region", |e| {
        let table = e.list_table(FIRST);
        let last = e.payload_length(table) - 16;
        e.in_page(table, |e, at| e.set(at + last + 12, 4, 9000));
    };
    "POST-7", "lists", "the zero of a list page is not", |e| {
        e.in_page(e.list(FIRST, 1), |e, at| e.set(at + 2, 2, 1));
    };
    "POST-7-bits", "lists", "gaps of 33 bits", |e| {
        e.in_page(e.list(FIRST, 1), |e, at| e.bytes[at + 16] = 33);
    };
    "POST-8", "lists", "the ids of a page start above the segment's", |e| {
        e.in_page(e.list(FIRST, 1), |e, at| e.set(at + 12, 4, 520));
    };
    "POST-8-bits", "lists", "the first gap of a page is not 0", |e| {
        let page = e.list(FIRST, 1);
        e.in_page(page, |e, at| {
            let blocks = e.number(at + 8, 4) / 128;
            e.bytes[at + 16 + blocks] ^= 1;
        });
    };
    "POST-9", "lists", "a page of another slot", |e| {
        e.in_page(e.list(FIRST, 1), |e, at| e.set(at, 2, e.number(at, 2) ^ 1));
    };
    "POST-9-length", "lists", "a list is longer than its pages", |e| {
        e.in_page(e.list_table(FIRST), |e, at| e.set(at + 8, 4, e.number(at + 8, 4) + 1));
    };
    "POST-10-short", "lists", "an id in the list of another value", |e| {
        e.in_page(e.short_postings(FIRST), |e, at| {
            let i = first_of(e, 1..=1);
            set_entry(e, at, i, entry(e, at, i) ^ 1);
        });
    };
    "POST-10-low", "one", "a value that the set does not have", |e| {
        e.in_page(e.short_postings(FIRST), |e, at| e.bytes[at] ^= 1);
    };
}
