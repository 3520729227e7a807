"""Compares `ringerdb.datasketch` with datasketch itself: values of sketches, their bytes, parameters and answers of indexes.

Run it in an environment that has both: `crates/python/compat/run` makes one. Prints what was compared, and fails at a difference.
"""

from __future__ import annotations

import random

import datasketch as theirs
import numpy as np
import rensa
from datasketch.lshensemble_partition import _compute_nfps_real, optimal_partitions

import ringerdb.datasketch as ours
from ringerdb import foreign
from ringerdb.datasketch.lshensemble import _parts


def some_sets(rng: random.Random, count: int) -> list[list[bytes]]:
    """Sets of different sizes, many of which are like another one."""
    sets: list[list[int]] = []
    for _ in range(count):
        if sets and rng.random() < 0.5:
            copy = list(rng.choice(sets))
            copy[rng.randrange(len(copy))] = rng.randrange(1 << 20)
            sets.append(copy)
        else:
            sets.append([rng.randrange(1 << 20) for _ in range(rng.choice([1, 3, 20, 100]))])
    return [[str(element).encode() for element in one] for one in sets]


def sketches(rng: random.Random) -> int:
    compared = 0
    for scheme in ("affine32", "affine64", "legacy"):
        for num_perm, seed in [(4, 1), (128, 1), (37, 99)]:
            sets = some_sets(rng, 40)
            pairs = [lib.MinHash.bulk(sets, num_perm=num_perm, seed=seed, scheme=scheme) for lib in (theirs, ours)]
            for a, b in zip(*pairs):
                b.update(b"more")
                a.update(b"more")
                assert a.hashvalues.dtype == b.hashvalues.dtype and (a.hashvalues == b.hashvalues).all()
                assert abs(a.count() - b.count()) <= 1e-9 * abs(a.count())
                lean, other = theirs.LeanMinHash(a), ours.LeanMinHash(b)
                for order in "@=<>!":
                    buffer, mine = bytearray(lean.bytesize(order)), bytearray(other.bytesize(order))
                    lean.serialize(buffer, order)
                    other.serialize(mine, order)
                    assert buffer == mine and ours.LeanMinHash.deserialize(buffer, order) == other
                for bits in (1, 2, 7, 16, 32):
                    small, tiny = theirs.bBitMinHash(a, bits), ours.bBitMinHash(b, bits)
                    assert (small.hashvalues == tiny.hashvalues).all() and small.bytesize() == tiny.bytesize()
                    first = theirs.bBitMinHash(pairs[0][0], bits), ours.bBitMinHash(pairs[1][0], bits)
                    assert abs(small.jaccard(first[0]) - tiny.jaccard(first[1])) < 1e-12
                assert a.jaccard(pairs[0][0]) == b.jaccard(pairs[1][0])
                compared += 1
            assert (theirs.MinHash.union(*pairs[0]).hashvalues == ours.MinHash.union(*pairs[1]).hashvalues).all()
    return compared


def weighted(rng: random.Random) -> int:
    from scipy.sparse import csr_matrix

    generators = [lib.WeightedMinHashGenerator(50, 64, 3) for lib in (theirs, ours)]
    matrix = np.array([[rng.choice([0, 0, 1, 2.5, 90]) for _ in range(50)] for _ in range(60)])
    matrix[7] = 0
    for rows in (matrix, csr_matrix(matrix)):
        for a, b in zip(*(generator.minhash_many(rows) for generator in generators)):
            assert (a is None) == (b is None) and (a is None or (a.hashvalues == b.hashvalues).all())
    for row in matrix[:7]:
        a, b = (generator.minhash(row) for generator in generators)
        assert (a.hashvalues == b.hashvalues).all()
    return 67


def parameters() -> int:
    compared = 0
    for num_perm in (16, 64, 128, 200):
        for threshold in (0.0, 0.2, 0.5, 0.75, 0.8, 0.9, 0.99, 1.0):
            for weights in [(0.5, 0.5), (0.1, 0.9)]:
                found = []
                for lib in (theirs, ours):
                    try:
                        index = lib.MinHashLSH(threshold, num_perm, weights)
                        found.append((index.b, index.r))
                    except ValueError:
                        found.append(None)
                assert found[0] == found[1], (num_perm, threshold, weights, found)
                compared += 1
    for threshold in (0.3, 0.5, 0.9):
        a, b = (lib.MinHashLSHEnsemble(threshold, 128, num_part=4) for lib in (theirs, ours))
        assert a.params.tolist() == [list(pair) for pair in b.params], (threshold, a.params.tolist(), b.params)
        compared += 1
    return compared


def partitions(rng: random.Random) -> int:
    """Parts of equal cost may differ, so costs are compared. Those of datasketch are not always the least."""
    for _ in range(60):
        counts = sorted((size, rng.randint(1, 30)) for size in rng.sample(range(1, 2000), rng.randint(2, 40)))
        sizes, numbers = np.array(counts).T
        most = rng.randint(1, 8)
        costs, places = _compute_nfps_real(numbers, sizes), {size: place for place, (size, _) in enumerate(counts)}
        mine = _parts(counts, most)
        totals = [
            sum(costs[places[lower], places[upper]] for lower, upper in parts)
            for parts in (optimal_partitions(sizes, numbers, most), mine)
        ]
        assert len(mine) <= most and totals[1] <= totals[0] + 1e-6, (counts, most, totals)
        assert [size for size, _ in counts if any(a <= size <= b for a, b in mine)] == list(sizes)
    return 60


def answers(rng: random.Random, file: str) -> int:
    sets = some_sets(rng, 400)
    all_sketches = [lib.MinHash.bulk(sets, num_perm=64) for lib in (theirs, ours)]
    config = {"type": "file", "path": file}
    indexes = [theirs.MinHashLSH(0.6, 64), ours.MinHashLSH(0.6, 64), ours.MinHashLSH(0.6, 64, storage_config=config)]
    forests, ensembles = ([getattr(lib, kind)(num_perm=64) for lib in (theirs, ours)]
                          for kind in ("MinHashLSHForest", "MinHashLSHEnsemble"))
    for index, kind in zip(indexes, [0, 1, 1]):
        with index.insertion_session() as session:
            for key, sketch in enumerate(all_sketches[kind]):
                session.insert(key, sketch)
        for key in range(0, 400, 7):
            index.remove(key)
    for forest, ensemble, made in zip(forests, ensembles, all_sketches):
        for key, sketch in enumerate(made):
            forest.add(key, sketch)
        forest.index()
        ensemble.index([(key, sketch, len(one)) for (key, sketch), one in zip(enumerate(made), sets)])
    for number, (a, b) in enumerate(zip(*all_sketches)):
        found = [set(index.query(sketch)) for index, sketch in zip(indexes, [a, b, b])]
        assert found[0] == found[1] == found[2], number
        # With a k that leaves nothing out, the order of the answers does not matter.
        near = [set(forest.query(sketch, 400)) for forest, sketch in zip(forests, [a, b])]
        assert near[0] == near[1]
        assert (forests[0].get_minhash_hashvalues(number) == forests[1].get_minhash_hashvalues(number)).all()
        inside = [set(ensemble.query(sketch, len(sets[number]))) for ensemble, sketch in zip(ensembles, [a, b])]
        assert inside[0] == inside[1]
    assert [sorted(count.values()) for count in indexes[0].get_counts()] == [
        sorted(count.values()) for count in indexes[2].get_counts()
    ]
    indexes[2].close()
    return 1200


def foreign_sketches(rng: random.Random) -> int:
    """Signatures of sketches of datasketch and rensa estimate what the sketches do, within six standard errors of 8 bits."""
    sets = [[str(x) for x in range(start, start + 300)] for start in range(0, 400, 40)]
    made = {"datasketch": theirs.MinHash.bulk([[x.encode() for x in one] for one in sets], num_perm=256)}
    for kind in (rensa.RMinHash, rensa.CMinHash):
        made[kind.__name__] = [kind(num_perm=256, seed=42) for _ in sets]
        for sketch, one in zip(made[kind.__name__], sets):
            sketch.update(one)
    for name, found in made.items():
        if name == "datasketch":
            source, signatures = foreign.datasketch(found)
        else:
            source, signatures = foreign.rensa(found, seed=42)
        estimates = source.sketcher.matrix(signatures, signatures)
        full = np.array([[a.jaccard(b) for b in found] for a in found])
        # Both are of the same minima, so they differ by chance agreements only.
        assert np.abs(estimates - full).max() < 6 * (1 / 256 / 256) ** 0.5 * 1.01, name
    return len(made) * len(sets)


def main() -> None:
    import os
    import tempfile

    rng = random.Random(1)
    print(f"{sketches(rng)} sketches, {weighted(rng)} weighted sketches, {parameters()} choices of parameters,", end=" ")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "index.ringer")
        print(f"{partitions(rng)} partitions by size, {answers(rng, path)} answers: as those of datasketch")
    print(f"{foreign_sketches(rng)} sketches of datasketch and rensa became signatures with the same estimates")


if __name__ == "__main__":
    main()
