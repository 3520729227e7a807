//! Lists every numeric field of a database file and of a write-ahead log, from the offset tables of `format-spec/`.
//!
//! In: the bytes of a whole file. Out: the offset of each field of each record and page, with its name in the
//! specification. Parts that the specification describes in words (bitmaps, pairs, packed entries) have names of
//! their own here.

use std::ops::Range;

use crate::spec_tables;

const FILE: &str = include_str!("../../../../format-spec/file.md");
const PAGES: &str = include_str!("../../../../format-spec/pages.md");
const SEGMENT: &str = include_str!("../../../../format-spec/segment.md");
const POSTINGS: &str = include_str!("../../../../format-spec/postings.md");
const ELEMENTS: &str = include_str!("../../../../format-spec/elements.md");
const SCHEME: &str = include_str!("../../../../format-spec/scheme.md");
const LOG: &str = include_str!("../../../../format-spec/log.md");
const BATCH: &str = include_str!("../../../../format-spec/batch.md");

/// All tables: the page of the specification, and the heading above the table.
pub const TABLES: [(&str, &str); 16] = [
    (FILE, "Superblock"),
    (FILE, "Commit mark"),
    (FILE, "Manifest"),
    (FILE, "Manifest entry"),
    (SCHEME, "Layout"),
    (PAGES, "Page header"),
    (SEGMENT, "Segment header"),
    (SEGMENT, "Leaf pages"),
    (SEGMENT, "Fence pages"),
    (SEGMENT, "Fence entry"),
    (ELEMENTS, "Segment header of kept sets"),
    (POSTINGS, "Directory pages"),
    (POSTINGS, "List table"),
    (POSTINGS, "List pages"),
    (LOG, "Id file"),
    (LOG, "Part"),
];

/// A numeric field of a file.
#[derive(Debug, Clone)]
pub struct Field {
    pub table: &'static str,
    pub name: String,
    pub at: usize,
    /// The width: 1, 2, 4 or 8 bytes.
    pub width: usize,
    /// The byte range of the record that contains it.
    pub record: Range<usize>,
}

impl Field {
    pub fn value(&self, bytes: &[u8]) -> u64 {
        number(bytes, self.at, self.width)
    }

    /// Returns whether it is a checksum. Checksums are recomputed after every other change.
    pub fn is_checksum(&self) -> bool {
        self.name.contains("checksum") || self.name == "crc"
    }
}

pub fn number(bytes: &[u8], at: usize, width: usize) -> u64 {
    bytes[at..at + width].iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte))
}

/// Collects the fields of a file.
pub struct Fields<'a> {
    bytes: &'a [u8],
    pub found: Vec<Field>,
}

impl<'a> Fields<'a> {
    pub fn new(bytes: &'a [u8]) -> Fields<'a> {
        Fields { bytes, found: Vec::new() }
    }

    fn number(&self, at: usize, width: usize) -> usize {
        number(self.bytes, at, width) as usize
    }

    fn push(
        &mut self,
        table: &'static str,
        name: &str,
        at: usize,
        width: usize,
        of: &Range<usize>,
    ) {
        if at + width <= self.bytes.len() && at + width <= of.end {
            let record = of.clone();
            self.found.push(Field { table, name: name.into(), at, width, record });
        }
    }

    /// Adds the fields of a table for a record at `start`. A field that is not a number is changed at both of its
    /// ends.
    pub fn table(&mut self, table: &'static str, start: usize) {
        let (spec, _) = TABLES.iter().find(|(_, name)| *name == table).expect("a table");
        self.rows(spec, table, start);
    }

    /// Adds the fields of a commit operation at `start`.
    pub fn operation(&mut self, start: usize) {
        self.rows(BATCH, "Commit payload", start);
    }

    fn rows(&mut self, spec: &str, table: &'static str, start: usize) {
        let rows = spec_tables::offsets(spec, table);
        assert!(!rows.is_empty(), "{table}");
        let length = rows.iter().map(|(_, offset, size)| offset + size).max().unwrap_or(0);
        let record = start..start + length;
        for (name, offset, size) in rows {
            let at = start + offset;
            match size {
                1 | 2 | 4 | 8 => self.push(table, &name, at, size, &record),
                16 => self.push(table, &name, at, 8, &record),
                _ if name == "scheme" => {
                    self.table("Layout", at);
                    self.push(table, &name, at, 8, &record);
                }
                _ => {
                    self.push(table, &name, at, 1, &record);
                    self.push(table, &name, at + size - 1, 1, &record);
                }
            }
        }
    }

    /// Returns all fields of a database file.
    pub fn of_file(mut self) -> Vec<Field> {
        [0, 4096].iter().for_each(|at| self.table("Superblock", *at));
        if self.bytes[8192..].starts_with(b"RINGMARK") {
            self.table("Commit mark", 8192);
        }
        let manifest = self.number(56, 8);
        self.table("Manifest", manifest);
        for i in 0..self.number(manifest + 104, 4) {
            let entry = manifest + 112 + 64 * i;
            self.table("Manifest entry", entry);
            let (segment, length) = (self.number(entry + 8, 8), self.number(entry + 16, 8));
            self.pages(segment, length);
            let (tombstones, length) = (self.number(entry + 48, 8), self.number(entry + 56, 8));
            self.pages(tombstones, length);
        }
        self.found
    }

    /// Adds the consecutive pages of an extent.
    fn pages(&mut self, start: usize, length: usize) {
        let mut at = start;
        while at < start + length {
            let payload = at + 24..at + 24 + self.number(at + 20, 4);
            self.table("Page header", at);
            match self.bytes[at + 4] {
                1 => {
                    self.table("Segment header", payload.start);
                    if payload.len() > 208 {
                        self.table("Segment header of kept sets", payload.start + 208);
                    }
                }
                2 => self.ends("Signatures", "word", &payload, 8),
                3 => self.leaf(&payload),
                4 => self.fence(&payload),
                5 => self.ends("Tombstones", "bits", &payload, 1),
                6 => self.ends("Duplicates", "id or row", &payload, 4),
                7 => self.ends("Duplicates directory", "id", &payload, 4),
                8 => {
                    self.ends("Posting directory", "zero", &(payload.start..payload.start + 40), 8);
                    for block in [payload.start + 40, payload.end - 64] {
                        self.table("Directory pages", block);
                        self.ends("Posting directory", "lengths", &(block + 8..block + 64), 8);
                    }
                }
                9 => self.ends("Short postings", "entry", &payload, 4),
                10 => {
                    let last = payload.end - 16;
                    [payload.start, last].iter().for_each(|at| self.table("List table", *at));
                }
                11 => {
                    self.table("List pages", payload.start);
                    self.ends("List pages", "bits", &(payload.start + 16..payload.end), 1);
                }
                16 => self.records("Sets", &payload),
                17 => self.starts("Sets directory", &payload),
                18 => self.records("Values", &payload),
                19 => self.starts("Values directory", &payload),
                kind => panic!("no page is of kind {kind}"),
            }
            at = payload.end.next_multiple_of(64);
        }
    }

    /// Adds counts, elements, widths and gaps of the first sets, or sizes and bytes of the first values, and the last
    /// bytes of the payload.
    fn records(&mut self, table: &'static str, payload: &Range<usize>) {
        for at in payload.clone().take(30) {
            self.push(table, "byte", at, 1, payload);
        }
        self.ends(table, "bytes", payload, 4);
    }

    /// Adds the first two and the last start of a directory.
    fn starts(&mut self, table: &'static str, payload: &Range<usize>) {
        for start in [payload.start, payload.start + 5, payload.end - 5] {
            self.push(table, "start", start, 4, payload);
            self.push(table, "start", start + 4, 1, payload);
        }
    }

    /// Adds the first two and the last two numbers of an array.
    fn ends(&mut self, table: &'static str, name: &str, of: &Range<usize>, width: usize) {
        for at in [of.start, of.start + width, of.end - 2 * width, of.end - width] {
            if at >= of.start {
                self.push(table, name, at, width, of);
            }
        }
    }

    fn leaf(&mut self, payload: &Range<usize>) {
        let at = payload.start;
        self.table("Leaf pages", at);
        let [count, prefix, duplicates] = [8, 10, 14].map(|offset| self.number(at + offset, 2));
        let ends = at + 24 + prefix;
        let differ = self.number(at + 12, 2) == 0xFFFF;
        let sequences = ends + if differ { 2 * count } else { 0 };
        let width = usize::from(self.bytes[at + 16]);
        if differ {
            self.ends("Leaf pages", "suffix end", &(ends..sequences), 2);
        }
        let duplicate = sequences + count * width;
        if width > 0 {
            self.ends("Leaf pages", "sequence", &(sequences..duplicate), 1);
        }
        for at in [duplicate, (duplicate + 6 * duplicates).saturating_sub(6)] {
            if duplicates > 0 {
                self.push("Leaf pages", "duplicate place", at, 2, payload);
                self.push("Leaf pages", "duplicate id", at + 2, 4, payload);
            }
        }
        self.ends("Leaf pages", "suffix", &(duplicate + 6 * duplicates..payload.end), 1);
    }

    fn fence(&mut self, payload: &Range<usize>) {
        let at = payload.start;
        self.table("Fence pages", at);
        let count = self.number(at + 4, 2);
        for i in [0, 1, count / 2, count - 1] {
            self.table("Fence entry", at + 8 + 20 * i.min(count - 1));
        }
        let separators = at + 8 + 20 * count;
        if separators < payload.end {
            self.ends("Fence pages", "separator or filter", &(separators..payload.end), 1);
        }
    }
}
