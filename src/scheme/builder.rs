//! Methods that change one field of [`Parameters`].

use super::{CardinalityField, Elements, Features, Packing, Parameters, Sampler, Slots, Universe};

impl Parameters {
    /// Returns the parameters with another sampler, and the measure of that sampler.
    #[must_use]
    pub const fn with_sampler(self, sampler: Sampler) -> Parameters {
        Parameters { sampler, measure: sampler.measure(), ..self }
    }

    /// Returns the parameters with other [features](Parameters::features).
    #[must_use]
    pub const fn with_features(self, features: Features) -> Parameters {
        Parameters { features, ..self }
    }

    /// Returns the parameters with another [universe](Parameters::universe).
    #[must_use]
    pub const fn with_universe(self, universe: Universe) -> Parameters {
        Parameters { universe, ..self }
    }

    /// Returns the parameters with another [seed](Parameters::seed).
    #[must_use]
    pub const fn with_seed(self, seed: u64) -> Parameters {
        Parameters { seed, ..self }
    }

    /// Returns the parameters with another [number of samples](Parameters::samples).
    #[must_use]
    pub const fn with_samples(self, samples: u32) -> Parameters {
        Parameters { samples, ..self }
    }

    /// Returns the parameters with another [number of bits](Parameters::bits) per sample.
    #[must_use]
    pub const fn with_bits(self, bits: u8) -> Parameters {
        Parameters { bits, ..self }
    }

    /// Returns the parameters with another [packing](Parameters::packing).
    #[must_use]
    pub const fn with_packing(self, packing: Packing) -> Parameters {
        Parameters { packing, ..self }
    }

    /// Returns the parameters with another [cardinality field](Parameters::cardinality).
    #[must_use]
    pub const fn with_cardinality(self, cardinality: CardinalityField) -> Parameters {
        Parameters { cardinality, ..self }
    }

    /// Returns the parameters with other [slots](Parameters::slots).
    #[must_use]
    pub const fn with_slots(self, slots: Slots) -> Parameters {
        Parameters { slots, ..self }
    }

    /// Returns the parameters with another choice of [kept elements](Parameters::elements).
    #[must_use]
    pub const fn with_elements(self, elements: Elements) -> Parameters {
        Parameters { elements, ..self }
    }
}
