"""The postings of a segment: a second implementation of postings.md. Used by reader.py.

It reads all lists from the pages, and then compares them with the lists that the signatures give.
"""
import struct

from reference import ceil_div, slot_values

DIRECTORY, SHORT, TABLE, LIST = range(8, 12)
ROOM = 8168
BLOCKS_PER_PAGE = 127
BLOCK_BITS = 448
LISTS_PER_PAGE = 510


def shares(count, each):
    return [min(each, count - start) for start in range(0, count, each)]


def page_bytes(payload):
    return ceil_div(24 + payload, 64) * 64


def numbers(data, count, bits):
    """`count` packed numbers of `bits` bits each, and whether the bits after them are zero."""
    stream = int.from_bytes(data, "little")
    return [stream >> i * bits & 2**bits - 1 for i in range(count)], stream >> count * bits == 0


class Shape:
    def __init__(self, scheme, n):
        self.L, self.v, self.n = scheme.slots, scheme.v, n
        self.id_bits = (n - 1).bit_length()
        self.h = min(self.v, self.id_bits)
        self.low = self.v - self.h
        self.w = self.low + self.id_bits
        self.buckets = self.L << self.h
        self.r = 1 + ceil_div(n, 2**self.h)
        self.block = max(1, 360 // self.r)
        self.short_per_page = 8 * ROOM // self.w if self.L else 1

    def bytes(self, short, lists):
        """The length of directory, short pages and list table."""
        blocks = ceil_div(self.buckets, self.block)
        return (sum(page_bytes(40 + 64 * n) for n in shares(blocks, BLOCKS_PER_PAGE))
                + sum(page_bytes(ceil_div(n * self.w, 8)) for n in shares(short, self.short_per_page))
                + sum(page_bytes(16 * n) for n in shares(lists, LISTS_PER_PAGE)))


class Postings:
    def __init__(self, segment, need):
        """For a segment whose header was read. `postings` is its region, `short` and `lists` are its counts."""
        self.segment, self.need = segment, need
        shape = self.shape = Shape(segment.scheme, segment.ids)
        length = segment.postings[1] - segment.postings[0]
        fixed = shape.bytes(segment.short, segment.lists)
        sets = segment.ids - (segment.empty_id < segment.ids)
        if segment.lists:
            holds = length >= fixed + 64 * segment.lists and segment.short < shape.L * sets
        else:
            holds = length == fixed and segment.short == shape.L * sets
        need("POST-1", holds, "the region of postings has the wrong length")

    def pages(self, counts, kind, number):
        return self.segment.database.pages(self.segment.postings, counts, kind, self.segment.entry.id, number)

    def check(self, signatures):
        lengths, longs, number = self.directory()
        entries, number = self.short(lengths, number)
        lists = self.lists(number)
        if self.shape.L:
            self.compare(signatures, longs, entries, lists)

    def directory(self):
        """The number of short entries of each bucket, and the field `long` of each block."""
        need, shape, lengths, longs, before = self.need, self.shape, [], [], 0
        blocks = shares(shape.buckets, shape.block)
        pages = [blocks[at:at + BLOCKS_PER_PAGE] for at in range(0, len(blocks), BLOCKS_PER_PAGE)]
        payloads, number = self.pages(pages, DIRECTORY, 0)
        for page, payload in zip(pages, payloads):
            need("POST-2", len(payload) == 40 + 64 * len(page), "a directory page has the wrong length")
            need("POST-2", not any(payload[:40]), "the bytes before the directory blocks are not zero")
            for count, at in zip(page, range(40, len(payload), 64)):
                start = int.from_bytes(payload[at:at + 6], "little")
                need("POST-3", start == before, "the start of a directory block is wrong")
                long, = struct.unpack_from("<H", payload, at + 6)
                own = self.block_lengths(int.from_bytes(payload[at + 8:at + 64], "little"), count)
                possible = {16 * i // shape.block for i in range(count)}
                need("POST-3", all(i in possible for i in range(16) if long >> i & 1),
                     "a bit of `long` belongs to no bucket")
                need("POST-3", not long or self.segment.lists, "there are long buckets but no lists")
                lengths += own
                longs.append(long)
                before += sum(own)
        need("POST-3", before == self.segment.short, "the number of short entries is wrong")
        return lengths, longs, number

    def block_lengths(self, bits, count):
        """The lengths of `count` buckets: each is a run of ones and then a zero."""
        lengths, length, used = [], 0, 0
        while len(lengths) < count and used < BLOCK_BITS:
            if bits >> used & 1:
                length += 1
            else:
                lengths.append(length)
                length = 0
            used += 1
        self.need("POST-2", len(lengths) == count and bits >> used == 0, "the lengths of a directory block are wrong")
        return lengths

    def short(self, lengths, number):
        """The entries of each bucket."""
        need, shape = self.need, self.shape
        counts = shares(self.segment.short, shape.short_per_page)
        payloads, number = self.pages(counts, SHORT, number)
        stream = []
        for count, payload in zip(counts, payloads):
            need("POST-4", len(payload) == ceil_div(count * shape.w, 8), "a short page has the wrong length")
            own, zero = numbers(payload, count, shape.w)
            need("POST-4", zero, "bits past the last short entry are not zero")
            stream += own
        need("POST-5", all(entry & 2**shape.id_bits - 1 < shape.n for entry in stream), "an id is too large")
        entries, at = [], 0
        for length in lengths:
            own = stream[at:at + length]
            need("POST-5", all(a < b for a, b in zip(own, own[1:])), "the entries of a bucket do not ascend")
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
            need("POST-6", len(payload) == 16 * count, "a page of the list table has the wrong length")
            table += struct.iter_unpack("<HHIII", payload)
        end = self.segment.postings[1] - self.segment.postings[0]
        for slot, zero, value, length, page in table:
            need("POST-6", zero == 0 and slot < shape.L and value < 2**shape.v and 1 <= length <= shape.n
                 and number <= page and 64 * page < end, "an entry of the list table is impossible")
        need("POST-6", all((a[0], a[2]) < (b[0], b[2]) and a[4] < b[4] for a, b in zip(table, table[1:])),
             "the list table is not in order")
        found = {}
        for slot, _, value, length, page in table:
            need("POST-9", page == number, "a list does not follow the one before")
            ids, full = [], None
            while len(ids) < length:
                own, whole, size = self.list_page(number, (slot, value))
                need("POST-9", not ids or ids[-1] < own[0], "a page does not start above the page before")
                if full is not None:
                    self.check_full(*full, ids[-1], own)
                ids += own
                full = (size, len(own))
                number += whole // 64
            need("POST-9", len(ids) == length, "the pages of a list do not add up to its length")
            found[slot, value] = ids
        need("POST-9", 64 * number == end or not shape.L, "there are bytes after the last list")
        return found

    def list_page(self, number, of):
        """The ids of a page, its length, and the length of its payload."""
        need, shape = self.need, self.shape
        need("POST-9", self.segment.postings[0] + 64 * number < self.segment.postings[1],
             "a list goes past the end of the region")
        payload, whole = self.segment.database.page(self.segment.postings, number, LIST, self.segment.entry.id)
        need("POST-7", len(payload) >= 16, "a list page is too short for its start")
        slot, zero, value, count, base = struct.unpack_from("<HHIII", payload)
        blocks, left = divmod(count, 128)
        bits = payload[16:16 + blocks]
        need("POST-7", zero == 0 and count >= 1 and slot < shape.L and value < 2**shape.v and len(bits) == blocks
             and all(b <= 32 for b in bits), "the start of a list page is wrong")
        need("POST-7", len(payload) == 16 + blocks + 16 * sum(bits) + ceil_div(left * shape.id_bits, 8),
             "a list page has the wrong length")
        ids, at = [], 16 + blocks
        for b in bits:
            words = struct.unpack_from(f"<{4 * b}I", payload, at)
            lanes = [sum(word << 32 * j for j, word in enumerate(words[lane::4])) for lane in range(4)]
            gaps = [lanes[i % 4] >> i // 4 * b & 2**b - 1 for i in range(128)]
            need("POST-8", max(gaps).bit_length() == b, "a group is wider than necessary")
            need("POST-8", ids or gaps[0] == 0, "the first id is not the base")
            for gap in gaps:
                ids.append(ids[-1] + gap + 1 if ids else base)
            at += 16 * b
        tail, zero = numbers(payload[at:], left, shape.id_bits)
        ids += tail
        need("POST-8", zero and ids[0] == base and all(a < b for a, b in zip(ids, ids[1:])) and ids[-1] < shape.n,
             "the ids of a list page are wrong")
        need("POST-9", (slot, value) == of, "a page belongs to another list")
        return ids, whole, len(payload)

    def check_full(self, size, count, last, following):
        """Checks that a page that is not the last has only full groups, and that what follows does not fit into it."""
        following = following[:128]
        if len(following) == 128:
            gaps = [b - a - 1 for a, b in zip([last] + following, following)]
            more = 1 + 16 * max(gaps).bit_length()
        else:
            more = ceil_div(len(following) * self.shape.id_bits, 8)
        self.need("POST-10", count % 128 == 0 and size + more > ROOM, "a list page is not full")

    def compare(self, signatures, longs, entries, lists):
        need, shape, scheme = self.need, self.shape, self.segment.scheme
        buckets, values = [[] for _ in entries], {}
        for i, (empty, _, words) in enumerate(signatures):
            if not empty:
                for slot, value in enumerate(slot_values(words, scheme.k, scheme.b, shape.L, scheme.g, shape.v)):
                    value = value * 2654435761 % 2**shape.v
                    bucket = (slot << shape.h) + (value >> shape.low)
                    buckets[bucket].append((value & 2**shape.low - 1) << shape.id_bits | i)
                    values.setdefault((slot, value), []).append(i)
        long = set()
        for block, first in enumerate(range(0, len(buckets), shape.block)):
            right, bits = buckets[first:first + shape.block], 0
            for place, own in enumerate(right):
                after = len(right) - 1 - place
                if len(own) > 254 or own and bits + 1 + len(own) + shape.r * after > BLOCK_BITS:
                    long.add(first + place)
                bits += 1 + (0 if first + place in long else len(own))
            mask = 0
            for place in range(len(right)):
                mask |= (first + place in long) << 16 * place // shape.block
            need("POST-10", longs[block] == mask, "the long buckets of a block are wrong")
        for bucket, (own, right) in enumerate(zip(entries, buckets)):
            need("POST-10", own == ([] if bucket in long else sorted(right)), "the entries of a bucket are wrong")
        right = {(slot, value): ids for (slot, value), ids in values.items()
                 if (slot << shape.h) + (value >> shape.low) in long}
        need("POST-10", lists == right, "the long lists are wrong")
