//! `ringer triples`: prints triples of sets by their three-way resemblance.

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use ringer::groups::Triple;
use ringer::scheme::Measure;
use serde_json::{Map, Value};

use crate::exit::{self, Failure};
use crate::grouping::{self, Conditions};
use crate::show::{self, Output, Style, count};
use crate::{interrupt, open};

/// Print all triples of sets with a minimum three-way resemblance.
///
/// The three-way resemblance is the size of the intersection of three sets divided by the size of their union. Its estimate
/// must reach --min; --possible and --certain apply --min to the ends of the interval instead. Samples must have at least two
/// bits. Sets with equal signatures count as one set, named by its smallest key; `ringer pairs` lists them.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ringer triples words.ringer --min 0.3
  ringer triples words.ringer --min 0.3 --min-pair 0.25 --json")]
pub(crate) struct Triples {
    /// The database file.
    #[arg(value_name = "DB")]
    path: PathBuf,
    /// The minimum three-way resemblance, 0 to 1.
    #[arg(long, visible_alias = "threshold", value_name = "R", allow_negative_numbers = true)]
    min: f64,
    /// The minimum estimated resemblance of each pair of a triple. Estimates vary, so a lower value finds more triples
    /// [default: --min].
    #[arg(long, value_name = "R")]
    min_pair: Option<f64>,
    #[command(flatten)]
    conditions: Conditions,
}

impl Triples {
    pub(crate) fn run(&self, style: Style) -> Result<(), Failure> {
        interrupt::listen("the list is not complete; nothing was changed");
        let reader = open::to_read(&self.path, style)?;
        let snapshot = reader.snapshot();
        open::check_min("--min", self.min, snapshot.scheme())?;
        open::check_min("--min-pair", self.min_pair.unwrap_or(self.min), snapshot.scheme())?;
        let bar = grouping::bar(style);
        let triples = snapshot.triples(self.min).accept(self.conditions.reach.accept());
        let triples = triples.min_pair(self.min_pair.unwrap_or(self.min));
        let triples = triples
            .pairs(|pairs| self.conditions.put(pairs).progress(grouping::follow(&bar, style)));
        let mut out = Output::new();
        let on_terminal = io::stdout().is_terminal();
        let (mut found, measure) = (0u64, snapshot.scheme().measure);
        let report = grouping::printing(|printed| {
            triples.run(|triple| {
                let head = grouping::head(found, measure, style, &mut out);
                found += 1;
                let print = || head.and_then(|()| print(&triple, style, &mut out));
                printed(grouping::row(&bar, on_terminal, print))
            })
        });
        bar.finish_and_clear();
        out.flush()?;
        let report = report?;
        grouping::ended(&report, snapshot.scheme(), self.min, self.conditions, style)?;
        if report.groups > 0 && !style.quiet {
            let groups = count(report.groups, "group");
            exit::say(&format!(
                "note: {groups} of sets with equal signatures, each counted as one set"
            ));
        }
        if !style.quiet {
            exit::say(&format!(
                "found {} in {}",
                count(found, "triple"),
                count(report.sets, "set")
            ));
        }
        Ok(())
    }
}

fn print(triple: &Triple, style: Style, out: &mut Output) -> Result<(), Failure> {
    let estimate = &triple.resemblance;
    if style.json {
        let keys = triple.keys.iter().map(|key| show::json_key(key)).collect();
        let mut object = Map::from_iter([("keys".to_string(), Value::Array(keys))]);
        show::put_similarity(&mut object, Measure::Jaccard, estimate);
        object.insert("undecided".into(), triple.undecided.into());
        object.insert("key_counts".into(), triple.key_counts.to_vec().into());
        return out.line(Value::Object(object));
    }
    let shown = |i: usize| match (show::key(&triple.keys[i]), triple.key_counts[i]) {
        (key, 1) => key,
        (key, more) => format!("{key} (and {} with an equal signature)", more - 1),
    };
    let keys = [0, 1, 2].map(shown);
    out.line(format_args!(
        "{:<13}  {:.3} to {:.3}  {}",
        show::similarity(Measure::Jaccard, estimate),
        estimate.low,
        estimate.high,
        keys.join("  ")
    ))
}
