//! Entry points of the fuzz targets, which read arbitrary bytes as a shard. Tests call them as well.

use std::io::{Cursor, Read};

use ringer::scheme::Features;

use super::json;
use super::lines::{self, RawLines, Taken};
use super::row::{Fields, KeepRow, row_of, working_key};
use crate::compression;

/// The most bytes that are decompressed, because a few compressed bytes can stand for gigabytes.
const MOST_BYTES: u64 = 1 << 20;

fn fields() -> Fields {
    Fields {
        key: "id".into(),
        text: "text".into(),
        order: Some("when".into()),
        value: Some("text".into()),
    }
}

/// Reads any bytes as a JSONL shard, which may be compressed. Lines are returned byte for byte, and every row is parsed or
/// rejected.
pub fn jsonl_shard(bytes: &[u8]) {
    let Ok(input) = compression::decompressed(Cursor::new(bytes.to_vec())) else { return };
    let mut text = Vec::new();
    // After an error, the bytes before it are used.
    let _ = input.take(MOST_BYTES).read_to_end(&mut text);
    let (mut raw, mut copied, mut number) = (RawLines::new(&text[..]), Vec::new(), 0);
    loop {
        let start = copied.len();
        if raw.next(&mut copied).expect("bytes in memory can be read") == Taken::End {
            break;
        }
        let line = &copied[start..];
        let content = &line[lines::content(line, number == 0)];
        for features in [Features::TEXT, Features::Tokens, Features::Ids] {
            if let Ok(row) = json::parse(content, &fields(), features) {
                let key = working_key(KeepRow::Longest, Some(&row.order), 3, number);
                assert_eq!(row_of(&key), number);
            }
        }
        number += 1;
    }
    assert_eq!(copied, text);
}

/// Reads any bytes as a Parquet shard and copies every other row. A copy that succeeds has those rows.
#[cfg(feature = "parquet")]
pub fn parquet_shard(bytes: &[u8]) {
    use crate::parquet;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("shard.parquet");
    std::fs::write(&path, bytes).expect("it can be written");
    let Ok(reader) = parquet::guarded(|| parquet::open(&path)) else { return };
    let mut rows = 0;
    let read = parquet::guarded(|| {
        parquet::columns::read(&reader, &fields(), Features::Tokens, &mut |block| {
            rows += block.len() as u64;
            rows < 1 << 16
        })
    });
    if read.is_err() || rows >= 1 << 16 {
        return;
    }
    assert_eq!(rows, parquet::rows(&reader));
    let copied = parquet::guarded(|| parquet::copy::copy(&reader, Vec::new(), &|row| row % 2 == 0));
    if let Ok(copied) = copied {
        std::fs::write(&path, copied).expect("it can be written");
        let copy = parquet::guarded(|| parquet::open(&path)).expect("a copy can be read");
        assert_eq!(parquet::rows(&copy), rows.div_ceil(2));
    }
}

/// Whether a panic of this thread would be caught.
#[must_use]
pub fn is_caught() -> bool {
    crate::exit::panics_are_caught()
}
