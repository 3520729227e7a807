"""Deduplicates Parquet files that pyarrow wrote, and reads the kept rows back with pyarrow and DuckDB.

Usage: read_back.py RINGER, in an empty folder. Prints `equal` for each file whose columns are what they were.
"""

import datetime
import decimal
import random
import subprocess
import sys

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq


def text(dice, n):
    return " ".join(f"w{dice.randrange(10_000)}" for _ in range(n))


def table(rows, seed):
    dice = random.Random(seed)
    texts = []
    for i in range(rows):
        copied = texts and dice.random() < 0.4
        texts.append(dice.choice(texts) if copied else text(dice, dice.randrange(20, 80)))
    maybe = lambda value: None if dice.random() < 0.1 else value
    day = datetime.datetime(2026, 1, 1)
    columns = {
        "id": pa.array([f"{seed}-{i}" for i in range(rows)]),
        "text": pa.array([maybe(t) for t in texts], pa.large_string()),
        "count": pa.array([maybe(i * i) for i in range(rows)], pa.uint16() if rows < 256 else pa.uint64()),
        "ratio": pa.array([maybe(i / 7) for i in range(rows)], pa.float32()),
        "price": pa.array([decimal.Decimal(i) / 100 for i in range(rows)], pa.decimal128(12, 2)),
        "time": pa.array([maybe(day + datetime.timedelta(seconds=i)) for i in range(rows)], pa.timestamp("us")),
        "label": pa.array([maybe(dice.choice("abc")) for _ in range(rows)]).dictionary_encode(),
        "links": pa.array([maybe([maybe(dice.randrange(9)) for _ in range(dice.randrange(4))]) for _ in range(rows)],
                          pa.list_(pa.int32())),
        "nested": pa.array([maybe({"a": maybe(i), "b": [{"c": str(i)}] * dice.randrange(3)}) for i in range(rows)]),
        "map": pa.array([[(str(k), k) for k in range(dice.randrange(3))] for _ in range(rows)],
                        pa.map_(pa.string(), pa.int64())),
        "blob": pa.array([dice.randbytes(3) for _ in range(rows)], pa.binary(3)),
        "flag": pa.array([maybe(dice.random() < 0.5) for _ in range(rows)]),
        "empty": pa.nulls(rows),
    }
    made = pa.table(columns)
    return made.replace_schema_metadata({**(made.schema.metadata or {}), b"origin": b"a test"})


def check(ringer, name, made, **options):
    pq.write_table(made, f"{name}.parquet", **options)
    subprocess.run([ringer, "dedup", "--parquet", f"{name}.parquet", "--out", f"{name}-out", "--clusters",
                    f"{name}.csv", "--quiet", "--seed", "1"], check=True, stderr=subprocess.DEVNULL)
    removed = {row[0] for row in duckdb.sql(f"select key from '{name}.csv' where not kept").fetchall()}
    keep = [key not in removed for key in made["id"].to_pylist()]
    expected = pq.read_table(f"{name}.parquet").filter(pa.array(keep))
    assert 0 < len(expected) < len(made)
    found = pq.read_table(f"{name}-out/{name}.parquet")
    assert found.schema.equals(expected.schema, check_metadata=True), (found.schema, expected.schema)
    for column in expected.column_names:
        assert found[column].to_pylist() == expected[column].to_pylist(), column
    duckdb.register("expected", expected)
    # The type null is not known to every reader.
    query = f"select * exclude (empty) from '{name}-out/{name}.parquet'"
    assert duckdb.sql(query).fetchall() == duckdb.sql("select * exclude (empty) from expected").fetchall()
    codecs = [pq.ParquetFile(path).metadata.row_group(0).column(1).compression
              for path in (f"{name}.parquet", f"{name}-out/{name}.parquet")]
    assert codecs[0] == codecs[1], codecs
    print(f"{name}: equal")


def main():
    ringer = sys.argv[1]
    for codec in ["none", "snappy", "gzip", "zstd", "lz4"]:
        check(ringer, codec, table(200, 1), compression=codec)
    check(ringer, "groups", table(1000, 2), row_group_size=90, data_page_size=500, use_dictionary=False)
    check(ringer, "pages", table(1000, 3), data_page_version="2.0", version="2.6", write_page_index=True)
    check(ringer, "delta", table(500, 4), use_dictionary=False,
          column_encoding={"id": "DELTA_BYTE_ARRAY", "text": "DELTA_LENGTH_BYTE_ARRAY"})


main()
