//! Check: verifies the bytes that the database refers to. Never writes to the database.
//!
//! In: a path and a depth. Out: findings, each with the broken rule, the effect and what to do.
//!
//! - *Quick* reads what opening reads, and both superblocks.
//! - *Full* reads every page, and compares fences and duplicate rows with leaves, and tombstones with their count.
//! - *Deep* also looks up every key through fences and filters, verifies that no key is live twice, and rebuilds
//!   posting lists and the signatures of kept sets to compare them. Large posting lists need space in the system's
//!   temporary directory.

use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use super::check_records;
use crate::error::{Error, Result};
use crate::format::BLOCK;
use crate::format::bytes::Seal;
use crate::format::fence_page::{Child, FencePage};
use crate::format::filter::KeyHash;
use crate::format::superblock::{Slot, Superblock};
use crate::ingest::writer::view;
use crate::sketch::Sketcher;
use crate::store::file_layer::{Access, File, FileLayer};
use crate::store::page_cache::PageCache;
use crate::store::page_source::{Keep, PageSource, Pinned};
use crate::store::range::SegmentCursor;
use crate::store::segment::Segment;
use crate::store::spill::SpillPlace;
use crate::store::state::SegmentView;
use crate::store::state_file;

/// How much a check reads and compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Depth {
    /// What opening reads, and both superblocks.
    Quick,
    /// Every page, and whether the parts of each segment agree.
    Full,
    /// Also every key by lookup, every posting list, and every signature of a kept set.
    Deep,
}

/// One defect that a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Finding {
    /// The number of the segment that has the defect, if it is in one.
    pub extent: Option<u64>,
    /// The offset in the file, in bytes.
    pub offset: u64,
    /// The rule of `format-spec/` that is broken.
    pub rule: &'static str,
    /// What was found.
    pub detail: String,
    /// What the defect means for readers.
    pub effect: &'static str,
    /// What to do.
    pub fix: &'static str,
}

/// What a check found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct CheckReport {
    /// The defects; empty if there are none.
    pub findings: Vec<Finding>,
    /// The number of segments that were checked.
    pub segments: usize,
    /// The number of rows that were checked.
    pub rows: u64,
}

/// The most findings in a report. More would say nothing new about a badly damaged file.
const MOST_FINDINGS: usize = 1000;

/// Checks a database. Damage becomes a finding. An error means that the file could not be read.
pub fn check(layer: &dyn FileLayer, path: &Path, depth: Depth) -> Result<CheckReport> {
    let file = state_file::open(layer, path, Access::Read)?;
    let mut check = Checking { report: CheckReport::default(), depth };
    check.superblocks(&*file, path)?;
    let state = match state_file::read(&*file, path) {
        Ok(state) => state,
        Err(error) => {
            check.note(None, error, "nothing can be read", SALVAGE)?;
            return Ok(check.report);
        }
    };
    let seal = Seal::of(state.superblock.database);
    let cache = Arc::new(PageCache::new(CACHE_BYTES));
    let source = PageSource::new(file, path.into(), seal, cache);
    let scheme = Arc::new(state.manifest.scheme.clone());
    let mut views = Vec::new();
    for entry in &state.manifest.segments {
        check.report.segments += 1;
        match view(entry, &source, &scheme) {
            Ok(view) => {
                let result = check.segment(&view, state.manifest.checkpointed);
                check.or_note(Some(entry.id), result, ROWS_LOST, SALVAGE)?;
                views.push(view);
            }
            Err(error) => {
                check.note(Some(entry.id), error, "the database cannot be opened", SALVAGE)?;
            }
        }
    }
    if depth == Depth::Deep {
        let result = check.no_key_twice(&views);
        check.or_note(None, result, ROWS_LOST, SALVAGE)?;
    }
    Ok(check.report)
}

const CACHE_BYTES: usize = 16 << 20;
const SALVAGE: &str = "restore a copy, or `salvage` what can be read into a new database";
const REPAIR: &str = "`repair` makes it anew from the rows";
const ROWS_LOST: &str = "some rows cannot be read";
const MATCHES_LOST: &str = "searches miss sets that are alike";

/// Bytes of rebuilt posting lists that stay in memory.
const POSTING_BYTES: usize = 32 << 20;

struct Checking {
    report: CheckReport,
    depth: Depth,
}

impl Checking {
    fn note(
        &mut self,
        extent: Option<u64>,
        error: Error,
        effect: &'static str,
        fix: &'static str,
    ) -> Result<()> {
        let (offset, rule, detail) = match error {
            Error::Corrupt { offset, rule, detail, .. } => (offset, rule, detail),
            Error::UnsupportedFormat { rule, .. } => (0, rule, error.to_string()),
            Error::NotADatabase { .. } => (0, "SUPER-5", error.to_string()),
            error => return Err(error),
        };
        if self.report.findings.len() < MOST_FINDINGS {
            let finding = Finding { extent, offset, rule, detail, effect, fix };
            self.report.findings.push(finding);
        }
        Ok(())
    }

    fn or_note(
        &mut self,
        extent: Option<u64>,
        result: Result<()>,
        effect: &'static str,
        fix: &'static str,
    ) -> Result<()> {
        result.or_else(|error| self.note(extent, error, effect, fix))
    }

    /// Checks each superblock by itself.
    fn superblocks(&mut self, file: &dyn File, path: &Path) -> Result<()> {
        for slot in 0..2 {
            let mut block = vec![0; BLOCK];
            let offset = slot * BLOCK as u64;
            let read = file.read_up_to(&mut block, offset);
            let read = read.map_err(|error| Error::io("read", path, error))?;
            block.truncate(read);
            let error = match Superblock::decode(&block) {
                Slot::Valid(_) => continue,
                Slot::Refused(error) => error.shifted(offset),
                Slot::Foreign => {
                    let detail = "there is no superblock".to_string();
                    Error::Corrupt { what: "superblock", offset, rule: "SUPER-1", detail }
                }
            };
            let fix = "opening for writing, or `repair`, writes it anew from the other";
            self.note(None, error, "none while the other superblock is whole", fix)?;
        }
        Ok(())
    }

    /// Checks one segment. Damage in one part ends the check of that part only.
    fn segment(&mut self, view: &SegmentView, checkpointed: u64) -> Result<()> {
        let segment = &view.segment;
        let id = Some(segment.id());
        let last = segment.header().last_sequence;
        if last > checkpointed {
            let detail = format!(
                "its last commit is {last}, and {checkpointed} is the last that is checkpointed"
            );
            self.note(
                id,
                damage(view, "SEG-3", &detail),
                "a later commit has that number too",
                SALVAGE,
            )?;
        }
        let root = segment.root().map(|_| ());
        self.or_note(id, root, "keys are not found", REPAIR)?;
        if self.depth == Depth::Quick {
            return Ok(());
        }
        let hidden = view.tombstones.count().and_then(|hidden| {
            if segment.rows() - hidden == view.live_rows {
                return Ok(());
            }
            let detail =
                format!("{hidden} rows are hidden, not {}", segment.rows() - view.live_rows);
            Err(damage(view, "TOMB-3", &detail))
        });
        self.or_note(id, hidden, "deleted rows may show", SALVAGE)?;
        let before = self.report.findings.len();
        for first in (0..segment.header().ids).step_by(segment.ids_per_page() as usize) {
            let page = segment.signature_page(first, Keep::IfRoom).map(|_| ());
            self.or_note(id, page, "some signatures cannot be read", SALVAGE)?;
        }
        let signatures_are_whole = self.report.findings.len() == before;
        let leaves = self.leaves(view);
        self.or_note(id, leaves, ROWS_LOST, REPAIR)?;
        let duplicates = duplicates(segment);
        self.or_note(id, duplicates, "some rows with equal signatures are not found", REPAIR)?;
        self.postings(segment, signatures_are_whole)?;
        self.sets(segment, signatures_are_whole)?;
        check_records::values(segment, &mut |error, can_be_repaired| {
            let fix = if can_be_repaired { REPAIR } else { SALVAGE };
            self.note(id, error, "some values cannot be read", fix)
        })
    }

    /// Checks kept sets: every page and, in a deep check, whether each signature is that of its set.
    fn sets(&mut self, segment: &Segment, signatures_are_whole: bool) -> Result<()> {
        let keeps = segment.header().elements.is_some();
        let deep = self.depth == Depth::Deep && signatures_are_whole && keeps;
        let sketcher = deep.then(|| Sketcher::new(segment.scheme()));
        check_records::sets(segment, sketcher.as_ref(), &mut |error, can_be_repaired| {
            let fix = if can_be_repaired { REPAIR } else { SALVAGE };
            self.note(Some(segment.id()), error, "some sets cannot be read", fix)
        })
    }

    /// Checks posting lists: every page and, in a deep check, whether they are those of the signatures.
    fn postings(&mut self, segment: &Segment, signatures_are_whole: bool) -> Result<()> {
        let id = Some(segment.id());
        self.or_note(id, segment.check_short_postings(), MATCHES_LOST, REPAIR)?;
        self.or_note(id, segment.check_long_postings(), MATCHES_LOST, REPAIR)?;
        if self.depth < Depth::Deep || !signatures_are_whole {
            return Ok(());
        }
        let directory = Some(Arc::new(std::env::temp_dir()));
        let place = SpillPlace { directory, memory: POSTING_BYTES };
        self.or_note(id, segment.check_postings_anew(&place), MATCHES_LOST, REPAIR)
    }

    /// Reads all leaves through the fences. Checks that they have no gaps, that keys rise, and that the filters are
    /// those of their keys.
    fn leaves(&mut self, view: &SegmentView) -> Result<()> {
        let segment = &view.segment;
        let mut walk =
            Leaves { segment, row: 0, id: 0, key_bytes: 0, last: None, separator: Vec::new() };
        let root = segment.root()?.clone();
        self.fences(view, &root, &mut walk)?;
        if walk.row != segment.rows() || walk.id != segment.header().ids {
            let detail = format!("its leaves have {} rows and {} ids", walk.row, walk.id);
            return Err(damage(view, "LEAF-3", &detail));
        }
        if walk.key_bytes != segment.header().key_bytes {
            let detail = format!("its keys have {} bytes", walk.key_bytes);
            let id = Some(segment.id());
            self.note(id, damage(view, "SEG-2", &detail), "statistics are wrong", REPAIR)?;
        }
        Ok(())
    }

    fn fences(
        &mut self,
        view: &SegmentView,
        fence: &FencePage,
        walk: &mut Leaves<'_>,
    ) -> Result<()> {
        for i in 0..fence.count() {
            let Some(child) = fence.child(i) else { break };
            let leftmost = walk.row == 0;
            if leftmost != fence.separator(i).is_empty() {
                return Err(damage(view, "FENCE-3", "a separator is empty, or is not"));
            }
            walk.separator = fence.separator(i).to_vec();
            if fence.level() > 1 {
                if !fence.filter(i).is_empty() {
                    return Err(damage(view, "FILTER-1", "a filter above the first level"));
                }
                let below = view.segment.child_fence(child, fence.level() - 1)?;
                self.fences(view, &below, walk)?;
            } else {
                self.report.rows += walk.leaf(view, child, fence.filter(i))?;
            }
        }
        Ok(())
    }

    /// Checks that every live key is found by lookup, and in one segment only.
    fn no_key_twice(&mut self, views: &[SegmentView]) -> Result<()> {
        for (i, view) in views.iter().enumerate() {
            let mut cursor = SegmentCursor::new(view, Bound::Unbounded)?;
            while let (Some(key), Some(found)) = (cursor.key(), cursor.found()) {
                let hash = KeyHash::of(key);
                if view.find(key, hash)? != Some(found) {
                    let detail = format!("row {} is not found by its key", found.row);
                    return Err(damage(view, "FENCE-5", &detail));
                }
                for other in &views[i + 1..] {
                    if other.find(key, hash)?.is_some() {
                        let detail = format!("row {} is live in another segment too", found.row);
                        return Err(damage(view, "MAN-7", &detail));
                    }
                }
                cursor.advance()?;
            }
        }
        Ok(())
    }
}

fn damage(view: &SegmentView, rule: &'static str, detail: &str) -> Error {
    let detail = format!("segment {}: {detail}", view.segment.id());
    Error::Corrupt { what: "segment", offset: view.segment.offset(), rule, detail }
}

/// A walk over the leaves: the row, id and key bounds that the next leaf must follow.
struct Leaves<'a> {
    segment: &'a Segment,
    row: u32,
    id: u32,
    key_bytes: u64,
    last: Option<Vec<u8>>,
    separator: Vec<u8>,
}

impl Leaves<'_> {
    fn leaf(&mut self, view: &SegmentView, child: Child, filter: &[u8]) -> Result<u64> {
        let leaf: Pinned<_> = self.segment.leaf(child)?;
        if leaf.first_row() != self.row || leaf.first_id() != self.id {
            let detail =
                format!("the leaf at row {} does not follow row {}", child.first_row, self.row);
            return Err(damage(view, "LEAF-3", &detail));
        }
        let mut hashes = Vec::with_capacity(leaf.count());
        for i in 0..leaf.count() {
            let (prefix, suffix) = leaf.key(i);
            let key = [prefix, suffix].concat();
            let rises = self.last.as_ref().is_none_or(|last| *last < key);
            if !rises {
                return Err(damage(view, "LEAF-7", &format!("row {} is out of order", self.row)));
            }
            // A separator is greater than all keys before its leaf, and not greater than the first key in it.
            let above = self.last.as_ref().is_none_or(|last| i > 0 || *last < self.separator);
            if key < self.separator || !above {
                return Err(damage(
                    view,
                    "FENCE-3",
                    &format!("row {} is behind its fence", self.row),
                ));
            }
            let sequence = self.segment.found(&leaf, i).sequence;
            if sequence > self.segment.header().last_sequence {
                let detail = format!("row {} is of commit {sequence}, above the last", self.row);
                return Err(damage(view, "SEG-3", &detail));
            }
            hashes.push(KeyHash::of(&key));
            self.key_bytes += key.len() as u64;
            self.id += u32::from(leaf.id(i) == self.id);
            self.row += 1;
            self.last = Some(key);
        }
        if crate::format::filter::build(&hashes) != filter {
            return Err(damage(
                view,
                "FILTER-1",
                &format!("the filter before row {} is wrong", self.row),
            ));
        }
        Ok(leaf.count() as u64)
    }
}

/// Checks that the pairs of duplicate rows are those of the leaves.
fn duplicates(segment: &Segment) -> Result<()> {
    let wrong = |row: u32| {
        let detail =
            format!("segment {}: row {row} is no duplicate of that signature", segment.id());
        let (what, offset) = ("page of duplicate rows", segment.offset());
        Error::Corrupt { what, offset, rule: "DUP-4", detail }
    };
    // There are exactly rows - ids pairs, all different (DUP-1, DUP-2). So if each of them is a duplicate row in
    // the leaves, none is missing.
    let mut last = None;
    segment.each_duplicate(&mut |pair| {
        if last.replace(pair.order()).is_some_and(|last| last >= pair.order()) {
            let detail = format!("segment {}: pairs do not rise", segment.id());
            let (what, offset) = ("page of duplicate rows", segment.offset());
            return Err(Error::Corrupt { what, offset, rule: "DUP-2", detail });
        }
        let (leaf, i) = segment.leaf_of_row(pair.row())?;
        if leaf.id(i) == pair.id() && !leaf.is_new(i) { Ok(()) } else { Err(wrong(pair.row())) }
    })
}
