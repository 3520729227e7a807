"""The permutation schemes of datasketch: how the hash of an element becomes one value for each permutation.

``affine32`` and ``affine64`` mix the hash h once and take a * h + b modulo 2**32 or 2**64, with a odd. ``legacy`` takes the low
32 bits of (a * h + b) modulo 2**61 - 1. The numbers a and b come from numpy's generator, as in datasketch, so the values are
equal to its values.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

#: Elements whose values are computed at a time, so that memory does not grow with the set.
_BLOCK = 4096

_PRIME = np.uint64((1 << 61) - 1)
_LOW = np.uint64((1 << 32) - 1)


@dataclass(frozen=True)
class Scheme:
    """A permutation scheme."""

    name: str
    #: The type of a value.
    dtype: type[np.unsignedinteger[Any]]
    #: The bits of a value.
    width: int
    #: The code in the bytes of a sketch; None if the bytes do not name the scheme.
    code: int | None
    #: Shifts and multipliers of the mixing step: those of MurmurHash3.
    mixing: tuple[int, int, int, int, int] | None

    @property
    def largest(self) -> int:
        """The largest value, which stands for the empty set."""
        return (1 << self.width) - 1

    @property
    def letter(self) -> str:
        """The letter of a value for `struct`."""
        return "Q" if self.width == 64 else "I"

    def array(self, values: Any, what: str) -> Array:
        """Values as an array, without loss."""
        if isinstance(values, np.ndarray) and values.dtype.kind in "iu" and values.size:
            least, most = int(values.min()), int(values.max())
            if least < 0 or most > self.largest:
                raise ValueError(f"{what} {least} to {most}: those of scheme {self.name!r} are 0 to {self.largest}")
        try:
            return np.array(values, dtype=self.dtype)
        except OverflowError as error:
            raise ValueError(f"{what} out of the range of scheme {self.name!r}: {error}") from None

    def empty(self, count: int) -> Array:
        """The values of the empty set."""
        dtype = np.uint64 if self.name == "legacy" else self.dtype
        return np.full(count, self.largest, dtype=dtype)

    def least(self, hashes: list[int], permutations: Array) -> Array:
        """The least value of each permutation over the hashes of elements. There is at least one."""
        found = []
        a, b = permutations
        for start in range(0, len(hashes), _BLOCK):
            column = self.array(hashes[start : start + _BLOCK], "hash values of elements are")[:, np.newaxis]
            with np.errstate(over="ignore"):
                if self.mixing is None:
                    values = (column.astype(np.uint64) * a + b) % _PRIME & _LOW
                else:
                    values = self._mix(column) * a + b
            found.append(values.min(axis=0))
        least: Array = np.minimum.reduce(found)
        return least

    def _mix(self, values: Array) -> Array:
        assert self.mixing is not None
        shift, factor, second, other, last = (self.dtype(number) for number in self.mixing)
        values = (values ^ (values >> shift)) * factor
        values = (values ^ (values >> second)) * other
        mixed: Array = values ^ (values >> last)
        return mixed


LEGACY = Scheme("legacy", np.uint64, 32, None, None)
AFFINE32 = Scheme("affine32", np.uint32, 32, 1, (16, 0x85EBCA6B, 13, 0xC2B2AE35, 16))
AFFINE64 = Scheme("affine64", np.uint64, 64, 2, (33, 0xFF51AFD7ED558CCD, 33, 0xC4CEB9FE1A85EC53, 33))

SCHEMES = {scheme.name: scheme for scheme in (AFFINE32, AFFINE64, LEGACY)}
BY_CODE = {scheme.code: scheme for scheme in (AFFINE32, AFFINE64)}


def named(name: str) -> Scheme:
    """The scheme with this name."""
    if name not in SCHEMES:
        raise ValueError(f"scheme {name!r}: choose one of {', '.join(SCHEMES)}")
    return SCHEMES[name]


@lru_cache(maxsize=64)
def permutations(name: str, seed: int, count: int) -> Array:
    """The numbers a and b of each permutation, as two rows. The array is shared, so it is read-only."""
    generator, scheme = np.random.RandomState(seed), SCHEMES[name]
    if name == "legacy":
        # The limits are drawn in turns for each permutation.
        draw = generator.randint
        pairs = [(draw(1, _PRIME, dtype=np.uint64), draw(0, _PRIME, dtype=np.uint64)) for _ in range(count)]
        made = np.array(pairs, dtype=np.uint64).T
    else:
        halves = generator.randint(0, 1 << (scheme.width - 1), count, dtype=scheme.dtype)
        b = generator.randint(0, 1 << scheme.width, count, dtype=scheme.dtype)
        made = np.array([halves * scheme.dtype(2) + scheme.dtype(1), b])
    made.flags.writeable = False
    return made


def same_scheme(known: str | None, sketch: Any) -> str | None:
    """The scheme that an index has after a sketch was given to it. Sketches of another scheme are refused."""
    scheme: str | None = getattr(sketch, "scheme", None)
    if scheme is None or known is None:
        return known if scheme is None else scheme
    if scheme != known:
        raise ValueError(f"the index has sketches of scheme {known!r}, and this one has {scheme!r}")
    return known
