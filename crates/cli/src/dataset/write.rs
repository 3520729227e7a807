//! The second pass over the input: copies kept rows to `--out` and removed rows to `--removed`.
//!
//! Lines of JSONL are copied byte for byte, with the compression of their file. Parquet files keep their schema, metadata and
//! compression. All rows are counted: if a file has another number of rows than in the first pass, it has changed.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;

use indicatif::ProgressBar;

use super::groups::Decisions;
use super::lines::{self, RawLines, Taken};
use super::shards::{Format, Shard, changed, unreadable};
use crate::compression::{self, Compressed};
use crate::exit::Failure;
use crate::interrupt;
#[cfg(feature = "parquet")]
use crate::parquet;
use crate::show::{self, Output};
use crate::staged::Staged;

/// A destination of rows.
pub(crate) enum Target<'a> {
    Folder(&'a Staged),
    /// Standard output.
    Output,
    Nowhere,
}

/// Writes the rows of a shard. `rows` are their numbers in the whole input.
pub(crate) fn shard(
    shard: &Shard,
    format: Format,
    rows: Range<u64>,
    decisions: &Decisions,
    [kept, removed]: &[Target<'_>; 2],
    bar: &ProgressBar,
) -> Result<(), Failure> {
    shard.check_unchanged()?;
    if matches!((kept, removed), (Target::Nowhere, Target::Nowhere)) {
        return Ok(());
    }
    match format {
        Format::Jsonl => {
            let mut kept = LineTarget::new(kept, shard)?;
            let mut removed = LineTarget::new(removed, shard)?;
            copy_lines(shard, rows, decisions, [&mut kept, &mut removed], bar)?;
            kept.finish(shard)?;
            removed.finish(shard)?;
        }
        #[cfg(feature = "parquet")]
        Format::Parquet => {
            copy_rows(shard, kept, &rows, &|row| !decisions.is_removed(row))?;
            copy_rows(shard, removed, &rows, &|row| decisions.is_removed(row))?;
            bar.inc(shard.bytes());
        }
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => return Err(super::no_parquet()),
    }
    shard.check_unchanged()
}

/// An open destination of lines.
enum LineTarget {
    File(Box<Compressed>),
    Output(Output),
    Nowhere,
}

impl LineTarget {
    fn new(target: &Target<'_>, shard: &Shard) -> Result<LineTarget, Failure> {
        Ok(match target {
            Target::Nowhere => LineTarget::Nowhere,
            Target::Output => LineTarget::Output(Output::new()),
            Target::Folder(staged) => {
                let file = staged.create(&shard.output)?;
                let file = Compressed::new(file, shard.compression);
                LineTarget::File(Box::new(file.map_err(|error| unwritable(shard, &error))?))
            }
        })
    }

    fn write(&mut self, bytes: &[u8], shard: &Shard) -> Result<(), Failure> {
        match self {
            LineTarget::File(file) => {
                file.write_all(bytes).map_err(|error| unwritable(shard, &error))
            }
            LineTarget::Output(out) => out.bytes(bytes),
            LineTarget::Nowhere => Ok(()),
        }
    }

    fn finish(self, shard: &Shard) -> Result<(), Failure> {
        match self {
            LineTarget::File(file) => file.finish().map_err(|error| unwritable(shard, &error)),
            LineTarget::Output(mut out) => out.flush(),
            LineTarget::Nowhere => Ok(()),
        }
    }
}

fn unwritable(shard: &Shard, error: &io::Error) -> Failure {
    let name = show::path(&shard.output);
    match error.kind() {
        io::ErrorKind::StorageFull => Failure::Io(format!(
            "cannot write {name}: the disk is full; nothing was written, free some space and run again"
        )),
        _ => Failure::Io(format!("cannot write {name}: {error}; nothing was written")),
    }
}

fn copy_lines(
    shard: &Shard,
    rows: Range<u64>,
    decisions: &Decisions,
    [kept, removed]: [&mut LineTarget; 2],
    bar: &ProgressBar,
) -> Result<(), Failure> {
    let failed = |error: &io::Error| unreadable(&shard.name, error);
    let file = File::open(&shard.path).map_err(|error| failed(&error))?;
    let input = compression::decompressed(file).map_err(|error| failed(&error))?;
    let mut raw = RawLines::new(input);
    let (mut text, mut row, mut is_first) = (Vec::new(), rows.start, true);
    loop {
        text.clear();
        let taken = raw.next(&mut text).map_err(|error| failed(&error))?;
        if taken == Taken::End {
            break;
        }
        // Blank lines are copied to the kept rows.
        let is_row =
            taken == Taken::Start || !lines::is_blank(&text[lines::content(&text, is_first)]);
        let target = match is_row && decisions.is_removed(row) {
            true => &mut *removed,
            false => &mut *kept,
        };
        target.write(&text, shard)?;
        if taken == Taken::Start {
            let mut written = Ok(());
            raw.rest(|piece| {
                if written.is_ok() {
                    written = target.write(piece, shard);
                }
                Ok(())
            })
            .map_err(|error| failed(&error))?;
            written?;
        }
        row += u64::from(is_row);
        is_first = false;
        bar.inc(text.len() as u64);
        if interrupt::requested() {
            return Err(Failure::Interrupted);
        }
    }
    if row == rows.end { Ok(()) } else { Err(changed(shard)) }
}

#[cfg(feature = "parquet")]
fn copy_rows(
    shard: &Shard,
    target: &Target<'_>,
    rows: &Range<u64>,
    wanted: &dyn Fn(u64) -> bool,
) -> Result<(), Failure> {
    let Target::Folder(staged) = target else { return Ok(()) };
    let file = staged.create(&shard.output)?;
    let source = parquet::guarded(|| parquet::open(&shard.path))
        .map_err(|error| unreadable(&shard.name, &error))?;
    if parquet::rows(&source) != rows.end - rows.start {
        return Err(changed(shard));
    }
    let file = io::BufWriter::with_capacity(1 << 20, file);
    let copied =
        parquet::guarded(|| parquet::copy::copy(&source, file, &|row| wanted(rows.start + row)));
    let file = copied.map_err(|error| match interrupt::requested() {
        true => Failure::Interrupted,
        false => Failure::Io(format!("cannot copy {}: {error}; nothing was written", shard.name)),
    })?;
    let file = file.into_inner().map_err(|error| unwritable(shard, error.error()))?;
    file.sync_all().map_err(|error| unwritable(shard, &error))
}
