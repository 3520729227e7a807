//! Replays every finding of the fuzzers and every seed through the same entry functions.

use testkit::random::Random;
use testkit::scale::cases;
use testkit::{attacks, corpus};

use std::fs;
use std::path::Path;

use attacks::{checksums, seeds};
use ringer::Depth;
use ringer::internals::maintenance::check;
use ringer::internals::store::file_layer::memory::MemoryFiles;
use testkit::allocations::capped;

/// Runs an attack with each of its files. A panic is reported with the name of the file.
fn replay(name: &str) {
    let (_, attack) = attacks::ALL.iter().find(|(other, _)| *other == name).expect("an attack");
    let fails = |(name, bytes): (String, Vec<u8>)| {
        std::panic::catch_unwind(|| capped(*attack, &bytes)).is_err().then_some(name)
    };
    let failed: Vec<_> = corpus::inputs(name).into_iter().filter_map(fails).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn records() {
    replay("records");
}

#[test]
fn pages() {
    replay("pages");
}

#[test]
fn database() {
    replay("database");
}

#[test]
fn log() {
    replay("log");
}

#[test]
fn model() {
    replay("model");
}

/// Returns a boundary value or a random number.
fn value(random: &mut Random) -> u64 {
    const EDGES: [u64; 10] = [0, 1, 2, 63, 64, 255, 0xFFFF, 0xFFFF_FFFE, 0xFFFF_FFFF, u64::MAX];
    match random.below(3) {
        0 => EDGES[random.index(EDGES.len())],
        1 => random.below(300),
        _ => random.below(1 << 31) << random.below(34),
    }
}

/// Makes a few changes to an input, or appends something.
fn change(random: &mut Random, input: &mut Vec<u8>) {
    for _ in 0..=random.below(5) {
        let (at, width) = (random.index(input.len()), 1 << random.below(4));
        let value = value(random).to_le_bytes();
        match random.below(8) {
            0..=2 => input.iter_mut().skip(at).zip(value).take(width).for_each(|(b, v)| *b = v),
            // Appends a database edit with small numbers.
            3..=5 => {
                let small = [random.below(40), random.below(8), random.below(256), 0];
                input.extend(small.map(|n| n as u8));
                input.extend(value);
            }
            6 => input.extend(random.bytes(width)),
            _ => input.truncate(input.len() - random.index(input.len().min(30))),
        }
    }
}

fn number(name: &str, or: u64) -> u64 {
    std::env::var(name).map_or(or, |text| text.parse().expect("a number"))
}

/// Attacks with changed seeds. RINGER_RANDOM is the number of attempts, RINGER_RANDOM_START the first one, and
/// RINGER_SEEDS a folder with more seeds. The input of a failure is saved beside the corpora.
fn attack_at_random(
    name: &str,
    attack: fn(&[u8]),
    count: u64,
    vary: fn(&mut Vec<u8>, &mut Random),
) {
    let more = std::env::var_os("RINGER_SEEDS").map(|folder| Path::new(&folder).join(name));
    let more = more.iter().flat_map(|folder| corpus::files_in(folder));
    let seeds: Vec<_> =
        corpus::inputs(name).into_iter().chain(more).map(|(_, bytes)| bytes).collect();
    let start = number("RINGER_RANDOM_START", 1);
    for n in start..start + number("RINGER_RANDOM", count) {
        let mut random = Random(n);
        let mut input = seeds[random.index(seeds.len())].clone();
        change(&mut random, &mut input);
        vary(&mut input, &mut random);
        if std::panic::catch_unwind(|| capped(attack, &input)).is_err() {
            let path = corpus::folder().join("artifacts").join(format!("{name}-{n}"));
            let kept = fs::create_dir_all(corpus::folder().join("artifacts"));
            let kept = kept.and_then(|()| fs::write(&path, &input));
            panic!("{name}, input {n}: see {} ({kept:?})", path.display());
        }
    }
}

/// Does what a fuzzer does in its first moments, without one.
#[test]
fn changed_seeds() {
    for (name, attack) in attacks::ALL {
        attack_at_random(name, *attack, cases(30, 150), |_, _| {});
    }
}

/// The same with whole files only, each used in one way: many more inputs in the same time.
#[test]
fn changed_files() {
    attack_at_random(
        "database",
        attacks::database::database_in_one_way,
        cases(100, 1500),
        |input, random| {
            if let Some(first) = input.first_mut() {
                *first = *first & 15 | (random.below(16) as u8) << 4;
            }
        },
    );
}

/// Every folder of regressions belongs to an attack. Otherwise its files would never be replayed.
#[test]
fn every_folder_of_regressions_has_its_attack() {
    for entry in fs::read_dir(corpus::folder().join("regressions")).expect("a readable folder") {
        let name = entry.expect("a readable folder").file_name().to_string_lossy().into_owned();
        let known = attacks::ALL.iter().any(|(attack, _)| *attack == name);
        assert!(known || name == "README.md", "{name}");
    }
}

/// The seeds have no damage. Recomputing their checksums changes nothing, so all checksums are found.
#[test]
fn seeds_are_whole() {
    let made = seeds::make();
    if std::env::var_os("RINGER_MAKE_SEEDS").is_some() {
        for (name, bytes) in &made {
            fs::write(
                Path::new(env!("CARGO_MANIFEST_DIR"))
                    .join("crates/testkit/src/attacks/seeds")
                    .join(name),
                bytes,
            )
            .expect("a writable folder");
        }
        return;
    }
    let made = made.iter().filter(|(name, _)| name.ends_with(".ringer"));
    let made = made.map(|(name, bytes)| (*name, &**bytes));
    let kept = seeds::CLOSED.into_iter().chain([("unclean", seeds::UNCLEAN)]);
    for (name, bytes) in made.chain(kept) {
        let layer = MemoryFiles::new().with_file(seeds::PATH, bytes);
        let report = check::check(&layer, Path::new(seeds::PATH), Depth::Deep);
        let report = report.expect("a file in memory can be read");
        assert_eq!((report.findings, report.rows > 0), (Vec::new(), true), "{name}");
        let mut repaired = bytes.to_vec();
        let places = checksums::file(&mut repaired);
        assert!(repaired == bytes && places.len() > 10, "{name}: {}", places.len());
    }
}
