"""Weighted MinHash by Ioffe's consistent sampling, with the values of datasketch."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

import numpy as np

from .schemes import Array


class WeightedMinHash:
    """The samples of a set with weights: pairs of a dimension and a level. `WeightedMinHashGenerator` makes them."""

    def __init__(self, seed: int, hashvalues: Array) -> None:
        self.seed = seed
        self.hashvalues = hashvalues

    def jaccard(self, other: WeightedMinHash) -> float:
        """The share of equal samples, which estimates the weighted resemblance: sum of minima over sum of maxima."""
        if other.seed != self.seed:
            raise ValueError(f"cannot compare sketches with different seeds: {self.seed}, {other.seed}")
        if len(self) != len(other):
            raise ValueError(f"cannot compare sketches with {len(self)} and {len(other)} samples")
        return float(np.mean((self.hashvalues == other.hashvalues).all(axis=1)))

    def digest(self) -> Array:
        """A copy of the samples."""
        return self.hashvalues.copy()

    def copy(self) -> WeightedMinHash:
        """A copy."""
        return WeightedMinHash(self.seed, self.digest())

    def __len__(self) -> int:
        return len(self.hashvalues)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, WeightedMinHash)
            and self.seed == other.seed
            and np.array_equal(self.hashvalues, other.hashvalues)
        )

    __hash__ = None  # type: ignore[assignment]


class WeightedMinHashGenerator:
    """Makes weighted MinHash of vectors with ``dim`` weights, which are not negative.

    >>> generator = WeightedMinHashGenerator(3, sample_size=64)
    >>> generator.minhash([1, 2, 3]).jaccard(generator.minhash([1, 2, 3]))
    1.0
    """

    def __init__(self, dim: int, sample_size: int = 128, seed: int = 1) -> None:
        self.dim, self.sample_size, self.seed = dim, sample_size, seed
        generator, shape = np.random.RandomState(seed), (sample_size, dim)
        self.rs: Array = generator.gamma(2, 1, shape).astype(np.float32)
        self.ln_cs: Array = np.log(generator.gamma(2, 1, shape)).astype(np.float32)
        self.betas: Array = generator.uniform(0, 1, shape).astype(np.float32)

    def minhash(self, v: Any) -> WeightedMinHash:
        """The sketch of one vector."""
        if not isinstance(v, Sized):
            raise TypeError(f"the vector is {type(v).__name__}; give a list or an array")
        if len(v) != self.dim:
            raise ValueError(f"the vector has {len(v)} weights; this generator takes {self.dim}")
        weights = np.asarray(v, dtype=np.float32)
        there = np.flatnonzero(weights)
        if not there.size:
            raise ValueError("all weights are zero")
        return self._sketch(there, np.log(weights[there]), 0)

    def minhash_many(self, X: Any) -> list[WeightedMinHash | None]:
        """The sketches of the rows of a matrix: numpy or scipy.sparse. Rows without weights have None.

        As in datasketch, they differ from those of `minhash`.
        """
        is_sparse = hasattr(X, "tocsr")
        if not is_sparse and not isinstance(X, np.ndarray):
            raise TypeError(f"the matrix is {type(X).__name__}; give a numpy or scipy.sparse matrix")
        if X.ndim != 2 or X.shape[1] != self.dim:
            raise ValueError(f"the matrix has the shape {X.shape}; its rows must have {self.dim} weights")
        found: list[WeightedMinHash | None] = []
        rows: Any = X.tocsr().astype(np.float32) if is_sparse else np.asarray(X, dtype=np.float32)
        for row in range(X.shape[0]):
            weights = rows[[row]].toarray().reshape(-1) if is_sparse else rows[row]
            there = np.flatnonzero(weights)
            found.append(self._sketch(there, np.log(weights[there]), 1) if there.size else None)
        return found

    def _sketch(self, there: Array, logs: Array, step: int) -> WeightedMinHash:
        """The samples of the dimensions that have a weight. ``step`` is the difference of the two ways to make them."""
        rs, betas = self.rs[:, there], self.betas[:, there]
        levels = np.floor(logs / rs + betas)
        if step:
            order = self.ln_cs[:, there] - (levels - betas + 1) * rs
        else:
            order = self.ln_cs[:, there] - (levels - betas) * rs - rs
        least = order.argmin(axis=1)
        samples = np.zeros((self.sample_size, 2), dtype=int)
        samples[:, 0] = there[least]
        samples[:, 1] = levels[np.arange(self.sample_size), least]
        return WeightedMinHash(self.seed, samples)
