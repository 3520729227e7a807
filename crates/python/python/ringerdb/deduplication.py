"""Deduplication of a column in one call."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._arguments import Progress, SchemeOptions, many, whole
from .database import Database, create, open
from .errors import InvalidArgument
from .sketcher import Sketcher

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Bytes that grouping may take.
MEMORY = 4 << 30


@dataclass(frozen=True, eq=False)
class Deduplicated:
    """What `dedupe` decided about every row. All arrays have one entry for each row."""

    #: True for the rows to keep.
    keep: np.ndarray[Any, np.dtype[np.bool_]]
    #: The number of the row's group, from 1; -1 if it is in none.
    group: np.ndarray[Any, np.dtype[np.int64]]
    #: The index of the kept row of the group; -1 if that is a stored row; the row's own index if it is in no group.
    representative: np.ndarray[Any, np.dtype[np.int64]]
    #: The resemblance to the representative. NaN for rows that are null.
    similarity: np.ndarray[Any, np.dtype[np.float64]]
    #: The ends of its 95 % interval. They are equal to it if it is exact.
    low: np.ndarray[Any, np.dtype[np.float64]]
    high: np.ndarray[Any, np.dtype[np.float64]]
    #: The keys of the stored rows that removed rows resemble, by the index of the removed row.
    stored: dict[int, str | bytes]

    def __len__(self) -> int:
        return len(self.keep)

    @property
    def removed(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The indexes of the removed rows."""
        return np.flatnonzero(~self.keep)

    def filter(self, table: Any) -> Any:
        """The rows of a table to keep, with all columns: of pyarrow, polars, pandas, Hugging Face datasets, or a list.

        >>> import ringerdb as rdb
        >>> texts = ["one two three four five six", "One, two, three, four, five, six!", "seven"]
        >>> rdb.dedupe(texts).filter(texts)
        ['one two three four five six', 'seven']
        """
        if isinstance(table, dict):
            return {name: self.filter(values) for name, values in table.items()}
        library = type(table).__module__.partition(".")[0]
        if library not in ("datasets", "pandas", "polars", "pyarrow", "numpy") and hasattr(table, "__arrow_c_stream__"):
            # For example a relation of DuckDB.
            import pyarrow

            table, library = pyarrow.table(table), "pyarrow"
        if len(table) != len(self):
            raise InvalidArgument(f"the table has {len(table)} rows, but {len(self)} were compared")
        if isinstance(table, (list, tuple)):
            return [row for row, keep in zip(table, self.keep) if keep]
        if library == "datasets":
            return table.select(np.flatnonzero(self.keep))
        if library in ("pandas", "numpy"):
            return table[self.keep]
        if library == "pyarrow":
            import pyarrow

            return table.filter(pyarrow.array(self.keep))
        return table.filter(self.keep)

    def to_arrow(self) -> Any:
        """The decisions as a ``pyarrow.Table``."""
        import pyarrow

        names = ("keep", "group", "representative", "similarity", "low", "high")
        return pyarrow.table({name: getattr(self, name) for name in names})

    def __repr__(self) -> str:
        groups = len(np.unique(self.group[self.group >= 0]))
        return f"Deduplicated({len(self)} rows, {int(self.keep.sum())} kept, {groups} groups)"


def dedupe(
    data: Any = None,
    *,
    column: str = "text",
    sets: Any = None,
    signatures: Any = None,
    keys: Any = None,
    min: float = 0.8,
    keep: str = "first",
    exact: bool = True,
    linkage: str = "strict",
    db: Database | str | os.PathLike[str] | None = None,
    memory: int = MEMORY,
    threads: int | None = None,
    progress: Progress | None = None,
    **options: Unpack[SchemeOptions],
) -> Deduplicated:
    """Finds near-duplicates among texts, and decides which row of each group to keep.

    ``data`` is a column of texts, or a table with the texts in ``column``. ``sets`` or ``signatures``
    can be given instead. Rows whose resemblance is at least ``min`` are duplicates. ``keep`` is ``first``, ``last``,
    ``longest`` or ``shortest``. By default, every removed row is compared with the kept row of its group, exactly:
    signatures find the candidates, and their sets are then counted. With ``exact=False`` estimates decide. With
    ``linkage="connected"``, groups follow chains of similar rows. Rows that are null are kept.

    ``db`` is a database, or the path of one, which is created if it is missing. Rows that resemble what it holds are
    removed, too, and the kept rows are added to it, under ``keys`` or their numbers. Resemblances to stored rows are
    estimates, unless the database keeps sets.

    Other options are those of `create`. The same rows and the same seed always give the same answer.

    >>> import ringerdb as rdb
    >>> r = rdb.dedupe(["one two three four five six", "seven", "One, two, three, four, five, six!"], seed=1)
    >>> r.keep
    array([ True,  True, False])
    >>> r.representative, float(r.similarity[2])
    (array([0, 1, 0]), 1.0)
    """
    kind, values = many({"texts": _texts(data, column), "sets": sets, "signatures": signatures})
    opened = None
    if db is not None and not isinstance(db, Database):
        if os.path.exists(db):
            opened = db = open(db)
        else:
            opened = db = create(db, **options)
            options = {}
    try:
        if db is None:
            sketcher = Sketcher(**options)
        else:
            sketcher = db.sketcher
            if any(value is not None for value in options.values()):
                raise InvalidArgument(f"{db.path or 'the database'} has a scheme of its own: leave out {', '.join(options)}")
        store = None if db is None else db._store
        how = (float(min), keep, exact, linkage, whole(memory, 1, "memory"))
        decided = _core.dedupe((kind, values, keys), how, sketcher._core, store, (threads, progress))
    finally:
        if opened is not None:
            opened.close()
    return Deduplicated(**decided)


def _texts(data: Any, column: str) -> Any:
    """The named column of a table. Anything else is a column already."""
    if data is None:
        return None
    if not (isinstance(data, dict) or hasattr(data, "column_names") or hasattr(data, "columns")):
        return data
    name = column
    try:
        if type(data).__module__.partition(".")[0] == "datasets":
            # As Arrow data, which is not copied; otherwise every text becomes a Python string.
            return data.with_format("arrow")[:][name]
        return data[name]
    except (KeyError, IndexError, TypeError) as error:
        raise InvalidArgument(f"the table has no column {name!r}") from error
    except Exception as error:  # polars has exceptions of its own
        if type(error).__name__ == "ColumnNotFoundError":
            raise InvalidArgument(f"the table has no column {name!r}") from error
        raise
