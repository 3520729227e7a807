#!/usr/bin/env python3
"""Measures one peer that is used from Python.

The input is what `peers sets` or `peers signatures` writes. The output is rows for `peers table`: name, p50 us, p99 us,
recall, recall at .50, bytes per set, thousands of sets per second of wall and of processor time. Tabs separate the columns, and a
dash means none.

    peers sets N | beside.py rensa N
    peers signatures N | beside.py faiss N

`flags` finds duplicates and prints rows for `peers dedup`: name, seconds of wall and of processor time, and a bit for each
flagged set, in base 64.

    peers documents N | beside.py flags N

`sketch` sketches what `peers sketch` sends: a line `samples elements sets`, then the sets. It answers each line `round` with
the seconds of processor time of one round, until a line `end`.
"""
import base64
import os
import sys
import time

for threads in ("OMP_NUM_THREADS", "RAYON_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[threads] = "1"
import numpy as np
import psutil

ELEMENTS, SAMPLES = 200, 128
ROUNDS = 3
TIMED_SCANS = 200
BLOCK = 1_000_000


def resident():
    return psutil.Process().memory_info().rss


def rows_of(dtype, width, count):
    """The next rows of the standard input."""
    array = np.empty((count, width), dtype)
    into, filled = memoryview(array).cast("B"), 0
    while filled < len(into):
        got = sys.stdin.buffer.readinto(into[filled:])
        if not got:
            sys.exit("the input ends early: is N the same on both sides?")
        filled += got
    return array


def timed(work):
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - processor


def row(name, *figures):
    cells = ["-" if figure is None else f"{figure:.5g}" for figure in figures]
    print("\t".join([name] + cells), flush=True)


def rensa(n):
    """Inserts signatures into 16 bands in memory, a million rows per call. Sketching has its own row. Queries are not
    compared, since they return candidates without verification."""
    import rensa

    if psutil.virtual_memory().available < 2700 * n + 2 * 8 * ELEMENTS * min(n, BLOCK):
        print("rensa is left out: it takes 2,700 bytes a set", file=sys.stderr)
        while sys.stdin.buffer.read(1 << 20):
            pass
        return
    wall = processor = 0
    matrices = []
    for first in range(0, n, BLOCK):
        sets = rows_of(np.uint64, ELEMENTS, min(BLOCK, n - first))
        ends = np.arange(0, sets.size + 1, ELEMENTS, dtype=np.uint64)
        make = rensa.RMinHash.digest_matrix_from_flat_token_hashes
        seconds = timed(lambda: matrices.append((first, make(sets.ravel(), ends, SAMPLES, 42))))
        wall, processor = wall + seconds[0], processor + seconds[1]
        del sets
    row("rensa, sketching alone", None, None, None, None, None, n / wall / 1e3, n / processor / 1e3)

    best, memory = (float("inf"), float("inf")), None
    for _ in range(ROUNDS):
        before = resident()
        index = rensa.RMinHashLSH(0.8, SAMPLES, 16)
        seconds = timed(lambda: [index.insert_matrix(m, start_key=first) for first, m in matrices])
        # Only in the first round: later ones reuse freed memory.
        memory = memory or (resident() - before) / n
        best = tuple(map(min, best, seconds))
        del index
    row("rensa insert, 16 bands, memory", None, None, None, None, memory, n / best[0] / 1e3, n / best[1] / 1e3)


def flags(n):
    """Inserts signatures into bands and flags all that share a band with another, without verification. Sketching is not
    timed."""
    import rensa

    sets = rows_of(np.uint64, ELEMENTS, n)
    ends = np.arange(0, sets.size + 1, ELEMENTS, dtype=np.uint64)
    matrix = rensa.RMinHash.digest_matrix_from_flat_token_hashes(sets.ravel(), ends, SAMPLES, 42)
    del sets
    for bands in (8, 16):
        best, found = (float("inf"), float("inf")), []
        for _ in range(7):
            index = rensa.RMinHashLSH(0.8, SAMPLES, bands)
            seconds = timed(lambda: found.append(index.insert_matrix_and_query_duplicate_flags(matrix)))
            best = tuple(map(min, best, seconds))
            del index, found[:-1]
        bits = base64.b64encode(np.packbits(np.asarray(found[0], bool)).tobytes()).decode()
        print(f"rensa flags, {bands} bands, not verified", *(f"{s:.6f}" for s in best), bits, sep="\t", flush=True)


def sketch(_):
    """Sketches the same sets once per request."""
    import rensa

    while header := sys.stdin.buffer.readline():
        samples, elements, count = map(int, header.split())
        sets = rows_of(np.uint64, elements, count).ravel()
        ends = np.arange(0, sets.size + 1, elements, dtype=np.uint64)
        while sys.stdin.buffer.readline() == b"round\n":
            make = rensa.RMinHash.digest_matrix_from_flat_token_hashes
            print(timed(lambda: make(sets, ends, samples, 42))[1], flush=True)


def faiss(n):
    """Scans all b-bit signatures, bit-sliced, for the ten with the fewest differing bits."""
    import faiss

    faiss.omp_set_num_threads(1)
    queries = min(1000, n // 100)
    planes = {b: np.empty((n + queries, 16 * b), np.uint8) for b in (1, 2, 4, 8)}
    for first in range(0, n + queries, 100_000):
        samples = rows_of(np.uint32, SAMPLES, min(100_000, n + queries - first))
        for b, codes in planes.items():
            for bit in range(b):
                plane = np.packbits(((samples >> np.uint32(bit)) & np.uint32(1)).astype(np.uint8), axis=1)
                codes[first : first + len(samples), 16 * bit : 16 * bit + 16] = plane
    for b, codes in planes.items():
        index = faiss.IndexBinaryFlat(128 * b)
        wall, processor = timed(lambda: index.add(codes[:n]))
        asked = codes[n:]
        found = index.search(asked, 10)[1]
        planted = n - n // 100 * 10 + 10 * np.arange(queries)[:, None] + np.arange(10)
        hits = (found[:, :, None] == planted[:, None, :]).any(axis=1).mean(axis=0)
        times = []
        for query in asked[:TIMED_SCANS]:
            times.append(timed(lambda: index.search(query[None], 10))[0] * 1e6)
        p50, p99 = np.percentile(times, [50, 99])
        rates = n / wall / 1e3, n / processor / 1e3
        row(f"faiss BinaryFlat b = {b}, memory", p50, p99, hits.mean(), hits[0], index.code_size, *rates)


if __name__ == "__main__":
    {"rensa": rensa, "faiss": faiss, "flags": flags, "sketch": sketch}[sys.argv[1]](int(sys.argv[2]))
