"""Databases: what is stored comes back, in files, in memory and for readers; handles close."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringerdb as rdb
from conftest import jaccard


def test_what_is_stored_comes_back(path: Path) -> None:
    with rdb.create(path, features="ids", keep_sets=True) as db:
        db.put("a", set=[3, 1, 2, 2])
        db.put(b"\xff", set=np.array([7, 8]))
        assert db.put_many(["b", "c"], sets=[[1], {5, 6}]) == 2
        assert list(db.keys()) == ["a", "b", "c", b"\xff"] == list(db)
        assert len(db) == 4 and "a" in db and b"a" in db and "z" not in db and 5 not in db
    with rdb.open(path) as db:
        stored = db.get("a")
        assert stored is not None and stored.elements is not None
        assert stored.elements.tolist() == [1, 2, 3] and stored.size == 3
        assert db.get(b"\xff").elements.tolist() == [7, 8]
        assert db.delete("a") is True and db.delete("a") is False
        assert db.get("a") is None
        assert db.delete_many(["b", "c", "nothing"]) == 2
        assert len(db) == 1
    assert sorted(file.name for file in path.parent.iterdir()) == [path.name]


@given(st.dictionaries(st.one_of(st.text(min_size=1, max_size=9), st.binary(min_size=1, max_size=9)),
                       st.sets(st.integers(0, 2**64 - 1), max_size=20), max_size=20))
def test_the_database_is_a_map(sets: dict) -> None:
    """Against a dict whose keys are bytes."""
    try:
        expected = {key if isinstance(key, bytes) else key.encode(): value for key, value in sets.items()}
    except UnicodeEncodeError:
        return
    db = rdb.memory(features="ids", keep_sets=True)
    for key, value in sets.items():
        db.put(key, set=list(value))
    last = {}
    for key, value in sets.items():
        last[key if isinstance(key, bytes) else key.encode()] = value
    found = {key if isinstance(key, bytes) else key.encode(): db.get(key) for key in db.keys()}
    assert {key: set(stored.elements.tolist()) for key, stored in found.items()} == last == {**expected, **last}
    assert [k if isinstance(k, bytes) else k.encode() for k in db.keys()] == sorted(last)


def test_keys_come_in_pages_and_by_prefix() -> None:
    db = rdb.memory(features="ids")
    names = sorted(f"{i % 7}/{i:05}" for i in range(10_000))
    db.put_many(names, sets=[[i] for i in range(len(names))])
    assert list(db.keys()) == names
    assert list(db.keys("3/")) == [name for name in names if name.startswith("3/")]
    assert list(db.keys(prefix="x")) == []


def test_queries_find_what_brute_force_finds(texts: list[str]) -> None:
    """The database keeps the sets, so its answers are exact. An exhaustive query misses nothing."""
    db = rdb.memory(features="text:3", keep_sets=True, seed=3)
    names = [f"{i:03}" for i in range(len(texts))]
    db.put_many(names, texts=texts)
    sets = [set(db.sketcher.features(text).tolist()) for text in texts]
    for i in range(0, len(texts), 10):
        expected = {names[j]: jaccard(sets[i], sets[j]) for j in range(len(texts)) if j != i}
        expected = {name: value for name, value in expected.items() if value >= 0.3}
        found = db.query(key=names[i], min=0.3, top=None, exhaustive=True)
        assert {match.key: match.similarity.value for match in found} == pytest.approx(expected)
        order = [(-match.similarity.value, match.key) for match in found]
        assert [value for value, _ in order] == sorted(value for value, _ in order)
        assert all(match.comparison.is_exact and match.similarity.std_error == 0 for match in found)


def test_all_kinds_of_questions_give_the_same_answer() -> None:
    db = rdb.memory(features="text", seed=1)
    text = "the quick brown fox jumps over the lazy dog and runs away"
    db.put("a", text=text)
    signature = db.get("a").signature
    answers = [
        db.query(text=text),
        db.query(text=text.encode()),
        db.query(set=db.sketcher.features(text)),
        db.query(signature=signature),
        db.query(signature=db.sketcher.signatures([text])[0]),
    ]
    assert all([(m.key, m.similarity) for m in answer] == [("a", answers[0][0].similarity)] for answer in answers)
    assert db.query(key="a") == []
    assert db.query(text=text, top=np.int64(3), exhaustive=True)[0].key == "a"
    assert [m.key for m in db.query(signature=db.sketcher.signatures([text]).to_numpy()[0])] == ["a"]
    key, similarity, slots = answers[0][0]
    assert (key, similarity.value, slots) == ("a", 1.0, db.sketcher.slot_count)


def test_many_queries_are_single_queries(texts: list[str]) -> None:
    db = rdb.memory(seed=1)
    db.put_many([f"{i:03}" for i in range(len(texts))], texts=texts)
    rows = list(db.query_many(texts=[*texts[:50], None], top=3, min=0.2))
    expected = []
    for i, text in enumerate(texts[:50]):
        for m in db.query(text=text, top=3, min=0.2):
            s = m.similarity
            expected.append((i, m.key, s.value, s.std_error, s.low, s.high, m.matching_slots))
    assert [tuple(row) for row in rows] == expected
    one = db.query_many(texts=texts[:50], top=3, min=0.2, threads=1)
    assert list(one) == rows


def test_pairs_clusters_and_triples_are_those_of_queries(texts: list[str]) -> None:
    db = rdb.memory(features="text:3", keep_sets=True, seed=3)
    names = [f"{i:03}" for i in range(len(texts))]
    db.put_many(names, texts=texts)
    sets = [set(db.sketcher.features(text).tolist()) for text in texts]
    expected = {}
    for i in range(len(texts)):
        for j in range(i + 1, len(texts)):
            if (value := jaccard(sets[i], sets[j])) >= 0.5:
                expected[names[i], names[j]] = value
    rows = db.pairs(min=0.5, exhaustive=True)
    assert {(row.a, row.b): row.similarity for row in rows} == pytest.approx(expected)
    assert len(rows) == len(expected)
    # Connected components by repeated relabelling.
    label = {name: name for name in names}
    for _ in names:
        for a, b in expected:
            label[a] = label[b] = min(label[a], label[b])
    members = {name: label[name] for name in names if list(label.values()).count(label[name]) > 1}
    clusters = list(db.clusters(min=0.5, exhaustive=True))
    assert {row.key: row.representative for row in clusters} == members
    assert {row.cluster for row in clusters} == set(range(1, len(set(members.values())) + 1))
    for row in clusters:
        assert row.similarity == pytest.approx(jaccard(sets[int(row.key)], sets[int(row.representative)]))
    strict = list(db.clusters(min=0.5, exhaustive=True, linkage="strict"))
    assert all(row.similarity >= 0.5 for row in strict)
    sketched = rdb.memory(features="text:3", preset="precise", seed=3)
    sketched.put_many(names, texts=texts)
    for row in sketched.triples(min=0.5):
        a, b, c = (sets[int(key)] for key in row[:3])
        assert row.low - 0.1 <= len(a & b & c) / len(a | b | c) <= row.high + 0.1


def test_estimates_of_two_and_more_sets() -> None:
    db = rdb.memory(features="ids", preset="precise", seed=2)
    db.put_many(["a", "b", "c"], sets=[range(0, 900), range(100, 1000), range(50, 950)])
    both = db.estimate("a", "b")
    assert both.resemblance.low < 0.8 < both.resemblance.high
    assert both.containment_of_first.low < 800 / 900 < both.containment_of_first.high
    assert both.containment_of_second.value == pytest.approx(800 / 900, abs=0.15)
    assert both.intersection.value == pytest.approx(800, rel=0.2)
    assert both.union.value == pytest.approx(1000, rel=0.2)
    assert both.hamming.value == pytest.approx(200, rel=0.7)
    assert both.probability_at_least(0.99) < 0.01 < both.probability_at_least(0.6)
    assert 0 < both.equal_samples <= 128 and not both.is_exact
    assert isinstance(db.estimate("a", "b", "c"), rdb.Estimate)
    with pytest.raises(rdb.InvalidArgument):
        both.cosine
    with pytest.raises(rdb.InvalidArgument):
        db.estimate("a")


def test_weighted_sets_and_vectors() -> None:
    db = rdb.memory(features="tokens", preset="weighted", seed=1)
    db.put("cake", weighted={"flour": 500.0, "butter": 250.0, "sugar": 120})
    db.put_many(["bread", "pie"], weighted=[{"flour": 500.0}, {"flour": 480.0, "butter": 260.0, "sugar": 120.0}])
    [best, *_] = db.query(weighted={"flour": 500.0, "butter": 250.0, "sugar": 120.0})
    assert (best.key, best.similarity.value) == ("cake", 1.0)
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(50, 32))
    db = rdb.memory(features="ids", preset="cosine", seed=1)
    db.put_many([f"{i:02}" for i in range(50)], vectors=vectors)
    db.put("list", vector=list(vectors[7] + 0.01))
    found = {match.key for match in db.query(vector=vectors[7], min=0.9)}
    assert {"07", "list"} <= found
    assert list(db.query_many(vectors=vectors[:3].astype(np.float32), top=1).column("key")) == ["00", "01", "02"]


def test_snapshots_do_not_change() -> None:
    db = rdb.memory(features="ids", seed=1)
    db.put("a", set=range(100))
    before = db.snapshot()
    db.put("b", set=range(100))
    db.delete("a")
    assert list(before) == ["a"] and list(db) == ["b"]
    assert [m.key for m in before.query(set=range(100))] == ["a"]
    assert before.sequence < db.snapshot().sequence
    db.close()
    assert len(before) == 1


def test_readers_see_acknowledged_commits(path: Path) -> None:
    with rdb.create(path, features="ids") as writer, rdb.open(path, read_only=True) as reader:
        assert reader.read_only and not writer.read_only
        writer.put("a", set=[1])
        assert len(reader) == 0
        reader.refresh()
        assert len(reader) == 1
        with pytest.raises(rdb.InvalidArgument, match="read-only"):
            reader.put("b", set=[2])


def test_stat_check_compact_and_pack(path: Path, tmp_path: Path) -> None:
    with rdb.create(path, features="ids", seed=1) as db:
        db.put_many([str(i) for i in range(1000)], sets=[[i, i + 1] for i in range(1000)])
        db.delete_many([str(i) for i in range(500)])
        assert db.stat().sets == 500
        db.compact()
        assert db.stat().rows == 500 and db.stat().segments == 1 and "seed 1" in db.stat().scheme
        assert db.check() == [] and db.check("deep") == []
        db.pack(tmp_path / "copy.ringer")
    assert rdb.check(tmp_path / "copy.ringer") == []
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    assert rdb.check(path) and all(finding.fix for finding in rdb.check(path))
    memory = rdb.memory(features="ids")
    memory.put("a", set=[1])
    memory.pack(tmp_path / "saved.ringer")
    with rdb.open(tmp_path / "saved.ringer") as db:
        assert list(db) == ["a"]
    with pytest.raises(rdb.InvalidArgument, match="memory"):
        memory.check()


def test_a_put_of_many_is_one_commit(path: Path) -> None:
    """If a row is refused, none is stored, in a batch and in a bulk load."""
    for rows in [10, 20_000]:
        with rdb.memory(features="ids", universe=1 << 20, samples=64, bits=8) as db:
            sets = [[i] for i in range(rows)]
            before = db.snapshot().sequence
            with pytest.raises(rdb.InvalidArgument, match=f"row {rows - 1}: element 1048576"):
                db.put_many([str(i) for i in range(rows)], sets=[*sets[:-1], [1 << 20]])
            assert len(db) == 0
            assert db.put_many([str(i) for i in range(rows)], sets=sets) == rows
            assert len(db) == rows and db.snapshot().sequence == before + 1
            assert db.put_many([], sets=[]) == 0
