//! `ringer query`: finds the stored sets that are similar to a given one.

use std::ffi::OsString;
use std::path::PathBuf;

use rayon::prelude::*;
use ringer::scheme::{Features, Measure};
use ringer::{Answer, Error, Explanation, Like, Originals, Signature, Sketcher, Snapshot};
use serde_json::{Value, json};

use crate::exit::{self, Failure};
use crate::grouping::Reach;
use crate::input::{Content, Lines, Records, Source, Worker};
use crate::open;
use crate::problems::{Problem, Problems, Reason};
use crate::results::{self, Results, Written, key_cell};
use crate::show::{self, Output, Style};
use crate::sources::{self, Sources};
use crate::table::{Cell, Kind};

/// Find stored sets that are similar to a given set, text or file.
///
/// Prints matches by decreasing similarity, each with its error. Exits with status 1 if nothing matches; with several queries
/// (--sets, --jsonl, --parquet), if none of them has a match.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ringer query notes.ringer --key notes/2024.md
  ringer query notes.ringer --file draft.html --top 3
  ringer query notes.ringer --text 'never put off till tomorrow what you can do today' --min 0.5
  ringer query baskets.ringer --set 'bread milk beer' --explain
  ringer query baskets.ringer --sets new.tsv --json > matches.jsonl
  ringer query notes.ringer --parquet new.parquet --min 0.8 --output matches.parquet
  ringer query recipes.ringer --set 'flour:500 butter:250 sugar:120' --weighted")]
pub(crate) struct Query {
    /// The database file.
    #[arg(value_name = "DB")]
    path: PathBuf,
    #[command(flatten)]
    what: What,
    /// Print at most the N best matches.
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Print all matches.
    #[arg(long, conflicts_with = "top")]
    all: bool,
    /// The minimum resemblance of a match, 0 to 1; for vectors the minimum cosine, -1 to 1. The estimate must reach it, unless
    /// --possible, --certain or a --verify option is given.
    #[arg(long, visible_alias = "threshold", value_name = "R", allow_negative_numbers = true)]
    min: Option<f64>,
    /// Compare only sets with at least M slots equal to those of the query [default: the database's setting].
    #[arg(long, value_name = "M")]
    min_matches: Option<u32>,
    /// Compare with every set, also with those without equal slots. This is slower. The meaning of --min stays the same.
    #[arg(long)]
    exhaustive: bool,
    #[command(flatten)]
    reach: Reach,
    #[command(flatten)]
    sources: Sources,
    /// Also count slots that differ in one bit as equal. This finds more sets. It needs a database whose slots are not hashed.
    #[arg(long)]
    within_one_bit: bool,
    /// Read elements with weights: `element:weight`.
    #[arg(long, conflicts_with_all = ["key", "text", "file"])]
    weighted: bool,
    /// Also print how the answer was found, and the probability that a set of a given resemblance is returned.
    #[arg(long, conflicts_with_all = ["sets", "jsonl", "parquet"])]
    explain: bool,
    /// Stop at the first malformed line or row.
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    written: Written,
}

/// What to search for: exactly one of these.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct What {
    /// Search for sets similar to the stored set with this key.
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    key: Option<OsString>,
    /// Search for sets similar to this set: its elements, separated by spaces.
    #[arg(long, value_name = "ELEMENTS", allow_hyphen_values = true)]
    set: Option<String>,
    /// Search for texts similar to this text.
    #[arg(long, value_name = "STRING", allow_hyphen_values = true)]
    text: Option<String>,
    /// Search for files similar to this file. A pipe is read to its end.
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,
    /// Run one query per line, in the format of `add --sets`. `-` reads standard input.
    #[arg(long, value_name = "FILE")]
    sets: Option<PathBuf>,
    /// Run one query per line, in the format of `add --jsonl`. `-` reads standard input.
    #[arg(long, value_name = "FILE")]
    jsonl: Option<PathBuf>,
    /// Run one query per row of a Parquet file, in the format of `add --parquet`.
    #[arg(long, value_name = "FILE")]
    parquet: Option<PathBuf>,
}

impl What {
    /// Whether the option can give more than one query.
    fn is_many(&self) -> bool {
        self.sets.is_some() || self.jsonl.is_some() || self.parquet.is_some()
    }
}

impl Query {
    pub(crate) fn run(&self, style: Style) -> Result<(), Failure> {
        let reader = open::to_read(&self.path, style)?;
        let snapshot = reader.snapshot();
        if self.weighted {
            open::check_weighted(snapshot.scheme())?;
        }
        let sketcher = Sketcher::new(snapshot.scheme());
        let sources = self.sources.open(snapshot.scheme())?;
        let originals = sources.as_ref().map(|sources| sources.originals(&sketcher));
        let originals = originals.as_ref();
        let columns =
            [("query", Kind::Text), ("key", Kind::Text), ("matching_slots", Kind::Integer)];
        let columns = results::columns(&columns, snapshot.scheme().measure);
        let mut out = self.written.open(style, &columns)?;
        if self.what.is_many() {
            let matched = self.many((&snapshot, &sketcher, originals), &mut out)?;
            originals.into_iter().for_each(sources::report_lost);
            out.finish()?;
            return found(matched);
        }
        let (name, asked) = self.one(&sketcher)?;
        let query = self.ask(snapshot.query(asked.like()), originals);
        let matched = if self.explain {
            let explanation = query.explain().map_err(exit::bad_argument)?;
            self.print(&name, &explanation.answer, &mut out)?;
            print_explanation(&explanation, out.style, &mut out.lines)?;
            !explanation.answer.matches.is_empty()
        } else {
            let answer = query.run().map_err(exit::bad_argument)?;
            self.print(&name, &answer, &mut out)?;
            !answer.matches.is_empty()
        };
        originals.into_iter().for_each(sources::report_lost);
        out.finish()?;
        found(matched)
    }

    /// A single query: its name in the output, and what to search for.
    fn one(&self, sketcher: &Sketcher) -> Result<(Value, Asked<'_>), Failure> {
        let mut worker = Worker::new(sketcher);
        if let Some(key) = &self.what.key {
            return Ok((show::json_key(open::key(key)), Asked::Key(open::key(key))));
        }
        if let Some(file) = &self.what.file {
            let unreadable = |problem: Problem| Failure::Io(problem.message);
            let name = show::json_key(file.as_os_str().as_encoded_bytes());
            let asked = match sketcher.scheme().measure {
                Measure::Jaccard => worker.set_of_file(file).map_err(unreadable)?.map(Asked::Set),
                _ => worker.of_file(file).map_err(unreadable)?.map(Asked::Signature),
            };
            return Ok((name, asked.ok_or(Failure::Interrupted)?));
        }
        let text = self.what.set.as_ref().or(self.what.text.as_ref()).map_or("", |text| text);
        let content = match self.weighted {
            true => Content::Weighted(text.as_bytes().into()),
            false => Content::Document(text.as_bytes().into()),
        };
        let asked = Asked::of(&content, &mut worker, sketcher).map_err(exit::bad_argument)?;
        Ok((Value::from(text), asked))
    }

    fn ask<'a>(
        &self,
        mut query: ringer::Query<'a>,
        originals: Option<&'a Originals<'a>>,
    ) -> ringer::Query<'a> {
        query = query.accept(self.reach.accept());
        if let Some(originals) = originals {
            query = query.verify(originals);
        }
        query = query.top(if self.all { usize::MAX } else { self.top });
        if let Some(least) = self.min {
            query = query.min_similarity(least);
        }
        if let Some(slots) = self.min_matches {
            query = query.min_matches(slots);
        }
        if self.within_one_bit {
            query = query.within_hamming_1();
        }
        if self.exhaustive { query.exhaustive() } else { query }
    }

    /// The source of many queries, and how to parse its lines.
    fn source(&self, features: Features) -> Result<(Source, Records), Failure> {
        let sets = Records::Sets { weighted: self.weighted };
        let fields = [&*self.sources.key_field, &*self.sources.text_field];
        if let Some(file) = &self.what.parquet {
            return Ok((Source::parquet(file, fields, features)?, sets));
        }
        let file = self.what.sets.as_ref().or(self.what.jsonl.as_ref());
        let lines = Lines::open(file.map_or("-".as_ref(), |file| file), None)
            .map_err(|problem| Failure::Io(problem.message))?;
        let [key_field, text_field] = fields.map(str::to_string);
        let weighted = self.weighted;
        let records = match self.what.jsonl {
            Some(_) => Records::Json { key_field, text_field, features, weighted },
            None => sets,
        };
        Ok((Source::Lines(lines), records))
    }

    /// Runs many queries, a block of them in parallel. Returns whether any has a match.
    fn many(
        &self,
        (snapshot, sketcher, originals): (&Snapshot, &Sketcher, Option<&Originals<'_>>),
        out: &mut Results,
    ) -> Result<bool, Failure> {
        let (mut answered, mut matched) = (0, false);
        let (source, records) = self.source(sketcher.scheme().features)?;
        let name = source.name();
        let mut problems = Problems::new(self.strict);
        for block in source.start()? {
            let mut block = block.map_err(|problem| Failure::Io(problem.message))?;
            for problem in block.take_problems() {
                problems.note(problem)?;
            }
            let malformed = |i: usize, what: String| {
                Problem::new(Reason::Malformed, format!("{name}, {} {what}", block.place(i)))
            };
            let one = |worker: &mut Worker<'_>, i: usize| {
                let record = block.record(i, &records).map_err(|what| malformed(i, what))?;
                let Some((key, content)) = record else { return Ok(None) };
                let asked = Asked::of(&content, worker, sketcher);
                let asked = asked.map_err(|error| malformed(i, error.to_string()))?;
                let answer = self.ask(snapshot.query(asked.like()), originals).run();
                Ok(Some((show::json_key(&key), answer)))
            };
            let answers: Vec<Result<_, Problem>> =
                (0..block.len()).into_par_iter().map_init(|| Worker::new(sketcher), one).collect();
            for answer in answers {
                match answer {
                    Ok(Some((key, answer))) => {
                        let answer = answer.map_err(exit::bad_argument)?;
                        self.print(&key, &answer, out)?;
                        answered += 1;
                        matched |= !answer.matches.is_empty();
                    }
                    Ok(None) => {}
                    Err(problem) => problems.note(problem)?,
                }
            }
            out.lines.flush()?;
        }
        let skipped = problems.summary();
        if !out.style.quiet && !skipped.is_empty() {
            exit::say(skipped.trim_start_matches("; "));
        }
        problems.end(answered)?;
        Ok(matched)
    }

    fn print(&self, query: &Value, answer: &Answer, out: &mut Results) -> Result<(), Failure> {
        if out.is_table() {
            for found in &answer.matches {
                let slots = Cell::Integer(found.matching_slots.into());
                let mut row = vec![results::name_cell(query), key_cell(&found.key), slots];
                row.extend(results::cells(&found.comparison));
                out.row(row)?;
            }
            if answer.truncated {
                exit::say(TRUNCATED);
            }
            return Ok(());
        }
        let (style, out) = (out.style, &mut out.lines);
        if style.json {
            for found in &answer.matches {
                out.line(show::json_match(query, found))?;
            }
            if answer.truncated {
                out.line(json!({ "query": query, "truncated": true }))?;
            }
            return Ok(());
        }
        if self.what.is_many() {
            let name =
                query.as_str().map_or_else(|| query.to_string(), |n| show::key(n.as_bytes()));
            out.line(format_args!("{name}"))?;
        }
        if answer.matches.is_empty() {
            out.line("no match")?;
        } else {
            let name = answer.matches[0].comparison.measure().similarity_name();
            out.line(format_args!("{name:<15} 95 % interval    slots  key"))?;
        }
        for found in &answer.matches {
            out.line(format_args!(
                "{}  {:>5}  {}",
                show::similarity_and_interval(&found.comparison),
                found.matching_slots,
                show::key(&found.key)
            ))?;
        }
        if answer.truncated {
            exit::say(TRUNCATED);
        }
        Ok(())
    }
}

/// The warning about an answer from only some of the candidates.
const TRUNCATED: &str = "warning: there were too many candidates, so matches may be missing: \
                         --exhaustive compares all sets";

/// The status of a command that searched: 1 if it found nothing.
fn found(matched: bool) -> Result<(), Failure> {
    if matched { Ok(()) } else { Err(Failure::Findings) }
}

/// What to search for, kept while the query runs.
enum Asked<'a> {
    Key(&'a [u8]),
    Set(Vec<u64>),
    Signature(Signature),
}

impl<'a> Asked<'a> {
    /// The set of a document or, for weighted measures, its signature.
    fn of(
        content: &Content<'_>,
        worker: &mut Worker<'_>,
        sketcher: &Sketcher,
    ) -> Result<Asked<'a>, Error> {
        match sketcher.scheme().measure {
            Measure::Jaccard => worker.set_of_content(content).map(Asked::Set),
            _ => worker.of_content(content).map(Asked::Signature),
        }
    }

    fn like(&self) -> Like<'_> {
        match self {
            Asked::Key(key) => Like::Key(key),
            Asked::Set(set) => Like::Features(set),
            Asked::Signature(signature) => Like::Signature(signature),
        }
    }
}

fn print_explanation(
    explanation: &Explanation,
    style: Style,
    out: &mut Output,
) -> Result<(), Failure> {
    if !style.json {
        return out.line(format_args!("\n{explanation}"));
    }
    let work = explanation.work;
    let parts: Vec<Value> = explanation
        .parts
        .iter()
        .map(|part| {
            json!({
                "segment": part.segment,
                "signatures": part.signatures,
                "plan": part.plan.to_string(),
                "probe_cost_ns": part.probe_cost,
                "scan_cost_ns": part.scan_cost,
            })
        })
        .collect();
    out.line(json!({ "explain": {
        "parts": parts,
        "lists_read": work.lists_read,
        "lists_unread": work.lists_unread,
        "postings": work.postings,
        "candidates": work.candidates,
        "compared": work.compared,
        "verified": work.verified,
        "bytes": work.bytes,
        "pages_read": explanation.pages_read,
        "min_matches": explanation.min_matches,
        "promised_recall": explanation.promised_recall(),
        "recall_curve": explanation.recall_curve(),
    }}))
}
