"""Sketches that other programs made: datasketch, rensa, RedPajama, sourmash.

A sketch of full minima (datasketch, rensa, RedPajama) becomes a signature: each minimum is mixed with its position and cut to b
bits. Such signatures belong to a *foreign* scheme, which is named after what made them. They can be stored, searched, paired and
clustered like others, but never compared with texts or sets, whose hash functions differ: that raises `SchemeMismatch`.

>>> import ringerdb as rdb
>>> from ringerdb import foreign
>>> from ringerdb.datasketch import MinHash
>>> sketches = MinHash.bulk([[b"a", b"b", b"c"], [b"c", b"b", b"a"], [b"x"]], num_perm=64)
>>> source, signatures = foreign.datasketch(sketches)
>>> db = rdb.memory(**source.options)
>>> db.put_many(["1", "2", "3"], signatures=signatures)
3
>>> [match.key for match in db.query(signature=signatures[0], min=0.9)]
['1', '2']
>>> db.query(text="a b c")
Traceback (most recent call last):
ringerdb.errors.SchemeMismatch: ...

A sketch of sourmash is a sample of hashes, so it becomes a set of ids: see `sourmash`.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import zipfile
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._arguments import Progress, SchemeOptions
from .errors import InvalidArgument
from .sketcher import Sketcher

#: The upper half of the seed of a foreign scheme, by which the library knows it (``format-spec/scheme.md``).
_MARK = 0x464F5245

#: The bytes of a compressed file.
_GZIP = b"\x1f\x8b"

Matrix = NDArray[np.uint64]


class Source:
    """What made sketches, and the scheme of their signatures.

    ``name`` must say everything that makes two sketches comparable: the program, its algorithm and its seed. Sources with
    different names have different schemes. ``samples`` is the number of minima of a sketch, ``bits`` what is kept of each.

    >>> source = Source("RedPajama-V2 minhash, seed 42", samples=128, bits=8)
    >>> minima = np.arange(256, dtype=np.uint64).reshape(2, 128)
    >>> source.sketcher.compare(source.signatures(minima), source.signatures(minima))
    array([1., 1.])
    """

    __slots__ = ("name", "options", "sketcher")

    def __init__(
        self, name: str, samples: int, *, bits: int = 8, slots: int | None = None, samples_per_slot: int = 3
    ) -> None:
        digest = hashlib.blake2b(name.encode(), digest_size=4).digest()
        self.name = name
        #: The options of `create` and `memory` for a database of these signatures.
        self.options: SchemeOptions = {
            "preset": "precise",
            "features": "ids",
            "sampler": "independent",
            "cardinality": "none",
            "samples": samples,
            "bits": bits,
            "slots": samples // samples_per_slot if slots is None else slots,
            "seed": _MARK << 32 | int.from_bytes(digest, "little"),
        }
        if self.options["slots"]:
            self.options["samples_per_slot"] = samples_per_slot
            self.options["value_bits"] = min(bits * samples_per_slot, 32)
            self.options["min_matches"] = 1
        self.sketcher = Sketcher(**self.options)

    def signatures(
        self, minima: Any, *, empty: int | None = None, threads: int | None = None, progress: Progress | None = None
    ) -> _core.Signatures:
        """The signatures of sketches: a matrix with a row of minima for each, or rows of integers.

        A row whose minima are all ``empty`` stands for the empty set.
        """
        values = _matrix(minima)
        if values.shape[1] != self.sketcher.samples and len(values):
            raise InvalidArgument(f"a row has {values.shape[1]} minima; {self.name} has {self.sketcher.samples}")
        values = values.reshape(len(values), self.sketcher.samples)
        is_empty = np.zeros(len(values), dtype=bool) if empty is None else (values == np.uint64(empty)).all(axis=1)
        samples = _mix(values) >> np.uint64(64 - self.sketcher.bits)
        return self.sketcher.from_samples(samples, empty=is_empty, threads=threads, progress=progress)

    def __repr__(self) -> str:
        return f"Source({self.name!r}, samples={self.sketcher.samples}, bits={self.sketcher.bits})"


def datasketch(sketches: Any, *, bits: int = 8) -> tuple[Source, _core.Signatures]:
    """The signatures of MinHash or LeanMinHash objects, of datasketch or of this package, or of the bytes of LeanMinHash."""
    from .datasketch import LeanMinHash

    read = [LeanMinHash.deserialize(one) if isinstance(one, (bytes, bytearray, memoryview)) else one for one in sketches]
    if not read:
        raise InvalidArgument("there are no sketches, so their scheme is not known")
    # Objects of datasketch before 2.0 do not name their scheme.
    kinds = {(getattr(one, "scheme", "legacy"), int(one.seed), len(one)) for one in read}
    if len(kinds) > 1:
        raise InvalidArgument(f"the sketches have different schemes, seeds or lengths: {sorted(kinds)}; import them apart")
    [(scheme, seed, length)] = kinds
    values = [np.asarray(one.hashvalues) for one in read]
    if any(row.ndim != 1 for row in values):
        raise InvalidArgument("weighted sketches have no minima; store the weights with a preset for weighted sets")
    source = Source(f"datasketch {scheme}, seed {seed}", length, bits=bits)
    largest = (1 << 64) - 1 if scheme == "affine64" else (1 << 32) - 1
    return source, source.signatures(np.array(values), empty=largest)


def rensa(sketches: Any, *, seed: int, bits: int = 8) -> tuple[Source, _core.Signatures]:
    """The signatures of RMinHash or CMinHash objects of rensa, or of their digests.

    A digest does not name its ``seed``, so the caller must.
    """
    rows = [one.digest() if hasattr(one, "digest") else one for one in sketches]
    if not rows:
        raise InvalidArgument("there are no sketches, so their length is not known")
    kinds = {type(one).__name__ for one in sketches if hasattr(one, "digest")}
    if len(kinds) > 1:
        raise InvalidArgument(f"the sketches are of different kinds: {', '.join(sorted(kinds))}; import them apart")
    minima = _matrix(rows)
    source = Source(f"rensa {kinds.pop() if kinds else 'RMinHash'}, seed {seed}", minima.shape[1], bits=bits)
    return source, source.signatures(minima, empty=(1 << 32) - 1)


def bands(column: Any, *, width: int = 8) -> Matrix:
    """Minima from rows of bands of bytes, as RedPajama publishes them: ``width`` bytes for each minimum, big-endian.

    >>> bands([[b"\\0\\0\\0\\1\\0\\0\\0\\2", b"\\0\\0\\0\\3"]], width=4)
    array([[1, 2, 3]], dtype=uint64)
    """
    if width not in (4, 8):
        raise InvalidArgument(f"width = {width}: a minimum has 4 or 8 bytes")
    rows = [b"".join(row) for row in _rows(column)]
    if any(len(row) != len(rows[0]) or len(row) % width for row in rows):
        raise InvalidArgument(f"the rows have different lengths, or lengths that are no multiple of {width} bytes")
    if not rows:
        return np.zeros((0, 0), dtype=np.uint64)
    return np.frombuffer(b"".join(rows), dtype=f">u{width}").astype(np.uint64).reshape(len(rows), -1)


class SourmashSketch(NamedTuple):
    """A sketch of sourmash: the hashes of a genome that are below a limit."""

    #: The name of the genome, or of its file.
    name: str
    #: The length of a k-mer.
    ksize: int
    #: What k-mers consist of, such as ``DNA``.
    moltype: str
    #: One of so many hashes is kept.
    scaled: int
    #: The seed of the hash function.
    seed: int
    #: The hashes, ascending. They are a set of ids.
    hashes: Matrix


def sourmash(path: str | os.PathLike[str], *, ksize: int | None = None) -> list[SourmashSketch]:
    """The sketches in a file of sourmash: ``.sig``, ``.sig.gz`` or a ``.zip`` of them.

    Sketches are comparable if ksize, moltype, scaled and seed are equal. Store their hashes as sets of ids, in a database with
    ``features="ids"``: ``db.put_many([s.name for s in found], sets=[s.hashes for s in found])``.
    """
    found = []
    for text in _files(path):
        try:
            genomes = json.loads(text)
            for genome in genomes:
                name = genome.get("name") or genome.get("filename") or ""
                for sketch in genome["signatures"]:
                    if ksize in (None, sketch["ksize"]):
                        found.append(_sketch(name, sketch))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, InvalidArgument):
                raise
            raise InvalidArgument(f"{os.fspath(path)} is not a file of sourmash: {error!r}") from None
    return found


def _sketch(name: str, sketch: dict[str, Any]) -> SourmashSketch:
    limit = int(sketch.get("max_hash", 0))
    if limit == 0:
        raise InvalidArgument(
            f"the sketch of {name!r} has a fixed number of hashes, which is no set that can be compared with sets of other "
            "sizes; make it with scaled="
        )
    hashes = np.unique(np.array(sketch["mins"], dtype=np.uint64))
    kind, seed = str(sketch.get("molecule", sketch.get("moltype", "DNA"))), int(sketch.get("seed", 42))
    return SourmashSketch(name, int(sketch["ksize"]), kind, round((1 << 64) / limit), seed, hashes)


def _files(path: str | os.PathLike[str]) -> Iterator[bytes]:
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                if name.endswith((".sig", ".sig.gz")):
                    yield _plain(archive.read(name))
    else:
        with open(path, "rb") as file:
            yield _plain(file.read())


def _plain(data: bytes) -> bytes:
    return gzip.decompress(data) if data.startswith(_GZIP) else data


def _rows(column: Any) -> list[Any]:
    """The rows of a list, a numpy array, or a column of pyarrow, polars or pandas."""
    for method in ("to_pylist", "to_list"):
        if hasattr(column, method):
            return list(getattr(column, method)())
    return list(column)


def _matrix(minima: Any) -> Matrix:
    """Minima as a matrix of 64-bit numbers."""
    if not isinstance(minima, np.ndarray) or minima.dtype == object:
        rows = _rows(minima)
        try:
            # With an explicit type, so that large numbers do not become floats.
            minima = np.array([np.array(row, dtype=np.uint64) for row in rows], dtype=np.uint64)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidArgument(f"minima are rows of equally many integers from 0 to 2**64 - 1: {error}") from None
        if not rows:
            minima = minima.reshape(0, 0)
    if minima.ndim != 2 or minima.dtype.kind not in "iu":
        raise InvalidArgument(f"minima are a matrix of integers, not {minima.ndim}-dimensional {minima.dtype}")
    if minima.dtype.kind == "i" and minima.size and minima.min() < 0:
        raise InvalidArgument(f"minimum {minima.min()}: minima are not negative")
    return np.asarray(minima, dtype=np.uint64)


def _mix(values: Matrix) -> Matrix:
    """A hash of each minimum and its position. Minima are small numbers, so neither their high nor low bits will do."""
    positions: NDArray[Any] = np.arange(1, values.shape[1] + 1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        mixed: NDArray[Any] = values + positions * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed = mixed ^ (mixed >> np.uint64(31))
    return mixed
