//! The house rules that can be checked automatically.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The modules of the library, in the order of data flow. A file may use modules in its own line or above, never
/// below.
const ROOMS: &[&[&str]] = &[
    &["error", "limits", "options", "scheme", "trace"],
    &["serialize", "sync"],
    &["kernel"],
    &["features"],
    &["sketch"],
    &["estimate"],
    &["matching"],
    &["format"],
    &["store"],
    &["index"],
    &["ingest", "query"],
    &["maintenance"],
    &["groups"],
    &["db"],
];

/// Modules of one line that must not use each other.
const STRANGERS: &[(&str, &str)] = &[("ingest", "query")];

/// Names without meaning. What would go there belongs elsewhere.
const EMPTY_NAMES: &[&str] = &["utils", "util", "common", "helpers", "misc", "base", "types"];

/// The one file that may import sled, and its tests.
const SLED_FILES: [&str; 2] = ["src/store/log/sled_log.rs", "src/store/log/sled_log/tests.rs"];

const MAX_LINES: usize = 500;

/// Each test binary links the library again, and a build waits for all of them.
const MAX_TEST_BINARIES: usize = 12;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns all files below a folder with one of these endings, as paths from the repository root.
fn files(folder: &str, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for path in entries.map(|entry| entry.expect("a readable folder").path()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && !["target", "corpus", "artifacts", ".git"].contains(&&*name) {
                folders.push(path);
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                found.push(path.strip_prefix(root()).expect("below the root").to_path_buf());
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "no files in {folder}");
    found
}

fn read(path: &Path) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path:?}: {error}"))
}

/// Returns a line without its comment. This is good enough for code formatted by `rustfmt`.
fn code(line: &str) -> &str {
    if line.trim_start().starts_with("//") { "" } else { line.split(" // ").next().unwrap_or(line) }
}

fn is_test(path: &Path) -> bool {
    path.starts_with("tests") || path.to_string_lossy().ends_with("tests.rs")
}

fn room_of(path: &Path) -> Option<String> {
    let first = path.strip_prefix("src").ok()?.iter().next()?.to_string_lossy().into_owned();
    Some(first.trim_end_matches(".rs").to_string())
}

fn level(room: &str) -> Option<usize> {
    ROOMS.iter().position(|line| line.contains(&room))
}

/// Asserts that there are no violations, and lists all of them otherwise.
fn check(mut found: Vec<String>, rule: &str) {
    found.sort();
    assert!(found.is_empty(), "{rule}:\n{}", found.join("\n"));
}

#[test]
fn modules_follow_the_data_flow() {
    let mut found = Vec::new();
    for path in files("src", &[".rs"]) {
        let Some(room) = room_of(&path) else { continue };
        let Some(own) = level(&room) else { continue };
        for (number, line) in read(&path).lines().enumerate() {
            for used in code(line).split("crate::").skip(1) {
                let end =
                    used.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(used.len());
                let used = &used[..end];
                let strangers =
                    STRANGERS.contains(&(&room, used)) || STRANGERS.contains(&(used, &room));
                if level(used).is_some_and(|level| level > own) || strangers {
                    found.push(format!("{}:{}: {room} uses {used}", path.display(), number + 1));
                }
            }
        }
    }
    check(found, "a module uses only modules above it");
}

#[test]
fn every_module_is_in_the_layer_list() {
    let rooms: BTreeSet<String> =
        files("src", &[".rs"]).iter().filter_map(|p| room_of(p)).collect();
    let others = ["lib", "internals", "bin", "spec_tables"];
    let unknown = rooms.into_iter().filter(|r| level(r).is_none() && !others.contains(&&**r));
    check(unknown.collect(), "a new room gets its line in ROOMS and in the table of src/lib.rs");
}

#[test]
fn file_names_are_meaningful() {
    let all = files(".", &[".rs", ".md", ".py"]);
    let empty = all.iter().filter(|path| {
        path.iter().any(|part| {
            let part = part.to_string_lossy();
            EMPTY_NAMES.contains(&part.split('.').next().unwrap_or_default())
        })
    });
    check(empty.map(|path| path.display().to_string()).collect(), "names that say nothing");
}

#[test]
fn unsafe_code_stays_in_the_kernels_and_sled_in_one_file() {
    let mut found = Vec::new();
    for path in files("src", &[".rs"]) {
        for (number, line) in read(&path).lines().enumerate() {
            let has = |word: &str| {
                code(line).split(|c: char| !c.is_alphanumeric() && c != '_').any(|w| w == word)
            };
            let at = format!("{}:{}: {line}", path.display(), number + 1);
            let unsafe_outside = has("unsafe") && !path.starts_with("src/kernel");
            let sled_outside =
                has("sled") && !SLED_FILES.iter().any(|file| path == Path::new(file));
            if unsafe_outside || sled_outside {
                found.push(at);
            }
        }
    }
    check(found, "unsafe only in src/kernel, sled only in its one file");
}

/// Files that may have locks without a rank: the ranked locks themselves, a file system for tests, and a table of formulas
/// that is filled without other locks.
const UNRANKED: [&str; 3] =
    ["src/sync", "src/store/file_layer/faulty", "src/estimate/dependence.rs"];

#[test]
fn every_lock_has_a_rank() {
    let mut found = Vec::new();
    for path in files("src", &[".rs"]) {
        if UNRANKED.iter().any(|unranked| path.starts_with(unranked)) || is_test(&path) {
            continue;
        }
        for (number, line) in read(&path).lines().enumerate() {
            let mut words = code(line).split(|c: char| !c.is_alphanumeric());
            if words.any(|word| ["Mutex", "RwLock"].contains(&word)) {
                found.push(format!("{}:{}: {line}", path.display(), number + 1));
            }
        }
    }
    check(found, "locks are `Ranked` or `RankedRwLock` (src/sync/lock_order.rs)");
}

#[test]
fn files_open_with_what_they_are_for_and_stay_short() {
    let mut found = Vec::new();
    for folder in ["src", "tests", "benches", "fuzz", "crates"] {
        for path in files(folder, &[".rs"]) {
            let text = read(&path);
            let opens = text.starts_with("//!") || text.starts_with("#![doc = include_str!");
            if !opens {
                found.push(format!("{}: no module comment", path.display()));
            }
            if text.lines().count() > MAX_LINES {
                found.push(format!("{}: more than {MAX_LINES} lines", path.display()));
            }
        }
    }
    check(found, "a file opens with its purpose and has one");
}

/// A new test joins the group of its promise: a directory in `tests` with a `main.rs`.
#[test]
fn integration_tests_are_a_few_groups() {
    let in_tests = |path: &PathBuf| {
        let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
        parts.iter().rposition(|part| part == "tests").map(|at| parts[at + 1..].join("/"))
    };
    // crates/models is not a member of the workspace.
    let all = files(".", &[".rs"]).into_iter().filter(|path| !path.starts_with("crates/models"));
    let (mut groups, mut single) = (BTreeSet::new(), Vec::new());
    for path in all.filter(|path| !path.starts_with("src")) {
        match in_tests(&path) {
            Some(file) if !file.contains('/') => single.push(path.display().to_string()),
            Some(file) if file.ends_with("/main.rs") => drop(groups.insert(path)),
            _ => {}
        }
    }
    check(single, "a test binary is a directory with a main.rs");
    let count = groups.len();
    assert!((1..=MAX_TEST_BINARIES).contains(&count), "{count} test binaries: {groups:?}");
}

#[test]
fn no_code_is_unfinished() {
    // The words are assembled here, so that this file does not find itself.
    let marks =
        [["to", "do!("], ["unimple", "mented!("], ["FIX", "ME"], ["XX", "X"], ["#[ign", "ore]"]];
    let marks = marks.map(|halves| halves.concat());
    let mut found = Vec::new();
    for folder in ["src", "tests", "benches", "fuzz", "crates"] {
        for path in files(folder, &[".rs"]) {
            for (number, line) in read(&path).lines().enumerate() {
                if marks.iter().any(|mark| line.contains(mark)) {
                    found.push(format!("{}:{}: {line}", path.display(), number + 1));
                }
            }
        }
    }
    check(found, "unfinished marks, and ignored tests without a reason");
}

/// Returns the rule ids such as `SIG-2` in a text: a known prefix, a dash and a number.
fn rule_ids(text: &str, prefixes: &BTreeSet<String>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for prefix in prefixes {
        for (at, _) in text.match_indices(&format!("{prefix}-")) {
            let before = text[..at].chars().next_back();
            let rest = &text[at + prefix.len() + 1..];
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            if !digits.is_empty() && !before.is_some_and(|c| c.is_alphanumeric() || c == '-') {
                found.insert(format!("{prefix}-{digits}"));
            }
        }
    }
    found
}

#[test]
fn every_rule_of_the_specification_is_cited_in_code_and_test() {
    let mut rules = BTreeSet::new();
    for path in files("format-spec", &[".md"]) {
        for line in read(&path).lines().filter_map(|line| line.strip_prefix("- **")) {
            let id = line.split("**").next().unwrap_or_default().to_string();
            assert!(rules.insert(id.clone()), "{id} is there twice");
        }
    }
    let prefixes: BTreeSet<String> =
        rules.iter().filter_map(|id| id.split_once('-')).map(|(prefix, _)| prefix.into()).collect();
    let (mut in_code, mut in_tests) = (BTreeSet::new(), BTreeSet::new());
    for path in files("src", &[".rs"]).into_iter().chain(files("tests", &[".rs"])) {
        if path.ends_with("tidy.rs") {
            continue;
        }
        let text = read(&path);
        let (code, test) = match text.split_once("#[cfg(test)]") {
            _ if is_test(&path) => ("", &*text),
            Some((code, test)) => (code, test),
            None => (&*text, ""),
        };
        in_code.append(&mut rule_ids(code, &prefixes));
        in_tests.append(&mut rule_ids(test, &prefixes));
    }
    let missing = |cited: &BTreeSet<String>| rules.difference(cited).cloned().collect::<Vec<_>>();
    check(missing(&in_code), "rules that no code cites");
    check(missing(&in_tests), "rules that no test cites");
    let unknown = in_code.union(&in_tests).filter(|id| !rules.contains(*id)).cloned();
    check(unknown.collect(), "ids that the specification does not have");
}

/// Phrases that comments and Markdown do not use, and what to write instead. The glossary has one term per concept.
const BANNED: &[(&str, &str)] = &[
    ("roster", "write: signature table"),
    ("likes of", "write: sets that resemble it"),
    ("look alike", "write: are similar"),
    ("looks alike", "write: is similar"),
    ("this room", "write: module"),
    ("told as", "write: reported as"),
    ("whom", "make the person the subject"),
    ("the door to", "say what the item gives access to"),
    ("thereof", "write: of it"),
    ("wherein", "write: in which"),
    ("henceforth", "write: from then on"),
];

/// Names that the glossary replaced, and what to write instead. They are banned in identifiers, file names and pages.
/// This file is not searched.
const OLD_NAMES: &[(&str, &str)] = &[
    ("hot_tier", "log"),
    ("hot tier", "log"),
    ("hot-tier", "log"),
    ("HotTier", "Log"),
    ("hot_side", "log_side"),
    ("hot_part", "log_part"),
    ("hot_log", "log"),
    ("TierId", "LogId"),
    ("src/care", "src/maintenance"),
    ("::care", "::maintenance"),
    ("liveness", "tombstones"),
    ("Liveness", "Tombstones"),
    ("block_id", "extent_id"),
    ("block id", "extent id"),
    ("copies_page", "duplicates_page"),
    ("CopiesPage", "DuplicatesPage"),
    ("copy_count", "duplicate_count"),
    ("sealed_sequence", "checkpointed_sequence"),
    ("sealed sequence", "checkpointed sequence"),
    ("seal_all", "checkpoint_all"),
    ("query_oracle::Ask", "query_oracle::Request"),
    ("compare_likes", "compare_query"),
    ("ask_for_", "request_"),
];

/// The text of a file's comments, or of all of a Markdown file, in lower case with single spaces. Phrases may go over the end
/// of a line.
fn prose(path: &Path, text: &str) -> String {
    let comment = |line: &str| {
        let (_, comment) = line.split_once("//")?;
        Some(comment.trim_start_matches(['/', '!']).to_string())
    };
    let lines: Vec<String> = match path.extension().is_some_and(|ending| ending == "md") {
        true => text.lines().map(Into::into).collect(),
        false => text.lines().filter_map(comment).collect(),
    };
    lines.join(" ").split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

fn has_phrase(prose: &str, phrase: &str) -> bool {
    let inside = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    prose.match_indices(phrase).any(|(at, _)| {
        let (before, after) = (&prose[..at], &prose[at + phrase.len()..]);
        !inside(before.chars().next_back()) && !inside(after.chars().next())
    })
}

#[test]
fn comments_and_pages_use_plain_words() {
    let seen = prose(Path::new("a.rs"), "let a = 1; // Some\n/// Plain  words\n//! here");
    assert!(has_phrase(&seen, "some plain words here") && !has_phrase(&seen, "word"), "{seen}");
    let mut found = Vec::new();
    for path in files(".", &[".rs", ".md"]) {
        let prose = prose(&path, &read(&path));
        for (phrase, instead) in BANNED.iter().filter(|(phrase, _)| has_phrase(&prose, phrase)) {
            found.push(format!("{}: `{phrase}`: {instead}", path.display()));
        }
    }
    check(found, "phrases that are hard to read");
}

#[test]
fn names_follow_the_glossary() {
    let own = Path::new("tests/spec/tidy.rs");
    let texts = files(".", &[".rs", ".md", ".py", ".toml", ".txt", ".patch"]).into_iter();
    let mut found = Vec::new();
    for path in texts.chain(files(".ci", &[""])).filter(|path| path != own) {
        let text = [&*path.to_string_lossy(), &*read(&path)].join("\n");
        for (old, term) in OLD_NAMES.iter().filter(|(old, _)| text.contains(old)) {
            found.push(format!("{}: `{old}`: the glossary says {term}", path.display()));
        }
    }
    check(found, "names that the glossary replaced");
}
