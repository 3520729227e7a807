//! The rows that a database should have, and those that it has.
//!
//! In: numbered sets of tokens. Out: the lines that `ringer add --sets` reads, the signature of each as the
//! library sketches it, and the rows that `ringer dump` prints.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::collections::BTreeMap;

use ringer::{Sketcher, features};

use crate::run::Tool;

/// Keys with their signatures in hexadecimal.
pub(crate) type Rows = BTreeMap<String, String>;

/// A key and the number of its set.
pub(crate) type Put = (String, u64);

/// The tokens of a set. Some are empty, some are equal to others, some share most tokens.
fn tokens(number: u64) -> Vec<String> {
    let own = (0..number % 7).map(|i| format!("t{}", number / 3 + i));
    own.chain((0..number % 5).map(|i| format!("all{i}"))).collect()
}

/// The lines of `ringer add --sets` for these sets.
pub(crate) fn lines(puts: &[Put]) -> String {
    puts.iter().map(|(key, n)| format!("{key}\t{}\n", tokens(*n).join(" "))).collect()
}

/// Adds sets to the expected rows.
pub(crate) fn put(rows: &mut Rows, puts: &[Put], sketcher: &Sketcher) {
    for (key, number) in puts {
        let words = tokens(*number);
        let signature =
            sketcher.sketch(&features::tokens(words.iter().map(String::as_str))).unwrap();
        let hex = signature.planes().iter().map(|word| format!("{word:016x}")).collect();
        rows.insert(key.clone(), hex);
    }
}

/// Returns the rows of a database, as `ringer dump` prints them.
#[track_caller]
pub(crate) fn dump(tool: &Tool, database: &str) -> Rows {
    let dumped = tool.run(&["dump", database]).with_status(0);
    let row = |line: &str| {
        let mut fields = line.split('\t');
        let key = fields.next().unwrap().to_string();
        (key, fields.nth(1).unwrap().to_string())
    };
    dumped.out.lines().map(row).collect()
}

/// Returns how many sets a run of `ringer add --ack` acknowledged.
pub(crate) fn acknowledged(out: &str) -> u64 {
    // An incomplete line does not count.
    let whole = out.rfind('\n').map_or("", |end| &out[..end]);
    let last = whole.lines().last().and_then(|line| line.strip_prefix("committed "));
    last.map_or(0, |count| count.parse().unwrap())
}
