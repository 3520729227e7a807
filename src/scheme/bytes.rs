//! The canonical bytes of a scheme, and its fingerprint (`format-spec/scheme.md`).
//!
//! In: a scheme, or untrusted bytes. Out: 48 bytes, or a checked scheme, or an error that cites the broken rule. A scheme
//! has exactly one encoding: bytes that can be decoded are encoded to the same bytes again.
#![deny(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::arithmetic_side_effects,
    clippy::as_conversions
)]

use xxhash_rust::xxh3::xxh3_64;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{
    CardinalityField, ElementHash, Elements, Features, Measure, Packing, Parameters, Sampler,
    Scheme, Slots, Universe, check,
};
use crate::error::{Error, Result};

/// The length of the canonical bytes.
pub const SCHEME_BYTES: usize = size_of::<Layout>();

/// The layout version that this version writes, and the only one that it reads.
const LAYOUT_VERSION: u16 = 1;

const UNIVERSE_OPEN: u8 = 1;
const UNIVERSE_BOUNDED: u8 = 2;

/// The bytes, field by field.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(crate) struct Layout {
    pub(crate) layout_version: U16,
    pub(crate) feature_kind: u8,
    pub(crate) feature_version: u8,
    pub(crate) feature_parameter: U32,
    pub(crate) element_hash: u8,
    pub(crate) measure: u8,
    pub(crate) sampler: u8,
    pub(crate) universe_kind: u8,
    pub(crate) bits: u8,
    pub(crate) packing: u8,
    pub(crate) cardinality_field: u8,
    pub(crate) value_bits: u8,
    pub(crate) samples: U32,
    pub(crate) slot_count: U16,
    pub(crate) samples_per_slot: U16,
    pub(crate) min_matches: U16,
    pub(crate) element_bits: u8,
    pub(crate) reserved: [u8; 5],
    pub(crate) universe_size: U64,
    pub(crate) seed: U64,
}

impl Scheme {
    /// Returns the canonical bytes. They are equal if and only if the schemes are equal.
    pub fn to_bytes(&self) -> [u8; SCHEME_BYTES] {
        let (universe_kind, universe_size) = match self.universe {
            Universe::Open => (UNIVERSE_OPEN, 0),
            Universe::Bounded(size) => (UNIVERSE_BOUNDED, size),
        };
        let layout = Layout {
            layout_version: LAYOUT_VERSION.into(),
            feature_kind: self.features.code(),
            feature_version: self.features.version(),
            feature_parameter: self.features.parameter().into(),
            element_hash: self.features.element_hash().code(),
            measure: self.measure.code(),
            sampler: self.sampler.code(),
            universe_kind,
            bits: self.bits,
            packing: self.packing.code(),
            cardinality_field: self.cardinality.code(),
            value_bits: self.slots.value_bits,
            samples: self.samples.into(),
            slot_count: self.slots.count.into(),
            samples_per_slot: self.slots.samples_per_slot.into(),
            min_matches: self.slots.min_matches.into(),
            element_bits: self.elements.bits(),
            reserved: [0; 5],
            universe_size: universe_size.into(),
            seed: self.seed.into(),
        };
        zerocopy::transmute!(layout)
    }

    /// Reads canonical bytes. Damaged bytes give [`Error::Corrupt`], and values of a later version
    /// [`Error::UnsupportedFormat`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Scheme> {
        let layout = Layout::ref_from_bytes(bytes).map_err(|_| {
            let found = bytes.len();
            corrupt("SCHEME-1", 0, format!("it must have {SCHEME_BYTES} bytes, not {found}"))
        })?;
        if layout.layout_version != LAYOUT_VERSION {
            return Err(Error::UnsupportedFormat {
                what: "scheme layout",
                found: u64::from(layout.layout_version.get()),
                oldest: u64::from(LAYOUT_VERSION),
                newest: u64::from(LAYOUT_VERSION),
                rule: "SCHEME-2",
            });
        }
        if layout.reserved != [0; 5] {
            return Err(corrupt("SCHEME-3", 27, "reserved bytes are not zero".into()));
        }
        let parameters = Parameters {
            features: features(layout)?,
            measure: Measure::from_code(layout.measure)?,
            sampler: Sampler::from_code(layout.sampler)?,
            universe: universe(layout)?,
            seed: layout.seed.get(),
            samples: layout.samples.get(),
            bits: layout.bits,
            packing: Packing::from_code(layout.packing)?,
            cardinality: CardinalityField::from_code(layout.cardinality_field)?,
            slots: Slots {
                count: layout.slot_count.get(),
                samples_per_slot: layout.samples_per_slot.get(),
                value_bits: layout.value_bits,
                min_matches: layout.min_matches.get(),
            },
            elements: Elements::from_code(layout.element_bits),
        };
        match check(&parameters) {
            Ok(()) => Ok(Scheme { parameters }),
            Err(v) => Err(corrupt(v.rule, 0, format!("{}: {}", v.what, v.limit))),
        }
    }

    /// Returns a 64-bit hash of the canonical bytes, for display and quick rejection. Comparisons of signatures compare the
    /// whole scheme.
    pub fn fingerprint(&self) -> u64 {
        xxh3_64(&self.to_bytes())
    }
}

fn corrupt(rule: &'static str, offset: u64, detail: String) -> Error {
    Error::Corrupt { what: "scheme", offset, rule, detail }
}

/// Reads the feature kind. Its version, parameter and element hash must fit it.
fn features(layout: &Layout) -> Result<Features> {
    let (kind, parameter) = (layout.feature_kind, layout.feature_parameter.get());
    let Some(features) = Features::from_code(kind, parameter) else {
        let (oldest, newest) = Features::CODES;
        return Err(unknown("feature kind", kind, oldest, newest));
    };
    let Some(features) = features else {
        let detail = format!("feature kind {kind} does not allow the parameter {parameter}");
        return Err(corrupt("SCHEME-9", 4, detail));
    };
    let newest = features.version();
    if layout.feature_version != newest {
        return Err(unknown("feature version", layout.feature_version, newest, newest));
    }
    if ElementHash::from_code(layout.element_hash)? != features.element_hash() {
        let detail =
            format!("features `{features}` need the element hash `{}`", features.element_hash());
        return Err(corrupt("SCHEME-9", 8, detail));
    }
    Ok(features)
}

fn universe(layout: &Layout) -> Result<Universe> {
    match (layout.universe_kind, layout.universe_size.get()) {
        (UNIVERSE_OPEN, 0) => Ok(Universe::Open),
        (UNIVERSE_OPEN, size) => Err(corrupt(
            "SCHEME-8",
            32,
            format!("the size of the open universe must be 0, not {size}"),
        )),
        (UNIVERSE_BOUNDED, size) => Ok(Universe::Bounded(size)),
        (other, _) => Err(unknown("universe", other, UNIVERSE_OPEN, UNIVERSE_BOUNDED)),
    }
}

fn unknown(what: &'static str, found: u8, oldest: u8, newest: u8) -> Error {
    let [found, oldest, newest] = [found, oldest, newest].map(u64::from);
    Error::UnsupportedFormat { what, found, oldest, newest, rule: "SCHEME-4" }
}

#[cfg(test)]
mod tests {
    use super::Layout;
    use std::mem::offset_of;

    /// The struct has the fields of the table in `format-spec/scheme.md`.
    #[test]
    fn spec_table_matches_the_struct() {
        let spec = include_str!("../../format-spec/scheme.md");
        let code = [
            ("layout version", offset_of!(Layout, layout_version), 2),
            ("feature kind", offset_of!(Layout, feature_kind), 1),
            ("feature version", offset_of!(Layout, feature_version), 1),
            ("feature parameter", offset_of!(Layout, feature_parameter), 4),
            ("element hash", offset_of!(Layout, element_hash), 1),
            ("measure", offset_of!(Layout, measure), 1),
            ("sampler", offset_of!(Layout, sampler), 1),
            ("universe kind", offset_of!(Layout, universe_kind), 1),
            ("bits", offset_of!(Layout, bits), 1),
            ("packing", offset_of!(Layout, packing), 1),
            ("cardinality field", offset_of!(Layout, cardinality_field), 1),
            ("value bits", offset_of!(Layout, value_bits), 1),
            ("samples", offset_of!(Layout, samples), 4),
            ("slot count", offset_of!(Layout, slot_count), 2),
            ("samples per slot", offset_of!(Layout, samples_per_slot), 2),
            ("min matches", offset_of!(Layout, min_matches), 2),
            ("element bits", offset_of!(Layout, element_bits), 1),
            ("reserved", offset_of!(Layout, reserved), 5),
            ("universe size", offset_of!(Layout, universe_size), 8),
            ("seed", offset_of!(Layout, seed), 8),
        ];
        testkit::spec_tables::assert_matches(spec, "Layout", &code);
        assert_eq!(super::SCHEME_BYTES, 48);
    }
}
