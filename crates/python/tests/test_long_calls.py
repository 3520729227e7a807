"""Long calls: other threads go on, Ctrl-C stops them, progress is reported; and no memory is lost."""

from __future__ import annotations

import gc
import io
import os
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import ringerdb as rdb
from conftest import some_texts


def test_other_threads_go_on(path: Path) -> None:
    """A thread counts while the main thread is in one call after another. With the GIL held it could not."""
    db = rdb.memory(seed=1)
    texts = ["some words in a long text " * 20_000] * 12
    # Signatures with many samples, from an array of zeros that takes no memory.
    many = rdb.Sketcher(features="ids", preset="precise", cardinality="none", samples=16_384, bits=4, seed=1)
    zeros = np.zeros((1000, many.width), dtype=np.uint8)
    sets = [[i % 50, i % 49, i % 47, i % 43, i] for i in range(20_000)]
    big = rdb.create(path, features="ids", seed=1, samples=16, slots=0)
    for part in (0, 1):
        big.put_many([f"{part}/{i}" for i in range(len(sets))], sets=sets)
    calls = {
        "signatures": lambda: db.sketcher.signatures(texts, threads=1),
        "put_many": lambda: db.put_many([str(i) for i in range(12)], texts=texts, threads=1),
        "query_many": lambda: db.query_many(texts=texts, threads=1),
        "dedupe": lambda: rdb.dedupe(texts, threads=1),
        "pairs": lambda: big.pairs(0.9, threads=1),
        "clusters": lambda: big.clusters(0.9, threads=1),
        "triples": lambda: big.triples(0.9, threads=1),
        "slots": lambda: many.slots(zeros, threads=1),
        "sample_values": lambda: many.sample_values(zeros, threads=1),
        "compare": lambda: many.compare(zeros, zeros, threads=1),
        "matrix": lambda: many.matrix(zeros, zeros[:300], threads=1),
        "from_samples": lambda: many.from_samples(np.ones((1000, many.samples), dtype=np.uint64), threads=1),
        "check": lambda: big.check("deep"),
        "pack": lambda: big.pack(path.with_name("copy.ringer")),
        "compact": lambda: big.compact(),
    }
    for name, call in calls.items():
        steps, going, inside = 0, threading.Event(), threading.Event()
        done = threading.Event()

        def count() -> None:
            nonlocal steps
            going.set()
            while not done.is_set():
                if inside.is_set():
                    steps += 1

        thread = threading.Thread(target=count)
        thread.start()
        going.wait()
        inside.set()
        call()
        inside.clear()
        done.set()
        thread.join()
        # Between `inside.set()` and the call, the other thread can take a few steps; in the call, millions.
        assert steps > 20_000, name
    big.close()


PROGRAM = """
import os, signal, sys, threading, time
import numpy as np, ringerdb as rdb
texts = ["some words in a long text " * 20_000] * 400
db = rdb.memory(seed=1)
sets = [[i % 50, i % 49, i % 47, i % 43, i] for i in range(60_000)]
big = rdb.memory(features="ids", seed=1, samples=16, slots=0)
big.put_many([str(i) for i in range(len(sets))], sets=sets)
many = rdb.Sketcher(features="ids", preset="precise", cardinality="none", samples=16_384, bits=4, seed=1)
zeros = np.zeros((9000, many.width), dtype=np.uint8)
calls = {
    "signatures": lambda: db.sketcher.signatures(texts),
    "put_many": lambda: db.put_many([str(i) for i in range(len(texts))], texts=texts),
    "query_many": lambda: big.query_many(sets=sets, exhaustive=True),
    "pairs": lambda: big.pairs(0.01),
    "clusters": lambda: big.clusters(0.01),
    "triples": lambda: big.triples(0.01),
    "matrix": lambda: many.matrix(zeros, zeros, threads=1),
    "dedupe": lambda: rdb.dedupe(texts * 10, linkage="connected"),
}
threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    calls[sys.argv[1]]()
    print("finished")
except KeyboardInterrupt:
    print("interrupted", len(db))
print(len(big))
"""


@pytest.mark.parametrize("call", ["signatures", "put_many", "query_many", "pairs", "clusters", "triples", "matrix", "dedupe"])
def test_an_interrupt_ends_a_long_call(run_python: Callable, call: str) -> None:
    """The call is stopped, nothing is stored, and the database still works."""
    done = run_python(PROGRAM, call)
    assert done.stdout.split("\n")[:2] == ["interrupted 0", "60000"], done.stderr


STOPPED = """
import os, resource, signal, sys
import numpy as np, ringerdb as rdb
from ringerdb import foreign
many = rdb.Sketcher(features="ids", preset="precise", cardinality="none", samples=16_384, bits=4, seed=1)
# Zeros take no memory.
zeros, ones = np.zeros((4000, many.width), np.uint8), np.ones((1500, many.samples), np.uint64)
calls = {
    "slots": lambda progress: many.slots(zeros, threads=1, progress=progress),
    "sample_values": lambda progress: many.sample_values(zeros[:1500], threads=1, progress=progress),
    "from_samples": lambda progress: many.from_samples(ones, threads=1, progress=progress),
}
call = calls[sys.argv[1]]
used = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_utime
def stop(done, total):
    stopped.append((done, total))
    if len(stopped) == 1:
        os.kill(os.getpid(), signal.SIGINT)
start, stopped = used(), [None]
call(stop)
whole, start, stopped = used() - start, used(), []
try:
    call(stop)
except KeyboardInterrupt:
    print("interrupted", stopped[0][0] < stopped[0][1], len(stopped), used() - start < 0.7 * whole)
"""


@pytest.mark.parametrize("call", ["slots", "sample_values", "from_samples"])
def test_an_interrupt_ends_work_on_signatures(run_python: Callable, call: str) -> None:
    """The call ends when the first report of progress interrupts it, after a part of the work: in steps and in processor time."""
    done = run_python(STOPPED, call)
    assert done.stdout == "interrupted True 1 True\n", done


MAINTENANCE = """
import os, signal, sys
import ringerdb as rdb
path, name = sys.argv[1:]
db = rdb.create(path, features="ids", seed=1)
sets = [[i, i % 49, i % 47, i % 43] for i in range(60_000)]
for part in range(3):
    db.put_many([f"{part}/{i}" for i in range(len(sets))], sets=sets)
calls = {
    "compact": lambda progress: db.compact(progress=progress),
    "pack": lambda progress: db.pack(path + ".copy", progress=progress),
    "check": lambda progress: db.check("deep", progress=progress),
}
seen = []
def stop(done, total):
    seen.append(done < total)
    if len(seen) == 1:
        os.kill(os.getpid(), signal.SIGINT)
try:
    calls[name](stop)
    print("finished")
except KeyboardInterrupt:
    print("interrupted", seen[0])
print(len(db), "0/7" in db, db.query(set=sets[7], top=1)[0].similarity.value)
db.close()
"""


@pytest.mark.parametrize("call", ["compact", "pack", "check"])
def test_an_interrupt_ends_calls_whose_work_goes_on(run_python: Callable, path: Path, call: str) -> None:
    """The database works meanwhile, can be closed, and is whole afterwards. A copy does not remain."""
    done = run_python(MAINTENANCE, path, call)
    assert done.stdout == "interrupted True\n180000 True 1.0\n", done
    assert rdb.check(path) == []
    with rdb.open(path) as db:
        assert len(db) == 180_000
        db.compact()
        assert db.stat().segments == 1


def test_calls_whose_work_goes_on_report_progress(path: Path) -> None:
    with rdb.create(path, features="ids", seed=1) as db:
        for part in (0, 1):
            db.put_many([f"{part}/{i}" for i in range(30_000)], sets=[[i, i % 49] for i in range(30_000)])
        db.put("last", set=[1])
        calls = {
            "checkpoint": db.checkpoint, "compact": db.compact, "check": db.check,
            "pack": lambda progress: db.pack(path.with_name("copy.ringer"), progress=progress),
        }
        for name, call in calls.items():
            seen: list[tuple[int, int]] = []
            call(progress=lambda done, total: seen.append((done, total)))
            assert seen == sorted(seen) and len({total for _, total in seen}) == 1, name
            assert seen[-1][0] == seen[-1][1] > 0 and all(done < total for done, total in seen[:-1]), name

    class Enough(Exception):
        pass

    def stop(done: int, total: int) -> None:
        raise Enough

    with pytest.raises(Enough):
        rdb.check(path, progress=stop)
    with rdb.open(path) as db:
        for call in (db.compact, db.checkpoint):
            with pytest.raises(Enough):
                call(progress=stop)

        def stop_at_the_end(done: int, total: int) -> None:
            if done == total:
                raise Enough

        # The copy is complete when the callback raises, and removed before the call ends.
        with pytest.raises(Enough):
            db.pack(path.with_name("other.ringer"), progress=stop_at_the_end)
        assert not path.with_name("other.ringer").exists()


def test_tqdm_shows_progress() -> None:
    tqdm = pytest.importorskip("tqdm")
    texts, db = some_texts(2000), rdb.memory(seed=1)
    with tqdm.tqdm(total=len(texts), file=io.StringIO()) as bar:
        db.put_many([str(i) for i in range(len(texts))], texts=texts, progress=lambda done, total: bar.update(done - bar.n))
        assert bar.n == bar.total == 2000
    with tqdm.tqdm(total=0, file=io.StringIO()) as bar:

        def show(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        rdb.dedupe(texts, progress=show)
        assert bar.n == bar.total > 0


def test_progress_is_reported() -> None:
    seen: list[tuple[int, int]] = []
    texts = some_texts(3000)
    db = rdb.memory(seed=1)
    names = [str(i) for i in range(len(texts))]
    assert db.put_many(names, texts=texts, progress=lambda done, total: seen.append((done, total))) == 3000
    assert seen and seen[-1] == (3000, 3000) and seen == sorted(seen)
    for call in (db.pairs, db.clusters, db.triples):
        seen.clear()
        call(0.8, progress=lambda done, total: seen.append((done, total)))
        assert all(0 <= done <= total for done, total in seen) and seen[-1][0] == seen[-1][1] > 0
    seen.clear()
    db.query_many(texts=texts, progress=lambda *step: seen.append(step))
    assert seen[-1] == (3000, 3000)


def test_an_exception_of_the_callback_ends_the_call() -> None:
    class Enough(Exception):
        pass

    def stop(done: int, total: int) -> None:
        raise Enough

    db = rdb.memory(seed=1)
    with pytest.raises(Enough):
        db.put_many([str(i) for i in range(3000)], texts=some_texts(3000), progress=stop)
    with pytest.raises(Enough):
        rdb.dedupe(some_texts(3000), progress=stop)


def test_threads_share_a_database() -> None:
    """Writers and readers at once: every thread finds what it stored, and no answer is torn."""
    db = rdb.memory(features="ids", seed=1)
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for i in range(60):
                key = f"{number}/{i}"
                elements = range(number * 1000 + i, number * 1000 + i + 80)
                if i % 2:
                    db.put(key, set=elements)
                else:
                    db.put_many([key, key + "+"], sets=[elements, elements])
                assert key in db
                found = db.query(set=elements, top=3)
                assert found[0].similarity.value == 1.0 and found[0].key.split("/")[0] == str(number)
                if i % 20 == 0:
                    assert len(db.pairs(0.9)) > 0
                    db.sketcher.signatures(sets=[elements] * 10)
                if i % 7 == 0:
                    assert db.delete(key)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]
    assert len(db) == 8 * (60 + 30 - 9)


def test_memory_stays_flat() -> None:
    """After a start, many calls take no more memory: a million with RINGER_TEST=full."""
    resource = pytest.importorskip("resource")
    db = rdb.memory(features="ids", seed=1)
    sketcher = db.sketcher
    db.put_many([str(i) for i in range(50)], sets=[range(i, i + 20) for i in range(50)])

    def some(count: int) -> None:
        for i in range(count):
            key = str(i % 50)
            db.get(key)
            matches = db.query(key=key, top=2)
            matches[0].similarity.value
            sketcher.features
            key in db
            if i % 50 == 0:
                rows = db.query_many(sets=[range(i % 9, 20)] * 5)
                list(rows)
                sketcher.signatures(sets=[range(9)]).to_numpy()
                try:
                    db.query(key="no such key")
                except rdb.NoSuchKey:
                    pass

    some(10_000)
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    some(1_000_000 if os.environ.get("RINGER_TEST") == "full" else 40_000)
    gc.collect()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2048


def test_exit_with_open_handles(run_python: Callable, path: object) -> None:
    """Databases that are open when the interpreter exits are closed, in whatever way it exits."""
    program = """
import sys, threading
import ringerdb as rdb
kept = rdb.create(sys.argv[1], features="ids")
kept.put("a", set=[1])
other = rdb.memory(features="ids")
rows, keys = kept.query_many(sets=[[1]]), kept.keys()
snapshot = kept.snapshot()
def work():
    try:
        for i in range(100_000):
            other.put(str(i), set=[i])
    except rdb.ClosedError:
        pass
threading.Thread(target=work, daemon=True).start()
if len(sys.argv) > 2:
    sys.exit(7)
"""
    assert run_python(program, path).returncode == 0
    assert [file.name for file in path.parent.iterdir()] == [path.name]  # type: ignore[attr-defined]
    path.unlink()  # type: ignore[attr-defined]
    done = run_python(program, path, "fail")
    assert done.returncode == 7 and not done.stderr
    with rdb.open(path) as db:  # type: ignore[arg-type]
        assert list(db) == ["a"]
