//! `ringer pairs`: prints all pairs of similar sets.

use std::path::PathBuf;

use ringer::groups::{Found, Pair};
use ringer::scheme::Measure;
use ringer::{Sketcher, Snapshot};
use serde_json::{Map, Value, json};

use crate::exit::{self, Failure};
use crate::grouping::{self, Conditions};
use crate::results::{self, Results, Written, key_cell};
use crate::show::{self, Style, count};
use crate::sources::{self, Sources};
use crate::table::Kind;
use crate::{interrupt, open};

/// Groups of equal signatures with more keys than this are printed as groups: 100,000 equal sets would make five billion
/// pairs.
const MOST_EXPANDED: usize = 100;

/// Print all pairs of similar sets, each pair once.
///
/// A pair is printed if its estimated resemblance reaches --min. --possible and --certain apply --min to the ends of the
/// interval instead, and the --verify options compare the original sets exactly. More than 100 sets with equal signatures are
/// printed as one group, and other pairs name the group by its smallest key; --expand prints all their pairs.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ringer pairs notes.ringer --min 0.8
  ringer pairs notes.ringer --min 0.9 --certain --json > pairs.jsonl
  ringer pairs notes.ringer --min 0.8 --verify-files
  ringer pairs notes.ringer --min 0.8 --output pairs.parquet
  ringer pairs texts.ringer --min 0.8 --verify-jsonl texts.jsonl")]
pub(crate) struct Pairs {
    /// The database file.
    #[arg(value_name = "DB")]
    path: PathBuf,
    /// The minimum resemblance of a pair, 0 to 1; for vectors the minimum cosine, -1 to 1.
    #[arg(long, visible_alias = "threshold", value_name = "R", allow_negative_numbers = true)]
    min: f64,
    /// Print all pairs of sets with equal signatures, however many there are.
    #[arg(long)]
    expand: bool,
    #[command(flatten)]
    conditions: Conditions,
    #[command(flatten)]
    sources: Sources,
    #[command(flatten)]
    written: Written,
}

impl Pairs {
    pub(crate) fn run(&self, style: Style) -> Result<(), Failure> {
        interrupt::listen("the list is not complete; nothing was changed");
        let reader = open::to_read(&self.path, style)?;
        let snapshot = reader.snapshot();
        open::check_min("--min", self.min, snapshot.scheme())?;
        let bar = grouping::bar(style);
        let measure = snapshot.scheme().measure;
        let columns = results::columns(&[("a", Kind::Text), ("b", Kind::Text)], measure);
        let mut results = self.written.open(style, &columns)?;
        // Tables have no rows for groups.
        let most = if self.expand || results.is_table() { usize::MAX } else { MOST_EXPANDED };
        let pairs = self.conditions.put(snapshot.pairs(self.min)).expand_up_to(most);
        let sketcher = Sketcher::new(snapshot.scheme());
        let sources = self.sources.open(snapshot.scheme())?;
        let originals = sources.as_ref().map(|sources| sources.originals(&sketcher));
        let mut pairs = pairs.progress(grouping::follow(&bar, style));
        if let Some(originals) = &originals {
            pairs = pairs.verify(originals);
        }
        let mut found = 0u64;
        let report = grouping::printing(|printed| {
            pairs.run(|one| {
                let is_first = found == 0;
                found += u64::from(matches!(one, Found::Pair(_)));
                let on_terminal = results.on_terminal;
                let print = || print(&one, is_first, measure, &snapshot, &mut results);
                printed(grouping::row(&bar, on_terminal, print))
            })
        });
        bar.finish_and_clear();
        let report = report?;
        if !report.cancelled {
            results.finish()?;
        }
        originals.iter().for_each(sources::report_lost);
        grouping::ended(&report, snapshot.scheme(), self.min, self.conditions, style)?;
        if !style.quiet {
            exit::say(&format!("found {} in {}", count(found, "pair"), count(report.sets, "set")));
        }
        Ok(())
    }
}

fn print(
    found: &Found<'_>,
    is_first: bool,
    measure: Measure,
    snapshot: &Snapshot,
    results: &mut Results,
) -> Result<(), Failure> {
    if let Found::Pair(pair) = found
        && results.is_table()
    {
        let mut row = vec![key_cell(&pair.a), key_cell(&pair.b)];
        row.extend(results::cells(&pair.comparison));
        return results.row(row);
    }
    let (style, out) = (results.style, &mut results.lines);
    if is_first {
        grouping::head(0, measure, style, out)?;
    }
    match found {
        Found::Pair(pair) if style.json => out.line(as_json(pair, snapshot)?),
        Found::Pair(pair) => {
            let copies = |keys: u32| match keys {
                1 => String::new(),
                more => format!(" (and {} with an equal signature)", more - 1),
            };
            out.line(format_args!(
                "{}  {}{}  {}{}",
                show::similarity_and_interval(&pair.comparison),
                show::key(&pair.a),
                copies(pair.a_keys),
                show::key(&pair.b),
                copies(pair.b_keys),
            ))
        }
        Found::Group(group) => {
            let mut keys = Vec::new();
            for key in group.keys() {
                keys.push(key?);
            }
            if style.json {
                let keys: Vec<Value> = keys.iter().map(|key| show::json_key(key)).collect();
                return out.line(json!({ "group": keys }));
            }
            let keys: Vec<String> = keys.iter().map(|key| show::key(key)).collect();
            out.line(format_args!("{} sets with equal signatures: {}", keys.len(), keys.join("  ")))
        }
    }
}

fn as_json(pair: &Pair, snapshot: &Snapshot) -> Result<Value, Failure> {
    let mut object = Map::new();
    object.insert("a".into(), show::json_key(&pair.a));
    object.insert("b".into(), show::json_key(&pair.b));
    show::put_comparison(&mut object, &pair.comparison);
    object.insert("matching_slots".into(), pair.matching_slots.into());
    object.insert("undecided".into(), pair.undecided.into());
    if pair.a_keys > 1 || pair.b_keys > 1 {
        object.insert("a_keys".into(), pair.a_keys.into());
        object.insert("b_keys".into(), pair.b_keys.into());
    }
    show::put_value(&mut object, "a_value", snapshot.value(&pair.a)?.as_deref());
    show::put_value(&mut object, "b_value", snapshot.value(&pair.b)?.as_deref());
    Ok(Value::Object(object))
}
