"""An index of sketches: queries find those that have all values of a band in common.

Without a storage configuration, bands are in memory. With ``{"type": "file", "path": ..}`` they are in a database file, which
takes the place of Redis.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .banding import check_weights, for_resemblance
from .file_storage import FileStorage
from .memory_storage import MemoryStorage, Table
from .refusals import NotSupported
from .schemes import same_scheme

if TYPE_CHECKING:
    from typing_extensions import Self

#: Operations that a session keeps before it stores them.
_BUFFER = 50_000


class MinHashLSH:
    """An index that finds sketches with a resemblance of about ``threshold`` or more. Arguments are those of datasketch.

    >>> from ringerdb.datasketch import MinHash
    >>> index = MinHashLSH(threshold=0.9, num_perm=128)
    >>> index.b, index.r
    (5, 25)
    """

    def __init__(
        self,
        threshold: float = 0.9,
        num_perm: int = 128,
        weights: tuple[float, float] = (0.5, 0.5),
        params: tuple[int, int] | None = None,
        storage_config: dict[str, Any] | None = None,
        prepickle: bool | None = None,
        hashfunc: Callable[[bytes], bytes] | None = None,
    ) -> None:
        check_weights(threshold, num_perm, weights)
        self.h = num_perm
        self.b, self.r = params if params is not None else for_resemblance(threshold, num_perm, *map(float, weights))
        if self.b * self.r > num_perm:
            raise ValueError(f"params: {self.b} * {self.r} = {self.b * self.r} values, but num_perm is {num_perm}")
        if self.b < 2:
            raise ValueError(f"{self.b} bands are too few: there must be at least 2")
        self.hashfunc, self.prepickle = hashfunc, bool(prepickle)
        self.hashranges = [(i * self.r, (i + 1) * self.r) for i in range(self.b)]
        self.buffer_size = _BUFFER
        self._minhash_scheme: str | None = None
        self._buffered: list[Any] = []
        config = storage_config or {"type": "dict"}
        self._storage: MemoryStorage | FileStorage
        if config["type"] == "dict":
            self._storage = MemoryStorage(self.b, self.prepickle)
        elif config["type"] == "file":
            if "path" not in config:
                raise ValueError('storage_config has no path: give {"type": "file", "path": "index.ringer"}')
            self._storage = FileStorage(config["path"], (self.h, self.b, self.r), self.prepickle)
        else:
            raise NotSupported(
                f"storage of type {config['type']!r}: this package stores an index in memory, or in one file with "
                'storage_config={"type": "file", "path": "index.ringer"}'
            )

    @property
    def hashtables(self) -> list[Table]:
        """The tables of an index in memory: the keys of each value of each band."""
        return self._in_memory().tables

    @property
    def keys(self) -> dict[Hashable, list[bytes]]:
        """The values of the bands of each key, for an index in memory."""
        return self._in_memory().keys

    def _in_memory(self) -> MemoryStorage:
        if isinstance(self._storage, FileStorage):
            raise NotSupported("an index in a file has no tables in memory; use query, `in`, get_counts and remove")
        return self._storage

    def _bands(self, sketch: Any) -> list[bytes]:
        """The bytes of each band, from the highest to the lowest of a value, so that they sort as the values do."""
        if len(sketch) != self.h:
            raise ValueError(f"the sketch has {len(sketch)} values; this index takes {self.h}")
        values = sketch.hashvalues
        data, row = values.byteswap().tobytes(), values.nbytes // len(values) * self.r
        bands = [data[i * row : (i + 1) * row] for i in range(self.b)]
        return bands if self.hashfunc is None else list(map(self.hashfunc, bands))

    def insert(self, key: Hashable, minhash: Any, check_duplication: bool = True) -> None:
        """Stores a sketch under a key. A key that is there already is refused."""
        self._insert(key, minhash, check_duplication)
        self._storage.flush()

    def _insert(self, key: Hashable, minhash: Any, check_duplication: bool = True) -> None:
        bands = self._bands(minhash)
        self._minhash_scheme = same_scheme(self._minhash_scheme, minhash)
        if check_duplication and key in self:
            raise ValueError(f"the key {key!r} is in the index already")
        self._storage.insert(key, bands)

    def insertion_session(self, buffer_size: int = _BUFFER) -> MinHashLSHInsertionSession:
        """A context manager for many insertions. An index in a file stores them in one commit for each ``buffer_size``."""
        return MinHashLSHInsertionSession(self, buffer_size)

    def deletion_session(self, buffer_size: int = _BUFFER) -> MinHashLSHDeletionSession:
        """A context manager for many removals."""
        return MinHashLSHDeletionSession(self, buffer_size)

    def merge(self, other: MinHashLSH, check_overlap: bool = False) -> None:
        """Adds all keys of another index with the same bands."""
        if type(self) is not type(other) or (self.h, self.b, self.r) != (other.h, other.b, other.r):
            raise ValueError("the indexes have different parameters, and cannot be merged")
        if isinstance(other._storage, FileStorage) != isinstance(self._storage, FileStorage):
            raise NotSupported(
                "a file has 32 bits of each band, so its bands cannot be merged with those in memory; insert the sketches"
            )
        if None not in (self._minhash_scheme, other._minhash_scheme) and self._minhash_scheme != other._minhash_scheme:
            raise ValueError(f"the schemes {self._minhash_scheme!r} and {other._minhash_scheme!r} cannot be merged")
        if check_overlap and any(key in self for key in other._storage.all_keys()):
            raise ValueError("a key is in both indexes")
        self._minhash_scheme = self._minhash_scheme or other._minhash_scheme
        self._storage.merge(other._storage)

    def query(self, minhash: Any) -> list[Hashable]:
        """The keys of the sketches that have a band in common with this one."""
        return list(self._query_b(minhash, self.b))

    def _query_b(self, minhash: Any, b: int) -> set[Hashable]:
        """The same for the first b bands."""
        if b > self.b:
            raise ValueError(f"b = {b}: the index has {self.b} bands")
        bands = self._bands(minhash)[:b]
        same_scheme(self._minhash_scheme, minhash)
        return self._storage.candidates(bands)

    def add_to_query_buffer(self, minhash: Any) -> None:
        """Keeps a query for `collect_query_buffer`."""
        same_scheme(self._minhash_scheme, minhash)
        self._buffered.append(self._bands(minhash))

    def collect_query_buffer(self) -> list[Hashable]:
        """The keys that match all buffered queries. The buffer is then empty."""
        found = [self._storage.candidates(bands) for bands in self._buffered]
        self._buffered = []
        return list(set.intersection(*found)) if found else []

    def __contains__(self, key: Hashable) -> bool:
        return self._storage.contains(key)

    def remove(self, key: Hashable) -> None:
        """Removes a key. It must be there."""
        self._remove(key)
        self._storage.flush()

    def _remove(self, key: Hashable) -> None:
        if key not in self:
            raise ValueError(f"the key {key!r} is not in the index")
        self._storage.remove(key)

    def is_empty(self) -> bool:
        """Whether there are no keys."""
        return self._storage.is_empty()

    def get_counts(self) -> list[dict[Hashable, int]]:
        """How many keys have each value of each band."""
        return self._storage.counts(None)

    def get_subset_counts(self, *keys: Hashable) -> list[dict[Hashable, int]]:
        """The same for some of the keys."""
        return self._storage.counts(keys)

    def close(self) -> None:
        """Closes the file of the index. An index in memory stays as it is."""
        if isinstance(self._storage, FileStorage):
            self._storage.close()


class _Session:
    def __init__(self, lsh: MinHashLSH, buffer_size: int) -> None:
        self.lsh = lsh
        self.lsh.buffer_size = buffer_size
        self._waiting = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stores what is buffered."""
        self.lsh._storage.flush()
        self._waiting = 0

    def _count(self) -> None:
        self._waiting += 1
        if self._waiting >= self.lsh.buffer_size:
            self.close()


class MinHashLSHInsertionSession(_Session):
    """Inserts many sketches."""

    def insert(self, key: Hashable, minhash: Any, check_duplication: bool = True) -> None:
        """Stores a sketch under a key, at the latest when the session is closed."""
        self.lsh._insert(key, minhash, check_duplication)
        self._count()


class MinHashLSHDeletionSession(_Session):
    """Removes many keys."""

    def remove(self, key: Hashable) -> None:
        """Removes a key, at the latest when the session is closed."""
        self.lsh._remove(key)
        self._count()

