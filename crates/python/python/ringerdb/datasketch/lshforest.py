"""An index that finds the sketches that share the longest prefixes with a query: about the k nearest."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np

from .schemes import Array, same_scheme


class MinHashLSHForest:
    """An LSH forest: ``l`` sorted tables of prefixes of the values. Arguments are those of datasketch.

    >>> from ringerdb.datasketch import MinHash
    >>> forest = MinHashLSHForest(num_perm=128)
    >>> for key, sketch in enumerate(MinHash.bulk([[b"a", b"b"], [b"x", b"y"]])):
    ...     forest.add(key, sketch)
    >>> forest.index()
    >>> forest.query(MinHash.bulk([[b"b", b"a"]])[0], 1)
    [0]
    """

    def __init__(self, num_perm: int = 128, l: int = 8) -> None:  # noqa: E741
        if l <= 0 or num_perm <= 0:
            raise ValueError(f"num_perm = {num_perm}, l = {l}: both must be positive")
        if l > num_perm:
            raise ValueError(f"l = {l}: it must be at most num_perm, {num_perm}")
        self.l, self.k = l, num_perm // l
        self.hashtables: list[dict[bytes, list[Hashable]]] = [{} for _ in range(l)]
        self.hashranges = [(i * self.k, (i + 1) * self.k) for i in range(l)]
        self.keys: dict[Hashable, list[bytes]] = {}
        self.sorted_hashtables: list[list[bytes]] = [[] for _ in range(l)]
        self._minhash_scheme: str | None = None

    def _parts(self, sketch: Any) -> list[bytes]:
        """The bytes of each range of values, in an order that makes a prefix of the values a prefix of the bytes."""
        if len(sketch) < self.k * self.l:
            raise ValueError(f"the sketch has {len(sketch)} values; this forest needs {self.k * self.l}")
        return [sketch.hashvalues[start:end].byteswap().tobytes() for start, end in self.hashranges]

    def add(self, key: Hashable, minhash: Any) -> None:
        """Adds a sketch. Queries find it after `index`."""
        parts = self._parts(minhash)
        self._minhash_scheme = same_scheme(self._minhash_scheme, minhash)
        if key in self.keys:
            raise ValueError(f"the key {key!r} was added before")
        self.keys[key] = parts
        for table, part in zip(self.hashtables, parts):
            table.setdefault(part, []).append(key)

    def index(self) -> None:
        """Makes what was added available to queries."""
        self.sorted_hashtables = [sorted(table) for table in self.hashtables]

    def _matches(self, parts: list[bytes], depth: int) -> Iterator[Hashable]:
        """The keys that share a prefix of ``depth`` values with the query."""
        for ordered, table, part in zip(self.sorted_hashtables, self.hashtables, parts):
            prefix = part[: len(part) // self.k * depth]
            for place in range(bisect_left(ordered, prefix), len(ordered)):
                if not ordered[place].startswith(prefix):
                    break
                yield from table[ordered[place]]

    def query(self, minhash: Any, k: int) -> list[Hashable]:
        """About the k most similar keys."""
        if k <= 0:
            raise ValueError(f"k = {k}: it must be positive")
        parts = self._parts(minhash)
        same_scheme(self._minhash_scheme, minhash)
        found: dict[Hashable, None] = {}
        for depth in range(self.k, 0, -1):
            for key in self._matches(parts, depth):
                found[key] = None
                if len(found) >= k:
                    return list(found)
        return list(found)

    def get_minhash_hashvalues(self, key: Hashable) -> Array:
        """The values of a sketch, as many as the forest uses."""
        if key not in self.keys:
            raise KeyError(f"the key {key!r} was not added")
        parts = self.keys[key]
        width, rest = divmod(len(parts[0]), self.k)
        if rest or width not in (4, 8) or any(len(part) != len(parts[0]) for part in parts):
            raise ValueError(f"the values of {key!r} have neither 4 nor 8 bytes each")
        return np.frombuffer(b"".join(parts), dtype=f"=u{width}").byteswap()

    def is_empty(self) -> bool:
        """Whether queries find nothing, because nothing was indexed."""
        return any(not table for table in self.sorted_hashtables)

    def __contains__(self, key: Hashable) -> bool:
        return key in self.keys
