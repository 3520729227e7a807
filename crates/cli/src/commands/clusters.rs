//! `ringer clusters`: prints groups of similar sets.

use std::path::PathBuf;

use ringer::Sketcher;
use ringer::groups::Linkage;

use crate::actions::Keep;
use crate::clustering::{self, Clustered, Clustering};
use crate::exit::{self, Failure};
use crate::grouping::{self, Conditions, LinkageName};
use crate::report::{self, About, Place, Report};
use crate::results::Written;
use crate::show::{Style, count};
use crate::sources::{self, Sources};
use crate::{interrupt, open};

/// Print clusters of similar sets.
///
/// By default, a cluster is a connected component: a chain of similar pairs leads from each member to each other member. A
/// cluster is printed with its smallest key first, followed by the other members and their resemblance to the first. Two sets
/// are similar if their estimated resemblance reaches --min. --possible and --certain apply --min to the ends of the interval
/// instead, and the --verify options compare the original sets exactly.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ringer clusters notes.ringer --min 0.8
  ringer clusters notes.ringer --min 0.8 --linkage strict --output clusters.csv
  ringer clusters notes.ringer --min 0.8 --verify-files --report groups.html")]
pub(crate) struct Clusters {
    /// The database file.
    #[arg(value_name = "DB")]
    path: PathBuf,
    /// The minimum resemblance of a pair, 0 to 1; for vectors the minimum cosine, -1 to 1.
    #[arg(long, visible_alias = "threshold", value_name = "R", allow_negative_numbers = true)]
    min: f64,
    /// How clusters are formed: connected follows chains of pairs, strict compares every member with the first one.
    #[arg(long, value_enum, value_name = "KIND", default_value = "connected")]
    linkage: LinkageName,
    /// The same as --linkage strict.
    #[arg(long, conflicts_with = "linkage")]
    strict_linkage: bool,
    /// Write a page about the groups to this HTML file: totals, charts, and differences of texts if a --verify option is given.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    report: Option<PathBuf>,
    #[command(flatten)]
    conditions: Conditions,
    #[command(flatten)]
    sources: Sources,
    #[command(flatten)]
    written: Written,
}

impl Clusters {
    pub(crate) fn run(&self, style: Style) -> Result<(), Failure> {
        interrupt::listen("the list is not complete; nothing was changed");
        let reader = open::to_read(&self.path, style)?;
        let linkage = if self.strict_linkage { Linkage::Strict } else { self.linkage.linkage() };
        let snapshot = reader.snapshot();
        open::check_min("--min", self.min, snapshot.scheme())?;
        let sketcher = Sketcher::new(snapshot.scheme());
        let sources = self.sources.open(snapshot.scheme())?;
        let originals = sources.as_ref().map(|sources| sources.originals(&sketcher));
        let columns = clustering::columns(snapshot.scheme().measure);
        let mut results = self.written.open(style, &columns)?;
        let about = About {
            command: "clusters",
            group: "group",
            thing: "set",
            min: Some(self.min),
            exhaustive: self.conditions.exhaustive,
            min_matches: self.conditions.min_matches,
            within_one_bit: false,
            no_texts: report::NO_TEXTS_STORED,
        };
        let page = self.report.as_deref();
        let mut page = page.map(|path| Report::new(path, snapshot.scheme(), about)).transpose()?;
        let Clustered { report, clusters, members, .. } = Clustering {
            snapshot: &snapshot,
            min: self.min,
            linkage,
            conditions: self.conditions,
            style,
            thing: "set",
            wanted: None,
            originals: originals.as_ref(),
            keep: self.sources.verify_files.then_some(Keep::FIRST),
        }
        .print(&mut results, page.as_mut(), None)?;
        if !report.cancelled {
            results.finish()?;
        }
        originals.iter().for_each(sources::report_lost);
        grouping::ended(&report, snapshot.scheme(), self.min, self.conditions, style)?;
        if let Some(page) = page {
            let totals =
                [("sets compared", report.sets), ("groups", clusters), ("sets in groups", members)];
            let texts = &mut |places: &[Place]| match &sources {
                Some(sources) => sources.texts(places, &sketcher),
                None => Ok(vec![None; places.len()]),
            };
            page.finish(&totals, texts)?.publish()?;
        }
        if !style.quiet {
            let clusters = count(clusters, "group");
            exit::say(&format!("found {clusters} with {members} of {}", count(report.sets, "set")));
        }
        Ok(())
    }
}
