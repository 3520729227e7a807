//! `ringer add`: adds files, lines of sets or JSON, or rows of Parquet to a database.

use std::io;
use std::path::PathBuf;

use ringer::Database;
use serde_json::json;

use crate::exit::{self, Failure};
use crate::input::{Files, Lines, Records, Source, Walk};
use crate::load::{Commits, Existing, Load, Loaded};
use crate::problems::Problems;
use crate::show::{self, Output, Style, count, count_was};
use crate::sources::path_of;
use crate::weighting::Weigh;
use crate::{interrupt, open};

/// How many keys are deleted in one commit.
const DELETED_AT_ONCE: usize = 10_000;

/// Add sets to a database: files and folders, lines of sets, lines of JSON, or rows of Parquet.
///
/// Files may be compressed with gzip or Zstandard. A set that is already stored under the same key is replaced.
///
/// The features of the database determine how a document becomes a set: 5-word shingles of its normalised text (for HTML, of
/// the visible text), content-defined chunks of its bytes, or its words or numbers. Unreadable files, binary files (unless
/// the features are chunks) and malformed lines are reported, counted and skipped. Text files of more than 64 MiB are skipped
/// as well, unless --max-text is larger. If none of the input can be used, the status is 3. After an interrupt, everything read
/// so far is stored.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ringer add notes.ringer ~/notes ~/mail
  ringer add notes.ringer ~/notes --sync                     (every day: new, changed and vanished files)
  ringer add notes.ringer ~/code --gitignore --exclude '*.min.js' --min-words 50
  ringer add baskets.ringer --sets baskets.tsv        (key, tab, words)
  ringer add pages.ringer --jsonl dump.jsonl --key-field url --text-field body
  ringer add pages.ringer --jsonl dump.jsonl --value-field title
  ringer add pages.ringer --parquet dump.parquet --key-field url
  ringer add recipes.ringer --sets recipes.tsv --weighted    (key, tab, flour:500 butter:250)
  ringer add pages.ringer pages --weights pages.weights      (see ringer weights)
  ringer add vectors.ringer --jsonl embeddings.jsonl --text-field embedding --weighted
  generate | ringer add live.ringer --sets - --commit-every 1000 --ack")]
pub(crate) struct Add {
    /// The database file.
    #[arg(value_name = "DB")]
    path: PathBuf,
    /// Files and folders (searched recursively). The key of a file is its path as given.
    #[arg(value_name = "PATH", required_unless_present_any = ["sets", "jsonl", "parquet", "files_from"])]
    paths: Vec<PathBuf>,
    /// Read one set per line: the key, a tab, and the elements separated by spaces, or the text if the features are text. `-`
    /// reads standard input.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["paths", "jsonl", "files_from", "exclude", "gitignore", "follow_links"]
    )]
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
    /// The field whose value is stored with the key and returned with it, at most 64 KiB: a string as it is, anything else as
    /// its JSON. `query --values`, `get` and --json show it.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["paths", "sets", "files_from"])]
    value_field: Option<String>,
    /// Read elements with weights: `element:weight`; in JSON, an object of weights (the last one counts if an element is
    /// repeated) or, for ids, an array of coordinates. This needs a database of tokens or ids with a weighted sampler. Without
    /// --weighted, the weight of an element in such a database is the number of its occurrences.
    #[arg(long, conflicts_with_all = ["paths", "weights"])]
    weighted: bool,
    /// Store only sets whose key is not stored yet. Files with a stored path are not read.
    #[arg(long)]
    if_absent: bool,
    /// Make the database agree with the folders: store files that are new or have changed, and delete the keys of files below
    /// PATH that no longer exist. The contents decide: every file is read, because a database keeps no sizes or times of files,
    /// and those can stay equal when a file changes. Unchanged files are not stored again, so that the database does not grow.
    /// To read changed files only, list them with --files-from.
    #[arg(long, conflicts_with_all = ["sets", "jsonl", "parquet", "if_absent"])]
    sync: bool,
    #[command(flatten)]
    weigh: Weigh,
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
        interrupt::listen(
            "the sets added so far are stored; run the same command again to add the others",
        );
        let db = open::to_write(&self.path, style)?;
        open::check_sketches(db.scheme())?;
        if self.weighted {
            open::check_weighted(db.scheme())?;
        }
        let weighting = self.weigh.read(db.scheme())?;
        let records = match &self.jsonl {
            None => Records::Sets { weighted: self.weighted },
            Some(_) => Records::Json {
                key_field: self.key_field.clone(),
                text_field: self.text_field.clone(),
                features: db.scheme().features,
                weighted: self.weighted,
            },
        };
        let mut found = Vec::new();
        let source = match (lines, &self.parquet) {
            (Some(lines), _) => Source::Lines(lines),
            (None, Some(file)) => {
                let fields = [&*self.key_field, &*self.text_field];
                Source::parquet(file, fields, self.value_field.as_deref(), db.scheme().features)?
            }
            (None, None) => {
                let (paths, walk) = (&self.paths[..], &self.walk);
                let (database, weights) = (Some(&*self.path), self.weigh.weights.as_deref());
                let files = Files { paths, walk, database, report: weights, target: None };
                let files = files.find(&mut problems)?;
                if self.sync {
                    found.clone_from(&files);
                }
                Source::Files(files)
            }
        };
        let limits = self.walk.limits();
        let existing = match (self.if_absent, self.sync) {
            (true, _) => Existing::Keep,
            (_, true) => Existing::Compare,
            (false, false) => Existing::Replace,
        };
        let load = Load {
            db: &db,
            style,
            commits: &self.commits,
            records,
            value_field: self.value_field.as_deref(),
            weighting: weighting.as_ref(),
            limits,
            existing,
        };
        let loaded = load.run(source, &mut problems);
        let vanished = match &loaded {
            Ok(loaded) if self.sync && !loaded.interrupted => self.forget(&db, &found),
            _ => Ok(0),
        };
        // Close the database whatever happened, so that it is one file again.
        let closed = db.close();
        let loaded = loaded?;
        closed?;
        self.summary(style, &loaded, vanished?, &problems)
    }

    /// Deletes the keys of files that no longer exist. Returns their number.
    fn forget(&self, db: &Database, found: &[PathBuf]) -> Result<u64, Failure> {
        let snapshot = db.snapshot();
        let mut vanished = Vec::new();
        for root in &self.paths {
            let mut stored = 0;
            for key in snapshot.prefix_keys(root.as_os_str().as_encoded_bytes()) {
                let key = key?;
                let path = path_of(&key);
                if !path.starts_with(root) {
                    continue;
                }
                stored += 1;
                let gone = || {
                    path.symlink_metadata().is_err_and(|error| {
                        matches!(
                            error.kind(),
                            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                        )
                    })
                };
                if found.binary_search_by(|file| file.as_path().cmp(path)).is_err() && gone() {
                    vanished.push(key);
                }
            }
            // A disk that is not mounted looks like an empty folder.
            if stored > 0 && !found.iter().any(|file| file.starts_with(root)) {
                return Err(Failure::Io(format!(
                    "{} has no files, but {} below it: nothing was deleted; delete the keys with `ringer delete` if this is right",
                    show::path(root),
                    match stored {
                        1 => "1 key is stored".to_string(),
                        more => format!("{more} keys are stored"),
                    }
                )));
            }
        }
        for some in vanished.chunks(DELETED_AT_ONCE) {
            let mut batch = db.batch();
            for key in some {
                batch.delete(key)?;
            }
            db.commit(batch)?;
        }
        Ok(vanished.len() as u64)
    }

    fn summary(
        &self,
        style: Style,
        loaded: &Loaded,
        vanished: u64,
        problems: &Problems,
    ) -> Result<(), Failure> {
        let Loaded { sets, empty, replaced, present, interrupted } = *loaded;
        if style.json {
            let mut out = Output::new();
            let mut line = json!({ "added": sets, "replaced": replaced, "empty": empty, "left_out": problems.json() });
            if self.if_absent || self.sync {
                line["present"] = present.into();
            }
            if self.sync {
                line["deleted"] = vanished.into();
            }
            out.line(line)?;
            out.flush()?;
        } else if !style.quiet {
            let mut said = format!("added {}", count(sets, "set"));
            match replaced {
                0 => {}
                all if all == sets && all == 1 => said += ", which replaced an earlier one",
                all if all == sets => said += ", all of which replaced earlier ones",
                1 => said += ", 1 of them replaced an earlier one",
                some => said += &format!(", {some} of them replaced earlier ones"),
            }
            if empty > 0 {
                said += &format!(" ({empty} of them empty)");
            }
            if present > 0 {
                let what = if self.sync { "unchanged" } else { "already stored" };
                said += &format!("; {} {what}", count_was(present, "set"));
            }
            if vanished > 0 {
                said +=
                    &format!("; deleted {} of files that no longer exist", count(vanished, "key"));
            }
            exit::say(&(said + &problems.summary()));
        }
        if interrupted {
            return Err(Failure::Interrupted);
        }
        problems.end(sets + present)
    }
}
