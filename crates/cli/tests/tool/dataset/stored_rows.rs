//! `--db`: runs that compare with what earlier runs kept.

use std::fs;

use serde_json::Value;

use super::oracle::{Row, planted, resemblance, strict};
use crate::run::{Tool, words};

fn line(id: &str, text: &str) -> String {
    format!("{}\n", serde_json::json!({"id": id, "text": text}))
}

fn dedup(tool: &Tool, file: &str, out: &str, more: &[&str]) -> Value {
    let arguments =
        ["dedup", "--jsonl", file, "--out", out, "--db", "seen.ringer", "--json", "--force"];
    tool.run(&[&arguments[..], more].concat()).with_status(0).json().remove(0)
}

#[test]
fn a_later_run_removes_what_is_stored_and_adds_what_it_keeps() {
    let tool = Tool::new();
    tool.write("day1.jsonl", line("a", &words(1)) + &line("b", &words(2)));
    let edited = words(1).replacen('w', "x", 1);
    let day2 =
        [line("c", &edited), line("d", &words(3)), line("b", &words(4)), line("e", &words(2))];
    tool.write("day2.jsonl", day2.concat())
        .write("day3.jsonl", line("f", &words(4)) + &line("g", &words(5)));
    assert_eq!(dedup(&tool, "day1.jsonl", "out1", &[])["kept"], 2);
    let summary = dedup(&tool, "day2.jsonl", "out2", &["--clusters", "c.jsonl"]);
    let counts = ["rows", "kept", "removed", "groups", "unjudged"].map(|name| &summary[name]);
    assert_eq!(counts, [4, 2, 2, 2, 0]);
    assert_eq!(fs::read_to_string(tool.path("out2/day2.jsonl")).unwrap(), day2[1..3].concat());
    // The second `b` has another text, so both are stored.
    assert_eq!(tool.keys("seen.ringer"), ["a", "b", "b (2)", "d"]);
    let list = fs::read_to_string(tool.path("c.jsonl")).unwrap();
    let entries: Vec<Value> =
        list.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let found: Vec<_> = entries
        .iter()
        .map(|e| ["key", "file", "representative"].map(|name| e[name].as_str().unwrap()))
        .collect();
    assert_eq!(
        found,
        [["a", "", "a"], ["b", "", "b"], ["c", "day2.jsonl", "a"], ["e", "day2.jsonl", "b"]]
    );
    assert_eq!(entries[0]["kept"], true);
    assert_eq!(entries[2]["kept"], false);
    // One of 300 words differs, so five of 300 shingles do.
    let exact = 295.0 / 305.0;
    for name in ["low", "resemblance", "high"] {
        assert!((entries[2][name].as_f64().unwrap() - exact).abs() < 1e-9, "{}", entries[2]);
    }
    let summary = dedup(&tool, "day3.jsonl", "out3", &[]);
    assert_eq!([&summary["kept"], &summary["removed"]], [1, 1]);
    tool.run(&["check", "seen.ringer", "--deep"]).with_status(0);
    assert!(!tool.names().iter().any(|name| name.contains("hot") || name.contains("partial")));
}

#[test]
fn a_run_on_the_same_rows_removes_them_all() {
    let tool = Tool::new();
    let rows = planted(200, 11);
    tool.write("d.jsonl", rows.iter().map(Row::line).collect::<String>());
    let first = dedup(&tool, "d.jsonl", "out", &["--features", "tokens", "--min", "0.9"]);
    let keys = tool.keys("seen.ringer");
    assert_eq!(first["kept"], keys.len());
    let again = dedup(&tool, "d.jsonl", "again", &["--min", "0.9"]);
    assert_eq!(again["kept"], 0);
    // Repeating the first run gives the same output and stores nothing twice.
    let kept = fs::read(tool.path("out/d.jsonl")).unwrap();
    let replaced = dedup(&tool, "d.jsonl", "out", &["--min", "0.9"]);
    assert_eq!(replaced["kept"], first["kept"]);
    assert!(fs::read(tool.path("out/d.jsonl")).unwrap() == kept);
    assert_eq!(tool.keys("seen.ringer"), keys);
}

/// Two runs, and the rows of the second that the stored rows of the first remove. Brute force on sets of words gives the same
/// rows, the same resemblances and the same number of kept rows. Thresholds among the planted resemblances would make
/// estimates decide many rows wrongly.
#[test]
fn stored_rows_are_compared_exactly() {
    for (min, seed) in [(0.7, 31), (0.8, 32), (0.9, 33)] {
        let tool = Tool::new();
        let rows = planted(800, seed);
        let (before, after) = rows.split_at(400);
        let lines = |rows: &[Row]| rows.iter().map(Row::line).collect::<String>();
        tool.write("1.jsonl", lines(before)).write("2.jsonl", lines(after));
        let at_least = min.to_string();
        let options = ["--min", &at_least, "--features", "tokens"];
        dedup(&tool, "1.jsonl", "out1", &options);
        let list = ["--clusters", "c.jsonl", "--report", "r.html"];
        let summary = dedup(&tool, "2.jsonl", "out2", &[&options[..], &list].concat());

        let order: Vec<usize> = (0..before.len()).collect();
        let gone = strict(before, &order, min);
        let stored: Vec<&Row> =
            order.iter().filter(|row| !gone.contains_key(row)).map(|row| &before[*row]).collect();
        let removed_by_stored: Vec<&Row> = after
            .iter()
            .filter(|row| stored.iter().any(|one| resemblance(one, row) >= min))
            .collect();
        let listed = fs::read_to_string(tool.path("c.jsonl")).unwrap();
        let listed: Vec<Value> =
            listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let is_stored = |key: &Value| stored.iter().any(|row| *key == *row.id);
        let removed: Vec<&Value> = listed
            .iter()
            .filter(|entry| entry["kept"] == false && is_stored(&entry["representative"]))
            .collect();
        assert_eq!(
            removed.iter().map(|entry| &entry["key"]).collect::<Vec<_>>(),
            removed_by_stored.iter().map(|row| &*row.id).collect::<Vec<_>>()
        );
        assert!(removed.len() > 20, "{}", removed.len());
        for entry in removed {
            let row = |key: &Value| rows.iter().find(|row| *key == *row.id).unwrap();
            let exact = resemblance(row(&entry["key"]), row(&entry["representative"]));
            for name in ["low", "resemblance", "high"] {
                assert!((entry[name].as_f64().unwrap() - exact).abs() < 1e-9, "{entry}");
            }
        }
        let left: Vec<Row> = after
            .iter()
            .filter(|row| !removed_by_stored.iter().any(|one| one.id == row.id))
            .cloned()
            .collect();
        let order: Vec<usize> = (0..left.len()).collect();
        assert_eq!(summary["kept"], left.len() - strict(&left, &order, min).len());
    }
}

/// With --estimate, a new database keeps no sets. Later runs say that they estimate.
#[test]
fn a_database_without_sets_is_asked_by_estimates() {
    let tool = Tool::new();
    let edited = words(1).replacen('w', "x", 1);
    tool.write("1.jsonl", line("a", &words(1))).write("2.jsonl", line("b", &edited));
    dedup(&tool, "1.jsonl", "out1", &["--estimate"]);
    let exact = fs::metadata(tool.path("seen.ringer")).unwrap().len();
    let run = ["dedup", "--jsonl", "2.jsonl", "--out", "out2", "--db", "seen.ringer"];
    let ran = tool.run(&[&run[..], &["--clusters", "c.jsonl"]].concat()).with_status(0);
    let note = "note: seen.ringer keeps no sets, so resemblance to its rows is estimated";
    assert!(ran.err.contains(note), "{}", ran.err);
    let list = fs::read_to_string(tool.path("c.jsonl")).unwrap();
    let entry: Value = serde_json::from_str(list.lines().nth(1).unwrap()).unwrap();
    let [low, value, high] =
        ["low", "resemblance", "high"].map(|name| entry[name].as_f64().unwrap());
    assert!(low < high && low <= value && value <= high && low < 0.98 && high > 0.95);
    fs::remove_file(tool.path("seen.ringer")).unwrap();
    dedup(&tool, "1.jsonl", "out1", &[]);
    assert!(fs::metadata(tool.path("seen.ringer")).unwrap().len() > exact);
}

#[test]
fn a_database_of_other_features_is_refused() {
    let tool = Tool::new();
    tool.write("d.jsonl", line("a", &words(1)));
    tool.run(&["create", "seen.ringer", "--features", "tokens"]).with_status(0);
    let arguments = ["dedup", "--jsonl", "d.jsonl", "--out", "out", "--db", "seen.ringer"];
    let ringer = |more: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_ringer"));
        command.args(arguments).args(more).current_dir(tool.folder.path());
        crate::run::ran(&command.output().unwrap())
    };
    for more in [&["--features", "text"][..], &["--seed", "5"], &["--preset", "precise"]] {
        ringer(more).with_status(2);
    }
    assert!(!tool.path("out").exists());
    ringer(&[]).with_status(0);
    assert_eq!(tool.keys("seen.ringer"), ["a"]);
}

#[test]
fn a_database_that_keeps_sets_is_asked_exactly() {
    let tool = Tool::new();
    tool.run(&["create", "seen.ringer", "--keep-sets"]).with_status(0);
    let edited = words(1).replacen('w', "x", 1);
    tool.write("1.jsonl", line("a", &words(1))).write("2.jsonl", line("b", &edited));
    let run = |file: &str, out: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_ringer"));
        let arguments = ["dedup", "--jsonl", file, "--out", out, "--db", "seen.ringer"];
        command.args(arguments).args(["--clusters", "c.csv", "--force"]);
        crate::run::ran(&command.current_dir(tool.folder.path()).output().unwrap()).with_status(0);
    };
    run("1.jsonl", "out1");
    run("2.jsonl", "out2");
    let list = fs::read_to_string(tool.path("c.csv")).unwrap();
    let fields: Vec<&str> = list.lines().nth(2).unwrap().split(',').collect();
    assert_eq!((fields[0], fields[4]), ("b", "a"));
    // One of 300 words differs, so five of 300 shingles do.
    assert!(
        fields[5].starts_with("0.967") && fields[5] == fields[6] && fields[6] == fields[7],
        "{fields:?}"
    );
}
