"""Sketches of other programs: estimates are near the truth, sources do not mix, and texts are never compared with them."""

from __future__ import annotations

import gzip
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import ringerdb as rdb
from conftest import jaccard
from ringerdb import foreign
from ringerdb.datasketch import LeanMinHash, MinHash, WeightedMinHashGenerator

SETS = [set(range(i * 40, i * 40 + 400)) for i in range(10)]


def sketches(num_perm: int = 512, **options: object) -> list[MinHash]:
    return MinHash.bulk([[str(x).encode() for x in one] for one in SETS], num_perm=num_perm, **options)


@pytest.mark.parametrize("scheme", ["affine32", "affine64", "legacy"])
@pytest.mark.parametrize("bits", [1, 4, 8])
def test_estimates_are_near_the_truth(scheme: str, bits: int) -> None:
    source, signatures = foreign.datasketch(sketches(scheme=scheme), bits=bits)
    truth = np.array([[jaccard(a, b) for b in SETS] for a in SETS])
    matrix = source.sketcher.matrix(signatures, signatures)
    # Six standard errors of 512 samples, at the resemblance where they are greatest.
    assert np.abs(matrix - truth).max() < 6 * 0.5 / 512**0.5 / (1 - 2.0**-bits)
    # Without mixing, minima of small values would agree too often or too seldom: the mean error of unrelated sets shows it.
    unrelated = foreign.Source("test", 512, bits=bits)
    minima = np.random.default_rng(1).integers(0, 1 << 20, (40, 512), dtype=np.uint64) << np.uint64(12)
    noise = unrelated.sketcher.matrix(*[unrelated.signatures(minima)] * 2)[~np.eye(40, dtype=bool)]
    assert abs(noise.mean()) < 6 * noise.std() / 780**0.5 + 0.02


def test_bytes_and_objects_give_the_same_signatures(path: Path) -> None:
    made = sketches(128)
    buffers = []
    for sketch in made:
        buffer = bytearray(LeanMinHash(sketch).bytesize())
        LeanMinHash(sketch).serialize(buffer)
        buffers.append(bytes(buffer))
    source, signatures = foreign.datasketch(made)
    again, others = foreign.datasketch(buffers)
    assert again.sketcher == source.sketcher and (signatures.to_numpy() == others.to_numpy()).all()
    with rdb.create(path, **source.options) as db:
        assert db.put_many([str(i) for i in range(10)], signatures=signatures) == 10
    with rdb.open(path) as db:
        assert [match.key for match in db.query(signature=signatures[3], top=1)] == ["3"]
        assert {row.query: row.key for row in db.query_many(signatures=others, top=1)} == {i: str(i) for i in range(10)}
        assert len(db.pairs(0.6)) >= 8 and len(db.clusters(0.6)) >= 8
        r = rdb.dedupe(signatures=signatures, db=db, exact=False)
        assert not r.keep.any()


def test_texts_and_sets_are_never_compared_with_them() -> None:
    source, signatures = foreign.datasketch(sketches(64))
    db = rdb.memory(**source.options)
    db.put_many([str(i) for i in range(10)], signatures=signatures)
    calls = [
        lambda: db.query(text="a b c"), lambda: db.query(set=[1, 2]), lambda: db.query_many(texts=["a"]),
        lambda: db.query_many(sets=[[1]]), lambda: db.query(weighted={1: 2.0}), lambda: db.query(vector=[1.0]),
        lambda: db.put("x", text="a"), lambda: db.put("x", set=[1]), lambda: db.put_many(["x"], texts=["a"]),
        lambda: db.sketcher.signatures(["a"]), lambda: source.sketcher.signatures(sets=[[1]]),
        lambda: rdb.dedupe(["a", "b"], db=db),
        lambda: db.put_many(["x"], signatures=rdb.Sketcher(seed=1).signatures(["a"])),
        lambda: rdb.memory(features="ids", seed=1).query_many(signatures=signatures),
    ]
    for call in calls:
        with pytest.raises(rdb.SchemeMismatch):
            call()
    assert len(db) == 10 and db.query(key="1")


def test_the_tool_does_not_compare_them_either(run_tool: Callable, path: Path) -> None:
    source, signatures = foreign.datasketch(sketches(64))
    with rdb.create(path, **source.options) as db:
        db.put_many([str(i) for i in range(10)], signatures=signatures)
        expected = [match.key for match in db.query(key="3", top=3)]
    for arguments in (["query", path, "--set", "1 2 3"], ["query", path, "--text", "a b c"], ["add", path, "--sets", "-"]):
        done = run_tool(*arguments, input=b"x\t1 2 3\n")
        assert done.returncode == 2 and b"sketches of another program" in done.stderr and not done.stdout, done
    found = run_tool("query", path, "--key", "3", "--top", "3", "--json").stdout.splitlines()
    assert [json.loads(line)["key"] for line in found] == expected


def test_sources_do_not_mix() -> None:
    found = [
        foreign.datasketch(sketches(64)), foreign.datasketch(sketches(64, seed=2)),
        foreign.datasketch(sketches(64, scheme="legacy")), foreign.datasketch(sketches(64), bits=4),
        foreign.rensa([list(range(64))], seed=1), foreign.rensa([list(range(64))], seed=2),
    ]
    for i, (source, _) in enumerate(found):
        for j, (_, signatures) in enumerate(found):
            if i != j:
                with pytest.raises(rdb.SchemeMismatch):
                    source.sketcher.slots(signatures)
    for mixed in (sketches(64) + sketches(32), sketches(64) + sketches(64, seed=2), sketches(64) + sketches(64, scheme="legacy")):
        with pytest.raises(rdb.InvalidArgument, match="import them apart"):
            foreign.datasketch(mixed)


def test_empty_sets() -> None:
    source, signatures = foreign.datasketch([MinHash(64), *MinHash.bulk([[b"a"], []], num_perm=64)])
    matrix = source.sketcher.matrix(signatures, signatures)
    assert matrix[1, 1] == 1 and matrix[0, 1] == 0 and np.isnan(matrix[0, 2])


class Digest:
    """An object with the interface of rensa's RMinHash."""

    def __init__(self, values: list[int]) -> None:
        self.values = values

    def digest(self) -> list[int]:
        return self.values


def test_digests_and_bands() -> None:
    minima = np.random.default_rng(1).integers(0, 1 << 32, (5, 64), dtype=np.uint64)
    source, signatures = foreign.rensa([Digest(row.tolist()) for row in minima], seed=42)
    other, same = foreign.rensa(minima, seed=42)
    assert source.name == "rensa Digest, seed 42" and other.name == "rensa RMinHash, seed 42"
    assert (signatures.to_numpy() == same.to_numpy()).all()
    # RedPajama publishes bands: the bytes of some minima each, in the other order.
    for width in (4, 8):
        rows = [[row[start : start + 16].astype(f">u{width}").tobytes() for start in range(0, 64, 16)] for row in minima]
        assert (foreign.bands(rows, width=width) == minima).all()
    pa = pytest.importorskip("pyarrow")
    assert (foreign.bands(pa.array(rows)) == minima).all()
    column = pa.array(minima.tolist(), pa.list_(pa.uint64()))
    red = foreign.Source("RedPajama", 64)
    assert (red.signatures(column).to_numpy() == red.signatures(minima).to_numpy()).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.signatures([[1] * 63]), "a row has 63 minima"),
        (lambda s: s.signatures([[1] * 64, [1]]), "equally many integers"),
        (lambda s: s.signatures([[-1] * 64]), "integers from 0"),
        (lambda s: s.signatures(np.full((1, 64), -1)), "not negative"),
        (lambda s: s.signatures(np.zeros((1, 64))), "2-dimensional float64"),
        (lambda s: s.signatures([None]), "equally many integers"),
        (lambda s: s.sketcher.from_samples(np.full((1, 64), 256)), "more than 8 bits"),
        (lambda s: s.sketcher.from_samples(np.zeros((1, 63), int)), "63 samples in a row"),
        (lambda s: s.sketcher.from_samples([[0.5]]), "matrix of integers from 0"),
        (lambda s: rdb.Sketcher(features="ids").from_samples(np.zeros((1, 64), int)), "neither sizes nor sets"),
        (lambda s: foreign.datasketch([]), "no sketches"),
        (lambda s: foreign.datasketch([WeightedMinHashGenerator(2, 64).minhash([1, 2])]), "weighted sketches"),
        (lambda s: foreign.rensa([], seed=1), "no sketches"),
        (lambda s: foreign.bands([[b"123"]]), "multiple of 8"),
        (lambda s: foreign.bands([[b"123"]], width=3), "4 or 8"),
    ],
)
def test_what_is_refused(call: object, message: str) -> None:
    with pytest.raises(rdb.InvalidArgument, match=message):
        call(foreign.Source("test", 64))  # type: ignore[operator]
    assert len(foreign.Source("test", 64).signatures([])) == 0


def test_samples_come_back(path: Path) -> None:
    """Any number of samples and bits, against the samples that the library reads."""
    rng = np.random.default_rng(3)
    for samples, bits in [(1, 1), (63, 3), (64, 8), (65, 16), (200, 5)]:
        sketcher = foreign.Source("x", samples, bits=bits, slots=0).sketcher
        values = rng.integers(0, 1 << bits, (7, samples))
        marks = np.arange(7) == 2
        signatures = sketcher.from_samples(values, empty=marks)
        found = sketcher.sample_values(signatures)
        assert (found[~marks] == values[~marks]).all() and (found[marks] == 0).all()


def sourmash_json(scaled: bool = True) -> bytes:
    sketches = [
        {"ksize": k, "seed": 42, "num": 0 if scaled else 3, "max_hash": (1 << 64) // 1000 if scaled else 0,
         "mins": [k, 2**63 + 7, 5], "molecule": "DNA", "md5sum": "x"}
        for k in (21, 31)
    ]
    return json.dumps([{"class": "sourmash_signature", "name": "genome", "signatures": sketches, "version": 0.4}]).encode()


def test_sketches_of_sourmash_are_sets(tmp_path: Path) -> None:
    plain, packed, archive = (tmp_path / name for name in ("a.sig", "a.sig.gz", "a.zip"))
    plain.write_bytes(sourmash_json())
    packed.write_bytes(gzip.compress(sourmash_json()))
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("signatures/a.sig.gz", gzip.compress(sourmash_json()))
        file.writestr("SOURMASH-MANIFEST.csv", "# manifest")
    for path in (plain, packed, archive):
        found = foreign.sourmash(path)
        assert [(s.name, s.ksize, s.moltype, s.scaled, s.seed) for s in found] == [
            ("genome", 21, "DNA", 1000, 42), ("genome", 31, "DNA", 1000, 42)
        ]
        assert found[0].hashes.tolist() == [5, 21, 2**63 + 7] and found[0].hashes.dtype == np.uint64
        assert [s.ksize for s in foreign.sourmash(path, ksize=31)] == [31]
    db = rdb.memory(features="ids", keep_sets=True)
    db.put_many([f"{s.name} {s.ksize}" for s in found], sets=[s.hashes for s in found])
    assert db.estimate("genome 21", "genome 31").resemblance.value == 0.5
    plain.write_bytes(sourmash_json(scaled=False))
    with pytest.raises(rdb.InvalidArgument, match="make it with scaled="):
        foreign.sourmash(plain)
    for text in (b"", b"[1]", b'{"a": 1}', b'[{"signatures": [{"ksize": 3, "max_hash": 1}]}]', b"\xff"):
        plain.write_bytes(text)
        with pytest.raises(rdb.InvalidArgument, match="not a file of sourmash"):
            foreign.sourmash(plain)
