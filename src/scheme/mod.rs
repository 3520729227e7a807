//! The scheme: everything that makes two signatures comparable.
//!
//! In: [`Parameters`], which are plain data. Out: a [`Scheme`], whose parameters passed every check, so that no other code
//! has to check them. A scheme is fixed when a database is created. It is stored as canonical bytes
//! ([`Scheme::to_bytes`], `format-spec/scheme.md`) and compared whenever two signatures are compared. Settings that do
//! not change an answer are [options](crate::options), not part of the scheme.

mod builder;
mod bytes;
mod cardinality;
mod derived;
mod elements;
mod features;
mod fields;
pub mod presets;

pub use bytes::SCHEME_BYTES;
pub use cardinality::Cardinality;
pub use elements::Elements;
pub use features::{Ends, Features};
pub use fields::{CardinalityField, ElementHash, Measure, Packing, Sampler, Slots, Universe};

use crate::error::{Error, Result};
use crate::limits::{
    MAX_BITS, MAX_KEPT_BITS, MAX_SAMPLES, MAX_VALUE_BITS, MIN_KEPT_BITS, MIN_PLACES_PER_BIN,
    MIN_UNIVERSE,
};

/// The choices of a scheme, not checked yet. Start from the default or a preset, and change what you need.
///
/// ```
/// use ringer::{Parameters, Scheme, presets};
/// let scheme = Scheme::new(Parameters::default().with_seed(7))?;
/// assert_eq!(scheme.seed, 7);
/// let scheme = Scheme::new(presets::PRECISE.with_samples(256).with_features("grams:3".parse()?))?;
/// assert_eq!((scheme.samples, scheme.features.to_string()), (256, "grams(3 characters)".into()));
/// # Ok::<(), ringer::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Parameters {
    /// How documents become sets of features.
    pub features: Features,
    /// What "similar" means.
    pub measure: Measure,
    /// How a set becomes samples.
    pub sampler: Sampler,
    /// Where the elements come from.
    pub universe: Universe,
    /// The seed of all hashing.
    pub seed: u64,
    /// k, the number of samples of a signature.
    pub samples: u32,
    /// b, the bits kept of each sample.
    pub bits: u8,
    /// What is kept of the samples.
    pub packing: Packing,
    /// What is kept of the set's size.
    pub cardinality: CardinalityField,
    /// The slots of the index.
    pub slots: Slots,
    /// Whether the sets themselves are stored beside their signatures.
    pub elements: Elements,
}

impl Parameters {
    /// Returns the parameters with a random seed from the operating system.
    ///
    /// Use this if sets come from untrusted sources. Hashing is not cryptographic. An attacker who knows the seed can make
    /// sets that have equal signatures and no common elements, that imitate a given set, or that fill one posting list.
    ///
    /// The presets have a fixed seed, because signatures are comparable only under the same seed. A single database can
    /// have any seed. Signatures that are made in several places need the same one.
    ///
    /// ```
    /// use ringer::{Scheme, presets};
    /// let [a, b] = [0, 1].map(|_| presets::NEAR_DUPLICATE.with_random_seed());
    /// assert_ne!(Scheme::new(a)?, Scheme::new(b)?);
    /// # Ok::<(), ringer::Error>(())
    /// ```
    pub fn with_random_seed(self) -> Parameters {
        use std::hash::{BuildHasher, RandomState};
        let seed = RandomState::new().hash_one(self.seed);
        // No random scheme is foreign.
        let seed = if seed >> 32 == FOREIGN_MARK { !seed } else { seed };
        Parameters { seed, ..self }
    }
}

/// Returns the parameters of the [default scheme](presets::DEFAULT).
impl Default for Parameters {
    fn default() -> Parameters {
        presets::DEFAULT
    }
}

/// Parameters that passed every check.
///
/// It dereferences to [`Parameters`] and cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Scheme {
    parameters: Parameters,
}

impl std::ops::Deref for Scheme {
    type Target = Parameters;

    fn deref(&self) -> &Parameters {
        &self.parameters
    }
}

/// Returns the default scheme, for texts as sets of 5-word shingles ([`presets::DEFAULT`]). `ringer create` and
/// `ringer dedup` use it with a random seed.
impl Default for Scheme {
    fn default() -> Scheme {
        Scheme { parameters: presets::DEFAULT }
    }
}

/// The upper half of the seed of foreign schemes.
const FOREIGN_MARK: u64 = 0x464f_5245;

/// A broken rule of the scheme: the value, and what is allowed. It becomes `InvalidArgument` for parameters of the caller,
/// and `Corrupt` for stored bytes.
struct Violation {
    rule: &'static str,
    what: String,
    limit: String,
}

impl Scheme {
    /// Checks the parameters. The error names the limit that they break.
    pub fn new(parameters: Parameters) -> Result<Scheme> {
        match check(&parameters) {
            Ok(()) => Ok(Scheme { parameters }),
            Err(v) => Err(Error::invalid(v.what, v.limit)),
        }
    }

    /// Returns the default scheme for sets of ids ([`presets::NEAR_DUPLICATE`]).
    pub fn near_duplicate() -> Scheme {
        Scheme { parameters: presets::NEAR_DUPLICATE }
    }

    /// Returns the scheme with a smaller error ([`presets::PRECISE`]).
    pub fn precise() -> Scheme {
        Scheme { parameters: presets::PRECISE }
    }

    /// Returns the scheme of remote differential compression ([`presets::RDC`]).
    pub fn rdc() -> Scheme {
        Scheme { parameters: presets::RDC }
    }

    /// Returns AltaVista's scheme ([`presets::ALTA_VISTA`]).
    pub fn alta_vista() -> Scheme {
        Scheme { parameters: presets::ALTA_VISTA }
    }

    /// Returns Bing's scheme ([`presets::BING`]).
    pub fn bing() -> Scheme {
        Scheme { parameters: presets::BING }
    }

    /// Returns whether the scheme is foreign: its signatures are made of sketches of another program, such as those that
    /// `ringerdb.foreign` imports, and never of sets or texts. A [`Sketcher`](crate::Sketcher) of such a scheme reads and
    /// compares signatures, but sketches nothing: [`Error::ForeignScheme`].
    ///
    /// The upper half of its seed is 464F5245 hex, its features are ids, its sampler is
    /// [`Independent`](Sampler::Independent), and it has no cardinality field (`format-spec/scheme.md`).
    ///
    /// ```
    /// use ringer::{Error, Scheme, Sketcher, presets};
    /// use ringer::scheme::{CardinalityField, Sampler};
    ///
    /// let parameters = presets::PRECISE.with_sampler(Sampler::Independent).with_cardinality(CardinalityField::None);
    /// let scheme = Scheme::new(parameters.with_seed(0x464f_5245_0000_0007))?;
    /// assert!(scheme.is_foreign() && !Scheme::new(parameters.with_seed(7))?.is_foreign());
    /// assert_eq!(Sketcher::new(&scheme).sketch(&[1, 2, 3]), Err(Error::ForeignScheme));
    /// # Ok::<(), ringer::Error>(())
    /// ```
    pub fn is_foreign(&self) -> bool {
        self.seed >> 32 == FOREIGN_MARK
            && self.features == Features::Ids
            && self.sampler == Sampler::Independent
            && self.cardinality == CardinalityField::None
    }

    /// Returns the number of 64-bit words of a bit plane.
    pub fn words_per_plane(&self) -> usize {
        (self.samples as usize).div_ceil(64)
    }

    /// Returns the number of 64-bit words of a signature.
    pub fn words_per_signature(&self) -> usize {
        self.words_per_plane() * usize::from(self.bits)
    }

    /// Returns the number of bit planes that are stored apart from the others and compared first: two, or one if there are
    /// only one or two in all. Two planes leave one unrelated sample in four equal, which is enough to reject most
    /// signatures without reading the other planes.
    pub fn first_planes(&self) -> u8 {
        first_planes(self.bits)
    }

    /// Returns the number of 64-bit words of the [first planes](Scheme::first_planes) of a signature.
    pub fn first_words(&self) -> usize {
        self.words_per_plane() * usize::from(self.first_planes())
    }

    /// Returns the number of samples that are drawn from a set: k, or 2k if each kept bit is made of two samples.
    pub fn drawn_samples(&self) -> u32 {
        match self.packing {
            Packing::LowBits => self.samples,
            Packing::XorPairs => 2 * self.samples,
        }
    }

    /// Returns the fields in which two schemes differ: name, value here, value there.
    pub fn differences(&self, other: &Scheme) -> Vec<(&'static str, String, String)> {
        let (here, there) = (self.described(), other.described());
        let pairs = here.into_iter().zip(there);
        pairs.filter(|(a, b)| a != b).map(|((name, a), (_, b))| (name, a, b)).collect()
    }

    /// Returns the differences as one line of text.
    pub(crate) fn differences_text(&self, other: &Scheme) -> String {
        let parts: Vec<_> = self
            .differences(other)
            .into_iter()
            .map(|(name, here, there)| format!("{name} is {here} here and {there} there"))
            .collect();
        parts.join(", ")
    }

    /// Returns every field with its value as text, in the order of the specification.
    pub fn described(&self) -> [(&'static str, String); 12] {
        let features = format!("{} version {}", self.features, self.features.version());
        [
            ("features", features),
            ("element hash", self.features.element_hash().to_string()),
            ("measure", self.measure.to_string()),
            ("sampler", self.sampler.to_string()),
            ("universe", self.universe.to_string()),
            ("seed", self.seed.to_string()),
            ("samples", self.samples.to_string()),
            ("bits", self.bits.to_string()),
            ("packing", self.packing.to_string()),
            ("cardinality field", self.cardinality.to_string()),
            ("slots", self.slots.to_string()),
            ("kept elements", self.elements.to_string()),
        ]
    }
}

/// Returns how many of the planes are stored apart and compared first.
pub(crate) fn first_planes(planes: u8) -> u8 {
    if planes < 3 { 1 } else { 2 }
}

impl std::fmt::Display for Scheme {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, (name, value)) in self.described().into_iter().enumerate() {
            write!(f, "{}{name} {value}", if i == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

/// Checks every rule of `format-spec/scheme.md` for the values of a scheme.
fn check(p: &Parameters) -> Result<(), Violation> {
    let (k, b) = (p.samples, p.bits);
    rule(
        (1..=MAX_SAMPLES).contains(&k),
        "SCHEME-5",
        format!("{k} samples"),
        format!("samples must be 1 to {MAX_SAMPLES}"),
    )?;
    rule(
        (1..=MAX_BITS).contains(&b),
        "SCHEME-6",
        format!("{b} bits per sample"),
        format!("bits must be 1 to {MAX_BITS}"),
    )?;
    check_slots(p)?;
    if let Some((what, limit)) = p.features.broken_limit() {
        return Err(Violation { rule: "SCHEME-9", what, limit });
    }
    check_universe(p)?;
    check_measure(p)?;
    check_elements(p)
}

fn rule(holds: bool, rule: &'static str, what: String, limit: String) -> Result<(), Violation> {
    if holds { Ok(()) } else { Err(Violation { rule, what, limit }) }
}

/// Checks the rules on universes, SCHEME-8 and SCHEME-10 to SCHEME-12.
fn check_universe(p: &Parameters) -> Result<(), Violation> {
    let Universe::Bounded(size) = p.universe else {
        return rule(
            !p.cardinality.is_linear(),
            "SCHEME-11",
            format!("cardinality field `{}` in the open universe", p.cardinality),
            "linear levels are shares of a bounded universe; choose none, log8 or exact".into(),
        );
    };
    let (k, b) = (p.samples, p.bits);
    rule(
        size >= MIN_UNIVERSE,
        "SCHEME-8",
        format!("a universe of {size}"),
        format!("a bounded universe has at least {MIN_UNIVERSE} elements"),
    )?;
    rule(
        p.features == Features::Ids,
        "SCHEME-10",
        format!("features `{}` in a bounded universe", p.features),
        "the elements of a bounded universe are ids; choose the features ids, or the open universe"
            .into(),
    )?;
    rule(
        p.cardinality != CardinalityField::None,
        "SCHEME-11",
        "no cardinality field in a bounded universe".into(),
        "estimates need each set's share of the universe; choose linear4, linear8, log8 or exact"
            .into(),
    )?;
    let places = MIN_PLACES_PER_BIN.max(1 << (b + 1));
    rule(
        p.sampler != Sampler::OnePermutation || size / u64::from(k) >= places,
        "SCHEME-12",
        format!("one permutation of {size} elements in {k} bins"),
        format!("each bin needs at least {places} places; use the sampler `independent`"),
    )
}

/// Checks the rules on measure, sampler and packing, SCHEME-13 to SCHEME-17.
fn check_measure(p: &Parameters) -> Result<(), Violation> {
    let Parameters { sampler, measure, universe, .. } = *p;
    rule(
        sampler.measure() == measure,
        "SCHEME-13",
        format!("sampler `{sampler}` for the measure `{measure}`"),
        format!("this sampler is for the measure `{}`", sampler.measure()),
    )?;
    rule(
        sampler.permutes() || universe == Universe::Open,
        "SCHEME-14",
        format!("sampler `{sampler}` in a bounded universe"),
        "this sampler needs the open universe; choose independent, or the open universe".into(),
    )?;
    rule(
        measure == Measure::Jaccard || p.cardinality == CardinalityField::None,
        "SCHEME-15",
        format!("cardinality field `{}` for the measure `{measure}`", p.cardinality),
        "the number of elements does not tell the size of a weighted set; choose none".into(),
    )?;
    let whole = p.packing == Packing::LowBits && sampler != Sampler::SignProjection;
    rule(
        whole || p.bits == 1,
        "SCHEME-16",
        format!("{} bits per sample, sampler `{sampler}`, packing `{}`", p.bits, p.packing),
        "signs and xor-pairs are single bits; choose 1 bit and more samples".into(),
    )?;
    rule(
        p.packing == Packing::LowBits || sampler.packs_pairs(),
        "SCHEME-17",
        format!("packing `{}` of the sampler `{sampler}`", p.packing),
        "xor-pairs need independent samples of sets; choose lazy, independent or weighted".into(),
    )
}

/// Checks the rules on kept elements, SCHEME-18.
fn check_elements(p: &Parameters) -> Result<(), Violation> {
    let Elements::Kept { bits } = p.elements else { return Ok(()) };
    rule(
        (MIN_KEPT_BITS..=MAX_KEPT_BITS).contains(&bits),
        "SCHEME-18",
        format!("elements kept in {bits} bits"),
        format!("bits must be {MIN_KEPT_BITS} to {MAX_KEPT_BITS}"),
    )?;
    rule(
        p.measure == Measure::Jaccard,
        "SCHEME-18",
        format!("kept elements for the measure `{}`", p.measure),
        "weights cannot be kept; only sets of the measure `jaccard` can keep their elements".into(),
    )
}

/// Checks the rules on slots, SCHEME-7.
fn check_slots(p: &Parameters) -> Result<(), Violation> {
    let Slots { count, samples_per_slot, value_bits, min_matches } = p.slots;
    if p.slots == Slots::NONE {
        return Ok(());
    }
    let sample_bits = u32::from(samples_per_slot) * u32::from(p.bits);
    let used = u32::from(count) * u32::from(samples_per_slot);
    let most = u32::from(MAX_VALUE_BITS).min(sample_bits);
    let broken = if count == 0 || samples_per_slot == 0 {
        "a slot must have at least 1 sample; for no index, all four numbers must be 0".into()
    } else if used > p.samples {
        format!("slots can use at most the {} samples of a signature, not {used}", p.samples)
    } else if value_bits == 0 || u32::from(value_bits) > most {
        format!("the value of a slot must have 1 to {most} bits, not {value_bits}")
    } else if min_matches == 0 || min_matches > count {
        format!("the least number of matching slots must be 1 to {count}, not {min_matches}")
    } else {
        return Ok(());
    };
    Err(Violation { rule: "SCHEME-7", what: format!("slots {}", p.slots), limit: broken })
}

#[cfg(test)]
mod tests;
