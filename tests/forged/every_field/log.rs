//! Forged numbers in what a killed writer left: the file, the id of its log, the parts of its commits.
//!
//! A strict open returns the commits of the log, or a typed error and changes no byte. A salvaging open, a reader, a
//! check and a salvage also end with a result or a typed error.

use std::path::Path;
use testkit::scale::cases;

use ringer::internals::format::log_part::{LogId, encode_id};
use ringer::internals::maintenance::{check, salvage};
use ringer::internals::store::file_layer::memory::MemoryFiles;
use ringer::{Database, Depth, Error, LogKind, Reader, Recovery, Result};

use super::{all_hold, one_in};
use testkit::attacks::seeds::{PATH, UNCLEAN, UNCLEAN_LOG, key, options};
use testkit::attacks::watched::Watched;
use testkit::attacks::{checksums, log};
use testkit::forged::fields::{Field, Fields, number};
use testkit::forged::images::Base;
use testkit::forged::values;

const SAVED: &str = "/saved.ringer";

/// About twice what the unchanged seed needs, for readers and writers each.
const MOST_READ: u64 = 20;

fn id() -> LogId {
    let database = UNCLEAN[32..48].try_into().expect("16 bytes");
    LogId { database, number: number(UNCLEAN, 80, 8) }
}

fn id_file() -> Vec<u8> {
    encode_id(id(), LogKind::Plain).to_vec()
}

/// Returns the fields of the log: all part headers, and the operations in the first part of a commit.
fn log_fields() -> Vec<Field> {
    let mut fields = Fields::new(UNCLEAN_LOG);
    let mut at = 0;
    while at < UNCLEAN_LOG.len() {
        fields.table("Part", at);
        let length = number(UNCLEAN_LOG, at + 4, 4) as usize;
        let is_first = number(UNCLEAN_LOG, at + 16, 4) == 0;
        if length > 11 && is_first {
            fields.operation(at + 24 + 4);
            let record = at + 24..at + 28;
            let name = "operations".into();
            fields.found.push(Field {
                table: "Commit payload",
                name,
                at: at + 24,
                width: 4,
                record,
            });
        }
        at += 24 + length;
    }
    fields.found
}

fn id_fields() -> Vec<Field> {
    let bytes = id_file();
    let mut fields = Fields::new(&bytes);
    fields.table("Id file", 0);
    fields.found
}

/// Returns all fields of the id and the log.
pub(crate) fn fields() -> Vec<Field> {
    id_fields().into_iter().chain(log_fields()).collect()
}

fn layer_of(file: &[u8], id: &[u8], log: &[u8]) -> Watched {
    let files = MemoryFiles::new()
        .with_file(PATH, file)
        .with_file(format!("{PATH}-hot/id"), id)
        .with_file(format!("{PATH}-hot/log"), log)
        .limited_to(16 << 20);
    Watched::new(files, &[PATH, SAVED])
}

/// Returns whether an error is one that a damaged file or log may cause.
fn is_typed(error: &Error) -> bool {
    matches!(
        error,
        Error::Corrupt { .. }
            | Error::UnsupportedFormat { .. }
            | Error::NotADatabase { .. }
            | Error::LogMissing { .. }
            | Error::LogDamaged { .. }
            // The log has the id of another database.
            | Error::NotOurs { .. }
            // Sequences that no writer can continue from.
            | Error::InvalidArgument { .. }
    )
}

fn contents(layer: &Watched) -> Vec<(String, Vec<u8>)> {
    let entries = layer.files.entries().into_iter();
    let files = entries.filter_map(|e| Some((e.path.display().to_string(), e.bytes?.to_vec())));
    files.filter(|(path, _)| !path.ends_with("-lock")).collect()
}

/// Makes a few changes of each kind.
fn write(db: &Database) -> Result<()> {
    db.put("new", &[1, 2, 3])?;
    db.delete(key(9))?;
    db.compact()?;
    db.vacuum()?;
    db.snapshot().range::<&[u8]>(..).try_for_each(|row| row.map(drop))
}

/// Opens for writing, and returns whether that was possible.
fn opened(file: &[u8], id: &[u8], log: &[u8], recovery: Recovery) -> bool {
    let layer = layer_of(file, id, log);
    let before = contents(&layer);
    let options = options().with_recovery(recovery);
    let opened = match Database::open_in(layer.share(), Path::new(PATH), options) {
        Ok(db) => {
            for error in [write(&db), db.close()].into_iter().filter_map(Result::err) {
                let after = matches!(error, Error::Poisoned { .. } | Error::NoSpace { .. });
                assert!(is_typed(&error) || after, "{error}");
            }
            true
        }
        Err(error) => {
            assert!(is_typed(&error), "{error}");
            let same = contents(&layer) == before;
            assert!(same || recovery == Recovery::Salvage, "a refused open changed bytes: {error}");
            false
        }
    };
    bounded(&layer, file.len() + log.len());
    opened
}

fn bounded(layer: &Watched, bytes: usize) {
    let times = layer.read().1 / bytes as u64;
    assert!(times <= MOST_READ, "{bytes} bytes were read {times} times");
}

/// Runs everything that can be done with a file and its log.
fn attack(file: &[u8], id: &[u8], log: &[u8]) {
    opened(file, id, log, Recovery::Strict);
    opened(file, id, log, Recovery::Salvage);
    let layer = layer_of(file, id, log);
    let read = Reader::open_in(layer.share(), Path::new(PATH), options())
        .and_then(|r| r.snapshot().range::<&[u8]>(..).try_for_each(|row| row.map(drop)));
    let saved = salvage::salvage(&layer.share(), Path::new(PATH), Path::new(SAVED), options());
    for error in [read.err(), saved.err()].into_iter().flatten() {
        assert!(is_typed(&error), "{error}");
    }
    check::check(&layer, Path::new(PATH), Depth::Deep).expect("a file in memory can be read");
    bounded(&layer, file.len() + log.len());
}

#[test]
fn every_forged_number_of_a_file_with_a_log() {
    let base = Base::new("unclean", UNCLEAN.to_vec());
    let (id, images) = (id_file(), base.images());
    assert!(opened(UNCLEAN, &id, UNCLEAN_LOG, Recovery::Strict), "as it is");
    let count = all_hold(
        images.iter().step_by(one_in()),
        |image| base.label(image),
        |image| attack(&base.forged(image), &id, UNCLEAN_LOG),
    );
    println!("unclean: {count} of {} images", images.len());
}

/// Returns the bytes with one field changed.
fn forged(bytes: &[u8], field: &Field, value: u64) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[field.at..][..field.width].copy_from_slice(&value.to_le_bytes()[..field.width]);
    bytes
}

#[test]
fn every_forged_number_of_a_log() {
    let label = |(field, value): &(&Field, u64)| format!("{field:?} = {value:#x}");
    let whole = id_file();
    let fields = id_fields();
    let values = |field| values::of(field, &fields, &whole).into_iter().map(move |v| (field, v));
    let ids =
        all_hold(fields.iter().flat_map(values).step_by(cases(19, 1)), label, |(field, value)| {
            let mut id = forged(&whole, field, *value);
            if !field.is_checksum() {
                checksums::log_id(&mut id);
            }
            attack(UNCLEAN, &id, UNCLEAN_LOG);
        });
    let fields = log_fields();
    let values = |f| values::of(f, &fields, UNCLEAN_LOG).into_iter().map(move |v| (f, v));
    let parts =
        all_hold(fields.iter().flat_map(values).step_by(cases(19, 1)), label, |(field, value)| {
            let log = forged(UNCLEAN_LOG, field, *value);
            let mut repaired = log.clone();
            if !field.is_checksum() {
                checksums::log_parts(&mut repaired, id());
            }
            attack(UNCLEAN, &whole, &repaired);
            log::log(&[&[u8::from(!field.is_checksum())], &*log].concat());
        });
    println!("{ids} ids, {parts} logs");
}
