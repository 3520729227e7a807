"""The usual hash functions of elements: the first bytes of SHA-1, little-endian."""

from __future__ import annotations

import hashlib


def sha1_hash32(data: bytes) -> int:
    """The first 32 bits of SHA-1.

    >>> sha1_hash32(b"hello")
    499578026
    """
    return int.from_bytes(hashlib.sha1(data).digest()[:4], "little")


def sha1_hash64(data: bytes) -> int:
    """The first 64 bits of SHA-1."""
    return int.from_bytes(hashlib.sha1(data).digest()[:8], "little")
