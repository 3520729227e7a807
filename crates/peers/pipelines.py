#!/usr/bin/env python3
"""One tool, from a JSONL file to a JSONL file of kept rows. `datasets` runs it and measures the whole process.

    pipelines.py TOOL IN.jsonl OUT-FOLDER THREADS

All tools use about 128 samples, shingles of five words and a threshold of .8. A tool that makes its own shingles from text does so.
The others get those of `shingles`. Tools that return candidates have them verified with the exact resemblance of shingles. The first
row of similar ones is kept.
"""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

THRESHOLD, SAMPLES, WORDS = 0.8, 128, 5


def read(path):
    with open(path, encoding="utf-8") as lines:
        rows = lines.readlines()
    return rows, [json.loads(row)["text"] for row in rows]


def write(folder, rows, kept):
    with open(folder / "kept.jsonl", "w", encoding="utf-8") as output:
        output.writelines(rows[i] for i in kept)


find_words = re.compile(r"\w+").findall


def shingles(text):
    """Looped, as ringer makes them: the last ones go on with the first words."""
    words = find_words(text.lower())
    looped = words + words[: WORDS - 1] if len(words) >= WORDS else words * WORDS
    return {" ".join(looped[i : i + WORDS]) for i in range(len(words))}


def resembles(a, b):
    common = len(a & b)
    return common > 0 and common >= THRESHOLD * (len(a) + len(b) - common)


def first_ones(candidates, verify=None):
    """The rows without a similar row before them that is kept. `candidates` has the numbers of rows like each row."""
    kept, is_kept = [], set()
    for i, near in enumerate(candidates):
        if not any(j < i and j in is_kept and (verify is None or verify(i, j)) for j in near):
            kept.append(i)
            is_kept.add(i)
    return kept


def exactly(sets):
    return lambda i, j: resembles(sets[i], sets[j])


def gaoya_index(texts):
    from gaoya.minhash import MinHashStringIndex

    index = MinHashStringIndex(32, THRESHOLD, None, None, SAMPLES, "word", True, (WORDS, WORDS), "smallvec")
    index.par_bulk_insert_docs(list(range(len(texts))), texts)
    return index.par_bulk_query(texts)


def gaoya(source, folder, threads):
    """Shingles, signatures and index in Rust. A query compares signatures of 126 samples."""
    rows, texts = read(source)
    write(folder, rows, first_ones(gaoya_index(texts)))


def gaoya_exact(source, folder, threads):
    rows, texts = read(source)
    sets = {}

    def verify(i, j):
        for row in (i, j):
            if row not in sets:
                sets[row] = shingles(texts[row])
        return resembles(sets[i], sets[j])

    write(folder, rows, first_ones(gaoya_index(texts), verify))


def rensa(source, folder, threads):
    """Its own deduplicator, which compares signatures."""
    from rensa import RMinHash, RMinHashDeduplicator

    rows, texts = read(source)
    signatures = RMinHash.from_token_sets([list(shingles(text)) for text in texts], SAMPLES, 42)
    unique = RMinHashDeduplicator(threshold=THRESHOLD, num_perm=SAMPLES, use_lsh=True, num_bands=16)
    added = unique.add_pairs([(str(i), signature) for i, signature in enumerate(signatures)])
    write(folder, rows, [i for i, is_new in enumerate(added) if is_new])


def datasketch(source, folder, threads):
    from datasketch import MinHash, MinHashLSH

    rows, texts = read(source)
    sets = [shingles(text) for text in texts]
    encoded = ([shingle.encode() for shingle in row] for row in sets)
    signatures = MinHash.bulk(encoded, num_perm=SAMPLES)
    index = MinHashLSH(threshold=THRESHOLD, num_perm=SAMPLES)
    with index.insertion_session() as session:
        for i, signature in enumerate(signatures):
            session.insert(i, signature, check_duplication=False)
    write(folder, rows, first_ones(map(index.query, signatures), exactly(sets)))


def fastsketchlsh(source, folder, threads):
    from FastSketchLSH import LSH, FastSimilaritySketch

    rows, texts = read(source)
    sets = [shingles(text) for text in texts]
    signatures = FastSimilaritySketch(SAMPLES, 42).batch(list(map(list, sets)), num_threads=threads)
    index = LSH(SAMPLES, 16, num_threads=threads)
    index.insert(signatures)
    flat, ends = index.query(signatures, format="csr")
    flat, ends = flat.tolist(), ends.tolist()
    near = (flat[a:b] for a, b in zip(ends, ends[1:]))
    write(folder, rows, first_ones(near, exactly(sets)))


def dedup_rs(source, folder, threads):
    """Shingles, signatures, index and connected groups in Rust, without verification."""
    import numpy as np
    from dedup_rs import EmbedFunc

    rows, texts = read(source)
    index = EmbedFunc(THRESHOLD, SAMPLES, WORDS, 0.5, 0.5, "text", "id", "u64", 1)
    numbers = np.arange(len(rows), dtype=np.uint32)
    index.batch_embed_shard(texts, numbers)
    groups = index.cluster()
    write(folder, rows, first_of_groups(groups.batch_find(numbers)))


def first_of_groups(groups):
    seen, kept = set(), []
    for i, group in enumerate(groups):
        if group not in seen:
            seen.add(group)
            kept.append(i)
    return kept


def pari(source, folder, threads):
    """Its own deduplication with its hook for exact verification: connected groups."""
    from pari import DedupeIndex

    rows, texts = read(source)
    sets = [shingles(text) for text in texts]
    index = DedupeIndex(
        lambda i: [shingle.encode() for shingle in sets[i]],
        threshold=THRESHOLD,
        num_perm=SAMPLES,
        threads=threads,
        exact=exactly(sets),
    )
    index.add_many(range(len(rows)))
    write(folder, rows, index.result().kept_indices)


def lance(source, folder, threads):
    """A table with an index of its kind MINHASHLSH. Each row asks for the ten most similar ones, which are verified."""
    import lance as l
    import pyarrow as pa
    from lance.query import MinHashQuery

    rows, texts = read(source)
    sets = [shingles(text) for text in texts]
    table = l.write_dataset(pa.table({"number": range(len(rows)), "text": texts}), folder / "table.lance")
    table.create_scalar_index("text", "MINHASHLSH", num_hashes=SAMPLES, num_bands=16, shingle_size=WORDS)

    def query(text):
        found = table.to_table(nearest=MinHashQuery(text, "text"), limit=10, columns=["number"])
        return found["number"].to_pylist()

    write(folder, rows, first_ones((query(text) if row else [] for text, row in zip(texts, sets)), exactly(sets)))


def text_dedup(source, folder, threads):
    """Its command: connected groups, without verification. Its output is an Arrow dataset."""
    command = [sys.executable, "-m", "text_dedup.minhash", "--path", "json", "--data_files", source, "--split", "train"]
    command += ["--cache_dir", str(folder / "cache"), "--output", str(folder / "out"), "--column", "text", "--num_proc", str(threads)]
    command += ["--ngram", str(WORDS), "--num_perm", str(SAMPLES), "--threshold", str(THRESHOLD), "--min_length", "1", "--batch_size", "10000"]
    subprocess.run(command, check=True, cwd=folder)


def datatrove(source, folder, threads):
    """Its four stages in one process each: connected groups, without verification. Its own default of 14 x 8 samples."""
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.dedup import MinhashDedupBuckets, MinhashDedupCluster, MinhashDedupFilter, MinhashDedupSignature
    from datatrove.pipeline.dedup.minhash import MinhashConfig
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers.jsonl import JsonlWriter

    config = MinhashConfig(n_grams=WORDS, num_buckets=14, hashes_per_bucket=8)
    part = {name: str(folder / name) for name in ("signatures", "buckets", "removed", "kept")}
    reader = JsonlReader(str(Path(source).parent), glob_pattern=Path(source).name)
    stages = [
        (1, [reader, MinhashDedupSignature(part["signatures"], config)]),
        (config.num_buckets, [MinhashDedupBuckets(part["signatures"], part["buckets"], config=config)]),
        (1, [MinhashDedupCluster(part["buckets"], part["removed"], config=config)]),
        (1, [reader, MinhashDedupFilter(part["removed"]), JsonlWriter(part["kept"], compression=None)]),
    ]
    for number, (tasks, pipeline) in enumerate(stages):
        logs = str(folder / f"log{number}")
        LocalPipelineExecutor(pipeline, tasks=tasks, workers=threads, logging_dir=logs, skip_completed=False).run()


if __name__ == "__main__":
    tool, source, folder, threads = sys.argv[1:]
    globals()[tool.replace("-", "_")](source, Path(folder), int(threads))
