//! The named choices of a scheme. Each is an enum whose variants have a code in the file, and a name for messages and the
//! command line.
//!
//! A code is never used again for something else (`format-spec/scheme.md`).

use crate::error::{Error, Result};

/// Declares an enum whose variants have a stable code and a stable name.
macro_rules! coded {
    ($(#[$doc:meta])* $name:ident, $what:literal {
        $($(#[$vdoc:meta])* $variant:ident = $code:literal, $text:literal;)+
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name { $($(#[$vdoc])* $variant,)+ }

        impl $name {
            /// All choices that this version knows, in the order of their codes.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            /// Returns the code in stored bytes.
            pub const fn code(self) -> u8 {
                match self { $($name::$variant => $code,)+ }
            }

            /// Returns the name in messages and on the command line.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)+ }
            }

            /// Returns the choice with this code. Codes of later versions are rejected (SCHEME-4).
            pub(crate) fn from_code(code: u8) -> Result<$name> {
                match code {
                    $($code => Ok($name::$variant),)+
                    _ => Err(Error::UnsupportedFormat {
                        what: $what,
                        found: u64::from(code),
                        oldest: $name::ALL.iter().map(|c| u64::from(c.code())).min().unwrap_or(0),
                        newest: $name::ALL.iter().map(|c| u64::from(c.code())).max().unwrap_or(0),
                        rule: "SCHEME-4",
                    }),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $name {
            type Err = Error;

            fn from_str(text: &str) -> Result<$name> {
                $name::ALL.iter().copied().find(|c| c.name() == text).ok_or_else(|| {
                    let known: Vec<_> = $name::ALL.iter().map(|c| c.name()).collect();
                    Error::invalid(
                        format!(concat!($what, " `{}`"), text),
                        format!("choose one of {}", known.join(", ")),
                    )
                })
            }
        }
    };
}

coded! {
    /// How bytes become 64-bit features.
    ElementHash, "element hash" {
        /// The caller gives numbers, and they are the features.
        Identity = 1, "identity";
        /// XXH3 (64 bits, seed 0) of the bytes of the token or shingle.
        Xxh3 = 2, "xxh3-64";
    }
}

coded! {
    /// What "similar" means.
    Measure, "measure" {
        /// Resemblance: intersection over union of two sets.
        Jaccard = 1, "jaccard";
        /// Weighted resemblance: the sum of the smaller weights over the sum of the larger ones.
        Weighted = 2, "weighted";
        /// The cosine of the angle between two vectors, whose coordinates are the weights.
        Cosine = 3, "cosine";
    }
}

coded! {
    /// How a set becomes samples.
    Sampler, "sampler" {
        /// One permutation cut into k bins. Empty bins are filled from others. It takes one hash per element.
        OnePermutation = 1, "one-permutation";
        /// The minima of k independent permutations. It takes k hashes per element, and is the reference.
        Independent = 2, "independent";
        /// Samples with the distribution of independent permutations, for one or two hashes per element. With 128
        /// samples it is over 20 times as fast for a thousand elements, twice as fast for a hundred, and no faster for
        /// five.
        Lazy = 3, "lazy";
        /// Consistent samples of weighted sets, for weighted resemblance.
        Weighted = 4, "weighted";
        /// The signs of k random projections of a vector, for the cosine.
        SignProjection = 5, "sign-projection";
        /// Every element visits all bins in its own order, and each bin keeps the element that comes first. This is the
        /// default, since it is accurate for sets of any size. Up to about k elements, the variance is a third to a half
        /// of that of independent permutations, while that of one permutation is larger. From 8 k elements on it takes
        /// one hash per element and is as fast as one permutation.
        EveryBin = 6, "every-bin";
    }
}

coded! {
    /// What is kept of the k samples.
    Packing, "packing" {
        /// The low b bits of each sample.
        LowBits = 1, "low-bits";
        /// Half a bit per sample: of 2k samples of one bit, the XOR of each two is kept. This suits very high
        /// resemblance ([`crate::estimate::half_bit`]).
        XorPairs = 2, "xor-pairs";
    }
}

coded! {
    /// What is kept of a set's size.
    CardinalityField, "cardinality field" {
        /// Nothing. Only the resemblance can be estimated, and its error is not corrected for small sets.
        None = 0, "none";
        /// 4 bits: the middle of one of 16 equal levels of f/D. Bounded universe only.
        Linear4 = 1, "linear4";
        /// 8 bits: the middle of one of 256 equal levels of f/D. Bounded universe only.
        Linear8 = 2, "linear8";
        /// 8 bits: eight steps to each doubling of f, at most 4.43 % off.
        Log8 = 3, "log8";
        /// 32 bits: the number itself.
        Exact = 4, "exact";
    }
}

impl Measure {
    /// Returns the name of its similarity, `resemblance` or `cosine`.
    pub const fn similarity_name(self) -> &'static str {
        match self {
            Measure::Jaccard | Measure::Weighted => "resemblance",
            Measure::Cosine => "cosine",
        }
    }
}

impl Sampler {
    /// Returns the measure that signatures of this sampler estimate.
    pub const fn measure(self) -> Measure {
        match self {
            Sampler::OnePermutation | Sampler::Independent | Sampler::Lazy | Sampler::EveryBin => {
                Measure::Jaccard
            }
            Sampler::Weighted => Measure::Weighted,
            Sampler::SignProjection => Measure::Cosine,
        }
    }
}

impl Sampler {
    /// Whether samples come from permutations of the universe, so that it may be bounded (SCHEME-14).
    pub(super) const fn permutes(self) -> bool {
        match self {
            Sampler::OnePermutation | Sampler::Independent => true,
            Sampler::Lazy | Sampler::Weighted | Sampler::SignProjection | Sampler::EveryBin => {
                false
            }
        }
    }

    /// Whether samples are independent of each other, so that pairs of them can be packed (SCHEME-17).
    pub(super) const fn packs_pairs(self) -> bool {
        match self {
            Sampler::Independent | Sampler::Lazy | Sampler::Weighted => true,
            Sampler::OnePermutation | Sampler::SignProjection | Sampler::EveryBin => false,
        }
    }
}

/// Where the elements of the sets come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Universe {
    /// Any 64-bit number. Sets are tiny compared with 2^64, so samples agree by chance with probability `2^-b`.
    Open,
    /// The numbers `0..D`. Samples come from true permutations of them, and estimates use the share of the universe that
    /// a set fills. The formulas are exact for large D. The error includes 1/D, which matters below about a thousand.
    Bounded(u64),
}

impl std::fmt::Display for Universe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Universe::Open => f.write_str("open"),
            Universe::Bounded(size) => write!(f, "bounded({size})"),
        }
    }
}

/// The slots of the index: `count` groups of `samples_per_slot` consecutive samples.
///
/// In a scheme without an index all four numbers are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Slots {
    /// L, the number of slots. `count * samples_per_slot` is at most the number of samples.
    pub count: u16,
    /// g, the number of consecutive samples of a slot.
    pub samples_per_slot: u16,
    /// v, the bits of a slot value. If the samples have more bits, they are hashed to v bits.
    pub value_bits: u8,
    /// m, the number of slots that must match for a signature to become a candidate.
    pub min_matches: u16,
}

impl Slots {
    /// No index. Every query is a scan.
    pub const NONE: Slots = Slots { count: 0, samples_per_slot: 0, value_bits: 0, min_matches: 0 };
}

impl std::fmt::Display for Slots {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Slots { count, samples_per_slot, value_bits, min_matches } = self;
        if count == &0 {
            return f.write_str("none");
        }
        write!(f, "{count} of {samples_per_slot} ({value_bits} bits, at least {min_matches})")
    }
}
