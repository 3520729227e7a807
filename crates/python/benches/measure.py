#!/usr/bin/env python3
"""One measurement of one package, in a process of its own. `run` calls it and prints the table.

    measure.py PART TOOL ROWS.jsonl FOLDER ROUNDS

Prints JSON: the seconds of processor time of the best round, and what else the part measures. Every round starts from texts in
memory: a list of str, or an Arrow column. Packages that take sets get the shingles of `crates/peers/pipelines.py`, which their users
have to make as well, so making them is part of the time.
"""

import json
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "peers"))
import pipelines

THRESHOLD, SAMPLES = pipelines.THRESHOLD, pipelines.SAMPLES

#: Queries that are timed, and how often all of them are.
QUERIES, QUERY_ROUNDS = 1000, 5


def arrow(texts):
    import pyarrow

    return pyarrow.array(texts, pyarrow.large_string())


# Texts to signatures. What a package cannot do apart is included: gaoya also fills its index.


def signatures_ringerdb(texts):
    import ringerdb

    sketcher = ringerdb.Sketcher(features="text", seed=1)
    return lambda: sketcher.signatures(texts, threads=1)


def signatures_ringerdb_arrow(texts):
    return signatures_ringerdb(arrow(texts))


def signatures_datasketch(texts):
    from datasketch import MinHash

    encoded = lambda text: [shingle.encode() for shingle in pipelines.shingles(text)]
    return lambda: MinHash.bulk(map(encoded, texts), num_perm=SAMPLES)


def signatures_rensa(texts):
    from rensa import RMinHash

    return lambda: RMinHash.from_token_sets([list(pipelines.shingles(text)) for text in texts], SAMPLES, 42)


def signatures_gaoya(texts):
    from gaoya.minhash import MinHashStringIndex

    def insert():
        words = (pipelines.WORDS, pipelines.WORDS)
        index = MinHashStringIndex(32, THRESHOLD, None, None, SAMPLES, "word", True, words, "smallvec")
        index.par_bulk_insert_docs(list(range(len(texts))), texts)

    return insert


def signatures_fastsketchlsh(texts):
    from FastSketchLSH import FastSimilaritySketch

    sketch = FastSimilaritySketch(SAMPLES, 42)
    return lambda: sketch.batch([list(pipelines.shingles(text)) for text in texts], num_threads=1)


def pari_sketches(texts):
    from pari import MinHash

    rows = [[shingle.encode() for shingle in pipelines.shingles(text)] for text in texts]
    return MinHash.from_batch(rows, num_perm=SAMPLES, threads=1)


def signatures_pari(texts):
    return lambda: pari_sketches(texts)


def signatures(tool, texts, folder, rounds):
    return timed(globals()[f"signatures_{tool}"](texts), rounds)


# Texts to the rows to keep.


def dedupe(tool, texts, folder, rounds):
    kept = []

    def ours(column):
        import ringerdb

        return lambda: kept.append(int(ringerdb.dedupe(column, min=THRESHOLD, seed=1, threads=1).keep.sum()))

    def theirs():
        # The pipeline reads and writes no file, so that only its work is measured.
        pipelines.read = lambda source: ([None] * len(texts), texts)
        pipelines.write = lambda folder, rows, numbers: kept.append(len(list(numbers)))
        number = iter(range(rounds + 1))

        def work():
            place = folder / str(next(number))
            place.mkdir()
            getattr(pipelines, tool)(None, place, 1)

        return work

    column = {"ringerdb": lambda: texts, "ringerdb_arrow": lambda: arrow(texts)}.get(tool)
    result = timed(ours(column()) if column else theirs(), rounds)
    return {**result, "kept": kept[0]}


# Bytes of an index in files, without the texts.


def index(tool, texts, folder, rounds):
    start = time.process_time()
    size = globals()[f"index_{tool}"](texts, folder)
    return {"cpu": time.process_time() - start, **size}


def index_ringerdb(texts, folder):
    import ringerdb

    with ringerdb.create(folder / "index.ringer", features="text", seed=1) as db:
        db.put_many([f"{row:08}" for row in range(len(texts))], texts=texts, threads=1)
        db.compact()
        stat = db.stat()
    return {"bytes": stat.file_bytes / stat.sets, "without keys": (stat.file_bytes - stat.key_bytes) / stat.sets}


def index_pari(texts, folder):
    from pari import Index

    built = Index.create(folder / "index.pari", threshold=THRESHOLD, num_perm=SAMPLES)
    for start in range(0, len(texts), 5000):
        # Its keys are numbers.
        built.add_many(list(enumerate(pari_sketches(texts[start : start + 5000]), start)))
    built.sync()
    return {"bytes": built.stats().file_bytes / len(texts)}


def index_lance(texts, folder):
    import lance
    import pyarrow

    table = pyarrow.table({"number": range(len(texts)), "text": texts})
    data = lance.write_dataset(table, folder / "table.lance")
    data.create_scalar_index("text", "MINHASHLSH", num_hashes=SAMPLES, num_bands=16, shingle_size=pipelines.WORDS)
    files = (folder / "table.lance" / "_indices").rglob("*")
    return {"bytes": sum(file.stat().st_size for file in files if file.is_file()) / len(texts)}


# The time of a query by key, from the call to all keys and similarities, in the database that `index` made.


def queries(tool, texts, folder, rounds):
    import ringerdb

    with ringerdb.open(folder / "index.ringer", read_only=True) as db:
        keys = [key for key, _ in zip(db.keys(), range(QUERIES))]
        rounds = []
        for _ in range(QUERY_ROUNDS):
            times = []
            for key in keys:
                start = time.perf_counter()
                [(match.key, match.similarity.value) for match in db.query(key=key, top=10)]
                times.append(time.perf_counter() - start)
            rounds.append(statistics.median(times) * 1e6)
    return {"p50": min(rounds)}


def timed(work, rounds):
    """The best round, after one that is not timed."""
    work()
    best, wall = float("inf"), float("inf")
    for _ in range(rounds):
        start = time.process_time(), time.perf_counter()
        work()
        best, wall = min(best, time.process_time() - start[0]), min(wall, time.perf_counter() - start[1])
    return {"cpu": best, "wall": wall}


if __name__ == "__main__":
    part, tool, source, folder, rounds = sys.argv[1:]
    with open(source, encoding="utf-8") as lines:
        all_texts = [json.loads(line)["text"] for line in lines]
    print(json.dumps(globals()[part](tool, all_texts, Path(folder), int(rounds))))
