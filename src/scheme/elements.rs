//! Whether a scheme keeps the sets themselves, and how many bits of each element.

/// What is stored of a set's elements beside its signature.
///
/// With kept elements, a database counts what two sets have in common instead of estimating it, and does not need the
/// original documents for that. A random 64-bit element takes about eight bytes. Numbers that are close together take
/// fewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Elements {
    /// Nothing is kept. There are only signatures.
    None,
    /// Every element is kept.
    Kept {
        /// Bits of each kept element. With 64, the elements themselves are kept, and counts are exact. With 8 to 63, the
        /// low bits of a hash of each element are kept. Elements may then collide, so queries and pairs use the
        /// signatures, and their results are estimates. The caller can read the kept bits with `Signature::elements`.
        bits: u8,
    },
}

impl Elements {
    /// Keeps the elements themselves.
    pub const EXACT: Elements = Elements::Kept { bits: 64 };

    /// Whether sets are kept.
    pub const fn are_kept(self) -> bool {
        matches!(self, Elements::Kept { .. })
    }

    /// Whether whole elements are kept, so that counts are exact.
    pub const fn are_exact(self) -> bool {
        matches!(self, Elements::Kept { bits: 64 })
    }

    /// Returns the bits kept of each element; 0 for none. This is also the code in stored bytes.
    pub const fn bits(self) -> u8 {
        match self {
            Elements::None => 0,
            Elements::Kept { bits } => bits,
        }
    }

    /// Returns the choice with this code.
    pub(super) const fn from_code(code: u8) -> Elements {
        match code {
            0 => Elements::None,
            bits => Elements::Kept { bits },
        }
    }
}

impl std::fmt::Display for Elements {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Elements::None => f.write_str("none"),
            Elements::Kept { bits } => write!(f, "{bits} bits"),
        }
    }
}
