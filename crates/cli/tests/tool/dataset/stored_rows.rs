//! `--db`: runs that compare with what earlier runs kept.

use std::fs;

use serde_json::Value;

use super::oracle::{Row, planted};
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
    let [low, value, high] =
        ["low", "resemblance", "high"].map(|name| entries[2][name].as_f64().unwrap());
    assert!(low < high && low <= value && value <= high && low < 0.98 && high > 0.95);
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
    assert!(again["kept"].as_u64() <= Some(10), "{again}");
    // Repeating the first run gives the same output and stores nothing twice.
    let stored = tool.keys("seen.ringer");
    let kept = fs::read(tool.path("out/d.jsonl")).unwrap();
    let replaced = dedup(&tool, "d.jsonl", "out", &["--min", "0.9"]);
    assert_eq!(replaced["kept"], first["kept"]);
    assert!(fs::read(tool.path("out/d.jsonl")).unwrap() == kept);
    assert_eq!(tool.keys("seen.ringer"), stored);
    let estimates_below_min = again["kept"].as_u64().unwrap() as usize;
    assert_eq!(tool.keys("seen.ringer").len(), keys.len() + estimates_below_min);
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
