//! `ringer weights`: counts in how many documents each element occurs, for `add --weights` and `query --weights`.

use std::path::PathBuf;

use rayon::prelude::*;
use ringer::features::{DocumentFrequencies, Weighting};
use ringer::{Error, Sketcher};
use serde_json::json;

use crate::exit::{self, Failure};
use crate::input::{
    Block, Content, Files, Lines, Records, Source, Walk, Worker, reason_of, refusal,
};
use crate::problems::{Problem, Problems, Reason};
use crate::show::{self, Output, Style, count};
use crate::{interrupt, open, staged, weighting};

/// Count in how many documents each element occurs, and write a file of weights.
///
/// `add --weights FILE` and `query --weights FILE` then weigh an element by tf (1 + ln((1 + N) / (1 + df))), where tf is the
/// number of its occurrences in the document, and df the number of the N counted documents that contain it. With --title and
/// --headings, what is in the title or in the headings (h1 to h6) of a page of HTML counts more often, as if the page repeated
/// it. The database must have the preset weighted or cosine, and it is not changed.
///
/// The file is text: lines of a feature, a tab and its count. Memory holds 20 to 40 bytes for each distinct element, and 16 more
/// while the file is written.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ringer weights pages.ringer pages --title 5 --headings 2 --output pages.weights
  ringer add pages.ringer pages --weights pages.weights
  ringer query pages.ringer --file new.html --weights pages.weights
  ringer weights notes.ringer --jsonl notes.jsonl --least 3 --output notes.weights
  ringer weights pages.ringer --title 5 --output titles.weights    (no counts)")]
pub(crate) struct Weights {
    /// The database file, whose features are counted.
    #[arg(value_name = "DB")]
    path: PathBuf,
    /// Files and folders (searched recursively).
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Read one set per line, as `add --sets` does.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["paths", "jsonl", "parquet", "files_from", "exclude", "gitignore", "follow_links"]
    )]
    sets: Option<PathBuf>,
    /// Read one JSON object per line, as `add --jsonl` does.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["paths", "parquet"])]
    jsonl: Option<PathBuf>,
    /// Read the rows of a Parquet file.
    #[arg(long, value_name = "FILE", conflicts_with = "paths")]
    parquet: Option<PathBuf>,
    /// The field that holds the key.
    #[arg(long, value_name = "NAME", default_value = "id", conflicts_with_all = ["paths", "sets"])]
    key_field: String,
    /// The field that holds the document.
    #[arg(long, value_name = "NAME", default_value = "text", conflicts_with_all = ["paths", "sets"])]
    text_field: String,
    /// The weight of the title of a page, 1 to 1000000.
    #[arg(long, value_name = "WEIGHT", default_value_t = 1.0)]
    title: f64,
    /// The weight of the headings of a page, 1 to 1000000.
    #[arg(long, value_name = "WEIGHT", default_value_t = 1.0)]
    headings: f64,
    /// Leave out elements of fewer than N documents, usually most of them. They then weigh as much as unknown ones.
    #[arg(long, value_name = "N", default_value_t = 1)]
    least: u64,
    /// The file to write.
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Replace an existing file. Sets that were stored with its weights are then weighted differently from new ones.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    walk: Walk,
}

impl Weights {
    pub(crate) fn run(&self, style: Style) -> Result<(), Failure> {
        let refused = |error: Error| Failure::Usage(error.to_string());
        let weighting = Weighting::new().with_title(self.title).map_err(refused)?;
        let weighting = weighting.with_headings(self.headings).map_err(refused)?;
        staged::check_target(&self.output, self.force)?;
        interrupt::end_at_once("the file of weights was not written");
        let reader = open::to_read(&self.path, style)?;
        let snapshot = reader.snapshot();
        open::check_sketches(snapshot.scheme())?;
        weighting::check_measure("weights", snapshot.scheme())?;
        let sketcher = Sketcher::new(snapshot.scheme());
        let mut problems = Problems::new(self.walk.strict);
        let mut frequencies = DocumentFrequencies::new();
        if let Some((source, records)) = self.source(&sketcher, &mut problems)? {
            let counting =
                Counting { sketcher: &sketcher, weighting: &weighting, records, walk: &self.walk };
            counting.run(source, &mut frequencies, &mut problems)?;
        } else if self.title <= 1.0 && self.headings <= 1.0 {
            return Err(Failure::Usage(
                "there is nothing to count: name files or folders, --sets, --jsonl or --parquet, or a weight with --title or \
                 --headings"
                    .into(),
            ));
        }
        frequencies.forget_below(self.least);
        let (documents, elements) = (frequencies.documents(), frequencies.counts().len() as u64);
        problems.end(documents)?;
        weighting::write(
            &self.output,
            &weighting.with_frequencies(frequencies),
            snapshot.scheme(),
        )?;
        if style.json {
            let mut out = Output::new();
            out.line(json!({ "documents": documents, "elements": elements, "left_out": problems.json() }))?;
            return out.flush();
        }
        if !style.quiet {
            exit::say(&format!(
                "counted {} in {}; wrote {}{}",
                count(elements, "element"),
                count(documents, "document"),
                show::path(&self.output),
                problems.summary()
            ));
        }
        Ok(())
    }

    /// The documents, if any are named, and how to parse them.
    fn source(
        &self,
        sketcher: &Sketcher,
        problems: &mut Problems,
    ) -> Result<Option<(Source, Records)>, Failure> {
        let features = sketcher.scheme().features;
        let sets = Records::Sets { weighted: false };
        if let Some(file) = &self.parquet {
            let fields = [&*self.key_field, &*self.text_field];
            return Ok(Some((Source::parquet(file, fields, None, features)?, sets)));
        }
        if let Some(file) = self.sets.as_ref().or(self.jsonl.as_ref()) {
            let lines = Lines::open(file, None).map_err(|problem| Failure::Io(problem.message))?;
            let [key_field, text_field] = [&self.key_field, &self.text_field].map(String::clone);
            let records = match self.jsonl {
                Some(_) => Records::Json { key_field, text_field, features, weighted: false },
                None => sets,
            };
            return Ok(Some((Source::Lines(lines), records)));
        }
        if self.paths.is_empty() && self.walk.files_from.is_none() {
            return Ok(None);
        }
        let files = Files {
            paths: &self.paths,
            walk: &self.walk,
            database: Some(&self.path),
            report: Some(&self.output),
            target: None,
        };
        Ok(Some((Source::Files(files.find(problems)?), sets)))
    }
}

/// What a count needs.
struct Counting<'a> {
    sketcher: &'a Sketcher,
    weighting: &'a Weighting,
    records: Records,
    walk: &'a Walk,
}

/// The elements of a document; `None` for an empty line or after an interrupt.
type Elements = Result<Option<Vec<u64>>, Problem>;

impl Counting<'_> {
    fn run(
        &self,
        source: Source,
        frequencies: &mut DocumentFrequencies,
        problems: &mut Problems,
    ) -> Result<(), Failure> {
        let name = source.name();
        for block in source.start()? {
            let mut block = block.map_err(|problem| Failure::Io(problem.message))?;
            for problem in block.take_problems() {
                problems.note(problem)?;
            }
            for elements in self.elements(&block, &name) {
                match elements {
                    Ok(Some(elements)) => frequencies.add(&elements),
                    Ok(None) => {}
                    Err(problem) => problems.note(problem)?,
                }
            }
        }
        Ok(())
    }

    /// The elements of the documents of a block, in their order.
    fn elements(&self, block: &Block, name: &str) -> Vec<Elements> {
        let limits = self.walk.limits();
        let worker = || Worker::new(self.sketcher).limited(limits).weighing(Some(self.weighting));
        if let Block::Files(files) = block {
            let one = |worker: &mut Worker<'_>, file: &PathBuf| worker.elements_of_file(file);
            return files.par_iter().map_init(worker, one).collect();
        }
        let one = |worker: &mut Worker<'_>, i: usize| {
            let malformed = |reason, what: String| {
                Problem::new(reason, format!("{name}, {} {what}", block.place(i)))
            };
            let record = block.record(i, &self.records);
            let Some((_, content)) = record.map_err(|what| malformed(Reason::Malformed, what))?
            else {
                return Ok(None);
            };
            if let Content::Document(text) = &content {
                limits.check_words(text).map_err(|short| malformed(short.reason, short.message))?;
            }
            match worker.elements_of_content(&content) {
                Ok(elements) => Ok(Some(elements)),
                Err(Error::Interrupted) => Ok(None),
                Err(error) => Err(malformed(reason_of(&error), refusal(&error))),
            }
        };
        (0..block.len()).into_par_iter().map_init(worker, one).collect()
    }
}
