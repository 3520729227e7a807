//! The named schemes. They are plain data: no code depends on which preset a scheme comes from.

use super::{
    CardinalityField, Elements, Features, Measure, Packing, Parameters, Sampler, Slots, Universe,
};

/// The seed of the presets. It could be any fixed number. Signatures are comparable only under the same seed.
pub const DEFAULT_SEED: u64 = 0x52_49_4e_47_45_52;

/// The default scheme: texts as sets of 5-word shingles, with the signatures of [`NEAR_DUPLICATE`].
pub const DEFAULT: Parameters = Parameters { features: Features::TEXT, ..NEAR_DUPLICATE };

/// For near-duplicates. A set takes 64 bytes, and as much again for an index of 21 slots of 24 bits. The index finds 94 %
/// of the sets at resemblance .5 and all but 14 in 100,000 at .7, and hardly any unrelated sets. The standard error is
/// .063 at resemblance .5 and .038 at .9.
pub const NEAR_DUPLICATE: Parameters = Parameters {
    samples: 64,
    bits: 8,
    slots: Slots { count: 21, samples_per_slot: 3, value_bits: 24, min_matches: 1 },
    ..PRECISE
};

/// For estimates. A set takes 64 bytes. The standard error is .047 at resemblance .5 and .028 at .9. The index of 32 slots
/// of 16 bits finds 93 % of the sets at resemblance .5 and all but 5 in 100,000 at .7. It also brings many unrelated
/// candidates, so a query takes about four times as long as with the default.
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

/// For remote differential compression: twelve samples of 6 bits, each its own slot. Files are ranked by the number of
/// equal samples.
pub const RDC: Parameters = Parameters {
    sampler: Sampler::Independent,
    samples: 12,
    bits: 6,
    cardinality: CardinalityField::None,
    slots: Slots { count: 12, samples_per_slot: 1, value_bits: 6, min_matches: 1 },
    ..PRECISE
};

/// AltaVista's supershingles: 84 samples in six slots of 14, two of which must match. The 224 bits of a slot are hashed to
/// 32.
pub const ALTA_VISTA: Parameters = Parameters {
    sampler: Sampler::Independent,
    samples: 84,
    bits: 16,
    cardinality: CardinalityField::None,
    slots: Slots { count: 6, samples_per_slot: 14, value_bits: 32, min_matches: 2 },
    ..PRECISE
};

/// Bing's scheme: 30 samples in six slots of five, hashed to 16 bits, four of which must match.
pub const BING: Parameters = Parameters {
    sampler: Sampler::Independent,
    samples: 30,
    bits: 16,
    cardinality: CardinalityField::None,
    slots: Slots { count: 6, samples_per_slot: 5, value_bits: 16, min_matches: 4 },
    ..PRECISE
};

/// For weighted sets, such as texts whose words are weighted by frequency and rarity: the default with weighted samples.
/// Sketching takes about ten nanoseconds per element and sample, five times as long as independent samples.
pub const WEIGHTED: Parameters = Parameters {
    measure: Measure::Weighted,
    sampler: Sampler::Weighted,
    cardinality: CardinalityField::None,
    ..NEAR_DUPLICATE
};

/// For vectors. A vector takes 32 bytes for 256 signs, and about as much again for an index of 23 slots of 11 signs. The
/// standard error of the angle is .098 at 90 degrees and .069 at 26 degrees, where the cosine is .9 and its error .030.
/// The index finds 99.0 % of the vectors at cosine .9 and 85 % at .8, and nearly all of both
/// [within one bit](crate::Query::within_hamming_1).
pub const COSINE: Parameters = Parameters {
    measure: Measure::Cosine,
    sampler: Sampler::SignProjection,
    samples: 256,
    bits: 1,
    cardinality: CardinalityField::None,
    slots: Slots { count: 23, samples_per_slot: 11, value_bits: 11, min_matches: 1 },
    ..PRECISE
};

/// For sets that are nearly equal. A set takes 32 bytes for 256 XORs of pairs of 1-bit samples. The standard error is .020
/// at resemblance .9 and .014 at .95; that of as many 1-bit samples is .027 and .020. Below .6 the scheme is of little
/// use. The index of 18 slots of 14 bits finds 99.4 % of the sets at .9 and 68 % at .8.
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
