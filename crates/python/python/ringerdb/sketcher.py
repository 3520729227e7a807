"""Sketches without a database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._arguments import Progress, SchemeOptions, many, scheme_arguments
from .errors import InvalidArgument

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Sketcher:
    """Turns texts and sets into signatures, and compares signatures. The options are those of `create`.

    A sketcher can be pickled, so it works in other processes. Signatures are comparable if their sketchers are equal:
    give a ``seed`` if sketchers are made in several places.

    >>> import ringerdb as rdb
    >>> sketcher = rdb.Sketcher(seed=1)
    >>> signatures = sketcher.signatures(["never put off till tomorrow", "Never put off till tomorrow!", None])
    >>> signatures.to_numpy().shape
    (3, 66)
    >>> sketcher.matrix(signatures, signatures)[0]
    array([ 1.,  1., nan])
    """

    __slots__ = ("_core",)

    def __init__(self, **options: Unpack[SchemeOptions]) -> None:
        self._core = _core.Sketcher(scheme_arguments(options))

    @classmethod
    def _of(cls, core: _core.Sketcher) -> Sketcher:
        sketcher = cls.__new__(cls)
        sketcher._core = core
        return sketcher

    @classmethod
    def from_scheme(cls, scheme: bytes) -> Sketcher:
        """The sketcher of a scheme, given by its 48 bytes."""
        return cls._of(_core.Sketcher.from_scheme(scheme))

    @property
    def scheme(self) -> bytes:
        """The 48 bytes of the scheme, as a database stores them."""
        return self._core.scheme_bytes()

    @property
    def samples(self) -> int:
        """The number of samples of a signature, k."""
        return self._core.shape()[0]

    @property
    def bits(self) -> int:
        """The bits of a sample, b."""
        return self._core.shape()[1]

    @property
    def slot_count(self) -> int:
        """The number of slots of a signature."""
        return self._core.shape()[2]

    @property
    def width(self) -> int:
        """The bytes of a signature."""
        return self._core.shape()[3]

    @property
    def seed(self) -> int:
        """The seed of all hash functions."""
        return self._core.shape()[4]

    def signatures(
        self,
        texts: Any = None,
        *,
        sets: Any = None,
        weighted: Any = None,
        vectors: Any = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> _core.Signatures:
        """The signatures of a column. Rows that are null have null signatures."""
        kind, data = many({"texts": texts, "sets": sets, "weighted": weighted, "vectors": vectors})
        return self._core.signatures(kind, data, (threads, progress))

    def features(self, text: str | bytes) -> np.ndarray[Any, np.dtype[np.uint64]]:
        """The set of a text: the hashes of its shingles or whatever the scheme extracts, ascending."""
        return self._core.features(text)

    def from_samples(
        self, samples: Any, *, empty: Any = None, threads: int | None = None, progress: Progress | None = None
    ) -> _core.Signatures:
        """Signatures of samples that another program made: a matrix with a row for each set. See `ringerdb.foreign`.

        Rows that are ``empty`` stand for the empty set. The scheme must have no cardinality: a size does not follow from samples.

        >>> import numpy as np, ringerdb as rdb
        >>> sketcher = rdb.Sketcher(features="ids", preset="precise", cardinality="none", seed=1)
        >>> samples = np.arange(256).reshape(2, 128) % 16
        >>> (sketcher.sample_values(sketcher.from_samples(samples)) == samples).all()
        np.True_
        """
        values = np.asarray(samples)
        if values.ndim != 2 or values.dtype.kind not in "iu" or (values.size and values.min() < 0):
            kind = f"{values.ndim}-dimensional {values.dtype}"
            raise InvalidArgument(f"samples are a matrix of integers from 0 on, not {kind}")
        marks = np.zeros(len(values), dtype=bool) if empty is None else np.asarray(empty, dtype=bool)
        return self._core.pack_samples(np.ascontiguousarray(values, dtype=np.uint64), marks, (threads, progress))

    def slots(
        self, signatures: Any, *, threads: int | None = None, progress: Progress | None = None
    ) -> np.ndarray[Any, np.dtype[np.uint64]]:
        """The slot values of signatures, a row for each. Similar sets have equal values in some slots."""
        return self._core.slots(many({"signatures": signatures})[1], (threads, progress))

    def sample_values(
        self, signatures: Any, *, threads: int | None = None, progress: Progress | None = None
    ) -> np.ndarray[Any, np.dtype[np.uint64]]:
        """The samples of signatures, a row for each."""
        return self._core.samples(many({"signatures": signatures})[1], (threads, progress))

    def compare(
        self, a: Any, b: Any, *, threads: int | None = None, progress: Progress | None = None
    ) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The similarity of row i of one column of signatures with row i of another. NaN if it is not defined."""
        left, right = (many({"signatures": side})[1] for side in (a, b))
        return self._core.compare(left, right, (threads, progress))

    def matrix(
        self, a: Any, b: Any, *, threads: int | None = None, progress: Progress | None = None
    ) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The similarity of every row of one column of signatures with every row of another."""
        left, right = (many({"signatures": side})[1] for side in (a, b))
        return self._core.matrix(left, right, (threads, progress))

    def to_csr(self, signatures: Any) -> Any:
        """Signatures as sparse features for linear models: a ``scipy.sparse.csr_array`` with a one for each sample.

        Sample j with value v is column ``j * 2**bits + v``. Rows of empty sets and of null are all zeros. The product of
        two rows is the number of their equal samples.
        """
        from scipy.sparse import csr_array

        data = many({"signatures": signatures})[1]
        values, there = self._core.samples(data, (None, None)), self._core.are_sets(data)
        rows, samples = values.shape
        columns = values.astype(np.int64) + (np.arange(samples, dtype=np.int64) << self.bits)
        starts = np.concatenate([[0], np.cumsum(there * samples)])
        columns = columns[there].reshape(-1)
        ones = np.ones(len(columns), dtype=np.float32)
        return csr_array((ones, columns, starts), shape=(rows, samples << self.bits))

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        return Sketcher.from_scheme, (self.scheme,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sketcher) and self.scheme == other.scheme

    def __hash__(self) -> int:
        return hash(self.scheme)

    def __repr__(self) -> str:
        return f"Sketcher({self._core.scheme()[0]})"
