//! Salvage: copies every row that can be verified from a damaged database into a new one.
//!
//! In: a damaged file, which is not changed. Out: a new database and a report. With a readable manifest, salvage
//! takes the live rows of its segments. Without one, it searches the file for segments and takes the row with the
//! highest sequence for each key; deleted rows may come back then. It also replays the log as far as it can be read.
//! Bytes that the disk cannot read count as damage.

use std::path::Path;
use std::sync::Arc;

use super::failing_disk::{FailingDisk, is_of_the_disk};
use super::{create, recovery};
use crate::error::{Error, Result};
use crate::format::bytes::Seal;
use crate::format::kept_set::KeptShape;
use crate::format::leaf_page::LeafPage;
use crate::format::page::PageKind;
use crate::format::segment_header::Claim;
use crate::format::{DATA_START, UNIT};
use crate::ingest::BulkLoad;
use crate::options::Options;
use crate::scheme::Scheme;
use crate::sketch::{Signature, Sketcher};
use crate::store::companions::{Companion, anchored};
use crate::store::file_layer::{Access, File, FileLayer, Rights};
use crate::store::log::{self, Found, LogId};
use crate::store::memtable::Memtable;
use crate::store::new_file::NewFile;
use crate::store::page_cache::PageCache;
use crate::store::page_source::{Keep, PageSource};
use crate::store::segment::records::{SetReader, ValueReader};
use crate::store::segment::rows::SignatureCursor;
use crate::store::segment::scan::LeafScan;
use crate::store::segment::{Segment, Tombstones};
use crate::store::state_file::{self, FileState};

/// What a salvage saved, and what was lost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SalvageReport {
    /// Sets that are in the new database.
    pub sets: u64,
    /// Segments that were read.
    pub segments: usize,
    /// Segments whose headers could not be read. None of their rows was saved.
    pub segments_lost: usize,
    /// Rows that were lost because only their keys could be read, not their signatures or kept sets.
    pub rows_without_signature: u64,
    /// Rows that were saved without their values, because those could not be read.
    pub rows_without_value: u64,
    /// Rows that were lost in damaged leaf pages.
    pub rows_without_key: u64,
    /// Commits that were replayed from the log.
    pub commits_replayed: u64,
    /// The first and last acknowledged commit that could not be read.
    pub commits_lost: Option<(u64, u64)>,
    /// What was wrong with the log, if commits may be lost.
    pub log_damage: Option<String>,
    /// Bytes of the file that the disk could not read, in blocks of 4,096. Rows in them may be lost.
    pub bytes_unreadable: u64,
    /// Whether deleted rows may have come back.
    pub deletions_may_return: bool,
}

/// Copies everything readable from `source` into a new database.
pub fn salvage(
    layer: &Arc<dyn FileLayer>,
    source: &Path,
    target: &Path,
    options: Options,
) -> Result<SalvageReport> {
    let disk = Arc::new(FailingDisk::new(state_file::open(&**layer, source, Access::Read)?));
    let file: Arc<dyn File> = Arc::clone(&disk) as Arc<dyn File>;
    let mut report = SalvageReport::default();
    let state = match state_file::read(&*file, source) {
        Ok(state) => Some(state),
        Err(Error::Corrupt { .. } | Error::NotADatabase { .. }) => None,
        Err(error) => return Err(error),
    };
    let found = match &state {
        Some(state) => from_manifest(&file, source, state, &mut report),
        None => from_scan(&file, source, &mut report)?,
    };
    let Some((scheme, segments)) = found else {
        return Err(match disk.first_error() {
            Some(error) => Error::io("read", source, error),
            None => Error::NotADatabase { path: source.into() },
        });
    };
    // Companion files are beside the file itself, not beside a link to it.
    let own = layer.canonical(source).map_err(|error| Error::io("open", source, error))?;
    let beside = anchored(layer, &own)?;
    let fresh = fresh(&beside, &own, state.as_ref(), &scheme, &mut report)?;
    // The new file is filled under a temporary name, so that a file with the target's name is complete (STEP-2).
    let rights = file.rights().map_err(|error| Error::io("look at", source, error))?;
    let database = create::new_id();
    let new = NewFile::create(layer, target, database, rights.map(Rights::of_copy))?;
    state_file::write_new(new.file(), new.path(), database, &scheme)?;
    let writer = Arc::new(create::open_new(&new, options)?);
    let mut load = BulkLoad::new(Arc::clone(&writer));
    merge(&segments, &fresh, &mut load, &mut report)?;
    report.sets = load.commit()?.stored as u64;
    report.bytes_unreadable = disk.unreadable();
    writer.close_new()?;
    new.name()?;
    Ok(report)
}

type Segments = Option<(Arc<Scheme>, Vec<(Segment, Tombstones)>)>;

fn from_manifest(
    file: &Arc<dyn File>,
    path: &Path,
    state: &FileState,
    report: &mut SalvageReport,
) -> Segments {
    let seal = Seal::of(state.superblock.database);
    let source =
        PageSource::new(Arc::clone(file), path.into(), seal, Arc::new(PageCache::new(CACHE)));
    let scheme = Arc::new(state.manifest.scheme.clone());
    let mut segments = Vec::new();
    for entry in &state.manifest.segments {
        match Segment::open(source.clone(), entry, &scheme) {
            Ok(segment) => {
                let tombstones = Tombstones::new(entry.rows, entry.tombstones, &source);
                segments.push((segment, tombstones));
            }
            Err(_) => report.segments_lost += 1,
        }
    }
    report.segments = segments.len();
    Some((scheme, segments))
}

const CACHE: usize = 16 << 20;

/// Searches every unit of the file for segment headers. The first valid one decides which database this is.
fn from_scan(file: &Arc<dyn File>, path: &Path, report: &mut SalvageReport) -> Result<Segments> {
    const CHUNK: usize = 1 << 20;
    report.deletions_may_return = true;
    let mut found: Segments = None;
    let mut database = None;
    let mut offset = DATA_START;
    // A header page may start in one chunk and end in the next.
    let longest = PageKind::SegmentHeader.max_bytes();
    let mut chunk = vec![0; CHUNK + longest];
    loop {
        let read = file.read_up_to(&mut chunk, offset);
        let read = read.map_err(|error| Error::io("read", path, error))?;
        for start in (0..CHUNK.min(read)).step_by(UNIT) {
            let Some(head) = chunk[..read].get(start..start + longest) else { continue };
            let Some(claim) = Claim::of(head) else { continue };
            let Claim { extent: id, database: own, scheme } = claim;
            if database.is_some_and(|database| database != own) {
                continue;
            }
            let scheme = found.as_ref().map_or_else(|| Arc::new(scheme), |(s, _)| Arc::clone(s));
            let cache = Arc::new(PageCache::new(CACHE));
            let source = PageSource::new(Arc::clone(file), path.into(), Seal::of(own), cache);
            if let Ok(segment) = Segment::open_at(source, id, offset + start as u64, &scheme) {
                database = Some(own);
                let tombstones = Tombstones::new(segment.rows(), None, segment.source());
                found.get_or_insert_with(|| (scheme, Vec::new())).1.push((segment, tombstones));
            }
        }
        if read <= CHUNK {
            break;
        }
        offset += CHUNK as u64;
    }
    report.segments = found.as_ref().map_or(0, |(_, segments)| segments.len());
    Ok(found)
}

/// Reads the commits of the log as far as possible. A damaged id file does not matter: each commit carries the id of
/// its log.
fn fresh(
    layer: &Arc<dyn FileLayer>,
    source: &Path,
    state: Option<&FileState>,
    scheme: &Arc<Scheme>,
    report: &mut SalvageReport,
) -> Result<Memtable> {
    let table = Memtable::new(scheme);
    let directory = Companion::Log.path(source);
    let Some(state) = state else {
        let there = layer.kind(&directory).map_err(|error| Error::io("look at", &directory, error));
        let lost = "no superblock is left that says from where on its commits count";
        report.log_damage = there?.map(|_| lost.into());
        return Ok(table);
    };
    if state.superblock.log_number == 0 {
        return Ok(table);
    }
    let own = LogId { database: state.superblock.database, number: state.superblock.log_number };
    let checkpointed = state.manifest.checkpointed;
    let mut visit = |sequence, payload: Vec<u8>| recovery::take(&table, sequence, &payload, scheme);
    let replayed = match log::identify(layer, &directory) {
        Ok(Found::Nothing) => Err("it is not there".into()),
        Ok(_) => match log::replay(layer, &directory, own, checkpointed, &mut visit) {
            Ok(replayed) => Ok(replayed),
            // Damage ends the replay, not the salvage.
            Err(error) if is_unreadable(&error) => Err(error.to_string()),
            Err(error) => return Err(error),
        },
        Err(error) if is_unreadable(&error) => Err(error.to_string()),
        Err(error) => return Err(error),
    };
    let last = table.last().max(checkpointed);
    report.commits_replayed = last - checkpointed;
    let marked = state.mark.map(|mark| mark.sequence);
    report.commits_lost = marked.filter(|marked| *marked > last).map(|marked| (last + 1, marked));
    report.log_damage = match replayed {
        Err(damage) => Some(damage),
        // All acknowledged commits are there. The damage is a commit that a crash interrupted.
        Ok(_) if marked.is_some_and(|marked| marked <= last) => None,
        Ok(replayed) => {
            let gone = || report.commits_lost.map(|_| "its last commits are gone".into());
            replayed.damage.or_else(gone)
        }
    };
    Ok(table)
}

/// Whether the log or its disk cannot be read. Other errors, such as no space or no permission for a temporary copy,
/// end the salvage.
fn is_unreadable(error: &Error) -> bool {
    match error {
        Error::Corrupt { .. } => true,
        Error::Io { operation: "read" | "open" | "look at", source, .. } => {
            is_of_the_disk(source.kind())
        }
        _ => false,
    }
}

/// Puts the newest row of each key into a bulk load. The log is newer than all segments.
fn merge(
    segments: &[(Segment, Tombstones)],
    fresh: &Memtable,
    load: &mut BulkLoad,
    report: &mut SalvageReport,
) -> Result<()> {
    let mut rows: Vec<Rows<'_>> = segments.iter().map(|(s, l)| Rows::new(s, l)).collect();
    for rows in &mut rows {
        rows.advance(report, load.sketcher())?;
    }
    loop {
        let next = rows.iter().filter_map(|rows| rows.current.as_ref());
        let Some(key) = next.map(|row| row.key.clone()).min() else { break };
        let mut newest: Option<Row> = None;
        for rows in &mut rows {
            if rows.current.as_ref().is_some_and(|row| row.key == key) {
                let row = rows.current.take();
                rows.advance(report, load.sketcher())?;
                let newer =
                    row.filter(|row| newest.as_ref().is_none_or(|n| n.sequence <= row.sequence));
                newest = newer.or(newest);
            }
        }
        if let Some(row) = newest.filter(|_| !fresh.has(&key, u64::MAX)) {
            put(load, &key, &row.signature, row.value.as_deref())?;
        }
    }
    fresh.each(|row| {
        if row.deleted {
            return Ok(());
        }
        let planes = row.planes.into();
        let scheme = Arc::clone(load.sketcher().shared_scheme());
        let elements = KeptShape::of(&scheme).map(|kept| {
            let mut elements = Vec::new();
            kept.decode(row.set, &mut elements).map(|_| elements.into())
        });
        let elements = elements.transpose()?;
        let signature = Signature::from_planes(scheme, planes, row.code, row.empty, elements);
        put(load, row.key, &signature, row.value)
    })?;
    let seen: u64 = rows.iter().map(|rows| rows.seen).sum();
    let all: u64 = segments.iter().map(|(segment, _)| u64::from(segment.rows())).sum();
    report.rows_without_key = all.saturating_sub(seen);
    Ok(())
}

/// Adds a row to a bulk load.
fn put(load: &mut BulkLoad, key: &[u8], signature: &Signature, value: Option<&[u8]>) -> Result<()> {
    load.put_signature(key, signature)?;
    value.map_or(Ok(()), |value| load.with_value(value))
}

/// A readable row.
struct Row {
    key: Vec<u8>,
    sequence: u64,
    signature: Signature,
    value: Option<Vec<u8>>,
}

/// The readable rows of one segment that have no tombstones, in key order.
struct Rows<'a> {
    segment: &'a Segment,
    tombstones: &'a Tombstones,
    scan: LeafScan<'a>,
    signatures: SignatureCursor<'a>,
    sets: SetReader<'a>,
    values: ValueReader<'a>,
    leaf: Option<(LeafPage, usize)>,
    current: Option<Row>,
    seen: u64,
}

impl<'a> Rows<'a> {
    fn new(segment: &'a Segment, tombstones: &'a Tombstones) -> Rows<'a> {
        let (scan, signatures) = (LeafScan::new(segment), SignatureCursor::new(segment));
        let sets = SetReader::mending(segment, Keep::IfRoom);
        let values = ValueReader::mending(segment, Keep::IfRoom);
        let (leaf, current) = (None, None);
        Rows { segment, tombstones, scan, signatures, sets, values, leaf, current, seen: 0 }
    }

    fn advance(&mut self, report: &mut SalvageReport, sketcher: &Sketcher) -> Result<()> {
        self.current = None;
        while self.current.is_none() {
            let Some((leaf, i)) = &mut self.leaf else {
                match self.scan.next_leaf()? {
                    Some(leaf) => self.leaf = Some((leaf, 0)),
                    None => return Ok(()),
                }
                continue;
            };
            if *i == leaf.count() {
                self.leaf = None;
                continue;
            }
            let found = self.segment.found(leaf, *i);
            let (prefix, suffix) = leaf.key(*i);
            let key = [prefix, suffix].concat();
            *i += 1;
            self.seen += 1;
            // If the tombstones cannot be read, the row counts as live.
            match self.tombstones.contains(found.row) {
                Ok(true) => continue,
                Ok(false) => {}
                Err(_) => report.deletions_may_return = true,
            }
            match self.signature(found.id, sketcher) {
                Ok(signature) => {
                    let value = self.value(found.row, report)?;
                    self.current = Some(Row { key, sequence: found.sequence, signature, value });
                }
                Err(Error::Corrupt { .. } | Error::UnsupportedFormat { .. }) => {
                    report.rows_without_signature += 1;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The value of a row. If it cannot be read, the row is saved without it.
    fn value(&mut self, row: u32, report: &mut SalvageReport) -> Result<Option<Vec<u8>>> {
        match self.values.value(row) {
            Ok(value) => Ok(value.map(<[u8]>::to_vec)),
            Err(Error::Corrupt { .. } | Error::UnsupportedFormat { .. }) => {
                report.rows_without_value += 1;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// The signature of an id. If the scheme keeps exact sets, it is recomputed from the set. Then a damaged
    /// signature page loses nothing, and signature and set agree.
    fn signature(&mut self, id: u32, sketcher: &Sketcher) -> Result<Signature> {
        let scheme = self.segment.scheme();
        let mut elements = Vec::new();
        self.sets.elements(id, &mut elements)?;
        if scheme.elements.are_exact() {
            return sketcher.sketch(&elements);
        }
        let mut planes = Vec::new();
        let code = self.signatures.read(id, &mut planes)?;
        let empty = self.segment.is_empty_id(id);
        let elements = scheme.elements.are_kept().then(|| elements.into());
        let planes = planes.into_boxed_slice();
        let signature = Signature::from_planes(Arc::clone(scheme), planes, code, empty, elements);
        if !sketcher.is_consistent(&signature)? {
            return Err(self.segment.lost("KEPT-10", format!("id {id} has another size")));
        }
        Ok(signature)
    }
}
