//! `ringer query`: what looks like this?

use std::ffi::OsString;
use std::path::PathBuf;

use rayon::prelude::*;
use ringer::scheme::Measure;
use ringer::{Answer, Error, Explanation, Like, Originals, Signature, Sketcher, Snapshot};
use serde_json::{Value, json};

use crate::exit::{self, Failure};
use crate::grouping::Reach;
use crate::input::{Block, Content, Lines, Records, Source, Worker};
use crate::open;
use crate::problems::{Problem, Problems, Reason};
use crate::show::{self, Output, Style};
use crate::sources::{self, Sources};

/// Find the sets that look like one: ranked, with error bars.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ringer query notes.ringer --key notes/2024.md
  ringer query notes.ringer --file draft.html --top 3
  ringer query notes.ringer --text 'never put off till tomorrow what you can do today' --min 0.5
  ringer query baskets.ringer --set 'bread milk beer' --explain
  ringer query baskets.ringer --sets new.tsv --json > matches.jsonl
  ringer query recipes.ringer --set 'flour:500 butter:250 sugar:120' --weighted")]
pub(crate) struct Query {
    /// The database.
    #[arg(value_name = "DB")]
    path: PathBuf,
    #[command(flatten)]
    what: What,
    /// The best N only.
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// All matches, not only the best.
    #[arg(long, conflicts_with = "top")]
    all: bool,
    /// Only sets of at least this resemblance, 0 to 1, or vectors of at least this cosine, -1 to 1: their estimate must reach it,
    /// unless --possible, --certain or --verify-.. says otherwise.
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    min: Option<f64>,
    /// Only sets with at least so many slots in common [default: as the database says].
    #[arg(long, value_name = "M")]
    min_matches: Option<u32>,
    /// Compare with every set, also those without common slots: slower. What must reach --min stays the same.
    #[arg(long)]
    exhaustive: bool,
    #[command(flatten)]
    reach: Reach,
    #[command(flatten)]
    sources: Sources,
    /// Slots that differ in one bit count as common, too: finds more, in databases whose slots are not hashed.
    #[arg(long)]
    within_one_bit: bool,
    /// Elements come with weights: `element:weight`.
    #[arg(long, conflicts_with_all = ["key", "text", "file"])]
    weighted: bool,
    /// Say how the answer was found, and the chance that a set just as alike as --min, or more or less, is returned.
    #[arg(long, conflicts_with = "sets")]
    explain: bool,
    /// Stop at the first malformed line.
    #[arg(long)]
    strict: bool,
}

/// What to look for: one of these.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct What {
    /// The likes of a stored set.
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    key: Option<OsString>,
    /// The likes of a set: its elements with spaces between them.
    #[arg(long, value_name = "ELEMENTS", allow_hyphen_values = true)]
    set: Option<String>,
    /// The likes of a text.
    #[arg(long, value_name = "STRING", allow_hyphen_values = true)]
    text: Option<String>,
    /// The likes of a file. A pipe is read to its end, and waited for.
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,
    /// A query a line, as `add --sets` reads them. `-` is standard input.
    #[arg(long, value_name = "FILE")]
    sets: Option<PathBuf>,
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
        let mut out = Output::new();
        if let Some(file) = &self.what.sets {
            self.many(file, (&snapshot, &sketcher, originals), style, &mut out)?;
            originals.into_iter().for_each(sources::report_lost);
            return out.flush();
        }
        let (name, asked) = self.one(&sketcher)?;
        let query = self.ask(snapshot.query(asked.like()), originals);
        if self.explain {
            let explanation = query.explain().map_err(exit::bad_argument)?;
            self.print(&name, &explanation.answer, style, &mut out)?;
            print_explanation(&explanation, style, &mut out)?;
        } else {
            let answer = query.run().map_err(exit::bad_argument)?;
            self.print(&name, &answer, style, &mut out)?;
        }
        originals.into_iter().for_each(sources::report_lost);
        out.flush()
    }

    /// The query's name in the output, and what is asked.
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

    /// A query a line, many at a time.
    fn many(
        &self,
        file: &std::path::Path,
        (snapshot, sketcher, originals): (&Snapshot, &Sketcher, Option<&Originals<'_>>),
        style: Style,
        out: &mut Output,
    ) -> Result<(), Failure> {
        let lines = Lines::open(file, None).map_err(|problem| Failure::Io(problem.message))?;
        let name = lines.name().to_string();
        let mut problems = Problems::new(self.strict);
        for block in Source::Lines(lines).start()? {
            let block = block.map_err(|problem| Failure::Io(problem.message))?;
            let Block::Lines(mut block) = block else { continue };
            for problem in std::mem::take(&mut block.problems) {
                problems.note(problem)?;
            }
            let malformed = |number: u64, what: String| {
                Problem::new(Reason::Malformed, format!("{name}, line {number}: {what}"))
            };
            let one = |worker: &mut Worker<'_>, i: usize| {
                let line = block.line(i);
                let record = Records::Sets { weighted: self.weighted }.parse(line.text);
                let record = record.map_err(|what| malformed(line.number, what))?;
                let Some((key, content)) = record else { return Ok(None) };
                let asked = Asked::of(&content, worker, sketcher);
                let asked = asked.map_err(|e| malformed(line.number, e.to_string()))?;
                let answer = self.ask(snapshot.query(asked.like()), originals).run();
                Ok(Some((show::json_key(&key), answer)))
            };
            let answers: Vec<Result<_, Problem>> =
                (0..block.len()).into_par_iter().map_init(|| Worker::new(sketcher), one).collect();
            for answer in answers {
                match answer {
                    Ok(Some((key, answer))) => {
                        self.print(&key, &answer.map_err(exit::bad_argument)?, style, out)?;
                    }
                    Ok(None) => {}
                    Err(problem) => problems.note(problem)?,
                }
            }
            out.flush()?;
        }
        let left_out = problems.summary();
        if !style.quiet && !left_out.is_empty() {
            exit::say(left_out.trim_start_matches("; "));
        }
        Ok(())
    }

    fn print(
        &self,
        query: &Value,
        answer: &Answer,
        style: Style,
        out: &mut Output,
    ) -> Result<(), Failure> {
        if style.json {
            for found in &answer.matches {
                out.line(show::json_match(query, found))?;
            }
            if answer.truncated {
                out.line(json!({ "query": query, "truncated": true }))?;
            }
            return Ok(());
        }
        if self.what.sets.is_some() {
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
            exit::say("warning: there were too many candidates: matches may be missing");
        }
        Ok(())
    }
}

/// What is looked for, kept while the query runs.
enum Asked<'a> {
    Key(&'a [u8]),
    Set(Vec<u64>),
    Signature(Signature),
}

impl<'a> Asked<'a> {
    /// A document or a set. Where elements have weights, its signature.
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
