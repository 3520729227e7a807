//! Arbitrary bytes as a JSONL shard, plain or compressed.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| ringer_cli::fuzzed::jsonl_shard(bytes));
