//! Damage to a file that has everything: an index with short and long lists, deletions, duplicate rows, several
//! segments, values, dead bytes. Bits are flipped, the file is cut, pages are exchanged or come from another file. The file
//! gives the same answers (rows, ranges, queries by each plan, pairs) or a typed error, and every answer that it
//! still gives is correct. There is no panic, no endless wait, and no allocation of a size that damaged bytes
//! dictate.
//!
//! A quick run tries a share. `.ci/long sweep` tries every image and random damage, 10 million images together.

use testkit::complete_file;
use testkit::damaged;
use testkit::random::Random;
use testkit::scale::cases;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::thread;

use rayon::prelude::*;
use ringer::internals::store::file_layer::memory::MemoryFiles;
use ringer::{Error, Options, Reader};

use complete_file::{CompleteFile, Killed, PATH, Part, rows_of, stranger};
use damaged::Damaged;
use testkit::allocations::most_in_use;

/// A limit for the bytes in use by all threads together.
const MOST_BYTES: usize = 64 << 20;

/// There are many threads, because some damage makes a reader wait for a possible writer.
const THREADS: usize = 24;

static FILE: LazyLock<CompleteFile> = LazyLock::new(CompleteFile::new);

/// The number of images that all tests have tried so far.
static IMAGES: AtomicUsize = AtomicUsize::new(0);

/// Returns every index in a full run, and otherwise one in `one_in`, without a regular pattern.
fn share(count: usize, one_in: usize) -> Vec<usize> {
    let one_in = cases(one_in, 1);
    (0..count).step_by(one_in).map(|i| (i + i / one_in % one_in).min(count - 1)).collect()
}

/// Tries images, and returns how many gave all answers. One test runs at a time, so that the bytes in use are its
/// own.
fn try_all(what: &str, turns: &[usize], damage: impl Fn(usize) -> Damaged + Sync) -> usize {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (same, next, failed) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let work = || {
        while let Some(&turn) = turns.get(next.fetch_add(1, Ordering::Relaxed)) {
            let checked = catch_unwind(AssertUnwindSafe(|| FILE.check(damage(turn), turn)));
            let all = checked.unwrap_or_else(|_| {
                eprintln!("failed with {what}, image {turn}");
                failed.store(true, Ordering::Relaxed);
                next.store(turns.len(), Ordering::Relaxed);
                false
            });
            same.fetch_add(all.into(), Ordering::Relaxed);
        }
    };
    // Uses threads of its own. A rayon thread would start on another image while a query waits for its parts.
    thread::scope(|scope| (0..THREADS).for_each(|_| drop(scope.spawn(work))));
    assert!(!failed.into_inner(), "{what}: see above");
    assert!(most_in_use() < MOST_BYTES, "{} bytes in use", most_in_use());
    let (same, tried) = (same.into_inner(), turns.len());
    let so_far = IMAGES.fetch_add(tried, Ordering::Relaxed) + tried;
    let bytes = most_in_use();
    eprintln!(
        "{what}: {tried} images, {same} gave all answers; {so_far} so far, {bytes} bytes at most"
    );
    same
}

fn damaged() -> Damaged {
    Damaged::new(&FILE.bytes)
}

/// Asserts that the file has all the contents that this test relies on.
#[test]
fn the_file_has_everything() {
    let parts = FILE.parts();
    let of = |kind: u8| parts.iter().filter(|part| part.kind == kind).count();
    let counts: Vec<usize> = (0..=11).chain([18, 19]).map(of).collect();
    eprintln!("{} bytes, parts by kind {counts:?}", FILE.bytes.len());
    assert!(counts[1] >= 3 && counts[5] >= 2, "segments and tombstone bitmaps: {counts:?}");
    assert!(counts[1..].iter().all(|count| *count > 0), "all kinds of pages: {counts:?}");
    assert!(FILE.bytes.len() < 100 << 10);
    assert!(FILE.check(damaged(), 0));
}

#[test]
fn every_flipped_bit() {
    let parts = FILE.parts();
    let in_full = |byte: usize| {
        let here = |part: &&Part| (part.offset..part.offset + part.length).contains(&byte);
        parts.iter().find(here).is_some_and(|part| part.is_tried_in_full())
    };
    let bits = 8 * FILE.bytes.len();
    let (most, rest): (Vec<usize>, Vec<usize>) = (0..bits).partition(|bit| in_full(bit / 8));
    let some_of = |all: Vec<usize>, one_in| -> Vec<usize> {
        share(all.len(), one_in).into_iter().map(|i| all[i]).collect()
    };
    let (most, rest) = (some_of(most, 5), some_of(rest, 31));
    let flip = |bit| Damaged { flipped: Some(bit), ..damaged() };
    let same = try_all("flips of index, tombstones, duplicates, headers, manifest", &most, flip);
    // The manifest's padding has no checksum and no meaning.
    assert!(same < 8 * 64, "{same}");
    let same = try_all("other flips", &rest, flip);
    assert!((1..rest.len()).contains(&same));
}

#[test]
fn every_cut_and_some_extensions() {
    let length = FILE.bytes.len();
    let cut = |length| Damaged { length, ..damaged() };
    let all = share(length, 11);
    assert_eq!(try_all("cuts", &all, cut), 0, "the file ends where its data ends");
    let longer: Vec<usize> = (1..200).step_by(cases(7, 1)).chain([4096, 70_000]).collect();
    let same =
        try_all("extensions", &longer, |more| Damaged { length: length + more, ..damaged() });
    assert_eq!(same, longer.len());
}

/// Exchanges two ranges of the file, and moves what is between them.
fn exchanged(a: Part, b: Part) -> Damaged {
    let bytes = &FILE.bytes;
    let range = |part: Part| &bytes[part.offset..part.offset + part.length];
    let between = &bytes[a.offset + a.length..b.offset];
    Damaged { patches: vec![(a.offset, [range(b), between, range(a)].concat())], ..damaged() }
}

/// Splits the file into ranges of one size.
fn blocks(size: usize) -> Vec<Part> {
    let starts = (0..FILE.bytes.len()).step_by(size);
    let length = |offset: usize| size.min(FILE.bytes.len() - offset);
    starts.map(|offset| Part { kind: 0, offset, length: length(offset) }).collect()
}

#[test]
fn every_exchange_of_two_pages() {
    for (what, parts, one_in) in [
        ("exchanged pages", FILE.parts(), 5),
        ("exchanged blocks of 4,096", blocks(4096), 1),
        ("exchanged blocks of 64", blocks(64), 101),
    ] {
        let pairs: Vec<(Part, Part)> = parts
            .iter()
            .enumerate()
            .flat_map(|(i, a)| parts[i + 1..].iter().map(move |b| (*a, *b)))
            .collect();
        try_all(what, &share(pairs.len(), one_in), |i| exchanged(pairs[i].0, pairs[i].1));
    }
}

/// Replaces each page, each block, and everything from or up to an offset with bytes of another file.
fn transplants(what: &str, other: &[u8]) {
    let patch = |offset: usize, length: usize| {
        let end = (offset + length).min(other.len());
        let bytes = other.get(offset..end).unwrap_or_default().to_vec();
        Damaged { patches: vec![(offset, bytes)], ..damaged() }
    };
    for parts in [FILE.parts(), blocks(4096), blocks(64)] {
        let all = share(parts.len(), if parts.len() > 100 { 11 } else { 1 });
        let what = format!("{what}, {} places", parts.len());
        try_all(&what, &all, |i| patch(parts[i].offset, parts[i].length));
    }
    // With both superblocks and what they refer to, it would be the other file. With one it is not.
    let units = FILE.bytes.len() / 64;
    let from = share(units - 64, 31);
    try_all(&format!("{what}, from a place on"), &from, |i| patch(64 * (i + 64), 1 << 20));
}

#[test]
fn every_stale_page() {
    let there = FILE.parts();
    let alike = there.iter().filter(|part| {
        let header = |bytes: &[u8]| bytes.get(part.offset..part.offset + 24).map(<[u8]>::to_vec);
        let (old, new) = (header(&FILE.stale), header(&FILE.bytes));
        // Kind and page number are the same, but the extent differs.
        let same = |(old, new): (Vec<u8>, Vec<u8>)| {
            old[4] == new[4] && old[16..20] == new[16..20] && old[8..16] != new[8..16]
        };
        part.kind > 0 && old.zip(new).is_some_and(same)
    });
    let alike = alike.count();
    eprintln!("{alike} older pages of the same kind and number at the same places");
    assert!(alike >= 5, "{alike}");
    transplants("stale pages", &FILE.stale);
}

/// One stale superblock changes nothing. With two, the file is an old state of itself. This one names a log, so it is
/// refused. Without that, nothing could detect it, and every answer is that of the old state.
#[test]
fn stale_superblocks() {
    let patch = |from: usize, to: usize| {
        let patches = vec![(from, FILE.earlier[from..to].to_vec())];
        Damaged { patches, ..damaged() }
    };
    let one = [patch(0, 4096), patch(4096, 8192), patch(8192, 12_288), patch(4096, 12_288)];
    assert_eq!(try_all("one stale superblock", &[0, 1, 2, 3], |i| one[i].clone()), one.len());
    let both = [&FILE.earlier[..8192], &FILE.bytes[8192..]].concat();
    let layer = Arc::new(MemoryFiles::new().with_file(PATH, &*both));
    let refused = Reader::open_in(layer, Path::new(PATH), Options::default()).unwrap_err();
    assert!(matches!(refused, Error::LogMissing { .. }), "{refused}");
    let shown = rows_of(&both);
    assert!(shown == rows_of(&FILE.earlier) && shown != FILE.rows);
}

#[test]
fn every_page_of_another_database() {
    transplants("pages of another database", &stranger());
}

/// The same with a writer, after a kill, with commits in the write-ahead log. An open has all commits or fails with a
/// typed error, and a refused open changes no byte. A full run flips every bit, and those of the superblocks and the
/// mark twice.
#[test]
fn every_flipped_bit_after_a_kill() {
    let killed = Killed::new(&FILE);
    let said = [0..8 * 128, 8 * 4096..8 * 4224, 8 * 8192..8 * 8224];
    let said = said.into_iter().flatten().step_by(cases(5, 1));
    let bits = said.chain(share(8 * killed.bytes.len(), 701));
    let (bits, opened) = (bits.collect::<Vec<_>>(), AtomicUsize::new(0));
    bits.par_iter().panic_fuse().for_each(|&bit| {
        let mut bytes = killed.bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let all = catch_unwind(AssertUnwindSafe(|| killed.check(bytes))).unwrap_or_else(|panic| {
            eprintln!("failed with bit {bit}");
            resume_unwind(panic)
        });
        opened.fetch_add(all.into(), Ordering::Relaxed);
    });
    let (opened, tried) = (opened.into_inner(), bits.len());
    eprintln!("flips after a kill: {tried} images, {opened} gave all answers");
    assert!((1..tried).contains(&opened));
}

/// Damages a few places with random bytes, zeros, ones, or bytes from elsewhere in the file.
fn random(seed: usize) -> Damaged {
    let (mut random, bytes) = (Random(seed as u64), &FILE.bytes);
    let patches = (0..=random.below(4)).map(|_| {
        let most = 1 << random.below(11);
        let length = 1 + random.below(most) as usize;
        let at = random.below(bytes.len() as u64) as usize;
        let from = random.below((bytes.len() - length) as u64) as usize;
        let patch = match random.below(5) {
            0 => vec![0; length],
            1 => vec![255; length],
            2 => bytes[from..from + length].to_vec(),
            _ => (0..length).map(|_| random.below(256) as u8).collect(),
        };
        (at, patch)
    });
    let patches: Vec<_> = patches.collect();
    let cut = random.below(10) == 0;
    let length = if cut { random.below(bytes.len() as u64 * 9 / 8) as usize } else { bytes.len() };
    Damaged { patches, length, ..damaged() }
}

/// Random damage of many bytes.
#[test]
fn random_damage() {
    let (count, step) = (cases(1500, 9_700_000), 100_000);
    for first in (0..count).step_by(step) {
        let turns: Vec<usize> = (first..count.min(first + step)).collect();
        try_all("random damage", &turns, random);
    }
}
