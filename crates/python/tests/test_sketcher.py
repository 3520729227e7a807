"""Sketchers: deterministic, picklable, and their estimates are near the truth."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringerdb as rdb
from conftest import jaccard


@pytest.mark.parametrize(
    "options",
    [{}, {"preset": "precise", "features": "ids"}, {"features": "text:3:plain", "samples": 100, "bits": 3},
     {"preset": "cosine", "features": "ids"}, {"features": "ids", "universe": 1 << 20, "cardinality": "linear4"}],
)
def test_sketchers_survive_pickling(options: dict) -> None:
    sketcher = rdb.Sketcher(seed=7, **options)
    for other in [pickle.loads(pickle.dumps(sketcher)), copy.deepcopy(sketcher), rdb.Sketcher(seed=7, **options)]:
        assert other == sketcher and hash(other) == hash(sketcher) and repr(other) == repr(sketcher)
        assert other.scheme == sketcher.scheme and len(sketcher.scheme) == 48 and other.seed == 7
    assert rdb.Sketcher(seed=8, **options) != sketcher


def test_seeds_are_random_unless_given() -> None:
    assert rdb.Sketcher() != rdb.Sketcher() and rdb.Sketcher(seed=1) == rdb.Sketcher(seed=1)
    assert rdb.Sketcher(seed=2**64 - 1).seed == 2**64 - 1


def test_slots_and_samples_are_bits_of_the_signature() -> None:
    """By the specification: plane i has bit i of all samples, and a slot has the bits of its samples."""
    sketcher = rdb.Sketcher(features="ids", seed=1)
    signatures = sketcher.signatures(sets=[range(9), range(5, 500), [], None])
    planes = np.unpackbits(signatures.to_numpy()[:, :64].reshape(4, 8, 8), axis=2, bitorder="little")
    samples = (planes.astype(np.uint64) << np.arange(8, dtype=np.uint64)[:, None]).sum(axis=1)
    assert (sketcher.sample_values(signatures) == samples).all()
    triples = samples[:, :63].reshape(4, 21, 3)
    slots = triples[..., 0] | triples[..., 1] << np.uint64(8) | triples[..., 2] << np.uint64(16)
    assert (sketcher.slots(signatures) == slots).all() and sketcher.slots(signatures).dtype == np.uint64
    seen: list[tuple[int, int]] = []
    assert (sketcher.slots(signatures, threads=1, progress=lambda *step: seen.append(step)) == slots).all() and seen[-1] == (4, 4)


def test_comparisons_are_near_the_truth() -> None:
    sketcher = rdb.Sketcher(preset="precise", features="ids", samples=1024, slots=0, seed=1)
    sets = [set(range(i * 37, i * 37 + 400)) for i in range(12)]
    signatures = sketcher.signatures(sets=[list(one) for one in sets])
    matrix = sketcher.matrix(signatures, signatures)
    truth = np.array([[jaccard(a, b) for b in sets] for a in sets])
    # Six standard errors of 1,024 samples with chance agreement 1/16.
    assert np.abs(matrix - truth).max() < 6 * 0.5 / 32 * 16 / 15
    assert (matrix == matrix.T).all() and (np.diag(matrix) == 1).all()
    numpy_rows = signatures.to_numpy()
    assert (sketcher.compare(numpy_rows[:6], numpy_rows[6:]) == np.diag(matrix[:6, 6:])).all()
    assert (sketcher.matrix(list(signatures[i] for i in range(3)), signatures, threads=1) == matrix[:3]).all()


def test_the_matrix_of_a_database_is_its_estimates() -> None:
    db = rdb.memory(features="ids", seed=4)
    sets = [range(i, i + 50) for i in range(0, 60, 10)]
    db.put_many([str(i) for i in range(6)], sets=sets)
    matrix = db.sketcher.matrix(*[db.sketcher.signatures(sets=sets)] * 2)
    assert matrix[0, 1] == db.estimate("0", "1").similarity.value
    assert [m.similarity.value for m in db.query(key="0", top=None, exhaustive=True)] == sorted(matrix[0, 1:], reverse=True)


def test_sparse_features_count_equal_samples() -> None:
    pytest.importorskip("scipy")
    sketcher = rdb.Sketcher(features="ids", seed=1)
    signatures = sketcher.signatures(sets=[range(100), range(10, 110), [], None, range(100)])
    features = sketcher.to_csr(signatures)
    samples = sketcher.sample_values(signatures)
    assert features.shape == (5, 64 * 256)
    assert features.sum(axis=1).tolist() == [64, 64, 0, 0, 64]
    # Sample j with the value v is the index j * 2**b + v.
    for row in (0, 1):
        expected = [j * 256 + int(value) for j, value in enumerate(samples[row])]
        assert features[[row]].indices.tolist() == expected and (features[[row]].data == 1).all()
    product = (features @ features.T).todense()
    assert product[0, 1] == (samples[0] == samples[1]).sum() and product[0, 4] == 64


def test_lengths_and_schemes_must_fit() -> None:
    sketcher = rdb.Sketcher(features="ids", seed=1)
    signatures = sketcher.signatures(sets=[[1], [2]])
    with pytest.raises(rdb.InvalidArgument, match="2 signatures on one side and 1 on the other"):
        sketcher.compare(signatures, signatures.to_numpy()[:1])
    with pytest.raises(rdb.SchemeMismatch):
        rdb.Sketcher(features="ids", seed=2).slots(signatures)
    with pytest.raises(rdb.InvalidArgument, match="row 1: .*signature of 5 bytes|signature of 5 bytes"):
        sketcher.slots([signatures[0], b"short"])
    with pytest.raises(rdb.InvalidArgument, match="keeps sets"):
        rdb.Sketcher(features="ids", keep_sets=True).signatures(sets=[[1]])
    with pytest.raises(IndexError):
        signatures[2]
    assert signatures[-1] == signatures[1] and signatures.width == sketcher.width == 66


@given(st.lists(st.sets(st.integers(0, 2**64 - 1), max_size=40), max_size=8))
def test_rows_do_not_depend_on_each_other(sets: list[set[int]]) -> None:
    sketcher = rdb.Sketcher(features="ids", seed=3)
    together = sketcher.signatures(sets=sets)
    assert [together[i] for i in range(len(sets))] == [sketcher.signatures(sets=[sorted(one)])[0] for one in sets]
