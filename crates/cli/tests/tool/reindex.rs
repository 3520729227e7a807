//! Schemes for a number of sets: `create --sets`, `plan --sets`, the warnings of `stat` and `query --explain`, and
//! `reindex`.

use crate::run;

use std::fs;

use ringer::estimate::capacity;
use ringer::{Database, Options, Scheme, presets};
use run::Tool;
use serde_json::Value;

/// Lines of sets that resemble each other in pairs.
fn lines(sets: u32) -> String {
    let words = |i: u32| (0..9).map(move |j| format!("w{}", 50 * (i / 2) + j));
    let line = |i: u32| format!("k{i:03}\t{} own{i}\n", words(i).collect::<Vec<_>>().join(" "));
    (0..sets).map(line).collect()
}

/// A database of 200 sets with slots of one sample of 8 bits.
fn outgrown() -> Tool {
    let tool = Tool::new();
    let slots = ["--slots", "40", "--samples-per-slot", "1", "--value-bits", "8"];
    let create = ["create", "db.ringer", "--features", "tokens", "--seed", "1"];
    tool.run(&[&create[..], &slots].concat()).with_status(0);
    tool.write("sets.tsv", lines(200));
    tool.run(&["add", "db.ringer", "--sets", "sets.tsv"]).with_status(0);
    tool
}

fn stat(tool: &Tool, database: &str) -> Value {
    tool.run(&["stat", database, "--json"]).with_status(0).json().remove(0)
}

fn number(value: &Value, name: &str) -> f64 {
    value[name].as_f64().unwrap_or_else(|| panic!("{name}: {value}"))
}

#[test]
fn create_chooses_a_scheme_for_the_number_of_sets() {
    let tool = Tool::new();
    for (sets, bits) in [("1000000", 8), ("10000000", 9), ("100000000", 10), ("1000000000", 11)] {
        let name = format!("{sets}.ringer");
        tool.run(&["create", &name, "--sets", sets, "--seed", "1"]).with_status(0);
        let stat = stat(&tool, &name);
        assert_eq!((&stat["bits"], &stat["samples"]), (&bits.into(), &64.into()), "{stat}");
        assert_eq!((&stat["slots"], &stat["outgrown"]), (&21.into(), &false.into()), "{stat}");
        let scheme = Database::open_read_only(tool.path(&name), Options::default());
        let scheme = scheme.unwrap().scheme();
        assert!(capacity::chance_candidates(&scheme, sets.parse().unwrap()) <= 10.0);
        let plan = tool.run(&["plan", "--min", "0.7", "--sets", sets]).with_status(0).out;
        let line = format!("`ringer create DB --sets {sets}` chooses 64 samples of {bits} bits");
        assert!(plan.contains(&line) && plan.contains("chance candidates per query: "), "{plan}");
        let plan = tool.run(&["plan", "--min", "0.7", "--sets", sets, "--json"]).with_status(0);
        for advice in plan.json() {
            assert!(advice["slots"] == 0 || number(&advice, "chance_candidates") <= 10.0);
            assert!(number(&advice, "found") >= 0.99, "{advice}");
        }
    }
    // With given samples or bits, only slots are chosen.
    let given = ["create", "given.ringer", "--sets", "100000000", "--bits", "8"];
    tool.run(&given).with_status(0);
    let given = stat(&tool, "given.ringer");
    assert_eq!((&given["bits"], &given["min_matches"]), (&8.into(), &2.into()), "{given}");
    for wrong in [&["--sets", "0"][..], &["--sets", "10", "--slots", "3"], &["--sets", "many"]] {
        tool.run(&[&["create", "no.ringer"], wrong].concat()).with_status(2);
    }
    let rdc = ["create", "no.ringer", "--preset", "cosine", "--sets", "1000000000000"];
    let refused = tool.run(&rdc).with_status(2);
    assert!(refused.err.contains("choose more bits or samples"), "{}", refused.err);
}

#[test]
fn an_outgrown_database_is_reported_and_reindexed() {
    let tool = outgrown();
    let before = stat(&tool, "db.ringer");
    assert!(before["outgrown"] == true && number(&before, "chance_candidates") > 10.0, "{before}");
    let shown = tool.run(&["stat", "db.ringer"]).with_status(0);
    assert!(shown.out.contains("chance candidates    29.0 per query"), "{}", shown.out);
    let advice = "run `ringer reindex db.ringer --sets 200`";
    assert!(shown.err.starts_with("warning: ") && shown.err.contains(advice), "{}", shown.err);
    let explain = ["query", "db.ringer", "--key", "k004", "--explain"];
    let explained = tool.run(&explain).with_status(0).out;
    assert!(explained.contains("outgrown its slots; reindex it"), "{explained}");
    let json = tool.run(&[&explain[..], &["--json"]].concat()).with_status(0).json();
    assert!(number(&json[json.len() - 1]["explain"], "chance_candidates") > 10.0);

    let pairs = || tool.run(&["pairs", "db.ringer", "--min", "0.5"]).with_status(0).out;
    let rows = || tool.run(&["dump", "db.ringer"]).with_status(0).out;
    let (all_pairs, all_rows) = (pairs(), rows());
    let done = tool.run(&["reindex", "db.ringer", "--sets", "200", "--json"]).with_status(0).json();
    assert!(done[0]["rewritten"] == true && done[0]["sets"] == 200, "{}", done[0]);
    assert!(number(&done[0], "chance_candidates") <= 10.0, "{}", done[0]);
    assert!(number(&done[0], "needed_bytes") >= number(&done[0], "file_bytes"));
    assert_eq!(tool.names(), ["db.ringer", "sets.tsv"]);
    let after = stat(&tool, "db.ringer");
    assert!(after["outgrown"] == false && after["bits"] == before["bits"], "{after}");
    assert_eq!(tool.run(&["stat", "db.ringer"]).with_status(0).err, "");
    assert!(!tool.run(&explain).with_status(0).out.contains("outgrown"));
    assert!(pairs() == all_pairs && rows() == all_rows, "the signatures changed");
    tool.run(&["check", "db.ringer", "--deep"]).with_status(0);
    let again = tool.run(&["reindex", "db.ringer", "--sets", "200"]).with_status(0);
    assert!(again.err.contains("nothing to do"), "{}", again.err);
    // The database goes on.
    tool.run_with("more\tone two\n", &["add", "db.ringer", "--sets", "-"]).with_status(0);
    assert_eq!(tool.keys("db.ringer").len(), 201);
}

/// The file with fewer bits has the rows of a database that was created with these bits.
#[test]
fn fewer_bits_are_those_of_a_database_that_was_made_with_them() {
    let tool = outgrown();
    let slots = ["--slots", "12", "--samples-per-slot", "5", "--value-bits", "14"];
    let reindex = [&["reindex", "db.ringer", "--bits", "3"][..], &slots].concat();
    let done = tool.run(&reindex).with_status(0);
    assert!(done.err.contains("reindexed 200 sets: 3 bits, 12 of 5 (14 bits"), "{}", done.err);
    let create = ["create", "made.ringer", "--features", "tokens", "--seed", "1", "--bits", "3"];
    tool.run(&[&create[..], &slots].concat()).with_status(0);
    tool.run(&["add", "made.ringer", "--sets", "sets.tsv"]).with_status(0);
    for command in [
        &["dump", "DB"][..],
        &["query", "DB", "--sets", "sets.tsv", "--json"],
        &["pairs", "DB", "--min", "0.4", "--json"],
    ] {
        let [one, two] = ["db.ringer", "made.ringer"].map(|name| {
            let named = command.iter().map(|part| if *part == "DB" { name } else { part });
            tool.run(&named.collect::<Vec<_>>()).with_status(0).out
        });
        assert!(!one.is_empty() && one == two, "{command:?}");
    }
    // Slots keep fitting if only the bits change.
    let done = tool.run(&["reindex", "db.ringer", "--bits", "2", "--json"]).with_status(0).json();
    assert_eq!((&done[0]["slots"], &done[0]["value_bits"]), (&12.into(), &10.into()));
    // An index can be dropped and made again.
    tool.run(&["reindex", "db.ringer", "--slots", "0"]).with_status(0);
    assert_eq!(stat(&tool, "db.ringer")["slots"], 0);
    tool.run(&["reindex", "db.ringer", "--bits", "1"]).with_status(0);
    tool.run(&["reindex", "db.ringer", "--slots", "5", "--samples-per-slot", "9"]).with_status(0);
    let last = stat(&tool, "db.ringer");
    assert_eq!((&last["value_bits"], &last["min_matches"]), (&9.into(), &1.into()), "{last}");
}

#[test]
fn what_is_not_possible_is_refused_and_changes_nothing() {
    let tool = outgrown();
    let bytes = fs::read(tool.path("db.ringer")).unwrap();
    for (arguments, status, expected) in [
        (&[][..], 2, "say what to change"),
        (&["--bits", "9"], 2, "the bits of stored signatures cannot change from 8 to 9"),
        (&["--bits", "0"], 2, "bits must be 1 to 16"),
        (&["--slots", "65", "--samples-per-slot", "1"], 2, "64 samples"),
        (&["--slots", "0", "--value-bits", "8"], 2, "--slots 0 means no index"),
        (&["--sets", "200", "--slots", "3"], 2, "cannot be used with"),
        (&["--sets", "18446744073709551615"], 2, "choose more bits or samples"),
        (&["--samples", "32"], 2, "unexpected argument"),
    ] {
        let refused = tool.run(&[&["reindex", "db.ringer"], arguments].concat());
        let refused = refused.with_status(status);
        assert!(refused.err.contains(expected), "{arguments:?}: {}", refused.err);
    }
    let reindex = |name: &'static str| ["reindex", name, "--sets", "100"];
    assert!(
        tool.run(&reindex("nowhere.ringer")).with_status(3).err.contains("there is no database")
    );
    tool.run(&reindex("sets.tsv")).with_status(5);
    let writer = Database::open(tool.path("db.ringer"), Options::default()).unwrap();
    tool.run(&reindex("db.ringer")).with_status(4);
    writer.close().unwrap();
    assert!(fs::read(tool.path("db.ringer")).unwrap() == bytes);
    assert_eq!(tool.names(), ["db.ringer", "sets.tsv"]);
}

/// The tool chooses the same slots as the library.
#[test]
fn slots_are_those_that_the_library_chooses() {
    let tool = Tool::new();
    tool.run(&["create", "db.ringer", "--seed", "1"]).with_status(0);
    for sets in [5_000_000_u64, 100_000_000, 1_000_000_000] {
        let arguments = ["reindex", "db.ringer", "--sets", &sets.to_string(), "--json"];
        let stored = Database::open_read_only(tool.path("db.ringer"), Options::default());
        let stored: Scheme = stored.unwrap().scheme();
        let done = tool.run(&arguments).with_status(0).json();
        let chosen = capacity::slots_for(&stored, sets).unwrap();
        assert_eq!(done[0]["slots"], chosen.count, "{}", done[0]);
        assert_eq!(done[0]["min_matches"], chosen.min_matches, "{}", done[0]);
    }
    assert_eq!(presets::DEFAULT.slots.count, 21);
}
