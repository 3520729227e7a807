#!/usr/bin/env python3
"""Exact resemblance of the rows of a dataset, and how good a list of kept rows is. Used by `datasets`.

    truth.py FOLDER ROWS.jsonl THRESHOLD ringer|looped|plain KEPT

KEPT has the number of a kept row in each line. The output is one JSON object. A tool is judged by shingles as it makes them:

    ringer    as format-spec/features.py: Unicode's words, and the last shingles go on with the first words
    looped    as pipelines.py makes them for most tools
    plain     the same words without the shingles that go on with the first ones

All pairs that reach the threshold are found with an inverted index over prefixes: two sets that are similar enough share one of their
rarest shingles. The pairs are kept in FOLDER for the next call.
"""
import hashlib
import json
import math
import pickle
import sys
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path

SPEC = Path(__file__).resolve().parent.parent.parent / "format-spec"
sys.path.insert(0, str(SPEC))
import features  # noqa: E402
import pipelines  # noqa: E402

WORDS = pipelines.WORDS
# Words of white-space separated parts that were seen before.
seen = {}


def words(text):
    """As features.words, and whether the tables of Python know all characters. Others are taken to separate words."""
    if not text.isascii():
        try:
            text = features.normal(text)
        except ValueError:
            return features_without(text), False
    known, found = True, []
    for part in text.lower().split():
        if part not in seen:
            try:
                seen[part] = [segment for word, segment in features.segments(part) if word], True
            except ValueError:
                seen[part] = features_without(part), False
        found += seen[part][0]
        known &= seen[part][1]
    return found, known


def features_without(text):
    """The words of a text without the characters that Python's tables do not know."""

    def is_known(c):
        try:
            features.normal(c)
            features.word_break(c)
        except ValueError:
            return False
        return True

    text = features.normal("".join(c if is_known(c) else " " for c in text))
    try:
        return [segment for word, segment in features.segments(text) if word]
    except ValueError:
        return text.split()


def shingles(text, kind):
    """The shingles of a text, and whether all of its characters are known."""
    if kind == "looped":
        return pipelines.shingles(text), True
    row, known = words(text) if kind == "ringer" else (pipelines.find_words(text.lower()), True)
    return {" ".join(run) for run in features.runs(row, WORDS, kind == "ringer")}, known


def shingle_sets(path, kind):
    """The sets of numbered shingles, rarest shingle first, and how many rows have unknown characters."""
    numbers, unknown, sets = {}, 0, []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            runs, known = shingles(json.loads(line)["text"], kind)
            unknown += not known
            sets.append([numbers.setdefault(run, len(numbers)) for run in runs])
    count = Counter(number for row in sets for number in row)
    return [sorted(row, key=lambda number: (count[number], number)) for row in sets], unknown


def neighbours(sets, threshold):
    """For each row, the rows whose resemblance reaches the threshold."""
    same = defaultdict(list)
    for i, row in enumerate(sets):
        if row:
            same[tuple(row)].append(i)
    distinct = sorted(same, key=len)
    members = [frozenset(row) for row in distinct]
    index, found = defaultdict(list), defaultdict(list)
    for i, row in enumerate(distinct):
        prefix = row[: len(row) - math.ceil(threshold * len(row)) + 1]
        candidates = {j for shingle in prefix for j in index[shingle] if len(distinct[j]) >= threshold * len(row)}
        for j in candidates:
            common = len(members[i] & members[j])
            if common >= threshold * (len(row) + len(distinct[j]) - common):
                found[i].append(j)
                found[j].append(i)
        for shingle in prefix:
            index[shingle].append(i)
    result = {}
    for i, row in enumerate(distinct):
        others = [other for j in found[i] for other in same[distinct[j]]]
        for member in same[row]:
            near = [other for other in same[row] if other != member] + others
            if near:
                result[member] = near
    return result


def truth(folder, path, threshold, kind):
    sources = [Path(path), Path(__file__), Path(pipelines.__file__), SPEC / "features.py"]
    digest = hashlib.sha256(f"{threshold} {kind}".encode())
    for source in sources:
        digest.update(hashlib.sha256(source.read_bytes()).digest())
    cached = Path(folder) / f"truth-{digest.hexdigest()[:16]}"
    if not cached.exists():
        sets, unknown = shingle_sets(path, kind)
        facts = {"rows": len(sets), "unknown": unknown, "mean": sum(map(len, sets)) / max(1, len(sets))}
        new = cached.with_suffix(".new")
        new.write_bytes(pickle.dumps((facts, neighbours(sets, Fraction(threshold)))))
        new.rename(cached)
    return pickle.loads(cached.read_bytes())


def quality(facts, near, kept):
    """See the page for the definitions."""
    removed = [i for i in range(facts["rows"]) if i not in kept]
    right = sum(any(j in kept for j in near.get(i, ())) for i in removed)
    left = sum(any(j < i and j in kept for j in near.get(i, ())) for i in kept)
    return {
        **facts,
        "pairs": sum(map(len, near.values())) // 2,
        "removed": len(removed),
        "precision": right / len(removed) if removed else 1.0,
        "recall": right / (right + left) if right + left else 1.0,
    }


if __name__ == "__main__":
    folder, path, threshold, kind, kept = sys.argv[1:]
    facts, near = truth(folder, path, threshold, kind)
    print(json.dumps(quality(facts, near, set(map(int, Path(kept).read_text().split())))))
