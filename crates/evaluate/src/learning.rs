//! Learning on signatures: runs `learning.py`, and draws what it measured.
//!
//! The script needs Python and scikit-learn, which it installs from PyPI. Without them the part says so.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::chart::{Axis, Figure, Kind, Series};
use crate::page::{Agrees, Claim, Part};
use crate::{Effort, Outcome};

/// The commands of the tool that the script uses.
pub(crate) const COMMANDS: [&str; 3] = ["create", "add", "export"];

/// The status of the script if there is no scikit-learn and it cannot be installed.
const NO_LEARNERS: i32 = 77;

/// Runs the script. Returns its rows, or `None` without Python or without scikit-learn.
fn measured(effort: Effort) -> Outcome<Option<String>> {
    let folder = Folder::new()?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("learning.py");
    let mut python = Command::new("python3");
    python.arg(script).arg(std::env::current_exe()?).arg(&folder.0);
    python.args(effort.choose(Some("--quick"), None));
    let status = match python.status() {
        Ok(status) => status,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("cannot run python3: {error}").into()),
    };
    match status.code() {
        Some(0) => Ok(Some(std::fs::read_to_string(folder.0.join("learning.csv"))?)),
        Some(NO_LEARNERS) => Ok(None),
        _ => Err(format!("learning.py ended with {status}").into()),
    }
}

/// A temporary folder, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Outcome<Folder> {
        let path = std::env::temp_dir().join(format!("ringer-learning-{}", std::process::id()));
        std::fs::create_dir(&path)?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A row of `learning.csv`.
struct Row<'a> {
    data: &'a str,
    about: &'a str,
    method: &'a str,
    learner: &'a str,
    samples: f64,
    bits: u32,
    accuracy: f64,
}

fn parse(line: &str) -> Outcome<Row<'_>> {
    let columns: Vec<&str> = line.split('\t').collect();
    let [data, about, method, learner, samples, bits, accuracy] = columns[..] else {
        return Err(
            format!("learning.csv: `{line}` has not seven columns: run learning.py again").into()
        );
    };
    let (samples, bits, accuracy) = (samples.parse()?, bits.parse()?, accuracy.trim().parse()?);
    Ok(Row { data, about, method, learner, samples, bits, accuracy })
}

pub(crate) fn part(effort: Effort) -> Outcome<Part> {
    let title = "Learning";
    let Some(text) = measured(effort)? else {
        let text = "There was no Python with scikit-learn, so nothing was learned.".into();
        return Ok(Part { title, text, figures: Vec::new(), claims: Vec::new() });
    };
    let rows: Outcome<Vec<Row<'_>>> = text.lines().skip(1).map(parse).collect();
    let rows = rows?;
    let (mut figures, mut claims) = (Vec::new(), Vec::new());
    let mut kinds: Vec<(&str, &str)> = rows.iter().map(|row| (row.data, row.learner)).collect();
    kinds.dedup();
    kinds.sort_unstable();
    kinds.dedup();
    for (data, learner) in kinds {
        let of = |method: &'static str| {
            let own = rows.iter().filter(move |row| row.data == data && row.learner == learner);
            own.filter(move |row| row.method == method)
        };
        let Some(original) = of("original").next() else { continue };
        let bytes = |row: &Row<'_>| row.samples * f64::from(row.bits) / 8.0;
        let mut series = Vec::new();
        for (colour, bits) in [1, 2, 4, 8].into_iter().enumerate() {
            let points = of("signatures").filter(|row| row.bits == bits);
            let points = points.map(|row| (bytes(row), row.accuracy)).collect();
            series.push(Series { name: format!("b = {bits}"), kind: Kind::Dashed, colour, points });
        }
        let mut projections: Vec<(f64, f64)> =
            of("projections").map(|row| (bytes(row), row.accuracy)).collect();
        projections.sort_by(|a, b| a.0.total_cmp(&b.0));
        projections.dedup_by(|a, b| a.0 == b.0);
        let most = of("signatures").map(bytes).fold(8.0, f64::max);
        let line = vec![(2.0, original.accuracy), (most, original.accuracy)];
        series.push(Series {
            name: "random projections".into(),
            kind: Kind::Dashed,
            colour: 4,
            points: projections,
        });
        series.push(Series {
            name: "original features".into(),
            kind: Kind::Line,
            colour: 5,
            points: line,
        });
        figures.push(Figure {
            title: format!("Accuracy of a {learner}: {data}"),
            caption: format!("{}; a fifth is held out in turn.", original.about),
            x: Axis::log("bytes per document"),
            y: Axis::linear("share of right labels"),
            series,
        });
        let best = of("signatures").max_by(|a, b| a.accuracy.total_cmp(&b.accuracy));
        let small = of("signatures")
            .filter(|row| bytes(row) <= 64.0)
            .max_by(|a, b| a.accuracy.total_cmp(&b.accuracy));
        let (Some(best), Some(small)) = (best, small) else { continue };
        claims.push(Claim::new(
            "000, 7.2",
            "linear learners on b-bit samples lose almost no accuracy",
            format!(
                "{data}, {learner}: original features {:.3}; signatures {:.3} with {} samples of {} bits, {:.3} with {} of {} (64 bytes or less)",
                original.accuracy,
                best.accuracy,
                best.samples,
                best.bits,
                small.accuracy,
                small.samples,
                small.bits
            ),
            if original.accuracy - best.accuracy < 0.02 { Agrees::Yes } else { Agrees::InPart },
        ));
    }
    let text = "Signatures are expanded to k 2^b binary features with k ones, exported by ringer export --libsvm, and learned by \
                scikit-learn (crates/evaluate/learning.py). Random projections get the same bytes, as 32-bit numbers. Descriptions and \
                cora have one row for each document. The rows of dblp-acm and answers are pairs, whose features are those that \
                both sides have."
        .into();
    Ok(Part { title, text, figures, claims })
}
