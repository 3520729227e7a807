"""`dedupe`: every removed row resembles the row that is kept in its place, and no similar rows are left."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringerdb as rdb
from conftest import jaccard, some_texts


def strict_groups(sets: list[set], order: list[int], least: float) -> dict[int, int]:
    """The kept row for each row, by brute force: rows in order of preference; each takes all free rows like it."""
    kept: dict[int, int] = {}
    for i in order:
        if i not in kept:
            kept[i] = i
            for j in order:
                if j not in kept and jaccard(sets[i], sets[j]) >= least:
                    kept[j] = i
    return kept


@pytest.mark.parametrize("keep", ["first", "last", "longest", "shortest"])
def test_the_answer_is_that_of_brute_force(texts: list[str], keep: str) -> None:
    texts = [text + " end" * (i % 3) for i, text in enumerate(texts)]
    sketcher = rdb.Sketcher(features="text:3")
    sets = [set(sketcher.features(text).tolist()) for text in texts]
    order = list(range(len(texts)))
    if keep == "last":
        order.reverse()
    elif keep != "first":
        order.sort(key=lambda i: len(texts[i]), reverse=keep == "longest")
    for least in [0.5, 0.8]:
        expected = strict_groups(sets, order, least)
        r = rdb.dedupe(texts, features="text:3", keep=keep, min=least)
        assert r.representative.tolist() == [expected[i] for i in range(len(texts))]
        assert r.keep.tolist() == [expected[i] == i for i in range(len(texts))]
        for i, kept in expected.items():
            assert r.similarity[i] == r.low[i] == r.high[i] == jaccard(sets[i], sets[kept])
        alone = [i for i in expected if list(expected.values()).count(expected[i]) == 1]
        assert (r.group[alone] == -1).all() and (np.delete(r.group, alone) > 0).all()
        assert len(set(r.group[r.group > 0])) == r.group.max(initial=0)


def test_connected_groups_follow_chains() -> None:
    words = [str(i) for i in range(300)]
    texts = [" ".join(words[i : i + 100]) for i in range(0, 100, 5)]
    strict, connected = (rdb.dedupe(texts, linkage=kind, min=0.8, seed=1) for kind in ("strict", "connected"))
    assert connected.keep.tolist() == [True] + [False] * 19
    assert connected.similarity.min() < 0.8 <= strict.similarity.min() and strict.keep.sum() > 1


def test_tables_and_columns(texts: list[str]) -> None:
    pa, polars, pandas = (pytest.importorskip(name) for name in ("pyarrow", "polars", "pandas"))
    ids = list(range(len(texts)))
    expected = rdb.dedupe(texts, seed=1)
    kept = [i for i in ids if expected.keep[i]]
    assert 0 < len(kept) < len(texts) and expected.filter(texts) == [texts[i] for i in kept]
    for table in [pa.table({"id": ids, "text": texts}), polars.DataFrame({"id": ids, "text": texts}),
                  pandas.DataFrame({"id": ids, "text": texts}, index=ids[::-1])]:
        r = rdb.dedupe(table, column="text", seed=1)
        assert (r.keep == expected.keep).all() and (r.representative == expected.representative).all()
        assert r.filter(table)["id"].to_numpy().tolist() == kept
    assert rdb.dedupe({"body": texts}, column="body", seed=1).keep.tolist() == expected.keep.tolist()
    # A column of texts needs no name, and a dict of columns is a table.
    assert rdb.dedupe(texts, column="text", seed=1).keep.tolist() == expected.keep.tolist()
    assert expected.filter({"id": ids, "text": np.array(texts)})["id"] == kept
    assert expected.to_arrow()["keep"].to_pylist() == expected.keep.tolist()
    duckdb = pytest.importorskip("duckdb")
    frame = pa.table({"id": ids, "text": texts})
    assert frame.num_rows == len(texts)
    relation = duckdb.sql("select * from frame")
    r = rdb.dedupe(relation, column="text", seed=1)
    assert r.filter(relation)["id"].to_pylist() == kept
    assert f"{len(texts)} rows" in repr(expected) and expected.removed.tolist() == sorted(set(ids) - set(kept))
    for table in [pa.table({"a": [1]}), polars.DataFrame({"a": [1]}), pandas.DataFrame({"a": [1]}), {"a": [1]}]:
        with pytest.raises(rdb.InvalidArgument, match="no column 'text'"):
            rdb.dedupe(table)
    with pytest.raises(rdb.InvalidArgument, match="compared"):
        expected.filter(texts[1:])


def test_nulls_and_empty_texts_are_kept() -> None:
    r = rdb.dedupe(["a b c d e f", None, "", None, "", "a b c d e f"])
    assert r.keep.tolist() == [True, True, True, True, True, False]
    assert r.group.tolist() == [1, -1, -1, -1, -1, 1] and np.isnan(r.similarity[[1, 3]]).all()
    assert len(rdb.dedupe([])) == 0


def test_sets_and_signatures() -> None:
    sets = [range(100), range(200, 300), range(2, 102), [5]]
    assert rdb.dedupe(sets=sets, features="ids").keep.tolist() == [True, True, False, True]
    assert rdb.dedupe(sets=[["a", "b"], ["b", "a"]], features="tokens").keep.tolist() == [True, False]
    sketcher = rdb.Sketcher(features="ids", seed=1)
    signatures = sketcher.signatures(sets=sets)
    r = rdb.dedupe(signatures=signatures, features="ids", seed=1, exact=False)
    assert r.keep.tolist() == [True, True, False, True] and r.low[2] < r.similarity[2] < r.high[2] + 1e-9
    with pytest.raises(rdb.InvalidArgument, match="exact=False"):
        rdb.dedupe(signatures=signatures, features="ids", seed=1)
    with pytest.raises(rdb.InvalidArgument, match="keep `best`"):
        rdb.dedupe(["a"], keep="best")
    with pytest.raises(rdb.InvalidArgument, match="measures `cosine`"):
        rdb.dedupe(["a"], preset="cosine")


def test_estimates_find_the_same_groups_of_copies(texts: list[str]) -> None:
    exact, estimated = (rdb.dedupe(texts * 2, min=0.99, exact=exact, seed=1) for exact in (True, False))
    assert (exact.keep == estimated.keep).mean() > 0.95


def test_a_database_remembers_what_was_kept(path: Path, texts: list[str]) -> None:
    first = rdb.dedupe(texts[:100], db=path, seed=1, keys=[f"k{i}" for i in range(100)])
    with rdb.open(path) as db:
        assert sorted(db) == sorted(f"k{i}" for i in np.flatnonzero(first.keep))
        before = len(db)
        second = rdb.dedupe(first.filter(texts[:100]), db=db)
        assert not second.keep.any() and (second.representative == -1).all() and (second.group > 0).all()
        assert (second.similarity == 1).all()
        assert second.stored.keys() == set(range(before)) and set(second.stored.values()) == set(db)
        assert len(db) == before
        third = rdb.dedupe(["all new words that nobody has seen"], db=db)
        assert third.keep.all() and len(db) == before + 1 and "0" in db
        rdb.dedupe(["and another text with the number zero"], db=db)
        assert "0 (2)" in db
        with pytest.raises(rdb.InvalidArgument, match="scheme of its own: leave out seed"):
            rdb.dedupe(["x"], db=db, seed=1)
    with pytest.raises(rdb.LockedError):
        with rdb.open(path):
            rdb.dedupe(["x"], db=path)


def test_more_rows_than_are_compared_pairwise() -> None:
    """Beyond 20,000 rows the index finds the candidates. Copies are always found."""
    texts = some_texts(12_000, words=12)
    r = rdb.dedupe(texts + texts, seed=1)
    assert not r.keep[12_000:].any()
    assert r.keep[:12_000].sum() == r.keep.sum()
    again = rdb.dedupe(texts + texts, seed=1, threads=1)
    assert (r.representative == again.representative).all()


@given(st.lists(st.sampled_from(["a b c", "a b c d", "x y z", "x y z w", "", "q"]), max_size=12), st.randoms())
def test_all_removed_rows_are_represented(texts: list[str], rng: random.Random) -> None:
    r = rdb.dedupe(texts, features="text:1", min=rng.choice([0.3, 0.7, 1.0]))
    for i in range(len(texts)):
        assert r.keep[r.representative[i]] and (r.keep[i] == (r.representative[i] == i))
