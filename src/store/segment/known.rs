//! Finds equal signatures while a segment is written, so that each is stored once.
//!
//! In: hashes and ids. Out: the id of an equal signature. A hash only proposes an id, and the caller compares the
//! signatures.
//!
//! The table is bounded. When it is full, it still finds the signatures in it, and later ones count as new. So a
//! segment of many millions of rows may store a signature twice, which costs space and nothing else.

use hashbrown::HashTable;

/// The most signatures remembered, in at most 36 MiB.
pub(crate) const CAPACITY: usize = 1 << 21;

/// A signature of the segment. The code is here so that comparing it needs no page read.
#[derive(Debug, Clone, Copy)]
struct Entry {
    hash: u64,
    id: u32,
    code: u32,
}

/// Signatures by hash.
#[derive(Debug, Default)]
pub struct Known {
    table: HashTable<Entry>,
}

impl Known {
    /// Returns the id with this hash and cardinality code for which `is_equal` holds.
    pub fn find(&self, hash: u64, code: u32, mut is_equal: impl FnMut(u32) -> bool) -> Option<u32> {
        let proposed = |e: &Entry| e.hash == hash && e.code == code && is_equal(e.id);
        self.table.find(hash, proposed).map(|entry| entry.id)
    }

    /// Remembers an id, if there is room.
    pub fn insert(&mut self, hash: u64, code: u32, id: u32) {
        if self.table.len() < CAPACITY {
            self.table.insert_unique(hash, Entry { hash, id, code }, |entry| entry.hash);
        }
    }
}
