#!/usr/bin/env python3
"""A second implementation of signatures and features, and the writer of the test vectors.

It follows the pages beside it. It is simple, not fast, and needs only the standard library.

    python3 reference.py            write the test vectors into vectors/
    python3 reference.py --check    make them anew and compare; exit status 1 if any byte differs

vectors/README.md describes the files.
"""
import struct
import sys
from pathlib import Path
from statistics import NormalDist

import chunks as chunked
import compare as comparing
import elements as kept_sets
import feature_cases
from hashing import (C1, ELEMENTS, G, GROUPS, M, ceil_div, key, keys, mix, normal, permutation, product, samples, unit,
                     unmix, unstir, weighted_set)
from xxh3 import xxh3

# --- signature.md ------------------------------------------------------------------------------------

def cardinality_code(field, size, f):  # SIG-5
    if field == "none":
        return 0
    if field == "linear4":
        return min(16 * f // size, 15)
    if field == "linear8":
        return min(256 * f // size, 255)
    if field == "exact":
        code, most = f, 2**32 - 1
    else:  # floor(16 log2 f) is exact in integers, and round(y) = floor((floor(2 y) + 1) / 2)
        code, most = 1 + ((f**16).bit_length() - 1 + 1) // 2, 255
    if code > most:
        raise ValueError("SIG-5: the set is too large for the field")
    return code


def signature(sampler, size, seed, k, b, field, elements):
    """(1 for the empty set or else 0, cardinality code, words of the planes). Weighted sets are a dict of weights."""
    sampler, _, packing = sampler.partition("+")
    words = ceil_div(k, 64)
    planes = [0] * (b * words)
    if sampler not in MEASURES:
        elements = set(elements)
    if not elements:  # SIG-4
        return 1, 0, planes
    drawn = samples(sampler, size, seed, 2 * k if packing else k, elements)
    if packing:  # SIG-1
        drawn = [drawn[2 * j] ^ drawn[2 * j + 1] for j in range(k)]
    for j, sample in enumerate(drawn):
        for i in range(b):  # SIG-1, SIG-2
            planes[i * words + j // 64] |= (sample >> i & 1) << j % 64
    return 0, cardinality_code(field, size, len(elements)), planes


def slot_values(planes, k, b, L, g, v):
    words = ceil_div(k, 64)
    values = []
    for s in range(L):
        bits = 0
        for j in range(g):  # SLOT-1
            sample = s * g + j
            for i in range(b):  # SLOT-2
                bits |= (planes[i * words + sample // 64] >> sample % 64 & 1) << j * b + i
        if g * b > v:  # SLOT-3
            bits = xxh3(bits.to_bytes(ceil_div(g * b, 8), "little")) >> 64 - v
        values.append(bits)
    return values


# --- scheme.md ---------------------------------------------------------------------------------------

KINDS = ("ids", "tokens", "text", "grams", "chunks", "spots", "url")
SAMPLERS = {"one-permutation": 1, "independent": 2, "lazy": 3, "weighted": 4, "sign-projection": 5,
            "every-bin": 6}
MEASURES = {"weighted": 2, "sign-projection": 3}  # 1 for the other samplers
FIELDS = ("none", "linear4", "linear8", "log8", "exact")


def scheme(features, sampler, size, seed, k, b, field, L=0, g=0, v=0, m=0):
    """The 48 bytes of a scheme. The packing may follow the sampler: lazy+xor-pairs."""
    sampler, _, packing = sampler.partition("+")
    measure = MEASURES.get(sampler, 1)
    name, parameter, plain = (features + "::").split(":")[:3]
    kind, parameter = KINDS.index(name) + 1, int(parameter or 0)
    version = 2 if name == "text" else 1
    in_range = lambda low, high: low <= parameter <= high
    fits = (parameter == 0 if name in ("ids", "tokens", "url") else
            in_range(16, 65536) if name == "chunks" else in_range(1, 64))
    if name == "spots":
        parameter = 1 | parameter << 8
    parameter |= (plain == "plain") << 16
    for rule, holds in (
            (5, 1 <= k <= 16384),
            (6, 1 <= b <= 16),
            (7, L == g == v == m == 0
                or L >= 1 and g >= 1 and L * g <= k and 1 <= v <= min(32, g * b) and 1 <= m <= L),
            (8, size == 0 or 2 <= size <= M),
            (9, fits),
            (10, not size or kind == 1),
            (11, field != "none" if size else not field.startswith("linear")),
            (12, not size or sampler != "one-permutation" or size // k >= max(64, 2**(b + 1))),
            (14, not size or sampler in ("one-permutation", "independent")),
            (15, measure == 1 or field == "none"),
            (16, b == 1 or measure != 3 and not packing),
            (17, not packing or sampler in ("independent", "lazy", "weighted"))):
        if not holds:
            raise ValueError(f"SCHEME-{rule}")
    return struct.pack("<HBBIBBBBBBBBIHHH6xQQ", 1, kind, version, parameter, 1 if kind == 1 else 2, measure,
                       SAMPLERS[sampler], 2 if size else 1, b, 2 if packing else 1, FIELDS.index(field), v, k, L, g, m,
                       size, seed)


# --- the vectors -------------------------------------------------------------------------------------

def pattern(n):
    return bytes((i * 31 + 7) % 256 for i in range(n))


def hash_rows():
    yield "what", "input", "output"
    words = (0, 1, 2, 2**27, 2**32 - 1, 2**63, M - 1, M, 0x0123456789ABCDEF, G, C1)
    for x in words:
        yield "mix", f"{x:016x}", f"{mix(x):016x}"
    for w in words:
        for i in (0, 1, 5, 16383):
            yield "key", f"{w:016x},{i}", f"{key(w, i):016x}"
    for seed in (0, 1, 0x52494E474552, M):
        for purpose in range(1, 11):
            for i in (0, 1, 127):
                yield "keys", f"{seed:016x},{purpose},{i}", f"{keys(seed, purpose, i):016x}"
    for n in (*range(21), 30, 64, 100, 128, 129, 200, 240, 241, 500, 1024, 1025, 2000):
        yield "xxh3", pattern(n).hex(), f"{xxh3(pattern(n)):016x}"


def permutation_rows():
    yield "n", "w", "images"
    for n in (1, 2, 3, 5, 8, 12, 16, 17, 30, 100, 65536, 65537, 2**32 + 5, 2**63, 2**64 - 1):
        for w in (0, 1, 0x0123456789ABCDEF, M):
            elements = range(n) if n <= 100 else (0, 1, 2, n // 2, n - 2, n - 1)
            yield n, f"{w:016x}", ",".join(str(x) for x in map(permutation(n, w), elements))


SEED = 0x52494E474552
SCHEMES = (
    ("near-duplicate", "ids", "every-bin", 0, SEED, 64, 8, "log8", 21, 3, 24, 1),
    ("precise", "ids", "every-bin", 0, SEED, 128, 4, "log8", 32, 4, 16, 1),
    ("rdc", "ids", "independent", 0, SEED, 12, 6, "none", 12, 1, 6, 1),
    ("alta-vista", "ids", "independent", 0, SEED, 84, 16, "none", 6, 14, 32, 2),
    ("bing", "ids", "independent", 0, SEED, 30, 16, "none", 6, 5, 16, 4),
    ("weighted", "ids", "weighted", 0, SEED, 64, 8, "none", 21, 3, 24, 1),
    ("cosine", "ids", "sign-projection", 0, SEED, 256, 1, "none", 23, 11, 11, 1),
    ("half-bit", "ids", "lazy+xor-pairs", 0, SEED, 256, 1, "log8", 18, 14, 14, 1),
    ("lazy", "ids", "lazy", 0, SEED, 128, 4, "log8", 32, 4, 16, 1),
    ("lazy-pairs", "text:5", "lazy+xor-pairs", 0, SEED, 256, 1, "exact", 16, 16, 16, 1),
    ("bounded-pairs", "ids", "independent+xor-pairs", 65536, 5, 16384, 1, "linear8", 0, 0, 0, 0),
    ("weighted-pairs", "tokens", "weighted+xor-pairs", 0, 5, 1, 1, "none", 1, 1, 1, 1),
    ("tokens", "tokens", "one-permutation", 0, 1, 256, 8, "exact", 64, 4, 32, 2),
    ("text", "text:5", "one-permutation", 0, SEED, 128, 4, "log8", 32, 4, 16, 1),
    ("text-longest", "text:64:plain", "independent", 0, 2, 100, 2, "none", 0, 0, 0, 0),
    ("text-shortest", "text:1", "independent", 0, M, 100, 2, "exact", 50, 2, 4, 50),
    ("grams", "grams:5", "one-permutation", 0, SEED, 64, 8, "log8", 21, 3, 24, 1),
    ("grams-plain", "grams:64:plain", "one-permutation", 0, SEED, 64, 8, "log8", 21, 3, 24, 1),
    ("chunks", "chunks:16", "independent", 0, SEED, 12, 6, "none", 12, 1, 6, 1),
    ("chunks-largest", "chunks:65536", "one-permutation", 0, SEED, 64, 8, "log8", 21, 3, 24, 1),
    ("spots", "spots:3", "one-permutation", 0, SEED, 64, 8, "log8", 21, 3, 24, 1),
    ("url", "url", "one-permutation", 0, SEED, 64, 8, "log8", 21, 3, 24, 1),
    ("bounded-one", "ids", "one-permutation", 20000, SEED, 128, 4, "linear4", 32, 4, 16, 1),
    ("bounded-independent", "ids", "independent", 65536, 3, 64, 8, "linear8", 16, 2, 16, 3),
    ("bounded-smallest", "ids", "independent", 2, 0, 1, 1, "log8", 1, 1, 1, 1),
    ("bounded-largest", "ids", "one-permutation", M, M, 16384, 16, "exact", 8192, 2, 32, 8192),
    ("bounded-tight", "ids", "one-permutation", 131072 * 12, 4, 12, 16, "linear8", 0, 0, 0, 0),
    ("one-permutation", "ids", "one-permutation", 0, SEED, 64, 8, "log8", 21, 3, 24, 1),
    ("every-bin-largest", "text:5", "every-bin", 0, M, 16384, 16, "exact", 8192, 2, 32, 8192),
    ("no-slots", "ids", "one-permutation", 0, 0, 200, 1, "none", 0, 0, 0, 0),
    ("no-slots-largest", "tokens", "independent", 0, M, 16384, 16, "exact", 0, 0, 0, 0),
    ("one-slot", "ids", "one-permutation", 0, 2**63, 65, 3, "log8", 1, 65, 32, 1),
)


def scheme_rows():
    yield ("name", "features", "sampler", "universe", "seed", "k", "b", "cardinality", "L", "g", "v", "m",
           "bytes", "fingerprint")
    for name, features, sampler, size, *rest in SCHEMES:
        data = scheme(features, sampler, size, *rest)
        yield name, features, sampler, size or "open", *rest, data.hex(), f"{xxh3(data):016x}"


def elements_of(description, size):
    """The elements of a described set (vectors/README.md). `size` is D."""
    kind, _, rest = description.partition(":")
    if kind == "list":
        return [int(x) for x in rest.split(",") if x]
    start, count, *step = map(int, rest.split(":"))
    if kind == "range":
        return [start + i * step[0] & M for i in range(count)]
    return [mix(start + i & M) % (size if kind == "mixedmod" else 2**64) for i in range(count)]


def signature_cases():
    """sampler, D or 0 for the open universe, seed, k, b, cardinality field, set"""
    one, independent = "one-permutation", "independent"
    # Both samplers and universes with all sizes. The other parameters are pseudo-random.
    case = 0
    for f, rounds in ((0, 1), (1, 3), (2, 3), (3, 3), (5, 3), (20, 3), (100, 3), (1000, 2)):
        for sampler in (one, independent) * rounds:
            for bounded in (False, True):
                case += 1
                random = (keys(case, 1, i) for i in range(9))
                seed = (SEED, 0, M, next(random))[next(random) % 4]
                k = (1, 12, 64, 65, 100, 128, 200, 256)[next(random) % 8]
                b = (1, 2, 4, 6, 8, 16)[next(random) % 6]
                field = FIELDS[1 + next(random) % 4] if bounded else ("none", "log8", "exact")[next(random) % 3]
                size = k * max(64, 2**(b + 1)) + (0, 1, k - 1, 12345, 2**32, 2**63)[next(random) % 6]
                top = size - 1 if bounded else M
                if f <= 5:
                    chosen = "list:" + ",".join(str(x) for x in (0, top, 7, top // 2, top // 3)[:f])
                else:
                    chosen = f"mixedmod:{case}:{f}" if bounded else f"mixed:{case}:{f}"
                if f == 20 and not bounded:
                    chosen = f"range:{M - 5}:{f}:{2**40 + case}"
                yield sampler, size if bounded else 0, seed, k, b, field, chosen
    # The hash 2^64 - 1 (SAMPLE-4): alone, with another hash in the last bin, and with one in another bin.
    for seed, k, b in ((SEED, 128, 4), (0, 1, 16), (M, 12, 6)):
        top, below, other = (unstir(h) ^ keys(seed, ELEMENTS, 0) for h in (M, M - 1, 2**62))
        for chosen in (top,), (top, below), (top, other), (other, top, below), (other,):
            yield one, 0, seed, k, b, "exact", "list:" + ",".join(map(str, chosen))
        yield independent, 0, seed, k, b, "none", f"list:{top}"
    # Hashes on both sides of the borders of bins, and hash 0.
    for k in (3, 100, 200):
        limits = [ceil_div(i * 2**64, k) - d for i in (1, k // 2, k - 1) for d in (0, 1)]
        chosen = (unstir(h) ^ keys(5, ELEMENTS, 0) for h in [0] + limits)
        yield one, 0, 5, k, 8, "log8", "list:" + ",".join(map(str, chosen))
    # Repeats.
    for sampler in (one, independent):
        yield sampler, 0, SEED, 64, 4, "exact", "list:9,9,9,3,9,3"
        yield sampler, 0, SEED, 64, 4, "exact", "range:9:100:9223372036854775808"
        yield sampler, 8192, SEED, 64, 4, "exact", "mixedmod:0:8192"
    # Dense and full bounded universes, where k divides D or not. The smallest and largest universes.
    for size, k, b, field, chosen in (
            (65536, 128, 8, "linear8", "range:0:32768:2"), (65536, 256, 6, "linear4", "range:32768:32768:1"),
            (20000, 128, 4, "linear4", "range:1:10000:2"), (20000, 128, 4, "log8", "mixedmod:77:10000"),
            (20000, 100, 4, "linear8", "range:0:20000:1"), (6431, 100, 5, "exact", "range:0:6431:1"),
            (6431, 100, 5, "linear8", "range:0:6430:1"), (64, 1, 1, "linear4", "range:0:63:1"),
            (M, 200, 16, "linear8", f"list:0,{M - 1}"), (M, 65, 6, "exact", "mixedmod:5:100")):
        yield one, size, SEED, k, b, field, chosen
    for size, k, b, field, chosen in (
            (65536, 12, 6, "linear8", "range:0:32768:2"), (20000, 12, 16, "linear4", "range:1:10000:2"),
            (2, 65, 1, "exact", "list:1"), (2, 65, 1, "linear4", "list:0,1"), (3, 100, 2, "linear8", "list:0,2"),
            (100, 200, 8, "log8", "range:0:50:2"), (M, 64, 16, "linear4", f"list:0,1,{M - 1}")):
        yield independent, size, SEED, k, b, field, chosen
    yield from lazy_cases()
    yield from every_bin_cases()
    # XOR of pairs.
    for k in (1, 2, 31, 64, 100):
        for f in (0, 1, 3, 50):
            yield "independent+xor-pairs", 0, SEED + k, k, 1, "none", f"mixed:{k}:{f}"
        yield "independent+xor-pairs", 1000 + k, 7, k, 1, "linear8", f"mixedmod:{k}:40"


def lazy_cases():
    """The same for the lazy sampler, with k near the sizes of its groups."""
    for case, k in enumerate((1, 2, 3, 31, 127, 128, 129, 200, 256, 300)):
        b, field = (1, 2, 4, 6, 8, 16)[case % 6], ("none", "log8", "exact")[case % 3]
        for f in (0, 1, 2, 5, 20, 100, 500, 2000):
            if f != 2000 or k in (2, 128, 200):
                yield "lazy", 0, (SEED, M, case)[f % 3], k, min(b, 4 if f > 20 else b), field, f"mixed:{case}:{f}"
        for f in (0, 1, 7, 300):
            if k in (1, 2, 31, 64, 65, 128, 200):
                yield "lazy+xor-pairs", 0, SEED + case, k, 1, field, f"range:{case}:{f}:{2**61 + 1}"
    yield "lazy", 0, SEED, 128, 4, "exact", "list:9,9,9,3,9,3"
    # The greatest draw claims the most samples (SAMPLE-8), and the least draw claims none.
    for k in (1, 2, 31, 128, 129):
        for d in (M, 0):
            x = unstir(unmix(d) ^ keys(SEED, GROUPS, 0)) ^ keys(SEED, ELEMENTS, 0)
            yield "lazy", 0, SEED, k, 16, "none", f"list:{x}"
            yield "lazy", 0, SEED, k, 4, "none", f"list:{x},1,2,3"


def every_bin_cases():
    """The same for the sampler every bin: k near powers of two and with fewer orders, sets with about k elements and more."""
    for case, k in enumerate((1, 2, 3, 12, 63, 64, 65, 100, 128, 200, 256, 257, 1000)):
        b, field = (1, 2, 4, 8, 16)[case % 5], ("none", "log8", "exact")[case % 3]
        for f in (0, 1, 2, 5, 20, 50, 127, 128, 200, 500, 3000):
            if f <= 2 or f == 200 or k in (3, 64, 65, 128):
                yield "every-bin", 0, (SEED, M, case)[f % 3], k, min(b, 2 if f > 2 else b), field, f"mixed:{case}:{f}"
    yield "every-bin", 0, 1, 4097, 2, "none", "mixed:0:3"
    yield "every-bin", 0, 2, 16384, 1, "none", "mixed:0:2"
    yield "every-bin", 0, 3, 16384, 1, "none", "mixed:0:150"
    for f in (7, 300):
        yield "every-bin", 0, SEED, 64, 8, "log8", f"range:5:{f}:1"
    yield "every-bin", 0, SEED, 128, 4, "exact", "list:9,9,9,3,9,3"
    yield "every-bin", 0, SEED, 64, 16, "exact", "range:9:1000:9223372036854775808"
    # The hash 2^64 - 1, which SAMPLE-12 replaces by 2^64 - 2, and hash 0.
    for seed, k in ((SEED, 128), (0, 1), (M, 12)):
        top, below, last, zero = (unstir(h) ^ keys(seed, ELEMENTS, 0) for h in (M, M - 1, M - 2, 0))
        for chosen in (top,), (below,), (top, below), (top, last), (top, zero), (zero,):
            yield "every-bin", 0, seed, k, 16, "exact", "list:" + ",".join(map(str, chosen))
        for x in (top, last):
            # The other elements visit all bins but the last at time 0.
            lower = (unstir((2 * i + 1) * 2**64 // (2 * k)) ^ keys(seed, ELEMENTS, 0) for i in range(k - 1))
            yield "every-bin", 0, seed, k, 16, "exact", "list:" + ",".join(map(str, [*lower, x]))


def weights_of(description):
    """Pairs of element and weight of a described set."""
    kind, _, rest = description.partition(":")
    if kind == "weights":
        pairs = (pair.split("=") for pair in rest.split(",") if pair)
        return [(int(x), float(weight)) for x, weight in pairs]
    if kind not in ("powers", "signed"):
        return [(x, 1.0) for x in elements_of(description, 0)]
    start, count, low, high = map(int, rest.split(":"))
    pairs = []
    for i in range(count):
        v = mix(start + count + i & M)
        weight = (1 + v % 2**52 / 2**52) * 2.0**(low + (v >> 52) % 2**11 % (high - low + 1))
        pairs.append((mix(start + i & M), -weight if kind == "signed" and v >= 2**63 else weight))
    return pairs


def weighted_cases():
    """sampler, seed, k, b, set"""
    def listed(*pairs):
        return "weights:" + ",".join(f"{x}={weight!r}" for x, weight in pairs)
    # One element with many weights: only the level matters.
    for weight in (1.0, 0.5, 2.0, 3.0, 0.1, 2.718281828459045, 1000.0, 1e-300, 1e300, 5e-324, 2.2250738585072014e-308,
                   1.7976931348623157e308, 0.9999999999999999, 1.0000000000000002):
        yield "weighted", SEED, 31, 8, listed((7, weight))
    for k in (1, 2, 31, 64, 128, 129, 200):
        b = (1, 2, 4, 8, 16)[k % 5]
        for f, low, high in ((0, 0, 0), (1, -3, 3), (2, 0, 0), (5, -1000, 1000), (60, -10, 10), (100, -1, 1)):
            yield "weighted", (SEED, 0, M, k)[f % 4], k, b, f"powers:{k}:{f}:{low}:{high}"
    for f in (500, 2000):
        yield "weighted", SEED, 31, 8, f"powers:1:{f}:-20:20"
    yield "weighted", SEED, 64, 8, listed(*((x, (x % 7 + 1.0)) for x in range(40)))  # integers
    yield "weighted", SEED, 64, 8, listed((1, 1e-300), (2, 1e300), (3, 1.0), (4, 5e-324))
    for chosen in ("list:9,9,9,3,9,3", "range:9:100:9223372036854775808", "list:0", f"list:{M},0", "mixed:5:200"):
        yield "weighted", SEED, 64, 4, chosen  # multiplicities
        yield "sign-projection", SEED, 64, 1, chosen
    repeats = listed((1, 0.1), (2, 3.5), (1, 0.2), (1, 0.3), (2, 1e-17), (1, 1e16))  # WEIGHT-2
    yield "weighted", SEED, 64, 8, repeats
    yield "sign-projection", SEED, 64, 1, repeats
    for k in (1, 2, 31, 64, 100):
        for f in (0, 1, 40):
            yield "weighted+xor-pairs", SEED + k, k, 1, f"powers:{k}:{f}:-8:8"
    for k in (1, 2, 31, 64, 128, 129, 200, 256):
        for f, low, high in ((0, 0, 0), (1, -3, 3), (2, 0, 0), (3, -1022, 1023), (10, -2, 2), (100, -10, 10)):
            yield "sign-projection", (SEED, 0, M, k)[f % 4], k, 1, f"signed:{k}:{f}:{low}:{high}"
    yield "sign-projection", SEED, 64, 1, "signed:1:2000:-20:20"
    for chosen in (((1, 0.0),), ((1, 2.0), (1, -2.0)), ((1, -0.0), (2, 0.0)), ((1, 2.0), (2, -1.0), (1, -2.0)),
                   ((1, 5e-324), (2, -5e-324)), ((1, -5e-324),), ((1, 1.5e-310), (2, -4e-310), (3, 3e-320)),
                   ((1, 1.7e308), (2, -1.7e308), (3, 1e300)), ((1, 1e300), (2, 1e-300)), ((1, 1e300), (2, -5e-324)),
                   ((5, 3.0), (6, 4.0)), ((5, -3.0), (6, -4.0)), ((5, 3e200), (6, 4e200)),
                   ((1, 1e16), (1, -1e16), (1, 0.5))):
        yield "sign-projection", SEED, 128, 1, listed(*chosen)


def weighted_rows():
    yield "sampler", "seed", "k", "b", "set", "empty", "planes"
    for sampler, seed, k, b, chosen in weighted_cases():
        scheme("ids", sampler, 0, seed, k, b, "none")
        weights = weighted_set(sampler.partition("+")[0], weights_of(chosen))
        empty, _, planes = signature(sampler, 0, seed, k, b, "none", weights)
        yield sampler, seed, k, b, chosen, empty, "".join(f"{word:016x}" for word in planes)


def described_signature(scheme_of, description):
    """(empty, code, planes, slot values) of a described set, for the vectors of compare.py."""
    sampler, size, seed, k, b, field, L, g, v, m = scheme_of
    scheme("ids", sampler, size, seed, k, b, field, L, g, v, m)  # refuses what breaks a rule
    elements = (weighted_set(sampler.partition("+")[0], weights_of(description)) if sampler.partition("+")[0] in MEASURES
                else elements_of(description, size))
    empty, code, planes = signature(sampler, size, seed, k, b, field, elements)
    return empty, code, planes, slot_values(planes, k, b, L, g, v)


def number_rows():
    yield "what", "word", "double"
    middle = [0x8000000000000000 + d for d in (-1, 0, 2**11, 2**12)]
    edges = [int(limit * 2**52 + d) << 12 for limit in (0.075, 0.925) for d in (-1, 0, 1)]  # the borders of the central region
    far = [mix(i) >> 64 - s for i, s in enumerate((1, 2, 12, 20, 24, 28, 29, 30, 40, 60))]  # y = 5 is 2^-36
    for w in [0, 1, M, M - 1, 2**32 - 1, 2**32, *middle, *edges, *far, *(M - w for w in far), *map(mix, range(40))]:
        for what, made in (("unit", unit), ("product", product), ("normal", normal)):
            yield what, f"{w:016x}", struct.pack(">d", made(w)).hex()
        # Python has the algorithm, too.
        assert abs(normal(w) - NormalDist().inv_cdf(unit(w))) <= 1e-14 * abs(normal(w)), w


def signature_rows():
    yield "sampler", "universe", "seed", "k", "b", "cardinality", "set", "empty", "code", "planes"
    for sampler, size, seed, k, b, field, chosen in signature_cases():
        scheme("ids", sampler, size, seed, k, b, field)  # refuses what breaks a rule
        empty, code, planes = signature(sampler, size, seed, k, b, field, elements_of(chosen, size))
        yield (sampler, size or "open", seed, k, b, field, chosen, empty, code,
               "".join(f"{word:016x}" for word in planes))


SHAPES = ((64, 8, 21, 3, 24), (128, 4, 32, 4, 16), (128, 4, 42, 3, 12), (128, 6, 42, 3, 18), (12, 6, 12, 1, 6),
          (84, 16, 6, 14, 32), (30, 16, 6, 5, 16), (200, 1, 20, 10, 10), (64, 8, 64, 1, 8), (65, 3, 9, 7, 21), (65, 3, 9, 7, 20),
          (100, 9, 33, 3, 27), (100, 11, 12, 8, 32), (1, 1, 1, 1, 1), (7, 7, 1, 7, 32), (256, 16, 2, 128, 31))


def slot_rows():
    yield "k", "b", "L", "g", "v", "set", "values"
    for k, b, L, g, v in SHAPES:
        for chosen in ("list:7", "mixed:3:20", "mixed:4:500"):
            one = "one-permutation"
            scheme("ids", one, 0, SEED, k, b, "none", L, g, v, 1)
            _, _, planes = signature(one, 0, SEED, k, b, "none", elements_of(chosen, 0))
            values = slot_values(planes, k, b, L, g, v)
            yield k, b, L, g, v, chosen, ",".join(map(str, values))


def cardinality_rows():
    yield "field", "universe", "f", "code"
    for field, steps in (("linear4", 16), ("linear8", 256)):
        for size in (2, 3, 16, 100, 255, 256, 257, 20000, 65536, 2**32 + 5, M):
            limits = {ceil_div(c * size, steps) - d for c in (1, steps // 2, steps - 1, steps) for d in (0, 1)}
            for f in sorted(limits | {1}):
                if 1 <= f <= size:
                    yield field, size, f, cardinality_code(field, size, f)
    for field in ("none", "exact"):
        for f in (1, 2, 255, 256, 65536, 2**32 - 1):
            yield field, "open", f, cardinality_code(field, 0, f)
    yield "exact", M, 2**32 - 1, 2**32 - 1
    limits = {1, 3771522796}  # the smallest f of each code (f^16 > 2^(2 * code - 3)), and the f before it
    for code in range(2, 256):
        f = int(2 ** ((code - 1.5) / 8)) - 1
        while f**16 < 2**(2 * code - 3):  # never equal
            f += 1
        limits |= {f - 1, f}
    for f in sorted(limits):
        yield "log8", "open", f, cardinality_code("log8", 0, f)
    yield "log8", 2**32 + 5, 3771522796, cardinality_code("log8", 2**32 + 5, 3771522796)


def main():
    makers = {"hash": hash_rows, "permutation": permutation_rows, "scheme": scheme_rows,
              "signature": signature_rows, "weighted": weighted_rows, "numbers": number_rows, "slot": slot_rows, "cardinality": cardinality_rows,
              "features": feature_cases.rows, "elements": lambda: kept_sets.rows(elements_of),
              "compare": lambda: comparing.compare_rows(described_signature),
              "rank": lambda: comparing.rank_rows(described_signature, elements_of),
              "rabin": lambda: chunked.rabin_rows(xxh3), "chunks": lambda: chunked.chunk_rows(xxh3)}
    files = {f"{name}.tsv": ("#" + "".join("\t".join(map(str, row)) + "\n" for row in rows())).encode()
             for name, rows in makers.items()}
    folder = Path(__file__).resolve().parent / "vectors"
    if sys.argv[1:] == ["--check"]:
        found = {path.name: path.read_bytes() for path in folder.glob("*.tsv")}
        wrong = [name for name in sorted(files.keys() | found.keys()) if files.get(name) != found.get(name)]
        for name in wrong:
            print(f"{folder / name}: differs from what reference.py makes", file=sys.stderr)
        return 1 if wrong else 0
    if sys.argv[1:]:
        print(__doc__, file=sys.stderr)
        return 2
    folder.mkdir(exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
