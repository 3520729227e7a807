//! The parts of a database that are searched one after the other: segments and memtables. Each numbers its
//! distinct signatures from 0, and knows the keys that have them.

use crate::error::Result;
use crate::format::signature_page::SignaturePage;
use crate::kernel::{Row, Rows};
use crate::store::memtable::FreshView;
use crate::store::page_source::{CachedPage, Keep, Pinned, View};
use crate::store::page_table::PageTableView;
use crate::store::state::{SegmentView, State};

/// Rows of a block of a memtable.
const BLOCK: u32 = 1024;

/// Signatures that can be looked at, and the keys that have them.
///
/// What is looked at must be loaded before: `load` replaces what was loaded by an earlier call.
pub(super) trait Part {
    /// How many signatures there are.
    fn signatures(&self) -> u32;

    /// Makes some signatures readable.
    fn load(&mut self, ids: &[u32], keep: Keep) -> Result<()>;

    /// A signature that is loaded.
    fn row(&self, id: u32) -> Row<'_>;

    /// Its cardinality code.
    fn code(&self, id: u32) -> u32;

    /// Whether it is that of the empty set, which is never a match.
    fn is_empty(&self, id: u32) -> bool;

    /// Signatures of a block: what a scan loads at a time. All blocks but the last have as many.
    fn block_length(&self) -> u32;

    /// The signatures of the block that starts with an id, which is loaded.
    fn block(&self, first: u32) -> Rows<'_>;

    /// The same for a block that need not be loaded: `None` if it is not in memory, or there is none.
    fn block_in_memory(&self, first: u32) -> Option<Rows<'_>>;

    /// Whether each id has one key, larger than those of the ids before.
    fn keys_rise(&self) -> bool;

    /// The keys that have a signature and are live, rising, one after the other until `visit` says that it is
    /// enough.
    fn keys(&self, id: u32, visit: &mut dyn FnMut(&[u8]) -> bool) -> Result<()>;
}

/// A segment.
pub(super) struct SegmentPart<'a> {
    state: &'a State,
    pub(super) view: &'a SegmentView,
    resident: PageTableView<'a, CachedPage>,
    /// Pages that were not resident when they were needed.
    loaded: Vec<(u32, Pinned<SignaturePage>)>,
    per_page: u32,
}

impl<'a> SegmentPart<'a> {
    pub(super) fn new(state: &'a State, view: &'a SegmentView) -> SegmentPart<'a> {
        SegmentPart {
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
        &loaded.expect("signatures are loaded before they are looked at").1
    }
}

impl Part for SegmentPart<'_> {
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
        row.expect("a page holds as many signatures as its place gives")
    }

    fn code(&self, id: u32) -> u32 {
        let code = self.page(id / self.per_page).code((id % self.per_page) as usize);
        code.expect("a page holds as many codes as its place gives")
    }

    fn is_empty(&self, id: u32) -> bool {
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

    fn keys_rise(&self) -> bool {
        // Then the row of an id is the id.
        self.view.segment.header().copy_count() == 0
    }

    /// Rows of an id rise, and so do their keys.
    fn keys(&self, id: u32, visit: &mut dyn FnMut(&[u8]) -> bool) -> Result<()> {
        let SegmentView { segment, liveness, .. } = self.view;
        let mut look = |row| {
            if liveness.is_hidden(row)? {
                return Ok(true);
            }
            let key = segment.key_of_row(row)?;
            let fresh = self.state.memtables().any(|table| table.has(&key, self.state.sequence));
            Ok(fresh || visit(&key))
        };
        if self.keys_rise() {
            return look(id).map(|_| ());
        }
        segment.rows_of_id(id, &mut look)
    }
}

/// A memtable.
pub(super) struct FreshPart<'a> {
    state: &'a State,
    pub(super) view: FreshView<'a>,
    /// How many memtables are newer: what they say of a key goes before.
    newer: usize,
}

impl<'a> FreshPart<'a> {
    /// Memtable `i` of a state, counted from the newest.
    pub(super) fn new(state: &'a State, i: usize, view: FreshView<'a>) -> FreshPart<'a> {
        FreshPart { state, view, newer: i }
    }
}

impl Part for FreshPart<'_> {
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

    fn is_empty(&self, _: u32) -> bool {
        // Empty sets have no signature there.
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

    fn keys_rise(&self) -> bool {
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
