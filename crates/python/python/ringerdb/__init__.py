"""Ringer, an embedded database for set similarity: what looks like this?

>>> import ringerdb as rdb
>>> db = rdb.memory(seed=1)                      # or rdb.create("notes.ringer")
>>> db.put("a", text="Never put off till tomorrow what you can do today.")
>>> for match in db.query(text="never put off till tomorrow what you can do"):
...     print(match.key)
a

`dedupe` finds near-duplicates in one call. `Sketcher` makes signatures without a database. The guide is
``docs/python.md`` of the repository.
"""

from __future__ import annotations

from ._core import Comparison, Estimate, Match, Signatures
from .database import Database, Finding, Snapshot, Stat, check, create, memory, open
from .deduplication import Deduplicated, dedupe
from .errors import (
    ClosedError,
    CorruptError,
    Error,
    InvalidArgument,
    IoError,
    LockedError,
    NoSpace,
    NoSuchKey,
    OverLimit,
    SchemeMismatch,
    UnsupportedFormat,
)
from .reads import Stored
from .rows import ClusterRow, PairRow, PairValueRow, QueryRow, QueryValueRow, Rows, TripleRow
from .sketcher import Sketcher

__version__ = "0.1.0"

__all__ = [
    "ClosedError",
    "ClusterRow",
    "Comparison",
    "CorruptError",
    "Database",
    "Deduplicated",
    "Error",
    "Estimate",
    "Finding",
    "InvalidArgument",
    "IoError",
    "LockedError",
    "Match",
    "NoSpace",
    "NoSuchKey",
    "OverLimit",
    "PairRow",
    "PairValueRow",
    "QueryRow",
    "QueryValueRow",
    "Rows",
    "SchemeMismatch",
    "Signatures",
    "Sketcher",
    "Snapshot",
    "Stat",
    "Stored",
    "TripleRow",
    "UnsupportedFormat",
    "check",
    "create",
    "dedupe",
    "memory",
    "open",
]
