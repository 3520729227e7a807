//! Any arguments of the tool, and any lines that it reads: its own sources, run in a folder with a few databases.
//!
//! No panic, no status that is not documented, nothing beside the folder; lines are also parsed and sketched by
//! themselves, for each way to read them. Standard input should be empty: `.ci/fuzz` sees to that.
#![no_main]

#[path = "../../src/bin/ringer/arguments.rs"]
mod arguments;
#[path = "../attacks/mod.rs"]
mod attacks;
#[path = "../../src/bin/ringer/commands/mod.rs"]
mod commands;
#[path = "../../src/bin/ringer/exit.rs"]
mod exit;
#[path = "../../src/bin/ringer/grouping.rs"]
mod grouping;
#[path = "../../src/bin/ringer/input/mod.rs"]
mod input;
#[path = "../../src/bin/ringer/interrupt.rs"]
mod interrupt;
#[path = "../../src/bin/ringer/load.rs"]
mod load;
#[path = "../../src/bin/ringer/open.rs"]
mod open;
#[path = "../../src/bin/ringer/problems.rs"]
mod problems;
#[path = "../../src/bin/ringer/progress.rs"]
mod progress;
#[path = "../../src/bin/ringer/show.rs"]
mod show;
#[path = "../../src/bin/ringer/sources.rs"]
mod sources;

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;

use arguments::Arguments;
use attacks::arguments::{Files, given};
use clap::Parser;
use input::{Records, Worker};
use libfuzzer_sys::fuzz_target;
use ringer::scheme::{CardinalityField, Features, Sampler};
use ringer::{Parameters, Scheme, Sketcher, presets};

/// A folder of its own for each input: in memory, if there is such a place.
fn folder() -> tempfile::TempDir {
    let shared = Path::new("/dev/shm");
    let above = if shared.is_dir() { shared.to_path_buf() } else { std::env::temp_dir() };
    tempfile::tempdir_in(above).expect("a temporary folder")
}

/// What is put there.
fn files() -> &'static Files {
    static FILES: OnceLock<Files> = OnceLock::new();
    FILES.get_or_init(|| Files::new().expect("databases"))
}

fuzz_target!(|bytes: &[u8]| {
    let given = given(bytes);
    for (records, sketcher) in readings() {
        let mut worker = Worker::new(sketcher);
        for line in given.lines.split(|byte| *byte == b'\n') {
            if let Ok(Some((key, content))) = records.parse(line) {
                assert!(!key.is_empty());
                drop(worker.of_content(&content));
            }
        }
    }
    if given.arguments.is_empty() {
        return;
    }
    let root = folder();
    let work = root.path().join("work");
    fs::create_dir(&work).expect("nothing stands there");
    files().fill(&work, &given.lines).expect("it can be filled");
    std::env::set_current_dir(&work).expect("it is there");
    let command = [std::ffi::OsString::from("ringer")].into_iter().chain(given.arguments);
    if let Ok(Arguments { command, style }) = Arguments::try_parse_from(command) {
        let status = exit::report(command.run(style));
        assert!([0, 1, 2, 3, 4, 5, 6].map(ExitCode::from).contains(&status), "{status:?}");
    }
    let beside: Vec<_> = fs::read_dir(root.path()).expect("it is there").collect();
    assert_eq!(beside.len(), 1, "{beside:?}");
    // What is removed next is nobody's current folder.
    std::env::set_current_dir("/").expect("it is there");
});

/// All ways to read a line.
fn readings() -> &'static [(Records, Sketcher)] {
    static READINGS: OnceLock<Vec<(Records, Sketcher)>> = OnceLock::new();
    READINGS.get_or_init(|| {
        let mut readings = Vec::new();
        for features in [Features::Tokens, Features::Ids, Features::TEXT] {
            for sampler in [Sampler::OnePermutation, Sampler::Weighted, Sampler::SignProjection] {
                let weighted = sampler != Sampler::OnePermutation;
                let preset = match sampler {
                    Sampler::SignProjection => presets::COSINE,
                    _ => Parameters { cardinality: CardinalityField::None, ..presets::PRECISE },
                };
                let measure = sampler.measure();
                let scheme = Parameters { features, sampler, measure, ..preset };
                let Ok(scheme) = Scheme::new(scheme) else { continue };
                let [key_field, text_field] = ["id", "text"].map(String::from);
                let json = Records::Json { key_field, text_field, features, weighted };
                for records in [Records::Sets { weighted }, json] {
                    readings.push((records, Sketcher::new(&scheme)));
                }
            }
        }
        assert!(readings.len() >= 8, "{}", readings.len());
        readings
    })
}
