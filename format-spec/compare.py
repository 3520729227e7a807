"""Comparing signatures and ranking matches: a second implementation of compare.md. Used by reference.py.

    equal_samples, matching_slots   counts of two signatures
    similarity                      the estimate that queries rank by
    measures                        intersection, union, Hamming distance, containment and overlap
    query                           the keys that a query returns, best first
"""
import math

TOLERANCE = 1e-9


def ceil_div(a, b):
    return -(-a // b)


class Size:
    """The size that a cardinality code stands for, with its half width. COMPARE-4"""
    def __init__(self, value, half_width=0.0):
        self.value, self.half_width = value, half_width

    def least(self):
        """The smallest whole size."""
        return max(math.ceil(self.value - self.half_width - TOLERANCE), min(self.value, 1.0))

    def most(self):
        """The largest whole size."""
        return max(math.floor(self.value + self.half_width + TOLERANCE), self.least())

    def known(self):
        return self.least() if self.least() == self.most() else None

    def low(self):
        """The smallest real size."""
        return max(self.value - self.half_width, min(self.value, 1.0))

    def high(self):
        return self.value + self.half_width


def size_of(field, universe, code):  # COMPARE-4
    if field == "none":
        return None
    if field == "exact":
        return Size(float(code))
    if field == "log8":
        value = 2.0**((max(code, 1) - 1) / 8)
        size = Size(value, value * (2**(1 / 16) - 1))
        return size if size.known() is None else Size(float(size.known()))
    levels = 16 if field == "linear4" else 256
    step = universe / levels
    return Size((code + 0.5) * step, 0.5 * step)


# --- counts ------------------------------------------------------------------------------------------

def equal_samples(first, second, k, b):  # COMPARE-1
    words = ceil_div(k, 64)
    differ = [0] * words
    for i in range(b):
        for j in range(words):
            differ[j] |= first[i * words + j] ^ second[i * words + j]
    return k - sum(bin(word).count("1") for word in differ)


def matching_slots(first, second, within_one_bit=False):  # COMPARE-2
    return sum(bin(x ^ y).count("1") <= within_one_bit for x, y in zip(first, second))


# --- the laws ----------------------------------------------------------------------------------------

def chance(share, b):  # COMPARE-6
    if share <= 0:
        return 2.0**-b
    if share >= 1:
        return 0.0
    ln = math.log1p(-share)
    return share * math.exp((2.0**b - 1) * ln) / -math.expm1(2.0**b * ln)


class Law:
    """The probability that samples agree, and its inverse. COMPARE-5 to COMPARE-8"""
    def __init__(self, sampler, universe, b, sizes):
        sampler, _, packing = sampler.partition("+")
        self.sign, self.pairs = sampler == "sign-projection", bool(packing)
        self.c1 = self.c2 = chance(0, b)
        if universe and sizes:
            share1, share2 = (min(max(size.value / universe, 1 / universe), 1.0) for size in sizes)
            chance1, chance2 = chance(share1, b), chance(share2, b)
            self.c1 = (chance1 * share2 + chance2 * share1) / (share1 + share2)
            self.c2 = (chance1 * share1 + chance2 * share2) / (share1 + share2)

    def agreement(self, resemblance):
        p = self.c1 + (1 - self.c2) * resemblance
        return p * p + (1 - p) * (1 - p) if self.pairs else p

    def similarity(self, rate):
        if self.sign:
            return math.cos(math.pi * (1 - rate))
        p = (1 + math.sqrt(max(2 * rate - 1, 0))) / 2 if self.pairs else rate
        return (p - self.c1) / (1 - self.c2)


# --- estimates ---------------------------------------------------------------------------------------

def similarity(law, equal, k, sizes):
    """The estimate of two sets that are not empty."""
    unbiased = law.similarity(equal / k)
    if not sizes:
        return unbiased  # COMPARE-9
    first, second = sizes  # COMPARE-10
    most = min(max(min(first.most() / second.least(), second.most() / first.least()), 0.0), 1.0)
    if equal < k:
        most = min(most, 1 - 1 / max(first.most(), second.most(), 1))
    value = min(max(unbiased, 0.0), most)
    if first.known() is None or second.known() is None:
        return value
    return nearest_possible(law, value, equal, k, first.known(), second.known())


def nearest_possible(law, value, equal, k, size1, size2):  # COMPARE-11
    total, smaller = size1 + size2, min(size1, size2)
    resemblance = lambda shared: shared / (total - shared)
    below = min(max(math.floor(value / (1 + value) * total), 0), smaller)
    if below >= smaller or equal == 0:
        return resemblance(below)
    p, q = law.agreement(resemblance(below)), min(law.agreement(resemblance(below + 1)), 1.0)
    even = 1.0 if q >= 1 else 0.0
    if q < 1 and p > 0:
        less = math.log((1 - p) / (1 - q))
        even = less / (less + math.log(q / p))
    return resemblance(below + 1 if equal / k + TOLERANCE >= even else below)


def measures(resemblance, first, second):  # COMPARE-14
    """Intersection, union, Hamming distance, containment of the first and of the second set, overlap coefficient."""
    within = lambda one, other: one.high() / other.low() if other.low() > 0 else 1.0
    most = min(max(min(within(first, second), within(second, first)), 0.0), 1.0)
    r, total = min(max(resemblance, 0.0), most), first.value + second.value
    shared = r / (1 + r) * total
    return (min(shared, first.high(), second.high()), total / (1 + r), (1 - r) / (1 + r) * total,
            min(shared / first.value, 1.0), min(shared / second.value, 1.0),
            min(shared / min(first.value, second.value), 1.0))


def compare(scheme, first, second):
    """(equal samples, matching slots, similarity or None, measures or None) of two signatures. A signature is
    (empty, code, planes, slot values)."""
    sampler, universe, _, k, b, field = scheme[:6]
    equal = equal_samples(first[2], second[2], k, b)
    if first[0] or second[0]:  # COMPARE-3
        defined = not (first[0] and second[0]) and sampler != "sign-projection"
        return equal, 0, 0.0 if defined else None, None
    sizes = [size_of(field, universe, code) for _, code, _, _ in (first, second)]
    sizes = sizes if None not in sizes else None
    value = similarity(Law(sampler, universe, b, sizes), equal, k, sizes)
    return equal, matching_slots(first[3], second[3]), value, measures(value, *sizes) if sizes else None


def query(scheme, rows, own_key, least_slots, threshold, top, sets=None):
    """Keys with matching slots and similarity, best first. `rows` has signatures by key, and `sets` the sets if they are
    kept with 64 bits. COMPARE-15 to COMPARE-18"""
    reaches = lambda value: threshold is None or value + TOLERANCE >= threshold
    found = []
    for key, row in rows.items():
        if key == own_key or row[0] or rows[own_key][0]:
            continue
        _, slots, value, _ = compare(scheme, rows[own_key], row)
        if slots >= least_slots and (sets or reaches(value)):
            found.append((-value, -slots, key))
    found.sort()
    if sets:
        found = found[:max(4 * top, 32)] if threshold is None else found
        resemblance = lambda key: len(sets[own_key] & sets[key]) / len(sets[own_key] | sets[key])
        found = sorted((-resemblance(key), slots, key) for _, slots, key in found if reaches(resemblance(key)))
    return [(key, -slots, -value) for value, slots, key in found][:top]


# --- vectors -----------------------------------------------------------------------------------------

SEED = 0x52494E474552
# sampler, universe or 0, seed, k, b, cardinality field, L, g, v, m
SCHEMES = (
    ("every-bin", 0, SEED, 64, 8, "log8", 21, 3, 24, 1), ("every-bin", 0, 1, 100, 2, "exact", 10, 4, 8, 2),
    ("every-bin", 0, 2, 128, 4, "none", 32, 4, 16, 1), ("one-permutation", 0, SEED, 128, 4, "log8", 32, 4, 16, 1),
    ("independent", 0, 3, 84, 16, "none", 6, 14, 32, 2), ("lazy", 0, 4, 65, 1, "log8", 6, 10, 10, 1),
    ("lazy+xor-pairs", 0, SEED, 256, 1, "log8", 18, 14, 14, 1), ("independent+xor-pairs", 0, 5, 64, 1, "exact", 4, 8, 8, 1))
BOUNDED = (
    ("one-permutation", 20000, SEED, 100, 4, "linear4", 20, 4, 16, 1), ("one-permutation", 20000, 6, 64, 2, "exact", 0, 0, 0, 0),
    ("independent", 4000, 7, 64, 1, "linear8", 8, 6, 6, 1), ("independent", 4000, 8, 128, 4, "log8", 0, 0, 0, 0),
    ("independent+xor-pairs", 4000, 9, 128, 1, "exact", 8, 8, 8, 1))
WEIGHTED = (("weighted", 0, SEED, 64, 8, "none", 21, 3, 24, 1), ("weighted+xor-pairs", 0, 10, 64, 1, "none", 4, 8, 8, 1),
            ("sign-projection", 0, SEED, 256, 1, "none", 23, 11, 11, 1))
PAIRS = (("list:", "list:"), ("list:", "list:7"), ("list:7", "list:7"), ("list:7", "list:8"), ("list:1,2", "list:2"),
         ("range:0:3:1", "range:1:3:1"), ("range:0:10:1", "range:0:12:1"), ("range:0:13:1", "range:2:13:1"),
         ("range:0:60:1", "range:20:60:1"), ("range:0:100:1", "range:1:100:1"), ("range:0:100:1", "range:500:100:1"),
         ("range:0:30:1", "range:0:900:1"), ("range:0:2000:1", "range:200:2000:1"), ("range:0:4000:1", "range:1000:3000:1"))
WEIGHTED_PAIRS = PAIRS[:11] + (
    ("weights:1=2.0,2=1.0", "weights:1=1.0,2=2.0"), ("powers:1:40:-2:2", "powers:1:40:-2:2"),
    ("powers:1:40:-2:2", "powers:11:40:-2:2"))
VECTOR_PAIRS = WEIGHTED_PAIRS + (("weights:1=1.0,2=-3.0", "weights:1=-1.0,2=3.0"), ("signed:1:50:-2:2", "signed:11:50:-2:2"))


def number(value):
    return "-" if value is None else f"{value:.12g}"


def compare_rows(sign):
    """`sign(scheme, set)` makes the signature of a described set, with its slot values."""
    yield ("sampler", "universe", "seed", "k", "b", "cardinality", "L", "g", "v", "m", "first", "second", "equal samples",
           "matching slots", "similarity", "intersection", "union", "hamming", "containment of first", "containment of second",
           "overlap")
    for schemes, pairs in ((SCHEMES, PAIRS), (BOUNDED, PAIRS), (WEIGHTED[:2], WEIGHTED_PAIRS), (WEIGHTED[2:], VECTOR_PAIRS)):
        for scheme in schemes:
            for first, second in pairs:
                signatures = sign(scheme, first), sign(scheme, second)
                equal, slots, value, others = compare(scheme, *signatures)
                yield (scheme[0], scheme[1] or "open", *scheme[2:], first, second, equal, slots, number(value),
                       *map(number, others or [None] * 6))


def rank_rows(sign, elements_of):
    yield ("sampler", "universe", "seed", "k", "b", "cardinality", "L", "g", "v", "m", "e", "sets", "query key", "min matches",
           "threshold", "top", "matches")
    sets = {"twin": "range:0:40:1", "Twin": "range:0:40:1", "none": "list:", "query": "range:0:40:1", "nearer": "range:3:40:1",
            "far": "range:30:40:1", "further": "range:38:40:1", "off": "range:1000:40:1", "half": "range:0:20:1",
            "double": "range:0:80:1", "one": "list:3"}
    text = ";".join(f"{key}={chosen}" for key, chosen in sets.items())
    kept = {key.encode(): set(elements_of(chosen, 0)) for key, chosen in sets.items()}
    for scheme in (*SCHEMES[:2], SCHEMES[3], SCHEMES[6], *BOUNDED[:3], WEIGHTED[0], WEIGHTED[2]):
        rows = {key.encode(): sign(scheme, chosen) for key, chosen in sets.items()}
        slots = scheme[6]
        for key, least, threshold, top in (("query", scheme[9], None, 10), ("query", 0, None, 10), ("query", 0, 0.5, 3),
                                           ("query", min(3, slots), 0.3, 10), ("none", 0, None, 10)):
            for e in (0, 64) if scheme in SCHEMES else (0,):
                found = query(scheme, rows, key.encode(), least, threshold, top, kept if e else None)
                yield (scheme[0], scheme[1] or "open", *scheme[2:], e, text, key, least, number(threshold), top,
                       ";".join(f"{key.decode()},{slots},{number(value)}" for key, slots, value in found))
