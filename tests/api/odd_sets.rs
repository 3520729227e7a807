//! Sketches of unusual sets: empty ones, repeated elements, tiny ones, the ends of the universe. Signatures of
//! different schemes are never compared.

use proptest::prelude::*;
use ringer::scheme::{CardinalityField, Sampler, Slots, Universe};
use ringer::{Error, Parameters, Scheme, Signature, Signatures, Sketcher, presets, resemblance_of};

fn every_scheme() -> Vec<Scheme> {
    let mut all = Vec::new();
    for sampler in [Sampler::OnePermutation, Sampler::Independent] {
        for universe in [Universe::Open, Universe::Bounded(1 << 16), Universe::Bounded(70_001)] {
            for samples in [64, 100, 128] {
                let cardinality = CardinalityField::Log8;
                let slots = Slots::NONE;
                let p = presets::PRECISE
                    .with_sampler(sampler)
                    .with_universe(universe)
                    .with_samples(samples)
                    .with_cardinality(cardinality)
                    .with_slots(slots);
                all.push(Scheme::new(p).unwrap());
            }
        }
    }
    all
}

#[test]
fn the_empty_set_is_a_defined_case() {
    for scheme in every_scheme() {
        let sketcher = Sketcher::new(&scheme);
        let empty = sketcher.sketch(&[]).unwrap();
        let other = sketcher.sketch(&[1, 2, 3]).unwrap();
        assert!(empty.is_empty() && !other.is_empty() && empty != other);
        assert_eq!(sketcher.stream().finish().as_ref(), Ok(&empty));
        assert_eq!(empty.cardinality().map(|c| c.value), Some(0.0));
        // Compared with any other set: exactly 0. With another empty set: undefined, which is an error.
        let r = empty.resemblance(&other).unwrap();
        assert_eq!((r.value, r.std_error, r.low, r.high), (0.0, 0.0, 0.0, 0.0));
        let undefined = Error::Undefined { measure: "the resemblance of empty sets" };
        assert_eq!(empty.resemblance(&empty), Err(undefined.clone()));
        assert_eq!(resemblance_of(&[&empty, &empty, &empty]), Err(undefined));
        assert_eq!(resemblance_of(&[&empty, &other, &other]).map(|e| e.high), Ok(0.0));
        let c = other.compare(&empty).unwrap();
        assert_eq!(c.probability_at_least(0.01), 0.0);
        assert_eq!(c.intersection().map(|e| e.value), Ok(0.0));
        for measure in [c.union().unwrap(), c.hamming().unwrap()] {
            assert!((measure.value - 3.0).abs() < 0.14 && measure.std_error < 0.14, "{measure}");
            assert!(measure.low <= measure.value && measure.value <= measure.high, "{measure}");
        }
        assert_eq!(c.containment_of_first().map(|e| e.value), Ok(0.0));
        let measure = "containment";
        assert_eq!(c.containment_of_second(), Err(Error::Undefined { measure }));
        assert_eq!(c.overlap(), Err(Error::Undefined { measure: "the overlap" }));
    }
}

#[test]
fn an_element_outside_the_universe_is_named() {
    for scheme in every_scheme() {
        let Universe::Bounded(size) = scheme.universe else { continue };
        let sketcher = Sketcher::new(&scheme);
        assert!(sketcher.sketch(&[0, size - 1]).is_ok());
        let error = sketcher.sketch(&[0, size, 1]).unwrap_err();
        let text = format!("element {size}: elements of this universe are 0 to {}", size - 1);
        assert_eq!(error.to_string(), text);
        let many = sketcher.sketch_all(&[vec![0], vec![1], vec![size]]).unwrap_err();
        assert_eq!(many.to_string(), format!("set 2: {text}"));
        // After a rejected element the stream continues as if it had not been pushed.
        let mut stream = sketcher.stream();
        stream.push(5).unwrap();
        assert!(stream.push(size).is_err());
        stream.push(7).unwrap();
        assert_eq!(stream.finish(), sketcher.sketch(&[5, 7]));
    }
}

/// Schemes that differ in anything reject each other's signatures, in every function (SIG-6).
#[test]
fn signatures_of_different_schemes_are_never_compared() {
    let base = presets::PRECISE.with_sampler(Sampler::OnePermutation);
    let others = [
        base.with_seed(1),
        base.with_bits(5),
        base.with_samples(129),
        base.with_sampler(Sampler::Independent),
        base.with_sampler(Sampler::EveryBin),
        base.with_cardinality(CardinalityField::Exact),
        base.with_universe(Universe::Bounded(1 << 20)),
        base.with_slots(Slots::NONE),
    ];
    let sketch = |p: Parameters| Sketcher::new(&Scheme::new(p).unwrap()).sketch(&[1, 2]).unwrap();
    let a = sketch(base);
    for p in others {
        let b = sketch(p);
        let mismatch = Error::SchemeMismatch {
            stored: Box::new(a.scheme().clone()),
            requested: Box::new(b.scheme().clone()),
        };
        assert_eq!(a.compare(&b).map(|_| ()), Err(mismatch.clone()));
        assert_eq!(a.count_equal(&b), Err(mismatch.clone()));
        assert_eq!(a.equal_mask(&b), Err(mismatch.clone()));
        assert!(matches!(resemblance_of(&[&a, &a, &b]), Err(Error::SchemeMismatch { .. })));
        let mut many = Signatures::new(a.scheme());
        assert_eq!(many.push(&b), Err(mismatch));
        assert!(many.count_equal(&b, &mut Vec::new()).is_err());
        assert_eq!(a.scheme().differences(b.scheme()).len(), 1);
    }
    // Two schemes with the same parameters are the same scheme.
    assert!(a.compare(&sketch(base)).is_ok());
}

#[test]
fn measures_need_sizes() {
    let p = presets::PRECISE.with_cardinality(CardinalityField::None);
    let sketcher = Sketcher::new(&Scheme::new(p).unwrap());
    let (a, b) = (sketcher.sketch(&[1, 2]).unwrap(), sketcher.sketch(&[2, 3]).unwrap());
    let c = a.compare(&b).unwrap();
    let error = c.containment_of_first().unwrap_err();
    assert_eq!(error, Error::NoCardinality { measure: "containment", field: "none" });
    assert!(error.to_string().contains("sketch with `log8` or `exact`"));
    assert!(c.intersection().is_err() && c.union().is_err() && c.hamming().is_err());
    assert_eq!(a.cardinality(), None);
}

/// The low bits of a sample are the sample of fewer bits, so one full-width sample serves every b.
#[test]
fn bits_are_nested() {
    for sampler in [Sampler::OnePermutation, Sampler::Independent] {
        let set: Vec<u64> = (0..77).collect();
        let sketch = |bits: u8| -> Signature {
            let p = presets::PRECISE.with_bits(bits).with_sampler(sampler).with_slots(Slots::NONE);
            Sketcher::new(&Scheme::new(p).unwrap()).sketch(&set).unwrap()
        };
        let full = sketch(16);
        for bits in 1..16 {
            let planes = sketch(bits);
            assert_eq!(planes.planes(), &full.planes()[..planes.planes().len()], "b {bits}");
        }
    }
}

/// Without remixing, chance collisions of copied samples repeat from bin to bin. The 1-bit counts of disjoint sets of
/// five elements then vary six times as much as they should. With remixing they vary like independent ones, within 5
/// standard errors of sqrt(2/3000) each.
#[test]
fn copies_are_remixed() {
    let repetitions = 3000;
    let mut sum = 0.0;
    for seed in 0..repetitions {
        let p = presets::PRECISE.with_seed(seed).with_bits(1).with_slots(Slots::NONE);
        let sketcher = Sketcher::new(&Scheme::new(p).unwrap());
        let a = sketcher.sketch(&[1, 2, 3]).unwrap();
        let b = sketcher.sketch(&[4, 5]).unwrap();
        let off = f64::from(a.count_equal(&b).unwrap()) - 64.0;
        sum += off * off;
    }
    let ratio = sum / repetitions as f64 / 32.0;
    assert!((ratio - 1.0).abs() < 5.0 * (2.0 / repetitions as f64).sqrt(), "{ratio}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Order and repetition of elements do not matter, however they are passed.
    #[test]
    fn order_and_repeats_are_harmless(
        set in prop::collection::hash_set(0_u64..65_536, 0..400),
        repeats in prop::collection::vec(any::<prop::sample::Index>(), 0..50),
        chosen in any::<prop::sample::Index>(),
    ) {
        let sorted: Vec<u64> = set.iter().copied().collect::<std::collections::BTreeSet<_>>().into_iter().collect();
        let mut shuffled: Vec<u64> = set.iter().copied().collect();
        if !sorted.is_empty() {
            shuffled.extend(repeats.iter().map(|i| sorted[i.index(sorted.len())]));
        }
        let schemes = every_scheme();
        let sketcher = Sketcher::new(chosen.get(&schemes));
        let signature = sketcher.sketch(&sorted).unwrap();
        prop_assert_eq!(sketcher.sketch(&shuffled).unwrap(), signature.clone());
        let mut stream = sketcher.stream();
        for x in &shuffled {
            stream.push(*x).unwrap();
        }
        prop_assert_eq!(stream.finish().unwrap(), signature.clone());
        // The stream starts again.
        for x in &sorted {
            stream.push(*x).unwrap();
        }
        prop_assert_eq!(stream.finish().unwrap(), signature.clone());
        if !sorted.is_empty() {
            prop_assert_eq!(signature.resemblance(&signature).unwrap().value, 1.0);
        }
    }
}
