//! The normal form of weighted sets: distinct elements, ascending, each with one valid weight.
//!
//! In: elements with weights, in any order and with repeats. Out: the normal form, or an error that names the weight.
//! Normative: `format-spec/hashing.md`.

use crate::error::{Error, Result};
use crate::scheme::Measure;

/// Brings a weighted set into normal form, in place. Repeats become one element with the sum of their weights
/// (WEIGHT-1, WEIGHT-2).
pub(crate) fn settle(set: &mut Vec<(u64, f64)>, measure: Measure) -> Result<()> {
    set.iter().try_for_each(|(element, weight)| check(*element, *weight, measure))?;
    let order = |a: &(u64, f64), b: &(u64, f64)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1));
    if !set.is_sorted_by(|a, b| a.0 < b.0) {
        set.sort_unstable_by(order);
        set.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        // A sum of valid weights may be too large.
        set.iter().try_for_each(|(element, weight)| check(*element, *weight, Measure::Cosine))?;
    }
    if measure == Measure::Cosine {
        set.retain(|(_, weight)| *weight != 0.0);
    }
    Ok(())
}

/// Rejects a weight that the measure does not allow (WEIGHT-1).
pub(crate) fn check(element: u64, weight: f64, measure: Measure) -> Result<()> {
    let (sound, limit) = match measure {
        Measure::Cosine => (weight.is_finite(), "weights are finite numbers"),
        Measure::Weighted | Measure::Jaccard => {
            (weight.is_finite() && weight > 0.0, "weights are finite numbers above 0")
        }
    };
    if sound {
        return Ok(());
    }
    Err(Error::invalid(format!("weight {weight} of element {element}"), limit))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// WEIGHT-2.
    #[test]
    fn repeats_add_up_whatever_their_order() {
        let weights = [0.1, 1e17, -9e16, 3.5, 0.2];
        let mut sums = std::collections::HashSet::new();
        for turn in 0..5 {
            let mut set: Vec<_> = weights.iter().map(|w| (7, *w)).collect();
            set.rotate_left(turn);
            set.push((3, 2.0));
            settle(&mut set, Measure::Cosine).unwrap();
            assert_eq!((set.len(), set[0]), (2, (3, 2.0)));
            assert_eq!(set[1], (7, -9e16 + 0.1 + 0.2 + 3.5 + 1e17));
            sums.insert(set[1].1.to_bits());
        }
        assert_eq!(sums.len(), 1);
    }

    /// WEIGHT-1.
    #[test]
    fn unsound_weights_are_refused() {
        for weight in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(settle(&mut vec![(1, weight)], Measure::Cosine).is_err(), "{weight}");
        }
        for weight in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = settle(&mut vec![(9, weight)], Measure::Weighted).unwrap_err();
            assert!(error.to_string().contains("of element 9: weights are finite"), "{error}");
        }
        let mut huge = vec![(1, f64::MAX), (1, f64::MAX)];
        let error = settle(&mut huge, Measure::Weighted).unwrap_err().to_string();
        assert!(error.contains("weight inf of element 1"), "{error}");
        let mut tiny = vec![(2, f64::MIN_POSITIVE / 4.0)];
        assert!(settle(&mut tiny, Measure::Weighted).is_ok());
    }

    #[test]
    fn coordinates_that_cancel_are_gone() {
        let mut vector = vec![(1, 2.0), (2, 0.0), (1, -2.0)];
        settle(&mut vector, Measure::Cosine).unwrap();
        assert!(vector.is_empty());
    }
}
