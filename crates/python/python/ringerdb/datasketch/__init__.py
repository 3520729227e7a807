"""The interface of datasketch 2.0: a program changes its import, and nothing else.

>>> from ringerdb.datasketch import MinHash, MinHashLSH
>>> sketches = MinHash.bulk([[b"a", b"b", b"c"], [b"a", b"b", b"c"], [b"x", b"y"]], num_perm=128)
>>> index = MinHashLSH(threshold=0.8, num_perm=128)
>>> for key, sketch in enumerate(sketches):
...     index.insert(key, sketch)
>>> sorted(index.query(sketches[0]))
[0, 1]

Sketches have the hash values of datasketch, so those that it stored can be used. An index can live in one file:
``MinHashLSH(.., storage_config={"type": "file", "path": "index.ringer"})``. Redis, Cassandra, GPUs, HyperLogLog, HNSW and
Bloom filters are not provided.
"""

from __future__ import annotations

from .b_bit_minhash import bBitMinHash
from .hashfunc import sha1_hash32, sha1_hash64
from .lean_minhash import LeanMinHash
from .lsh import MinHashLSH
from .lshensemble import MinHashLSHEnsemble
from .lshforest import MinHashLSHForest
from .minhash import MinHash
from .refusals import NotSupported
from .weighted_minhash import WeightedMinHash, WeightedMinHashGenerator

WeightedMinHashLSH = MinHashLSH
WeightedMinHashLSHForest = MinHashLSHForest

__all__ = [
    "LeanMinHash",
    "MinHash",
    "MinHashLSH",
    "MinHashLSHEnsemble",
    "MinHashLSHForest",
    "NotSupported",
    "WeightedMinHash",
    "WeightedMinHashGenerator",
    "WeightedMinHashLSH",
    "WeightedMinHashLSHForest",
    "bBitMinHash",
    "sha1_hash32",
    "sha1_hash64",
]
