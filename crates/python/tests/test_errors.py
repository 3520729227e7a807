"""Bad input and misuse raise the exception that the contract names, with a message that helps."""

from __future__ import annotations

import math
import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringerdb as rdb
from ringerdb import _core


def test_the_hierarchy_is_the_contract() -> None:
    classes = [rdb.InvalidArgument, rdb.NoSuchKey, rdb.CorruptError, rdb.LockedError, rdb.UnsupportedFormat,
               rdb.SchemeMismatch, rdb.OverLimit, rdb.ClosedError, rdb.NoSpace, rdb.IoError]
    assert all(issubclass(kind, rdb.Error) for kind in classes)
    assert issubclass(rdb.InvalidArgument, ValueError) and issubclass(rdb.NoSuchKey, KeyError)
    assert issubclass(rdb.IoError, OSError) and issubclass(rdb.NoSpace, OSError)


def test_files_that_cannot_be_opened(path: Path, tmp_path: Path) -> None:
    with pytest.raises(rdb.IoError, match="cannot open"):
        rdb.open(path)
    rdb.create(path).close()
    with pytest.raises(rdb.IoError, match="already exists"):
        rdb.create(path)
    with rdb.open(path):
        with pytest.raises(rdb.LockedError, match="open for writing elsewhere"):
            rdb.open(path)
        with rdb.open(path, read_only=True), rdb.open(path, read_only=True):
            pass
    other = tmp_path / "text"
    other.write_text("no database " * 1000)
    with pytest.raises(rdb.UnsupportedFormat, match="not a ringer database"):
        rdb.open(other)
    damaged = bytearray(path.read_bytes())
    for place in range(len(damaged)):
        damaged[place] ^= 0x55 if place >= 16 else 0
    path.write_bytes(damaged)
    with pytest.raises(rdb.Error):
        rdb.open(path)


def test_closed_handles(path: Path) -> None:
    db = rdb.create(path, features="ids")
    db.put("a", set=[1])
    keys = db.keys()
    assert next(keys) == "a"
    db.close()
    db.close()
    assert db.closed and "closed" in repr(db)
    calls = [
        lambda: db.put("a", set=[1]), lambda: db.put_many(["a"], sets=[[1]]), lambda: db.get("a"), lambda: len(db),
        lambda: "a" in db, lambda: list(db), lambda: db.query(key="a"), lambda: db.pairs(0.5), lambda: db.stat(),
        lambda: db.delete("a"), lambda: db.compact(), lambda: db.snapshot(), lambda: db.clusters(0.5),
    ]
    for call in calls:
        with pytest.raises(rdb.ClosedError, match="open it again"):
            call()
    with pytest.raises(rdb.ClosedError):
        with rdb.open(path) as other:
            other.close()
            len(other)


def test_use_after_fork(path: Path) -> None:
    """A forked process can use neither the handle nor harm the database, but it can sketch with threads of its own."""
    db = rdb.create(path, features="ids", seed=1)
    db.put_many([str(i) for i in range(100)], sets=[[i] for i in range(100)])
    sketcher = db.sketcher
    expected = bytes(sketcher.signatures(sets=[[1], [2]]).to_numpy())
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        said = []
        for call in (lambda: len(db), lambda: db.put("x", set=[1]), lambda: db.snapshot()):
            try:
                call()
            except rdb.ClosedError as error:
                said.append("forked" in str(error))
        db.close()
        said.append(bytes(sketcher.signatures(sets=[[1], [2]]).to_numpy()) == expected)
        with rdb.memory(features="ids") as own:
            own.put_many([str(i) for i in range(20_000)], sets=[[i] for i in range(20_000)])
            said.append(len(own.pairs(0.9)) == 0 and len(own) == 20_000)
        os.write(write, repr(said).encode())
        os._exit(0)
    os.close(write)
    assert os.waitpid(child, 0)[1] == 0
    assert os.read(read, 1000) == b"[True, True, True, True, True]"
    db.put("later", set=[5])
    db.close()
    with rdb.open(path) as db:
        assert len(db) == 101


FORKS = """
import os, signal, threading
import ringerdb as rdb
sketcher, going = rdb.Sketcher(features="ids", seed=1), True
expected = bytes(sketcher.signatures(sets=[[1]]).to_numpy())
def work(number):
    while going:
        # Pools of many sizes come and go.
        for threads in range(1, 9):
            sketcher.signatures(sets=[[1], [number]], threads=threads)
threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
ended = []
for _ in range(20):
    child = os.fork()
    if child == 0:
        signal.alarm(100)
        same = bytes(sketcher.signatures(sets=[[1]], threads=2).to_numpy()) == expected
        os._exit(0 if same else 1)
    ended.append(os.waitpid(child, 0)[1])
going = False
for thread in threads:
    thread.join()
print(ended == [0] * 20)
"""


def test_forks_while_other_threads_work(run_python: Callable) -> None:
    """A child has threads of its own, whatever those of its parent were doing when it was forked."""
    done = run_python(FORKS)
    assert done.stdout == "True\n", done


def _square(sketcher: rdb.Sketcher, start: int) -> bytes:
    return bytes(sketcher.signatures(sets=[[i, i * i] for i in range(start, start + 50)]).to_numpy())


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_sketchers_work_in_other_processes(method: str) -> None:
    sketcher = rdb.Sketcher(features="ids", seed=9)
    expected = [_square(sketcher, start) for start in (0, 50, 100)]
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.starmap(_square, [(sketcher, start) for start in (0, 50, 100)]) == expected


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda db: db.put("a"), "exactly one of"),
        (lambda db: db.put("a", text="x", set=[1]), "exactly one of"),
        (lambda db: db.put(5, set=[1]), "the key is int"),
        (lambda db: db.put("", set=[1]), "key"),
        (lambda db: db.put("k" * 5000, set=[1]), "4096"),
        (lambda db: db.put("a\ud800", set=[1]), "surrogate"),
        (lambda db: db.put("a", set=[-1]), "0 to 2\\*\\*64 - 1"),
        (lambda db: db.put("a", set=[1 << 64]), "0 to 2\\*\\*64 - 1"),
        (lambda db: db.put("a", set=[1.5]), "0 to 2\\*\\*64 - 1"),
        (lambda db: db.put("a", set=np.array([-1, 2])), "not negative"),
        (lambda db: db.put("a", set="abc"), "a set is a list"),
        (lambda db: db.put("a", set=7), "a set is a list"),
        (lambda db: db.put("a", set=["bread"]), "takes numbers"),
        (lambda db: db.put("a", text="words"), "takes sets"),
        (lambda db: db.put("a", weighted={1: 2.0}), "has no use for them"),
        (lambda db: db.put("a", signature=b"short"), "signature of 5 bytes"),
        (lambda db: db.put("a", signature=66), "signature is int"),
        (lambda db: db.put("a", signature="x" * 66), "signature is str"),
        (lambda db: db.put("a", signature=np.zeros(66)), "1-dimensional float64"),
        (lambda db: db.put_many(["a"], signatures=np.full((1, 66), 300)), "bytes \\(uint8\\), not 2-dimensional int64"),
        (lambda db: db.put_many(["a"], signatures=np.zeros(66, np.uint8)), "not 1-dimensional"),
        (lambda db: db.put("a", vector="abc"), "rows of equally many numbers"),
        (lambda db: db.put("a", vector=[[1.0]]), "matrix of numbers"),
        (lambda db: db.put_many(["a"], vectors=[[1.0], [1.0, 2.0]]), "equally many numbers"),
        (lambda db: db.put_many(["a"], sets=[[1], [2]]), "1 keys, but 2 rows"),
        (lambda db: db.put_many(["a", None], sets=[[1], [2]]), "row 1 has no key"),
        (lambda db: db.put_many(["a", 3], sets=[[1], [2]]), "row 1 of keys is int"),
        (lambda db: db.put_many(["a", "b"], sets=[[1], None]), "row 1 is null"),
        (lambda db: db.put_many("ab", sets=[[1], [2]]), "a single text"),
        (lambda db: db.put_many(["a"], sets=(np.array([1, 2]), np.array([0, 3]))), "offsets must ascend"),
        (lambda db: db.put_many(["a"], sets=(np.array([1, 2]), np.array([-1, 1]))), "offsets must ascend"),
        (lambda db: db.put_many(["a"], sets=(np.array([1.5]), np.array([0, 1]))), "integers"),
        (lambda db: db.put_many(["a"], sets=[[1]], threads=0), "threads = 0"),
        (lambda db: db.put_many(["a"], sets=[[1]], threads=-1), "threads = -1"),
        (lambda db: db.put_many(["a"], sets=[[1]], threads=1 << 70), "threads = 11805"),
        (lambda db: rdb.memory(threads=-1), "threads = -1"),
        (lambda db: rdb.open(db.path, threads=0), "threads = 0"),
        (lambda db: rdb.dedupe(["a"], memory=-1), "memory = -1"),
        (lambda db: rdb.dedupe(["a"], min=math.nan), "."),
        (lambda db: rdb.dedupe(["a"], min=1.5), "."),
        (lambda db: db.query(), "exactly one of"),
        (lambda db: db.query(set=[1], min=math.nan), "."),
        (lambda db: db.query(set=[1], min=2.0), "."),
        (lambda db: db.query(set=[1], top=-1), "top = -1"),
        (lambda db: db.query(set=[1], accept="maybe"), "accept `maybe`"),
        (lambda db: db.pairs(math.nan), "."),
        (lambda db: db.pairs(0.5, memory=0), "memory = 0"),
        (lambda db: db.clusters(0.5, linkage="loose"), "linkage `loose`"),
        (lambda db: db.check("slow"), "depth `slow`"),
        (lambda db: db.keys(5).__next__(), "the key is int"),
    ],
)
def test_invalid_arguments(path: Path, call: object, message: str) -> None:
    with rdb.create(path, features="ids", seed=1) as db:
        with pytest.raises(rdb.InvalidArgument, match=message):
            call(db)  # type: ignore[operator]
        assert len(db) == 0


def test_other_errors() -> None:
    db = rdb.memory(features="ids", seed=1)
    with pytest.raises(rdb.NoSuchKey, match="^no set is stored under the key `x`$"):
        db.query(key="x")
    with pytest.raises(KeyError):
        db.estimate("x", "y")
    with pytest.raises(rdb.InvalidArgument, match="invalid value 'nothing'"):
        rdb.memory(preset="nothing")
    with pytest.raises(rdb.InvalidArgument, match="features `x`"):
        rdb.memory(features="x")
    with pytest.raises(TypeError, match="there is no option 'colour'"):
        rdb.memory(colour="red")
    other = rdb.Sketcher(features="ids", seed=2).signatures(sets=[[1]])
    with pytest.raises(rdb.SchemeMismatch, match="seed"):
        db.put_many(["a"], signatures=other)
    with pytest.raises(rdb.SchemeMismatch, match="sketch both sets with the same scheme"):
        db.query_many(signatures=other)
    db.put_many([str(i) for i in range(20)], sets=[[1]] * 20)
    assert len(db.pairs(0.5)) == 190
    with pytest.raises(rdb.OverLimit, match="more than 100 rows"):
        db.pairs(0.5, limit=100)
    with pytest.raises(rdb.OverLimit):
        db.pairs(0.5, memory=1)


@given(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(), st.complex_numbers(),
                 st.lists(st.one_of(st.integers(), st.text(), st.none(), st.floats())),
                 st.dictionaries(st.text(), st.floats())))
def test_any_object_is_accepted_or_refused_with_an_exception_of_the_package(value: object) -> None:
    db = rdb.memory(features="tokens", seed=1)
    calls = [
        lambda: db.put("a", set=value), lambda: db.put_many(["a"], sets=value), lambda: db.put_many(value, sets=[["a"]]),
        lambda: db.put(value, set=["a"]), lambda: db.query(text=value), lambda: db.query_many(texts=value),
        lambda: db.query(weighted=value), lambda: db.query_many(vectors=value), lambda: db.put_many(["a"], signatures=value),
        lambda: db.get(value), lambda: db.estimate(value, value), lambda: rdb.dedupe(value),
        lambda: db.sketcher.slots(value), lambda: db.sketcher.matrix(value, value),
    ]
    for call in calls:
        try:
            call()
        except (rdb.Error, TypeError, ValueError):
            pass


def test_a_panic_is_an_ordinary_exception() -> None:
    """A panic is a bug. It must neither end the process nor be an exception that ``except Exception`` does not catch."""
    for call in (_core._panic, lambda: _core._panic(watched=True)):
        with pytest.raises(rdb.Error, match="ringerdb has a bug, please report it: asked for by a test"):
            call()
