//! `ringer add`: adds files, lines of sets or JSON, or rows of Parquet to a database.

use std::path::PathBuf;

use serde_json::json;

use crate::exit::{self, Failure};
use crate::input::{Files, Lines, Records, Source, Walk};
use crate::load::{Commits, Load, Loaded};
use crate::problems::Problems;
use crate::show::{Output, Style, count};
use crate::{interrupt, open};

/// Add sets to a database: files and folders, lines of sets, lines of JSON, or rows of Parquet.
///
/// Files of lines may be compressed with gzip or Zstandard. A set that is already stored under the same key is replaced.
///
/// The features of the database determine how a document becomes a set: 5-word shingles of its normalised text (for HTML, of
/// the visible text), content-defined chunks of its bytes, or its words or numbers. Unreadable files, binary files (unless
/// the features are chunks) and malformed lines are reported, counted and skipped. Text files of more than 64 MiB are skipped
/// as well. After an interrupt, everything read so far is stored.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ringer add notes.ringer ~/notes ~/mail
  ringer add baskets.ringer --sets baskets.tsv        (key, tab, words)
  ringer add pages.ringer --jsonl dump.jsonl --key-field url --text-field body
  ringer add pages.ringer --parquet dump.parquet --key-field url
  ringer add recipes.ringer --sets recipes.tsv --weighted    (key, tab, flour:500 butter:250)
  ringer add vectors.ringer --jsonl embeddings.jsonl --text-field embedding --weighted
  generate | ringer add live.ringer --sets - --commit-every 1000 --ack")]
pub(crate) struct Add {
    /// The database file.
    #[arg(value_name = "DB")]
    path: PathBuf,
    /// Files and folders (searched recursively). The key of a file is its path as given.
    #[arg(value_name = "PATH", required_unless_present_any = ["sets", "jsonl", "parquet"])]
    paths: Vec<PathBuf>,
    /// Read one set per line: the key, a tab, and the elements separated by spaces, or the text if the features are text. `-`
    /// reads standard input.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["paths", "jsonl"])]
    sets: Option<PathBuf>,
    /// Read one JSON object per line. `-` reads standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "paths")]
    jsonl: Option<PathBuf>,
    /// Read the rows of a Parquet file.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["paths", "sets", "jsonl", "weighted"])]
    parquet: Option<PathBuf>,
    /// The field that holds the key, a string or a number.
    #[arg(long, value_name = "NAME", default_value = "id", conflicts_with_all = ["paths", "sets"])]
    key_field: String,
    /// The field that holds the document: a string or, for tokens and ids, an array.
    #[arg(long, value_name = "NAME", default_value = "text", conflicts_with_all = ["paths", "sets"])]
    text_field: String,
    /// Read elements with weights: `element:weight`; in JSON, an object of weights (the last one counts if an element is
    /// repeated) or, for ids, an array of coordinates. This needs a database of tokens or ids with a weighted sampler. Without
    /// --weighted, the weight of an element in such a database is the number of its occurrences.
    #[arg(long, conflicts_with = "paths")]
    weighted: bool,
    #[command(flatten)]
    commits: Commits,
    #[command(flatten)]
    walk: Walk,
}

impl Add {
    pub(crate) fn run(&self, style: Style) -> Result<(), Failure> {
        let mut problems = Problems::new(self.walk.strict);
        // The input is opened before the database, so that a missing file changes nothing.
        let lines = self.sets.as_ref().or(self.jsonl.as_ref()).map(|file| {
            let every = self.commits.commit_every.map(|n| n as usize);
            Lines::open(file, every).map_err(|problem| Failure::Io(problem.message))
        });
        let lines = lines.transpose()?;
        interrupt::listen();
        let db = open::to_write(&self.path)?;
        if self.weighted {
            open::check_weighted(db.scheme())?;
        }
        let records = match &self.jsonl {
            None => Records::Sets { weighted: self.weighted },
            Some(_) => Records::Json {
                key_field: self.key_field.clone(),
                text_field: self.text_field.clone(),
                features: db.scheme().features,
                weighted: self.weighted,
            },
        };
        let source = match (lines, &self.parquet) {
            (Some(lines), _) => Source::Lines(lines),
            (None, Some(file)) => {
                let fields = [&*self.key_field, &*self.text_field];
                Source::parquet(file, fields, db.scheme().features)?
            }
            (None, None) => {
                let (paths, walk) = (&self.paths[..], &self.walk);
                let files = Files { paths, walk, database: Some(&self.path) };
                Source::Files(files.find(&mut problems)?)
            }
        };
        let limits = self.walk.limits();
        let load = Load { db: &db, style, commits: &self.commits, records, limits };
        let loaded = load.run(source, &mut problems);
        // Close the database whatever happened, so that it is one file again.
        let closed = db.close();
        let loaded = loaded?;
        closed?;
        self.summary(style, &loaded, &problems)
    }

    fn summary(&self, style: Style, loaded: &Loaded, problems: &Problems) -> Result<(), Failure> {
        let Loaded { sets, empty, interrupted } = *loaded;
        if style.json {
            let mut out = Output::new();
            out.line(json!({ "added": sets, "empty": empty, "left_out": problems.json() }))?;
            out.flush()?;
        } else if !style.quiet {
            let empty = if empty > 0 { format!(" ({empty} of them empty)") } else { String::new() };
            let skipped = problems.summary();
            exit::say(&format!("added {}{empty}{skipped}", count(sets, "set")));
        }
        if interrupted { Err(Failure::Interrupted) } else { problems.end(sets) }
    }
}
