//! gaoya's index in memory: 42 bands of 3 samples, which is what its own planner chooses for a resemblance
//! of .5 and 128 samples.

use ::gaoya::minhash::{MinHashIndex, SmallVecContainer, calculate_minhash_params};

use crate::measure::{Contender, Watch, queries_of, resident_bytes};
use crate::minwise::{Minwise, SAMPLES, Signature};
use crate::table::Row;
use testkit::workload::Workload;

/// The least resemblance that it is planned for.
const THRESHOLD: f64 = 0.5;

/// A little more than the bytes of memory per set.
pub(crate) const BYTES: u64 = 4000;

/// Sets that are sketched before they are inserted. Sketching is not timed.
const BLOCK: usize = 4096;

/// The filled index.
pub(crate) struct Gaoya {
    index: MinHashIndex<u32, u32, SmallVecContainer<u32, 2>>,
    queries: Vec<Vec<u32>>,
}

impl Gaoya {
    /// Fills the index, set by set.
    pub(crate) fn build(w2: &Workload) -> (Gaoya, Row) {
        let (bands, rows) = calculate_minhash_params(THRESHOLD, SAMPLES);
        let minwise = Minwise::new();
        let signature = |signature: Signature| signature[..bands * rows].to_vec();
        let queries = (0..queries_of(w2)).map(|c| signature(minwise.sketch(&w2.query(c))));
        let queries = queries.collect();

        let mut block = Vec::with_capacity(BLOCK);
        let mut watch = Watch::default();
        let before = resident_bytes();
        let mut index = MinHashIndex::new_index(bands, rows, THRESHOLD);
        for first in (0..w2.len()).step_by(BLOCK) {
            let numbers = first..(first + BLOCK as u64).min(w2.len());
            block.extend(numbers.map(|i| (i as u32, minwise.sketch(&w2.set(i)))));
            watch.time(|| {
                for (i, samples) in block.drain(..) {
                    index.insert(i, signature(samples));
                }
            });
        }
        let mut row = Row::new(format!("gaoya {bands}x{rows}, memory"));
        row.bytes = Some((resident_bytes() - before) as f64 / w2.len() as f64);
        row.set_build(watch.rates(w2.len()));
        (Gaoya { index, queries }, row)
    }
}

impl Contender for Gaoya {
    type Answer = Vec<(u32, f64)>;

    fn query(&self, query: u64) -> Vec<(u32, f64)> {
        self.index.query_top_k(&self.queries[query as usize], 10)
    }

    fn numbers(&self, answer: Vec<(u32, f64)>) -> Vec<u64> {
        answer.into_iter().map(|(number, _)| number.into()).collect()
    }
}
