"""Schemes: a second implementation of scheme.md. Used by reader.py."""
import struct

from postings import shares
from reference import FIELDS, SAMPLERS, cardinality_code, ceil_div, signature


class Broken(Exception):
    """The bytes break a rule."""
    def __init__(self, rule, sentence):
        super().__init__(f"{rule}: {sentence}")
        self.rule = rule


def need(rule, holds, sentence):
    if not holds:
        raise Broken(rule, sentence)


class Scheme:
    def __init__(self, data):
        need("SCHEME-1", len(data) == 48, "a scheme has 48 bytes")
        (layout, kind, version, parameter, element, measure, sampler, universe, self.b, packing, self.field, self.v,
         self.k, self.slots, self.g, m, self.e, reserved, size, self.seed) = struct.unpack("<HBBIBBBBBBBBIHHHB5sQQ", data)
        need("SCHEME-2", layout == 1, f"layout version {layout} is unsupported")
        need("SCHEME-3", not any(reserved), "reserved bytes are not zero")
        need("SCHEME-4", 1 <= kind <= 7 and version == (2 if kind == 3 else 1) and element in (1, 2)
             and 1 <= measure <= 3 and 1 <= sampler <= 6 and universe in (1, 2) and packing in (1, 2) and self.field <= 4,
             "a code is unsupported")
        k, b, slots, g, v = self.k, self.b, self.slots, self.g, self.v
        need("SCHEME-5", 1 <= k <= 16384, f"k = {k}")
        need("SCHEME-6", 1 <= b <= 16, f"b = {b}")
        need("SCHEME-7", slots == g == v == m == 0
             or slots >= 1 and g >= 1 and slots * g <= k and 1 <= v <= min(32, g * b) and 1 <= m <= slots,
             "the slots do not fit the samples")
        need("SCHEME-8", size >= 2 if universe == 2 else size == 0, f"universe of {size}")
        need("SCHEME-9", (element == 1) == (kind == 1)
             and (parameter >> 17 == 0 and 1 <= parameter & 0xFFFF <= 64 if kind in (3, 4) else
                  16 <= parameter <= 65536 if kind == 5 else
                  parameter >> 16 == 0 and 1 <= (parameter & 0xFF) * (parameter >> 8) <= 64 if kind == 6
                  else parameter == 0), "the element hash or the feature parameter is impossible")
        need("SCHEME-10", universe == 1 or kind == 1, "a bounded universe needs ids")
        need("SCHEME-11", self.field != 0 if universe == 2 else self.field not in (1, 2),
             "the cardinality field does not fit the universe")
        need("SCHEME-12", universe == 1 or sampler != 1 or size // k >= max(64, 2**(b + 1)),
             "the universe is too small for one permutation")
        need("SCHEME-13", measure == {4: 2, 5: 3}.get(sampler, 1), "the sampler does not fit the measure")
        need("SCHEME-14", universe == 1 or sampler in (1, 2), "the sampler needs the open universe")
        need("SCHEME-15", measure == 1 or self.field == 0, "weighted sets have no cardinality field")
        need("SCHEME-16", b == 1 or sampler != 5 and packing == 1, "the sampler or the packing needs b = 1")
        need("SCHEME-17", packing == 1 or sampler in (2, 3, 4), "the packing does not fit the sampler")
        need("SCHEME-18", self.e == 0 or 8 <= self.e <= 64 and measure == 1, f"elements kept in {self.e} bits")
        self.sampler = next(name for name, code in SAMPLERS.items() if code == sampler) + "+xor-pairs" * (packing == 2)
        self.size = size
        self.data = data
        self.words = ceil_div(k, 64)  # W, SIG-2
        self.code_bits = (0, 4, 8, 8, 32)[self.field]

    def sketch(self, elements):
        """The cardinality code and the words of the signature of a set."""
        _, code, planes = signature(self.sampler, self.size, self.seed, self.k, self.b, FIELDS[self.field], elements)
        return code, tuple(planes)

    def code_of(self, count):
        return cardinality_code(FIELDS[self.field], self.size, count)

    def signature_pages(self, ids):
        """The number of signatures in each page. SIGP-1"""
        return shares(ids, 8 * 65512 // (64 * self.b * self.words + self.code_bits))

    def signature_bytes(self, n):
        """The length of the payload of a page of n signatures. SIGP-1"""
        return 8 * self.b * self.words * n + ceil_div(n * self.code_bits, 8)
