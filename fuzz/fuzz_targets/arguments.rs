//! Arbitrary arguments of the tool and arbitrary input lines: the tool's own code, run in a folder with a few
//! databases.
//!
//! There is no panic, no undocumented exit status, and nothing outside the folder changes. Lines are also parsed and
//! sketched separately, for each way to read them. Standard input must be empty, which `.ci/fuzz` ensures.
#![no_main]

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use ringer::scheme::{CardinalityField, Features, Sampler};
use ringer::{Scheme, Sketcher, presets};
use testkit::attacks::arguments::{Files, given};

/// Returns a new folder for each input, in memory if possible.
fn folder() -> tempfile::TempDir {
    let shared = Path::new("/dev/shm");
    let above = if shared.is_dir() { shared.to_path_buf() } else { std::env::temp_dir() };
    tempfile::tempdir_in(above).expect("a temporary folder")
}

/// The files that are put there.
fn files() -> &'static Files {
    static FILES: OnceLock<Files> = OnceLock::new();
    FILES.get_or_init(|| Files::new().expect("databases"))
}

fuzz_target!(|bytes: &[u8]| {
    let given = given(bytes);
    for (json, weighted, sketcher) in readings() {
        ringer_cli::sketch_lines(&given.lines, *json, *weighted, sketcher);
    }
    if given.arguments.is_empty() {
        return;
    }
    let root = folder();
    let work = root.path().join("work");
    fs::create_dir(&work).expect("the path is free");
    files().fill(&work, &given.lines).expect("it can be filled");
    std::env::set_current_dir(&work).expect("it is there");
    let command = [std::ffi::OsString::from("ringer")].into_iter().chain(given.arguments);
    if let Some(status) = ringer_cli::run(command) {
        assert!([0, 1, 2, 3, 4, 5, 6].map(ExitCode::from).contains(&status), "{status:?}");
    }
    let beside: Vec<_> = fs::read_dir(root.path()).expect("it is there").collect();
    assert_eq!(beside.len(), 1, "{beside:?}");
    // Leaves the folder before it is removed.
    std::env::set_current_dir("/").expect("it is there");
});

/// All ways to read a line: whether it is JSON, whether elements have weights, and how they are sketched.
fn readings() -> &'static [(bool, bool, Sketcher)] {
    static READINGS: OnceLock<Vec<(bool, bool, Sketcher)>> = OnceLock::new();
    READINGS.get_or_init(|| {
        let mut readings = Vec::new();
        for features in [Features::Tokens, Features::Ids, Features::TEXT] {
            for sampler in [Sampler::OnePermutation, Sampler::Weighted, Sampler::SignProjection] {
                let weighted = sampler != Sampler::OnePermutation;
                let preset = match sampler {
                    Sampler::SignProjection => presets::COSINE,
                    _ => presets::PRECISE.with_cardinality(CardinalityField::None),
                };
                let scheme = preset.with_features(features).with_sampler(sampler);
                let Ok(scheme) = Scheme::new(scheme) else { continue };
                for json in [false, true] {
                    readings.push((json, weighted, Sketcher::new(&scheme)));
                }
            }
        }
        assert!(readings.len() >= 8, "{}", readings.len());
        readings
    })
}
