//! Exact answers of the tool: files and lines that are read again, that have changed or are gone, and thresholds.

use crate::run;

use std::collections::BTreeSet;

use run::{Tool, words};
use serde_json::Value;

/// The exact resemblance of two lists of words as sets.
fn jaccard(a: &str, b: &str) -> f64 {
    let set = |text: &str| text.split_whitespace().map(str::to_string).collect::<BTreeSet<_>>();
    let (a, b) = (set(a), set(b));
    a.intersection(&b).count() as f64 / a.union(&b).count() as f64
}

/// Sets of 40 tokens, each a little further from the first, and the exact resemblance of all pairs.
fn chain() -> Vec<(String, String)> {
    let set = |i: usize| (2 * i..2 * i + 40).map(|t| format!("t{t} ")).collect::<String>();
    (0..20).map(|i| (format!("k{i:02}"), set(i))).collect()
}

fn lines(sets: &[(String, String)]) -> String {
    sets.iter().map(|(key, set)| format!("{key}\t{set}\n")).collect()
}

fn pairs_of(json: &[Value]) -> BTreeSet<(String, String)> {
    let key = |pair: &Value, name: &str| pair[name].as_str().unwrap().to_string();
    json.iter().map(|pair| (key(pair, "a"), key(pair, "b"))).collect()
}

fn exact_pairs(sets: &[(String, String)], min: f64) -> BTreeSet<(String, String)> {
    let mut all = BTreeSet::new();
    for (i, (a, first)) in sets.iter().enumerate() {
        for (b, second) in &sets[i + 1..] {
            if jaccard(first, second) >= min {
                all.insert((a.clone(), b.clone()));
            }
        }
    }
    all
}

#[test]
fn pairs_are_decided_by_the_lines_they_came_from() {
    let sets = chain();
    let tool = Tool::with_sets(&lines(&sets));
    tool.write("sets.tsv", lines(&sets));
    let json: String = sets
        .iter()
        .map(|(key, set)| format!("{}\n", serde_json::json!({ "id": key, "text": set })))
        .collect();
    tool.write("sets.jsonl", json);
    for min in ["0.6", "0.8", "0.9"] {
        let expected = exact_pairs(&sets, min.parse().unwrap());
        for source in [["--verify-sets", "sets.tsv"], ["--verify-jsonl", "sets.jsonl"]] {
            let command = ["pairs", "db.ringer", "--min", min, "--json", "--exhaustive"];
            let found = tool.run(&[&command[..], &source].concat()).with_status(0);
            assert_eq!(pairs_of(&found.json()), expected, "{min} {source:?}");
            assert!(found.json().iter().all(|pair| pair["exact"] == true));
        }
        let command = ["pairs", "db.ringer", "--min", min, "--json", "--exhaustive"];
        let by = |more: &[&str]| pairs_of(&tool.run(&[&command[..], more].concat()).json());
        let (certain, estimate, possible) = (by(&["--certain"]), by(&[]), by(&["--possible"]));
        assert!(certain.is_subset(&estimate) && estimate.is_subset(&possible), "{min}");
        assert!(expected.is_subset(&possible) && certain.is_subset(&expected), "{min}");
    }
    let query = ["query", "db.ringer", "--key", "k03", "--min", "0.8", "--json", "--exhaustive"];
    let found = tool.run(&[&query[..], &["--verify-sets", "sets.tsv"]].concat()).with_status(0);
    let near = sets.iter().filter(|(key, set)| key != "k03" && jaccard(set, &sets[3].1) >= 0.8);
    assert_eq!(found.json().len(), near.count());
}

/// Lines that have changed or are missing are listed and left out.
#[test]
fn sources_that_changed_are_named() {
    let sets = chain();
    let tool = Tool::with_sets(&lines(&sets));
    let mut now = sets.clone();
    now[4].1.push_str("something new");
    now.remove(9);
    tool.write("sets.tsv", lines(&now));
    let command = ["pairs", "db.ringer", "--min", "0.6", "--json", "--verify-sets", "sets.tsv"];
    let found = tool.run(&command).with_status(0);
    assert!(found.err.contains("k04 has changed since it was stored"), "{}", found.err);
    assert!(found.err.contains("k09 can no longer be read"), "{}", found.err);
    let pairs = pairs_of(&found.json());
    assert!(pairs.iter().all(|(a, b)| ![a, b].iter().any(|k| *k == "k04" || *k == "k09")));
    assert!(!pairs.is_empty());
    let missing = tool.run(&["pairs", "db.ringer", "--min", "0.6", "--verify-sets", "none.tsv"]);
    assert!(missing.with_status(3).err.contains("none.tsv"));
    let twice = tool.run(&["pairs", "db.ringer", "--min", "0.6", "--verify-sets", "-"]);
    assert!(twice.with_status(2).err.contains("cannot be read twice"));
}

#[test]
fn dedup_prints_exact_resemblances_and_identical_files() {
    let tool = Tool::new();
    let text = words(1);
    // One word of 300 differs: 5 of 300 shingles on each side.
    let near = text.replacen(text.split(' ').nth(100).unwrap(), "other", 1);
    tool.write("d/a.txt", &text).write("d/b.txt", &text).write("d/c.txt", text.to_uppercase());
    tool.write("d/n.txt", near).write("d/z.txt", words(2));
    let found = tool.run(&["dedup", "d"]).with_status(0);
    let line = |name: &str| {
        let line = found.out.lines().find(|line| line.ends_with(name));
        line.unwrap_or_else(|| panic!("{name}: {}", found.out)).trim().to_string()
    };
    assert!(line("b.txt").starts_with("identical"), "{}", found.out);
    assert!(line("c.txt").starts_with("1.000 exact"), "{}", found.out);
    assert!(line("n.txt").starts_with("0.967 exact"), "{}", found.out);
    assert!(!found.out.contains("z.txt"));
    let estimated = tool.run(&["dedup", "--estimate", "d"]).with_status(0);
    assert!(estimated.out.contains("±") && !estimated.out.contains("exact"), "{}", estimated.out);
    let json = tool.run(&["dedup", "--json", "d"]).with_status(0).json();
    assert_eq!(json[0]["exact"], true);
    assert!((json[0]["min_resemblance"].as_f64().unwrap() - 295.0 / 305.0).abs() < 1e-12);
}

/// Lines that end with CRLF, in a file with a byte order mark, are found again.
#[test]
fn lines_of_every_kind_are_found_again() {
    let sets = chain();
    let text = format!("\u{feff}{}", lines(&sets).replace('\n', "\r\n"));
    let tool = Tool::with_sets(&text);
    tool.write("sets.tsv", text);
    let command = ["pairs", "db.ringer", "--min", "0.8", "--json", "--verify-sets", "sets.tsv"];
    let found = tool.run(&command).with_status(0);
    assert!(!found.err.contains("warning"), "{}", found.err);
    assert_eq!(pairs_of(&found.json()), exact_pairs(&sets, 0.8));
}

/// Every measure of `estimate --json` and of matches has an interval.
#[test]
fn every_measure_has_an_interval() {
    let tool = Tool::with_sets(&lines(&chain()));
    let one = tool.run(&["estimate", "db.ringer", "k00", "k02", "--json"]).with_status(0).json();
    let query = ["query", "db.ringer", "--key", "k00", "--json"];
    let two = tool.run(&query).with_status(0).json();
    for (object, contained) in [
        (&one[0], ["containment_of_first", "containment_of_second"]),
        (&two[0], ["containment_of_query", "containment_in_query"]),
    ] {
        for name in contained.into_iter().chain(["intersection", "union", "hamming"]) {
            let of = |end: &str| object[format!("{name}{end}")].as_f64().unwrap();
            assert!(of("_low") <= of("") && of("") <= of("_high"), "{name}: {object}");
            assert!(of("_std_error") > 0.0, "{name}: {object}");
        }
        assert_eq!(object["exact"], false);
    }
}

#[test]
fn explain_promises_what_is_returned() {
    let tool = Tool::with_sets(&lines(&chain()));
    let command = ["query", "db.ringer", "--key", "k00", "--min", "0.8", "--explain"];
    let shown = tool.run(&command).with_status(0).out;
    assert!(shown.contains("is returned with probability"), "{shown}");
    assert!(shown.contains("its estimate must reach that"), "{shown}");
    let json = tool.run(&[&command[..], &["--json"]].concat()).with_status(0).json();
    let explain = &json.last().unwrap()["explain"];
    let promised = explain["promised_recall"].as_f64().unwrap();
    assert!((0.3..0.8).contains(&promised), "{explain}");
    assert!(explain["recall_curve"].as_array().unwrap().len() >= 5);
}
