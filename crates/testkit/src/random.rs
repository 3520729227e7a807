//! The random number generator of all tests and benches: splitmix64, which the library itself does not use.
//!
//! A seed gives the same numbers in every run and on every machine.

/// Added to the state before each number.
pub const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// The output function of splitmix64: a bijection in which every input bit changes half of the output bits.
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Returns word number i of `Random(0)`, counted from 1.
pub fn word_at(i: u64) -> u64 {
    mix(i.wrapping_mul(STEP))
}

/// A generator with its seed.
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    /// Returns the generator for one object of a kind, independent of those of other kinds and numbers.
    pub fn of(kind: u64, number: u64) -> Random {
        Random(mix(mix(kind).wrapping_add(number)))
    }

    /// Returns 64 random bits.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// Returns a number from 0 to `limit - 1`, or 0 if the limit is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.word()) * u128::from(limit)) >> 64) as u64
    }

    /// Returns an index into a slice of this length.
    pub fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// Returns a number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns `count` random bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.word() as u8).collect()
    }
}
