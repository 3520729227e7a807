//! Package descriptions of Debian, more rows than are compared pair by pair, so that the index finds the pairs. The oracle
//! compares sets of words exactly.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;

use ringer::estimate::planning;
use ringer::{Scheme, presets};
use serde_json::Value;
use testkit::real;
use testkit::scale::cases;

use crate::run::Tool;

const MIN: f64 = 0.8;

/// The words of each description, in lower case.
fn descriptions() -> Option<Vec<Vec<String>>> {
    let folder = real::folder("debian-desc-public")?;
    let text = real::read(&folder.join("Translation-en.trixie.xz"));
    let text = String::from_utf8_lossy(&text).to_ascii_lowercase();
    let of_stanza = |stanza: &str| -> Option<Vec<String>> {
        let (_, description) = stanza.split_once("description-en:")?;
        let words = description.split(|c: char| !c.is_ascii_alphanumeric());
        Some(words.filter(|word| !word.is_empty()).map(str::to_string).collect())
    };
    let all = text.split("\n\n").filter_map(of_stanza).filter(|words| !words.is_empty());
    Some(all.take(cases(25_000, usize::MAX)).collect())
}

/// Sets of words as ascending numbers. Rare words have small numbers.
fn sets(rows: &[Vec<String>]) -> Vec<Vec<u32>> {
    let mut counts = HashMap::<&str, u32>::new();
    for row in rows {
        let distinct: HashSet<&str> = row.iter().map(String::as_str).collect();
        distinct.into_iter().for_each(|word| *counts.entry(word).or_default() += 1);
    }
    let mut words: Vec<(u32, &str)> = counts.iter().map(|(word, count)| (*count, *word)).collect();
    words.sort_unstable();
    let numbers: HashMap<&str, u32> =
        words.iter().zip(0..).map(|((_, word), number)| (*word, number)).collect();
    let set = |row: &Vec<String>| -> Vec<u32> {
        let set: BTreeSet<u32> = row.iter().map(|word| numbers[&**word]).collect();
        set.into_iter().collect()
    };
    rows.iter().map(set).collect()
}

fn resemblance(a: &[u32], b: &[u32]) -> f64 {
    let both: HashSet<u32> = a.iter().copied().collect();
    let common = b.iter().filter(|word| both.contains(word)).count();
    common as f64 / (a.len() + b.len() - common) as f64
}

/// Whether each kept row resembles an earlier kept row. If two sets have a resemblance of at least `MIN`, their rarest words,
/// up to this number, have one in common: the sets share at least `MIN` of the larger one.
fn missed(sets: &[Vec<u32>], kept: &[bool]) -> usize {
    let mut rows_of = HashMap::<u32, Vec<usize>>::new();
    let mut missed = 0;
    for (row, set) in sets.iter().enumerate().filter(|(row, _)| kept[*row]) {
        let shared = (MIN * set.len() as f64 - 1e-9).ceil() as usize;
        let rarest = &set[..=set.len() - shared];
        let others: BTreeSet<usize> =
            rarest.iter().filter_map(|word| rows_of.get(word)).flatten().copied().collect();
        missed += usize::from(others.iter().any(|other| resemblance(&sets[*other], set) >= MIN));
        rarest.iter().for_each(|word| rows_of.entry(*word).or_default().push(row));
    }
    missed
}

#[test]
fn removed_descriptions_resemble_the_kept_ones_and_few_are_missed() {
    let Some(rows) = descriptions() else { return };
    assert!(rows.len() > 20_000, "all pairs of so few rows are compared");
    let tool = Tool::new();
    let line = |(id, words): (usize, &Vec<String>)| {
        format!("{{\"id\":{id},\"text\":\"{}\"}}\n", words.join(" "))
    };
    let lines: Vec<String> = rows.iter().enumerate().map(line).collect();
    tool.write("in.jsonl", lines.concat());
    let run = ["dedup", "--jsonl", "in.jsonl", "--out", "out", "--clusters", "c.jsonl", "--json"];
    let run = [&run[..], &["--features", "tokens", "--seed", "1"]].concat();
    let summary = tool.run(&run).with_status(0).json().remove(0);
    assert_eq!(summary["rows"], rows.len());

    let sets = sets(&rows);
    let list = fs::read_to_string(tool.path("c.jsonl")).unwrap();
    let mut kept = vec![true; rows.len()];
    for entry in list.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let number = |name: &str| entry[name].as_str().unwrap().parse::<usize>().unwrap();
        let (row, representative) = (number("key"), number("representative"));
        let exact = resemblance(&sets[row], &sets[representative]);
        assert!((entry["resemblance"].as_f64().unwrap() - exact).abs() < 1e-9, "{entry}");
        if entry["kept"] == false {
            assert!(exact >= MIN, "{entry}");
            kept[row] = false;
        }
    }
    let removed = kept.iter().filter(|kept| !**kept).count();
    assert_eq!(summary["removed"], removed);
    let expected: String =
        lines.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(line, _)| &**line).collect();
    assert!(fs::read_to_string(tool.path("out/in.jsonl")).unwrap() == expected);

    // The index misses a pair with at most this probability, and the 99.9 % interval of a pair leaves out one in 1000.
    let scheme = Scheme::new(presets::DEFAULT).unwrap();
    let chance = 1.0 - planning::found(&scheme, MIN) + 0.001;
    let missed = missed(&sets, &kept);
    let similar = (removed + missed) as f64;
    let most = similar * chance + 4.0 * (similar * chance).sqrt();
    println!("{removed} removed, {missed} missed, expected at most {most:.1}");
    assert!(removed > 1000 && missed as f64 <= most, "{removed} {missed} {most}");
}
