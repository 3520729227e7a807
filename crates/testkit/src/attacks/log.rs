//! Attacks with arbitrary bytes as the write-ahead log of a database that names it.
//!
//! A replay returns consecutive commits that are in the log, and perhaps damage. Checkpointed rows change only by
//! those commits. A strict open that is refused changes no byte. A reader shows what a writer finds.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use ringer::internals::format::batch;
use ringer::internals::format::log_part::{LogId, encode_id, encode_parts};
use ringer::internals::format::superblock::{Slot, Superblock};
use ringer::internals::maintenance::salvage;
use ringer::internals::store::file_layer::FileLayer;
use ringer::internals::store::file_layer::memory::MemoryFiles;
use ringer::internals::store::log;
use ringer::{Database, Error, LogKind, Reader, Recovery, Scheme, Signature, Snapshot};

use super::checksums;
use super::input::Input;
use super::seeds::{PATH, UNCLEAN, options};

type Rows = BTreeMap<Vec<u8>, Signature>;

const DIRECTORY: &str = "/corpus.ringer-hot";

/// What the file itself contains: its log id, the last checkpointed commit, the scheme and the checkpointed rows.
struct Checkpointed {
    id: LogId,
    last: u64,
    scheme: Arc<Scheme>,
    rows: Rows,
}

fn checkpointed() -> &'static Checkpointed {
    static CHECKPOINTED: OnceLock<Checkpointed> = OnceLock::new();
    CHECKPOINTED.get_or_init(|| {
        let Slot::Valid(superblock) = Superblock::decode(&UNCLEAN[..4096]) else {
            panic!("the seed has a superblock");
        };
        let layer = Arc::new(MemoryFiles::new().with_file(PATH, UNCLEAN));
        // The file is there without its log.
        let options = options().with_recovery(Recovery::Salvage);
        let reader = Reader::open_in(layer, Path::new(PATH), options).expect("the seed is intact");
        let snapshot = reader.snapshot();
        Checkpointed {
            id: LogId { database: superblock.database, number: superblock.log_number },
            last: snapshot.sequence(),
            scheme: Arc::new(reader.scheme()),
            rows: rows_of(&snapshot),
        }
    })
}

/// Runs the attack. Bit 0 of the first byte recomputes checksums; the rest is the log.
pub fn log(bytes: &[u8]) {
    let checkpointed = checkpointed();
    let mut input = Input::new(bytes);
    let flags = input.byte();
    let mut log = input.rest().to_vec();
    if flags & 1 != 0 {
        checksums::log_parts(&mut log, checkpointed.id);
    }
    for after in [0, checkpointed.last, u64::MAX] {
        drop(replay(&log, after));
    }
    let commits = replay(&log, checkpointed.last);
    let expected = expected(&commits);
    opened(&log, &expected, Recovery::Strict);
    opened(&log, &expected, Recovery::Salvage);
    saved(&log, expected.ok());
}

fn layer_of(log: &[u8]) -> MemoryFiles {
    MemoryFiles::new()
        .with_file(PATH, UNCLEAN)
        .with_file(format!("{DIRECTORY}/id"), encode_id(checkpointed().id, LogKind::Plain))
        .with_file(format!("{DIRECTORY}/log"), log)
}

fn share(layer: &MemoryFiles) -> Arc<dyn FileLayer> {
    Arc::new(layer.clone())
}

/// Returns the commits of a replay and asserts that each is in the log.
fn replay(log: &[u8], after: u64) -> Vec<(u64, Vec<u8>)> {
    let (id, layer) = (checkpointed().id, share(&layer_of(log)));
    let mut commits = Vec::new();
    let mut visit = |sequence, payload| {
        commits.push((sequence, payload));
        Ok(())
    };
    let replayed = log::replay(&layer, Path::new(DIRECTORY), id, after, &mut visit);
    let replayed = replayed.expect("damage is no error");
    let sequences: Vec<u64> = commits.iter().map(|(sequence, _)| *sequence).collect();
    let without_gap: Vec<u64> = (after..replayed.last).map(|before| before + 1).collect();
    assert_eq!(sequences, without_gap);
    let encode = |(sequence, payload): &(u64, Vec<u8>)| {
        encode_parts(id, *sequence, payload).flat_map(|(_, part)| part).collect::<Vec<u8>>()
    };
    let all: Vec<u8> = commits.iter().flat_map(encode).collect();
    assert!(all.is_empty() || log.windows(all.len()).any(|window| window == all));
    commits
}

/// Applies commits to the checkpointed rows. Returns an error for the first commit that does not decode.
fn expected(commits: &[(u64, Vec<u8>)]) -> Result<Rows, Error> {
    let mut rows = checkpointed().rows.clone();
    for (_, payload) in commits {
        for operation in batch::decode(payload, &checkpointed().scheme)? {
            match operation.signature {
                Some(signature) => rows.insert(operation.key.into_vec(), signature),
                None => rows.remove(&*operation.key),
            };
        }
    }
    Ok(rows)
}

fn without_detail(mut error: Error) -> Error {
    if let Error::LogDamaged { detail, .. } = &mut error {
        detail.clear();
    }
    error
}

fn rows_of(snapshot: &Snapshot) -> Rows {
    let rows = snapshot.range::<&[u8]>(..);
    let rows = rows.map(|row| row.map(|(key, stored)| (key.into_vec(), stored.signature)));
    rows.collect::<Result<_, _>>().expect("rows can be read")
}

fn opened(log: &[u8], expected: &Result<Rows, Error>, recovery: Recovery) {
    let layer = layer_of(log);
    let options = options().with_recovery(recovery);
    let seen = Reader::open_in(share(&layer), Path::new(PATH), options.clone());
    let seen = seen.map(|reader| rows_of(&reader.snapshot()));
    match Database::open_in(share(&layer), Path::new(PATH), options) {
        Ok(db) => {
            let expected = expected.as_ref().expect("a commit that says nothing was taken");
            assert_eq!(rows_of(&db.snapshot()), *expected);
            assert_eq!(seen.as_ref(), Ok(expected), "a reader sees something else");
            db.put("new", &[1]).expect("it is open for writing");
            db.close().expect("it can be closed");
        }
        Err(error) => {
            // Both refuse it, although they may find different damage first.
            let refused = seen.map(drop).map_err(without_detail);
            assert_eq!(refused, Err(without_detail(error.clone())), "a reader sees something else");
            let refused = matches!(error, Error::LogDamaged { .. } | Error::Corrupt { .. });
            assert!(refused && (recovery == Recovery::Strict || expected.is_err()), "{error}");
            assert_eq!(layer.contents(PATH).as_deref(), Some(UNCLEAN));
            assert_eq!(layer.contents(format!("{DIRECTORY}/log")).as_deref(), Some(log));
        }
    }
}

fn saved(log: &[u8], expected: Option<Rows>) {
    let layer = layer_of(log);
    let (source, target) = (Path::new(PATH), Path::new("/saved.ringer"));
    let result = salvage::salvage(&share(&layer), source, target, options());
    let Some(expected) = expected else { return };
    let report = result.expect("what can be read is saved");
    assert_eq!(report.sets, expected.len() as u64);
}
