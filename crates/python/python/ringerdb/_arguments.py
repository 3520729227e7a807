"""Turns the arguments of calls into what the native part takes: a column and its kind, scheme options, run options."""

from __future__ import annotations

import operator
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


def whole(value: Any, least: int, name: str) -> int:
    """An argument as an int of at least ``least``."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if not least <= number < 1 << 63:
        raise InvalidArgument(f"{name} = {value!r}: it must be an int of at least {least}")
    return number


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
        return "vectors", _vectors([value])
    if not isinstance(value, (bytes, bytearray, memoryview, np.ndarray)):
        raise InvalidArgument(f"signature is {type(value).__name__}; it must be bytes, or a row of Signatures.to_numpy()")
    if isinstance(value, np.ndarray) and (value.dtype != np.uint8 or value.ndim != 1):
        raise InvalidArgument(f"signature is {value.ndim}-dimensional {value.dtype}; it must be a row of bytes")
    return "signatures", [bytes(value)]


def many(what: dict[str, Any]) -> tuple[str, Any]:
    """The kind and the column of the only thing that was given."""
    kind, value = _only(what)
    if kind == "sets":
        return kind, _sets(value)
    if kind == "vectors":
        return kind, _vectors(value)
    if kind == "signatures" and isinstance(value, np.ndarray) and value.dtype != object:
        if value.dtype != np.uint8 or value.ndim != 2:
            raise InvalidArgument(f"signatures are a matrix of bytes (uint8), not {value.ndim}-dimensional {value.dtype}")
        return kind, np.ascontiguousarray(value)
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


def _vectors(value: Any) -> Any:
    if hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__"):
        return value
    if not isinstance(value, np.ndarray) or value.dtype == object:
        try:
            value = np.asarray([np.asarray(row, dtype=np.float64) for row in value])
        except (TypeError, ValueError) as error:
            raise InvalidArgument(f"vectors are rows of equally many numbers: {error}") from None
    return _matrix(value)


def _matrix(value: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
    if value.ndim != 2 or value.dtype.kind not in "fiu":
        if value.size == 0:
            return np.zeros((0, 0), dtype=np.float64)
        raise InvalidArgument(f"vectors are a matrix of numbers, not {value.ndim}-dimensional {value.dtype}")
    return np.ascontiguousarray(value, dtype=np.float64)
