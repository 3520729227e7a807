//! `ringer export`: signatures as sparse binary features for linear learners.
//!
//! Rows are read, expanded and printed one at a time. Labels take 32 bytes each in memory, whatever their keys.

use std::fmt::Write;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};

use ringer::Signature;
use serde_json::json;

use crate::exit::{self, Failure};
use crate::input::Lines;
use crate::show::{self, Output, Style};
use crate::{interrupt, open};

/// Print signatures as sparse binary features for linear learners.
///
/// Each line is `label index:1 index:1 ...`, the format of libsvm, liblinear and scikit-learn, in the order of the keys.
/// Sample j with value v is the feature j * 2^b + v, where b is the number of bits of a sample. Indices of libsvm start at 1,
/// so 1 is added. Every set has one feature for each sample, and the empty set has none. The inner product of two rows is the
/// number of equal samples.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ringer export notes.ringer --libsvm > notes.svm
  ringer export notes.ringer --libsvm --labels labels.tsv > notes.svm")]
pub(crate) struct Export {
    /// The database file.
    #[arg(value_name = "DB")]
    path: PathBuf,
    /// Print the format of libsvm, the only one.
    #[arg(long, required = true)]
    libsvm: bool,
    /// The labels: lines of a key, a tab and a number. Sets without a label are left out. Without this option every label is 0.
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
}

impl Export {
    pub(crate) fn run(&self, style: Style) -> Result<(), Failure> {
        interrupt::end_at_once("the output is not complete; nothing was changed");
        let reader = open::to_read(&self.path, style)?;
        let labels = self.labels.as_deref().map(Labels::read).transpose()?;
        let mut out = Output::new();
        let (mut text, mut exported, mut unlabelled) = (String::new(), 0, 0);
        for row in reader.snapshot().range::<&[u8]>(..) {
            let (key, stored) = row?;
            let Some(label) = labels.as_ref().map_or(Some(0.0), |labels| labels.of(&key)) else {
                unlabelled += 1;
                continue;
            };
            exported += 1;
            if style.json {
                let features: Vec<u64> = stored.signature.features().collect();
                let key = show::json_key(&key);
                out.line(json!({ "key": key, "label": label, "features": features }))?;
            } else {
                as_libsvm(&mut text, label, &stored.signature);
                out.line(&text)?;
            }
        }
        out.flush()?;
        let Some(labels) = labels else { return Ok(()) };
        if exported == 0 && !labels.0.is_empty() {
            let path = self.labels.as_deref().map_or_else(String::new, show::path);
            return Err(Failure::Io(format!(
                "no label of {path} has the key of a stored set: compare its first column with `ringer keys`"
            )));
        }
        if !style.quiet {
            let unused = labels.0.len() as u64 - exported;
            note(
                unlabelled,
                "stored set has no label and was left out",
                "stored sets have no label and were left out",
            );
            note(
                unused,
                "label has a key that is not stored",
                "labels have keys that are not stored",
            );
        }
        Ok(())
    }
}

fn note(count: u64, one: &str, many: &str) {
    match count {
        0 => {}
        1 => exit::say(&format!("note: 1 {one}")),
        _ => exit::say(&format!("note: {count} {many}")),
    }
}

/// A line of libsvm. Its indices start at 1.
fn as_libsvm(text: &mut String, label: f64, signature: &Signature) {
    text.clear();
    // Writing to a string cannot fail.
    let _ = write!(text, "{label}");
    for index in signature.features() {
        let _ = write!(text, " {}:1", index + 1);
    }
}

/// Labels by the hash of their key, sorted. Two keys have the same hash with a probability of 2^-128.
struct Labels(Vec<(Hash, f64)>);

type Hash = (u64, u64);

/// The keys of both hash functions are drawn once per process, so that nobody can prepare keys with equal hashes.
fn hash(key: &[u8]) -> Hash {
    use std::sync::LazyLock;
    static STATES: LazyLock<[RandomState; 2]> = LazyLock::new(Default::default);
    let [first, second] = &*STATES;
    (first.hash_one(key), second.hash_one((1_u8, key)))
}

impl Labels {
    fn read(path: &Path) -> Result<Labels, Failure> {
        let mut lines = Lines::open(path, None).map_err(|problem| Failure::Io(problem.message))?;
        let mut labels: Vec<(Hash, f64, u64)> = Vec::new();
        while let Some(block) =
            lines.next_block().map_err(|problem| Failure::Io(problem.message))?
        {
            if let Some(problem) = block.problems.first() {
                return Err(Failure::Usage(problem.message.clone()));
            }
            for line in (0..block.len()).map(|i| block.line(i)) {
                if line.text.is_empty() {
                    continue;
                }
                let (key, label) = parse(line.text).map_err(|why| {
                    Failure::Usage(format!("{}, line {}: {why}", lines.name(), line.number))
                })?;
                labels.push((hash(key), label, line.number));
            }
        }
        labels.sort_unstable_by_key(|(hash, _, number)| (*hash, *number));
        if let Some(two) = labels.array_windows().find(|[a, b]| a.0 == b.0 && a.1 != b.1) {
            let [(_, first, from), (_, second, number)] = two;
            return Err(Failure::Usage(format!(
                "{}, line {number}: the label {second} contradicts the label {first} of the same key in line {from}: \
                 give each key one label",
                lines.name()
            )));
        }
        labels.dedup_by_key(|(hash, _, _)| *hash);
        Ok(Labels(labels.into_iter().map(|(hash, label, _)| (hash, label)).collect()))
    }

    fn of(&self, key: &[u8]) -> Option<f64> {
        let hash = hash(key);
        let at = self.0.binary_search_by_key(&hash, |(hash, _)| *hash).ok()?;
        self.0.get(at).map(|(_, label)| *label)
    }
}

/// The key and the label of a line. A key may contain tabs, a label may not.
fn parse(line: &[u8]) -> Result<(&[u8], f64), String> {
    let Some(tab) = line.iter().rposition(|byte| *byte == b'\t') else {
        return Err("there is no tab: write the key, a tab and the label".into());
    };
    let (key, label) = (&line[..tab], &line[tab + 1..]);
    let number = std::str::from_utf8(label).ok().and_then(|text| text.trim().parse::<f64>().ok());
    match number {
        Some(number) if number.is_finite() => Ok((key, number)),
        _ => Err(format!(
            "the label `{}` is not a number: write numbers, such as 1 and -1",
            show::key(label)
        )),
    }
}
