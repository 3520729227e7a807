"""The bands of an index in memory."""

from __future__ import annotations

import pickle
from collections.abc import Hashable, Iterable
from typing import Any

#: The keys of each value of a band.
Table = dict[bytes, set[Hashable]]


class MemoryStorage:
    """A table for each band, and the bands of each key."""

    def __init__(self, bands: int, prepickle: bool) -> None:
        self.tables: list[Table] = [{} for _ in range(bands)]
        self.keys: dict[Hashable, list[bytes]] = {}
        self.prepickle = prepickle

    def _stored(self, key: Hashable) -> Hashable:
        return pickle.dumps(key) if self.prepickle else key

    def _given(self, keys: Iterable[Any]) -> set[Hashable]:
        return {pickle.loads(key) for key in keys} if self.prepickle else set(keys)

    def insert(self, key: Hashable, bands: list[bytes]) -> None:
        """Stores the bands of a key."""
        self._put(self._stored(key), bands)

    def _put(self, stored: Hashable, bands: list[bytes]) -> None:
        if stored in self.keys:
            self._drop(stored)
        self.keys[stored] = bands
        for table, band in zip(self.tables, bands):
            table.setdefault(band, set()).add(stored)

    def remove(self, key: Hashable) -> None:
        """Removes a key."""
        self._drop(self._stored(key))

    def _drop(self, stored: Hashable) -> None:
        for table, band in zip(self.tables, self.keys.pop(stored)):
            keys = table.get(band, set())
            keys.discard(stored)
            if not keys:
                table.pop(band, None)

    def contains(self, key: Hashable) -> bool:
        """Whether a key is stored."""
        return self._stored(key) in self.keys

    def candidates(self, bands: list[bytes]) -> set[Hashable]:
        """The keys that have one of the first bands in common."""
        found: set[Hashable] = set()
        for table, band in zip(self.tables, bands):
            found.update(table.get(band, ()))
        return self._given(found) if self.prepickle else found

    def merge(self, other: Any) -> None:
        """Adds all keys of another storage of this kind."""
        for stored, bands in other.keys.items():
            self._put(stored, bands)

    def all_keys(self) -> set[Hashable]:
        """All keys."""
        return self._given(self.keys)

    def is_empty(self) -> bool:
        """Whether there are no keys."""
        return not self.keys

    def counts(self, keys: Iterable[Hashable] | None) -> list[dict[Hashable, int]]:
        """How many of the keys have each value of each band."""
        if keys is None:
            return [{band: len(stored) for band, stored in table.items()} for table in self.tables]
        found: list[dict[Hashable, int]] = [{} for _ in self.tables]
        for key in set(keys):
            for count, band in zip(found, self.keys.get(self._stored(key), [])):
                count[band] = count.get(band, 0) + 1
        return found

    def flush(self) -> None:
        """Nothing is buffered."""
