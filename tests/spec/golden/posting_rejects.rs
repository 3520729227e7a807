//! Files whose postings break one rule each. Numbers are offsets of `format-spec/postings.md`.
//!
//! `lists.ringer` has 520 ids and 4 slots of 8 bits: 256 buckets per slot in one directory page of 12 blocks, 90 in
//! each but the last, ids of 10 bits in one short page, and one page of the list table.

use super::edit::{Edit, Segment};
use super::rejects::Reject;

const FIRST: Segment = Segment(0);

/// Bits of a short entry, which is an id.
const WIDTH: usize = 10;
const ID: usize = 0x3FF;

fn entry(e: &Edit, at: usize, i: usize) -> usize {
    e.number(at + WIDTH * i / 8, 2) >> (WIDTH * i % 8) & ID
}

fn set_entry(e: &mut Edit, at: usize, i: usize, entry: usize) {
    let (at, shift) = (at + WIDTH * i / 8, WIDTH * i % 8);
    let others = e.number(at, 2) & !(ID << shift);
    e.set(at, 2, others | entry << shift);
}

/// Offsets of the blocks and of their lengths in the directory's payload.
const BLOCKS: usize = 40;
const LENGTHS: usize = 8;

/// Returns the first entry of the first bucket with `count` entries.
fn first_of(e: &Edit, count: std::ops::RangeInclusive<usize>) -> usize {
    let at = e.posting_directory(FIRST).payload() + BLOCKS;
    let mut before = 0;
    for block in 0..11 {
        let lengths = at + 64 * block + LENGTHS;
        let (mut bit, mut buckets) = (0, 0);
        while buckets < 90 {
            let one = |bit: usize| e.bytes[lengths + bit / 8] >> (bit % 8) & 1 == 1;
            let length = (bit..).take_while(|bit| one(*bit)).count();
            if count.contains(&length) {
                return before;
            }
            (before, bit, buckets) = (before + length, bit + length + 1, buckets + 1);
        }
    }
    panic!("no such bucket");
}

macro_rules! rejects {
    ($($name:literal, $of:literal, $what:literal, $change:expr;)*) => {
        /// All rejects of postings.
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
    "POST-2", "lists", "an entry past the last bucket", |e| {
        e.in_page(e.posting_directory(FIRST), |e, at| e.bytes[at + BLOCKS + 12 * 64 - 1] = 0x80);
    };
    "POST-2-length", "lists", "a block of the directory is missing", |e| {
        e.shorten(e.posting_directory(FIRST), 64);
    };
    "POST-2-zero", "lists", "a byte before the blocks is not zero", |e| {
        e.in_page(e.posting_directory(FIRST), |e, at| e.bytes[at + BLOCKS - 1] = 1);
    };
    "POST-3", "lists", "a block starts one entry late", |e| {
        e.in_page(e.posting_directory(FIRST), |e, at| {
            let start = at + BLOCKS + 64;
            e.set(start, 6, e.number(start, 6) + 1);
        });
    };
    "POST-3-first", "lists", "the directory starts one entry late", |e| {
        e.in_page(e.posting_directory(FIRST), |e, at| e.set(at + BLOCKS, 6, 1));
    };
    "POST-3-long", "lists", "the last block has a long bucket where it has none", |e| {
        e.in_page(e.posting_directory(FIRST), |e, at| e.set(at + BLOCKS + 11 * 64 + 6, 2, 1 << 15));
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
