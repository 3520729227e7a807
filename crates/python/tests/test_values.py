"""Values with keys: they come back as bytes from reads and from questions that ask for them, and are replaced and deleted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringerdb as rdb

#: What is done to a key: None deletes it, otherwise its set is stored with this value, or with none.
STEPS = st.lists(st.tuples(st.sampled_from("abcdef"), st.none() | st.tuples(st.none() | st.binary(max_size=40))), max_size=30)


@given(STEPS, st.booleans())
def test_values_are_a_map(steps: list, compact: bool) -> None:
    """Against a dict: a put replaces the value or drops it, and a deletion deletes it."""
    db, expected = rdb.memory(features="ids", seed=1), {}
    for key, put in steps:
        if put is None:
            assert db.delete(key) == (key in expected)
            expected.pop(key, None)
        else:
            db.put(key, set=[ord(key)], value=put[0])
            expected[key] = put[0]
    if compact:
        db.compact()
    assert {key: db.get(key).value for key in db} == expected
    assert {key: db.value(key) for key in "abcdef"} == {key: expected.get(key) for key in "abcdef"}


@pytest.mark.parametrize("rows", [50, 9000])
@pytest.mark.parametrize("column", ["list", "numpy", "binary", "string", "chunked", "view"])
def test_columns_of_values(path: Path, rows: int, column: str) -> None:
    """In a batch and in a bulk load, from all kinds of columns, with nulls; and again after the file was opened."""
    pa = pytest.importorskip("pyarrow")
    texts = [None if i % 5 == 3 else f"{{'é': {i}}}" * (i % 4) for i in range(rows)]
    expected = [None if text is None else text.encode() for text in texts]
    values = {
        "list": [text if i % 2 else e for i, (text, e) in enumerate(zip(texts, expected))],
        "numpy": np.array(expected, dtype=object),
        "binary": pa.array(expected, pa.binary()),
        "string": pa.array(texts, pa.large_string()),
        "chunked": pa.chunked_array([expected[:7], expected[7:]], pa.large_binary()),
        "view": pa.array([None, *texts], pa.string_view())[1:],
    }[column]
    names = [f"{i:05}" for i in range(rows)]
    with rdb.create(path, features="ids", seed=1) as db:
        assert db.put_many(names, sets=[[i] for i in range(rows)], values=values) == rows
        assert [db.value(name) for name in names] == expected
        assert db.put_many(names[:2], sets=[[0], [1]]) == 2
    with rdb.open(path) as db:
        assert [db.get(name).value for name in names] == [None, None, *expected[2:]]
        db.compact()
        assert db.stat().value_bytes >= sum(len(value) for value in expected[2:] if value)
        assert [db.value(name) for name in names] == [None, None, *expected[2:]]


def test_many_large_values() -> None:
    """More bytes than a batch may have."""
    db, values = rdb.memory(features="ids", seed=1), [bytes([i % 251]) * 65_536 for i in range(1500)]
    assert db.put_many([f"{i:04}" for i in range(1500)], sets=[[i] for i in range(1500)], values=values) == 1500
    assert all(db.value(f"{i:04}") == value for i, value in enumerate(values))


def labelled() -> rdb.Database:
    db = rdb.memory(features="ids", seed=1)
    db.put_many(["a", "b", "c"], sets=[range(100), range(100), range(2, 100)], values=["text", None, b"\xff\0"])
    return db


def test_queries_return_values_on_request() -> None:
    db = labelled()
    expected = {"a": b"text", "b": None, "c": b"\xff\0"}
    for ask in ({"set": range(100)}, {"signature": db.get("a").signature}):
        assert {match.key: match.value for match in db.query(values=True, **ask)} == expected
        assert {match.key: match.value for match in db.query(**ask)} == dict.fromkeys("abc")
    assert {match.key: match.value for match in db.snapshot().query(key="b", values=True)} == {"a": b"text", "c": b"\xff\0"}
    rows = db.query_many(sets=[range(100), [5000], range(100)], values=True)
    assert rows.names == list(rdb.QueryValueRow._fields) and rows.names[-1] == "value"
    assert all(isinstance(row, rdb.QueryValueRow) for row in rows)
    assert [(row.query, row.key, row.value) for row in rows] == [(i, key, expected[key]) for i in (0, 2) for key in "abc"]
    bare = db.query_many(sets=[range(100), [5000], range(100)])
    assert "value" not in bare.names and [tuple(row) for row in bare] == [row[:-1] for row in rows]


def test_pairs_return_values_on_request() -> None:
    db = labelled()
    rows = db.pairs(0.5, values=True)
    found = {(row.a, row.b): (row.a_value, row.b_value) for row in rows}
    assert found == {("a", "b"): (b"text", None), ("a", "c"): (b"text", b"\xff\0"), ("b", "c"): (None, b"\xff\0")}
    assert all(isinstance(row, rdb.PairValueRow) for row in rows)
    assert [tuple(row) for row in db.pairs(0.5)] == [row[:-2] for row in rows]
    db = rdb.memory(features="ids", seed=1)
    db.put_many([f"{i:03}" for i in range(60)], sets=[[1, 2]] * 60, values=[bytes(30_000)] * 60)
    with pytest.raises(rdb.OverLimit, match="values of the pairs"):
        db.pairs(0.9, values=True, memory=40_000_000)
    assert len(db.pairs(0.9, memory=40_000_000)) == 60 * 59 // 2


def test_tables_with_values_are_arrow() -> None:
    pa = pytest.importorskip("pyarrow")
    rows = labelled().pairs(0.5, values=True)
    table = rows.to_arrow()
    assert table.schema.field("a_value").type == pa.large_binary() and table.schema.field("a_value").nullable
    assert table.schema.field("a").type == pa.large_string()
    assert table.to_pylist() == [row._asdict() for row in rows]
    assert rows.column("b_value") == table["b_value"].to_pylist() == [None, b"\xff\0", b"\xff\0"]
    assert rows.to_polars().to_dict(as_series=False) == table.to_pydict()
    assert rows.to_pandas()["b_value"].tolist() == table["b_value"].to_pylist()
    # Without a null, and with UTF-8 only, values are still bytes.
    db = rdb.memory(features="ids", seed=1)
    db.put("a", set=[1], value="text")
    rows = db.query_many(sets=[[1]], values=True)
    assert rows.column("value") == [b"text"] == [row.value for row in rows]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda db: db.put("a", set=[1], value=b"x" * 65_537), "value of 65537 bytes"),
        (lambda db: db.put("a", set=[1], value=7), "the value is int"),
        (lambda db: db.put("a", set=[1], value="\ud800"), "surrogate"),
        (lambda db: db.put_many(["a", "b"], sets=[[1], [2]], values=["x"]), "2 keys, but 1 values"),
        (lambda db: db.put_many(["a", "b"], sets=[[1], [2]], values="xy"), "values is a single text"),
        (lambda db: db.put_many(["a", "b"], sets=[[1], [2]], values=["x", 5]), "row 1 of values is int"),
        (lambda db: db.put_many(["a", "b"], sets=[[1], [2]], values=["x", bytes(65_537)]), "row 1: value of 65537 bytes"),
    ],
)
def test_what_is_refused(call: Callable, message: str) -> None:
    """A value that is refused takes its whole call back."""
    db = rdb.memory(features="ids", seed=1)
    db.put("a", set=[9], value="kept")
    before = db.snapshot().sequence
    with pytest.raises(rdb.InvalidArgument, match=message):
        call(db)
    assert list(db) == ["a"] and db.value("a") == b"kept" and db.snapshot().sequence == before


def test_the_tool_reads_them(run_tool: Callable, path: Path) -> None:
    """Values of the package are values of the tool, and the other way around."""
    with rdb.create(path, features="text", seed=1) as db:
        db.put("a", text="some words in a text", value=json.dumps({"shelf": 7}))
    lines = b'{"id": "b", "text": "some words in a text", "v": "shelf 8"}\n'
    assert run_tool("add", path, "--jsonl", "-", "--value-field", "v", input=lines).returncode == 0
    found = run_tool("query", path, "--text", "some words in a text", "--json").stdout.splitlines()
    theirs = {row["key"]: row["value"] for row in map(json.loads, found)}
    with rdb.open(path) as db:
        ours = {match.key: match.value for match in db.query(text="some words in a text", values=True)}
    assert ours == {"a": b'{"shelf": 7}', "b": b"shelf 8"}
    assert theirs == {key: value.decode() for key, value in ours.items()}
