"""The postings of a segment, checked against its signatures: postings.md, for reader.py.

Lists are put together from the pages by the rules of the page alone, and then compared with those that the
signatures give.
"""
import struct

from reference import ceil_div, slot_values

DIRECTORY, SHORT, TABLE, LIST = range(8, 12)
ROOM = 8168
BUCKETS, BLOCK = 60 * 127, 60
LISTS_PER_PAGE = 510
LONG = 255


def shares(count, each):
    return [min(each, count - start) for start in range(0, count, each)]


def page_bytes(payload):
    return ceil_div(24 + payload, 64) * 64


def numbers(data, count, bits):
    """So many numbers of so many bits, and whether the bits after them are zero."""
    stream = int.from_bytes(data, "little")
    return [stream >> i * bits & 2**bits - 1 for i in range(count)], stream >> count * bits == 0


class Shape:
    def __init__(self, scheme, n):
        self.L, self.v, self.n = scheme.slots, scheme.v, n
        self.id_bits = (n - 1).bit_length()
        self.h = min(self.v, max(0, n.bit_length() - 1 - 3))
        self.low = self.v - self.h
        self.w = self.low + self.id_bits
        self.buckets = self.L << self.h
        self.short_per_page = 8 * ROOM // self.w if self.L else 1

    def bytes(self, short, lists):
        """Length of the directory, the short pages and the list table."""
        return (sum(page_bytes(8 + 64 * ceil_div(n, BLOCK)) for n in shares(self.buckets, BUCKETS))
                + sum(page_bytes(ceil_div(n * self.w, 8)) for n in shares(short, self.short_per_page))
                + sum(page_bytes(16 * n) for n in shares(lists, LISTS_PER_PAGE)))


class Postings:
    def __init__(self, segment, need):
        """Of a segment whose header was read: `postings` is its region, `short` and `lists` are its counts."""
        self.segment, self.need = segment, need
        shape = self.shape = Shape(segment.scheme, segment.ids)
        length = segment.postings[1] - segment.postings[0]
        fixed = shape.bytes(segment.short, segment.lists)
        sets = segment.ids - (segment.empty_id < segment.ids)
        if segment.lists:
            holds = length >= fixed + 64 * segment.lists and segment.short < shape.L * sets
        else:
            holds = length == fixed and segment.short == shape.L * sets
        need("POST-1", holds, "the postings have another length than their counts give")

    def pages(self, counts, kind, number):
        return self.segment.database.pages(self.segment.postings, counts, kind, self.segment.entry.id, number)

    def check(self, signatures):
        lengths, number = self.directory()
        entries, number = self.short(lengths, number)
        lists = self.lists(number)
        if self.shape.L:
            self.compare(signatures, lengths, entries, lists)

    def directory(self):
        """The length of each bucket."""
        need, lengths, before = self.need, [], 0
        counts = shares(self.shape.buckets, BUCKETS)
        payloads, number = self.pages(counts, DIRECTORY, 0)
        for count, payload in zip(counts, payloads):
            blocks = ceil_div(count, BLOCK)
            need("POST-2", len(payload) == 8 + 64 * blocks, "the length of a directory page")
            first, = struct.unpack_from("<Q", payload)
            need("POST-3", first == before, "the first entry of a directory page")
            own = []
            for at in range(8, len(payload), 64):
                start, = struct.unpack_from("<I", payload, at)
                need("POST-3", start == sum(n for n in own if n != LONG), "the start of a directory block")
                own += payload[at + 4:at + 64]
            need("POST-2", not any(own[count:]), "bytes past the last bucket")
            lengths += own[:count]
            before += sum(n for n in own if n != LONG)
        need("POST-3", before == self.segment.short, "the number of short entries")
        return lengths, number

    def short(self, lengths, number):
        """The entries of each bucket."""
        need, shape = self.need, self.shape
        counts = shares(self.segment.short, shape.short_per_page)
        payloads, number = self.pages(counts, SHORT, number)
        stream = []
        for count, payload in zip(counts, payloads):
            need("POST-4", len(payload) == ceil_div(count * shape.w, 8), "the length of a short page")
            own, zero = numbers(payload, count, shape.w)
            need("POST-4", zero, "bits past the last short entry")
            stream += own
        need("POST-5", all(entry & 2**shape.id_bits - 1 < shape.n for entry in stream), "an id past the last")
        entries, at = [], 0
        for length in lengths:
            length = 0 if length == LONG else length
            own = stream[at:at + length]
            need("POST-5", all(a < b for a, b in zip(own, own[1:])), "entries of a bucket that do not rise")
            entries.append(own)
            at += length
        return entries, number

    def lists(self, number):
        """{(slot, value): ids} of the long lists."""
        need, shape = self.need, self.shape
        counts = shares(self.segment.lists, LISTS_PER_PAGE)
        payloads, number = self.pages(counts, TABLE, number)
        table = []
        for count, payload in zip(counts, payloads):
            need("POST-6", len(payload) == 16 * count, "the length of a page of the list table")
            table += struct.iter_unpack("<HHIII", payload)
        end = self.segment.postings[1] - self.segment.postings[0]
        for slot, zero, value, length, page in table:
            need("POST-6", zero == 0 and slot < shape.L and value < 2**shape.v and 1 <= length <= shape.n
                 and number <= page and 64 * page < end, "an entry of the list table")
        need("POST-6", all((a[0], a[2]) < (b[0], b[2]) and a[4] < b[4] for a, b in zip(table, table[1:])),
             "the order of the list table")
        found = {}
        for slot, _, value, length, page in table:
            need("POST-9", page == number, "a list that does not follow the one before")
            ids, full = [], None
            while len(ids) < length:
                own, whole, size = self.list_page(number, (slot, value))
                need("POST-9", not ids or ids[-1] < own[0], "a page that does not start above the one before")
                if full is not None:
                    self.check_full(*full, ids[-1], own)
                ids += own
                full = (size, len(own))
                number += whole // 64
            need("POST-9", len(ids) == length, "the pages of a list do not add up")
            found[slot, value] = ids
        need("POST-9", 64 * number == end or not shape.L, "bytes behind the last list")
        return found

    def list_page(self, number, of):
        """Ids of a page, its length, and that of its payload."""
        need, shape = self.need, self.shape
        need("POST-9", self.segment.postings[0] + 64 * number < self.segment.postings[1], "a list past the end")
        payload, whole = self.segment.database.page(self.segment.postings, number, LIST, self.segment.entry.id)
        need("POST-7", len(payload) >= 16, "no room for the start of a list page")
        slot, zero, value, count, base = struct.unpack_from("<HHIII", payload)
        blocks, left = divmod(count, 128)
        bits = payload[16:16 + blocks]
        need("POST-7", zero == 0 and count >= 1 and slot < shape.L and value < 2**shape.v and len(bits) == blocks
             and all(b <= 32 for b in bits), "the start of a list page")
        need("POST-7", len(payload) == 16 + blocks + 16 * sum(bits) + ceil_div(left * shape.id_bits, 8),
             "the length of a list page")
        ids, at = [], 16 + blocks
        for b in bits:
            words = struct.unpack_from(f"<{4 * b}I", payload, at)
            lanes = [sum(word << 32 * j for j, word in enumerate(words[lane::4])) for lane in range(4)]
            gaps = [lanes[i % 4] >> i // 4 * b & 2**b - 1 for i in range(128)]
            need("POST-8", max(gaps).bit_length() == b, "a block with more bits than it needs")
            need("POST-8", ids or gaps[0] == 0, "the first id is not the base")
            for gap in gaps:
                ids.append(ids[-1] + gap + 1 if ids else base)
            at += 16 * b
        tail, zero = numbers(payload[at:], left, shape.id_bits)
        ids += tail
        need("POST-8", zero and ids[0] == base and all(a < b for a, b in zip(ids, ids[1:])) and ids[-1] < shape.n,
             "the ids of a list page")
        need("POST-9", (slot, value) == of, "a page of another list")
        return ids, whole, len(payload)

    def check_full(self, size, count, last, following):
        """A page that is not the last has full blocks, and what follows does not fit into it."""
        following = following[:128]
        if len(following) == 128:
            gaps = [b - a - 1 for a, b in zip([last] + following, following)]
            more = 1 + 16 * max(gaps).bit_length()
        else:
            more = ceil_div(len(following) * self.shape.id_bits, 8)
        self.need("POST-10", count % 128 == 0 and size + more > ROOM, "a list page that is not full")

    def compare(self, signatures, lengths, entries, lists):
        need, shape, scheme = self.need, self.shape, self.segment.scheme
        buckets, values = [[] for _ in lengths], {}
        for i, (empty, _, words) in enumerate(signatures):
            if not empty:
                for slot, value in enumerate(slot_values(words, scheme.k, scheme.b, shape.L, scheme.g, shape.v)):
                    value = value * 2654435761 % 2**shape.v
                    bucket = (slot << shape.h) + (value >> shape.low)
                    buckets[bucket].append((value & 2**shape.low - 1) << shape.id_bits | i)
                    values.setdefault((slot, value), []).append(i)
        long = set()
        for bucket, (length, own, right) in enumerate(zip(lengths, entries, buckets)):
            if len(right) > 254:
                long.add(bucket)
                need("POST-10", length == LONG, "a long bucket in short pages")
            else:
                need("POST-10", length == len(right) and own == sorted(right), "the entries of a bucket")
        right = {(slot, value): ids for (slot, value), ids in values.items()
                 if (slot << shape.h) + (value >> shape.low) in long}
        need("POST-10", lists == right, "the long lists")
