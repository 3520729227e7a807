//! The race: all contenders answer the same queries in turns. If the machine slows down for a while, it affects them
//! all.

use crate::measure::{Contender, Queries};
use crate::table::Row;
use testkit::workload::{Workload, resemblance};

/// The number of timed rounds of each contender.
const ROUNDS: usize = 20;

/// A contender with its figures.
struct Lane<C> {
    contender: C,
    row: Row,
    queries: Queries,
}

trait AnyLane {
    fn warm(&mut self, w2: &Workload);
    fn round(&mut self, w2: &Workload);
    fn finish(&mut self) -> (Row, String);
}

impl<C: Contender> AnyLane for Lane<C> {
    fn warm(&mut self, w2: &Workload) {
        self.queries.warm(w2, &self.contender);
    }

    fn round(&mut self, w2: &Workload) {
        self.queries.round(w2, &self.contender);
    }

    fn finish(&mut self) -> (Row, String) {
        self.row.set_queries(&self.queries);
        let each = (0..).zip(self.queries.recall().1);
        let each = each.map(|(member, recall)| format!("{:.3}: {recall:.4}", resemblance(member)));
        let name = &self.row.name;
        let recalls = format!("recall of {name}, {}", each.collect::<Vec<_>>().join(", "));
        (self.row.clone(), recalls)
    }
}

/// Contenders that have not started.
#[derive(Default)]
pub(crate) struct Race {
    lanes: Vec<Box<dyn AnyLane>>,
}

impl Race {
    /// Adds a filled index, with the figures of its build.
    pub(crate) fn enter<C: Contender + 'static>(&mut self, (contender, row): (C, Row)) {
        self.lanes.push(Box::new(Lane { contender, row, queries: Queries::default() }));
    }

    /// Runs all queries on all contenders. Returns the rows, and for each a line with the recall at every
    /// resemblance.
    pub(crate) fn run(mut self, w2: &Workload) -> Vec<(Row, String)> {
        self.lanes.iter_mut().for_each(|lane| lane.warm(w2));
        for _ in 0..ROUNDS {
            self.lanes.iter_mut().for_each(|lane| lane.round(w2));
        }
        self.lanes.iter_mut().map(|lane| lane.finish()).collect()
    }
}
