//! Arbitrary bytes as a shard: the fuzz corpus, and damaged copies of it.

use testkit::corpus;
use testkit::random::Random;

fn attack(target: &str, rounds: usize, shard: fn(&[u8])) {
    let mut random = Random(17);
    for (name, bytes) in corpus::inputs(target) {
        eprintln!("{name}");
        shard(&bytes);
        for _ in 0..rounds {
            let mut damaged = bytes.clone();
            for _ in 0..=random.below(4) {
                let place = random.index(damaged.len().max(1));
                match damaged.get_mut(place) {
                    Some(byte) if random.below(2) == 0 => *byte ^= 1 << random.below(8),
                    Some(byte) => *byte = random.below(256) as u8,
                    None => {}
                }
            }
            damaged.truncate(match random.below(8) {
                0 => random.index(damaged.len().max(1)),
                _ => damaged.len(),
            });
            shard(&damaged);
        }
    }
}

#[test]
fn any_bytes_can_be_a_jsonl_shard() {
    attack("jsonl_shard", 200, ringer_cli::fuzzed::jsonl_shard);
}

#[cfg(feature = "parquet")]
#[test]
fn any_bytes_can_be_a_parquet_shard() {
    std::panic::set_hook(Box::new(|panic| {
        if !ringer_cli::fuzzed::is_caught() {
            eprintln!("{panic}");
        }
    }));
    attack("parquet_shard", 100, ringer_cli::fuzzed::parquet_shard);
}
