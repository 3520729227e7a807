//! The interface to the samplers: from sets to signatures.
//!
//! In: slices, streams, or many sets at once. Out: [`Signature`] and [`Signatures`]. Repeated elements count once;
//! where elements have weights, the weights of repeats are added. The empty set has its own signature, which equals
//! no other.

use std::cell::Cell;
use std::sync::Arc;

use rayon::prelude::*;

use super::distinct::Distinct;
use super::elements::{self, Keeping};
use super::every_bin::{EveryBin, Visits};
use super::hash::{Keys, Purpose};
use super::hash_bitmap::HashBitmap;
use super::independent::Independent;
use super::lazy::{Claims, Lazy};
use super::one_permutation::OnePermutation;
use super::shared_donors::SharedDonors;
use super::sign_projection::SignProjection;
use super::signature::{Samples, Signature, Signatures};
use super::slot_values::SlotReader;
use super::stream::Stream;
use super::weighted::Weighted;
use super::weights;
use crate::error::{Error, Result};
use crate::scheme::{Measure, Packing, Sampler, Scheme, Universe};
use crate::sync::can_spread;

/// Up to this many weighted elements, the memory is kept for the next set: a megabyte.
const MAX_KEPT_WEIGHTS: usize = 1 << 16;

/// Sets that a thread sketches per task.
const SETS_PER_TASK: usize = 256;

thread_local! {
    /// Working memory of a thread that sketches set by set. Allocating it each time would take longer than sketching
    /// a small set.
    static KEPT: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

/// Turns sets into signatures of one scheme. Creating one prepares tables, which takes a few hundred microseconds at
/// 128 samples. Keep it, and share it between threads.
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
    keeping: Option<Keeping>,
    /// The hash key for elements of the open universe.
    pub(super) element_key: u64,
}

enum Tables {
    OnePermutation(Box<OnePermutation>),
    Independent(Independent),
    Lazy(Lazy),
    Weighted(Weighted),
    SignProjection(SignProjection),
    EveryBin(Box<EveryBin>),
}

/// Working memory of one thread, for sketchers of all schemes.
#[derive(Default)]
pub(super) struct Scratch {
    /// All samples that are drawn. The ones that are kept come first.
    samples: Vec<u64>,
    pub(super) distinct: Distinct,
    pub(super) bitmap: HashBitmap,
    claims: Claims,
    visits: Visits,
    pub(super) weighted: Vec<(u64, f64)>,
}

impl Scratch {
    /// Whether it is small enough to be kept for the next set. The samplers' own memory does not grow with the sets.
    fn is_small(&self) -> bool {
        self.distinct.is_small() && self.weighted.capacity() <= MAX_KEPT_WEIGHTS
    }
}

/// A set as the caller gives it.
#[derive(Clone, Copy)]
enum Set<'a> {
    Features(&'a [u64]),
    Weighted(&'a [(u64, f64)]),
}

/// What a signature holds beside the samples.
pub(super) struct Sampled {
    pub(super) code: u32,
    pub(super) empty: bool,
    /// The kept elements, if the scheme keeps sets.
    pub(super) elements: Option<Arc<[u64]>>,
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
            Sampler::Lazy => Tables::Lazy(Lazy::new(scheme)),
            Sampler::Weighted => Tables::Weighted(Weighted::new(scheme)),
            Sampler::SignProjection => Tables::SignProjection(SignProjection::new(scheme)),
            Sampler::EveryBin => Tables::EveryBin(Box::new(EveryBin::new(scheme))),
        };
        Sketcher {
            scheme: Arc::new(scheme.clone()),
            sampler,
            slots: SlotReader::new(scheme),
            keeping: Keeping::of(scheme),
            element_key: Keys::new(scheme.seed, Purpose::Elements).key(0),
        }
    }

    /// The scheme of its signatures.
    pub fn scheme(&self) -> &Scheme {
        &self.scheme
    }

    /// Reads the slot values of its signatures.
    pub fn slot_reader(&self) -> &SlotReader {
        &self.slots
    }

    /// How often samples of one slot come from the same bin. `None` if the sampler is not
    /// [`OnePermutation`](Sampler::OnePermutation), if slots have one sample each, or if there are too many samples.
    /// Computed on first use, which takes a fifth of a millisecond at 64 samples.
    pub fn shared_donors(&self) -> Option<Arc<SharedDonors>> {
        match &self.sampler {
            Tables::OnePermutation(sampler) => sampler.shared_donors(),
            Tables::Independent(_)
            | Tables::Lazy(_)
            | Tables::Weighted(_)
            | Tables::SignProjection(_)
            | Tables::EveryBin(_) => None,
        }
    }

    /// The shared scheme.
    pub(crate) fn shared_scheme(&self) -> &Arc<Scheme> {
        &self.scheme
    }

    /// The signature of a set. Order and repeats do not matter. An element outside a bounded universe is an error,
    /// and so is a set too large for the cardinality field.
    ///
    /// If the scheme keeps set sizes, distinct elements are counted. That is cheap for a strictly ascending slice;
    /// for any other it takes about as long as the sketch itself.
    ///
    /// If the scheme measures weighted resemblance or the cosine, the weight of an element is the number of its
    /// occurrences.
    pub fn sketch(&self, elements: &[u64]) -> Result<Signature> {
        self.sketch_one(Set::Features(elements))
    }

    /// The signature of a set whose elements have weights. Only for schemes that measure weighted resemblance or the
    /// cosine; others would lose the weights and return an error. The order does not matter. The weights of repeated
    /// elements are added. Weights must be finite. For weighted resemblance they must be above 0. Coordinates of a
    /// vector may have any sign, and 0 means that the element is absent.
    ///
    /// ```
    /// use ringer::{Scheme, Sketcher, presets};
    /// let sketcher = Sketcher::new(&Scheme::new(presets::WEIGHTED)?);
    /// let a = sketcher.sketch_weighted(&[(1, 2.5), (2, 0.5)])?;
    /// let b = sketcher.sketch_weighted(&[(2, 0.5), (1, 2.0), (1, 0.5)])?;
    /// assert_eq!(a, b);
    /// assert!(sketcher.sketch_weighted(&[(1, -1.0)]).is_err());
    /// # Ok::<(), ringer::Error>(())
    /// ```
    pub fn sketch_weighted(&self, set: &[(u64, f64)]) -> Result<Signature> {
        self.sketch_one(Set::Weighted(set))
    }

    fn sketch_one(&self, set: Set<'_>) -> Result<Signature> {
        let mut scratch = KEPT.take().unwrap_or_default();
        scratch.samples.resize(self.scheme.drawn_samples() as usize, u64::MAX);
        let signature = self.sample(set, &mut scratch).map(|sampled| {
            let Sampled { code, empty, elements } = sampled;
            Signature::new(Arc::clone(&self.scheme), self.kept(&scratch), code, empty, elements)
        });
        if scratch.is_small() {
            KEPT.set(Some(scratch));
        }
        signature
    }

    /// The number of distinct elements.
    pub(crate) fn count_distinct(&self, elements: &[u64]) -> u64 {
        self.scratch().distinct.count_of(elements)
    }

    /// Signatures of many sets, in order. Uses all threads of the current rayon pool, or only this one if the system
    /// has no more threads. If a set cannot be sketched, the whole call fails, and the error names the set.
    pub fn sketch_all<S: AsRef<[u64]> + Sync>(&self, sets: &[S]) -> Result<Signatures> {
        self.sketch_many(sets, |set| Set::Features(set.as_ref()))
    }

    /// Signatures of many [weighted](Sketcher::sketch_weighted) sets.
    pub fn sketch_all_weighted<S: AsRef<[(u64, f64)]> + Sync>(
        &self,
        sets: &[S],
    ) -> Result<Signatures> {
        self.sketch_many(sets, |set| Set::Weighted(set.as_ref()))
    }

    fn sketch_many<S: Sync>(
        &self,
        sets: &[S],
        read: impl Fn(&S) -> Set<'_> + Sync,
    ) -> Result<Signatures> {
        let sketch_part = |(task, part): (usize, &[S])| {
            let mut scratch = self.scratch();
            let mut signatures = Signatures::with_room(Arc::clone(&self.scheme), part.len());
            for (i, set) in part.iter().enumerate() {
                let sampled = self.sample(read(set), &mut scratch);
                let Sampled { code, empty, elements } = sampled.map_err(|error| match error {
                    Error::InvalidArgument { what, limit } => {
                        Error::invalid(format!("set {}: {what}", task * SETS_PER_TASK + i), limit)
                    }
                    other => other,
                })?;
                signatures.push_samples(self.kept(&scratch), code, empty, elements);
            }
            Ok(signatures)
        };
        let parts: Vec<Result<Signatures>> = if can_spread() {
            sets.par_chunks(SETS_PER_TASK).enumerate().map(sketch_part).collect()
        } else {
            sets.chunks(SETS_PER_TASK).enumerate().map(sketch_part).collect()
        };
        let mut all = Signatures::with_room(Arc::clone(&self.scheme), sets.len());
        for part in parts {
            all.append(part?);
        }
        Ok(all)
    }

    /// Sketches a set that arrives element by element.
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
        Stream::new(self)
    }

    /// The samples of a set at full width, and the number of samples that no element claimed.
    #[cfg(any(test, feature = "internals"))]
    #[doc(hidden)]
    pub fn drawn(&self, elements: &[u64]) -> Result<(Vec<u64>, usize)> {
        let mut scratch = self.scratch();
        self.sample(Set::Features(elements), &mut scratch)?;
        let unclaimed = match &self.sampler {
            Tables::Lazy(sampler) => sampler.unclaimed(&scratch.claims),
            _ => 0,
        };
        let samples = match self.kept(&scratch) {
            Samples::Short(samples) => samples.iter().map(|sample| u64::from(*sample)).collect(),
            Samples::Wide(_) => scratch.samples,
        };
        Ok((samples, unclaimed))
    }

    pub(super) fn scratch(&self) -> Scratch {
        let samples = vec![u64::MAX; self.scheme.drawn_samples() as usize];
        Scratch { samples, ..Scratch::default() }
    }

    pub(super) fn start(&self, scratch: &mut Scratch) {
        match &self.sampler {
            Tables::EveryBin(sampler) => sampler.start(&mut scratch.visits),
            Tables::Lazy(sampler) => sampler.start(&mut scratch.claims),
            Tables::OnePermutation(_)
            | Tables::Independent(_)
            | Tables::Weighted(_)
            | Tables::SignProjection(_) => scratch.samples.fill(u64::MAX),
        }
    }

    /// Refuses sets and documents if the signatures of the scheme are made by another program.
    pub(super) fn check_sketches(&self) -> Result<()> {
        if self.scheme.is_foreign() { Err(Error::ForeignScheme) } else { Ok(()) }
    }

    /// Whether elements have weights.
    pub(super) fn weighs(&self) -> bool {
        self.scheme.measure != Measure::Jaccard
    }

    /// The samples from which a signature is made.
    pub(super) fn kept<'a>(&self, scratch: &'a Scratch) -> Samples<'a> {
        match &self.sampler {
            Tables::EveryBin(_) => Samples::Short(scratch.visits.samples()),
            Tables::OnePermutation(_)
            | Tables::Independent(_)
            | Tables::Lazy(_)
            | Tables::Weighted(_)
            | Tables::SignProjection(_) => {
                Samples::Wide(&scratch.samples[..self.scheme.samples as usize])
            }
        }
    }

    /// Puts the samples of a set into the scratch.
    fn sample(&self, set: Set<'_>, scratch: &mut Scratch) -> Result<Sampled> {
        self.check_sketches()?;
        let elements = match set {
            Set::Features(elements) if !self.weighs() => elements,
            Set::Features(elements) => {
                scratch.weighted.clear();
                scratch.weighted.extend(elements.iter().map(|x| (*x, 1.0)));
                return self.sample_weighted(scratch);
            }
            Set::Weighted(set) => {
                self.check_weighs()?;
                scratch.weighted.clear();
                scratch.weighted.extend_from_slice(set);
                return self.sample_weighted(scratch);
            }
        };
        self.check_universe(elements)?;
        let distinct = self.keeping.map(|_| elements::distinct(elements)).transpose()?;
        let elements = distinct.as_deref().unwrap_or(elements);
        let (code, mapped) = self.size_code(elements, scratch)?;
        if !elements.is_empty() {
            self.sample_whole(elements, mapped, scratch);
        }
        Ok(Sampled { code, empty: elements.is_empty(), elements: self.keep(distinct) })
    }

    /// Makes the samples of a whole set that is not empty. `mapped` means that the scratch has the bitmap of its
    /// hashes.
    pub(super) fn sample_whole(&self, elements: &[u64], mapped: bool, scratch: &mut Scratch) {
        if let Tables::EveryBin(sampler) = &self.sampler {
            let bitmap = mapped.then_some(&scratch.bitmap);
            return sampler.sample(elements, bitmap, &mut scratch.visits);
        }
        self.start(scratch);
        self.absorb(elements, scratch);
        self.finish(elements, scratch);
    }

    /// Makes the samples of the weighted set in the scratch.
    pub(super) fn sample_weighted(&self, scratch: &mut Scratch) -> Result<Sampled> {
        let Scratch { weighted, samples, .. } = scratch;
        weights::settle(weighted, self.scheme.measure)?;
        let empty = weighted.is_empty();
        if !empty {
            match &self.sampler {
                Tables::Weighted(sampler) => sampler.sample(weighted, samples),
                Tables::SignProjection(sampler) => sampler.sample(weighted, samples),
                // Schemes of these samplers measure the resemblance of sets without weights (SCHEME-13).
                Tables::OnePermutation(_)
                | Tables::Independent(_)
                | Tables::Lazy(_)
                | Tables::EveryBin(_) => {}
            }
            self.pack_pairs(samples);
        }
        Ok(Sampled { code: 0, empty, elements: None })
    }

    /// Whether signatures include their sets.
    pub(super) fn keeps_sets(&self) -> bool {
        self.keeping.is_some()
    }

    /// What is kept of distinct, ascending elements.
    pub(super) fn keep(&self, distinct: Option<Vec<u64>>) -> Option<Arc<[u64]>> {
        Some(self.keeping?.keep(distinct?).into())
    }

    /// Adds elements.
    pub(super) fn absorb(&self, elements: &[u64], scratch: &mut Scratch) {
        match &self.sampler {
            Tables::OnePermutation(sampler) => sampler.absorb(elements, &mut scratch.samples),
            Tables::Independent(sampler) => sampler.absorb(elements, &mut scratch.samples),
            Tables::Lazy(sampler) => sampler.absorb(elements, &mut scratch.claims),
            Tables::EveryBin(sampler) => sampler.absorb(elements, &mut scratch.visits),
            Tables::Weighted(_) | Tables::SignProjection(_) => {}
        }
    }

    /// Whether the elements that were added are no longer needed.
    pub(super) fn may_forget(&self, scratch: &Scratch) -> bool {
        match &self.sampler {
            Tables::Lazy(sampler) => sampler.complete(&scratch.claims),
            Tables::OnePermutation(_)
            | Tables::Independent(_)
            | Tables::Weighted(_)
            | Tables::SignProjection(_)
            | Tables::EveryBin(_) => true,
        }
    }

    /// Completes the samples. `elements` are all that were added, unless they are no longer needed.
    pub(super) fn finish(&self, elements: &[u64], scratch: &mut Scratch) {
        let Scratch { samples, claims, visits, .. } = scratch;
        match &self.sampler {
            Tables::OnePermutation(sampler) => sampler.finish(samples),
            Tables::EveryBin(sampler) => sampler.finish(visits),
            Tables::Lazy(sampler) => sampler.finish(elements, claims, samples),
            // Their samples are complete when all elements are added.
            Tables::Independent(_) | Tables::Weighted(_) | Tables::SignProjection(_) => {}
        }
        self.pack_pairs(samples);
    }

    /// Replaces pairs of samples by their XOR, where the scheme keeps that (SIG-1).
    fn pack_pairs(&self, samples: &mut [u64]) {
        if self.scheme.packing == Packing::XorPairs {
            for j in 0..samples.len() / 2 {
                samples[j] = samples[2 * j] ^ samples[2 * j + 1];
            }
        }
    }

    /// Rejects weights if the scheme does not use them.
    pub(super) fn check_weighs(&self) -> Result<()> {
        if self.weighs() {
            return Ok(());
        }
        Err(Error::invalid(
            "weights",
            format!("a scheme of the measure `{}` has no use for them", self.scheme.measure),
        ))
    }

    /// Rejects elements outside a bounded universe (SAMPLE-1).
    pub(super) fn check_universe(&self, elements: &[u64]) -> Result<()> {
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
