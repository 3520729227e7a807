"""What this package cannot do that datasketch can."""

from __future__ import annotations

from ..errors import InvalidArgument


class NotSupported(InvalidArgument, NotImplementedError):
    """The operation is not possible here. The message says why, and what to do instead."""
