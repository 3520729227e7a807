//! The cardinality field: the size of a set, stored in 0, 4, 8 or 32 bits.
//!
//! In: the number of distinct elements. Out: the stored code; and from a code, the size with the half width of its range.
//! The specification is `format-spec/signature.md`. The formulas are the quantised cardinalities of Li and König.

use std::sync::LazyLock;

use super::{CardinalityField, Universe};
use crate::error::{Error, Result};
use crate::limits::{MAX_EXACT_CARDINALITY, MAX_LOG8_CARDINALITY};

/// The size of a set, as exact as the stored field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cardinality {
    /// The size, or the middle of its range.
    pub value: f64,
    /// The size is in `value - half_width ..= value + half_width`. It is 0 for an exact size.
    pub half_width: f64,
}

impl Cardinality {
    /// Returns a size that is known exactly.
    pub fn exact(elements: u64) -> Cardinality {
        Cardinality { value: elements as f64, half_width: 0.0 }
    }

    /// Returns the smallest whole number in the range, and at least 1 for a set that is not empty.
    pub fn least(&self) -> f64 {
        (self.value - self.half_width - ROUNDING).ceil().max(self.value.min(1.0))
    }

    /// Returns the largest whole number in the range.
    pub fn most(&self) -> f64 {
        (self.value + self.half_width + ROUNDING).floor().max(self.least())
    }

    /// Returns the size if there is only one whole number in the range.
    pub fn known(&self) -> Option<f64> {
        Some(self.least()).filter(|least| *least == self.most())
    }
}

/// An upper bound of the floating-point error of the ends of a range.
const ROUNDING: f64 = 1e-9;

impl CardinalityField {
    /// Returns the bits of the field per row.
    pub const fn bits(self) -> u32 {
        match self {
            CardinalityField::None => 0,
            CardinalityField::Linear4 => 4,
            CardinalityField::Linear8 | CardinalityField::Log8 => 8,
            CardinalityField::Exact => 32,
        }
    }

    /// Whether the code is that of the size itself. Only the empty set then has the code 0.
    pub(crate) const fn tells_size(self) -> bool {
        match self {
            CardinalityField::Log8 | CardinalityField::Exact => true,
            CardinalityField::None | CardinalityField::Linear4 | CardinalityField::Linear8 => false,
        }
    }

    /// Whether the code is a level of a bounded universe.
    pub(super) const fn is_linear(self) -> bool {
        match self {
            CardinalityField::Linear4 | CardinalityField::Linear8 => true,
            CardinalityField::None | CardinalityField::Log8 | CardinalityField::Exact => false,
        }
    }

    /// Returns the code of a set of `elements` distinct elements. It is 0 for the empty set, and if there is no field.
    pub fn encode(self, elements: u64, universe: Universe) -> Result<u32> {
        if elements == 0 {
            return Ok(0);
        }
        match self {
            CardinalityField::None => Ok(0),
            CardinalityField::Linear4 => Ok(linear_code(elements, universe, 16)),
            CardinalityField::Linear8 => Ok(linear_code(elements, universe, 256)),
            CardinalityField::Log8 => {
                at_most(elements, MAX_LOG8_CARDINALITY, self)?;
                Ok(1 + (8.0 * (elements as f64).log2()).round() as u32)
            }
            CardinalityField::Exact => {
                at_most(elements, MAX_EXACT_CARDINALITY, self)?;
                Ok(elements as u32)
            }
        }
    }

    /// Returns the size that a code means; `None` if there is no field. The set must not be empty.
    pub fn decode(self, code: u32, universe: Universe) -> Option<Cardinality> {
        match self {
            CardinalityField::None => None,
            CardinalityField::Linear4 => Some(linear_value(code, universe, 16)),
            CardinalityField::Linear8 => Some(linear_value(code, universe, 256)),
            CardinalityField::Log8 => Some(log8_value(code)),
            CardinalityField::Exact => Some(Cardinality::exact(u64::from(code))),
        }
    }

    /// Whether `encode` can return this code for a set that is not empty.
    pub fn is_valid_code(self, code: u32) -> bool {
        match self {
            CardinalityField::None => code == 0,
            CardinalityField::Linear4 => code < 16,
            CardinalityField::Linear8 => code < 256,
            CardinalityField::Log8 => (1..256).contains(&code),
            CardinalityField::Exact => code >= 1,
        }
    }
}

/// Returns the size that a `log8` code means: `2^((c-1)/8)`, within a factor of `2^(1/16)`. If the range has only one whole
/// number, which is so up to 12, the size is exact.
fn log8_value(code: u32) -> Cardinality {
    static SIZES: LazyLock<[Cardinality; 256]> = LazyLock::new(|| {
        std::array::from_fn(|code| {
            let value = ((code.max(1) - 1) as f64 / 8.0).exp2();
            let size = Cardinality { value, half_width: value * (0.0625_f64.exp2() - 1.0) };
            size.known().map_or(size, |known| Cardinality { value: known, half_width: 0.0 })
        })
    });
    SIZES[code.min(255) as usize]
}

fn at_most(elements: u64, most: u64, field: CardinalityField) -> Result<()> {
    if elements > most {
        return Err(Error::invalid(
            format!("a set of {elements} elements"),
            format!("the cardinality field `{field}` holds at most {most}"),
        ));
    }
    Ok(())
}

/// Returns the size of the universe. Only bounded universes have linear levels.
fn size(universe: Universe) -> u64 {
    match universe {
        Universe::Bounded(size) => size.max(1),
        Universe::Open => u64::MAX,
    }
}

/// Computes the level `min(floor(f Q / D), Q - 1)` in exact integers.
fn linear_code(elements: u64, universe: Universe, levels: u32) -> u32 {
    let level = u128::from(elements) * u128::from(levels) / u128::from(size(universe));
    level.min(u128::from(levels - 1)) as u32
}

/// Computes the middle of the level, `r = (l + 1/2) / Q`, as a number of elements.
fn linear_value(code: u32, universe: Universe, levels: u32) -> Cardinality {
    let step = size(universe) as f64 / f64::from(levels);
    Cardinality { value: (f64::from(code) + 0.5) * step, half_width: 0.5 * step }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log8_is_within_its_stated_error_and_never_leaves_its_codes() {
        let mut worst: f64 = 0.0;
        let mut sizes: Vec<u64> = (1..5000).collect();
        sizes.extend((0..20_000).map(|i| (1.001_f64.powi(i)) as u64 + 1));
        sizes.push(MAX_LOG8_CARDINALITY);
        for f in sizes.into_iter().filter(|f| *f <= MAX_LOG8_CARDINALITY) {
            let code = CardinalityField::Log8.encode(f, Universe::Open).unwrap();
            assert!(CardinalityField::Log8.is_valid_code(code), "{f} -> {code}");
            let back = CardinalityField::Log8.decode(code, Universe::Open).unwrap();
            worst = worst.max((back.value / f as f64 - 1.0).abs());
            assert!((back.value - f as f64).abs() <= back.half_width * 1.0001, "{f}");
        }
        assert!(worst <= 0.0443 + 1e-4 && worst > 0.043, "{worst}");
        assert!(CardinalityField::Log8.encode(MAX_LOG8_CARDINALITY + 1, Universe::Open).is_err());
    }

    /// The range of a code includes every size with that code. Up to 12 elements there is only one.
    #[test]
    fn ranges_hold_the_sizes_of_their_code() {
        for f in (1..5000).chain([100_000, 7_654_321]) {
            for (field, universe) in [
                (CardinalityField::Log8, Universe::Open),
                (CardinalityField::Exact, Universe::Open),
                (CardinalityField::Linear8, Universe::Bounded(10_000_000)),
            ] {
                let code = field.encode(f, universe).unwrap();
                let size = field.decode(code, universe).unwrap();
                let f = f as f64;
                assert!(size.least() <= f && f <= size.most(), "{field} {f}: {size:?}");
                assert!(size.least() >= 1.0 && size.least() <= size.most(), "{field} {f}");
                match field {
                    CardinalityField::Exact => assert_eq!(size.known(), Some(f)),
                    CardinalityField::Log8 if f <= 12.0 => assert_eq!(size.known(), Some(f)),
                    _ => {}
                }
            }
        }
    }

    #[test]
    fn linear_levels_are_the_middles_of_equal_parts() {
        let d = Universe::Bounded(65_536);
        for (f, level) in [(1, 0), (4095, 0), (4096, 1), (65_535, 15), (65_536, 15)] {
            assert_eq!(CardinalityField::Linear4.encode(f, d), Ok(level));
        }
        let c = CardinalityField::Linear8.decode(10, d).unwrap();
        assert_eq!((c.value / 65_536.0, c.half_width / 65_536.0), (10.5 / 256.0, 0.5 / 256.0));
    }

    #[test]
    fn exact_refuses_what_it_cannot_hold() {
        let field = CardinalityField::Exact;
        assert_eq!(field.encode(u64::from(u32::MAX), Universe::Open), Ok(u32::MAX));
        assert!(matches!(
            field.encode(1 << 32, Universe::Open),
            Err(Error::InvalidArgument { .. })
        ));
    }
}
