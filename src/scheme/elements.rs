//! Whether a scheme keeps the sets themselves, and in how many bits for each element.

/// What is stored of a set's elements beside its signature.
///
/// With the elements a database can count what two sets have in common, instead of estimating it, without
/// going back to where the sets came from. They cost about as many bytes as they have: eight for each random
/// 64-bit element, fewer for numbers that lie close together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Elements {
    /// Nothing: signatures only.
    None,
    /// Every element.
    Kept {
        /// 64 keeps the elements themselves, and counts are exact. With fewer, 8 to 63, the low bits of a hash
        /// of each element are kept. Elements may then collide, so queries, pairs and estimates use the signatures and are labelled
        /// as estimates. The kept bits are there for the caller, as `Signature::elements`.
        bits: u8,
    },
}

impl Elements {
    /// The elements themselves.
    pub const EXACT: Elements = Elements::Kept { bits: 64 };

    /// Whether sets are kept.
    pub const fn are_kept(self) -> bool {
        matches!(self, Elements::Kept { .. })
    }

    /// Whether sets are kept as they are, so that counts over them are exact.
    pub const fn are_exact(self) -> bool {
        matches!(self, Elements::Kept { bits: 64 })
    }

    /// Bits kept of each element, 0 for none. This is also the code in stored bytes.
    pub const fn bits(self) -> u8 {
        match self {
            Elements::None => 0,
            Elements::Kept { bits } => bits,
        }
    }

    /// The choice with this code.
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
