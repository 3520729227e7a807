//! Access to the signatures and keys of one segment or memtable. Each numbers its distinct signatures from 0.

use crate::error::Result;
use crate::format::signature_page::SignaturePage;
use crate::kernel::{Row, Rows};
use crate::store::memtable::FreshView;
use crate::store::page_source::{CachedPage, Keep, Pinned, View};
use crate::store::page_table::PageTableView;
use crate::store::state::{SegmentView, State};

/// Signatures in a block of a memtable.
const BLOCK: u32 = 1024;

/// Signatures, and the live keys that have them.
///
/// A signature must be loaded before it is read. Each `load` replaces what an earlier one loaded.
pub(super) trait SignatureSource {
    /// How many signatures there are.
    fn signatures(&self) -> u32;

    /// Makes signatures readable.
    fn load(&mut self, ids: &[u32], keep: Keep) -> Result<()>;

    /// A loaded signature.
    fn row(&self, id: u32) -> Row<'_>;

    /// The cardinality code of a loaded signature.
    fn code(&self, id: u32) -> u32;

    /// Whether a signature is that of the empty set, which never matches.
    fn is_empty_set(&self, id: u32) -> bool;

    /// Signatures in a block, which is what a scan loads at a time. The last block may be shorter.
    fn block_length(&self) -> u32;

    /// The block that starts with signature `first`, which must be loaded.
    fn block(&self, first: u32) -> Rows<'_>;

    /// The same for a block that need not be loaded; `None` if it is not in memory, or does not exist.
    fn block_in_memory(&self, first: u32) -> Option<Rows<'_>>;

    /// Whether each id has one key, larger than the keys of smaller ids.
    fn keys_ascend(&self) -> bool;

    /// Visits the live keys of a signature in ascending order, until `visit` returns `false`.
    fn keys(&self, id: u32, visit: &mut dyn FnMut(&[u8]) -> bool) -> Result<()>;
}

/// The signatures of a segment.
pub(super) struct SegmentSource<'a> {
    state: &'a State,
    pub(super) view: &'a SegmentView,
    resident: PageTableView<'a, CachedPage>,
    /// Pages that were not resident when they were needed.
    loaded: Vec<(u32, Pinned<SignaturePage>)>,
    per_page: u32,
}

impl<'a> SegmentSource<'a> {
    pub(super) fn new(state: &'a State, view: &'a SegmentView) -> SegmentSource<'a> {
        SegmentSource {
            state,
            view,
            resident: view.segment.tables().signatures.view(),
            loaded: Vec::new(),
            per_page: view.segment.ids_per_page(),
        }
    }

    fn page(&self, page: u32) -> &SignaturePage {
        if let Some(resident) = self.resident.get(page).and_then(|page| SignaturePage::of(page)) {
            return resident;
        }
        let loaded = self.loaded.iter().find(|(number, _)| *number == page);
        &loaded.expect("signatures are loaded before they are read").1
    }
}

impl SignatureSource for SegmentSource<'_> {
    fn signatures(&self) -> u32 {
        self.view.segment.header().ids
    }

    fn load(&mut self, ids: &[u32], keep: Keep) -> Result<()> {
        self.loaded.clear();
        let mut last = None;
        for id in ids {
            let page = id / self.per_page;
            if last.replace(page) == Some(page) {
                continue;
            }
            match self.resident.get(page) {
                Some(resident) => resident.mark_used(),
                None if self.loaded.iter().any(|(number, _)| *number == page) => {}
                None => {
                    let (pinned, _) = self.view.segment.signature_page(*id, keep)?;
                    self.loaded.push((page, pinned));
                }
            }
        }
        Ok(())
    }

    fn row(&self, id: u32) -> Row<'_> {
        let row = self.page(id / self.per_page).row((id % self.per_page) as usize);
        row.expect("the page holds this signature")
    }

    fn code(&self, id: u32) -> u32 {
        let code = self.page(id / self.per_page).code((id % self.per_page) as usize);
        code.expect("the page holds this code")
    }

    fn is_empty_set(&self, id: u32) -> bool {
        self.view.segment.is_empty_id(id)
    }

    fn block_length(&self) -> u32 {
        self.per_page
    }

    fn block(&self, first: u32) -> Rows<'_> {
        let rows = self.page(first / self.per_page).rows(&self.state.scheme);
        rows.expect("a page has the shape of its scheme")
    }

    fn block_in_memory(&self, first: u32) -> Option<Rows<'_>> {
        let page = self.resident.get(first / self.per_page)?;
        SignaturePage::of(page)?.rows(&self.state.scheme)
    }

    fn keys_ascend(&self) -> bool {
        // Without duplicate rows, the row of an id is the id.
        self.view.segment.header().duplicate_count() == 0
    }

    /// The rows of an id ascend, and so do their keys.
    fn keys(&self, id: u32, visit: &mut dyn FnMut(&[u8]) -> bool) -> Result<()> {
        let SegmentView { segment, tombstones, .. } = self.view;
        let mut visit_row = |row| {
            if tombstones.contains(row)? {
                return Ok(true);
            }
            let key = segment.key_of_row(row)?;
            // A memtable has a newer version of the key, or its deletion.
            let replaced = self.state.memtables().any(|table| table.has(&key, self.state.sequence));
            Ok(replaced || visit(&key))
        };
        if self.keys_ascend() {
            return visit_row(id).map(|_| ());
        }
        segment.rows_of_id(id, &mut visit_row)
    }
}

/// The signatures of a memtable.
pub(super) struct MemtableSource<'a> {
    state: &'a State,
    pub(super) view: FreshView<'a>,
    /// How many memtables are newer. Their versions of a key hide this one's.
    newer: usize,
}

impl<'a> MemtableSource<'a> {
    /// Memtable `i` of a state, counted from the newest.
    pub(super) fn new(state: &'a State, i: usize, view: FreshView<'a>) -> MemtableSource<'a> {
        MemtableSource { state, view, newer: i }
    }
}

impl SignatureSource for MemtableSource<'_> {
    fn signatures(&self) -> u32 {
        self.view.signatures()
    }

    fn load(&mut self, _: &[u32], _: Keep) -> Result<()> {
        Ok(())
    }

    fn row(&self, id: u32) -> Row<'_> {
        self.view.rows().row(id as usize)
    }

    fn code(&self, id: u32) -> u32 {
        self.view.code(id)
    }

    fn is_empty_set(&self, _: u32) -> bool {
        // A memtable stores no signature for empty sets.
        false
    }

    fn block_length(&self) -> u32 {
        BLOCK
    }

    fn block(&self, first: u32) -> Rows<'_> {
        let end = first.saturating_add(BLOCK).min(self.signatures());
        self.view.rows().range(first as usize, end as usize)
    }

    fn block_in_memory(&self, first: u32) -> Option<Rows<'_>> {
        (first < self.signatures()).then(|| self.block(first))
    }

    fn keys_ascend(&self) -> bool {
        false
    }

    fn keys(&self, id: u32, visit: &mut dyn FnMut(&[u8]) -> bool) -> Result<()> {
        let sequence = self.state.sequence;
        for key in self.view.keys_of(id, sequence) {
            let newer = self.state.memtables().take(self.newer);
            if !newer.into_iter().any(|table| table.has(key, sequence)) && !visit(key) {
                break;
            }
        }
        Ok(())
    }
}
