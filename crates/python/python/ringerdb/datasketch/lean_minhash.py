"""MinHash that cannot be updated, and its bytes. They are those of datasketch."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from .minhash import MinHash, _check_alike, _values
from .refusals import NotSupported
from .schemes import BY_CODE, LEGACY, Array, Scheme, named


class LeanMinHash(MinHash):
    """A MinHash without its permutations, for storage. It can be compared, merged and united, but not updated.

    >>> sketch = MinHash(num_perm=4)
    >>> sketch.update(b"bread")
    >>> lean = LeanMinHash(sketch)
    >>> buffer = bytearray(lean.bytesize())
    >>> lean.serialize(buffer)
    >>> LeanMinHash.deserialize(buffer) == lean
    True
    """

    __slots__ = ("hashvalues", "scheme", "seed")

    def __init__(
        self,
        minhash: MinHash | None = None,
        seed: int | None = None,
        hashvalues: Any = None,
        scheme: str | None = None,
    ) -> None:
        if minhash is not None:
            if scheme not in (None, minhash.scheme):
                raise ValueError(f"scheme {scheme!r}, but the MinHash has {minhash.scheme!r}")
            seed, hashvalues, scheme = minhash.seed, minhash.hashvalues, minhash.scheme
        if hashvalues is None or seed is None:
            raise ValueError("give a MinHash, or hashvalues with their seed and scheme")
        if scheme is None:
            raise ValueError(
                "scheme must be given with hashvalues: that of the MinHash that made them, or 'legacy' if it was made "
                "before datasketch 2.0"
            )
        self._set(seed, named(scheme), hashvalues)

    def _set(self, seed: int, kind: Scheme, values: Any) -> None:
        self.seed, self.scheme, self.hashvalues = seed, kind.name, _values(kind, values)
        # A count of zero stands for the scheme `legacy` in the bytes.
        if kind is not LEGACY and len(self.hashvalues) == 0:
            raise ValueError("there are no hash values")

    @classmethod
    def _of(cls, seed: int, kind: Scheme, values: Any) -> LeanMinHash:
        lean = object.__new__(LeanMinHash)
        lean._set(seed, kind, values)
        return lean

    def update(self, b: Any) -> None:
        """Not possible: there are no permutations."""
        raise TypeError("a LeanMinHash cannot be updated: it has no permutations; update the MinHash it was made of")

    def update_batch(self, b: Any) -> None:
        """Not possible: there are no permutations."""
        self.update(b)

    def copy(self) -> LeanMinHash:
        """A copy."""
        return self._like(self.digest())

    def _like(self, values: Array) -> LeanMinHash:
        return LeanMinHash._of(self.seed, self._kind, values)

    @classmethod
    def union(cls, *lmhs: MinHash) -> LeanMinHash:
        """The sketch of the union of two sets or more."""
        _check_alike(lmhs, "unite")
        values = np.minimum.reduce([sketch.hashvalues for sketch in lmhs])
        return LeanMinHash._of(lmhs[0].seed, named(lmhs[0].scheme), values)

    def _format(self, byteorder: str) -> tuple[str, list[int]]:
        """The format of the bytes, and what comes before the values: seed, count, and the code of the scheme."""
        kind, count = self._kind, len(self)
        if kind.code is None:
            return f"{byteorder}qi{count}I", [self.seed, count]
        # A negative count says that a code follows.
        return f"{byteorder}qiB{count}{kind.letter}", [self.seed, -count, kind.code]

    def bytesize(self, byteorder: str = "@") -> int:
        """The number of bytes that `serialize` writes."""
        return struct.calcsize(self._format(byteorder)[0])

    def serialize(self, buf: Any, byteorder: str = "@") -> None:
        """Writes the bytes into a buffer."""
        if len(buf) < self.bytesize(byteorder):
            raise ValueError(f"the buffer has {len(buf)} bytes; {self.bytesize(byteorder)} are needed")
        form, head = self._format(byteorder)
        struct.pack_into(form, buf, 0, *head, *self.hashvalues.tolist())

    @classmethod
    def deserialize(cls, buf: Any, byteorder: str = "@") -> LeanMinHash:
        """The sketch that `serialize` wrote."""
        return cls._of(*_parse(buf, byteorder))

    def __getstate__(self) -> bytearray:
        buffer = bytearray(self.bytesize())
        self.serialize(buffer)
        return buffer

    def __setstate__(self, buf: Any) -> None:
        self._set(*_parse(buf, "@"))

    def __hash__(self) -> int:  # type: ignore[override]
        return hash((self.scheme, self.seed, self.hashvalues.tobytes()))


def _parse(buf: Any, byteorder: str) -> tuple[int, Scheme, tuple[int, ...]]:
    view, head = memoryview(buf), f"{byteorder}qi"
    try:
        seed, count = struct.unpack_from(head, view, 0)
        kind, offset = LEGACY, struct.calcsize(head)
        if count < 0:
            (code,) = struct.unpack_from(f"{byteorder}B", view, offset)
            if code not in BY_CODE:
                raise NotSupported(f"a LeanMinHash of scheme code {code}: only {', '.join(map(str, BY_CODE))} are known")
            kind, count = BY_CODE[code], -count
            offset = struct.calcsize(f"{byteorder}qiB0{kind.letter}")
        # The count is compared with the bytes that are there before anything is allocated.
        if count > (len(view) - offset) * 8 // kind.width:
            raise ValueError(f"a LeanMinHash of {count} values has more than {len(view)} bytes")
        return seed, kind, struct.unpack_from(f"{byteorder}{count}{kind.letter}", view, offset)
    except struct.error as error:
        raise ValueError(f"these are not the bytes of a LeanMinHash: {error}") from None
