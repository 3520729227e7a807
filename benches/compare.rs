//! One signature compared with a million, and a plain read of the same bytes.
//!
//! Counting equal samples cannot be faster than reading them. The ratio printed at the end shows how close it comes,
//! for every kernel of this machine.

#![allow(unsafe_code, reason = "the plain read uses the widest loads there are")]

#[path = "ratio/mod.rs"]
mod ratio;

use std::hint::black_box;

use criterion::{Criterion, Throughput};
use ratio::{Contender, Ratio};
use ringer::internals::kernel::{Kernel, Rows};
use ringer::scheme::Slots;
use ringer::{Scheme, presets};
use testkit::random::Random;

const ROWS: usize = 1_000_000;

/// Rows per call. Their counts stay in the fastest cache, as in a scan.
const ROWS_PER_CALL: usize = 1024;

/// Sums all words in independent parts, which compiles to vector loads and little else.
#[inline(always)]
fn sum(words: &[u64]) -> u64 {
    let mut sums = [0_u64; 32];
    let (blocks, _) = words.as_chunks::<32>();
    for block in blocks {
        for (sum, word) in sums.iter_mut().zip(block) {
            *sum = sum.wrapping_add(*word);
        }
    }
    sums.iter().fold(0, |a, b| a ^ b)
}

/// The plain read, at the speed of this machine's vector loads.
fn read(words: &[u64]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        #[target_feature(enable = "avx2")]
        fn sum_avx2(words: &[u64]) -> u64 {
            sum(words)
        }
        // SAFETY: the processor has AVX2.
        return unsafe { sum_avx2(words) };
    }
    sum(words)
}

struct Data {
    scheme: Scheme,
    first: Vec<u64>,
    rest: Vec<u64>,
    query_first: Vec<u64>,
    query_rest: Vec<u64>,
}

impl Data {
    fn new(samples: u32, bits: u8) -> Data {
        let p = presets::PRECISE.with_samples(samples).with_bits(bits).with_slots(Slots::NONE);
        let scheme = Scheme::new(p).unwrap();
        let (words, others) =
            (scheme.first_words(), scheme.words_per_signature() - scheme.first_words());
        let mut random = Random(7);
        let mut fill = |n: usize| -> Vec<u64> { (0..n).map(|_| random.word()).collect() };
        Data {
            first: fill(ROWS * words),
            rest: fill(ROWS * others),
            query_first: fill(words),
            query_rest: fill(others),
            scheme,
        }
    }

    fn scanner(&self, kernel: Kernel) -> impl FnMut() + '_ {
        move || {
            black_box(black_box(self).scan(kernel));
        }
    }

    fn scan(&self, kernel: Kernel) -> u64 {
        let query = Rows::new(&self.scheme, &self.query_first, &self.query_rest).unwrap();
        let (words, others) = (self.query_first.len(), self.query_rest.len());
        let mut counts = [0; ROWS_PER_CALL];
        let mut sum = 0;
        for start in (0..ROWS).step_by(ROWS_PER_CALL) {
            let end = ROWS.min(start + ROWS_PER_CALL);
            let first = &self.first[start * words..end * words];
            let rest = &self.rest[start * others..end * others];
            let counts = &mut counts[..end - start];
            kernel.count_equal(query, Rows::new(&self.scheme, first, rest).unwrap(), counts);
            sum += u64::from(counts[0]);
        }
        sum
    }
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args().sample_size(10);
    let data = Data::new(128, 4);
    let mut group = criterion.benchmark_group("1 against 1 M, k=128 b=4");
    group.throughput(Throughput::Elements(ROWS as u64));
    group.bench_function("scan", |b| b.iter(|| black_box(&data).scan(Kernel::best())));
    group.bench_function("read", |b| {
        b.iter(|| read(black_box(&data.first)) ^ read(black_box(&data.rest)));
    });
    group.finish();
    drop(data);

    if !ratio::wanted() {
        return;
    }
    let mut report = Ratio::new();
    for samples in [128, 256] {
        for bits in [1, 2, 4, 8] {
            let data = Data::new(samples, bits);
            let bytes = 8 * (data.first.len() + data.rest.len());
            let kernels = Kernel::available();
            let mut scans: Vec<_> = kernels.iter().map(|kernel| data.scanner(*kernel)).collect();
            let names = kernels.iter().map(|kernel| kernel.name());
            let mut contenders: Vec<Contender<'_>> = names
                .zip(&mut scans)
                .map(|(name, scan)| (name, scan as &mut dyn FnMut()))
                .collect();
            let title = format!("1 against 1 M, k = {samples}, b = {bits}");
            let mut read_all = || {
                black_box(read(black_box(&data.first)) ^ read(black_box(&data.rest)));
            };
            let plain = ("plain read", &mut read_all as &mut dyn FnMut());
            report.compare(&title, "GB/s", bytes as f64 / 1e9, plain, &mut contenders);
        }
    }
}
