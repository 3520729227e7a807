//! The groups of a dataset for `--report`, and the texts of some of their rows.
//!
//! In: the decisions, in the order of rows. Out: groups, each with its kept row first. Texts are read from the input once
//! more, for the few rows whose differences the page shows.

use std::collections::HashMap;
use std::path::Path;
use std::sync::mpsc::sync_channel;

use ringer::scheme::Features;
use ringer::{Error, Scheme};

use super::blocks::{self, Block, Rows};
use super::groups::{Decision, Decisions, Representative};
use super::json;
use super::row::Fields;
use super::shards::{Format, Shard, unreadable};
use super::spill::Spill;
use crate::exit::Failure;
use crate::interrupt;
use crate::report::{About, Mark, Place, Report, Similarity};
use crate::staged::Staged;

/// What a report says about the run.
pub(super) struct Reported {
    pub(super) min: f64,
    pub(super) estimate: bool,
    pub(super) exhaustive: bool,
}

/// Where the texts of rows are.
pub(super) struct Texts<'a> {
    pub(super) shards: &'a [Shard],
    pub(super) starts: &'a [u64],
    pub(super) format: Format,
    pub(super) fields: &'a Fields,
    pub(super) features: Features,
}

impl Reported {
    /// Writes the report under a temporary name.
    pub(super) fn write(
        &self,
        path: &Path,
        scheme: &Scheme,
        (decisions, spill, unjudged): (&Decisions, &Spill, u64),
        texts: &Texts<'_>,
    ) -> Result<Staged, Failure> {
        let about = About {
            command: "dedup",
            group: "group",
            thing: "row",
            min: Some(self.min),
            exhaustive: self.exhaustive,
            min_matches: None,
            within_one_bit: false,
            no_texts: "One of these rows has no text in this input.",
        };
        let mut report = Report::new(path, scheme, about)?;
        // Rows by group, the kept one first.
        let is_first = |one: &Decision| one.representative == Representative::Row(one.row);
        let mut order: Vec<&Decision> = decisions.rows.iter().collect();
        order.sort_unstable_by_key(|one| (one.group, !is_first(one), one.row));
        for group in order.chunk_by(|a, b| a.group == b.group) {
            let first = match group[0].representative {
                Representative::Row(row) => (place(spill, row)?, Mark::None),
                Representative::Stored(at) => {
                    (Place { key: decisions.stored[at].0.to_vec(), row: None }, Mark::Earlier)
                }
            };
            let exact = match first.1 {
                Mark::Earlier => decisions.stored_exactly,
                Mark::None | Mark::Identical => !self.estimate,
            };
            report.begin(first.0, first.1, None);
            for one in group.iter().filter(|one| !is_first(one)) {
                let interval = (!exact).then_some((one.low, one.high));
                let similarity = Similarity { value: one.resemblance, interval };
                report.member(place(spill, one.row)?, Mark::None, similarity);
            }
            report.end()?;
        }
        let removed = decisions.removed();
        let totals = [
            ("rows", spill.rows()),
            ("kept", spill.rows() - removed),
            ("removed", removed),
            ("groups", decisions.groups),
            ("not compared", unjudged),
        ];
        report.finish(&totals, |places| texts.of(places))
    }
}

fn place(spill: &Spill, row: u64) -> Result<Place, Error> {
    Ok(Place { key: spill.key(row)?.unwrap_or_default(), row: Some(row) })
}

impl Texts<'_> {
    /// The texts of rows.
    fn of(&self, places: &[Place]) -> Result<Vec<Option<Vec<u8>>>, Failure> {
        let mut found: HashMap<u64, Option<Vec<u8>>> =
            places.iter().filter_map(|place| Some((place.row?, None))).collect();
        for (shard, rows) in self.shards.iter().zip(self.starts.windows(2)) {
            if found.keys().any(|row| (rows[0]..rows[1]).contains(row)) {
                self.read(shard, rows[0], &mut found)?;
            }
        }
        let text = |place: &Place| found.get(&place.row?)?.clone();
        Ok(places.iter().map(text).collect())
    }

    /// Reads the wanted rows of a shard, whose first row has the number `first`.
    fn read(
        &self,
        shard: &Shard,
        first: u64,
        found: &mut HashMap<u64, Option<Vec<u8>>>,
    ) -> Result<(), Failure> {
        std::thread::scope(|scope| {
            let (sender, blocks) = sync_channel(blocks::WAITING);
            let read = move || match self.format {
                Format::Jsonl => blocks::send_lines(shard, &sender),
                #[cfg(feature = "parquet")]
                Format::Parquet => blocks::send_columns(shard, self.fields, self.features, &sender),
                #[cfg(not(feature = "parquet"))]
                Format::Parquet => Err(super::no_parquet()),
            };
            let thread = std::thread::Builder::new().name("reader".into());
            let thread = thread
                .spawn_scoped(scope, read)
                .map_err(|error| Failure::Io(format!("cannot start a thread: {error}")))?;
            let mut next = first;
            for block in blocks {
                next = self.take(&block, next, found);
            }
            let ended = thread.join();
            ended.unwrap_or_else(|_| Err(unreadable(&shard.name, &"it is damaged")))?;
            if interrupt::requested() { Err(Failure::Interrupted) } else { Ok(()) }
        })
    }

    /// Takes the wanted rows of a block, whose first row has the number `first`. Returns the number after its last one.
    fn take(&self, block: &Block, first: u64, found: &mut HashMap<u64, Option<Vec<u8>>>) -> u64 {
        match &block.rows {
            Rows::Lines(text, lines) => {
                for (row, line) in (first..).zip(lines) {
                    if let (Some(place), Some(content)) = (found.get_mut(&row), &line.content)
                        && let Ok(row) =
                            json::parse(&text[content.clone()], self.fields, self.features)
                    {
                        *place = row.content.text().map(<[u8]>::to_vec);
                    }
                }
                first + lines.len() as u64
            }
            #[cfg(feature = "parquet")]
            Rows::Columns(rows) => {
                for (row, columns) in (first..).zip(rows) {
                    if let Some(place) = found.get_mut(&row)
                        && let Ok(row) = columns.borrowed()
                    {
                        *place = row.content.text().map(<[u8]>::to_vec);
                    }
                }
                first + rows.len() as u64
            }
        }
    }
}
