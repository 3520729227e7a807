"""Runs the tests of datasketch twice, with datasketch and with `ringerdb.datasketch` in its place, and says which passed.

The archives of datasketch 2.0 have no tests, so they are those of an earlier one. What has changed since fails with datasketch,
too. A test is *refused* if it needs what this package does not have, and *failed* if its answer differs.

`suite.py --bless` writes the results to results.md. Without --bless, they must be those of that page.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from pathlib import Path

#: The newest release whose archive has tests.
RELEASE = "1.7.0"
PAGE = Path(__file__).resolve().with_name("results.md")

# Tests import `test.utils`, which the archive lacks.
UTILS = "def fake_hash_func(b):\n    return b\n"

# Modules of datasketch that this package does not have, and what they are.
MISSING = {
    "hyperloglog": "HyperLogLog counts elements and cannot be searched",
    "hyperloglog_const": "HyperLogLog counts elements and cannot be searched",
    "hnsw": "HNSW is an index of vectors",
    "lsh_bloom": "its Bloom filters answer without keys",
    "storage": "there is no Redis or Cassandra: an index is in memory or in one file",
    "experimental": "its asynchronous index needs Redis or MongoDB",
    "aio": "its asynchronous index needs Redis or MongoDB",
}

PLUGIN = '''
import importlib, importlib.abc, importlib.machinery, json, os, sys
MISSING = json.loads(os.environ["MISSING"])

if os.environ["INSTEAD"] == "ringerdb.datasketch":
    class Refuse(importlib.abc.MetaPathFinder):
        def find_spec(self, name, path=None, target=None):
            part = name.partition(".")[2].partition(".")[0]
            if name.startswith("datasketch.") and part in MISSING:
                raise ImportError("REFUSED: " + MISSING[part])

    sys.meta_path.insert(0, Refuse())
    package = importlib.import_module("ringerdb.datasketch")
    sys.modules["datasketch"] = package
    for part in ("minhash", "lean_minhash", "b_bit_minhash", "weighted_minhash", "lsh", "lshforest", "lshensemble", "hashfunc"):
        sys.modules["datasketch." + part] = importlib.import_module("ringerdb.datasketch." + part)

seen = {}

def pytest_collectreport(report):
    if report.failed:
        seen[report.nodeid] = ["module", str(report.longrepr)]

def pytest_exception_interact(node, call, report):
    kinds = [kind.__name__ for kind in type(call.excinfo.value).__mro__]
    text = str(call.excinfo.value)
    seen[report.nodeid] = ["refused" if "NotSupported" in kinds else "failed" if report.when else "module", text]

def pytest_runtest_logreport(report):
    if report.when == "call" and report.passed:
        seen[report.nodeid] = ["passed", ""]
    elif report.skipped:
        seen[report.nodeid] = ["skipped", ""]

def pytest_sessionfinish():
    with open(os.environ["RESULTS"], "w") as file:
        json.dump(seen, file)
'''


def tests_of(path: Path) -> list[str]:
    """The tests that a file defines, by name."""
    classes = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)]
    functions = ((one, part) for one in classes for part in one.body if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)))
    return [f"{path.name}::{one.name}::{part.name}" for one, part in functions if part.name.startswith("test")]


def run(folder: Path, instead: str) -> dict[str, tuple[str, str]]:
    """The result of every test: passed, refused, failed or skipped, and why."""
    results = folder / "results.json"
    environment = {**os.environ, "INSTEAD": instead, "MISSING": json.dumps(MISSING), "RESULTS": str(results)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "plugin", "-p", "no:cacheprovider", "test"]
    command += ["--continue-on-collection-errors", "-W", "ignore"]
    subprocess.run(command, cwd=folder, env={**environment, "PYTHONPATH": str(folder)}, stdout=subprocess.DEVNULL, check=False)
    seen = json.loads(results.read_text())
    found: dict[str, tuple[str, str]] = {}
    for path in sorted((folder / "test").glob("test_*.py")):
        module = seen.get(f"test/{path.name}")
        for name in tests_of(path):
            kind, why = seen.get(f"test/{name}", ("failed", "it was not run")) if module is None else module
            if kind == "module":
                reason = re.search(r"^E .*REFUSED: (.*)", why, re.MULTILINE)
                kind, why = ("refused", reason[1]) if reason else ("failed", why)
            found[name] = (kind, why.strip().partition("\n")[0])
    return found


def table(title: str, lines: list[tuple[str, ...]]) -> str:
    rows = ["| " + " | ".join(line) + " |" for line in lines]
    rows.insert(1, "|---" * len(lines[0]) + "|")
    return f"## {title}\n\n" + "\n".join(rows) + "\n"


def page(theirs: dict[str, tuple[str, str]], ours: dict[str, tuple[str, str]]) -> str:
    """The results as a page."""
    modules = sorted({name.partition("::")[0] for name in ours})
    lines: list[tuple[str, ...]] = [("tests", "passed", "refused", "failed", "failed with datasketch, too", "skipped")]
    reasons: Counter[str] = Counter()
    failures: list[tuple[str, ...]] = [("test", "message")]
    totals = [0] * 5
    for module in modules:
        counts = [0] * 5
        for name in (name for name in ours if name.startswith(module + "::")):
            kind, why = ours[name]
            if kind == "failed" and theirs[name][0] == "failed":
                kind = "both"
            counts[["passed", "refused", "failed", "both", "skipped"].index(kind)] += 1
            if kind == "refused":
                reasons[why] += 1
            elif kind in ("failed", "both"):
                failures.append((f"`{name}`", why.replace("|", "\\|") or "an assertion"))
        lines.append((f"`{module}`", *map(str, counts)))
        totals = [a + b for a, b in zip(totals, counts)]
    lines.append(("all", *map(str, totals)))
    parts = [
        "# Tests of datasketch\n",
        f"`crates/python/compat/run` runs the tests of datasketch {RELEASE} with `ringerdb.datasketch` in place of datasketch, and\n"
        "writes this page. It is the newest release whose archive has tests. A test is refused if it needs what this package\n"
        "does not have. Tests that fail with datasketch 2.0.0 itself use what 2.0 changed: for example, hash values must now come\n"
        "with their scheme.\n",
        table("Results", lines),
        table("Refused", [("reason", "tests"), *((reason, str(count)) for reason, count in sorted(reasons.items()))]),
        table("Failed", failures),
    ]
    return "\n".join(parts)


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        download += ["--no-binary", ":all:", "--dest", name, f"datasketch=={RELEASE}"]
        subprocess.run(download, check=True)
        with tarfile.open(folder / f"datasketch-{RELEASE}.tar.gz") as archive:
            archive.extractall(folder, filter="data")
        # The installed datasketch is tested, and not that of the archive.
        (folder / f"datasketch-{RELEASE}" / "test").rename(folder / "test")
        (folder / "test" / "__init__.py").touch()
        (folder / "test" / "utils.py").write_text(UTILS)
        (folder / "plugin.py").write_text(PLUGIN)
        theirs, ours = (run(folder, instead) for instead in ("datasketch", "ringerdb.datasketch"))
    text = page(theirs, ours)
    print(text)
    if "--bless" in sys.argv:
        PAGE.write_text(text)
        return 0
    if PAGE.read_text() != text:
        print(f"{PAGE.name} has other results: run crates/python/compat/run --bless and look at the change")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
