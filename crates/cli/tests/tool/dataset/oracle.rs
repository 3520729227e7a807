//! The expected result for a dataset, by brute force: sets of words and exact Jaccard, without any code of Ringer.

use std::collections::{BTreeMap, BTreeSet};

use testkit::random::Random;

/// A row of a dataset.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) id: String,
    pub(crate) words: Vec<String>,
    pub(crate) score: i64,
}

impl Row {
    pub(crate) fn text(&self) -> String {
        self.words.join(" ")
    }

    /// The row as a line, with a field that Ringer does not look at.
    pub(crate) fn line(&self) -> String {
        let (id, text, score) = (&self.id, self.text(), self.score);
        format!(
            "{{\"other\": [1,  {{\"text\": \"no\"}}], \"score\":{score}, \"id\":\"{id}\",\"text\": \"{text}\" }}\n"
        )
    }

    fn set(&self) -> BTreeSet<&str> {
        self.words.iter().map(String::as_str).collect()
    }
}

/// The Jaccard resemblance of two rows.
pub(crate) fn resemblance(a: &Row, b: &Row) -> f64 {
    let (a, b) = (a.set(), b.set());
    a.intersection(&b).count() as f64 / a.union(&b).count() as f64
}

/// Rows in families: some are copies, some differ in a few words, and most have nothing in common.
pub(crate) fn planted(count: u64, seed: u64) -> Vec<Row> {
    let mut dice = Random(seed);
    let mut rows: Vec<Row> = Vec::new();
    for i in 0..count {
        let word = |dice: &mut Random| format!("w{}", dice.below(5_000));
        let mut words: Vec<String> = match rows.len() {
            before if before > 0 && dice.below(2) == 0 => {
                rows[dice.below(before as u64) as usize].words.clone()
            }
            _ => (0..20 + dice.below(60)).map(|_| word(&mut dice)).collect(),
        };
        for _ in 0..dice.below(16) {
            let place = dice.below(words.len() as u64) as usize;
            words[place] = word(&mut dice);
        }
        rows.push(Row { id: format!("r{i}"), words, score: dice.below(9) as i64 - 4 });
    }
    rows
}

/// Returns the representative of each removed row. Rows are taken in the given order. A row that resembles no
/// representative becomes one. Any other row belongs to the first representative that it resembles.
pub(crate) fn strict(rows: &[Row], order: &[usize], min: f64) -> BTreeMap<usize, usize> {
    let (mut representatives, mut removed) = (Vec::<usize>::new(), BTreeMap::new());
    for &row in order {
        match representatives.iter().find(|one| resemblance(&rows[**one], &rows[row]) >= min) {
            Some(one) => drop(removed.insert(row, *one)),
            None => representatives.push(row),
        }
    }
    removed
}

/// Returns the rows that `--linkage connected` removes: all but the first of each component.
pub(crate) fn connected(rows: &[Row], min: f64) -> BTreeSet<usize> {
    let mut removed = BTreeSet::new();
    for start in 0..rows.len() {
        if removed.contains(&start) {
            continue;
        }
        let mut waiting = vec![start];
        while let Some(row) = waiting.pop() {
            for other in start + 1..rows.len() {
                if !removed.contains(&other) && resemblance(&rows[row], &rows[other]) >= min {
                    removed.insert(other);
                    waiting.push(other);
                }
            }
        }
    }
    removed
}
