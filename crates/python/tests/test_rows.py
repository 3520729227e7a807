"""Tables of results: what other libraries read is what iteration gives."""

from __future__ import annotations

from typing import Any

import pytest

import ringerdb as rdb

pa = pytest.importorskip("pyarrow")


@pytest.fixture(params=["text", "bytes"])
def rows(request: Any) -> rdb.Rows:
    db = rdb.memory(features="ids", seed=1)
    last = b"\xff\xfe" if request.param == "bytes" else "zz"
    db.put_many(["a", "bé", last], sets=[range(100), range(100), range(3, 100)])
    return db.pairs(min=0.5)


def test_arrow_is_the_iteration(rows: rdb.Rows) -> None:
    table = rows.to_arrow()
    assert table.schema.names == rows.names == list(rdb.PairRow._fields)
    is_text = all(isinstance(row.b, str) for row in rows)
    assert table.schema.field("a").type == (pa.large_string() if is_text else pa.large_binary())
    bare = [{k: v.encode() if isinstance(v, str) and not is_text else v for k, v in row._asdict().items()} for row in rows]
    assert table.to_pylist() == bare and len(rows) == len(bare) == 3
    # It can be read again, and several times.
    assert pa.table(rows) == table == pa.RecordBatchReader.from_stream(rows).read_all()
    assert list(rows) == list(rows)


def test_other_libraries_read_it(rows: rdb.Rows) -> None:
    polars, pandas, duckdb = (pytest.importorskip(name) for name in ("polars", "pandas", "duckdb"))
    assert rows.to_polars().to_dict(as_series=False) == rows.to_arrow().to_pydict()
    assert isinstance(rows.to_polars(), polars.DataFrame)
    frame = rows.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and list(frame["a"]) == [row.a for row in rows]
    assert frame["similarity"].tolist() == [row.similarity for row in rows]
    least = min(row.similarity for row in rows)
    assert duckdb.sql("select count(*), min(similarity) from rows").fetchall() == [(3, least)]


def test_kinds_of_rows() -> None:
    db = rdb.memory(features="ids", seed=1)
    db.put_many(["a", "b", "c"], sets=[range(100), range(1, 100), range(2, 100)])
    assert isinstance(next(iter(db.query_many(sets=[range(100)]))), rdb.QueryRow)
    assert isinstance(next(iter(db.clusters(0.5))), rdb.ClusterRow)
    assert isinstance(next(iter(db.triples(0.5))), rdb.TripleRow)
    assert db.clusters(0.5).names == ["key", "cluster", "representative", "similarity"]
    assert db.query_many(sets=[range(100)]).names[:6] == ["query", "key", "similarity", "std_error", "low", "high"]
    assert db.clusters(0.5).column("cluster").tolist() == [1, 1, 1]
    empty = db.pairs(1.0, accept="certain")
    assert list(empty) == [] and empty.to_arrow().num_rows == 0
    with pytest.raises(KeyError):
        empty.column("nothing")
    assert "Rows(a, b" in repr(empty)


def test_long_tables_are_iterated_in_parts() -> None:
    db = rdb.memory(features="ids", seed=1)
    db.put_many([f"{i:05}" for i in range(150)], sets=[[1, 2]] * 150)
    rows = db.pairs(0.9)
    assert len(rows) == 150 * 149 // 2 == len({(row.a, row.b) for row in rows})
