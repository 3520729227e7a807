//! The front of the samplers: sets in, signatures out.
//!
//! In: slices, streams, or many sets at once. Out: [`Signature`] and [`Signatures`]. Repeated elements
//! count once, everywhere. The empty set has a signature of its own, equal to no other.

use std::cell::Cell;
use std::sync::Arc;

use rayon::prelude::*;

use super::distinct::Distinct;
use super::independent::Independent;
use super::one_permutation::OnePermutation;
use super::signature::{Signature, Signatures};
use super::slot_values::SlotReader;
use crate::error::{Error, Result};
use crate::scheme::{CardinalityField, Sampler, Scheme, Universe};

/// Sets for one thread to sketch before it hands them over.
const SETS_PER_TASK: usize = 256;

/// Elements a stream gathers before the sampler takes them.
const STREAM_CHUNK: usize = 1024;

thread_local! {
    /// Working memory of a thread that sketches set by set: to make and free it each time would cost as much
    /// as a third of a sketch.
    static COUNTER: Cell<Option<Distinct>> = const { Cell::new(None) };
}

/// Turns sets into signatures of one scheme. Making one prepares tables (a few hundred microseconds
/// at 128 samples); keep it, and share it between threads.
///
/// ```
/// use ringer::{Scheme, Sketcher};
/// let sketcher = Sketcher::new(&Scheme::precise());
/// let a = sketcher.sketch(&[1, 2, 3, 4])?;
/// let b = sketcher.sketch(&[4, 3, 2, 1, 1, 1])?;
/// assert_eq!(a, b);
/// # Ok::<(), ringer::Error>(())
/// ```
pub struct Sketcher {
    scheme: Arc<Scheme>,
    sampler: Tables,
    slots: SlotReader,
}

enum Tables {
    OnePermutation(Box<OnePermutation>),
    Independent(Independent),
}

/// Working memory of one thread.
struct Scratch {
    samples: Vec<u64>,
    distinct: Distinct,
}

impl std::fmt::Debug for Sketcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sketcher").field("scheme", &self.scheme).finish_non_exhaustive()
    }
}

impl Sketcher {
    /// Prepares the tables of a scheme.
    pub fn new(scheme: &Scheme) -> Sketcher {
        let sampler = match scheme.sampler {
            Sampler::OnePermutation => {
                Tables::OnePermutation(Box::new(OnePermutation::new(scheme)))
            }
            Sampler::Independent => Tables::Independent(Independent::new(scheme)),
        };
        Sketcher { scheme: Arc::new(scheme.clone()), sampler, slots: SlotReader::new(scheme) }
    }

    /// The scheme of all signatures it makes.
    pub fn scheme(&self) -> &Scheme {
        &self.scheme
    }

    /// Reads the slot values of the signatures it makes.
    pub fn slot_reader(&self) -> &SlotReader {
        &self.slots
    }

    /// The shared scheme.
    pub(crate) fn shared_scheme(&self) -> &Arc<Scheme> {
        &self.scheme
    }

    /// The signature of a set. Order and repeats do not matter; an element outside a bounded universe
    /// is an error, and so is a set too large for the cardinality field.
    ///
    /// When the scheme keeps set sizes, distinct elements have to be counted. A strictly ascending
    /// slice needs only a glance for that; any other costs about as much again as the sketch itself.
    pub fn sketch(&self, elements: &[u64]) -> Result<Signature> {
        let mut scratch = self.scratch();
        scratch.distinct = COUNTER.take().unwrap_or_default();
        let code = self.sample(elements, &mut scratch)?;
        let (scheme, samples) = (Arc::clone(&self.scheme), &scratch.samples);
        let signature = Signature::new(scheme, samples, code, elements.is_empty());
        if scratch.distinct.is_small() {
            COUNTER.set(Some(scratch.distinct));
        }
        Ok(signature)
    }

    /// Signatures of many sets, in their order, on all threads of the current rayon pool. The first
    /// set that cannot be sketched makes the whole call fail, and the error says which it was.
    pub fn sketch_all<S: AsRef<[u64]> + Sync>(&self, sets: &[S]) -> Result<Signatures> {
        let parts: Vec<Result<Signatures>> = sets
            .par_chunks(SETS_PER_TASK)
            .enumerate()
            .map(|(task, part)| self.sketch_part(task * SETS_PER_TASK, part))
            .collect();
        let mut all = Signatures::with_room(Arc::clone(&self.scheme), sets.len());
        for part in parts {
            all.append(part?);
        }
        Ok(all)
    }

    fn sketch_part<S: AsRef<[u64]>>(&self, start: usize, sets: &[S]) -> Result<Signatures> {
        let mut scratch = self.scratch();
        let mut signatures = Signatures::with_room(Arc::clone(&self.scheme), sets.len());
        for (i, set) in sets.iter().enumerate() {
            let elements = set.as_ref();
            let code = self.sample(elements, &mut scratch).map_err(|error| match error {
                Error::InvalidArgument { what, limit } => {
                    Error::invalid(format!("set {}: {what}", start + i), limit)
                }
                other => other,
            })?;
            signatures.push_samples(&scratch.samples, code, elements.is_empty());
        }
        Ok(signatures)
    }

    /// Takes a set element by element.
    ///
    /// ```
    /// # use ringer::{Scheme, Sketcher};
    /// let sketcher = Sketcher::new(&Scheme::precise());
    /// let mut stream = sketcher.stream();
    /// (0..10_000).try_for_each(|x| stream.push(x * x))?;
    /// let squares = stream.finish()?;
    /// # assert_eq!(squares, sketcher.sketch(&(0..10_000).map(|x| x * x).collect::<Vec<_>>())?);
    /// # Ok::<(), ringer::Error>(())
    /// ```
    pub fn stream(&self) -> Stream<'_> {
        let mut scratch = self.scratch();
        self.start(&mut scratch);
        scratch.distinct.reset(0);
        Stream { sketcher: self, scratch, waiting: Vec::new(), any: false }
    }

    fn scratch(&self) -> Scratch {
        let samples = vec![u64::MAX; self.scheme.samples as usize];
        Scratch { samples, distinct: Distinct::default() }
    }

    fn start(&self, scratch: &mut Scratch) {
        scratch.samples.fill(u64::MAX);
    }

    /// Leaves the samples of a set in the scratch and returns the code of its size.
    fn sample(&self, elements: &[u64], scratch: &mut Scratch) -> Result<u32> {
        self.check_universe(elements)?;
        let count = match self.scheme.cardinality {
            CardinalityField::None => 0,
            _ => scratch.distinct.count_of(elements),
        };
        let code = self.scheme.cardinality.encode(count, self.scheme.universe)?;
        self.start(scratch);
        if !elements.is_empty() {
            self.absorb(elements, &mut scratch.samples);
            self.finish(&mut scratch.samples);
        }
        Ok(code)
    }

    fn absorb(&self, elements: &[u64], samples: &mut [u64]) {
        match &self.sampler {
            Tables::OnePermutation(sampler) => sampler.absorb(elements, samples),
            Tables::Independent(sampler) => sampler.absorb(elements, samples),
        }
    }

    fn finish(&self, samples: &mut [u64]) {
        if let Tables::OnePermutation(sampler) = &self.sampler {
            sampler.finish(samples);
        }
    }

    /// Elements of a bounded universe are below its size (SAMPLE-1).
    fn check_universe(&self, elements: &[u64]) -> Result<()> {
        let Universe::Bounded(size) = self.scheme.universe else { return Ok(()) };
        match elements.iter().max() {
            Some(&largest) if largest >= size => Err(Error::invalid(
                format!("element {largest}"),
                format!("elements of this universe are 0 to {}", size - 1),
            )),
            _ => Ok(()),
        }
    }
}

/// A set that arrives element by element ([`Sketcher::stream`]).
///
/// Memory: constant when the scheme keeps no set sizes. Otherwise the distinct elements have to be
/// remembered, 16 to 50 bytes each.
pub struct Stream<'a> {
    sketcher: &'a Sketcher,
    scratch: Scratch,
    waiting: Vec<u64>,
    any: bool,
}

impl Stream<'_> {
    /// Adds an element. After an error the stream is as if the element had not come.
    pub fn push(&mut self, element: u64) -> Result<()> {
        let scheme = &self.sketcher.scheme;
        self.sketcher.check_universe(&[element])?;
        self.any = true;
        let counts = scheme.cardinality != CardinalityField::None;
        if counts && !self.scratch.distinct.insert(element) {
            return Ok(());
        }
        self.waiting.push(element);
        // A bounded universe is sampled in one go, since dense sets are sampled by another way.
        if self.waiting.len() >= STREAM_CHUNK && scheme.universe == Universe::Open {
            self.sketcher.absorb(&self.waiting, &mut self.scratch.samples);
            self.waiting.clear();
        }
        Ok(())
    }

    /// The signature of what came since the start or the last `finish`; the stream starts anew.
    pub fn finish(&mut self) -> Result<Signature> {
        let scheme = &self.sketcher.scheme;
        let count = self.scratch.distinct.count();
        let code = scheme.cardinality.encode(count, scheme.universe);
        if self.any {
            self.sketcher.absorb(&self.waiting, &mut self.scratch.samples);
            self.sketcher.finish(&mut self.scratch.samples);
        }
        let signature = code
            .map(|code| Signature::new(Arc::clone(scheme), &self.scratch.samples, code, !self.any));
        self.sketcher.start(&mut self.scratch);
        self.scratch.distinct.reset(0);
        self.waiting.clear();
        self.any = false;
        signature
    }
}
