"""``python -m ringerdb`` is the tool, and the package gives the same answers, byte for byte."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import ringerdb as rdb
from conftest import some_texts


def test_the_tool_runs(run_tool: Callable, path: Path, tmp_path: Path) -> None:
    assert run_tool("--version").stdout.startswith(b"ringer ")
    assert run_tool("create", path, "--features", "tokens").returncode == 0
    assert run_tool("nonsense").returncode == 2
    lines = tmp_path / "sets.tsv"
    lines.write_text("a\tbread milk\nb\tbread milk\n")
    assert run_tool("add", path, "--sets", lines).returncode == 0
    assert run_tool("query", path, "--set", "nails").returncode == 1
    assert b"a" in run_tool("query", path, "--set", "bread milk").stdout
    assert run_tool("query", tmp_path / "missing").returncode == 2
    with rdb.open(path) as db:
        assert list(db) == ["a", "b"]
        assert run_tool("compact", path).returncode == 4


def json_lines(output: bytes) -> list[dict]:
    return [json.loads(line) for line in output.splitlines()]


@pytest.mark.parametrize("options", [["--features", "text:3"], ["--features", "text", "--preset", "precise"],
                                     ["--features", "text", "--keep-sets"]])
def test_answers_are_those_of_the_tool(run_tool: Callable, tmp_path: Path, options: list[str]) -> None:
    """The same scheme, seed and input give the same file contents, matches, pairs and clusters, to the last digit."""
    texts = some_texts(300)
    records = [{"id": f"key {i:03}", "text": text} for i, text in enumerate(texts)]
    lines = tmp_path / "texts.jsonl"
    lines.write_text("".join(json.dumps(record) + "\n" for record in records))
    theirs, ours = tmp_path / "theirs.ringer", tmp_path / "ours.ringer"
    assert run_tool("create", theirs, "--seed", "42", *options).returncode == 0
    assert run_tool("add", theirs, "--jsonl", lines).returncode == 0
    names = [option[2:].replace("-", "_") for option in options if option.startswith("--")]
    values = [option for option in options if not option.startswith("--")] + [True]
    db = rdb.create(ours, seed=42, **dict(zip(names, values)))
    db.put_many([record["id"] for record in records], texts=texts)
    dumps = []
    db.checkpoint()
    for file in (theirs, ours):
        dumps.append(run_tool("dump", file, "--json").stdout)
    assert dumps[0] == dumps[1] and dumps[0]

    found = json_lines(run_tool("query", theirs, "--jsonl", lines, "--json", "--top", "5", "--min", "0.1").stdout)
    mine = [(records[row.query]["id"], *row[1:]) for row in db.query_many(texts=texts, top=5, min=0.1)]
    numbers = ("resemblance", "std_error", "low", "high", "matching_slots")
    assert mine == [(row["query"], row["key"], *(row[name] for name in numbers)) for row in found]

    found = json_lines(run_tool("pairs", theirs, "--min", "0.3", "--json", "--expand").stdout)
    mine = [tuple(row) for row in db.pairs(0.3)]
    assert mine == [(row["a"], row["b"], *(row[name] for name in numbers)) for row in found] and mine

    for linkage in ("connected", "strict"):
        table = tmp_path / f"{linkage}.csv"
        assert run_tool("clusters", theirs, "--min", "0.5", "--linkage", linkage, "--output", table).returncode == 0
        with table.open(newline="") as file:
            rows = [(row["key"], int(row["cluster"]), row["representative"], float(row["resemblance"]))
                    for row in csv.DictReader(file)]
        assert [tuple(row) for row in db.clusters(0.5, linkage=linkage)] == rows

    estimates = json_lines(run_tool("estimate", theirs, "key 000", "key 001", "--json").stdout)[0]
    both = db.estimate("key 000", "key 001")
    assert both.resemblance.value == estimates["resemblance"]
    assert both.intersection.value == estimates["intersection"]
    db.close()


@pytest.mark.parametrize("keep", ["first", "last", "longest", "shortest"])
def test_dedupe_keeps_the_rows_that_the_tool_keeps(run_tool: Callable, tmp_path: Path, keep: str) -> None:
    texts = some_texts(400, seed=5)
    lines, groups = tmp_path / "in.jsonl", tmp_path / "groups.csv"
    lines.write_text("".join(json.dumps({"id": str(i), "text": text}) + "\n" for i, text in enumerate(texts)))
    done = run_tool("dedup", "--jsonl", lines, "--out", tmp_path / "kept", "--clusters", groups, "--keep", keep,
                    "--min", "0.7", "--seed", "3")
    assert done.returncode == 0, done.stderr
    kept = (tmp_path / "kept" / "in.jsonl").read_text().splitlines(keepends=True)
    r = rdb.dedupe(texts, min=0.7, keep=keep, seed=3)
    assert kept == r.filter(lines.read_text().splitlines(keepends=True))
    with groups.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == (r.group > 0).sum()
