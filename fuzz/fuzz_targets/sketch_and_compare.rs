//! Two arbitrary sets under any scheme: entry points agree, kernels agree with the definition, estimates are
//! plausible.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use ringer::scheme::{CardinalityField, Measure, Packing, Sampler, Slots, Universe};
use ringer::{Error, Scheme, Sketcher, presets};

#[derive(Arbitrary, Debug)]
struct Input {
    sampler: u8,
    pairs: bool,
    universe: Option<u64>,
    seed: u64,
    samples: u8,
    bits: u8,
    field: u8,
    a: Vec<u64>,
    b: Vec<u64>,
    weights: Vec<f64>,
}

fuzz_target!(|input: Input| {
    let sampler = Sampler::ALL[usize::from(input.sampler) % Sampler::ALL.len()];
    let parameters = presets::PRECISE
        .with_sampler(sampler)
        .with_packing(if input.pairs { Packing::XorPairs } else { Packing::LowBits })
        .with_universe(input.universe.map_or(Universe::Open, Universe::Bounded))
        .with_seed(input.seed)
        .with_samples(u32::from(input.samples))
        .with_bits(input.bits)
        .with_cardinality(CardinalityField::ALL[usize::from(input.field) % 5])
        .with_slots(Slots::NONE);
    let Ok(scheme) = Scheme::new(parameters) else { return };
    let sketcher = Sketcher::new(&scheme);
    weighted(&sketcher, &input);
    let inside = |set: &[u64]| match scheme.universe {
        Universe::Open => true,
        Universe::Bounded(size) => set.iter().all(|x| *x < size),
    };
    let (a, b) = (sketcher.sketch(&input.a), sketcher.sketch(&input.b));
    assert_eq!((a.is_ok(), b.is_ok()), (inside(&input.a), inside(&input.b)));
    let (Ok(a), Ok(b)) = (a, b) else { return };

    let mut stream = sketcher.stream();
    input.a.iter().rev().for_each(|x| stream.push(*x).expect("inside the universe"));
    assert_eq!(stream.finish().as_ref(), Ok(&a));
    assert_eq!(sketcher.sketch_all(&[&input.b]).expect("as before").get(0).as_ref(), Some(&b));

    let samples = 0..scheme.samples as usize;
    let equal = samples.filter(|i| a.sample(*i) == b.sample(*i)).count();
    assert_eq!(a.count_equal(&b), Ok(equal as u32));
    match a.compare(&b) {
        Err(error) => {
            let cosine = scheme.measure == Measure::Cosine && (a.is_empty() || b.is_empty());
            let empty = a.is_empty() && b.is_empty();
            assert!((empty || cosine) && matches!(error, Error::Undefined { .. }));
        }
        Ok(comparison) => {
            let r = comparison.similarity();
            assert!(r.value.is_finite() && r.value <= 1.0 && r.std_error >= 0.0);
            assert!(-1.0 <= r.low && r.low <= r.high && r.high <= 1.0);
            assert!(0.0 <= r.low || scheme.measure == Measure::Cosine);
            assert_eq!(comparison.resemblance().is_ok(), scheme.measure != Measure::Cosine);
            assert_eq!(comparison.angle().is_ok(), scheme.measure == Measure::Cosine);
            assert!((0.0..=1.0).contains(&comparison.probability_at_least(0.5)));
            for measure in [comparison.intersection(), comparison.union(), comparison.hamming()] {
                if let Ok(m) = measure {
                    assert!(m.value.is_finite() && 0.0 <= m.low && m.low <= m.high);
                }
            }
        }
    }
});

/// Arbitrary weights, in any order, are accepted or rejected, and never lost.
fn weighted(sketcher: &Sketcher, input: &Input) {
    let measure = sketcher.scheme().measure;
    let set: Vec<(u64, f64)> = input.a.iter().copied().zip(input.weights.iter().copied()).collect();
    let sound = |weight: f64| match measure {
        Measure::Jaccard => false,
        Measure::Weighted => weight.is_finite() && weight > 0.0,
        Measure::Cosine => weight.is_finite(),
        _ => unreachable!("all measures are listed above"),
    };
    let signature = sketcher.sketch_weighted(&set);
    if measure == Measure::Jaccard || set.iter().any(|(_, weight)| !sound(*weight)) {
        assert!(matches!(signature, Err(Error::InvalidArgument { .. })));
        return;
    }
    let mut stream = sketcher.stream();
    set.iter().rev().for_each(|(x, weight)| stream.push_weighted(*x, *weight).expect("sound"));
    assert_eq!(stream.finish(), signature);
    if let Ok(signature) = signature
        && !signature.is_empty()
    {
        assert_eq!(signature.compare(&signature).expect("not empty").similarity().value, 1.0);
    }
}
