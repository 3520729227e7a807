"""The exceptions of the package. Messages are those of the library: what happened, to what, and what to do about it."""

from __future__ import annotations

__all__ = [
    "ClosedError",
    "CorruptError",
    "Error",
    "InvalidArgument",
    "IoError",
    "LockedError",
    "NoSpace",
    "NoSuchKey",
    "OverLimit",
    "SchemeMismatch",
    "UnsupportedFormat",
]


class Error(Exception):
    """The base class of all exceptions of this package."""


class InvalidArgument(Error, ValueError):
    """An argument is outside its limits, or does not fit the scheme. Nothing was changed."""


class NoSuchKey(Error, KeyError):
    """No set is stored under the key."""

    # KeyError shows the repr of its argument.
    __str__ = Exception.__str__


class CorruptError(Error):
    """The database is damaged, or its log is missing."""


class LockedError(Error):
    """Another process, or another handle of this process, has the database open for writing."""


class UnsupportedFormat(Error):
    """The file is no database, or a later version wrote it."""


class SchemeMismatch(Error):
    """Signatures of different schemes cannot be compared."""


class OverLimit(Error):
    """The call needs more memory than its limit, or a document is too large. Nothing was changed."""


class ClosedError(Error):
    """The handle was closed, or belongs to the process from which this one was forked."""


class IoError(Error, OSError):
    """The operating system reported a failure."""


class NoSpace(IoError):
    """The device is full. Committed data is safe, and reads still work."""
