//! `tests/README.md` agrees with the tests: every row names tests that exist, and every test module has a row.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The folders of the test groups.
const FOLDERS: [&str; 2] = ["tests", "crates/cli/tests"];

/// Returns the text of all test modules, by group and name.
fn modules() -> BTreeMap<(String, String), String> {
    let mut found = BTreeMap::new();
    for folder in FOLDERS {
        for group in entries(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)) {
            if !group.join("main.rs").exists() {
                continue;
            }
            for module in entries(&group).into_iter().filter(|path| !path.ends_with("main.rs")) {
                found.insert((name(&group), name(&module)), text(&module));
            }
        }
    }
    found
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a readable folder");
    entries.map(|entry| entry.expect("a readable folder").path()).collect()
}

fn name(path: &Path) -> String {
    path.file_stem().expect("a name").to_string_lossy().into_owned()
}

/// Returns the text of a file, or of all files in a folder.
fn text(path: &Path) -> String {
    match path.is_dir() {
        true => entries(path).iter().map(|path| text(path)).collect(),
        false => fs::read_to_string(path).expect("a text"),
    }
}

/// Returns the words in backticks of a cell.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_row_names_tests_that_exist_and_every_module_has_a_row() {
    let modules = modules();
    let groups: BTreeSet<&str> = modules.keys().map(|(group, _)| &**group).collect();
    let page = text(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/README.md"));
    let mut named = BTreeSet::new();
    let mut wrong = Vec::new();
    // The second cell of a row lists its tests; in the table of seeded bugs it is the third.
    for cell in page.lines().filter_map(|row| row.strip_prefix("| ")).flat_map(|row| {
        let cells: Vec<&str> = row.split(" | ").collect();
        let place = usize::from(row.starts_with(|c: char| c.is_ascii_digit())) + 1;
        cells.get(place).copied()
    }) {
        let (mut group, mut module) = (None, None);
        for word in quoted(cell) {
            let is_module = |own: &str| modules.contains_key(&(own.to_string(), word.to_string()));
            if groups.contains(word) && !group.is_some_and(is_module) {
                (group, module) = (Some(word), None);
                continue;
            }
            let Some(own) = group else { continue };
            let (first, rest) = word.split_once("::").unwrap_or((word, ""));
            let test = if modules.contains_key(&(own.to_string(), first.to_string())) {
                module = Some(first);
                named.insert((own.to_string(), first.to_string()));
                rest
            } else {
                first
            };
            let module = module.map(|module| (own.to_string(), module.to_string()));
            let code = module.and_then(|module| modules.get(&module));
            let function = format!("fn {}", test.trim_end_matches(".."));
            if !code.is_some_and(|code| test.is_empty() || code.contains(&function)) {
                wrong.push(format!("`{own}` `{word}`"));
            }
        }
    }
    let has_tests = |code: &&String| code.contains("#[test]");
    let unnamed = modules.iter().filter(|(key, code)| has_tests(code) && !named.contains(key));
    wrong.extend(unnamed.map(|((group, module), _)| format!("no row names {group} {module}")));
    assert!(wrong.is_empty(), "tests/README.md:\n{}", wrong.join("\n"));
    assert!(named.len() > 50, "{}", named.len());
}
