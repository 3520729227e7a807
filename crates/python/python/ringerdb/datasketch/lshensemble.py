"""An index for containment: it finds the sets that contain much of the query.

Sets are parted by size. Within a part, a threshold of the containment is one of the resemblance, which an index of bands answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Hashable, Iterable
from itertools import accumulate
from typing import Any

import numpy as np

from .banding import check_weights, for_containment
from .lsh import MinHashLSH
from .refusals import NotSupported

#: Ratios of the sizes of a stored set and a query for which bands are planned.
_RATIOS = np.exp(np.linspace(-5, 5, 10))


class MinHashLSHEnsemble:
    """An index of ``num_part`` parts by size. Arguments are those of datasketch.

    >>> from ringerdb.datasketch import MinHash
    >>> sets = [{b"a", b"b", b"c"}, {b"x", b"y"}]
    >>> sketches = MinHash.bulk(sets)
    >>> ensemble = MinHashLSHEnsemble(threshold=0.8, num_part=2)
    >>> ensemble.index((key, sketches[key], len(sets[key])) for key in range(2))
    >>> list(ensemble.query(MinHash.bulk([[b"a", b"b", b"c"]])[0], 3))
    [0]
    """

    def __init__(
        self,
        threshold: float = 0.9,
        num_perm: int = 128,
        num_part: int = 16,
        m: int = 8,
        weights: tuple[float, float] = (0.5, 0.5),
        storage_config: dict[str, Any] | None = None,
        prepickle: bool | None = None,
    ) -> None:
        check_weights(threshold, num_perm, weights)
        if num_part < 1:
            raise ValueError(f"num_part = {num_part}: it must be at least 1")
        if not 2 <= m <= num_perm:
            raise ValueError(f"m = {m}: it must be 2 to num_perm, {num_perm}")
        kind = (storage_config or {"type": "dict"})["type"]
        if kind != "dict":
            raise NotSupported(
                f"storage of type {kind!r}: an ensemble is {num_part} parts with several indexes each, in memory; pickle it to "
                "keep it"
            )
        self.threshold, self.h, self.m = threshold, num_perm, m
        self.xqs = _RATIOS
        #: Bands and rows for each ratio.
        self.params = [for_containment(threshold, num_perm, m, float(ratio), *map(float, weights)) for ratio in _RATIOS]
        rows = sorted({r for _, r in self.params})
        self.indexes = [
            {r: MinHashLSH(num_perm=num_perm, params=(num_perm // r, r), prepickle=prepickle) for r in rows}
            for _ in range(num_part)
        ]
        self.lowers: list[int | None] = [None] * num_part
        self.uppers: list[int | None] = [None] * num_part

    def index(self, entries: Iterable[tuple[Hashable, Any, int]]) -> None:
        """Stores all sets: their keys, sketches and sizes. It can be called once."""
        if not self.is_empty():
            raise ValueError("the index has sets already; all must be given in one call")
        ordered = sorted(entries, key=lambda entry: entry[2])
        if not ordered:
            raise ValueError("there are no entries")
        if ordered[0][2] <= 0:
            raise ValueError(f"size {ordered[0][2]}: sizes must be positive")
        counts = sorted(Counter(int(size) for _, _, size in ordered).items())
        parts = _parts(counts, len(self.indexes))
        for i, (lower, upper) in enumerate(parts):
            self.lowers[i], self.uppers[i] = lower, upper
        number = 0
        for key, sketch, size in ordered:
            while size > parts[number][1]:
                number += 1
            for index in self.indexes[number].values():
                index.insert(key, sketch)

    def query(self, minhash: Any, size: int) -> Generator[Hashable, None, None]:
        """The keys of sets that contain about ``threshold`` or more of a set of this size."""
        for index, upper in zip(self.indexes, self.uppers):
            if upper is not None:
                place = int(np.searchsorted(self.xqs, float(upper) / float(size), side="left"))
                b, r = self.params[min(place, len(self.params) - 1)]
                yield from index[r]._query_b(minhash, b)

    def __contains__(self, key: Hashable) -> bool:
        return any(key in index for part in self.indexes for index in part.values())

    def is_empty(self) -> bool:
        """Whether there are no sets."""
        return all(index.is_empty() for part in self.indexes for index in part.values())


def _parts(counts: list[tuple[int, int]], most: int) -> list[tuple[int, int]]:
    """Parts by size, for which the sum of wrong answers is least. A part takes its largest size for all of its sets.

    The cost of a part with the sizes x and the largest size u is the sum of (u - x) / u over its sets.

    >>> _parts([(1, 5), (2, 5), (100, 1), (101, 1)], 2)
    [(1, 2), (100, 101)]
    """
    sizes = np.array([size for size, _ in counts], dtype=float)
    if most >= len(counts):
        return [(size, size) for size, _ in counts]
    before = np.array([0, *accumulate(count for _, count in counts)], dtype=float)
    total = np.array([0, *accumulate(size * count for size, count in counts)], dtype=float)

    def costs(end: int) -> Any:
        """The cost of the part from each start up to and including ``end``."""
        return (before[end + 1] - before[: end + 1]) - (total[end + 1] - total[: end + 1]) / sizes[end]

    last = len(counts) - 1
    least = np.array([costs(end)[0] for end in range(last + 1)])
    starts = [np.zeros(last + 1, dtype=int)]
    for parts in range(1, most):
        following, chosen = np.full(last + 1, np.inf), np.zeros(last + 1, dtype=int)
        for end in range(parts, last + 1):
            # The last part begins at `start`, and the others end before it.
            choices = least[parts - 1 : end] + costs(end)[parts:]
            best = int(choices.argmin())
            following[end], chosen[end] = choices[best], best + parts
        least = following
        starts.append(chosen)
    found, end = [], last
    for chosen in reversed(starts):
        start = int(chosen[end])
        found.append((counts[start][0], counts[end][0]))
        end = start - 1
    return found[::-1]
