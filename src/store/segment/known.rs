//! Which signatures a segment being written has already: so that equal ones are stored once.
//!
//! The table is bounded. When it is full, signatures in it are still found, and later ones are taken as
//! new: a segment of many millions of rows may store a signature twice, which costs space and nothing
//! else. A hash only proposes; the caller compares the signatures.

use hashbrown::HashTable;

/// Most signatures remembered: 36 MiB at the most.
const CAPACITY: usize = 1 << 21;

/// A signature of the segment: enough to propose it, and its code, which its page is not asked for.
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
    /// The id that was remembered with a hash and a cardinality code, if `is_equal` to what is looked for.
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
