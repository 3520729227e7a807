"""Kept sets: a second implementation of elements.md. Used by reader.py, and by reference.py for the vectors.

    kept(seed, e, elements)   what a scheme keeps of a set (SIG-7)
    encode(e, elements)       an encoded set
    Sets                      the region of sets of a segment, checked against its signatures
"""
from hashing import M, ceil_div, keys, mix

KEPT = 15  # the purpose of HASH-3
SETS, SETS_DIRECTORY = 16, 17
GROUP = 32
MOST = 2**23
BYTES_PER_PAGE, STARTS_PER_PAGE = 8168, 1633


def kept(seed, e, elements):
    """The distinct elements, or the low bits of their hashes, in ascending order. SIG-7"""
    if e == 64:
        return sorted(set(elements))
    return sorted({mix(x ^ keys(seed, KEPT, 0)) % 2**e for x in elements})


def encode(e, elements):
    data, n = bytearray(), len(elements)
    while n >= 128:
        data.append(n & 127 | 128)
        n >>= 7
    data.append(n)
    if elements:
        data += elements[0].to_bytes(ceil_div(e, 8), "little")
    gaps = [b - a - 1 for a, b in zip(elements, elements[1:])]
    for start in range(0, len(gaps), GROUP):
        block = gaps[start:start + GROUP]
        w = max(block).bit_length()
        packed = sum(gap << i * w for i, gap in enumerate(block))
        data += bytes([w]) + packed.to_bytes(ceil_div(w * len(block), 8), "little")
    return bytes(data)


def decode(data, at, e, limit, need):
    """The set that starts at byte `at`, and where it ends. Elements must be below the limit."""
    def take(count):
        nonlocal at
        need("KEPT-1", at + count <= len(data), "a set is shorter than it says")
        at += count
        return data[at - count:at]

    n = shift = 0
    while True:
        byte, = take(1)
        n |= (byte & 127) << shift
        shift += 7
        if byte < 128 or shift == 28:
            break
    need("KEPT-2", byte < 128 and (byte or shift == 7) and n <= MOST, "the number of elements is impossible")
    if n == 0:
        return [], at
    elements = [int.from_bytes(take(ceil_div(e, 8)), "little")]
    need("KEPT-4", elements[0] < limit, "an element is too large")
    while len(elements) < n:
        count = min(GROUP, n - len(elements))
        w, = take(1)
        need("KEPT-3", w <= 64, f"gaps of {w} bits")
        packed = int.from_bytes(take(ceil_div(w * count, 8)), "little")
        gaps = [packed >> i * w & 2**w - 1 for i in range(count)]
        need("KEPT-3", packed >> count * w == 0 and max(gaps).bit_length() == w, "the width of a group")
        for gap in gaps:
            elements.append(elements[-1] + gap + 1)
            need("KEPT-4", elements[-1] < limit, "an element is too large")
    return elements, at


def shares(count, each):
    return [min(each, count - start) for start in range(0, count, each)]


def page_bytes(payload):
    return ceil_div(24 + payload, 64) * 64


class Sets:
    def __init__(self, segment, length, set_bytes, need):
        """For a segment whose header was read. `sets` is its region of sets, which has this length."""
        self.segment, self.need = segment, need
        self.pages, self.starts = shares(set_bytes, BYTES_PER_PAGE), shares(segment.ids, STARTS_PER_PAGE)
        need("KEPT-5", set_bytes >= segment.ids and length == sum(map(page_bytes, self.pages)) + sum(
            page_bytes(5 * n) for n in self.starts), "the region of sets has the wrong length")

    def read(self, sketch, code_of):
        """The elements of each id. `sketch` gives the code and the words of a set, and `code_of` the code of a size."""
        segment, need, scheme = self.segment, self.need, self.segment.scheme
        pages = lambda counts, kind, number: segment.database.pages(
            segment.sets, counts, kind, segment.entry.id, number)
        payloads, number = pages(self.pages, SETS, 0)
        for payload, count in zip(payloads, self.pages):
            need("KEPT-6", len(payload) == count, "a page of sets has the wrong length")
        data, starts = b"".join(payloads), []
        payloads, _ = pages(self.starts, SETS_DIRECTORY, number)
        for payload, count in zip(payloads, self.starts):
            need("KEPT-7", len(payload) == 5 * count, "a directory page of sets has the wrong length")
            starts += [int.from_bytes(payload[i:i + 5], "little") for i in range(0, len(payload), 5)]
        need("KEPT-7", starts[0] == 0 and all(a < b for a, b in zip(starts, [*starts[1:], len(data)])),
             "the starts of sets are wrong")
        limit = scheme.size if scheme.size and scheme.e == 64 else 2**scheme.e
        found = []
        for i, (start, end) in enumerate(zip(starts, [*starts[1:], len(data)])):
            elements, at = decode(data[:end], start, scheme.e, limit, need)
            need("KEPT-8", at == end, "a set does not end where the next one starts")
            need("KEPT-9", bool(elements) != (i == segment.empty_id),
                 "the empty set has elements, or another set has none")
            found.append(elements)
        for elements, (_, code, words) in zip(found, segment.signatures()):
            if scheme.e == 64:
                need("KEPT-10", (code, tuple(words)) == sketch(elements), "a signature does not belong to its elements")
            else:
                need("KEPT-10", not elements or code_of(len(elements)) <= code,
                     "a set has more elements than its cardinality code allows")
        return found


def rows(elements_of):
    """The rows of elements.tsv."""
    yield "seed", "element bits", "set", "kept", "bytes"
    sets = ["list:", "list:5", "list:10,11,14,18", f"list:0,{M}", f"list:{M}", "list:9,3,9", "range:0:130:1", "range:7:33:1",
            "range:7:34:1", "range:1000:100:1000", "mixed:0:8", "mixed:5:300", "range:0:200:92233720368547758"]
    for seed, e in ((0, 64), (0, 8), (1, 13), (0x52494E474552, 20), (M, 32), (5, 63)):
        for description in sets:
            found = kept(seed, e, elements_of(description, 0))
            yield seed, e, description, ",".join(map(str, found)), encode(e, found).hex()
