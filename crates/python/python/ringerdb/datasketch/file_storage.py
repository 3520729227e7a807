"""The bands of an index in a database file.

A row has 32 bits of the hash of each band, as two samples of 16 bits. Two samples are a slot, so the slots that a query
matches are its bands. One pair of bands in four billion has the same hash by chance.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, NoReturn

import numpy as np

from ..database import Database, create, open
from ..errors import InvalidArgument, SchemeMismatch
from ..foreign import Source
from .refusals import NotSupported
from .schemes import Array


class FileStorage:
    """A database whose rows are bands."""

    def __init__(self, path: Any, shape: tuple[int, int, int], prepickle: bool) -> None:
        values, bands, rows = shape
        name = f"MinHashLSH of {values} values in {bands} bands of {rows}"
        self.source = Source(name, samples=2 * bands, bits=16, slots=bands, samples_per_slot=2)
        self.bands, self.prepickle = bands, prepickle
        self.db: Database = open(path) if os.path.exists(path) else create(path, **self.source.options)
        if self.db.sketcher != self.source.sketcher:
            self.db.close()
            raise SchemeMismatch(f"{os.fsdecode(path)} is not an index of {name}: give its num_perm and threshold or params")
        # Bands of keys to store, and None for keys to remove.
        self._waiting: dict[bytes, Array | None] = {}

    def _stored(self, key: Hashable) -> bytes:
        """A key as bytes. They begin with a letter for its type, so that it comes back as it was."""
        if self.prepickle:
            return pickle.dumps(key)
        if isinstance(key, str):
            return b"s" + key.encode()
        if isinstance(key, bytes):
            return b"b" + key
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
            return b"i" + str(int(key)).encode()
        kind = type(key).__name__
        raise NotSupported(f"the key {key!r} is {kind}: a file takes str, bytes and int, and others with prepickle=True")

    def _given(self, stored: str | bytes) -> Hashable:
        data = stored.encode() if isinstance(stored, str) else stored
        if self.prepickle:
            # The caller asked for pickles, and trusts the file.
            key: Hashable = pickle.loads(data)
            return key
        kind, rest = data[:1], data[1:]
        if kind == b"s":
            return rest.decode()
        if kind == b"i":
            return int(rest)
        if kind != b"b":
            raise InvalidArgument(f"the key {data!r} was not stored in this way: give the prepickle of its index")
        return rest

    def insert(self, key: Hashable, bands: list[bytes]) -> None:
        """Buffers the bands of a key."""
        self._waiting[self._stored(key)] = _samples(bands)

    def remove(self, key: Hashable) -> None:
        """Buffers the removal of a key."""
        self._waiting[self._stored(key)] = None

    def flush(self) -> None:
        """Stores what is buffered: puts in one commit, and removals in another."""
        puts = {key: samples for key, samples in self._waiting.items() if samples is not None}
        removed = [key for key, samples in self._waiting.items() if samples is None]
        if puts:
            self.db.put_many(list(puts), signatures=self.source.sketcher.from_samples(np.array(list(puts.values()))))
        if removed:
            self.db.delete_many(removed)
        self._waiting.clear()

    def contains(self, key: Hashable) -> bool:
        """Whether a key is stored or buffered."""
        stored = self._stored(key)
        return self._waiting[stored] is not None if stored in self._waiting else stored in self.db

    def candidates(self, bands: list[bytes]) -> set[Hashable]:
        """The keys that have one of the bands in common."""
        self.flush()
        wanted = np.zeros(2 * self.bands, dtype=np.uint64)
        wanted[: 2 * len(bands)] = _samples(bands)
        signature = self.source.sketcher.from_samples(wanted[np.newaxis])[0]
        found = [match.key for match in self.db.query(signature=signature, top=None, min_matches=1)]
        return {self._given(key) for key in found}

    def merge(self, other: Any) -> None:
        """Adds all keys of another storage of this kind."""
        other.flush()
        for key, samples in other._rows(other.db.keys()):
            self._waiting[self._stored(other._given(key))] = samples
        self.flush()

    def _rows(self, keys: Iterable[str | bytes]) -> Iterator[tuple[str | bytes, Array]]:
        for key in keys:
            stored = self.db.get(key)
            if stored is not None:
                yield key, self.source.sketcher.sample_values([stored.signature])[0]

    def all_keys(self) -> set[Hashable]:
        """All keys."""
        self.flush()
        return {self._given(key) for key in self.db.keys()}

    def is_empty(self) -> bool:
        """Whether there are no keys."""
        self.flush()
        return len(self.db) == 0

    def counts(self, keys: Iterable[Hashable] | None) -> list[dict[Hashable, int]]:
        """How many of the keys have each value of each band."""
        self.flush()
        found: list[dict[Hashable, int]] = [{} for _ in range(self.bands)]
        stored = self.db.keys() if keys is None else map(self._stored, set(keys))
        for _, samples in self._rows(stored):
            for count, low, high in zip(found, samples[::2].tolist(), samples[1::2].tolist()):
                band = low | high << 16
                count[band] = count.get(band, 0) + 1
        return found

    def close(self) -> None:
        """Stores what is buffered, and closes the file."""
        if not self.db.closed:
            self.flush()
            self.db.close()

    def __reduce__(self) -> NoReturn:
        raise NotSupported("an index in a file cannot be pickled: open its file in the other process")


def _samples(bands: list[bytes]) -> Array:
    """32 bits of the hash of each band, in two samples."""
    halves = b"".join(hashlib.blake2b(band, digest_size=4).digest() for band in bands)
    return np.frombuffer(halves, dtype="<u2").astype(np.uint64)
