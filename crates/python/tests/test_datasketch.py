"""`ringerdb.datasketch`: values are those of datasketch 2.0.0, indexes find what brute force finds, and files keep them.

The numbers here were printed by datasketch 2.0.0. `compat/run` compares many more, and runs datasketch's own tests.
"""

from __future__ import annotations

import pickle
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringerdb as rdb
from ringerdb.datasketch import (
    LeanMinHash,
    MinHash,
    MinHashLSH,
    MinHashLSHEnsemble,
    MinHashLSHForest,
    NotSupported,
    WeightedMinHashGenerator,
    bBitMinHash,
)


def sets_with_copies(count: int, seed: int = 1) -> list[list[bytes]]:
    rng = random.Random(seed)
    sets: list[list[int]] = []
    for _ in range(count):
        one = list(rng.choice(sets)) if sets and rng.random() < 0.5 else [rng.randrange(1 << 30) for _ in range(40)]
        one[rng.randrange(40)] = rng.randrange(1 << 30)
        sets.append(one)
    return [[str(element).encode() for element in one] for one in sets]


@pytest.mark.parametrize(
    ("scheme", "values"),
    [
        ("affine32", [1446583362, 1388533999, 831950533, 1845606703]),
        ("affine64", [17170270090187527343, 6203611050164820875, 4141308390362884389, 4915270424612038026]),
        ("legacy", [734825475, 960773806, 359816889, 342714745]),
    ],
)
def test_values_are_those_of_datasketch(scheme: str, values: list[int]) -> None:
    sketch = MinHash(4, 1, scheme=scheme)
    sketch.update(b"Hello")
    sketch.update_batch([b"World"] if scheme != "legacy" else [])
    assert sketch.hashvalues.tolist() == values and MinHash().scheme == "affine32"
    assert pickle.loads(pickle.dumps(sketch)) == sketch == sketch.copy()


def test_lean_bytes_are_those_of_datasketch() -> None:
    sketch = LeanMinHash(seed=7, hashvalues=[1, 2, 3], scheme="affine32")
    buffer = bytearray(sketch.bytesize("<"))
    sketch.serialize(buffer, "<")
    assert buffer.hex() == "0700000000000000fdffffff01010000000200000003000000"
    assert LeanMinHash.deserialize(buffer, "<") == sketch and hash(sketch) == hash(pickle.loads(pickle.dumps(sketch)))
    old = LeanMinHash(seed=7, hashvalues=[1, 2, 3], scheme="legacy")
    buffer = bytearray(old.bytesize("<"))
    old.serialize(buffer, "<")
    assert buffer.hex() == "070000000000000003000000010000000200000003000000"
    for broken in (b"", buffer[:-1], b"\0" * 8 + b"\xff\xff\xff\x7f", b"\0" * 8 + b"\xff\xff\xff\xff\x09"):
        with pytest.raises(ValueError):
            LeanMinHash.deserialize(broken, "<")
    with pytest.raises(TypeError, match="cannot be updated"):
        sketch.update(b"x")


@given(st.lists(st.binary(max_size=4), max_size=20), st.lists(st.binary(max_size=4), max_size=20))
def test_merging_is_the_union(a: list[bytes], b: list[bytes]) -> None:
    first, second, both = MinHash.bulk([a, b, a + b], num_perm=16)
    assert MinHash.union(first, second) == both == MinHash.union(second, first)
    one_by_one = MinHash(num_perm=16)
    for element in a:
        one_by_one.update(element)
    assert one_by_one == first and first.is_empty() == (not a)
    first.merge(second)
    assert first == both


def test_sketches_that_cannot_be_compared() -> None:
    sketch = MinHash(16)
    for other in (MinHash(8), MinHash(16, seed=2), MinHash(16, scheme="legacy")):
        for call in (sketch.jaccard, sketch.merge, lambda other: MinHash.union(sketch, other)):
            with pytest.raises(ValueError, match="different"):
                call(other)
    with pytest.raises(ValueError, match="scheme must be given"):
        MinHash(hashvalues=[1, 2])
    with pytest.raises(ValueError, match="0 to 4294967295"):
        MinHash(hashvalues=np.array([1 << 32]), scheme="affine32")
    with pytest.raises(ValueError, match="hash values of elements"):
        MinHash(hashfunc=lambda element: 1 << 40).update(b"x")
    with pytest.raises(RuntimeError, match="does not use GPUs"):
        MinHash(gpu_mode="always").update_batch([b"x"])


def test_truncated_sketches_can_only_be_compared() -> None:
    a, b = MinHash.bulk([[b"%d" % i for i in range(300)], [b"%d" % i for i in range(100, 400)]], num_perm=1024)
    for bits in (1, 4, 16):
        small = bBitMinHash(a, bits).jaccard(bBitMinHash(b, bits))
        # Six standard errors at resemblance .5.
        assert abs(small - 0.5) < 6 * 0.5 / 32 / (1 - 2.0**-bits)
    for call in ("merge", "union", "update", "update_batch", "count"):
        with pytest.raises(NotSupported, match="cut that"):
            getattr(bBitMinHash(a), call)(b)
    assert pickle.loads(pickle.dumps(bBitMinHash(a, 3))) == bBitMinHash(a, 3)
    with pytest.raises(ValueError, match="different b"):
        bBitMinHash(a, 3).jaccard(bBitMinHash(a, 4))


def test_weighted_values_are_those_of_datasketch() -> None:
    generator = WeightedMinHashGenerator(3, sample_size=3, seed=1)
    assert generator.minhash([1, 2, 3]).hashvalues.tolist() == [[0, 0], [1, 0], [0, 0]]
    [many, none] = generator.minhash_many(np.array([[1, 2, 3], [0, 0, 0]]))
    assert many is not None and many.hashvalues.tolist() == [[0, 0], [1, 0], [0, 0]] and none is None
    big = WeightedMinHashGenerator(2, sample_size=2000)
    assert big.minhash([4, 1]).jaccard(big.minhash([2, 3])) == pytest.approx(3 / 7, abs=6 * 0.5 / 2000**0.5)
    for vector, error in [([0, 0, 0], ValueError), ([1, 2], ValueError), (5, TypeError)]:
        with pytest.raises(error):
            generator.minhash(vector)


@pytest.mark.parametrize(("threshold", "weights", "bands"), [(0.5, (0.5, 0.5), (25, 5)), (0.8, (0.5, 0.5), (9, 13)),
                                                             (0.9, (0.5, 0.5), (5, 25)), (0.8, (0.2, 0.8), (12, 10))])
def test_bands_are_those_of_datasketch(threshold: float, weights: tuple[float, float], bands: tuple[int, int]) -> None:
    index = MinHashLSH(threshold, 128, weights)
    assert (index.b, index.r) == bands


def open_index(path: Path | None, **options: object) -> MinHashLSH:
    config = None if path is None else {"type": "file", "path": str(path)}
    return MinHashLSH(params=(8, 4), num_perm=32, storage_config=config, **options)


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_an_index_finds_what_shares_a_band(path: Path, kind: str) -> None:
    where = path if kind == "file" else None
    sketches = MinHash.bulk(sets_with_copies(150), num_perm=32)
    index = open_index(where)
    assert index.is_empty() and index.query(sketches[0]) == []
    with index.insertion_session(buffer_size=40) as session:
        for i, sketch in enumerate(sketches):
            session.insert(i if i % 3 else f"key {i}", sketch)
        assert 1 in index and "key 0" in index and 0 not in index
        with pytest.raises(ValueError, match="in the index already"):
            session.insert(1, sketches[1])
    names = [i if i % 3 else f"key {i}" for i in range(150)]
    removed = set(names[::10])
    for name in removed:
        index.remove(name)
    with pytest.raises(ValueError, match="not in the index"):
        index.remove("key 0")
    if where is not None:
        index.close()
        assert [file.name for file in path.parent.iterdir()] == [path.name]
        index = open_index(where)
    bands = [[sketch.hashvalues[i : i + 4].tobytes() for i in range(0, 32, 4)] for sketch in sketches]
    for i, sketch in enumerate(sketches):
        expected = {name for name, other in zip(names, bands) if any(a == b for a, b in zip(bands[i], other))}
        assert set(index.query(sketch)) == expected - removed
    counts = index.get_counts()
    assert len(counts) == 8 and all(sum(count.values()) == 150 - len(removed) for count in counts)
    assert [sum(count.values()) for count in index.get_subset_counts(1, 2)] == [2] * 8
    index.add_to_query_buffer(sketches[1])
    index.add_to_query_buffer(sketches[2])
    assert set(index.collect_query_buffer()) == set(index.query(sketches[1])) & set(index.query(sketches[2]))
    assert index.collect_query_buffer() == []
    index.insert(1, sketches[2], check_duplication=False)
    # The bands of the earlier sketch are gone.
    for i, sketch in enumerate(sketches):
        assert (1 in index.query(sketch)) == any(a == b for a, b in zip(bands[i], bands[2]))
    with pytest.raises(ValueError, match="8 values; this index takes 32"):
        index.query(MinHash(8))
    with pytest.raises(ValueError, match="affine32.*legacy|legacy.*affine32"):
        index.insert("other", sketches[0]) if where is None else None
        index.insert("x", MinHash(32, scheme="legacy"))
    with index.deletion_session() as session:
        for name in set(names) - removed:
            session.remove(name)
    # The file was opened anew, so only the index in memory has the extra key.
    assert index.is_empty() or where is None and "other" in index
    index.close()


def test_files_of_indexes(path: Path) -> None:
    sketches = MinHash.bulk(sets_with_copies(20), num_perm=32)
    index = open_index(path)
    for key in ["text", b"bytes", 7, -3, np.int64(9)]:
        index.insert(key, sketches[0])
    assert set(index.query(sketches[0])) == {"text", b"bytes", 7, -3, 9}
    with pytest.raises(NotSupported, match="prepickle=True"):
        index.insert((1, 2), sketches[0])
    with pytest.raises(NotSupported, match="cannot be pickled"):
        pickle.dumps(index)
    with pytest.raises(NotSupported, match="no tables in memory"):
        index.hashtables
    with pytest.raises(rdb.LockedError):
        open_index(path)
    other = open_index(path.with_name("other.ringer"))
    other.insert("other", sketches[1])
    index.merge(other)
    assert "other" in index.query(sketches[1])
    with pytest.raises(ValueError, match="in both"):
        index.merge(other, check_overlap=True)
    with pytest.raises(NotSupported, match="32 bits of each band"):
        open_index(None).merge(index)
    index.close()
    other.close()
    with pytest.raises(rdb.SchemeMismatch, match="not an index of MinHashLSH of 32 values in 4 bands of 8"):
        MinHashLSH(params=(4, 8), num_perm=32, storage_config={"type": "file", "path": path})
    with rdb.open(path) as db, pytest.raises(rdb.SchemeMismatch, match="sketches of another program"):
        db.query(set=[1])
    for config in ({"type": "redis"}, {"type": "cassandra"}):
        with pytest.raises(NotSupported, match="in one file"):
            MinHashLSH(storage_config=config)
    pickled = open_index(path.with_name("pickled.ringer"), prepickle=True)
    pickled.insert((1, "a"), sketches[0])
    assert pickled.query(sketches[0]) == [(1, "a")] and (1, "a") in pickled
    pickled.close()


def test_indexes_in_memory_can_be_pickled() -> None:
    sketches = MinHash.bulk(sets_with_copies(20), num_perm=32)
    index, forest = open_index(None), MinHashLSHForest(32)
    for i, sketch in enumerate(sketches):
        index.insert(i, sketch)
        forest.add(i, sketch)
    forest.index()
    copy, other = pickle.loads(pickle.dumps((index, forest)))
    assert all(copy.query(sketch) == index.query(sketch) for sketch in sketches)
    assert all(other.query(sketch, 3) == forest.query(sketch, 3) for sketch in sketches)


def test_a_forest_finds_the_longest_prefixes() -> None:
    sketches = MinHash.bulk(sets_with_copies(60), num_perm=32)
    forest = MinHashLSHForest(32, l=4)
    for i, sketch in enumerate(sketches):
        forest.add(i, sketch)
    assert forest.is_empty() and forest.query(sketches[0], 5) == [] and 3 in forest and 99 not in forest
    forest.index()

    def depth(a: MinHash, b: MinHash) -> int:
        """The longest prefix of one of the four tables that is common."""
        equal = (a.hashvalues == b.hashvalues).reshape(4, 8)
        return max(int(np.argmin(row)) if not row.all() else 8 for row in equal)

    for i, sketch in enumerate(sketches):
        depths = [depth(sketch, other) for other in sketches]
        found = forest.query(sketch, 6)
        assert len(found) == len(set(found)) <= 6 and (i in found or min(depths[j] for j in found) == 8)
        least, others = min(depths[j] for j in found), [depths[j] for j in range(60) if j not in found]
        assert least >= max(others) and least > 0
        assert (forest.get_minhash_hashvalues(i) == sketch.hashvalues).all()
    with pytest.raises(KeyError):
        forest.get_minhash_hashvalues("nothing")
    for call in (lambda: forest.add(1, sketches[1]), lambda: forest.query(sketches[0], 0), lambda: MinHashLSHForest(4, 8)):
        with pytest.raises(ValueError):
            call()


def test_an_ensemble_finds_the_sets_that_contain_a_query() -> None:
    rng = random.Random(1)
    sets = [{rng.randrange(1 << 30) for _ in range(rng.choice([5, 50, 400, 401, 402]))} for _ in range(60)]
    # Some are small parts of another one.
    large = [one for one in sets if len(one) > 100]
    sets += [set(rng.sample(sorted(one), 10)) for one in large]
    queries = [set(rng.sample(sorted(one), len(one) * 4 // 5)) for one in sets]
    made = [MinHash.bulk([[str(x).encode() for x in one] for one in group], num_perm=128) for group in (sets, queries)]
    ensemble = MinHashLSHEnsemble(threshold=0.8, num_perm=128, num_part=3)
    ensemble.index((i, sketch, len(one)) for i, (sketch, one) in enumerate(zip(made[0], sets)))
    found = [list(ensemble.query(sketch, len(one))) for sketch, one in zip(made[1], queries)]
    assert np.mean([i in keys for i, keys in enumerate(found)]) > 0.9 and np.mean([len(keys) for keys in found]) < 4
    # By brute force: a part asks for the first b bands of r values, planned for the ratio of its largest size and the query's.
    ratios = np.exp(np.linspace(-5, 5, 10))
    for sketch, query, keys in zip(made[1], queries, found):
        expected = set()
        for i, one in enumerate(sets):
            upper = min(upper for upper in ensemble.uppers if upper is not None and upper >= len(one))
            place = min(sum(ratios < upper / len(query)), 9)
            b, r = ensemble.params[place]
            equal = (sketch.hashvalues == made[0][i].hashvalues)[: b * r].reshape(b, r)
            if equal.all(axis=1).any():
                expected.add(i)
        assert set(keys) == expected
    assert 5 in ensemble and 99 not in ensemble and not ensemble.is_empty()
    copy = pickle.loads(pickle.dumps(ensemble))
    assert list(copy.query(made[1][0], len(queries[0]))) == found[0]
    for call in (lambda: ensemble.index([(99, made[0][0], 5)]), lambda: MinHashLSHEnsemble().index([]),
                 lambda: MinHashLSHEnsemble().index([(1, made[0][0], 0)]), lambda: MinHashLSHEnsemble(m=1),
                 lambda: MinHashLSHEnsemble(storage_config={"type": "file", "path": "x"})):
        with pytest.raises(ValueError):
            call()


@pytest.mark.parametrize(
    "options", [{"threshold": 1.5}, {"num_perm": 1}, {"weights": (0.5, 0.6)}, {"params": (64, 4)}, {"params": (1, 4)},
                {"storage_config": {"type": "file"}}]
)
def test_arguments_out_of_range(options: dict) -> None:
    with pytest.raises(ValueError):
        MinHashLSH(**options)
