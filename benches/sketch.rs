//! Sketching compared with a bare loop that only hashes and takes minima.
//!
//! Read the ratios at the end: both sides run in turn in one process, and the best of many rounds counts. 1.00 means
//! that signatures cost no more than the loop that every one-permutation sketch needs, which makes no signature.

#[path = "ratio/mod.rs"]
mod ratio;

use std::hint::black_box;

use criterion::{Criterion, Throughput};
use ratio::Ratio;
use ringer::scheme::{CardinalityField, Sampler, Slots};
use ringer::{Parameters, Scheme, Sketcher, presets};
use testkit::random::{Random, mix};

/// The minimal work: a 64-bit mix, a bin, a branch-free minimum.
fn bare<const K: usize>(set: &[u64], bins: &mut [u32; K]) {
    bins.fill(u32::MAX);
    for &x in set {
        let h = mix(x);
        let bin = &mut bins[(h >> (64 - K.trailing_zeros())) as usize];
        *bin = (*bin).min(h as u32);
    }
}

/// Fills empty bins from others, by a hash of bin and attempt.
fn densify<const K: usize>(bins: &mut [u32; K]) {
    let source = *bins;
    for i in (0..K).filter(|i| source[*i] == u32::MAX) {
        let donors = (1_u64..).map(|n| (mix((i as u64) << 32 | n) >> 32) as usize % K);
        bins[i] = donors.map(|j| source[j]).find(|v| *v != u32::MAX).unwrap_or(0);
    }
}

fn sketcher(samples: u32, cardinality: CardinalityField) -> Sketcher {
    let slots = Slots::NONE;
    Sketcher::new(
        &Scheme::new(
            presets::PRECISE.with_samples(samples).with_cardinality(cardinality).with_slots(slots),
        )
        .unwrap(),
    )
}

/// Sets of `size` random elements, four million elements in all.
fn sets(size: usize) -> Vec<Vec<u64>> {
    let mut random = Random(size as u64);
    (0..4_000_000 / size).map(|_| (0..size).map(|_| random.word()).collect()).collect()
}

fn case<const K: usize>(report: &mut Ratio, size: usize, dense: bool) {
    let sets = sets(size);
    let sorted: Vec<Vec<u64>> = sets
        .iter()
        .map(|s| {
            let mut s = s.clone();
            s.sort_unstable();
            s
        })
        .collect();
    let elements = (sets.len() * size) as f64;
    let plain = sketcher(K as u32, CardinalityField::None);
    let sized = sketcher(K as u32, CardinalityField::Log8);
    let mut bins = [0; K];
    let name = format!("{size}-element sets, k = {K}");
    report.compare(
        &name,
        "M elements/s",
        elements / 1e6,
        (if dense { "bare loop with densification" } else { "bare loop" }, &mut || {
            for set in &sets {
                bare(set, &mut bins);
                if dense {
                    densify(&mut bins);
                }
                black_box(&bins);
            }
        }),
        &mut [
            ("signatures, no size kept", &mut || drop(black_box(plain.sketch_all(&sets)))),
            ("signatures, sizes, sorted sets", &mut || drop(black_box(sized.sketch_all(&sorted)))),
            ("signatures, sizes, unsorted sets", &mut || drop(black_box(sized.sketch_all(&sets)))),
        ],
    );
}

fn small_sets(report: &mut Ratio) {
    let sets: Vec<Vec<Vec<u64>>> =
        [1, 5, 20].map(|n| sets(200).iter().map(|s| s[..n].to_vec()).collect()).to_vec();
    let plain = sketcher(128, CardinalityField::None);
    let base = self::sets(200);
    report.compare(
        "small sets, k = 128",
        "M sets/s",
        base.len() as f64 / 1e6,
        ("200 elements", &mut || drop(black_box(plain.sketch_all(&base)))),
        &mut [
            ("1 element", &mut || drop(black_box(plain.sketch_all(&sets[0])))),
            ("5 elements", &mut || drop(black_box(plain.sketch_all(&sets[1])))),
            ("20 elements", &mut || drop(black_box(plain.sketch_all(&sets[2])))),
        ],
    );
}

/// Lazy samples compared with independent ones, which have the same distribution, and with one permutation. If sets
/// are so small that most samples are unclaimed, `Lazy` costs as much as `Independent`.
fn lazy(report: &mut Ratio, samples: u32, size: usize) {
    // Fewer sets than elsewhere, since independent samples are slow.
    let sets: Vec<Vec<u64>> = sets(size).into_iter().take((200_000 / size).max(1)).collect();
    let [independent, lazy, one] = [Sampler::Independent, Sampler::Lazy, Sampler::OnePermutation]
        .map(|sampler| {
            let (cardinality, slots) = (CardinalityField::None, Slots::NONE);
            let parameters = presets::PRECISE
                .with_sampler(sampler)
                .with_samples(samples)
                .with_cardinality(cardinality)
                .with_slots(slots);
            Sketcher::new(&Scheme::new(parameters).unwrap())
        });
    report.compare(
        &format!("{size}-element sets, k = {samples}, by sampler"),
        "M elements/s",
        (sets.len() * size) as f64 / 1e6,
        ("independent", &mut || drop(black_box(independent.sketch_all(&sets)))),
        &mut [
            ("lazy", &mut || drop(black_box(lazy.sketch_all(&sets)))),
            ("one permutation", &mut || drop(black_box(one.sketch_all(&sets)))),
        ],
    );
}

/// Every-bin samples compared with one permutation, with the set sizes that the presets keep: all sets at once, and
/// one by one as `put` sketches them. `crates/peers/run sketch` compares them with rensa.
fn every_bin(report: &mut Ratio, preset: Parameters, size: usize) {
    let sets: Vec<Vec<u64>> = sets(size).into_iter().take((400_000 / size).min(40_000)).collect();
    let [one, every] = [Sampler::OnePermutation, Sampler::EveryBin].map(|sampler| {
        let slots = Slots::NONE;
        Sketcher::new(&Scheme::new(preset.with_sampler(sampler).with_slots(slots)).unwrap())
    });
    let one_by_one = |sketcher: &Sketcher| {
        for set in &sets {
            black_box(sketcher.sketch(set).unwrap());
        }
    };
    report.compare(
        &format!("{size}-element sets, k = {}, sizes kept", preset.samples),
        "M sets/s",
        sets.len() as f64 / 1e6,
        ("one permutation", &mut || drop(black_box(one.sketch_all(&sets)))),
        &mut [
            ("every bin", &mut || drop(black_box(every.sketch_all(&sets)))),
            ("one permutation, one by one", &mut || one_by_one(&one)),
            ("every bin, one by one", &mut || one_by_one(&every)),
        ],
    );
}

fn main() {
    // One thread, like the bare loop.
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global().expect("the first pool");
    let mut criterion = Criterion::default().configure_from_args();
    let set: Vec<u64> = sets(1000).swap_remove(0);
    let mut group = criterion.benchmark_group("one set of 1000");
    group.throughput(Throughput::Elements(1000));
    for k in [128, 256] {
        let sketcher = sketcher(k, CardinalityField::None);
        group.bench_function(format!("sketch k={k}"), |b| {
            b.iter(|| sketcher.sketch(black_box(&set)));
        });
    }
    let mut bins = [0; 128];
    group.bench_function("bare loop k=128", |b| b.iter(|| bare(black_box(&set), &mut bins)));
    group.finish();

    if ratio::wanted() {
        let mut report = Ratio::new();
        case::<128>(&mut report, 1000, false);
        case::<256>(&mut report, 1000, false);
        case::<128>(&mut report, 200, true);
        small_sets(&mut report);
        for preset in [presets::NEAR_DUPLICATE, presets::PRECISE] {
            for size in [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 10_000] {
                every_bin(&mut report, preset, size);
            }
        }
        for samples in [32, 128] {
            for size in [1, 5, 10, 100, 1000, 10_000] {
                lazy(&mut report, samples, size);
            }
        }
    }
}
