//! The library, checked against the golden files and rejects of `format-spec/`. Also `format-spec/reader.py`, a
//! reader written from the specification alone, checked against the library.
//!
//! `RINGER_MAKE_GOLDEN=rejects cargo test --test spec golden::make` rewrites the patches of `rejects/`, which stay
//! the same as long as the golden files do. `RINGER_MAKE_GOLDEN=new` creates golden databases that do not exist yet,
//! and `RINGER_MAKE_GOLDEN=all` recreates all of them; `python3 format-spec/reader.py --rows` then writes their rows.
//! Do that only when the format changes.

mod databases;
mod edit;
mod kept_rejects;
mod posting_rejects;
mod rejects;
mod value_rejects;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use databases::Golden;
use edit::Edit;
use rejects::{NEED_CHECK, Reject};
use ringer::scheme::Slots;
use ringer::{Database, Depth, Error, Options, Reader, Scheme, Sketcher, Snapshot, presets};

fn specification() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("format-spec")
}

fn golden_path(name: &str) -> PathBuf {
    specification().join("golden").join(format!("{name}.ringer"))
}

fn golden_bytes(name: &str) -> Vec<u8> {
    fs::read(golden_path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn options() -> Options {
    Options::default().with_background(false)
}

fn open(path: &Path) -> Result<Reader, Error> {
    Database::open_read_only(path, options())
}

/// Prints the rows of a database in the form of `reader.py`.
fn rows_text(snapshot: &Snapshot) -> Result<String, Error> {
    let mut text = String::new();
    for row in snapshot.range::<&[u8]>(..) {
        let (key, stored) = row?;
        let signature = &stored.signature;
        let planes: String = signature.planes().iter().map(|w| format!("{w:016x}")).collect();
        let (empty, code) = (u8::from(signature.is_empty()), signature.cardinality_code());
        text += &format!("{}\t{}\t{empty}\t{code}\t{planes}", hex(&key), stored.sequence);
        if let Some(elements) = signature.elements() {
            let elements: Vec<String> = elements.iter().map(u64::to_string).collect();
            text += &format!("\t{}", elements.join(","));
        }
        if let Some(value) = &stored.value {
            text += &format!("\tvalue={}", hex(value));
        }
        text.push('\n');
    }
    Ok(text)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn make() {
    let Some(what) = std::env::var_os("RINGER_MAKE_GOLDEN") else { return };
    let known = what == "all" || what == "new" || what == "rejects";
    assert!(known, "RINGER_MAKE_GOLDEN is `all`, `new` or `rejects`");
    for golden in databases::all() {
        let path = golden_path(golden.name);
        if what == "rejects" || what == "new" && path.exists() {
            continue;
        }
        let _ = fs::remove_file(&path);
        golden.make(&path);
    }
    let folder = specification().join("rejects");
    for entry in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.extension().is_some_and(|ending| ending == "patch") {
            fs::remove_file(entry).unwrap();
        }
    }
    for reject in rejects::all() {
        fs::write(folder.join(format!("{}.patch", reject.name)), patch(reject)).unwrap();
    }
}

/// Compares every row three ways: as stored in the golden file, as read by `reader.py`, and as a new sketch of the
/// set.
#[test]
fn golden_files_have_the_documented_rows() {
    for golden in databases::all() {
        let reader = open(&golden_path(golden.name)).unwrap();
        assert!(reader.is_clean() && reader.commits_in_log() == 0, "{}", golden.name);
        assert_eq!(reader.scheme(), golden.scheme, "{}", golden.name);
        assert!(fs::metadata(golden_path(golden.name)).unwrap().len() <= 32 << 10);
        assert_holds(&reader.snapshot(), &golden);
        let report = Database::check(golden_path(golden.name), Depth::Deep).unwrap();
        assert_eq!(report.findings, [], "{}", golden.name);
    }
}

fn assert_holds(snapshot: &Snapshot, golden: &Golden) {
    let name = golden.name;
    let read_by_python = fs::read_to_string(golden_path(name).with_extension("rows")).unwrap();
    assert_eq!(rows_text(snapshot).unwrap(), read_by_python, "{name}");
    let sketcher = Sketcher::new(&golden.scheme);
    let rows = golden.rows();
    assert_eq!(snapshot.len().unwrap(), rows.len() as u64, "{name}");
    assert_eq!(snapshot.keys::<&[u8]>(..).count(), rows.len(), "{name}");
    for (key, (sequence, set, value)) in &rows {
        let stored = snapshot.get(key).unwrap().unwrap_or_else(|| panic!("{name}: no {key:?}"));
        assert_eq!(stored.sequence, *sequence, "{name}: {key:?}");
        assert_eq!(stored.value.as_deref(), value.as_deref(), "{name}: {key:?}");
        assert_eq!(stored.signature, sketcher.sketch(set).unwrap(), "{name}: {key:?}");
    }
    for key in [&b"date"[..], b"nothing", b"no such key", b"kk", b"l"] {
        assert_eq!(snapshot.contains(key).unwrap(), rows.contains_key(key), "{name}: {key:?}");
    }
}

/// Golden files can be opened for writing, extended, compacted and packed, and their rows stay the same.
#[test]
fn golden_files_can_be_written_to() {
    for golden in databases::all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("copy.ringer");
        fs::copy(golden_path(golden.name), &path).unwrap();
        let db = Database::open(&path, options()).unwrap();
        assert!(db.open_report().clean, "{}", golden.name);
        db.put("new key", &[1, 2]).unwrap();
        db.delete("new key").unwrap();
        db.compact().unwrap();
        assert!(db.stat().unwrap().segments <= 1);
        assert_holds(&db.snapshot(), &golden);
        let packed = folder.path().join("packed.ringer");
        db.pack(&packed).unwrap();
        db.close().unwrap();
        assert_holds(&open(&path).unwrap().snapshot(), &golden);
        assert_holds(&open(&packed).unwrap().snapshot(), &golden);
    }
}

/// The golden files still contain the special cases that they exist for.
#[test]
fn the_mixed_file_has_what_it_is_for() {
    let edit = Edit { bytes: golden_bytes("mixed") };
    let manifest = edit.manifest();
    assert_eq!(edit.number(manifest + 104, 4), 3, "segments");
    let tombstones = |i| edit.number(edit.entry(edit::Segment(i)) + 40, 8);
    assert!(tombstones(0) != 0 && tombstones(1) != 0 && tombstones(2) == 0);
    let header = edit.header(edit::Segment(0)).payload();
    assert_eq!((edit.number(header + 96, 4), edit.number(header + 100, 4)), (9, 7), "rows and ids");
}

#[test]
fn the_lists_file_has_what_it_is_for() {
    let edit = Edit { bytes: golden_bytes("lists") };
    let segment = edit::Segment(0);
    let header = edit.header(segment).payload();
    assert_eq!((edit.number(header + 96, 4), edit.number(header + 100, 4)), (521, 520));
    assert_eq!((edit.number(header + 192, 8), edit.number(header + 200, 4)), (1260, 3));
    let list = |i: usize| {
        let at = edit.list_table(segment).payload() + 16 * i;
        (edit.number(at, 2), edit.number(at + 4, 4), edit.number(at + 8, 4))
    };
    // One is longer than any bucket may be, and two are too long for the other contents of their blocks.
    assert_eq!([list(0), list(1), list(2)], [(0, 46, 240), (1, 47, 359), (2, 120, 217)]);
    let page = edit.list(segment, 1).payload();
    assert!(edit.number(page + 16, 1) > 0, "gaps");
}

/// One superblock is enough (SUPER-5), and the mark is optional (MARK-1).
#[test]
fn a_lost_superblock_or_mark_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mixed = databases::all().remove(2);
    for start in [0, 4096, 8192] {
        for change in [0x00, 0xFF] {
            let mut bytes = golden_bytes(mixed.name);
            bytes[start..start + 4096].fill(change);
            let path = folder.path().join("damaged.ringer");
            fs::write(&path, bytes).unwrap();
            assert_holds(&open(&path).unwrap().snapshot(), &mixed);
        }
    }
}

fn patch(reject: &Reject) -> String {
    let golden = golden_bytes(reject.of);
    let mut edit = Edit { bytes: golden.clone() };
    (reject.change)(&mut edit);
    assert_ne!(edit.bytes, golden, "{}: nothing changed", reject.name);
    edit.patch(&golden, reject.of, reject.what)
}

#[test]
fn the_patches_are_those_of_the_list() {
    let folder = specification().join("rejects");
    for reject in rejects::all() {
        let path = folder.join(format!("{}.patch", reject.name));
        let stored = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        assert_eq!(stored, patch(reject), "{}", reject.name);
    }
    let names = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name());
    let stored = names.filter(|name| name.to_string_lossy().ends_with(".patch")).count();
    assert_eq!(stored, rejects::all().count());
    let known = |name: &&&str| rejects::all().any(|reject| reject.name == **name);
    assert_eq!(NEED_CHECK.iter().filter(known).count(), NEED_CHECK.len());
}

/// Every rule of the file has a reject, except rules that no bytes of a closed file can break: marks may be anything
/// (MARK-1, TEMP-1), and a scheme is cut out by its length (SCHEME-1).
#[test]
fn every_rule_of_a_file_has_a_reject() {
    let pages = [
        "file.md",
        "pages.md",
        "segment.md",
        "postings.md",
        "elements.md",
        "values.md",
        "scheme.md",
    ];
    let pages = pages.map(|page| fs::read_to_string(specification().join(page)).unwrap());
    let lines = pages.iter().flat_map(|page| page.lines());
    let rules: BTreeSet<String> = lines
        .filter_map(|line| line.strip_prefix("- **")?.split_once("**"))
        .map(|(rule, _)| rule.to_string())
        .filter(|rule| !["MARK-1", "TEMP-1", "SCHEME-1"].contains(&&**rule))
        .collect();
    let broken = rejects::all().map(|reject| rule_of_name(reject.name)).collect();
    assert_eq!(rules, broken);
}

/// Returns the rule in a reject's name.
fn rule_of_name(name: &str) -> String {
    let end = name.match_indices('-').nth(1).map_or(name.len(), |(at, _)| at);
    name[..end].to_string()
}

fn rule_of_error(error: &Error) -> &'static str {
    match error {
        Error::Corrupt { rule, .. } | Error::UnsupportedFormat { rule, .. } => rule,
        Error::NotADatabase { .. } => "SUPER-5",
        other => panic!("{other}"),
    }
}

/// Returns all rules that reading reports as broken.
fn rules_seen(path: &Path, keys: &[Vec<u8>]) -> BTreeSet<&'static str> {
    let mut rules = BTreeSet::new();
    let mut see = |result: Result<(), Error>| {
        rules.extend(result.as_ref().err().map(rule_of_error));
    };
    match open(path) {
        Err(error) => see(Err(error)),
        Ok(reader) => {
            let snapshot = reader.snapshot();
            see(snapshot.len().map(drop));
            see(rows_text(&snapshot).map(drop));
            keys.iter().for_each(|key| see(snapshot.get(key).map(drop)));
        }
    }
    rules
}

/// Each file that breaks a rule is rejected because of that rule, and `check` says so.
#[test]
fn each_reject_is_refused_for_its_rule() {
    let folder = tempfile::tempdir().unwrap();
    let databases = databases::all();
    let mut wrong = Vec::new();
    for reject in rejects::all() {
        let path = folder.path().join(reject.name);
        let patch = specification().join("rejects").join(format!("{}.patch", reject.name));
        let name = |file: &str| file.trim_end_matches(".ringer").to_string();
        let bytes =
            edit::apply(&fs::read_to_string(patch).unwrap(), |file| golden_bytes(&name(file)));
        fs::write(&path, bytes).unwrap();
        let golden = databases.iter().find(|golden| golden.name == reject.of).unwrap();
        let keys: Vec<Vec<u8>> = golden.rows().into_keys().collect();
        let rules = rules_seen(&path, &keys);
        let rule = rule_of_name(reject.name);
        if NEED_CHECK.contains(&reject.name) {
            // Reading may miss the broken rule, but must not report another one.
            if rules.iter().any(|seen| *seen != rule) {
                wrong.push(format!("{}: {rules:?}", reject.name));
            }
        } else if rules.iter().ne([&*rule].iter()) {
            wrong.push(format!("{}: {rules:?}", reject.name));
        }
        let report = Database::check(&path, Depth::Deep).unwrap();
        if !report.findings.iter().any(|finding| finding.rule == rule) {
            wrong.push(format!("{}: check finds {:?}", reject.name, report.findings));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns what `reader.py` prints for a file, or `None` without Python.
fn second_reader(path: &Path) -> Option<String> {
    let reader = specification().join("reader.py");
    let output = Command::new("python3").arg(reader).arg(path).output().ok()?;
    Some(String::from_utf8(output.stdout).unwrap())
}

/// Fences of several levels, for which no golden file is large enough. Both readers give the same rows, and reject
/// fences that do not start where their parent says.
#[test]
fn both_readers_agree_on_fences_of_several_levels() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("levels.ringer");
    let db = Database::create(&path, &Scheme::precise(), options()).unwrap();
    let mut load = db.bulk_load();
    for i in 0..200_u64 {
        // Five such keys fill a leaf, and separators have 3,000 bytes.
        let key = format!("{}{i:04}{}", "p".repeat(3000), "s".repeat(990));
        load.put(key, &(i..i + 20).collect::<Vec<_>>()).unwrap();
    }
    load.commit().unwrap();
    db.close().unwrap();
    let mut edit = Edit { bytes: fs::read(&path).unwrap() };
    let segment = edit::Segment(0);
    let level = edit.number(edit.header(segment).payload() + 172, 1);
    assert!(level >= 2, "level {level}");
    if let Some(text) = second_reader(&path) {
        assert_eq!(text, rows_text(&open(&path).unwrap().snapshot()).unwrap());
    }

    edit.in_page(edit.root(segment), |edit, _| {
        let first_row = edit.fence_entry(segment, 1) + 4;
        edit.set(first_row, 4, edit.number(first_row, 4) - 1);
    });
    fs::write(&path, &edit.bytes).unwrap();
    assert_eq!(rules_seen(&path, &[]), BTreeSet::from(["FENCE-5"]));
    if let Some(text) = second_reader(&path) {
        assert!(text.starts_with("FENCE-5: "), "{text}");
    }
}

/// Lists of several pages and several pages of everything else, for which no golden file is large enough.
#[test]
fn both_readers_agree_on_large_postings() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.ringer");
    let slots = Slots { count: 3, samples_per_slot: 1, value_bits: 1, min_matches: 1 };
    let few = presets::PRECISE.with_samples(64).with_bits(1).with_slots(slots);
    let slots = Slots { count: 8, samples_per_slot: 2, value_bits: 8, min_matches: 1 };
    let many = presets::PRECISE.with_samples(64).with_bits(4).with_slots(slots);
    for (parameters, sets) in [(few, 50_000_u64), (many, 9_000)] {
        let _ = fs::remove_file(&path);
        let scheme = Scheme::new(parameters).unwrap();
        let db = Database::create(&path, &scheme, options()).unwrap();
        let mut load = db.bulk_load();
        for i in 0..sets {
            load.put(i.to_be_bytes(), &(7 * i..7 * i + 9).collect::<Vec<_>>()).unwrap();
        }
        load.commit().unwrap();
        db.close().unwrap();
        assert_eq!(Database::check(&path, Depth::Deep).unwrap().findings, []);
        if let Some(text) = second_reader(&path) {
            assert!(text == rows_text(&open(&path).unwrap().snapshot()).unwrap());
        }
    }
}

/// A directory page that starts too late is rejected, even if none of its buckets has short entries (POST-3).
#[test]
fn a_directory_page_of_long_buckets_starts_where_it_should() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.ringer");
    let (mut edit, page) = (19_000..20_000)
        .step_by(50)
        .find_map(|sets| page_of_long_buckets(&path, sets))
        .expect("some page of 127 buckets");
    assert_eq!(Database::check(&path, Depth::Full).unwrap().findings, []);
    edit.in_page(page, |edit, at| {
        for start in BLOCKS.step_by(64).map(|block| at + block) {
            edit.set(start, 6, edit.number(start, 6) + 1);
        }
    });
    fs::write(&path, &edit.bytes).unwrap();
    let report = Database::check(&path, Depth::Full).unwrap();
    assert_eq!(report.findings.iter().map(|finding| finding.rule).collect::<Vec<_>>(), ["POST-3"]);
    if let Some(text) = second_reader(&path) {
        assert!(text.starts_with("POST-3: "), "{text}");
    }
}

/// The blocks in the payload of a full directory page.
const BLOCKS: std::ops::Range<usize> = 40..40 + 127 * 64;

/// Builds a database of `sets` sets with about 300 postings for each of 64 values. Nearly all buckets are then long,
/// with one per block. Returns a directory page without short entries that comes before the last short entry, if
/// there is one.
fn page_of_long_buckets(path: &Path, sets: u64) -> Option<(Edit, edit::Page)> {
    let _ = fs::remove_file(path);
    let db = Database::create(path, &Scheme::rdc(), options()).unwrap();
    let mut load = db.bulk_load();
    (0..sets).for_each(|i| load.put(i.to_be_bytes(), &[i, i << 32, i << 40]).unwrap());
    load.commit().unwrap();
    db.close().unwrap();
    let edit = Edit { bytes: fs::read(path).unwrap() };
    let segment = edit::Segment(0);
    let short = edit.number(edit.header(segment).payload() + 192, 8);
    let page = (0..6).map(|i| edit.posting_directory_page(segment, i)).find(|page| {
        let lines = BLOCKS.step_by(64).map(|block| &edit.bytes[page.payload() + block..][..64]);
        let empty = lines.clone().all(|line| line[8..].iter().all(|byte| *byte == 0));
        empty && edit.number(page.payload() + BLOCKS.start, 6) < short
    })?;
    Some((edit, page))
}
