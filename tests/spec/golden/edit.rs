//! Edits bytes of a database file so that it breaks one rule, and recomputes the checksums so that it breaks only
//! this one. Offsets come from `format-spec/`, not from the library's structs.

use std::ops::Range;

use ringer::internals::format::bytes::Seal;

/// Offsets of parts of the file, see `format-spec/file.md`.
const SUPERBLOCKS: [usize; 2] = [0, 4096];
const MANIFEST_ENTRIES: usize = 112;

/// A file that is being edited.
pub(crate) struct Edit {
    /// The bytes of the file.
    pub(crate) bytes: Vec<u8>,
}

/// The offset of a page. See `format-spec/pages.md`.
#[derive(Clone, Copy)]
pub(crate) struct Page(pub(crate) usize);

/// The index of a segment in the manifest.
#[derive(Clone, Copy)]
pub(crate) struct Segment(pub(crate) usize);

impl Edit {
    /// Reads a little-endian number of `width` bytes.
    pub(crate) fn number(&self, at: usize, width: usize) -> usize {
        self.bytes[at..at + width].iter().rev().fold(0, |n, byte| n << 8 | usize::from(*byte))
    }

    /// Writes the number at an offset.
    pub(crate) fn set(&mut self, at: usize, width: usize, value: usize) {
        self.bytes[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
    }

    fn sealed(&self, bytes: Range<usize>) -> usize {
        let database = self.bytes[32..48].try_into().expect("16 bytes");
        Seal::of(database).checksum(&self.bytes[bytes]) as usize
    }

    /// Changes both superblocks and recomputes their checksums.
    pub(crate) fn superblocks(&mut self, change: impl Fn(&mut Edit, usize)) {
        SUPERBLOCKS.iter().for_each(|at| self.superblock(*at, &change));
    }

    /// Changes one superblock and recomputes its checksum.
    pub(crate) fn superblock(&mut self, at: usize, change: impl Fn(&mut Edit, usize)) {
        change(self, at);
        let checksum = crc32fast::hash(&self.bytes[at..at + 4092]) as usize;
        self.set(at + 4092, 4, checksum);
    }

    /// Returns the offset of the manifest.
    pub(crate) fn manifest(&self) -> usize {
        self.number(56, 8)
    }

    /// Changes the manifest, and recomputes its checksum and the superblocks.
    pub(crate) fn in_manifest(&mut self, change: impl Fn(&mut Edit, usize)) {
        let at = self.manifest();
        change(self, at);
        let end = at + self.number(64, 4) - 4;
        let checksum = self.sealed(at..end);
        self.set(end, 4, checksum);
        self.superblocks(|edit, at| edit.set(at + 68, 4, checksum));
    }

    /// Returns the offset of a segment's manifest entry.
    pub(crate) fn entry(&self, segment: Segment) -> usize {
        self.manifest() + MANIFEST_ENTRIES + 64 * segment.0
    }

    /// Returns the header page of a segment.
    pub(crate) fn header(&self, segment: Segment) -> Page {
        Page(self.number(self.entry(segment) + 8, 8))
    }

    /// Reads a number from the payload of the header page.
    fn of_header(&self, segment: Segment, at: usize, width: usize) -> usize {
        self.number(self.header(segment).payload() + at, width)
    }

    /// Returns the first signature page.
    pub(crate) fn signatures(&self, segment: Segment) -> Page {
        Page(self.header(segment).0 + 256)
    }

    fn keys(&self, segment: Segment, number: usize) -> Page {
        Page(self.header(segment).0 + self.of_header(segment, 128, 8) + 64 * number)
    }

    /// Returns the root fence page.
    pub(crate) fn root(&self, segment: Segment) -> Page {
        self.keys(segment, self.of_header(segment, 168, 4))
    }

    /// Returns the offset of a leaf's fence entry. Requires fences of one level.
    pub(crate) fn fence_entry(&self, segment: Segment, leaf: usize) -> usize {
        self.root(segment).payload() + 8 + 20 * leaf
    }

    /// Returns a leaf. Requires fences of one level.
    pub(crate) fn leaf(&self, segment: Segment, leaf: usize) -> Page {
        self.keys(segment, self.number(self.fence_entry(segment, leaf), 4))
    }

    /// Returns the first page of duplicate rows.
    pub(crate) fn duplicates(&self, segment: Segment) -> Page {
        Page(self.header(segment).0 + self.of_header(segment, 144, 8))
    }

    /// Returns the directory of duplicate rows, which follows one page of pairs.
    pub(crate) fn directory(&self, segment: Segment) -> Page {
        let pairs = self.duplicates(segment);
        Page(pairs.0 + self.whole(pairs))
    }

    /// Returns the page at an offset within the postings.
    fn postings(&self, segment: Segment, start: usize) -> Page {
        Page(self.header(segment).0 + self.of_header(segment, 176, 8) + start)
    }

    /// Returns page `i` of the posting directory. All pages before it are full.
    pub(crate) fn posting_directory_page(&self, segment: Segment, i: usize) -> Page {
        self.postings(segment, 8192 * i)
    }

    /// Returns the posting directory, of one page.
    pub(crate) fn posting_directory(&self, segment: Segment) -> Page {
        self.postings(segment, 0)
    }

    /// Returns the first page of short postings, after a directory of one page.
    pub(crate) fn short_postings(&self, segment: Segment) -> Page {
        let directory = self.posting_directory(segment);
        Page(directory.0 + self.whole(directory))
    }

    /// Returns the list table, of one page, after one short page.
    pub(crate) fn list_table(&self, segment: Segment) -> Page {
        let short = self.short_postings(segment);
        Page(short.0 + self.whole(short))
    }

    /// Returns the first page of a list.
    pub(crate) fn list(&self, segment: Segment, i: usize) -> Page {
        let entry = self.list_table(segment).payload() + 16 * i;
        self.postings(segment, 64 * self.number(entry + 12, 4))
    }

    /// Returns a page of kept sets.
    pub(crate) fn sets(&self, segment: Segment, i: usize) -> Page {
        Page(self.header(segment).0 + self.of_header(segment, 208, 8) + 8192 * i)
    }

    /// Returns the number of bytes of all kept sets.
    pub(crate) fn set_bytes(&self, segment: Segment) -> usize {
        self.of_header(segment, 224, 8)
    }

    /// Returns the directory of kept sets, of one page.
    pub(crate) fn sets_directory(&self, segment: Segment) -> Page {
        let last = self.sets(segment, self.set_bytes(segment) / 8168);
        Page(last.0 + self.whole(last))
    }

    /// Returns a page of values, in a database that keeps no sets.
    pub(crate) fn values(&self, segment: Segment, i: usize) -> Page {
        let length = self.of_header(segment, 184, 8);
        Page(self.postings(segment, length).0 + 8192 * i)
    }

    /// Returns the number of bytes of all encoded values.
    pub(crate) fn value_bytes(&self, segment: Segment) -> usize {
        self.of_header(segment, 112, 8)
    }

    /// Returns the directory of values, of one page.
    pub(crate) fn values_directory(&self, segment: Segment) -> Page {
        let last = self.values(segment, self.value_bytes(segment) / 8168);
        Page(last.0 + self.whole(last))
    }

    /// Returns the first page of the tombstone bitmap.
    pub(crate) fn tombstones(&self, segment: Segment) -> Page {
        Page(self.number(self.entry(segment) + 48, 8))
    }

    /// Returns the length of a page with header and padding.
    pub(crate) fn whole(&self, page: Page) -> usize {
        (24 + self.payload_length(page)).next_multiple_of(64)
    }

    /// Returns the length of a page's payload.
    pub(crate) fn payload_length(&self, page: Page) -> usize {
        self.number(page.0 + 20, 4)
    }

    /// Changes a page and recomputes its checksum.
    pub(crate) fn in_page(&mut self, page: Page, change: impl Fn(&mut Edit, usize)) {
        change(self, page.payload());
        let checksum = self.sealed(page.0 + 4..page.0 + self.whole(page));
        self.set(page.0, 4, checksum);
    }

    /// Changes the header page of a segment, and recomputes its checksum and the manifest.
    pub(crate) fn in_header(&mut self, segment: Segment, change: impl Fn(&mut Edit, usize)) {
        let page = self.header(segment);
        self.in_page(page, change);
        let checksum = self.number(page.0, 4);
        self.in_manifest(|edit, _| edit.set(edit.entry(segment) + 24, 4, checksum));
    }

    /// Shortens the payload of a page.
    pub(crate) fn shorten(&mut self, page: Page, by: usize) {
        self.in_page(page, |edit, payload| {
            let length = edit.payload_length(page) - by;
            edit.bytes[payload + length..payload + length + by].fill(0);
            edit.set(page.0 + 20, 4, length);
        });
    }

    /// Returns the difference to `old` as a patch of `format-spec/rejects/`.
    pub(crate) fn patch(&self, old: &[u8], name: &str, what: &str) -> String {
        let mut text = format!("# {what}\nof {name}.ringer\n");
        if self.bytes.len() < old.len() {
            text += &format!("length {}\n", self.bytes.len());
        }
        let differs = |at: &usize| self.bytes[*at] != old[*at];
        let mut at = 0;
        while let Some(start) = (at..self.bytes.len()).find(differs) {
            let same = (start..self.bytes.len()).find(|at| !differs(at));
            at = same.unwrap_or(self.bytes.len());
            let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
            text += &format!("{start} {} {}\n", hex(&old[start..at]), hex(&self.bytes[start..at]));
        }
        text
    }
}

impl Page {
    /// Returns the offset of the payload.
    pub(crate) fn payload(self) -> usize {
        self.0 + 24
    }
}

/// Applies a patch to a golden file.
pub(crate) fn apply(patch: &str, golden: impl Fn(&str) -> Vec<u8>) -> Vec<u8> {
    let bytes = |text: &str| -> Vec<u8> {
        let byte = |at| u8::from_str_radix(&text[at..at + 2], 16).expect("a byte");
        (0..text.len()).step_by(2).map(byte).collect()
    };
    let mut file = Vec::new();
    for line in patch.lines() {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["#", ..] => {}
            ["of", name] => file = golden(name),
            ["length", length] => file.truncate(length.parse().expect("a length")),
            [at, old, new] => {
                let at: usize = at.parse().expect("an offset");
                let (old, new) = (bytes(old), bytes(new));
                assert_eq!(file[at..at + old.len()], old, "made of another golden file");
                file[at..at + new.len()].copy_from_slice(&new);
            }
            _ => panic!("{line:?} is no line of a patch"),
        }
    }
    file
}
