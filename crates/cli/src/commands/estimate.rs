//! `ringer estimate`: estimates the resemblance of stored sets.

use std::ffi::OsString;
use std::path::PathBuf;

use ringer::scheme::Measure;
use ringer::{Error, Signature, measures_of, resemblance_of};
use serde_json::{Map, Value};

use crate::exit::Failure;
use crate::open;
use crate::show::{self, Output, Style};

/// Estimate the resemblance of two or more stored sets.
///
/// For two sets, this also prints the containment in both directions, intersection, union and Hamming distance. For three
/// to eight sets it prints the sizes of their common intersection and of their union. For two vectors it prints cosine and
/// angle.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ringer estimate notes.ringer a.md b.md
  ringer estimate words.ringer credit card fraud --json")]
pub(crate) struct Estimate {
    /// The database file.
    #[arg(value_name = "DB")]
    path: PathBuf,
    /// The keys of at least two stored sets.
    #[arg(value_name = "KEY", required = true, num_args = 2..)]
    keys: Vec<OsString>,
}

impl Estimate {
    pub(crate) fn run(&self, style: Style) -> Result<(), Failure> {
        let reader = open::to_read(&self.path, style)?;
        let snapshot = reader.snapshot();
        let mut signatures = Vec::new();
        for key in self.keys.iter().map(|key| open::key(key)) {
            let stored = snapshot.get(key)?;
            let stored = stored.ok_or_else(|| Error::NoSuchKey { key: key.into() })?;
            signatures.push(stored.signature);
        }
        let mut out = Output::new();
        match &signatures[..] {
            [first, second] => self.pair(first, second, style, &mut out)?,
            many => self.together(&many.iter().collect::<Vec<_>>(), style, &mut out)?,
        }
        out.flush()
    }

    fn together(&self, many: &[&Signature], style: Style, out: &mut Output) -> Result<(), Failure> {
        let resemblance = resemblance_of(many)?;
        // Schemes without sizes have a resemblance only.
        let sizes = measures_of(many).map(|all| [all.intersection, all.union]);
        let exact = resemblance.std_error == 0.0;
        if style.json {
            let mut object = self.object();
            show::put_similarity(&mut object, many[0].scheme().measure, &resemblance);
            for (name, size) in ["intersection", "union"].iter().zip(sizes.iter().flatten()) {
                show::put_measure(&mut object, name, size);
            }
            return out.line(Value::Object(object));
        }
        let name = format!("resemblance of all {}", many.len());
        let widest = name.len();
        out.line(format_args!("{name}  {}", show::measured(&resemblance, exact, 3)))?;
        match sizes {
            Ok(sizes) => {
                for (name, size) in ["intersection", "union"].iter().zip(sizes) {
                    let exact = size.low == size.high;
                    out.line(format_args!("{name:<widest$}  {}", show::measured(&size, exact, 1)))?;
                }
                Ok(())
            }
            Err(error) => out.line(format_args!("{:<widest$}  {error}", "intersection, union")),
        }
    }

    fn pair(
        &self,
        first: &Signature,
        second: &Signature,
        style: Style,
        out: &mut Output,
    ) -> Result<(), Failure> {
        let comparison = first.compare(second)?;
        if style.json {
            let mut object = self.object();
            show::put_comparison(&mut object, &comparison);
            if let Ok(angle) = comparison.angle() {
                object.insert("angle".into(), angle.value.into());
                object.insert("angle_std_error".into(), angle.std_error.into());
                object.insert("angle_low".into(), angle.low.into());
                object.insert("angle_high".into(), angle.high.into());
            }
            let names = ["containment_of_first", "containment_of_second"];
            show::put_measures(&mut object, &comparison, names);
            return out.line(Value::Object(object));
        }
        let widest = 19
            + [0, 1]
                .map(|i: usize| show::key(open::key(&self.keys[i])).chars().count())
                .iter()
                .sum::<usize>();
        let name = comparison.measure().similarity_name();
        let exact = comparison.is_exact();
        let similarity = show::measured(&comparison.similarity(), exact, 3);
        out.line(format_args!("{name:<widest$} {similarity}"))?;
        if let Ok(angle) = comparison.angle() {
            let angle = show::measured(&angle, exact, 3);
            return out.line(format_args!("{:<widest$} {angle}", "angle (radians)"));
        }
        if comparison.measure() != Measure::Jaccard {
            return Ok(());
        }
        let [a, b] = [0, 1].map(|i: usize| show::key(open::key(&self.keys[i])));
        let measures = [
            (format!("containment of {a} in {b}"), comparison.containment_of_first(), 3),
            (format!("containment of {b} in {a}"), comparison.containment_of_second(), 3),
            ("intersection".into(), comparison.intersection(), 1),
            ("union".into(), comparison.union(), 1),
            ("Hamming distance".into(), comparison.hamming(), 1),
        ];
        for (name, estimate, digits) in measures {
            match estimate {
                Ok(estimate) => {
                    // The sizes may be estimates where the resemblance is exact.
                    let exact = exact && estimate.low == estimate.high;
                    let shown = show::measured(&estimate, exact, digits);
                    out.line(format_args!("{name:<widest$} {shown}"))?;
                }
                Err(error) => out.line(format_args!("{name:<widest$} {error}"))?,
            }
        }
        Ok(())
    }

    fn object(&self) -> Map<String, Value> {
        let keys = self.keys.iter().map(|key| show::json_key(open::key(key))).collect();
        Map::from_iter([("keys".to_string(), Value::Array(keys))])
    }
}
