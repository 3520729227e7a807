//! Runs `dedup` on a dataset: checks, both passes over the input, and the summary.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use indicatif::ProgressBar;
use ringer::scheme::{Elements, Features, Measure};
use ringer::{Database, Parameters, Scheme, presets};

use super::arguments::DatasetArguments;
use super::collect::{Collected, Collecting};
use super::groups::{Decisions, Grouping};
use super::list;
use super::read::{Judged, Reading};
use super::reported::{Reported, Texts};
use super::row::Fields;
use super::shards::{self, Format, Shard};
use super::spill::{Spill, SpillWriter};
use super::stored::{self, Earlier};
use super::summary::Summary;
use super::write::{self, Target};
use crate::compression::{self, Compression};
use crate::exit::{self, Failure};
use crate::grouping::{self, Conditions, Reach};
use crate::input::Walk;
use crate::problems::Problems;
use crate::progress::{self, Unit};
use crate::show::{self, Style};
use crate::staged::Staged;
use crate::{interrupt, open};

/// Up to this many rows, all pairs are compared, so that no answer depends on the index.
const MOST_COMPARED: u64 = 20_000;

/// The options of a run.
pub(crate) struct Job<'a> {
    pub(crate) arguments: &'a DatasetArguments,
    pub(crate) min: f64,
    pub(crate) db: Option<&'a Path>,
    pub(crate) features: Option<Features>,
    pub(crate) seed: Option<u64>,
    pub(crate) estimate: bool,
    pub(crate) walk: &'a Walk,
    pub(crate) style: Style,
}

/// The rows of the first pass, and the decisions about them.
struct Decided {
    collected_starts: Vec<u64>,
    unjudged: u64,
    spill: Spill,
    decisions: Decisions,
    scheme: Scheme,
}

impl Job<'_> {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        interrupt::listen(
            "the input is as it was, and no incomplete output was left; run the same command again",
        );
        let started = Instant::now();
        let arguments = self.arguments;
        arguments.check(self.features, self.db)?;
        arguments.keep.of_rows()?;
        let folder = self.working_folder()?;
        let (shards, format) = self.shards(folder.path())?;
        let mut problems = Problems::of_rows(self.walk.strict);
        #[cfg(feature = "parquet")]
        if format == Format::Parquet {
            shards::check_schemas(&shards, &mut problems)?;
        }
        let stored = self.stored()?;
        let decided =
            self.decide(folder.path(), &shards, format, stored.as_ref(), &mut problems)?;
        self.write(&shards, format, &decided)?;
        if let Some((db, _)) = &stored {
            let kept = (0..decided.spill.rows()).filter(|row| !decided.decisions.is_removed(*row));
            stored::add(db, &decided.spill, kept)?;
        }
        drop(folder);
        let summary = Summary {
            rows: decided.spill.rows(),
            unjudged: decided.unjudged,
            min: self.min,
            shards: &shards,
            starts: &decided.collected_starts,
            decisions: &decided.decisions,
            spill: &decided.spill,
            elapsed: started.elapsed(),
        };
        let printed = summary.print(self.style, &problems, arguments.writes_output());
        // The database is closed last. A later run sees that it was not closed, and knows that this run was interrupted.
        stored.map_or(Ok(()), |(db, _)| db.close())?;
        printed
    }

    /// A folder for the working database and for a copy of standard input.
    fn working_folder(&self) -> Result<tempfile::TempDir, Failure> {
        let place = self.arguments.spill.clone().unwrap_or_else(std::env::temp_dir);
        let folder = crate::commands::private_folder_in(&place).map_err(|error| {
            let place = show::path(&place);
            // The rest is the random name of the folder.
            let error = error.to_string();
            let error = error.split(" at path ").next().unwrap_or_default();
            Failure::Io(format!("cannot create a temporary folder in {place}: {error}; choose another place with --spill DIR"))
        })?;
        interrupt::remove_at_exit(folder.path());
        Ok(folder)
    }

    fn shards(&self, folder: &Path) -> Result<(Vec<Shard>, Format), Failure> {
        let arguments = self.arguments;
        let (inputs, format) = match arguments.jsonl.is_empty() {
            true => (&arguments.parquet, Format::Parquet),
            false => (&arguments.jsonl, Format::Jsonl),
        };
        let shards = match arguments.reads_input() {
            true => vec![copy_input(folder)?],
            false => shards::list(inputs, format)?,
        };
        let outputs = [&arguments.out, &arguments.removed, &arguments.clusters, &arguments.report];
        for output in outputs.into_iter().flatten() {
            shards::check_not_replaced(&shards, output)?;
        }
        let written = arguments.out.is_some() || arguments.removed.is_some();
        match shards.iter().find(|shard| written && !shard.compression.can_be_written()) {
            Some(shard) => Err(Failure::Usage(format!(
                "this build of ringer cannot write {}: build it with `--features parquet`",
                show::path(&shard.output)
            ))),
            None => Ok((shards, format)),
        }
    }

    /// The database of earlier runs, and whether it may hold rows of an interrupted run that is now repeated.
    fn stored(&self) -> Result<Option<(Database, bool)>, Failure> {
        let Some(path) = self.db else { return Ok(None) };
        if !path.exists() {
            open::folder_of(path)?;
            // Later rows are compared with the stored sets themselves, unless estimates are good enough.
            let elements = if self.estimate { Elements::None } else { Elements::EXACT };
            let scheme = with_elements(&self.scheme()?, elements)?;
            let db = Database::create(path, &scheme, self.style.options())?;
            return Ok(Some((db, false)));
        }
        let closed = Database::open_read_only(path, self.style.options())?.is_clean();
        let repeated = !closed || self.arguments.replaces_output();
        let db = open::to_write(path, self.style)?;
        let (scheme, name) = (db.scheme(), show::path(path));
        open::check_sketches(scheme)?;
        let other = |what: &str, option: &str| {
            let message = format!("{name} {what}: leave out {option}, or choose another database");
            Err(Failure::Usage(message))
        };
        if scheme.measure != Measure::Jaccard {
            return Err(Failure::Usage(format!(
                "{name} has the measure `{}`, but rows are compared by resemblance: choose another database",
                scheme.measure
            )));
        }
        if self.features.is_some_and(|features| features != scheme.features) {
            return other(&format!("has the features {}", scheme.features), "--features");
        }
        if self.seed.is_some_and(|seed| seed != scheme.seed) {
            return other(&format!("has the seed {}", scheme.seed), "--seed");
        }
        if self.arguments.preset.is_some() {
            return other("has a scheme of its own", "--preset");
        }
        if !(scheme.elements.are_exact() || self.estimate || self.style.quiet) {
            exit::say(&format!(
                "note: {name} keeps no sets, so resemblance to its rows is estimated; a database that `ringer dedup` creates \
                 without --estimate keeps them"
            ));
        }
        Ok(Some((db, repeated)))
    }

    fn scheme(&self) -> Result<Scheme, Failure> {
        let named = |name: &String| presets::ALL.iter().find(|(other, _)| other == name);
        let preset = self.arguments.preset.as_ref().and_then(named);
        let preset = preset.map_or(presets::DEFAULT, |(_, preset)| *preset);
        let features = self.features.unwrap_or(Features::TEXT);
        let mut parameters = preset.with_features(features).with_random_seed();
        parameters.seed = self.seed.unwrap_or(parameters.seed);
        Scheme::new(parameters).map_err(exit::bad_argument)
    }

    /// Reads all rows and decides which are removed.
    fn decide(
        &self,
        folder: &Path,
        shards: &[Shard],
        format: Format,
        stored: Option<&(Database, bool)>,
        problems: &mut Problems,
    ) -> Result<Decided, Failure> {
        // The sets of all rows are in the spill file, so the working database needs none.
        let scheme = match stored {
            Some((db, _)) if db.scheme().elements.are_exact() => {
                with_elements(db.scheme(), Elements::None)?
            }
            Some((db, _)) => db.scheme().clone(),
            None => self.scheme()?,
        };
        let working = Database::create(folder.join("rows.ringer"), &scheme, self.style.options())?;
        let fields = self.fields();
        let sketcher = working.sketcher();
        let mut reading = Reading {
            format,
            fields: &fields,
            sketcher,
            limits: self.walk.limits(),
            earlier: None,
        };
        let earlier = match stored {
            Some((db, repeated)) => Some(self.earlier(db, *repeated, shards, &reading)?),
            None => None,
        };
        reading.earlier = earlier.as_ref();
        let bar = self.bar("reading rows", shards);
        let collecting = Collecting {
            keep: self.arguments.keep.of_rows()?,
            keep_by: self.arguments.keep_by.as_deref(),
            working: &working,
            spill: SpillWriter::new(&self.arguments.spill_place(self.db))?,
            problems,
            bar: &bar,
        };
        let collected = collecting.run(shards, &reading);
        bar.finish_and_clear();
        let (Collected { starts, unjudged, known, .. }, spill) = collected?;
        let spill = spill.finish()?;
        let rows = spill.rows();
        if rows > 0 && unjudged == rows {
            let none = match rows {
                1 => "the only row could not".into(),
                more => format!("none of the {more} rows could"),
            };
            return Err(Failure::Io(format!(
                "{none} be compared, so nothing was written: check --text-field"
            )));
        }
        let mut decisions = self.group(&working, &spill, known)?;
        decisions.stored_exactly = stored.is_some_and(|(db, _)| db.scheme().elements.are_exact());
        Ok(Decided { collected_starts: starts, unjudged, spill, decisions, scheme })
    }

    /// The stored rows of earlier runs. If this run repeats an interrupted one, the rows of this input are excluded.
    fn earlier(
        &self,
        db: &Database,
        repeated: bool,
        shards: &[Shard],
        reading: &Reading<'_>,
    ) -> Result<Earlier, Failure> {
        let mut earlier = Earlier::new(db, self.min);
        if repeated {
            let bar = self.bar("looking for stored rows", shards);
            for shard in shards {
                reading.shard(shard, &bar, &mut |judged| match judged {
                    Judged::Row(row) => Ok(earlier.own(&row.key, &row.signature)?),
                    Judged::Unjudged(_) => Ok(()),
                })?;
            }
            bar.finish_and_clear();
        }
        Ok(earlier)
    }

    /// A progress bar for one pass over the input. The total is unknown if a file is compressed.
    fn bar(&self, what: &'static str, shards: &[Shard]) -> ProgressBar {
        let compressed = shards.iter().any(|shard| shard.compression != Compression::None);
        let bytes = (!compressed).then(|| shards.iter().map(Shard::bytes).sum());
        progress::bar(self.style, what, Unit::Bytes, bytes)
    }

    fn group(
        &self,
        working: &Database,
        spill: &Spill,
        known: Vec<(u64, stored::Known)>,
    ) -> Result<Decisions, Failure> {
        let snapshot = working.snapshot();
        let linkage = self.arguments.linkage.linkage();
        let exhaustive = spill.rows() <= MOST_COMPARED;
        let (min, estimate, memory) = (self.min, self.estimate, self.arguments.memory);
        let grouping = Grouping {
            snapshot: &snapshot,
            spill,
            min,
            linkage,
            estimate,
            exhaustive,
            memory,
            style: self.style,
        };
        let (decisions, report) = grouping.run(known)?;
        let conditions = Conditions { min_matches: None, exhaustive, reach: Reach::default() };
        grouping::ended(&report, working.scheme(), min, conditions, self.style)?;
        if decisions.far > 0 {
            let rows = show::count(decisions.far, "removed row");
            let resemble = if decisions.far == 1 { "resembles" } else { "resemble" };
            exit::say(&format!(
                "warning: {rows} {resemble} the kept row by less than {min}, because groups are connected through chains of \
                 similar rows; use --linkage strict to keep such rows"
            ));
        }
        Ok(decisions)
    }

    /// Writes all output under temporary names, and renames it when everything is complete.
    fn write(&self, shards: &[Shard], format: Format, decided: &Decided) -> Result<(), Failure> {
        let Decided { collected_starts: starts, spill, decisions, .. } = decided;
        let arguments = self.arguments;
        let staged = |path: &Option<PathBuf>| path.as_deref().map(Staged::folder).transpose();
        let (out, removed) = (staged(&arguments.out)?, staged(&arguments.removed)?);
        let list = match &arguments.clusters {
            Some(path) => Some(list::write(path, decisions, spill, shards, starts)?),
            None => None,
        };
        let page = match &arguments.report {
            Some(path) => Some(self.report(path, shards, format, decided)?),
            None => None,
        };
        let targets = [
            match &out {
                Some(staged) => Target::Folder(staged),
                None if arguments.writes_output() => Target::Output,
                None => Target::Nowhere,
            },
            removed.as_ref().map_or(Target::Nowhere, Target::Folder),
        ];
        let bar = self.bar("writing rows", shards);
        for (shard, rows) in shards.iter().zip(starts.windows(2)) {
            write::shard(shard, format, rows[0]..rows[1], decisions, &targets, &bar)?;
        }
        bar.finish_and_clear();
        [removed, list, page, out].into_iter().flatten().try_for_each(Staged::publish)
    }
}

impl Job<'_> {
    fn report(
        &self,
        path: &Path,
        shards: &[Shard],
        format: Format,
        decided: &Decided,
    ) -> Result<Staged, Failure> {
        let texts = Texts {
            shards,
            starts: &decided.collected_starts,
            format,
            fields: &self.fields(),
            features: decided.scheme.features,
        };
        let exhaustive = decided.spill.rows() <= MOST_COMPARED;
        let (decisions, spill) = (&decided.decisions, &decided.spill);
        let reported = Reported { min: self.min, estimate: self.estimate, exhaustive };
        reported.write(path, &decided.scheme, (decisions, spill, decided.unjudged), &texts)
    }

    fn fields(&self) -> Fields {
        Fields {
            key: self.arguments.key_field.clone(),
            text: self.arguments.text_field.clone(),
            order: self.arguments.keep_by.clone(),
            value: None,
        }
    }
}

/// The scheme with other elements, and otherwise the same.
fn with_elements(scheme: &Scheme, elements: Elements) -> Result<Scheme, Failure> {
    Scheme::new(Parameters::with_elements(**scheme, elements)).map_err(exit::bad_argument)
}

/// Copies standard input to a file, because it is read twice.
fn copy_input(folder: &Path) -> Result<Shard, Failure> {
    let path = folder.join("input.jsonl");
    let copied = File::create_new(&path).and_then(|mut file| {
        let mut input = compression::decompressed(io::stdin())?;
        let mut buffer = vec![0; 1 << 20];
        while !interrupt::requested() {
            match io::Read::read(&mut input, &mut buffer) {
                Ok(0) => return Ok(()),
                Ok(read) => io::Write::write_all(&mut file, &buffer[..read])?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::Interrupted.into())
    });
    match copied {
        Ok(()) => Shard::of_standard_input(path),
        Err(_) if interrupt::requested() => Err(Failure::Interrupted),
        Err(error) => Err(Failure::Io(format!("cannot copy standard input: {error}"))),
    }
}
