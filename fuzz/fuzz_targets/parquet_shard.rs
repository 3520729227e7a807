//! Arbitrary bytes as a Parquet shard: read, and copied without some of its rows.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // libFuzzer reports every panic as a crash, even those that the tool catches.
    std::panic::set_hook(Box::new(|panic| {
        if !ringer_cli::fuzzed::is_caught() {
            eprintln!("{panic}");
            std::process::abort();
        }
    }));
    ringer_cli::fuzzed::parquet_shard(bytes);
});
