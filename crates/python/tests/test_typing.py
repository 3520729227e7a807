"""Types: the package passes a strict type checker, and the stub of the native part names all of it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import ringerdb
from ringerdb import _core

FOLDER = Path(ringerdb.__file__).parent


def test_the_stub_is_complete() -> None:
    tree = ast.parse((FOLDER / "_core.pyi").read_text())
    stub: dict[str, set[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            stub[node.name] = {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
        elif isinstance(node, ast.FunctionDef):
            stub[node.name] = set()
    real = {name for name in dir(_core) if not name.startswith("__")}
    assert real == set(stub)
    inherited = set(dir(object))
    for name, members in stub.items():
        thing = getattr(_core, name)
        if isinstance(thing, type):
            own = {member for member in vars(thing) if member not in inherited and not member.startswith("__")}
            assert own == {member for member in members if not member.startswith("__")}, name
            assert all(hasattr(thing, member) for member in members), name
    assert (FOLDER / "py.typed").exists()


def test_the_package_passes_a_strict_type_checker(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(
        "import ringerdb as rdb\n"
        "with rdb.create('x', preset='precise', seed=1) as db:\n"
        "    db.put('a', text='words')\n"
        "    value: float = db.query(key='a')[0].similarity.value\n"
        "    rows: rdb.Rows = db.pairs(0.5, threads=2)\n"
        "    count: int = db.put_many(['a'], sets=[[1]], progress=lambda done, total: None)\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"),
               "--ignore-missing-imports", "-p", "ringerdb"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    done = subprocess.run([*command[:-2], str(program)], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout


def test_everything_public_has_a_docstring() -> None:
    for name in ringerdb.__all__:
        thing = getattr(ringerdb, name)
        assert thing.__doc__, name
        if isinstance(thing, type):
            for member, value in vars(thing).items():
                if not member.startswith("_") and callable(value):
                    assert value.__doc__, f"{name}.{member}"
