//! Plain minwise signatures for the peers that need signatures as input. Sample i of a set is the minimum of `a_i x +
//! b_i mod 2^64` over its elements x, of which the upper 32 bits are kept.

use testkit::random::Random;
use testkit::workload::Set;

/// Samples of a signature.
pub(crate) const SAMPLES: usize = 128;

/// A signature.
pub(crate) type Signature = [u32; SAMPLES];

/// The multipliers and summands of all samples.
#[derive(Debug)]
pub(crate) struct Minwise {
    a: [u64; SAMPLES],
    b: [u64; SAMPLES],
}

impl Minwise {
    /// The one family that is used here.
    pub(crate) fn new() -> Minwise {
        let mut random = Random::of(7, 0);
        let a = std::array::from_fn(|_| random.word() | 1);
        Minwise { a, b: std::array::from_fn(|_| random.word()) }
    }

    /// The signature of a set.
    pub(crate) fn sketch(&self, set: &Set) -> Signature {
        let mut least = [u64::MAX; SAMPLES];
        for x in set {
            for (least, (a, b)) in least.iter_mut().zip(self.a.iter().zip(&self.b)) {
                *least = (*least).min(a.wrapping_mul(*x).wrapping_add(*b));
            }
        }
        least.map(|least| (least >> 32) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::workload::{MEMBERS, Workload, resemblance};

    #[test]
    fn samples_agree_as_often_as_sets_are_alike() {
        let (w2, minwise) = (Workload::new(20_000), Minwise::new());
        for member in 0..MEMBERS {
            let mut equal = 0;
            for cluster in 0..w2.clusters() {
                let query = minwise.sketch(&w2.query(cluster));
                let planted = minwise.sketch(&w2.set(w2.member(cluster, member)));
                equal += query.iter().zip(&planted).filter(|(a, b)| a == b).count();
            }
            let (samples, wanted) = (w2.clusters() as f64 * SAMPLES as f64, resemblance(member));
            let found = equal as f64 / samples;
            let deviation = (wanted * (1.0 - wanted) / samples).sqrt();
            assert!((found - wanted).abs() < 5.0 * deviation, "{found} for {wanted}");
        }
    }
}
