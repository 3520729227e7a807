//! Comparison of two signatures.
//!
//! In: signatures of one scheme. Out: every measure of their sets that the scheme allows, each with its error. The
//! kernels count, and the files beside this one have the formulas. This file chooses the formula for the scheme.

use super::bounded::{bias_bound, share, tells_size, with_systematic_error};
use super::confidence::Confidence;
use super::counts::Counts;
use super::likelihood::Table;
use super::measures::Measures;
use super::pair::{Agreement, Sampling};
use super::posterior::Evidence;
use super::sizes::Sizes;
use super::threshold::reaches;
use super::{Chance, Estimate, Law};
use crate::error::{Error, Result};
use crate::scheme::{Cardinality, CardinalityField, Measure, Packing, Sampler, Scheme, Universe};
use crate::sketch::{OrderCounts, Signature};

/// What two signatures say about their sets.
///
/// ```
/// use ringer::{Scheme, Sketcher};
/// let sketcher = Sketcher::new(&Scheme::precise());
/// let a = sketcher.sketch(&(0..1000).collect::<Vec<_>>())?;
/// let b = sketcher.sketch(&(500..1500).collect::<Vec<_>>())?;
/// let comparison = a.compare(&b)?;
/// let r = comparison.resemblance()?;
/// assert!(r.low < 1.0 / 3.0 && 1.0 / 3.0 < r.high);
/// assert!(comparison.probability_at_least(0.9) < 1e-6);
/// assert!((comparison.containment_of_first()?.value - 0.5).abs() < 0.2);
/// # Ok::<(), ringer::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    agreement: Agreement,
    sizes: Option<Sizes>,
    field: CardinalityField,
    bits: u32,
    measure: Measure,
    sampler: Sampler,
    universe: Universe,
    known: Option<Known>,
    /// Only if it tells more than equal samples do.
    order: Option<OrderCounts>,
}

/// What is known exactly.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Known {
    /// Exactly one of the sets is empty: the resemblance is 0.
    OneEmpty,
    /// The sets were compared element by element.
    Counts(Counts),
    /// The similarity was computed from the sets by someone else.
    Similarity(f64),
}

impl Comparison {
    /// A comparison of sets of these sizes whose signatures agree in `equal` samples.
    pub(crate) fn new(
        scheme: &Scheme,
        equal: u32,
        sizes: Option<(Cardinality, Cardinality)>,
        one_empty: bool,
    ) -> Comparison {
        let law = match (scheme.universe, sizes) {
            (Universe::Bounded(size), Some((f1, f2))) => {
                Law::dense(scheme, share(f1.value, size), share(f2.value, size))
            }
            _ => Law::of(scheme),
        };
        let total_size = sizes.filter(|_| tells_size(scheme)).map(|(f1, f2)| f1.value + f2.value);
        let sampling = Sampling::of(scheme.sampler, total_size);
        Comparison {
            agreement: Agreement { equal, samples: scheme.samples, law, sampling },
            sizes: sizes.map(|(first, second)| Sizes { first, second }),
            field: scheme.cardinality,
            bits: u32::from(scheme.bits),
            measure: scheme.measure,
            sampler: scheme.sampler,
            universe: scheme.universe,
            known: one_empty.then_some(Known::OneEmpty),
            order: None,
        }
    }

    /// The same without the order of the samples, as matches and pairs have it. Tests compare them with signatures.
    #[cfg(any(test, feature = "internals"))]
    pub fn without_order(self) -> Comparison {
        Comparison { order: None, ..self }
    }

    /// The same after the sets were compared element by element. Every measure is now exact.
    pub(crate) fn with_counts(self, counts: Counts) -> Comparison {
        Comparison { known: Some(Known::Counts(counts)), ..self }
    }

    /// The same with a similarity that was computed from the sets.
    pub(crate) fn with_similarity(self, similarity: f64) -> Comparison {
        Comparison { known: Some(Known::Similarity(similarity)), ..self }
    }

    /// What the scheme measures.
    pub fn measure(&self) -> Measure {
        self.measure
    }

    /// The number of equal samples, including chance agreements.
    pub fn equal_samples(&self) -> u32 {
        self.agreement.equal
    }

    /// Whether the [similarity](Comparison::similarity) is known exactly, because the sets themselves were compared
    /// or one of them is empty. Otherwise it is an estimate.
    pub fn is_exact(&self) -> bool {
        self.known.is_some()
    }

    /// What the scheme measures: the resemblance of sets, weighted or not, or the cosine of vectors.
    ///
    /// If the scheme stores set sizes, the estimate is the most likely value that sets of these sizes can have. The
    /// standard error and the interval are those of the distribution over all such values. The estimate is biased,
    /// since it is always a possible value; use [`unbiased`](Comparison::unbiased) for averages. The interval is a
    /// single point only if the value is known, or if all other values together are less likely than one in a billion.
    ///
    /// In a bounded universe the error has two more parts: sizes that are only known to a level of their field, and
    /// the bias of formulas that are exact only for large universes.
    pub fn similarity(&self) -> Estimate {
        match self.known_similarity() {
            Some(value) => Estimate::exact(value),
            None => self.estimate(Confidence::P95),
        }
    }

    /// The unbiased estimate from equal samples alone, without set sizes. It may be below 0, or above what sets of
    /// these sizes can have. Use it for averages over many pairs, where errors cancel out. For single pairs,
    /// [`similarity`](Comparison::similarity) is more accurate.
    pub fn unbiased(&self) -> Estimate {
        self.with_bounded_errors(
            self.agreement.estimate(),
            Confidence::P95,
            |agreement, confidence| (agreement.value(), agreement.interval(confidence)),
        )
    }

    /// The similarity if it is known exactly.
    fn known_similarity(&self) -> Option<f64> {
        self.known.map(|known| match known {
            Known::OneEmpty => 0.0,
            Known::Counts(counts) => counts.resemblance(),
            Known::Similarity(similarity) => similarity,
        })
    }

    /// Estimate and interval, with sizes if there are any.
    fn estimate(&self, confidence: Confidence) -> Estimate {
        let Some(sizes) = self.sizes else {
            let (low, high) = self.agreement.interval(confidence);
            return Estimate { low, high, ..self.agreement.estimate() };
        };
        let with_law = |agreement: Agreement, confidence| {
            let evidence = Evidence { agreement, sizes };
            let posterior = evidence.posterior();
            let (value, (low, high)) = (evidence.most_likely(), posterior.interval(confidence));
            (value, posterior.deviation(), (low.min(value), high.max(value)))
        };
        let (value, std_error, (low, high)) = with_law(self.agreement, confidence);
        let estimate = Estimate { value, std_error, low, high };
        self.with_bounded_errors(estimate, confidence, |agreement, confidence| {
            let (value, _, interval) = with_law(agreement, confidence);
            (value, interval)
        })
    }

    /// In a bounded universe, adds the errors of the size levels and of the formulas. `by` computes value and
    /// interval for another law.
    fn with_bounded_errors(
        &self,
        estimate: Estimate,
        confidence: Confidence,
        by: impl Fn(Agreement, Confidence) -> (f64, (f64, f64)),
    ) -> Estimate {
        let (Universe::Bounded(size), Some(sizes)) = (self.universe, self.sizes) else {
            return estimate;
        };
        let ends = |f: Cardinality| [f.value - f.half_width, f.value + f.half_width];
        let (mut values, mut low, mut high) =
            ((estimate.value, estimate.value), estimate.low, estimate.high);
        let corners =
            ends(sizes.first).into_iter().flat_map(|f1| ends(sizes.second).map(|f2| (f1, f2)));
        let vague = sizes.first.half_width > 0.0 || sizes.second.half_width > 0.0;
        for (f1, f2) in corners.filter(|_| vague) {
            let chance = Chance::dense(self.bits, share(f1, size), share(f2, size));
            let law = match self.agreement.law {
                Law::HalfBit(_) => Law::HalfBit(chance),
                _ => Law::Minwise(chance),
            };
            let (value, interval) = by(Agreement { law, ..self.agreement }, confidence);
            values = (values.0.min(value), values.1.max(value));
            (low, high) = (low.min(interval.0), high.max(interval.1));
        }
        with_systematic_error(
            Estimate { low, high, ..estimate },
            (values.1 - values.0) / 2.0 / 3.0_f64.sqrt(),
            bias_bound(self.sampler, self.agreement.samples, self.agreement.law, size),
        )
    }

    /// The most likely similarity, from the order of samples and the sizes of the sets.
    ///
    /// In a bounded universe, samples are places of elements, and which of two samples is smaller tells about the sets, too:
    /// a set that is contained in another one never has the smaller sample. For sets that fill a good part of the
    /// universe, of low resemblance, high containment or different sizes, the error is much smaller than that of
    /// [`similarity`](Comparison::similarity): half of it or less for a set of 3 % of the universe against one of 30 %
    /// that contains it. Nothing is gained for sets of less than 1 % of the universe.
    ///
    /// This needs signatures that were compared with each other ([`Signature::compare`],
    /// [`Snapshot::compare`](crate::Snapshot::compare)), a bounded universe, independent samples of low bits, and exactly
    /// known sizes. Otherwise equal samples tell everything, and the result is that of `similarity`.
    ///
    /// The likelihood is evaluated about 250 times, which takes 0.1 ms, whatever k and b are. `similarity` takes a tenth of
    /// that. Comparing two signatures of such a scheme takes a few nanoseconds more per word, to count the order.
    pub fn likelihood(&self) -> Estimate {
        let table = self.order.zip(self.sizes).and_then(|(counts, sizes)| {
            let Universe::Bounded(universe) = self.universe else { return None };
            Table::new(counts, sizes.known()?, universe, self.bits).map(|table| (table, universe))
        });
        let Some((table, universe)) = table.filter(|_| self.known.is_none()) else {
            return self.similarity();
        };
        let (value, posterior) = table.solve();
        let (low, high) = posterior.interval(Confidence::P95);
        let (low, high) = (low.min(value), high.max(value));
        let agreement = self.agreement;
        let bias = bias_bound(self.sampler, agreement.samples, agreement.law, universe);
        let estimate = Estimate { value, std_error: posterior.deviation(), low, high };
        with_systematic_error(estimate, 0.0, bias)
    }

    /// The value of [`similarity`](Comparison::similarity) alone, without its error, for ranking. It takes a small part
    /// of the time.
    pub fn similarity_value(&self) -> f64 {
        match (self.known_similarity(), self.sizes) {
            (Some(value), _) => value,
            (None, Some(sizes)) => Evidence { agreement: self.agreement, sizes }.most_likely(),
            (None, None) => self.agreement.value(),
        }
    }

    /// The law by which samples agree.
    pub(super) fn law(&self) -> Law {
        self.agreement.law
    }

    /// The interval that decides whether a threshold is possibly or certainly reached.
    pub(crate) fn deciding_interval(&self) -> (f64, f64) {
        match self.known_similarity() {
            Some(value) => (value, value),
            None => {
                let Estimate { low, high, .. } = self.estimate(Confidence::P999);
                (low, high)
            }
        }
    }

    /// Whether the similarity may be this or more: the upper end of its 99.9 % interval reaches it.
    pub fn possibly_at_least(&self, threshold: f64) -> bool {
        if threshold <= self.agreement.law.least() {
            return true;
        }
        self.sizes_allow(threshold) && reaches(self.deciding_interval().1, threshold)
    }

    /// Whether the similarity could be this or more for all that the sizes say.
    pub(crate) fn sizes_allow(&self, threshold: f64) -> bool {
        threshold <= self.agreement.law.least()
            || self.known.is_some()
            || reaches(self.most_similarity(), threshold)
    }

    /// Whether the similarity is certainly this or more: the lower end of its 99.9 % interval reaches it.
    pub fn certainly_at_least(&self, threshold: f64) -> bool {
        // The lower end of an interval is never above its estimate.
        reaches(self.similarity_value(), threshold)
            && reaches(self.deciding_interval().0, threshold)
    }

    /// The largest resemblance that sets of these sizes can have.
    fn most_similarity(&self) -> f64 {
        self.sizes.map_or(1.0, |sizes| sizes.most_resemblance())
    }

    /// Intersection over union. For weighted sets, the sum of the smaller weights over the sum of the larger ones. An
    /// error for signatures of vectors: [`Error::OtherMeasure`].
    pub fn resemblance(&self) -> Result<Estimate> {
        match self.measure {
            Measure::Cosine => Err(self.other_measure("the resemblance")),
            Measure::Jaccard | Measure::Weighted => Ok(self.similarity()),
        }
    }

    /// The cosine of the angle between two vectors. An error for signatures of sets: [`Error::OtherMeasure`].
    pub fn cosine(&self) -> Result<Estimate> {
        match self.measure {
            Measure::Cosine => Ok(self.similarity()),
            Measure::Jaccard | Measure::Weighted => Err(self.other_measure("the cosine")),
        }
    }

    /// The angle between two vectors in radians, which is estimated without bias. An error for signatures of sets:
    /// [`Error::OtherMeasure`].
    pub fn angle(&self) -> Result<Estimate> {
        match self.measure {
            Measure::Cosine => Ok(self.agreement.angle()),
            Measure::Jaccard | Measure::Weighted => Err(self.other_measure("the angle")),
        }
    }

    /// The probability that the [similarity](Comparison::similarity) is at least `threshold`, given the signatures.
    /// It assumes that all possible similarities are equally frequent beforehand. In a corpus where most pairs are
    /// dissimilar, it is too high.
    pub fn probability_at_least(&self, threshold: f64) -> f64 {
        if let Some(value) = self.known_similarity() {
            return if reaches(value, threshold) { 1.0 } else { 0.0 };
        }
        if threshold.is_nan() {
            return 0.0;
        }
        match self.sizes {
            Some(sizes) => Evidence { agreement: self.agreement, sizes }.probability(threshold),
            None => self.agreement.probability_at_least(threshold),
        }
    }

    /// The number of elements in both sets.
    pub fn intersection(&self) -> Result<Estimate> {
        self.of_sizes("the intersection", Measures::intersection)
    }

    /// The number of elements in either set.
    pub fn union(&self) -> Result<Estimate> {
        self.of_sizes("the union", Measures::union)
    }

    /// The number of elements in exactly one of the sets.
    pub fn hamming(&self) -> Result<Estimate> {
        self.of_sizes("the Hamming distance", Measures::hamming)
    }

    /// The share of the first set that is in the second. Undefined if the first is empty.
    pub fn containment_of_first(&self) -> Result<Estimate> {
        self.containment(|(first, _)| first, Measures::containment_of_first)
    }

    /// The share of the second set that is in the first. Undefined if the second is empty.
    pub fn containment_of_second(&self) -> Result<Estimate> {
        self.containment(|(_, second)| second, Measures::containment_of_second)
    }

    /// The overlap coefficient: the share of the smaller set that is in the other, whichever that is. It is 1 if one
    /// set is contained in the other. Undefined if a set is empty.
    pub fn overlap(&self) -> Result<Estimate> {
        self.measures_for("the overlap").map(|measures| measures.overlap())
    }

    /// All measures that follow from resemblance and sizes, with the resemblance computed once. Empty sets have no
    /// containment: [`Error::Undefined`].
    pub fn measures(&self) -> Result<Measures> {
        self.measures_for("containment")
    }

    fn measures_for(&self, measure: &'static str) -> Result<Measures> {
        self.check_sets(measure)?;
        let Sizes { first, second } = self.sizes_or(measure)?;
        if first.value == 0.0 || second.value == 0.0 || self.known == Some(Known::OneEmpty) {
            return Err(Error::Undefined { measure });
        }
        Ok(Measures { resemblance: self.similarity(), first, second })
    }

    fn containment(
        &self,
        whole: fn((Cardinality, Cardinality)) -> Cardinality,
        formula: fn(&Measures) -> Estimate,
    ) -> Result<Estimate> {
        let measure = "containment";
        self.check_sets(measure)?;
        let Sizes { first, second } = self.sizes_or(measure)?;
        if whole((first, second)).value == 0.0 {
            return Err(Error::Undefined { measure });
        }
        if self.known == Some(Known::OneEmpty) {
            return Ok(Estimate::exact(0.0));
        }
        self.of_sizes(measure, formula)
    }

    fn of_sizes(
        &self,
        measure: &'static str,
        formula: fn(&Measures) -> Estimate,
    ) -> Result<Estimate> {
        self.check_sets(measure)?;
        let Sizes { first, second } = self.sizes_or(measure)?;
        Ok(formula(&Measures { resemblance: self.similarity(), first, second }))
    }

    /// The sizes: counted, or decoded from the fields.
    fn sizes_or(&self, measure: &'static str) -> Result<Sizes> {
        match (self.known, self.sizes) {
            (Some(Known::Counts(counts)), _) => Ok(counts.sizes()),
            (_, Some(sizes)) => Ok(sizes),
            (_, None) => Err(self.no_sizes(measure)),
        }
    }

    /// Rejects measures that only sets without weights have.
    fn check_sets(&self, requested: &'static str) -> Result<()> {
        match self.measure {
            Measure::Jaccard => Ok(()),
            Measure::Weighted | Measure::Cosine => Err(self.other_measure(requested)),
        }
    }

    fn other_measure(&self, requested: &'static str) -> Error {
        Error::OtherMeasure { requested, measure: self.measure.name() }
    }

    fn no_sizes(&self, measure: &'static str) -> Error {
        Error::NoCardinality { measure, field: self.field.name() }
    }
}

/// Whether the order of samples tells something: whether they are the low bits of places in a universe.
fn tells_order(scheme: &Scheme) -> bool {
    matches!(scheme.universe, Universe::Bounded(_))
        && scheme.sampler == Sampler::Independent
        && scheme.packing == Packing::LowBits
}

impl Signature {
    /// Compares two signatures. The result is exact if they include the sets themselves
    /// ([`Elements::Kept`](crate::scheme::Elements::Kept) with all 64 bits). Signatures of different schemes are an
    /// error, and two empty sets are [`Error::Undefined`].
    pub fn compare(&self, other: &Signature) -> Result<Comparison> {
        let equal = self.count_equal(other)?;
        if self.is_empty() && other.is_empty() {
            return Err(Error::Undefined { measure: "the resemblance of empty sets" });
        }
        let sizes = self.cardinality().zip(other.cardinality());
        let one_empty = self.is_empty() || other.is_empty();
        if one_empty && self.scheme().measure == Measure::Cosine {
            return Err(Error::Undefined { measure: "the cosine with an empty vector" });
        }
        let mut comparison = Comparison::new(self.scheme(), equal, sizes, one_empty);
        if tells_order(self.scheme()) && !one_empty {
            comparison.order = Some(self.count_order(other)?);
        }
        match (self.elements(), other.elements()) {
            (Some(first), Some(second)) if self.scheme().elements.are_exact() => {
                Ok(comparison.with_counts(Counts::of(first, second)))
            }
            _ => Ok(comparison),
        }
    }

    /// The resemblance to another set: 0 if one of them is empty, undefined if both are.
    pub fn resemblance(&self, other: &Signature) -> Result<Estimate> {
        self.compare(other)?.resemblance()
    }

    /// The cosine of the angle to another vector. Undefined if one of them is all zeros.
    pub fn cosine(&self, other: &Signature) -> Result<Estimate> {
        self.compare(other)?.cosine()
    }
}
