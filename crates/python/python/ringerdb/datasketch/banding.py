"""The numbers of bands and rows that suit a threshold: those for which wrong answers are least likely.

An index of b bands with r values each finds a set with resemblance s with probability 1 - (1 - s**r)**b. This is a polynomial
of degree b * r, so Gauss-Legendre quadrature integrates it exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np

from .schemes import Array

#: Points of an integral over a function that is smooth, but no polynomial.
_SMOOTH = 256


@lru_cache(maxsize=64)
def for_resemblance(threshold: float, num_perm: int, false_positive: float, false_negative: float) -> tuple[int, int]:
    """Bands and rows for a threshold of the resemblance, with the weights of wrong answers of both kinds."""
    points = num_perm // 2 + 1
    shapes = ((b, r) for b in range(1, num_perm + 1) for r in range(1, num_perm // b + 1))
    return _best(shapes, lambda s: s, threshold, threshold, 1.0, points, false_positive, false_negative)


@lru_cache(maxsize=256)
def for_containment(
    threshold: float, num_perm: int, most_rows: int, ratio: float, false_positive: float, false_negative: float
) -> tuple[int, int]:
    """Bands and rows for a threshold of the containment, with the ratio of the sizes of a stored set and the query."""
    shapes = ((b, r) for b in range(1, num_perm + 1) for r in range(1, most_rows + 1) if b * r <= num_perm)
    top = 1.0 if ratio >= 1.0 else max(ratio, threshold)
    return _best(
        shapes, lambda t: t / (1 + ratio - t), min(ratio, threshold), threshold, top, _SMOOTH, false_positive, false_negative
    )


@lru_cache(maxsize=8)
def _quadrature(points: int) -> tuple[Array, Array]:
    """Points from 0 to 1, and their weights."""
    nodes, weights = np.polynomial.legendre.leggauss(points)
    return (nodes + 1) / 2, weights / 2


def _best(
    shapes: Iterator[tuple[int, int]],
    resemblance: Callable[[Array], Array],
    below: float,
    above: float,
    top: float,
    points: int,
    false_positive: float,
    false_negative: float,
) -> tuple[int, int]:
    """The shape with the least error: answers from 0 to ``below``, and missed ones from ``above`` to ``top``."""
    nodes, weights = _quadrature(points)
    low, high = resemblance(nodes * below), resemblance(above + nodes * (top - above))
    low_weights, high_weights = weights * below, weights * (top - above)
    best, least = (0, 0), float("inf")
    for b, r in shapes:
        missed_low, missed_high = (1 - low**r) ** b, (1 - high**r) ** b
        error = float(false_positive * ((1 - missed_low) @ low_weights) + false_negative * (missed_high @ high_weights))
        if error < least:
            best, least = (b, r), error
    return best


def check_weights(threshold: float, num_perm: int, weights: tuple[float, float]) -> None:
    """Refuses arguments outside their limits."""
    if not 0.0 <= threshold <= 1.0:
        raise ValueError(f"threshold = {threshold}: it must be 0 to 1")
    if num_perm < 2:
        raise ValueError(f"num_perm = {num_perm}: it must be at least 2")
    if any(not 0.0 <= weight <= 1.0 for weight in weights) or sum(weights) != 1.0:
        raise ValueError(f"weights = {weights}: they must be 0 to 1, and their sum 1")
