"""Tables of results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from . import _core

#: Rows that are turned into tuples at a time.
_PART = 4096


class QueryRow(NamedTuple):
    """A match of one of many queries."""

    query: int
    key: str | bytes
    similarity: float
    std_error: float
    low: float
    high: float
    matching_slots: int


class PairRow(NamedTuple):
    """Two similar sets."""

    a: str | bytes
    b: str | bytes
    similarity: float
    std_error: float
    low: float
    high: float
    matching_slots: int


class QueryValueRow(NamedTuple):
    """A match of one of many queries, with the value that is stored with its key."""

    query: int
    key: str | bytes
    similarity: float
    std_error: float
    low: float
    high: float
    matching_slots: int
    value: bytes | None


class PairValueRow(NamedTuple):
    """Two similar sets, with the values that are stored with their keys."""

    a: str | bytes
    b: str | bytes
    similarity: float
    std_error: float
    low: float
    high: float
    matching_slots: int
    a_value: bytes | None
    b_value: bytes | None


class ClusterRow(NamedTuple):
    """A member of a cluster, and its similarity to the representative."""

    key: str | bytes
    cluster: int
    representative: str | bytes
    similarity: float


class TripleRow(NamedTuple):
    """Three similar sets, and the resemblance of all three."""

    a: str | bytes
    b: str | bytes
    c: str | bytes
    similarity: float
    std_error: float
    low: float
    high: float


_KINDS: dict[tuple[str, ...], type[Any]] = {
    kind._fields: kind
    for kind in (QueryRow, PairRow, QueryValueRow, PairValueRow, ClusterRow, TripleRow)
}


class Rows(_core.Table):
    """A table of results, in memory. It can be read as often as you like.

    Libraries that know Arrow read it directly, without a copy: ``pyarrow.table(rows)``, ``polars.DataFrame(rows)``,
    ``duckdb.sql("select * from rows")``. Columns of keys are strings, or binaries if one of the keys is not UTF-8. Columns
    of values are binaries.

    >>> import ringerdb as rdb
    >>> db = rdb.memory(features="tokens", seed=1)
    >>> db.put_many(["a", "b"], sets=[["bread", "milk"], ["milk", "bread"]])
    2
    >>> rows = db.pairs(min=0.9)
    >>> [(row.a, row.b, row.similarity) for row in rows]
    [('a', 'b', 1.0)]
    >>> rows.names
    ['a', 'b', 'similarity', 'std_error', 'low', 'high', 'matching_slots']
    """

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        make = _KINDS[tuple(self.names)]._make
        for start in range(0, len(self), _PART):
            yield from map(make, zip(*self.part(start, start + _PART)))

    def to_arrow(self) -> Any:
        """The table as a ``pyarrow.Table``."""
        import pyarrow

        return pyarrow.table(self)

    def to_polars(self) -> Any:
        """The table as a ``polars.DataFrame``."""
        import polars

        return polars.DataFrame(self)

    def to_pandas(self) -> Any:
        """The table as a ``pandas.DataFrame``."""
        import pandas

        return pandas.DataFrame({name: self.column(name) for name in self.names})

    def __repr__(self) -> str:
        return f"Rows({', '.join(self.names)}; {len(self)} rows)"
