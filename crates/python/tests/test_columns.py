"""Columns: the same rows give the same signatures, whatever holds them; and nothing is copied that need not be."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringerdb as rdb

pa = pytest.importorskip("pyarrow")

TEXTS = ["the quick brown fox jumps over it", None, "", "nœuds ☃ 雪 and more words here", "x", None, "the end of it all is near"]
SETS = [[1, 2, 3], None, [], [2**63 - 1, 7, 7], [5], None, [9, 8]]
WORDS = [["bread", "milk"], None, [], ["Käse", "milk"], ["x"], None, ["a", "b"]]


def rows_of(signatures: rdb.Signatures) -> list[bytes | None]:
    return [signatures[i] for i in range(len(signatures))]


def arrow_variants(values: list[Any], kinds: list[Any]) -> list[Any]:
    """The same rows in all types, whole, chunked, sliced and sliced from the middle of longer arrays."""
    found = []
    for kind in kinds:
        whole = pa.array(values, kind)
        longer = pa.array([*values[3:], *values, *values[:2]], kind)
        middle = longer.slice(len(values) - 3, len(values))
        chunks = [middle.slice(0, 2), middle.slice(2, 0), middle.slice(2, 4), middle.slice(6)]
        found += [whole, middle, pa.chunked_array(chunks), pa.table({"only": pa.chunked_array(chunks)})]
    return found


def test_texts_are_the_same_in_every_container() -> None:
    sketcher = rdb.Sketcher(features="text:2", seed=1)
    expected = [None if text is None else sketcher.signatures([text])[0] for text in TEXTS]
    assert rows_of(sketcher.signatures(TEXTS)) == expected
    as_bytes = [None if text is None else text.encode() for text in TEXTS]
    columns = [tuple(TEXTS), iter(TEXTS), as_bytes, np.array(TEXTS, dtype=object)]
    columns += arrow_variants(TEXTS, [pa.string(), pa.large_string(), pa.string_view()])
    columns += arrow_variants(as_bytes, [pa.binary(), pa.large_binary(), pa.binary_view()])
    columns += [pa.array(TEXTS).dictionary_encode()]
    for column in columns:
        assert rows_of(sketcher.signatures(column)) == expected, type(column)
    assert rows_of(sketcher.signatures(np.array(["a b", "c d"]))) == rows_of(sketcher.signatures(["a b", "c d"]))
    assert rows_of(sketcher.signatures(pa.nulls(3))) == [None, None, None]
    assert len(sketcher.signatures([])) == len(sketcher.signatures(pa.array([], pa.string()))) == 0


def test_sets_are_the_same_in_every_container() -> None:
    for values, features, kinds in [
        (SETS, "ids", [pa.uint64(), pa.int64()]),
        (WORDS, "tokens", [pa.string(), pa.large_string(), pa.string_view(), pa.binary()]),
    ]:
        sketcher = rdb.Sketcher(features=features, seed=1)
        expected = [None if row is None else sketcher.signatures(sets=[row])[0] for row in values]
        columns: list[Any] = [values, iter(values), [None if row is None else set(row) for row in values]]
        for kind in kinds:
            columns += arrow_variants(values, [pa.list_(kind), pa.large_list(kind), pa.list_view(kind)])
        for column in columns:
            assert rows_of(sketcher.signatures(sets=column)) == expected, type(column)
    small = [[1, 2], [3, 4], None, [250, 6]]
    sketcher = rdb.Sketcher(features="ids", seed=1)
    expected = rows_of(sketcher.signatures(sets=small))
    for kind in [pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32()]:
        for column in [pa.array(small, pa.list_(kind)), pa.array(small, pa.list_(kind, 2))]:
            assert rows_of(sketcher.signatures(sets=column)) == expected
    full = [row for row in small if row]
    expected = rows_of(sketcher.signatures(sets=full))
    for dtype in [np.uint64, np.int64, np.int32, np.uint8]:
        values, offsets = np.concatenate([np.array(row, dtype) for row in full]), np.array([0, 2, 4, 6])
        assert rows_of(sketcher.signatures(sets=(values, offsets))) == expected
        assert rows_of(sketcher.signatures(sets=(values, offsets.astype(np.uint32)))) == expected
        assert rows_of(sketcher.signatures(sets=np.array(full, dtype))) == expected
        strided = np.repeat(values, 2)[::2]
        assert rows_of(sketcher.signatures(sets=(strided, offsets))) == expected


def test_weighted_columns() -> None:
    rows = [{"a": 1.0, "b": 2.5}, None, {}, {"c": 3.0}]
    sketcher = rdb.Sketcher(features="tokens", preset="weighted", seed=1)
    expected = rows_of(sketcher.signatures(weighted=rows))
    kind = pa.map_(pa.string(), pa.float64())
    maps = pa.array([None if row is None else list(row.items()) for row in rows], kind)
    assert rows_of(sketcher.signatures(weighted=maps)) == expected
    assert rows_of(sketcher.signatures(weighted=pa.chunked_array([maps[:1], maps[1:]]))) == expected


def test_vectors_are_the_same_in_every_container() -> None:
    rows = [[1.0, -2.5, 0.0], None, [0.5, 0.25, 4.0], [3.0, 0.0, -1.0], [1.0, 1.0, 1.0], None, [2.0, 2.0, 3.0]]
    sketcher = rdb.Sketcher(features="ids", preset="cosine", seed=1)
    expected = [None if row is None else sketcher.signatures(vectors=[row])[0] for row in rows]
    for kind in (pa.float64(), pa.float32()):
        kinds = [pa.list_(kind), pa.list_(kind, 3), pa.large_list(kind), pa.list_view(kind)]
        for column in arrow_variants(rows, kinds):
            assert rows_of(sketcher.signatures(vectors=column)) == expected, column.type
    full = [row for row in rows if row]
    expected = rows_of(sketcher.signatures(vectors=full))
    polars = pytest.importorskip("polars")
    columns = [np.array(full), np.array(full, np.float32), np.array(full).T.copy().T, tuple(full), map(np.array, full),
               polars.Series(full), polars.Series(full, dtype=polars.Array(polars.Float32, 3))]
    for column in columns:
        assert rows_of(sketcher.signatures(vectors=column)) == expected, type(column)
    for column, message in [
        (pa.array([[1.0], [1.0, 2.0]]), "row 1 has 2 coordinates, and others 1"), (pa.array([[1.0, None]]), "coordinate is null"),
        (pa.array([["a"]]), "lists of Utf8"), (pa.array([1.0]), "give lists"), ([[1.0], [1.0, 2.0]], "equally many numbers"),
    ]:
        with pytest.raises(rdb.InvalidArgument, match=message):
            sketcher.signatures(vectors=column)


def test_polars_pandas_and_duckdb_columns() -> None:
    polars, pandas, duckdb = (pytest.importorskip(name) for name in ("polars", "pandas", "duckdb"))
    sketcher = rdb.Sketcher(features="text:2", seed=1)
    expected = rows_of(sketcher.signatures(TEXTS))
    frame = pa.table({"text": TEXTS})
    assert frame.num_rows == len(TEXTS)
    columns = [
        polars.Series(TEXTS), polars.Series(TEXTS, dtype=polars.Categorical), polars.DataFrame({"t": TEXTS}),
        pandas.Series(TEXTS), pandas.Series(TEXTS, dtype=object), pandas.Series(TEXTS, dtype="string"),
        duckdb.sql("select text from frame"),
    ]
    for column in columns:
        assert rows_of(sketcher.signatures(column)) == expected, type(column)
    ids = rdb.Sketcher(features="ids", seed=1)
    assert rows_of(ids.signatures(sets=polars.Series(SETS))) == rows_of(ids.signatures(sets=SETS))


def test_refused_columns() -> None:
    sketcher = rdb.Sketcher(features="ids", seed=1)
    for column, message in [
        (pa.array([1.5]), "a column of Float64"),
        (pa.array([[1.5]]), "a column of Float64"),
        (pa.array([[1, None]]), "row 0: an element is null"),
        (pa.array([[1], [-1]]), "row 1: element -1"),
        (pa.table({"a": [1], "b": [2]}), r"choose one of its columns \(a, b\)"),
        (5, "."),
    ]:
        with pytest.raises((rdb.InvalidArgument, TypeError), match=message):
            sketcher.signatures(sets=column)
    with pytest.raises(rdb.InvalidArgument, match="texts is a single text"):
        rdb.Sketcher().signatures("one text")
    with pytest.raises(rdb.InvalidArgument, match="row 1 of texts is int"):
        rdb.Sketcher().signatures(["a", 1])
    with pytest.raises(rdb.InvalidArgument, match="row 1 of texts has a surrogate"):
        rdb.Sketcher().signatures(["a", "b\udc80"])


def test_signatures_are_not_copied() -> None:
    """Arrow and numpy see the bytes at the same address, and so does the way back."""
    sketcher = rdb.Sketcher(features="ids", seed=1)
    signatures = sketcher.signatures(sets=SETS)
    matrix, array = signatures.to_numpy(), pa.array(signatures)
    assert array.type == pa.binary(sketcher.width) and array.null_count == signatures.null_count == 2
    assert array.buffers()[1].address == matrix.ctypes.data
    assert matrix.shape == (7, sketcher.width)
    with pytest.raises(ValueError, match="read-only"):
        matrix[0, 0] = 1
    assert array.to_pylist() == rows_of(signatures)
    del signatures
    assert bytes(matrix[0]) == array[0].as_py()
    read = sketcher.compare(array, array)
    assert np.isnan(read[[1, 2, 5]]).all() and (read[[0, 3, 4, 6]] == 1).all()


def test_columns_are_read_where_they_are() -> None:
    """Rows are read at the addresses that their owners have: numpy values, Arrow values and texts, and Python strings."""
    ids = rdb.Sketcher(features="ids", seed=1)._core
    values, offsets = np.arange(10, dtype=np.uint64), np.array([2, 5, 5, 9])
    start = values.ctypes.data
    assert ids._addresses("sets", (values, offsets)) == [start + 8 * int(offset) for offset in offsets[:-1]]
    array = pa.array([[7], None, [1, 2, 3], [4]], pa.list_(pa.uint64()))
    start = array.values.buffers()[1].address
    assert ids._addresses("sets", array) == [start, 0, start + 8, start + 32]
    assert ids._addresses("sets", array.slice(2)) == [start + 8, start + 32]
    assert ids._addresses("sets", pa.chunked_array([array[:1], array[2:]])) == [start, start + 8, start + 32]

    texts = rdb.Sketcher(features="text", seed=1)._core
    for kind in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary()):
        column = pa.array(["ab", "", "cdef", None], kind)
        start = column.buffers()[2].address
        assert texts._addresses("texts", column) == [start, start + 2, start + 2, 0], kind
    long = pa.array(["a text that is too long for a view itself"], pa.string_view())
    assert texts._addresses("texts", long) == [long.buffers()[2].address]
    strings = ["a plain string", b"some bytes"]
    if sys.implementation.name == "cpython":
        # The data of an ASCII string and of bytes ends where the object ends, after one zero.
        ends = [id(one) + sys.getsizeof(one) - 1 for one in strings]
        assert texts._addresses("texts", strings) == [end - len(one) for end, one in zip(ends, strings)]


def test_tables_are_not_copied() -> None:
    """Every reader of a table gets the same buffers."""
    db = rdb.memory(features="ids", seed=1)
    db.put_many(["a", "b"], sets=[range(100), range(100)], values=["x", "y"])
    rows = db.pairs(0.5, values=True)
    first, second, third = pa.table(rows), rows.to_arrow(), pa.RecordBatchReader.from_stream(rows).read_all()
    for name in rows.names:
        found = [[b and b.address for b in table[name].chunk(0).buffers()] for table in (first, second, third)]
        assert found[0] == found[1] == found[2] and any(found[0]), name
    del rows
    assert first["a_value"].to_pylist() == [b"x"]


def test_texts_are_not_copied() -> None:
    """A column of 16 MB is sketched with far less memory than another copy would take."""
    resource = pytest.importorskip("resource")
    sketcher = rdb.Sketcher(features="text", seed=1)
    column = pa.array(["some words that are rather long and repeat " * 10_000] * 40)
    assert column.nbytes > 16 << 20
    sketcher.signatures(column.slice(0, 2), threads=1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sketcher.signatures(column, threads=1)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8 << 10


@given(st.lists(st.one_of(st.none(), st.text())), st.lists(st.integers(0, 20)))
def test_arrow_texts_are_list_texts(texts: list[str | None], cuts: list[int]) -> None:
    sketcher = rdb.Sketcher(features="grams:2", seed=1)
    try:
        array = pa.array(texts, pa.string())
    except UnicodeEncodeError:
        with pytest.raises(rdb.InvalidArgument):
            sketcher.signatures(texts)
        return
    places = sorted({0, len(texts), *(cut for cut in cuts if cut < len(texts))})
    chunks = pa.chunked_array([array[a:b] for a, b in zip(places, places[1:])], pa.string())
    assert rows_of(sketcher.signatures(chunks)) == rows_of(sketcher.signatures(texts))


def test_reference_counts_are_balanced() -> None:
    sketcher = rdb.Sketcher(seed=1)
    text, column = "a text that is counted", ["x"]
    before = sys.getrefcount(text), sys.getrefcount(column)
    for _ in range(50):
        sketcher.signatures([text, text])
        pa.array(sketcher.signatures(column))
    assert (sys.getrefcount(text), sys.getrefcount(column)) == before
