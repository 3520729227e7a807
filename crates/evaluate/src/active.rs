//! Weighted sampling by active indices (001, 5.1): a baseline that the library does not have.
//!
//! Each element has, for each sample, a random sequence of active indices: on a logarithmic scale they are evenly spread. A
//! weight is between two of them. The lower one stands for the weight, so that a small change of the weight leaves the sample
//! as it is. The upper one, z, decides the value, whose distribution is `F(x) = (1 - ln x^z) x^z`. The element with the
//! largest value is the sample.

use testkit::random::{Random, mix};

/// The active indices of an element in the octave above `2^exponent`, from the highest down.
fn octave(mut random: Random, exponent: i32) -> Vec<f64> {
    let (low, mut at) = (f64::from(exponent).exp2(), f64::from(exponent + 1).exp2());
    let mut indices = Vec::new();
    loop {
        at *= 1.0 - random.unit();
        if at <= low {
            return indices;
        }
        indices.push(at);
    }
}

/// The active indices below and above a weight, or at it.
fn around(weight: f64, stream: u64) -> (f64, f64) {
    let of = |exponent: i32| octave(Random::of(stream, i64::from(exponent) as u64), exponent);
    let own = weight.log2().ceil() as i32 - 1;
    let below = (0..).flat_map(|down| of(own - down)).find(|index| *index <= weight);
    let above = (0..).find_map(|up| of(own + up).into_iter().rev().find(|index| *index > weight));
    (below.unwrap_or(0.0), above.unwrap_or(f64::INFINITY))
}

/// Sample j: an element and the active index below its weight. Weights are positive.
pub(crate) fn sample(set: &[(u64, f64)], seed: u64, j: u64) -> Option<(u64, u64)> {
    let of = |(element, weight): &(u64, f64)| {
        let stream = mix(mix(mix(seed).wrapping_add(j)).wrapping_add(*element));
        let (below, above) = around(*weight, stream);
        // With t = -z ln x, F is the upper tail (1 + t) e^-t of a sum of two exponential numbers.
        let mut random = Random::of(stream, above.to_bits());
        let t = -(1.0 - random.unit()).ln() - (1.0 - random.unit()).ln();
        (t / above, (*element, below.to_bits()))
    };
    set.iter().map(of).min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, sample)| sample)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An element is sampled in proportion to its weight.
    #[test]
    fn elements_are_sampled_by_weight() {
        let set = [(1, 0.3), (2, 1.0), (3, 2.7)];
        let mut counts = [0.0; 4];
        for j in 0..8000 {
            counts[sample(&set, 5, j).unwrap().0 as usize] += 1.0;
        }
        for (element, weight) in set {
            let (n, p) = (counts[element as usize], weight / 4.0);
            // Five standard errors.
            assert!((n - 8000.0 * p).abs() < 5.0 * (8000.0 * p * (1.0 - p)).sqrt(), "{counts:?}");
        }
    }

    /// Half of the octaves have no active index, and a weight is between its neighbours.
    #[test]
    fn active_indices_surround_a_weight() {
        let empty = (0..4000).filter(|x| octave(Random::of(9, *x), 3).is_empty()).count();
        assert!((1840..2160).contains(&empty), "{empty} of 4000 octaves are empty");
        for stream in 0..200 {
            for weight in [0.01, 1.0, 3.0, 1000.0] {
                let (below, above) = around(weight, stream);
                assert!(below <= weight && weight < above, "{below} {weight} {above}");
                assert_eq!(
                    around(below, stream),
                    (below, above),
                    "the index stands for the weight"
                );
            }
        }
    }
}
