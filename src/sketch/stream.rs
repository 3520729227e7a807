//! Sketches of sets that arrive element by element.
//!
//! In: elements, one at a time. Out: the [`Signature`] of all of them. Elements go to the sampler in chunks. The
//! sampler decides which of them must be remembered.

use std::sync::Arc;

use super::elements;
use super::signature::Signature;
use super::sketcher::{Sampled, Scratch, Sketcher};
use super::weights;
use crate::error::Result;
use crate::scheme::{CardinalityField, Universe};

/// Elements that are collected before the sampler gets them.
const STREAM_CHUNK: usize = 1024;

/// A set that arrives element by element ([`Sketcher::stream`]).
///
/// Memory is constant if the scheme keeps no set sizes. Otherwise the distinct elements are remembered, at 16 to 50
/// bytes each, and 8 to 16 bytes more if the scheme keeps sets. The samplers of weighted sets remember all elements,
/// at 16 bytes each. The lazy sampler remembers them until every sample is claimed, after one or two thousand
/// elements. [`EveryBin`](crate::scheme::Sampler::EveryBin) remembers none.
pub struct Stream<'a> {
    sketcher: &'a Sketcher,
    scratch: Scratch,
    /// Elements that are still needed.
    waiting: Vec<u64>,
    /// How many of them the sampler has.
    taken: usize,
    /// Whether the sampler has any element.
    absorbed: bool,
    /// All distinct elements, if the scheme keeps sets.
    all: Vec<u64>,
    any: bool,
}

impl<'a> Stream<'a> {
    pub(super) fn new(sketcher: &'a Sketcher) -> Stream<'a> {
        let mut scratch = sketcher.scratch();
        sketcher.start(&mut scratch);
        scratch.distinct.reset(0);
        let (waiting, all) = (Vec::new(), Vec::new());
        Stream { sketcher, scratch, waiting, taken: 0, absorbed: false, all, any: false }
    }

    /// Adds an element. After an error the stream is as if the element had not been added.
    pub fn push(&mut self, element: u64) -> Result<()> {
        let Stream { sketcher, scratch, waiting, taken, all, any, .. } = self;
        sketcher.check_sketches()?;
        if sketcher.weighs() {
            scratch.weighted.push((element, 1.0));
            return Ok(());
        }
        sketcher.check_universe(&[element])?;
        let keeps = sketcher.keeps_sets();
        if keeps && !scratch.distinct.contains(element) {
            elements::check_count(all.len() + 1)?;
        }
        *any = true;
        let counts = keeps || sketcher.scheme().cardinality != CardinalityField::None;
        if counts && !scratch.distinct.insert(element) {
            return Ok(());
        }
        if keeps {
            all.push(element);
        }
        waiting.push(element);
        if waiting.len() - *taken >= STREAM_CHUNK {
            self.take_in();
        }
        Ok(())
    }

    /// Adds an element with a weight, for schemes that measure by weights. After an error the stream is as if the
    /// element had not been added.
    pub fn push_weighted(&mut self, element: u64, weight: f64) -> Result<()> {
        self.sketcher.check_weighs()?;
        weights::check(element, weight, self.sketcher.scheme().measure)?;
        self.scratch.weighted.push((element, weight));
        Ok(())
    }

    /// The signature of the elements since the start or the last `finish`. The stream starts anew.
    pub fn finish(&mut self) -> Result<Signature> {
        let sampled = self.sampled();
        let scheme = self.sketcher.shared_scheme();
        let signature = sampled.map(|Sampled { code, empty, elements }| {
            let samples = self.sketcher.kept(&self.scratch);
            Signature::new(Arc::clone(scheme), samples, code, empty, elements)
        });
        self.sketcher.start(&mut self.scratch);
        self.scratch.distinct.reset(0);
        self.scratch.weighted.clear();
        self.waiting.clear();
        self.taken = 0;
        self.absorbed = false;
        self.all.clear();
        self.any = false;
        signature
    }

    /// Passes the waiting elements to the sampler, and drops them if they are no longer needed. A bounded universe is
    /// sampled at the end, since dense sets have a faster way.
    fn take_in(&mut self) {
        if self.sketcher.scheme().universe == Universe::Open {
            self.sketcher.absorb(&self.waiting[self.taken..], &mut self.scratch);
            self.absorbed = true;
            if self.sketcher.may_forget(&self.scratch) {
                self.waiting.clear();
            } else {
                // Repeats are needed only once.
                self.waiting.sort_unstable();
                self.waiting.dedup();
            }
            self.taken = self.waiting.len();
        }
    }

    fn sampled(&mut self) -> Result<Sampled> {
        self.sketcher.check_sketches()?;
        if self.sketcher.weighs() {
            return self.sketcher.sample_weighted(&mut self.scratch);
        }
        let scheme = self.sketcher.shared_scheme();
        let code = scheme.cardinality.encode(self.scratch.distinct.count(), scheme.universe)?;
        if self.any && !self.absorbed {
            self.sketcher.sample_whole(&self.waiting, false, &mut self.scratch);
        } else if self.any {
            self.sketcher.absorb(&self.waiting[self.taken..], &mut self.scratch);
            self.sketcher.finish(&self.waiting, &mut self.scratch);
        }
        let mut all = std::mem::take(&mut self.all);
        all.sort_unstable();
        Ok(Sampled { code, empty: !self.any, elements: self.sketcher.keep(Some(all)) })
    }
}
