"""Turns the arguments of calls into what the native part takes: a column and its kind, scheme options, run options."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Optional, TypedDict

import numpy as np

from .errors import InvalidArgument

Key = str | bytes
Progress = Callable[[int, int], object]
Run = tuple[Optional[int], Optional[Progress]]


class SchemeOptions(TypedDict, total=False):
    """The options of a scheme. They are those of ``ringer create``."""

    preset: str | None
    features: str | None
    samples: int | None
    bits: int | None
    slots: int | None
    samples_per_slot: int | None
    value_bits: int | None
    min_matches: int | None
    sampler: str | None
    packing: str | None
    universe: int | None
    cardinality: str | None
    keep_sets: bool | int | None
    seed: int | None


def scheme_arguments(options: SchemeOptions) -> list[str]:
    """The options as ``ringer create`` takes them.

    >>> scheme_arguments({"features": "ids", "samples_per_slot": 3, "keep_sets": True, "seed": None})
    ['--features=ids', '--samples-per-slot=3', '--keep-sets']
    """
    arguments = []
    for name, value in options.items():
        if name not in SchemeOptions.__annotations__:
            raise TypeError(f"there is no option {name!r} of a scheme")
        if value is None or value is False:
            continue
        flag = "--" + name.replace("_", "-")
        arguments.append(flag if value is True else f"{flag}={value}")
    return arguments


def path_of(path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> str:
    """A path as str."""
    return os.fsdecode(path)


def one(what: dict[str, Any]) -> tuple[str, Any]:
    """The kind and the column of the only thing that was given, as a column of one row."""
    kind, value = _only(what)
    if kind == "key":
        return kind, value
    if kind == "text":
        return "texts", [value]
    if kind == "set":
        if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "iu":
            return "sets", (_elements(value), np.array([0, len(value)], dtype=np.int64))
        return "sets", [value]
    if kind == "weighted":
        return "weighted", [value]
    if kind == "vector":
        return "vectors", _matrix(np.asarray(value, dtype=np.float64)[np.newaxis, ...])
    return "signatures", [bytes(value)]


def many(what: dict[str, Any]) -> tuple[str, Any]:
    """The kind and the column of the only thing that was given."""
    kind, value = _only(what)
    if kind == "sets":
        return kind, _sets(value)
    if kind == "vectors":
        return kind, _vectors(value)
    if kind == "signatures" and isinstance(value, np.ndarray) and value.dtype != object:
        return kind, np.ascontiguousarray(value, dtype=np.uint8)
    return kind, value


def _only(what: dict[str, Any]) -> tuple[str, Any]:
    given = [(kind, value) for kind, value in what.items() if value is not None]
    if len(given) != 1:
        names = ", ".join(f"{kind}=" for kind in what)
        raise InvalidArgument(f"give exactly one of {names}")
    return given[0]


def _elements(values: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.uint64]]:
    if values.dtype.kind not in "iu":
        raise InvalidArgument(f"elements are integers, not {values.dtype}")
    if values.dtype.kind == "i" and values.size and values.min() < 0:
        raise InvalidArgument(f"element {values.min()}: elements are not negative")
    return np.ascontiguousarray(values, dtype=np.uint64)


def _sets(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype.kind in "iu":
        rows, width = value.shape
        return _elements(value.reshape(-1)), np.arange(rows + 1, dtype=np.int64) * width
    pair = isinstance(value, tuple) and len(value) == 2
    if pair and all(isinstance(part, np.ndarray) and part.ndim == 1 for part in value):
        values, offsets = value
        if offsets.dtype.kind not in "iu":
            raise InvalidArgument(f"offsets are integers, not {offsets.dtype}")
        return _elements(values), np.ascontiguousarray(offsets, dtype=np.int64)
    # A tuple of sets would be mistaken for values and offsets.
    return list(value) if isinstance(value, tuple) else value


def _vectors(value: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    if not isinstance(value, np.ndarray):
        if hasattr(value, "to_numpy") and not hasattr(value, "__array__"):
            value = value.to_numpy()
        try:
            value = np.asarray([np.asarray(row, dtype=np.float64) for row in value])
        except (TypeError, ValueError) as error:
            raise InvalidArgument(f"vectors are rows of equally many numbers: {error}") from None
    elif value.dtype == object:
        return _vectors(list(value))
    return _matrix(value)


def _matrix(value: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
    if value.ndim != 2 or value.dtype.kind not in "fiu":
        if value.size == 0:
            return np.zeros((0, 0), dtype=np.float64)
        raise InvalidArgument(f"vectors are a matrix of numbers, not {value.ndim}-dimensional {value.dtype}")
    return np.ascontiguousarray(value, dtype=np.float64)
