//! The named schemes. They are data: no code asks which preset it runs.

use super::{
    CardinalityField, Elements, Features, Measure, Packing, Parameters, Sampler, Slots, Universe,
};

/// The seed of the presets. Any fixed number will do: signatures are comparable only under one seed.
pub const DEFAULT_SEED: u64 = 0x52_49_4e_47_45_52;

/// The default scheme: texts as sets of their 5-word shingles, with the signatures of [`NEAR_DUPLICATE`].
pub const DEFAULT: Parameters = Parameters { features: Features::TEXT, ..NEAR_DUPLICATE };

/// For near-duplicates: 64 bytes a set and as much again for an index of 21 slots of 24 bits, which finds 94 % of the
/// sets at resemblance .5 and all but 14 in 100,000 at .7, and hardly any others. Standard error .063 at
/// resemblance one half, .038 at .9.
pub const NEAR_DUPLICATE: Parameters = Parameters {
    samples: 64,
    bits: 8,
    slots: Slots { count: 21, samples_per_slot: 3, value_bits: 24, min_matches: 1 },
    ..PRECISE
};

/// For estimates: 64 bytes a set, standard error .047 at resemblance one half, .028 at .9. Its index of 32
/// slots of 16 bits finds 93 % of the sets at resemblance .5 and all but 5 in 100,000 at .7, but many others
/// to compare as well: a query takes about four times as long as with the default.
pub const PRECISE: Parameters = Parameters {
    features: Features::Ids,
    measure: Measure::Jaccard,
    sampler: Sampler::EveryBin,
    universe: Universe::Open,
    seed: DEFAULT_SEED,
    samples: 128,
    bits: 4,
    packing: Packing::LowBits,
    cardinality: CardinalityField::Log8,
    slots: Slots { count: 32, samples_per_slot: 4, value_bits: 16, min_matches: 1 },
    elements: Elements::None,
};

/// Remote differential compression: twelve samples of 6 bits, each a slot of its own. Ranks files by
/// how many agree.
pub const RDC: Parameters = Parameters {
    sampler: Sampler::Independent,
    samples: 12,
    bits: 6,
    cardinality: CardinalityField::None,
    slots: Slots { count: 12, samples_per_slot: 1, value_bits: 6, min_matches: 1 },
    ..PRECISE
};

/// AltaVista's supershingles: 84 samples in six slots of 14, two of which must agree. The slots'
/// 224 bits are hashed down to 32.
pub const ALTA_VISTA: Parameters = Parameters {
    sampler: Sampler::Independent,
    samples: 84,
    bits: 16,
    cardinality: CardinalityField::None,
    slots: Slots { count: 6, samples_per_slot: 14, value_bits: 32, min_matches: 2 },
    ..PRECISE
};

/// Bing's: 30 samples in six slots of five, hashed to 16 bits, four of which must agree.
pub const BING: Parameters = Parameters {
    sampler: Sampler::Independent,
    samples: 30,
    bits: 16,
    cardinality: CardinalityField::None,
    slots: Slots { count: 6, samples_per_slot: 5, value_bits: 16, min_matches: 4 },
    ..PRECISE
};

/// For weighted sets, such as texts whose words count by how often they come and how rare they are: the default with
/// weighted samples. Sketching takes about ten nanoseconds for each element and sample, five times what independent samples take.
pub const WEIGHTED: Parameters = Parameters {
    measure: Measure::Weighted,
    sampler: Sampler::Weighted,
    cardinality: CardinalityField::None,
    ..NEAR_DUPLICATE
};

/// For vectors: 256 signs, 32 bytes, and about as much again for an index of 23 runs of 11 signs. Standard error .098 of the
/// angle at 90 degrees, .069 at 26 degrees (cosine .9, where that is .030 of the cosine). Finds 99.0 % of the vectors at cosine
/// .9 and 85 % at .8; [within one bit](crate::Query::within_hamming_1) nearly all of both.
pub const COSINE: Parameters = Parameters {
    measure: Measure::Cosine,
    sampler: Sampler::SignProjection,
    samples: 256,
    bits: 1,
    cardinality: CardinalityField::None,
    slots: Slots { count: 23, samples_per_slot: 11, value_bits: 11, min_matches: 1 },
    ..PRECISE
};

/// For sets that are nearly the same: 256 XORs of pairs of 1-bit samples, 32 bytes. Standard error .020 at resemblance .9 and
/// .014 at .95, against .027 and .020 of as many 1-bit samples; hardly of use below .6. An index of 18 runs of 14 bits finds
/// 99.4 % of the sets at .9 and 68 % at .8.
pub const HALF_BIT: Parameters = Parameters {
    sampler: Sampler::Lazy,
    samples: 256,
    bits: 1,
    packing: Packing::XorPairs,
    slots: Slots { count: 18, samples_per_slot: 14, value_bits: 14, min_matches: 1 },
    ..PRECISE
};

/// All presets with their names on the command line.
pub const ALL: &[(&str, Parameters)] = &[
    ("near-duplicate", NEAR_DUPLICATE),
    ("precise", PRECISE),
    ("rdc", RDC),
    ("alta-vista", ALTA_VISTA),
    ("bing", BING),
    ("weighted", WEIGHTED),
    ("cosine", COSINE),
    ("half-bit", HALF_BIT),
];
