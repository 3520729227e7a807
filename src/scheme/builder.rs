//! Changes single choices of [`Parameters`].

use super::{CardinalityField, Elements, Features, Packing, Parameters, Sampler, Slots, Universe};

impl Parameters {
    /// The same with another sampler, and the measure that it is for.
    #[must_use]
    pub const fn with_sampler(self, sampler: Sampler) -> Parameters {
        Parameters { sampler, measure: sampler.measure(), ..self }
    }

    /// The same with other [features](Parameters::features).
    #[must_use]
    pub const fn with_features(self, features: Features) -> Parameters {
        Parameters { features, ..self }
    }

    /// The same with another [universe](Parameters::universe).
    #[must_use]
    pub const fn with_universe(self, universe: Universe) -> Parameters {
        Parameters { universe, ..self }
    }

    /// The same with another [seed](Parameters::seed).
    #[must_use]
    pub const fn with_seed(self, seed: u64) -> Parameters {
        Parameters { seed, ..self }
    }

    /// The same with another [number of samples](Parameters::samples).
    #[must_use]
    pub const fn with_samples(self, samples: u32) -> Parameters {
        Parameters { samples, ..self }
    }

    /// The same with another [number of bits](Parameters::bits) a sample.
    #[must_use]
    pub const fn with_bits(self, bits: u8) -> Parameters {
        Parameters { bits, ..self }
    }

    /// The same with another [packing](Parameters::packing).
    #[must_use]
    pub const fn with_packing(self, packing: Packing) -> Parameters {
        Parameters { packing, ..self }
    }

    /// The same with another [cardinality field](Parameters::cardinality).
    #[must_use]
    pub const fn with_cardinality(self, cardinality: CardinalityField) -> Parameters {
        Parameters { cardinality, ..self }
    }

    /// The same with other [slots](Parameters::slots).
    #[must_use]
    pub const fn with_slots(self, slots: Slots) -> Parameters {
        Parameters { slots, ..self }
    }

    /// The same with [sets kept](Parameters::elements) in another way.
    #[must_use]
    pub const fn with_elements(self, elements: Elements) -> Parameters {
        Parameters { elements, ..self }
    }
}
