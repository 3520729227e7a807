//! Arbitrary counts, shares and sizes: estimates are finite and their intervals are ordered.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use ringer::internals::estimate::many::Patterns;
use ringer::internals::estimate::pair::{Agreement, Sampling};
use ringer::internals::estimate::small_sets::{unseen, variance_factor};
use ringer::internals::estimate::{Chance, Law};

#[derive(Arbitrary, Debug)]
struct Input {
    samples: u16,
    equal: u16,
    bits: u8,
    shares: [u32; 8],
    total: Option<f64>,
    threshold: f64,
    sets: u8,
    values: Vec<u8>,
}

fuzz_target!(|input: Input| {
    let samples = u32::from(input.samples).clamp(1, 16_384);
    let equal = u32::from(input.equal) % (samples + 1);
    let bits = input.bits % 16 + 1;
    let shares = input.shares.map(|share| (f64::from(share) + 1.0) / (f64::from(u32::MAX) + 1.0));
    let factor = variance_factor(input.total.unwrap_or(0.0), samples);
    assert!((0.5..2.0).contains(&factor), "{factor}");
    assert!(unseen(input.total.unwrap_or(0.0), samples) >= 0.0);

    let total_size = input.total.filter(|total| *total >= 2.0);
    for chance in
        [Chance::sparse(u32::from(bits)), Chance::dense(u32::from(bits), shares[0], shares[1])]
    {
        if chance.c2 > 0.999 {
            continue;
        }
        let one_bit = Chance::dense(1, shares[0], shares[1]);
        let cases = [
            (Law::Minwise(chance), Sampling::Independent),
            (Law::Minwise(chance), Sampling::OnePermutation { total_size }),
            (Law::HalfBit(Chance::sparse(1)), Sampling::Independent),
            (
                Law::HalfBit(if one_bit.c2 > 0.999 { chance } else { one_bit }),
                Sampling::Independent,
            ),
            (Law::Sign, Sampling::Independent),
        ];
        for (law, sampling) in cases {
            let agreement = Agreement { equal, samples, law, sampling };
            let e = agreement.estimate();
            assert!(e.value.is_finite() && e.std_error.is_finite(), "{law:?} {e}");
            assert!(law.least() <= e.low && e.low <= e.high && e.high <= 1.0, "{law:?} {e}");
            let p = agreement.probability_at_least(input.threshold);
            assert!((0.0..=1.0).contains(&p) || input.threshold.is_nan(), "{law:?} {p}");
        }
    }

    let sets = usize::from(input.sets % 20);
    let Ok(mut patterns) = Patterns::new(sets, bits) else { return };
    for values in input.values.chunks_exact(sets) {
        let values: Vec<u16> =
            values.iter().map(|v| u16::from(*v) & ((1 << bits) - 1) as u16).collect();
        patterns.add(&values).expect("one value a set");
    }
    let sparse = patterns.sparse(total_size);
    let dense = shares.get(..sets).map(|shares| patterns.dense(shares, total_size));
    for e in [Some(sparse), dense].into_iter().flatten().flatten() {
        assert!(0.0 <= e.low && e.low <= e.high && e.high <= 1.0, "{e}");
    }
});
