//! Signatures as binary features, for linear learners.
//!
//! In: a signature. Out: the indices of its ones in a vector of `k * 2^b` zeros and ones. The vector has one group of
//! `2^b` places for each sample, and a one where the sample's value is. So the inner product of two vectors is the
//! number of equal samples, and a linear learner on these vectors approximates one with resemblance as its kernel (Li
//! and König, section 7.2).

use super::signature::Signature;

impl Signature {
    /// The indices of the ones in the sparse binary vector of this signature, ascending. Sample j with value v has the
    /// index `j * 2^b + v`, so there are exactly k ones among `k * 2^b` places. The inner product of two such vectors
    /// is the [number of equal samples](Signature::count_equal).
    ///
    /// The empty set has no samples and no ones.
    ///
    /// ```
    /// use ringer::{Scheme, Sketcher};
    /// let sketcher = Sketcher::new(&Scheme::near_duplicate()); // 64 samples of 8 bits
    /// let signature = sketcher.sketch(&[1, 2, 3])?;
    /// let features: Vec<u64> = signature.features().collect();
    /// assert_eq!(features.len(), 64);
    /// assert_eq!(features[5], 5 * 256 + u64::from(signature.sample(5).unwrap()));
    /// # Ok::<(), ringer::Error>(())
    /// ```
    pub fn features(&self) -> impl Iterator<Item = u64> {
        let bits = self.scheme().bits;
        let samples = if self.is_empty() { 0 } else { self.scheme().samples };
        (0..samples).filter_map(move |j| {
            let value = self.sample(j as usize)?;
            Some(u64::from(j) << bits | u64::from(value))
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::scheme::{Parameters, Slots, presets};
    use crate::{Scheme, Signature, Sketcher};

    /// The vector of zeros and ones, from the bits of the stored planes.
    fn vector(signature: &Signature) -> Vec<u8> {
        let (k, b) = (signature.scheme().samples as usize, usize::from(signature.scheme().bits));
        let words = k.div_ceil(64);
        let mut vector = vec![0; k << b];
        for j in 0..k {
            let bit = |i: usize| (signature.planes()[i * words + j / 64] >> (j % 64) & 1) as usize;
            vector[(j << b) + (0..b).map(|i| bit(i) << i).sum::<usize>()] = 1;
        }
        vector
    }

    #[test]
    fn features_are_the_ones_of_the_vector_and_count_equal_samples() {
        for (samples, bits) in [(1, 1), (63, 2), (64, 8), (65, 3), (130, 11), (12, 16)] {
            let p = Parameters { samples, bits, slots: Slots::NONE, ..presets::PRECISE };
            let sketcher = Sketcher::new(&Scheme::new(p).unwrap());
            let signatures: Vec<Signature> = [0..50_u64, 10..60, 1000..1001]
                .map(|range| sketcher.sketch(&range.collect::<Vec<_>>()).unwrap())
                .into();
            for a in &signatures {
                let ones: Vec<u64> =
                    (0..).zip(vector(a)).filter(|(_, one)| *one == 1).map(|(i, _)| i).collect();
                assert_eq!(a.features().collect::<Vec<_>>(), ones, "k {samples} b {bits}");
                assert_eq!(ones.len(), samples as usize);
                for b in &signatures {
                    let both = vector(a).iter().zip(vector(b)).filter(|(x, y)| *x & y == 1).count();
                    assert_eq!(both as u32, a.count_equal(b).unwrap(), "k {samples} b {bits}");
                }
            }
            let empty = sketcher.sketch(&[]).unwrap();
            assert_eq!(empty.features().count(), 0);
        }
    }
}
