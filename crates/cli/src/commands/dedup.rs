//! `ringer dedup`: finds near-duplicate files in folders, or rows of datasets, in one step.
//!
//! Sketches all files into a database, in memory unless `--db` is given, and prints its clusters. Datasets are handled by
//! [`crate::dataset`].

use std::path::{Path, PathBuf};

use ringer::groups::Linkage;
use ringer::scheme::{Features, Measure};
use ringer::{Database, Parameters, Scheme};

use crate::actions::{ActionArguments, Keep, Performed, Plan};
use crate::clustering::{Clustered, Clustering};
use crate::dataset::{DatasetArguments, Job};
use crate::exit::{self, Failure};
use crate::grouping::{self, Conditions, Reach};
use crate::input::{Files, Records, Source, Walk};
use crate::load::{Commits, Existing, Load, Loaded};
use crate::problems::Problems;
use crate::report::{self, About, Report};
use crate::results::Results;
use crate::show::{self, Style, count};
use crate::sources::{self, Opened};
use crate::{interrupt, open};

/// Up to this many files, all pairs are compared, so that no answer depends on the index.
const MOST_FILES_COMPARED: u64 = 20_000;

/// From this resemblance on, comparing all pairs costs hardly more than using the index.
const CHEAP_RESEMBLANCE: f64 = 0.7;

/// The names of files whose rows the user may want to compare.
const DATASET_NAMES: [&str; 3] = [".jsonl", ".jsonl.gz", ".jsonl.zst"];

/// How many deleted files are removed from a database in one commit.
const FORGOTTEN_AT_ONCE: usize = 10_000;

/// The numbers of clusters, of their members, of identical files among these, and of all sets.
struct Found {
    clusters: u64,
    members: u64,
    identical: u64,
    sets: u64,
}

/// Find near-duplicate files, or near-duplicate rows of a dataset.
///
/// Compares all files below the given paths by their 5-word shingles, ignoring case and punctuation, and prints groups of
/// similar files. HTML files are compared by their visible text. Candidates are read again and compared exactly, so the
/// resemblances printed are exact, and `identical` means equal bytes. Files that have disappeared or changed by then are
/// reported and left out. With --estimate, files are not read again, and the estimated resemblance must reach --min. Binary
/// files and text files of more than 64 MiB are skipped and counted; `--features chunks` compares files of any kind and size
/// by their bytes.
///
/// With --jsonl or --parquet, rows are compared instead of files, and the kept rows are written to --out. Every removed row
/// has at least the resemblance --min to the kept row of its group, unless --linkage connected is given. Rows that cannot be compared are reported, counted and
/// kept.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ringer dedup ~/notes
  ringer dedup --min 0.6 --json src docs > groups.jsonl
  ringer dedup ~/notes --report notes.html
  ringer dedup ~/notes --keep newest --delete               (lists the files and asks)
  ringer dedup originals copies --link hard --yes
  ringer dedup ~/notes --identical --print0 | xargs -0 ls -l
  ringer dedup --features chunks ~/photos ~/backup --db files.ringer
  ringer dedup --jsonl shards/*.jsonl.gz --out kept --removed gone --clusters groups.csv
  ringer dedup --parquet shards --text-field body --key-field url --keep longest --out kept
  ringer dedup --jsonl today.jsonl --out kept --db seen.ringer    (also removes what earlier runs kept)
  generate | ringer dedup --jsonl - > kept.jsonl")]
pub(crate) struct Dedup {
    /// Files and folders (searched recursively).
    #[arg(required_unless_present_any = ["jsonl", "parquet", "files_from"], value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The minimum resemblance of two files or rows of a group, above 0 and at most 1.
    #[arg(
        long,
        visible_alias = "threshold",
        default_value_t = 0.8,
        value_name = "R",
        allow_negative_numbers = true
    )]
    min: f64,
    /// Store the signatures in this database. It is created if it does not exist. If it exists, files are also compared with
    /// those of earlier runs, which are marked in the output. Files of earlier runs that no longer exist are reported and left
    /// out, unless --estimate is given. For rows, a new database also keeps the sets (8 bytes per word), so that later runs
    /// compare exactly; with --estimate it keeps signatures only.
    #[arg(long, value_name = "DB")]
    db: Option<PathBuf>,
    /// How documents become sets: text, grams, spots or chunks; for rows also tokens or ids [default: text, or the database's
    /// features].
    #[arg(long)]
    features: Option<Features>,
    /// The seed of all hash functions. With a fixed seed, estimates are the same in each run [default: random, so that nobody
    /// can construct colliding files, or the database's seed].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Require that every file of a group is similar to its first file, not only through a chain of files.
    #[arg(long)]
    strict_linkage: bool,
    /// Print estimates from the signatures instead of comparing files or rows exactly.
    #[arg(long)]
    estimate: bool,
    #[command(flatten)]
    walk: Walk,
    #[command(flatten)]
    actions: ActionArguments,
    #[command(flatten)]
    dataset: DatasetArguments,
}

impl Dedup {
    pub(crate) fn run(&self, style: Style) -> Result<(), Failure> {
        if !(self.min > 0.0 && self.min <= 1.0) {
            return Err(Failure::Usage(format!(
                "--min {} is not a resemblance: give a number above 0 and at most 1",
                self.min
            )));
        }
        self.dataset.report.as_deref().map_or(Ok(()), report::check)?;
        if self.dataset.given() {
            let job = Job {
                arguments: &self.dataset,
                min: self.min,
                db: self.db.as_deref(),
                features: self.features,
                seed: self.seed,
                estimate: self.estimate,
                walk: &self.walk,
                style,
            };
            return job.run();
        }
        self.of_files(style)
    }

    /// Compares files.
    fn of_files(&self, style: Style) -> Result<(), Failure> {
        let keep = self.dataset.keep.of_files(&self.paths)?;
        interrupt::listen(&match &self.db {
            None => "no file was changed".to_string(),
            Some(db) => format!(
                "no file was changed; the signatures computed so far may be stored in {}",
                show::path(db)
            ),
        });
        let mut problems = Problems::new(self.walk.strict);
        let (database, report) = (self.db.as_deref(), self.dataset.report.as_deref());
        let files = Files {
            paths: &self.paths,
            walk: &self.walk,
            database,
            report,
            target: self.actions.target(),
        };
        let files = files.find_distinct(&mut problems)?;
        self.advise(style);
        let db = self.open(style)?;
        let key = |file: &PathBuf| file.as_os_str().as_encoded_bytes().to_vec();
        let mut keys: Vec<Vec<u8>> = files.iter().map(key).collect();
        keys.sort();
        let commits = Commits::default();
        let (records, limits) = (Records::Sets { weighted: false }, self.walk.limits());
        let existing = Existing::Replace;
        let load = Load {
            weighting: None,
            db: &db,
            style,
            commits: &commits,
            records,
            value_field: None,
            limits,
            existing,
        };
        let loaded = load.run(Source::Files(files), &mut problems)?;
        let mut plan = Plan::new(&self.actions, self.min);
        if plan.is_some() && db.scheme().measure != Measure::Jaccard {
            return Err(Failure::Usage(format!(
                "files of a database with the measure `{}` cannot be compared exactly, so nothing can be done with them: \
                 choose another database",
                db.scheme().measure
            )));
        }
        let found = self.clusters(&db, &loaded, (&keys, keep), plan.as_mut(), style);
        let acted = match (&found, &plan) {
            (Ok(_), Some(plan)) if self.actions.prints() => plan.print_names().map(|()| None),
            (Ok(found), Some(plan)) => {
                self.act(&db, plan, found, (&loaded, &problems), style).map(Some)
            }
            _ => Ok(None),
        };
        db.close()?;
        let found = found?;
        let acted = acted?;
        match (acted, plan) {
            (Some(performed), Some(plan)) => performed.end(&plan, style)?,
            _ => self.summary(&found, &loaded, &problems, style),
        }
        problems.end(loaded.sets)
    }

    /// Tells about options for datasets, if a dataset is named as a file.
    fn advise(&self, style: Style) {
        let is_dataset = |path: &&PathBuf| {
            let name = path.as_os_str().as_encoded_bytes();
            DATASET_NAMES.iter().any(|end| name.ends_with(end.as_bytes())) && path.is_file()
        };
        if let Some(path) = self.paths.iter().find(is_dataset).filter(|_| !style.quiet) {
            let path = show::path(path);
            exit::say(&format!(
                "note: {path} is compared as one file; `ringer dedup --jsonl {path}` compares its rows"
            ));
        }
    }

    /// Acts on the files that are not kept, and forgets them.
    fn act(
        &self,
        db: &Database,
        plan: &Plan<'_>,
        found: &Found,
        (loaded, problems): (&Loaded, &Problems),
        style: Style,
    ) -> Result<Performed, Failure> {
        self.summary(found, loaded, problems, style);
        let performed = plan.perform(db.sketcher(), self.walk.limits(), style)?;
        if self.db.is_some() {
            for some in performed.done.chunks(FORGOTTEN_AT_ONCE) {
                let mut batch = db.batch();
                for file in some {
                    batch.delete(file.as_os_str().as_encoded_bytes())?;
                }
                db.commit(batch)?;
            }
        }
        Ok(performed)
    }

    fn summary(&self, found: &Found, loaded: &Loaded, problems: &Problems, style: Style) {
        let Found { clusters, members, identical, sets } = *found;
        if !style.quiet {
            let empty = match loaded.empty {
                0 => String::new(),
                empty => format!(" ({empty} without words)"),
            };
            let same = match identical {
                0 => "",
                1 => "; 1 file is identical to the first of its group",
                more => &format!("; {more} files are identical to the first of their group"),
            };
            exit::say(&format!(
                "found {} with {members} of {}{empty}{same}{}",
                count(clusters, "group"),
                count(sets, "file"),
                problems.summary()
            ));
        }
    }

    /// Opens the existing database, creates a new one, or creates one in memory.
    fn open(&self, style: Style) -> Result<Database, Failure> {
        if let Some(path) = self.db.as_deref().filter(|path| path.exists()) {
            let db = open::to_write(path, style)?;
            open::check_sketches(db.scheme())?;
            self.check_scheme(path, db.scheme())?;
            return Ok(db);
        }
        let mut parameters = Parameters::default().with_random_seed();
        parameters.seed = self.seed.unwrap_or(parameters.seed);
        parameters.features = self.features.unwrap_or(parameters.features);
        let scheme = Scheme::new(parameters).map_err(exit::bad_argument)?;
        match &self.db {
            Some(path) => Ok(Database::create(path, &scheme, style.options())?),
            None => Ok(Database::in_memory(&scheme)?),
        }
    }

    /// Rejects a database whose scheme contradicts the options.
    fn check_scheme(&self, path: &Path, scheme: &Scheme) -> Result<(), Failure> {
        let shown = path.display();
        if let Some(features) = self.features.filter(|features| *features != scheme.features) {
            return Err(Failure::Usage(format!(
                "{shown} has the features {}, not {features}: leave out --features, or choose another database",
                scheme.features
            )));
        }
        if let Some(seed) = self.seed.filter(|seed| *seed != scheme.seed) {
            return Err(Failure::Usage(format!(
                "{shown} has the seed {}, not {seed}: leave out --seed, or choose another database",
                scheme.seed
            )));
        }
        Ok(())
    }

    /// Prints the clusters.
    fn clusters(
        &self,
        db: &Database,
        loaded: &Loaded,
        (keys, keep): (&[Vec<u8>], Keep<'_>),
        plan: Option<&mut Plan<'_>>,
        style: Style,
    ) -> Result<Found, Failure> {
        if loaded.interrupted {
            return Err(Failure::Interrupted);
        }
        let snapshot = db.snapshot();
        let sets = snapshot.len()?;
        let exhaustive = self.min >= CHEAP_RESEMBLANCE || sets <= MOST_FILES_COMPARED;
        let linkage = if self.strict_linkage { Linkage::Strict } else { Linkage::Connected };
        let conditions = Conditions { min_matches: None, exhaustive, reach: Reach::default() };
        let (sources, sketcher) = (Opened::Files(self.walk.limits()), db.sketcher());
        let verified = !self.estimate && db.scheme().measure == Measure::Jaccard;
        let originals = verified.then(|| sources.originals(sketcher));
        let clustering = Clustering {
            snapshot: &snapshot,
            min: self.min,
            linkage,
            conditions,
            style,
            thing: "file",
            wanted: Some(keys),
            originals: originals.as_ref(),
            keep: Some(keep),
        };
        let about = About {
            command: "dedup",
            group: "group",
            thing: "file",
            min: Some(self.min),
            exhaustive,
            min_matches: None,
            within_one_bit: false,
            no_texts: "These files have no text to show.",
        };
        let page = self.dataset.report.as_deref();
        let mut page = page.map(|path| Report::new(path, snapshot.scheme(), about)).transpose()?;
        let mut results = match self.actions.prints() {
            true => Results::nowhere(style),
            false => Results::on_output(style),
        };
        let found = clustering.print(&mut results, page.as_mut(), plan)?;
        let Clustered { report, clusters, members, identical } = found;
        originals.iter().for_each(sources::report_lost);
        grouping::ended(&report, snapshot.scheme(), self.min, conditions, style)?;
        if let Some(page) = page {
            let totals = [
                ("files compared", sets),
                ("groups", clusters),
                ("files in groups", members),
                ("files that repeat others", members - clusters),
            ];
            page.finish(&totals, |places| sources.texts(places, sketcher))?.publish()?;
        }
        Ok(Found { clusters, members, identical, sets })
    }
}
