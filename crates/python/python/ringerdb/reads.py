"""What a database and a snapshot have in common: everything that only reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._arguments import Key, Progress, many, one, whole
from .errors import InvalidArgument
from .rows import Rows

#: Keys that are read at a time.
_PAGE = 4096

#: Bytes that pairs, clusters and triples may take, without the page cache.
MEMORY = 1 << 30

#: Rows that pairs, clusters and triples may have.
LIMIT = 50_000_000


class Stored(NamedTuple):
    """What is stored under a key."""

    #: The commit that stored it.
    sequence: int
    #: The bytes of its signature.
    signature: bytes
    #: The number of its elements, as exact as the scheme keeps it.
    size: float | None
    #: Its elements, if the scheme keeps sets.
    elements: np.ndarray[Any, np.dtype[np.uint64]] | None
    #: The value that was stored with it.
    value: bytes | None


class Reads:
    """Reads and questions. `Database` answers them for its current state, `Snapshot` for a fixed one."""

    __slots__ = ()

    def _view(self) -> _core.View:
        raise NotImplementedError

    def __len__(self) -> int:
        return self._view().len()

    def __contains__(self, key: object) -> bool:
        return isinstance(key, (str, bytes)) and self._view().contains(key)

    def get(self, key: Key) -> Stored | None:
        """What is stored under a key, or None.

        >>> import ringerdb as rdb
        >>> db = rdb.memory(features="ids", keep_sets=True)
        >>> db.put("a", set=[3, 1, 2])
        >>> db.get("a").elements
        array([1, 2, 3], dtype=uint64)
        >>> db.get("b") is None
        True
        """
        stored = self._view().get(key)
        return None if stored is None else Stored(*stored)

    def value(self, key: Key) -> bytes | None:
        """The value that was stored with a key; None if there is no such key, or if it has none. It reads no set.

        >>> import ringerdb as rdb
        >>> db = rdb.memory(features="ids")
        >>> db.put("a", set=[1, 2, 3], value=b"a label")
        >>> db.value("a"), db.value("b")
        (b'a label', None)
        """
        return self._view().value(key)

    def keys(self, prefix: Key = "") -> Iterator[Key]:
        """The keys that start with a prefix, in the order of their bytes.

        >>> import ringerdb as rdb
        >>> db = rdb.memory(features="ids")
        >>> db.put_many(["n/1", "m/1", "n/0"], sets=[[1], [2], [3]])
        3
        >>> list(db.keys(prefix="n/"))
        ['n/0', 'n/1']
        """
        view, after = self._view(), None
        while page := view.keys(prefix, after, _PAGE):
            yield from page
            after = page[-1]

    def __iter__(self) -> Iterator[Key]:
        return self.keys()

    def query(
        self,
        *,
        text: str | bytes | None = None,
        set: Any = None,
        weighted: Any = None,
        vector: Any = None,
        key: Key | None = None,
        signature: bytes | None = None,
        top: int | None = 10,
        min: float | None = None,
        min_matches: int | None = None,
        exhaustive: bool = False,
        within_one_bit: bool = False,
        accept: str = "estimate",
        values: bool = False,
    ) -> list[_core.Match]:
        """The stored sets that are similar to a text, a set, a vector, a stored set or a signature; the best first.

        ``top`` is the most matches, None for all; ``min`` the least similarity. ``exhaustive`` compares all sets, also
        those that the index does not bring. ``accept`` says what must reach ``min``: the ``estimate``, or for
        ``possible`` and ``certain`` the upper or lower end of its 99.9 % interval. With ``values``, each match has the value
        that was stored with its key, as ``match.value``; otherwise values are not read.

        >>> import ringerdb as rdb
        >>> db = rdb.memory(seed=1)
        >>> db.put("a", text="Never put off till tomorrow what you can do today.")
        >>> [match] = db.query(text="never put off till tomorrow what you can do", min=0.2)
        >>> match.key
        'a'
        >>> match.similarity.low <= match.similarity.value <= match.similarity.high
        True
        >>> db.put("b", text="A stitch in time saves nine.", value="shelf 7")
        >>> [match.value for match in db.query(text="A stitch in time saves nine.", values=True)]
        [b'shelf 7']
        """
        kind, data = one(
            {"text": text, "set": set, "weighted": weighted, "vector": vector, "key": key, "signature": signature}
        )
        conditions = _conditions(top, min, min_matches, exhaustive, within_one_bit, accept, values)
        return self._view().query(kind, data, conditions)

    def query_many(
        self,
        *,
        texts: Any = None,
        sets: Any = None,
        weighted: Any = None,
        vectors: Any = None,
        signatures: Any = None,
        top: int | None = 10,
        min: float | None = None,
        min_matches: int | None = None,
        exhaustive: bool = False,
        within_one_bit: bool = False,
        accept: str = "estimate",
        values: bool = False,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Rows:
        """The matches of many queries: `query` for each row of a column. Rows that are null have no matches.

        With ``values``, the table has a column ``value`` of what was stored with the keys.

        >>> import ringerdb as rdb
        >>> db = rdb.memory(features="ids", seed=1)
        >>> db.put("a", set=range(100))
        >>> [(row.query, row.key) for row in db.query_many(sets=[range(900, 999), range(100)])]
        [(1, 'a')]
        """
        kind, data = many(
            {"texts": texts, "sets": sets, "weighted": weighted, "vectors": vectors, "signatures": signatures}
        )
        conditions = _conditions(top, min, min_matches, exhaustive, within_one_bit, accept, values)
        return Rows(self._view().query_many(kind, data, conditions, (threads, progress)))

    def estimate(self, *keys: Key) -> Any:
        """Compares stored sets: a `Comparison` of two, or the resemblance of more, an `Estimate`.

        >>> import ringerdb as rdb
        >>> db = rdb.memory(features="ids", keep_sets=True)
        >>> db.put_many(["a", "b"], sets=[range(0, 90), range(10, 100)])
        2
        >>> both = db.estimate("a", "b")
        >>> both.resemblance.value, both.intersection.value, both.is_exact
        (0.8, 80.0, True)
        """
        if len(keys) < 2:
            raise InvalidArgument("give two keys or more")
        view = self._view()
        return view.compare(*keys) if len(keys) == 2 else view.resemblance(list(keys))

    def pairs(
        self,
        min: float,
        *,
        min_matches: int | None = None,
        exhaustive: bool = False,
        accept: str = "estimate",
        values: bool = False,
        memory: int = MEMORY,
        limit: int = LIMIT,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Rows:
        """All pairs of sets whose similarity is at least ``min``. Each pair comes once, with the smaller key first.

        They are in the order of their keys, except that sets with equal signatures come together.
        100,000 equal sets make five billion pairs. More than ``limit`` pairs raise `OverLimit`; use `clusters` then.
        With ``values``, the table has columns ``a_value`` and ``b_value``; they may take up to ``memory`` bytes, too.

        >>> import ringerdb as rdb
        >>> db = rdb.memory(features="ids", seed=1)
        >>> db.put_many(["a", "b"], sets=[[1, 2], [1, 2]], values=["first", None])
        2
        >>> [(row.a, row.b, row.a_value, row.b_value) for row in db.pairs(0.8, values=True)]
        [('a', 'b', b'first', None)]
        """
        conditions = _pair_conditions(min, min_matches, exhaustive, accept, memory, limit, values)
        return Rows(self._view().pairs(conditions, (threads, progress)))

    def clusters(
        self,
        min: float,
        *,
        linkage: str = "connected",
        min_matches: int | None = None,
        exhaustive: bool = False,
        accept: str = "estimate",
        memory: int = MEMORY,
        limit: int = LIMIT,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Rows:
        """Groups of similar sets: a row for each member, with the group's number and its smallest key.

        ``connected`` groups follow chains of pairs. In ``strict`` groups, every member is similar to the representative.

        >>> import ringerdb as rdb
        >>> db = rdb.memory(features="tokens", seed=1)
        >>> db.put_many(["a", "b", "c"], sets=[["bread", "milk"], ["bread", "milk"], ["nails"]])
        3
        >>> [tuple(row) for row in db.clusters(min=0.8)]
        [('a', 1, 'a', 1.0), ('b', 1, 'a', 1.0)]
        """
        conditions = _pair_conditions(min, min_matches, exhaustive, accept, memory, limit)
        return Rows(self._view().clusters(conditions, linkage, (threads, progress)))

    def triples(
        self,
        min: float,
        *,
        min_matches: int | None = None,
        exhaustive: bool = False,
        accept: str = "estimate",
        memory: int = MEMORY,
        limit: int = LIMIT,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Rows:
        """All triples of sets whose three-way resemblance is at least ``min``. Equal signatures count as one set."""
        conditions = _pair_conditions(min, min_matches, exhaustive, accept, memory, limit)
        return Rows(self._view().triples(conditions, (threads, progress)))


def _conditions(
    top: int | None,
    min: float | None,
    min_matches: int | None,
    exhaustive: bool,
    within_one_bit: bool,
    accept: str,
    values: bool,
) -> dict[str, object]:
    return {
        "top": (1 << 63) - 1 if top is None else whole(top, 0, "top"),
        "min": None if min is None else float(min),
        "min_matches": None if min_matches is None else whole(min_matches, 0, "min_matches"),
        "exhaustive": exhaustive,
        "within_one_bit": within_one_bit,
        "accept": _accept(accept),
        "values": bool(values),
    }


def _pair_conditions(
    min: float,
    min_matches: int | None,
    exhaustive: bool,
    accept: str,
    memory: int,
    limit: int,
    values: bool = False,
) -> dict[str, object]:
    return {
        "min": float(min),
        "min_matches": None if min_matches is None else whole(min_matches, 0, "min_matches"),
        "exhaustive": exhaustive,
        "accept": _accept(accept),
        "memory": whole(memory, 1, "memory"),
        "limit": whole(limit, 0, "limit"),
        "values": bool(values),
    }


def _accept(name: str) -> str:
    if name not in ("estimate", "possible", "certain"):
        raise InvalidArgument(f"accept `{name}`: choose one of estimate, possible, certain")
    return name
