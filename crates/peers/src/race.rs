//! The race: all contenders answer the same queries in turns, so that a machine that slows down for a while
//! slows them all.

use crate::measure::{Contender, Queries};
use crate::table::Row;
use testkit::workload::{Workload, resemblance};

/// Every contender is timed so often.
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

/// Contenders that wait for the start.
#[derive(Default)]
pub(crate) struct Race {
    lanes: Vec<Box<dyn AnyLane>>,
}

impl Race {
    /// Adds a filled index with the figures of filling it.
    pub(crate) fn enter<C: Contender + 'static>(&mut self, (contender, row): (C, Row)) {
        self.lanes.push(Box::new(Lane { contender, row, queries: Queries::default() }));
    }

    /// Asks everybody everything. Out: the rows, and a line for each with the recall at every
    /// resemblance.
    pub(crate) fn run(mut self, w2: &Workload) -> Vec<(Row, String)> {
        self.lanes.iter_mut().for_each(|lane| lane.warm(w2));
        for _ in 0..ROUNDS {
            self.lanes.iter_mut().for_each(|lane| lane.round(w2));
        }
        self.lanes.iter_mut().map(|lane| lane.finish()).collect()
    }
}
