//! The page of `ringer query --report`.

use ringer::{Answer, Scheme, Sketcher};
use serde_json::Value;

use super::Query;
use crate::exit::Failure;
use crate::report::{self, About, Mark, Place, Report, Similarity};
use crate::show;
use crate::sources::Opened;

/// The page of `--report`, if it is asked for: a query and its matches are a group.
pub(super) struct QueryPage {
    report: Option<Report>,
    queries: u64,
    matched: u64,
    matches: u64,
}

impl QueryPage {
    pub(super) fn new(query: &Query, scheme: &Scheme) -> Result<QueryPage, Failure> {
        let about = About {
            command: "query",
            group: "query",
            thing: "match",
            min: query.min,
            exhaustive: query.exhaustive,
            min_matches: query.min_matches,
            within_one_bit: query.within_one_bit,
            no_texts: report::NO_TEXTS_STORED,
        };
        let path = query.report.as_deref();
        let report = path.map(|path| Report::new(path, scheme, about)).transpose()?;
        Ok(QueryPage { report, queries: 0, matched: 0, matches: 0 })
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.report.is_some()
    }

    pub(super) fn add(
        &mut self,
        name: &Value,
        text: Option<&[u8]>,
        answer: &Answer,
    ) -> Result<(), Failure> {
        let Some(report) = &mut self.report else { return Ok(()) };
        self.queries += 1;
        self.matched += u64::from(!answer.matches.is_empty());
        self.matches += answer.matches.len() as u64;
        let key = show::key_of_json(name);
        report.begin(Place { key, row: None }, Mark::None, text);
        for found in &answer.matches {
            let place = Place { key: found.key.to_vec(), row: None };
            report.member(place, Mark::None, Similarity::of(&found.comparison));
        }
        report.end()
    }

    pub(super) fn finish(
        self,
        sources: Option<&Opened>,
        sketcher: &Sketcher,
    ) -> Result<(), Failure> {
        let Some(report) = self.report else { return Ok(()) };
        let totals = [
            ("queries", self.queries),
            ("queries with a match", self.matched),
            ("matches", self.matches),
        ];
        let texts = &mut |places: &[Place]| match sources {
            Some(sources) => sources.texts(places, sketcher),
            None => Ok(vec![None; places.len()]),
        };
        report.finish(&totals, texts)?.publish()
    }
}
