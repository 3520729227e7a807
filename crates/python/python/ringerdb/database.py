"""Databases and snapshots."""

from __future__ import annotations

import atexit
import os
import weakref
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _core
from ._arguments import Key, Progress, SchemeOptions, many, one, path_of, scheme_arguments, whole
from .errors import Error, InvalidArgument
from .reads import Reads
from .sketcher import Sketcher

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]

#: Databases that are closed when the interpreter exits, so that their files are clean.
_OPEN: weakref.WeakSet[Database] = weakref.WeakSet()


class Stat(NamedTuple):
    """Counts and sizes of a database."""

    sets: int
    rows: int
    segments: int
    sequence: int
    distinct_signatures: int
    file_bytes: int
    dead_bytes: int
    key_bytes: int
    signature_bytes: int
    posting_bytes: int
    element_bytes: int
    value_bytes: int
    scheme: str


class Finding(NamedTuple):
    """Damage that a check found: the broken rule, where, what, what follows from it, and what to do."""

    rule: str
    offset: int
    detail: str
    effect: str
    fix: str


class Snapshot(Reads):
    """A fixed view of a database. Later changes do not affect it, and neither does closing the database."""

    __slots__ = ("_core",)

    def __init__(self, view: _core.View) -> None:
        self._core = view

    def _view(self) -> _core.View:
        return self._core

    @property
    def sequence(self) -> int:
        """The number of the last commit that it shows."""
        return self._core.sequence


class Database(Reads):
    """An open database. Use `create`, `open` or `memory` to get one, and `close` or a ``with`` block to close it.

    Several threads can use it at once. A commit is durable when the call returns.

    >>> import ringerdb as rdb
    >>> with rdb.memory(features="tokens", seed=1) as db:
    ...     db.put("a", set=["bread", "milk", "beer"])
    ...     db.put("b", set=["bread", "milk", "beer"])
    ...     [match.key for match in db.query(key="a")]
    ['b']
    >>> db.closed
    True
    """

    __slots__ = ("__weakref__", "_store")

    def __init__(self, store: _core.Store) -> None:
        self._store = store
        _OPEN.add(self)

    def _view(self) -> _core.View:
        return self._store.view()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the database. Its file then has all commits, and nothing is left beside it. A second call does nothing."""
        self._store.close()
        _OPEN.discard(self)

    @property
    def closed(self) -> bool:
        """Whether calls would raise `ClosedError`."""
        return self._store.closed

    @property
    def path(self) -> str | None:
        """The path; None in memory."""
        path = self._store.path
        return None if path is None else str(path)

    @property
    def read_only(self) -> bool:
        """Whether it was opened read-only."""
        return self._store.read_only

    @property
    def sketcher(self) -> Sketcher:
        """The sketcher of its scheme."""
        return Sketcher._of(self._store.sketcher())

    def snapshot(self) -> Snapshot:
        """A fixed view of the current state.

        >>> import ringerdb as rdb
        >>> db = rdb.memory(features="ids")
        >>> before = db.snapshot()
        >>> db.put("a", set=[1, 2, 3])
        >>> len(before), len(db)
        (0, 1)
        """
        return Snapshot(self._view())

    def put(
        self,
        key: Key,
        *,
        text: str | bytes | None = None,
        set: Any = None,
        weighted: Any = None,
        vector: Any = None,
        signature: bytes | None = None,
        value: str | bytes | None = None,
    ) -> None:
        """Stores a set under a key, durably. What was stored there is replaced.

        ``value`` is up to 64 KiB of bytes that mean something to you, such as a label, a path or JSON. It is stored with the set,
        and replaced or deleted together with it; without it, an earlier value of the key is dropped. A str is stored as UTF-8.

        >>> import ringerdb as rdb
        >>> db = rdb.memory(features="ids")
        >>> db.put("a", set=[1, 2, 3], value="shelf 7")
        >>> db.get("a").value, db.value("a")
        (b'shelf 7', b'shelf 7')
        """
        kind, data = one({"text": text, "set": set, "weighted": weighted, "vector": vector, "signature": signature})
        self._store.put(key, kind, data, value)

    def put_many(
        self,
        keys: Any,
        *,
        texts: Any = None,
        sets: Any = None,
        weighted: Any = None,
        vectors: Any = None,
        signatures: Any = None,
        values: Any = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> int:
        """Stores a column of sets in one durable commit, and returns their number. If a row is refused, none is stored.

        ``values`` is a column of str or bytes, with a value for each key as in `put`. Rows that are null have none.

        >>> import numpy as np, ringerdb as rdb
        >>> db = rdb.memory(features="ids")
        >>> elements, offsets = np.array([1, 2, 3, 4, 5], dtype=np.uint64), np.array([0, 3, 5])
        >>> db.put_many(["a", "b"], sets=(elements, offsets), values=[b"a label", None])
        2
        """
        kind, data = many(
            {"texts": texts, "sets": sets, "weighted": weighted, "vectors": vectors, "signatures": signatures}
        )
        return self._store.put_many(keys, kind, data, values, (threads, progress))

    def delete(self, key: Key) -> bool:
        """Deletes what is stored under a key, durably. Returns whether there was anything."""
        return self._store.delete([key]) == 1

    def delete_many(self, keys: Any) -> int:
        """Deletes keys in one commit, and returns how many of them were stored."""
        return self._store.delete(keys)

    def stat(self) -> Stat:
        """Counts and sizes."""
        return Stat(**self._store.stat())

    def check(self, depth: str = "full", *, progress: Progress | None = None) -> list[Finding]:
        """Checks the file for damage: ``quick``, ``full`` or ``deep``. An empty list means that it is sound.

        Ctrl-C ends the call at once, and the check ends later in a thread of its own, which changes nothing.
        """
        if self.path is None:
            raise InvalidArgument("a database in memory has no file to check")
        return check(self.path, depth, progress=progress)

    def compact(self, *, progress: Progress | None = None) -> None:
        """Merges all segments into one and removes all dead bytes.

        Progress counts the bytes that the process reads and writes, of those that a compaction usually takes. Ctrl-C ends the
        call at once, and the compaction goes on in a thread of its own until it is complete or the database is closed. Either way
        no set is lost.
        """
        self._store.compact((None, progress))

    def checkpoint(self, *, progress: Progress | None = None) -> None:
        """Moves all commits from the write-ahead log into the file.

        Progress and Ctrl-C are as in `compact`.
        """
        self._store.checkpoint((None, progress))

    def refresh(self) -> None:
        """Reads the commits of other processes since the last refresh, if the database is open read-only."""
        self._store.refresh()

    def pack(self, path: Path, *, progress: Progress | None = None) -> None:
        """Writes a compact copy to a new file. This also saves a database in memory.

        Progress is as in `compact`. Ctrl-C ends the call at once. A thread may still be writing the copy then, and removes it.
        """
        self._store.pack(path_of(path), (None, progress))

    def __repr__(self) -> str:
        state = "closed" if self.closed else "read-only" if self.read_only else "open"
        return f"Database({self.path or 'memory'!r}, {state})"


def _threads(threads: int | None) -> int | None:
    return None if threads is None else whole(threads, 1, "threads")


@atexit.register
def _close_all() -> None:
    for database in list(_OPEN):
        try:
            database.close()
        except Error:
            # No commit is lost: the next open recovers them.
            pass


def create(path: Path, *, threads: int | None = None, **options: Unpack[SchemeOptions]) -> Database:
    """Creates a database and opens it. Fails if anything exists at the path.

    The options are those of ``ringer create``: ``preset`` ("near-duplicate" by default, "precise", "weighted", "cosine",
    ...), ``features`` ("text" by default, "text:3", "grams", "chunks", "tokens", "ids", ...), ``seed`` (random by
    default), ``samples``, ``bits``, ``slots``, ``samples_per_slot``, ``value_bits``, ``min_matches``, ``sampler``,
    ``packing``, ``universe``, ``cardinality``, ``keep_sets``.
    """
    return Database(_core.Store.create(path_of(path), scheme_arguments(options), _threads(threads)))


def open(path: Path, *, read_only: bool = False, threads: int | None = None) -> Database:
    """Opens a database. One process can write; any number can open it read-only at the same time."""
    return Database(_core.Store.open(path_of(path), read_only, _threads(threads)))


def memory(*, threads: int | None = None, **options: Unpack[SchemeOptions]) -> Database:
    """Creates a database in memory, with the options of `create`."""
    return Database(_core.Store.memory(scheme_arguments(options), _threads(threads)))


def check(path: Path, depth: str = "full", *, progress: Progress | None = None) -> list[Finding]:
    """Checks the file of a database for damage, without changing it."""
    return [Finding(*found) for found in _core.Store.check_file(path_of(path), depth, (None, progress))]
