//! Which rows are kept, against brute force.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use super::oracle::{self, Row, planted, resemblance};
use crate::run::Tool;

const MIN: f64 = 0.7;

/// A dataset of two shards, the second one in a folder.
fn tool_with(rows: &[Row]) -> Tool {
    let tool = Tool::new();
    let (first, second) = rows.split_at(rows.len() / 3);
    let lines = |rows: &[Row]| rows.iter().map(Row::line).collect::<String>();
    tool.write("in/a.jsonl", lines(first)).write("in/more/b.jsonl", lines(second));
    tool
}

fn dedup(tool: &Tool, more: &[&str]) -> Value {
    let arguments = ["dedup", "--jsonl", "in", "--out", "out", "--features", "tokens"];
    let rest = ["--min", "0.7", "--json", "--clusters", "groups.jsonl", "--removed", "removed"];
    let ran = tool.run(&[&arguments[..], &rest, more].concat()).with_status(0);
    ran.json().pop().unwrap()
}

/// Checks the output against what was expected to be removed.
fn check(tool: &Tool, rows: &[Row], summary: &Value, removed: &BTreeSet<usize>) {
    assert_eq!(summary["rows"], rows.len());
    assert_eq!(summary["removed"], removed.len());
    assert_eq!(summary["kept"], rows.len() - removed.len());
    assert_eq!(summary["unjudged"], 0);
    let written = |folder: &str| {
        let name = |file: &str| fs::read_to_string(tool.path(&format!("{folder}/{file}"))).unwrap();
        name("a.jsonl") + &name("more/b.jsonl")
    };
    let expected = |want: bool| -> String {
        let wanted = |i: &usize| removed.contains(i) == want;
        (0..rows.len()).filter(wanted).map(|i| rows[i].line()).collect()
    };
    assert!(written("out") == expected(false), "kept rows");
    assert!(written("removed") == expected(true), "removed rows");
}

fn order_by<K: Ord>(rows: &[Row], key: impl Fn(&Row) -> K) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|i| (key(&rows[*i]), *i));
    order
}

#[test]
fn strict_groups_are_those_of_brute_force_whatever_is_kept() {
    let rows = planted(600, 1);
    let length = |row: &Row| row.text().len();
    let last: Vec<usize> = (0..rows.len()).rev().collect();
    let orders: [(&[&str], Vec<usize>); 5] = [
        (&[], (0..rows.len()).collect()),
        (&["--keep", "last"], last),
        (&["--keep", "longest"], order_by(&rows, |row| std::cmp::Reverse(length(row)))),
        (&["--keep", "shortest"], order_by(&rows, length)),
        (&["--keep-by", "score"], order_by(&rows, |row| -row.score)),
    ];
    for (arguments, order) in orders {
        let tool = tool_with(&rows);
        let expected = oracle::strict(&rows, &order, MIN);
        assert!(expected.len() > 100, "{}", expected.len());
        let summary = dedup(&tool, arguments);
        check(&tool, &rows, &summary, &expected.keys().copied().collect());
        check_list(&tool, &rows, &expected);
    }
}

/// The list has each row of a group once, with its exact resemblance to the representative.
fn check_list(tool: &Tool, rows: &[Row], expected: &std::collections::BTreeMap<usize, usize>) {
    let list = fs::read_to_string(tool.path("groups.jsonl")).unwrap();
    let entries: Vec<Value> =
        list.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let representatives: BTreeSet<usize> = expected.values().copied().collect();
    assert_eq!(entries.len(), expected.len() + representatives.len());
    for entry in &entries {
        let index = |name: &str| entry[name].as_str().unwrap()[1..].parse::<usize>().unwrap();
        let (row, representative) = (index("key"), index("representative"));
        let first = rows.len() / 3;
        let (file, number) = match row < first {
            true => ("in/a.jsonl", row),
            false => ("in/more/b.jsonl", row - first),
        };
        assert_eq!((&entry["file"], &entry["row"]), (&file.into(), &(number + 1).into()));
        let kept = !expected.contains_key(&row);
        assert_eq!(entry["kept"], kept);
        assert_eq!(representative, expected.get(&row).copied().unwrap_or(row));
        let exact = resemblance(&rows[row], &rows[representative]);
        assert!(kept || exact >= MIN);
        for name in ["resemblance", "low", "high"] {
            // JSON numbers are parsed to within one unit in the last place.
            assert!((entry[name].as_f64().unwrap() - exact).abs() < 1e-15, "{entry}");
        }
        assert!(entry["group"].as_u64().unwrap() > 0);
    }
}

#[test]
fn connected_groups_follow_chains_and_say_so() {
    let rows = planted(400, 2);
    let tool = tool_with(&rows);
    let expected = oracle::connected(&rows, MIN);
    assert!(expected.len() > oracle::strict(&rows, &order_by(&rows, |_| 0), MIN).len());
    let summary = dedup(&tool, &["--linkage", "connected"]);
    check(&tool, &rows, &summary, &expected);
    let ran = tool.run(&[
        "dedup",
        "--jsonl",
        "in",
        "--out",
        "warned",
        "--features",
        "tokens",
        "--min",
        "0.7",
        "--linkage",
        "connected",
    ]);
    assert!(ran.with_status(0).err.contains("through chains of"));
}

#[test]
fn estimates_are_labelled_with_their_interval() {
    let rows = planted(300, 3);
    let tool = tool_with(&rows);
    let summary = dedup(&tool, &["--estimate"]);
    let removed = summary["removed"].as_u64().unwrap();
    assert!(removed > 50 && summary["kept"].as_u64().unwrap() + removed == 300);
    let list = fs::read_to_string(tool.path("groups.jsonl")).unwrap();
    let wide = list.lines().filter(|line| {
        let entry: Value = serde_json::from_str(line).unwrap();
        entry["low"].as_f64() < entry["high"].as_f64()
    });
    assert!(wide.count() > 30);
}

#[test]
fn texts_are_compared_by_their_shingles() {
    let tool = Tool::new();
    let words = crate::run::words;
    let edited = words(1).replacen("w", "x", 3);
    let line = |id: &str, text: &str| format!("{}\n", serde_json::json!({"id": id, "text": text}));
    let lines = [line("a", &words(1)), line("b", &words(2)), line("c", &edited.to_uppercase())];
    tool.write("d.jsonl", lines.concat());
    tool.run(&["dedup", "--jsonl", "d.jsonl", "--out", "out", "--clusters", "c.csv"])
        .with_status(0);
    assert_eq!(fs::read_to_string(tool.path("out/d.jsonl")).unwrap(), lines[..2].concat());
    let list = fs::read_to_string(tool.path("c.csv")).unwrap();
    let mut list = list.lines();
    assert_eq!(list.next(), Some("key,file,row,group,representative,resemblance,low,high,kept"));
    assert_eq!(list.next(), Some("a,d.jsonl,1,1,a,1,1,1,true"));
    // Three words of 300 change: seven shingles differ on each side.
    assert!(list.next().unwrap().starts_with("c,d.jsonl,3,1,a,0.95"), "{list:?}");
    assert_eq!(list.next(), None);
}

#[test]
fn arrays_of_tokens_and_ids_are_sets() {
    for (features, rows) in [
        ("tokens", [r#"["a b", "c", "d"]"#, r#"["d", "c", "a b"]"#, r#""a b c d""#]),
        ("ids", ["[1, 2, 3]", "[3, 1, 2]", r#""3 4 5""#]),
    ] {
        let tool = Tool::new();
        let lines = rows.map(|row| format!("{{\"text\": {row}}}\n"));
        tool.write("d.jsonl", lines.concat());
        tool.run(&["dedup", "--jsonl", "d.jsonl", "--out", "out", "--features", features])
            .with_status(0);
        let expected = format!("{}{}", lines[0], lines[2]);
        assert_eq!(fs::read_to_string(tool.path("out/d.jsonl")).unwrap(), expected);
    }
}
