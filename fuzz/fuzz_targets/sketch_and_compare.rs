//! Any two sets under any scheme: ways in agree, kernels agree with the definition, estimates are sane.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use ringer::scheme::{CardinalityField, Sampler, Slots, Universe};
use ringer::{Error, Parameters, Scheme, Sketcher, presets};

#[derive(Arbitrary, Debug)]
struct Input {
    independent: bool,
    universe: Option<u64>,
    seed: u64,
    samples: u8,
    bits: u8,
    field: u8,
    a: Vec<u64>,
    b: Vec<u64>,
}

fuzz_target!(|input: Input| {
    let parameters = Parameters {
        sampler: if input.independent { Sampler::Independent } else { Sampler::OnePermutation },
        universe: input.universe.map_or(Universe::Open, Universe::Bounded),
        seed: input.seed,
        samples: u32::from(input.samples),
        bits: input.bits,
        cardinality: CardinalityField::ALL[usize::from(input.field) % 5],
        slots: Slots::NONE,
        ..presets::PRECISE
    };
    let Ok(scheme) = Scheme::new(parameters) else { return };
    let sketcher = Sketcher::new(&scheme);
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
            assert!(a.is_empty() && b.is_empty() && matches!(error, Error::Undefined { .. }));
        }
        Ok(comparison) => {
            let r = comparison.resemblance();
            assert!(r.value.is_finite() && r.value <= 1.0 && r.std_error >= 0.0);
            assert!(0.0 <= r.low && r.low <= r.high && r.high <= 1.0);
            assert!((0.0..=1.0).contains(&comparison.probability_at_least(0.5)));
            for measure in [comparison.intersection(), comparison.union(), comparison.hamming()] {
                if let Ok(m) = measure {
                    assert!(m.value.is_finite() && 0.0 <= m.low && m.low <= m.high);
                }
            }
        }
    }
});
