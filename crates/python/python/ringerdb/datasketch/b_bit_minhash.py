"""MinHash cut to b bits a value. It takes b/32 of the space, and can only be compared."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from .minhash import MinHash
from .refusals import NotSupported
from .schemes import Array


class bBitMinHash:
    """The lowest b bits of the values of a MinHash.

    ``r`` is the share of the universe that the set has; 0 for a small share.

    >>> small = [bBitMinHash(sketch, b=4) for sketch in MinHash.bulk([[b"a", b"b"], [b"b", b"a"]])]
    >>> small[0].jaccard(small[1])
    1.0
    """

    __slots__ = ("b", "hashvalues", "r", "scheme", "seed")

    def __init__(self, minhash: MinHash, b: int = 1, r: float = 0.0) -> None:
        b, r = int(b), float(r)
        if not 0 <= b <= 32:
            raise ValueError(f"b = {b}: it must be 0 to 32")
        if not r <= 1.0:
            raise ValueError(f"r = {r}: it must be 0 to 1")
        mask = minhash.hashvalues.dtype.type((1 << b) - 1)
        self.hashvalues: Array = (minhash.hashvalues & mask).astype(np.uint32)
        self.seed, self.scheme, self.b, self.r = minhash.seed, minhash.scheme, b, r

    def jaccard(self, other: bBitMinHash) -> float:
        """An estimate of the resemblance: chance agreements are subtracted. It can be below 0."""
        for name in ("b", "scheme", "seed"):
            if getattr(self, name) != getattr(other, name):
                parts = f"{getattr(self, name)!r}, {getattr(other, name)!r}"
                raise ValueError(f"cannot compare sketches with different {name}: {parts}")
        equal = float(np.mean(self.hashvalues == other.hashvalues))
        first, second = (_chance(r, self.b) for r in (self.r, other.r))
        total = self.r + other.r
        share = self.r / total if total else 0.5
        c1 = first * (1 - share) + second * share
        c2 = first * share + second * (1 - share)
        return (equal - c1) / (1 - c2)

    def bytesize(self) -> int:
        """The bytes of the parameters and the values, with each value in 1, 2, 4, 8, 16 or 32 bits."""
        bits = next(size for size in (1, 2, 4, 8, 16, 32) if size >= self.b)
        words = -(-self.hashvalues.size // (64 // bits))
        return 21 + (self.scheme != "legacy") + 8 * words

    def _truncated(self, *_: Any, **__: Any) -> NoReturn:
        raise NotSupported(
            f"the sketch has {self.b} bits of each value: the lesser of two values is not known from their low bits. "
            "Merge or update the MinHash, and cut that"
        )

    update = update_batch = merge = union = count = _truncated

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, bBitMinHash)
            and (self.scheme, self.seed, self.b, self.r) == (other.scheme, other.seed, other.b, other.r)
            and np.array_equal(self.hashvalues, other.hashvalues)
        )

    __hash__ = None  # type: ignore[assignment]


def _chance(r: float, b: int) -> float:
    """The probability that b bits agree by chance, A(r, b)."""
    if r == 0.0:
        return 1.0 / (1 << b)
    values = float(1 << b)
    return float(r * (1 - r) ** (values - 1) / (1 - (1 - r) ** values))
