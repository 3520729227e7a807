//! Bulk loads: build segments directly, without log and memtable, and publish them as one commit.
//!
//! In: keys with sets, documents or signatures. Out: segments. Rows are collected up to `Options::build_bytes`,
//! sorted, and built into a segment, which may spill to a temporary file. The commit adds all segments to the file in
//! one new state. A crash before that leaves nothing of them.

use std::sync::Arc;

use byteorder::{BigEndian, ByteOrder};
use rayon::slice::ParallelSliceMut;

use super::append::{Appending, Hides};
use super::background::request_merge;
use super::batch::check_key;
use super::commit::{Committed, checkpoint_all};
use super::writer::Writer;
use crate::error::{Error, Result};
use crate::format::filter::KeyHash;
use crate::format::kept_set::KeptShape;
use crate::format::value;
use crate::kernel::prefetch;
use crate::sketch::{Signature, Sketcher};
use crate::store::segment::rows::RowCursor;
use crate::store::segment::writer::{NewRow, NewSegment, SegmentWriter};
use crate::store::state::SegmentView;
use crate::sync::can_spread;
use crate::trace::{event, span};

/// How many rows ahead are prefetched. After sorting, consecutive rows are far apart in memory.
const AHEAD: usize = 16;

/// A bulk load in progress. If it is dropped without a commit, nothing is stored.
#[derive(Debug)]
pub struct BulkLoad {
    writer: Arc<Writer>,
    rows: Rows,
    built: Vec<NewSegment>,
}

/// Rows in the order in which they were added.
#[derive(Debug, Default)]
struct Rows {
    keys: Vec<u8>,
    planes: Vec<u64>,
    rows: Vec<Row>,
    /// The encoded sets if the scheme keeps sets. `set_ends` has the end of each.
    sets: Vec<u8>,
    set_ends: Vec<usize>,
    /// The values of the rows that have one. `value_ends` has the end of each.
    values: Vec<u8>,
    value_ends: Vec<usize>,
}

/// A row. `prefix` has the first eight bytes of its key, for sorting.
#[derive(Debug, Clone, Copy)]
struct Row {
    prefix: u64,
    key: (usize, u16),
    number: u32,
    code: u32,
    empty: bool,
    /// The number of its value, or `NONE`.
    value: u32,
}

/// Stands for no value.
const NONE: u32 = u32::MAX;

impl BulkLoad {
    /// Starts a load.
    pub(crate) fn new(writer: Arc<Writer>) -> BulkLoad {
        BulkLoad { writer, rows: Rows::default(), built: Vec::new() }
    }

    /// The sketcher of this database, for callers that sketch in their own threads.
    pub fn sketcher(&self) -> &Sketcher {
        self.writer.sketcher()
    }

    /// Adds a set under a key. If a key is added several times, the last set counts.
    pub fn put(&mut self, key: impl AsRef<[u8]>, set: &[u64]) -> Result<()> {
        let signature = self.writer.sketcher().sketch(set)?;
        self.put_signature(key, &signature)
    }

    /// Adds a text under a key, as the set of [its features in the scheme](Sketcher::sketch_text). To sketch in
    /// several threads, share the [sketcher](BulkLoad::sketcher) and add signatures.
    pub fn put_text(&mut self, key: impl AsRef<[u8]>, text: &str) -> Result<()> {
        let signature = self.writer.sketcher().sketch_text(text)?;
        self.put_signature(key, &signature)
    }

    /// Adds the [bytes of a file](Sketcher::sketch_bytes) under a key.
    pub fn put_bytes(&mut self, key: impl AsRef<[u8]>, bytes: &[u8]) -> Result<()> {
        let signature = self.writer.sketcher().sketch_bytes(bytes)?;
        self.put_signature(key, &signature)
    }

    /// Adds an [HTML page](Sketcher::sketch_html) under a key.
    pub fn put_html(&mut self, key: impl AsRef<[u8]>, page: &[u8]) -> Result<()> {
        let signature = self.writer.sketcher().sketch_html(page)?;
        self.put_signature(key, &signature)
    }

    /// Adds a set whose elements have [weights](Sketcher::sketch_weighted), or a vector, under a key.
    pub fn put_weighted(&mut self, key: impl AsRef<[u8]>, set: &[(u64, f64)]) -> Result<()> {
        let signature = self.writer.sketcher().sketch_weighted(set)?;
        self.put_signature(key, &signature)
    }

    /// Adds sets under keys, sketched in parallel. If one of them is refused, none of them is added.
    pub fn put_many(&mut self, sets: &[(impl AsRef<[u8]>, impl AsRef<[u64]>)]) -> Result<()> {
        sets.iter().try_for_each(|(key, _)| check_key(key.as_ref()))?;
        let only: Vec<&[u64]> = sets.iter().map(|(_, set)| set.as_ref()).collect();
        let signatures = self.writer.spread(|| self.writer.sketcher().sketch_all(&only))?;
        for (i, (key, _)) in sets.iter().enumerate() {
            let signature = signatures.get(i).expect("one for each set");
            self.put_signature(key, &signature)?;
        }
        Ok(())
    }

    /// Adds a set, given by its signature, under a key.
    pub fn put_signature(&mut self, key: impl AsRef<[u8]>, signature: &Signature) -> Result<()> {
        let key = key.as_ref();
        check_key(key)?;
        signature.check_scheme(self.writer.scheme())?;
        // The last row is not built before the next one arrives, because a value may follow it.
        if self.rows.bytes() >= self.writer.options().build_bytes.max(1) {
            self.build()?;
        }
        self.rows.push(key, signature, KeptShape::of(self.writer.scheme()));
        Ok(())
    }

    /// Adds a value to the set that was added last, as [`Batch::with_value`](super::Batch::with_value) does. If the value
    /// is refused, the set is taken back as well.
    ///
    /// ```
    /// use ringer::{Database, Scheme};
    ///
    /// let db = Database::in_memory(&Scheme::default())?;
    /// let mut load = db.bulk_load();
    /// load.put("a", &[1, 2, 3])?;
    /// load.with_value("a label")?;
    /// load.commit()?;
    /// assert_eq!(db.snapshot().value("a")?.as_deref(), Some(&b"a label"[..]));
    /// # Ok::<(), ringer::Error>(())
    /// ```
    pub fn with_value(&mut self, value: impl AsRef<[u8]>) -> Result<()> {
        let (value, words) = (value.as_ref(), self.writer.scheme().words_per_signature());
        if self.rows.rows.is_empty() {
            return Err(Error::invalid(
                "value",
                "it belongs to the set that was put last: put one",
            ));
        }
        if let Err(error) = value::check_length(value) {
            self.rows.pop(words);
            return Err(error);
        }
        self.rows.set_value(value);
        Ok(())
    }

    /// Builds a segment from the rows collected so far.
    fn build(&mut self) -> Result<()> {
        let mut rows = std::mem::take(&mut self.rows);
        self.writer.spread(|| rows.sort());
        let words = self.writer.scheme().words_per_signature();
        let mut writer = SegmentWriter::new(self.writer.plan());
        for (i, row) in rows.rows.iter().enumerate() {
            if let Some(ahead) = rows.rows.get(i + AHEAD) {
                rows.prefetch(ahead, words);
            }
            let key = rows.key(row);
            // Rows with equal keys are in the order in which they were added. The last one counts.
            if rows.rows.get(i + 1).is_some_and(|next| rows.key(next) == key) {
                continue;
            }
            writer.push(NewRow {
                key,
                planes: rows.planes(row, words),
                code: row.code,
                empty: row.empty,
                sequence: 0,
                set: rows.set(row),
                value: rows.value(row),
            })?;
        }
        // Building the posting lists needs this memory.
        drop(rows);
        self.built.extend(writer.finish()?);
        Ok(())
    }

    /// Makes all rows durable and visible as one commit.
    pub fn commit(mut self) -> Result<Committed> {
        self.writer.check_process()?;
        self.build()?;
        let writer = Arc::clone(&self.writer);
        let mut turn = writer.commits.turn();
        writer.context.health.check()?;
        if self.built.is_empty() {
            let sequence = turn.last;
            return Ok(Committed { sequence, stored: 0, deleted: 0, absent: 0 });
        }
        span!("bulk load", segments = self.built.len());
        // Earlier commits are checkpointed first. So sequences rise from segment to segment, and a tombstone always
        // comes from a later commit.
        checkpoint_all(&writer, &mut turn)?;
        let sequence = turn.last + 1;
        let mut appending = Appending::new(&writer, writer.files.append());
        let mut hides = Hides::new();
        for segment in &mut self.built {
            segment.set_first_sequence(sequence);
            let older = appending.segments().to_vec();
            let view = appending.add(segment)?;
            replaced(&view, &older, &mut hides)?;
        }
        hides.values_mut().for_each(|rows| {
            rows.sort_unstable();
            rows.dedup();
        });
        // A later segment of this load may replace rows of an earlier one. Those do not count as stored.
        let in_vain = |segment: &NewSegment| hides.get(&segment.extent()).map_or(0, Vec::len);
        let stored: usize = self.built.iter().map(|s| s.rows() as usize - in_vain(s)).sum();
        appending.hide(&hides)?;
        appending.install(sequence, |state| state.sequence = sequence)?;
        turn.last = sequence;
        writer.context.counters.committed(1);
        event!(
            "bulk load committed",
            segments = self.built.len(),
            rows = stored,
            sequence = sequence
        );
        drop(turn);
        request_merge(&writer);
        Ok(Committed { sequence, stored, deleted: 0, absent: 0 })
    }
}

/// Finds the live rows of older segments whose keys are in the new one.
fn replaced(new: &SegmentView, older: &[SegmentView], hides: &mut Hides) -> Result<()> {
    if older.is_empty() {
        return Ok(());
    }
    let mut rows = RowCursor::at(&new.segment, 0)?;
    while let Some((key, _)) = rows.current() {
        let hash = KeyHash::of(key);
        for view in older {
            if let Some(found) = view.find(key, hash)? {
                hides.entry(view.segment.id()).or_default().push(found.row);
            }
        }
        rows.advance()?;
    }
    Ok(())
}

impl Rows {
    fn push(&mut self, key: &[u8], signature: &Signature, kept: Option<KeptShape>) {
        let mut prefix = [0; 8];
        prefix.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
        self.rows.push(Row {
            prefix: BigEndian::read_u64(&prefix),
            key: (self.keys.len(), key.len() as u16),
            number: self.rows.len() as u32,
            code: signature.cardinality_code(),
            empty: signature.is_empty(),
            value: NONE,
        });
        self.keys.extend_from_slice(key);
        self.planes.extend_from_slice(signature.planes());
        if let (Some(kept), Some(elements)) = (kept, signature.elements()) {
            kept.encode(elements, &mut self.sets);
            self.set_ends.push(self.sets.len());
        }
    }

    /// Gives the last row a value.
    fn set_value(&mut self, value: &[u8]) {
        let Some(row) = self.rows.last_mut() else { return };
        row.value = self.value_ends.len() as u32;
        self.values.extend_from_slice(value);
        self.value_ends.push(self.values.len());
    }

    /// Removes the last row. Its value, if it had one, stays unused.
    fn pop(&mut self, words: usize) {
        let Some(row) = self.rows.pop() else { return };
        self.keys.truncate(row.key.0);
        self.planes.truncate(self.rows.len() * words);
        if self.set_ends.pop().is_some() {
            self.sets.truncate(self.set_ends.last().copied().unwrap_or(0));
        }
    }

    /// The value of a row.
    fn value(&self, row: &Row) -> Option<&[u8]> {
        let number = row.value as usize;
        let end = *self.value_ends.get(number)?;
        let start = number.checked_sub(1).map_or(0, |before| self.value_ends[before]);
        Some(&self.values[start..end])
    }

    fn bytes(&self) -> usize {
        let sets = self.sets.len() + 8 * self.set_ends.len();
        let sets = sets + self.values.len() + 8 * self.value_ends.len();
        self.keys.len() + 8 * self.planes.len() + size_of::<Row>() * self.rows.len() + sets
    }

    fn key(&self, row: &Row) -> &[u8] {
        &self.keys[row.key.0..][..usize::from(row.key.1)]
    }

    /// The planes of a row: `words` words.
    fn planes(&self, row: &Row, words: usize) -> &[u64] {
        &self.planes[row.number as usize * words..][..words]
    }

    /// The encoded set of a row; no bytes if sets are not kept.
    fn set(&self, row: &Row) -> &[u8] {
        let number = row.number as usize;
        let Some(end) = self.set_ends.get(number) else { return &[] };
        let start = number.checked_sub(1).map_or(0, |before| self.set_ends[before]);
        &self.sets[start..*end]
    }

    /// Prefetches a row that will be read soon.
    fn prefetch(&self, row: &Row, words: usize) {
        prefetch(self.key(row));
        self.planes(row, words).chunks(8).for_each(prefetch);
        // A row may begin in the middle of a cache line, so it may reach into one more.
        prefetch(&self.planes(row, words)[words - 1..]);
    }

    /// Sorts by key. Rows with the same key stay in the order in which they were added.
    fn sort(&mut self) {
        let keys = std::mem::take(&mut self.keys);
        let key = |row: &Row| &keys[row.key.0..][..usize::from(row.key.1)];
        let order = |a: &Row, b: &Row| {
            let by_key = a.prefix.cmp(&b.prefix).then_with(|| key(a).cmp(key(b)));
            by_key.then(a.number.cmp(&b.number))
        };
        match can_spread() {
            true => self.rows.par_sort_unstable_by(order),
            false => self.rows.sort_unstable_by(order),
        }
        self.keys = keys;
    }
}
