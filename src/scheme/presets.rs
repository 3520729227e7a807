//! The named schemes. They are data: no code asks which preset it runs.

use super::{CardinalityField, Features, Measure, Packing, Parameters, Sampler, Slots, Universe};

/// The seed of the presets. Any fixed number will do: signatures are comparable only under one seed.
pub const DEFAULT_SEED: u64 = 0x52_49_4e_47_45_52;

/// The default: 64 bytes a set and as much again for an index of 21 slots of 24 bits, which finds 94 % of the
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
    sampler: Sampler::OnePermutation,
    universe: Universe::Open,
    seed: DEFAULT_SEED,
    samples: 128,
    bits: 4,
    packing: Packing::LowBits,
    cardinality: CardinalityField::Log8,
    slots: Slots { count: 32, samples_per_slot: 4, value_bits: 16, min_matches: 1 },
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

/// For vectors: 256 signs, 32 bytes. Standard error .098 of the angle at 90 degrees, .069 at 26 degrees (cosine .9). Its
/// 16 slots are runs of 16 signs: made for queries [within one bit](crate::Query::within_hamming_1), which find 99.7 % of
/// the vectors at cosine .9.
pub const COSINE: Parameters = Parameters {
    measure: Measure::Cosine,
    sampler: Sampler::SignProjection,
    samples: 256,
    bits: 1,
    cardinality: CardinalityField::None,
    slots: Slots { count: 16, samples_per_slot: 16, value_bits: 16, min_matches: 1 },
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
];
