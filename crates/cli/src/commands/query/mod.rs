//! `ringer query`: finds the stored sets that are similar to a given one.
//!
//! This file has the options and runs queries. [`print`] prints their answers, and [`page`] adds them to the page of
//! `--report`.

mod page;
mod print;
mod subject;

use std::ffi::OsString;
use std::path::PathBuf;

use rayon::prelude::*;
use ringer::features::Weighting;
use ringer::scheme::Features;
use ringer::{Answer, Error, Explanation, Originals, Sketcher, Snapshot};
use serde_json::Value;

use crate::exit::{self, Failure};
use crate::grouping::Reach;
use crate::input::{Content, DocumentLimits, Lines, Records, Source, Worker, refusal};
use crate::problems::{Problem, Problems, Reason};
use crate::report;
use crate::results::{self, Results, Written};
use crate::show::{self, Style};
use crate::sources::{self, Sources};
use crate::table::Kind;
use crate::weighting::Weigh;
use crate::{interrupt, open};
use page::QueryPage;
use subject::{QuerySubject, Readable};

/// How many files are searched for at a time.
const FILES_AT_ONCE: usize = 256;

/// Find stored sets that are similar to a given set, text or file.
///
/// Prints matches by decreasing similarity, each with its error. Exits with status 1 if nothing matches. With several queries
/// (--sets, --jsonl, --parquet, repeated --file), the status is 1 if none of them has a match.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ringer query notes.ringer --key notes/2024.md
  ringer query notes.ringer --file draft.html --top 3
  ringer query notes.ringer --file - --min 0.8 < page.txt > matches && echo seen before
  ringer query notes.ringer --text 'never put off till tomorrow what you can do today' --min 0.5
  ringer query baskets.ringer --set 'bread milk beer' --explain
  ringer query baskets.ringer --sets new.tsv --json > matches.jsonl
  ringer query notes.ringer --parquet new.parquet --min 0.8 --output matches.parquet
  ringer query recipes.ringer --set 'flour:500 butter:250 sugar:120' --weighted
  ringer query pages.ringer --file new.html --weights pages.weights")]
pub(crate) struct Query {
    /// The database file.
    #[arg(value_name = "DB")]
    path: PathBuf,
    #[command(flatten)]
    what: What,
    /// Print at most the N best matches.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    top: u64,
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
    #[arg(long, conflicts_with_all = ["key", "text", "file", "weights"])]
    weighted: bool,
    #[command(flatten)]
    weigh: Weigh,
    /// Also print how the answer was found, and the probability that a set of a given resemblance is returned.
    #[arg(long)]
    explain: bool,
    /// Also show the value that is stored with each key (`add --value-field`). JSON always has it.
    #[arg(long, help_heading = "Output")]
    values: bool,
    /// Refuse documents whose normalised text is longer than SIZE, such as 512MiB [default: 256MiB; files of more than 64MiB
    /// are refused as well, unless SIZE is larger].
    #[arg(long, value_name = "SIZE", value_parser = show::parse_bytes)]
    max_text: Option<usize>,
    /// Refuse documents with more than N features, including repeated ones [default: 67108864; unlimited for chunks of files].
    #[arg(long, value_name = "N")]
    max_features: Option<u64>,
    /// Stop at the first malformed line or row.
    #[arg(long)]
    strict: bool,
    /// Write a page about the queries and their matches to this HTML file: totals, charts, and differences of texts if a
    /// --verify option is given.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    report: Option<PathBuf>,
    #[command(flatten)]
    written: Written,
}

/// What turns a document into a signature: its sketcher, and how its elements are weighted.
type Sketching<'a> = (&'a Sketcher, Option<&'a Weighting>);

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
    /// Search for files similar to this file. `-` reads standard input. Can be repeated.
    #[arg(long, value_name = "PATH")]
    file: Vec<PathBuf>,
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
        self.file.len() > 1 || self.sets.is_some() || self.jsonl.is_some() || self.parquet.is_some()
    }
}

impl Query {
    pub(crate) fn run(&self, style: Style) -> Result<(), Failure> {
        interrupt::end_at_once("the answer is not complete; nothing was changed");
        let reader = match self.what.is_many() {
            true => open::to_read_much(&self.path, style)?,
            false => open::to_read(&self.path, style)?,
        };
        let snapshot = reader.snapshot();
        if self.what.key.is_none() {
            open::check_sketches(snapshot.scheme())?;
        }
        if let Some(min) = self.min {
            open::check_min("--min", min, snapshot.scheme())?;
        }
        if self.weighted {
            open::check_weighted(snapshot.scheme())?;
        }
        let sketcher = Sketcher::new(snapshot.scheme());
        let weighting = self.weigh.read(snapshot.scheme())?;
        let with = (&sketcher, weighting.as_ref());
        let sources = self.sources.open(snapshot.scheme())?;
        let originals = sources.as_ref().map(|sources| sources.originals(&sketcher));
        let originals = originals.as_ref();
        let columns =
            [("query", Kind::Text), ("key", Kind::Text), ("matching_slots", Kind::Integer)];
        let mut columns = results::columns(&columns, snapshot.scheme().measure);
        if self.values {
            columns.push(("value", Kind::Text));
        }
        let mut out = self.written.open(style, &columns)?;
        let mut page = QueryPage::new(self, snapshot.scheme())?;
        if self.what.is_many() {
            let asking = (&snapshot, with, originals);
            let matched = match self.what.file.is_empty() {
                true => self.many(asking, &mut out, &mut page)?,
                false => self.files(asking, &mut out, &mut page)?,
            };
            originals.into_iter().for_each(sources::report_lost);
            out.finish()?;
            page.finish(sources.as_ref(), &sketcher)?;
            return found(matched);
        }
        if self.what.text.is_some() {
            open::check_text("--text", sketcher.scheme())?;
        }
        let file = self.what.file.first().map(|file| Readable::new(file)).transpose()?;
        let (name, subject) = self.one(file.as_ref(), with)?;
        let text = page.is_wanted().then(|| self.text(file.as_ref(), with)).flatten();
        let answered = self.answer(&snapshot, &subject, originals).map_err(exit::bad_argument)?;
        page.add(&name, text.as_deref(), answered.answer())?;
        let matched = self.show(&name, &answered, &mut out)?;
        originals.into_iter().for_each(sources::report_lost);
        out.finish()?;
        page.finish(sources.as_ref(), &sketcher)?;
        found(matched)
    }

    fn worker<'a>(&self, (sketcher, weighting): Sketching<'a>) -> Worker<'a> {
        let limits = DocumentLimits {
            text: self.max_text.map(|bytes| bytes as u64),
            features: self.max_features,
            ..DocumentLimits::default()
        };
        Worker::new(sketcher).limited(limits).weighing(weighting)
    }

    /// The text of a single query, for a report.
    fn text(&self, file: Option<&Readable>, with: Sketching<'_>) -> Option<Vec<u8>> {
        match file {
            Some(file) => self.worker(with).text_of_file(file.path()),
            None => self.what.text.as_ref().map(|text| text.clone().into_bytes()),
        }
    }

    /// A single query: its name in the output, and what to search for.
    fn one(
        &self,
        file: Option<&Readable>,
        with: Sketching<'_>,
    ) -> Result<(Value, QuerySubject<'_>), Failure> {
        let (mut worker, sketcher) = (self.worker(with), with.0);
        if let Some(key) = &self.what.key {
            return Ok((show::json_key(open::key(key)), QuerySubject::Key(open::key(key))));
        }
        if let Some(file) = file {
            let unreadable = |problem: Problem| Failure::Io(problem.message);
            let subject =
                QuerySubject::of_file(file.path(), &mut worker, sketcher).map_err(unreadable)?;
            return Ok((file.name(), subject.ok_or(Failure::Interrupted)?));
        }
        let text = self.what.set.as_ref().or(self.what.text.as_ref()).map_or("", |text| text);
        let content = match self.weighted {
            true => Content::Weighted(text.as_bytes().into()),
            false => Content::Document(text.as_bytes().into()),
        };
        let subject =
            QuerySubject::of(&content, &mut worker, sketcher).map_err(exit::bad_argument)?;
        Ok((Value::from(text), subject))
    }

    /// Runs a query, and explains it if that is asked for.
    fn answer(
        &self,
        snapshot: &Snapshot,
        subject: &QuerySubject<'_>,
        originals: Option<&Originals<'_>>,
    ) -> Result<Answered, Error> {
        let query = self.refine(snapshot.query(subject.like()), originals);
        let query = if snapshot.has_values() { query.with_values() } else { query };
        match self.explain {
            true => query.explain().map(Box::new).map(Answered::Explained),
            false => query.run().map(Answered::Plain),
        }
    }

    /// Prints an answer. Returns whether it has a match.
    fn show(&self, name: &Value, answered: &Answered, out: &mut Results) -> Result<bool, Failure> {
        self.print(name, answered.answer(), out)?;
        if let Answered::Explained(explanation) = answered {
            let name = self.what.is_many().then_some(name);
            print::print_explanation(name, explanation, out.style, &mut out.lines)?;
        }
        Ok(!answered.answer().matches.is_empty())
    }

    /// Runs a query for each file. Returns whether any has a match.
    fn files(
        &self,
        (snapshot, with, originals): (&Snapshot, Sketching<'_>, Option<&Originals<'_>>),
        out: &mut Results,
        page: &mut QueryPage,
    ) -> Result<bool, Failure> {
        let (mut answered, mut matched) = (0, false);
        let mut problems = Problems::new(self.strict);
        let wanted = page.is_wanted();
        for files in self.what.file.chunks(FILES_AT_ONCE) {
            let one = |worker: &mut Worker<'_>, file: &PathBuf| {
                let unreadable = |failure: &Failure| match failure {
                    Failure::Io(message) => Problem::new(Reason::Unreadable, message.clone()),
                    _ => Problem::new(
                        Reason::Unreadable,
                        format!("cannot read {}", show::path(file)),
                    ),
                };
                let file = Readable::new(file).map_err(|failure| unreadable(&failure))?;
                let subject = QuerySubject::of_file(file.path(), worker, with.0)?;
                let Some(subject) = subject else { return Ok(None) };
                let text = wanted.then(|| worker.text_of_file(file.path())).flatten();
                let text = text.as_deref().map(report::start);
                Ok(Some((file.name(), text, self.answer(snapshot, &subject, originals))))
            };
            let answers: Vec<Result<_, Problem>> =
                files.par_iter().map_init(|| self.worker(with), one).collect();
            for answer in answers {
                match answer {
                    Ok(Some((name, text, answer))) => {
                        let answer = answer.map_err(exit::bad_argument)?;
                        page.add(&name, text.as_deref(), answer.answer())?;
                        matched |= self.show(&name, &answer, out)?;
                        answered += 1;
                    }
                    Ok(None) => return Err(Failure::Interrupted),
                    Err(problem) => problems.note(problem)?,
                }
            }
            out.lines.flush()?;
        }
        problems.end(answered)?;
        Ok(matched)
    }

    fn refine<'a>(
        &self,
        mut query: ringer::Query<'a>,
        originals: Option<&'a Originals<'a>>,
    ) -> ringer::Query<'a> {
        query = query.accept(self.reach.accept());
        if let Some(originals) = originals {
            query = query.verify(originals);
        }
        query = query.top(if self.all {
            usize::MAX
        } else {
            usize::try_from(self.top).unwrap_or(usize::MAX)
        });
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
            return Ok((Source::parquet(file, fields, None, features)?, sets));
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
        (snapshot, with, originals): (&Snapshot, Sketching<'_>, Option<&Originals<'_>>),
        out: &mut Results,
        page: &mut QueryPage,
    ) -> Result<bool, Failure> {
        let (mut answered, mut matched) = (0, false);
        let (source, records) = self.source(with.0.scheme().features)?;
        let name = source.name();
        let mut problems = Problems::new(self.strict);
        let wanted = page.is_wanted();
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
                let subject = QuerySubject::of(&content, worker, with.0);
                let subject = subject.map_err(|error| malformed(i, refusal(&error)))?;
                let answer = self.answer(snapshot, &subject, originals);
                let text = content.text().filter(|_| wanted).map(report::start);
                Ok(Some((show::json_key(&key), text, answer)))
            };
            let answers: Vec<Result<_, Problem>> =
                (0..block.len()).into_par_iter().map_init(|| self.worker(with), one).collect();
            for answer in answers {
                match answer {
                    Ok(Some((key, text, answer))) => {
                        let answer = answer.map_err(exit::bad_argument)?;
                        page.add(&key, text.as_deref(), answer.answer())?;
                        matched |= self.show(&key, &answer, out)?;
                        answered += 1;
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
}

/// The status of a command that searched: 1 if it found nothing.
fn found(matched: bool) -> Result<(), Failure> {
    if matched { Ok(()) } else { Err(Failure::Findings) }
}

/// An answer, with its explanation if that is asked for.
enum Answered {
    Plain(Answer),
    Explained(Box<Explanation>),
}

impl Answered {
    fn answer(&self) -> &Answer {
        match self {
            Answered::Plain(answer) => answer,
            Answered::Explained(explanation) => &explanation.answer,
        }
    }
}
