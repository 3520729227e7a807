"""MinHash with values of full width: it can be updated, merged and counted."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from .hashfunc import sha1_hash32, sha1_hash64
from .schemes import AFFINE64, LEGACY, Array, Scheme, named, permutations as made_permutations

if TYPE_CHECKING:
    from typing_extensions import Self

#: The most permutations.
_MOST = 1 << 32


class MinHash:
    """The least hash values of a set under ``num_perm`` permutations. Arguments are those of datasketch.

    >>> a, b = MinHash(num_perm=128), MinHash(num_perm=128)
    >>> a.update_batch([b"bread", b"milk", b"beer"])
    >>> b.update_batch([b"bread", b"milk", b"beer"])
    >>> a.jaccard(b)
    1.0
    """

    def __init__(
        self,
        num_perm: int = 128,
        seed: int = 1,
        gpu_mode: str = "disable",
        hashfunc: Callable[[Any], int] | None = None,
        hashobj: object | None = None,
        hashvalues: Any = None,
        permutations: Any = None,
        scheme: str | None = None,
    ) -> None:
        if scheme is None:
            if hashvalues is not None or permutations is not None:
                raise ValueError(
                    "scheme must be given with hashvalues or permutations: that of the MinHash that made them, or "
                    "'legacy' if it was made before datasketch 2.0"
                )
            scheme = "affine32"
        kind = named(scheme)
        if hashvalues is not None:
            num_perm = len(hashvalues)
        if not 1 <= num_perm <= _MOST:
            raise ValueError(f"num_perm = {num_perm}: it must be 1 to {_MOST}")
        if hashfunc is None:
            hashfunc = sha1_hash64 if kind is AFFINE64 else sha1_hash32
        if not callable(hashfunc):
            raise ValueError(f"hashfunc is {type(hashfunc).__name__}; it must be callable")
        if hashobj is not None:
            warnings.warn("hashobj is deprecated, use hashfunc instead.", DeprecationWarning, stacklevel=2)
        self.scheme, self.seed, self.num_perm, self.hashfunc = scheme, seed, num_perm, hashfunc
        self._gpu_mode = gpu_mode
        self.hashvalues: Array = kind.empty(num_perm) if hashvalues is None else _values(kind, hashvalues)
        self.permutations: Array
        if permutations is None:
            self.permutations = made_permutations(scheme, seed, num_perm)
        else:
            self.permutations = _permutations(kind, permutations)
        if len(self.permutations[0]) != num_perm:
            raise ValueError(f"there are {num_perm} hash values and {len(self.permutations[0])} permutations")

    @property
    def _kind(self) -> Scheme:
        return named(self.scheme)

    def update(self, b: Any) -> None:
        """Adds one element to the set. By default, it is bytes."""
        self._add([self.hashfunc(b)])

    def update_batch(self, b: Iterable[Any]) -> None:
        """Adds elements to the set. It is faster than one call for each."""
        hashes = [self.hashfunc(element) for element in b]
        if hashes and self._gpu_mode == "always":
            raise RuntimeError("gpu_mode='always': this package does not use GPUs; leave it out")
        if hashes:
            self._add(hashes)

    def _add(self, hashes: list[int]) -> None:
        self.hashvalues = np.minimum(self._kind.least(hashes, self.permutations), self.hashvalues)

    def jaccard(self, other: MinHash) -> float:
        """The share of equal values, which estimates the resemblance."""
        self._check(other, "compare")
        return float(np.count_nonzero(self.hashvalues == other.hashvalues)) / float(len(self))

    def count(self) -> float:
        """An estimate of the number of elements."""
        return float(len(self) / np.sum(self.hashvalues / float(self._kind.largest)) - 1.0)

    def merge(self, other: MinHash) -> None:
        """Adds the elements of another set."""
        self._check(other, "merge")
        self.hashvalues = np.minimum(other.hashvalues, self.hashvalues)

    def _check(self, other: MinHash, what: str) -> None:
        _check_alike([self, other], what)

    def digest(self) -> Array:
        """A copy of the values."""
        return self.hashvalues.copy()

    def is_empty(self) -> bool:
        """Whether nothing was added."""
        return not np.any(self.hashvalues != self._kind.largest)

    def clear(self) -> None:
        """Removes all elements."""
        self.hashvalues = self._kind.empty(len(self))

    def copy(self) -> MinHash:
        """A sketch of the same set, which changes on its own."""
        return self._like(self.digest())

    def _like(self, values: Array) -> MinHash:
        """A sketch with the arguments of this one and other values. They are of the right type, so nothing is checked."""
        other = MinHash.__new__(MinHash)
        other.__dict__.update(self.__dict__, hashvalues=values)
        return other

    @classmethod
    def union(cls, *mhs: MinHash) -> MinHash:
        """The sketch of the union of two sets or more.

        >>> union = MinHash.union(*MinHash.bulk([[b"a"], [b"b"]]))
        >>> union == MinHash.bulk([[b"a", b"b"]])[0]
        True
        """
        _check_alike(mhs, "unite")
        return mhs[0]._like(np.minimum.reduce([sketch.hashvalues for sketch in mhs]))

    @classmethod
    def bulk(cls, b: Iterable[Iterable[Any]], **minhash_kwargs: Any) -> list[MinHash]:
        """The sketches of many sets."""
        return list(cls.generator(b, **minhash_kwargs))

    @classmethod
    def generator(cls, b: Iterable[Iterable[Any]], **minhash_kwargs: Any) -> Generator[MinHash, None, None]:
        """The sketches of many sets, one after the other."""
        empty = cls(**minhash_kwargs)
        for elements in b:
            sketch = empty.copy()
            sketch.update_batch(elements)
            yield sketch

    def __len__(self) -> int:
        return len(self.hashvalues)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, MinHash)
            and type(self) is type(other)
            and (self.scheme, self.seed) == (other.scheme, other.seed)
            and np.array_equal(self.hashvalues, other.hashvalues)
        )

    # Sketches change, so they have no hash. `LeanMinHash` has one.
    __hash__ = None  # type: ignore[assignment]

    def __setstate__(self, state: Any) -> Self | None:
        # Sketches that datasketch pickled before version 2.0 do not name their scheme.
        state.setdefault("scheme", LEGACY.name)
        self.__dict__.update(state)
        return None


def _check_alike(sketches: Any, what: str) -> None:
    if len(sketches) < 2:
        raise ValueError(f"give two sketches or more to {what}")
    for name, part in (("permutation schemes", lambda m: getattr(m, "scheme", None)), ("seeds", lambda m: m.seed),
                       ("numbers of permutations", len)):
        kinds = {part(sketch) for sketch in sketches}
        if len(kinds) > 1:
            raise ValueError(f"cannot {what} sketches with different {name}: {', '.join(map(str, sorted(kinds, key=str)))}")


def _values(kind: Scheme, values: Any) -> Array:
    if kind is LEGACY:
        return np.array(values, dtype=np.uint64)
    return kind.array(values, "hash values")


def _permutations(kind: Scheme, given: Any) -> Array:
    if kind is LEGACY:
        return np.asarray(given, dtype=np.uint64)
    is_ready = isinstance(given, np.ndarray) and given.dtype == kind.dtype and given.ndim == 2 and len(given) == 2
    parsed: Array = given if is_ready else np.array([kind.array(part, "permutation parameters") for part in given])
    if np.any(parsed[0] % kind.dtype(2) == 0):
        raise ValueError(f"the numbers a of the permutations of scheme {kind.name!r} must be odd")
    return parsed
