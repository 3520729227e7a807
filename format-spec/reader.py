#!/usr/bin/env python3
"""A second reader of closed Ringer databases, written from the pages beside it alone.

It exists to be compared with, not to be fast: it reads a whole file and checks every rule of file.md,
pages.md, segment.md, postings.md, elements.md and scheme.md on the way. Standard library only.

    python3 reader.py FILE               print the rows of a database, or of a golden file with a .patch
    python3 reader.py --check [FOLDER]   compare FOLDER/golden/*.ringer with the .rows files beside them, and
                                         find in FOLDER/rejects/RULE*.patch exactly the rule in the name;
                                         exit status 1 if anything differs. FOLDER: where this file is
    python3 reader.py --rows [FOLDER]    write those .rows files anew
    python3 reader.py --apply PATCH FILE write a golden file with a .patch as a file of its own

A row is a line of five fields with tabs between: key (hex), sequence, 1 for the empty set or 0, cardinality
code, words of the signature (16 hex digits each); where sets are kept a sixth has the elements, with commas between. Lines stand in the order of the keys. Where a rule is
broken, it prints `RULE: sentence` alone and exits with 1. Patches are described in rejects/README.md.
"""
import re
import struct
import sys
import zlib
from pathlib import Path

sys.dont_write_bytecode = True
from annotations import differences  # noqa: E402
from postings import DIRECTORY as POSTING_DIRECTORY, LIST, SHORT, TABLE, Postings, shares  # noqa: E402
from elements import SETS, SETS_DIRECTORY, Sets  # noqa: E402
from reference import FIELDS, SAMPLERS, cardinality_code, ceil_div, signature, xxh3  # noqa: E402

UNIT = 64
DATA = 12288
NONE = 0xFFFFFFFF
HEADER, SIGNATURES, LEAF, FENCE, LIVENESS, COPIES, DIRECTORY = range(1, 8)
LONGEST = {HEADER: 256, SIGNATURES: 65536, FENCE: 65536} | dict.fromkeys(
    (LEAF, LIVENESS, COPIES, DIRECTORY, POSTING_DIRECTORY, SHORT, TABLE, LIST, SETS, SETS_DIRECTORY), 8192)
INNER_FENCE = 16384
PAGE_HEADER = 24
ROWS_PER_LIVENESS = 65344
PAIRS_PER_PAGE, IDS_PER_PAGE = 1021, 2042


class Broken(Exception):
    """A rule that the bytes break."""
    def __init__(self, rule, sentence):
        super().__init__(f"{rule}: {sentence}")
        self.rule = rule


def need(rule, holds, sentence):
    if not holds:
        raise Broken(rule, sentence)


def aligned(n):
    return ceil_div(n, UNIT) * UNIT


# --- scheme.md ---------------------------------------------------------------------------------------

class Scheme:
    def __init__(self, data):
        need("SCHEME-1", len(data) == 48, "a scheme has 48 bytes")
        (layout, kind, version, parameter, element, measure, sampler, universe, self.b, packing, self.field, self.v,
         self.k, self.slots, self.g, m, self.e, reserved, size, self.seed) = struct.unpack("<HBBIBBBBBBBBIHHHB5sQQ", data)
        need("SCHEME-2", layout == 1, f"layout version {layout} is unsupported")
        need("SCHEME-3", not any(reserved), "reserved bytes are not zero")
        need("SCHEME-4", 1 <= kind <= 7 and version == (2 if kind == 3 else 1) and element in (1, 2)
             and 1 <= measure <= 3 and 1 <= sampler <= 6 and universe in (1, 2) and packing in (1, 2) and self.field <= 4,
             "a code that is not in the table")
        k, b, slots, g, v = self.k, self.b, self.slots, self.g, self.v
        need("SCHEME-5", 1 <= k <= 16384, f"k = {k}")
        need("SCHEME-6", 1 <= b <= 16, f"b = {b}")
        need("SCHEME-7", slots == g == v == m == 0
             or slots >= 1 and g >= 1 and slots * g <= k and 1 <= v <= min(32, g * b) and 1 <= m <= slots,
             "slots that do not fit")
        need("SCHEME-8", size >= 2 if universe == 2 else size == 0, f"universe of {size}")
        need("SCHEME-9", (element == 1) == (kind == 1)
             and (parameter >> 17 == 0 and 1 <= parameter & 0xFFFF <= 64 if kind in (3, 4) else
                  16 <= parameter <= 65536 if kind == 5 else
                  parameter >> 16 == 0 and 1 <= (parameter & 0xFF) * (parameter >> 8) <= 64 if kind == 6
                  else parameter == 0), "element hash or feature parameter")
        need("SCHEME-10", universe == 1 or kind == 1, "a bounded universe of other features than ids")
        need("SCHEME-11", self.field != 0 if universe == 2 else self.field not in (1, 2),
             "a cardinality field that does not go with the universe")
        need("SCHEME-12", universe == 1 or sampler != 1 or size // k >= max(64, 2**(b + 1)),
             "a universe too small for one permutation")
        need("SCHEME-13", measure == {4: 2, 5: 3}.get(sampler, 1), "a sampler for another measure")
        need("SCHEME-14", universe == 1 or sampler in (1, 2), "a sampler of the open universe")
        need("SCHEME-15", measure == 1 or self.field == 0, "a cardinality field for weights")
        need("SCHEME-16", b == 1 or sampler != 5 and packing == 1, "more than a bit")
        need("SCHEME-17", packing == 1 or sampler in (2, 3, 4), "pairs of dependent samples")
        need("SCHEME-18", self.e == 0 or 8 <= self.e <= 64 and measure == 1, f"elements kept in {self.e} bits")
        self.sampler = next(name for name, code in SAMPLERS.items() if code == sampler) + "+xor-pairs" * (packing == 2)
        self.size = size
        self.data = data
        self.words = ceil_div(k, 64)  # of a plane, SIG-2
        self.code_bits = (0, 4, 8, 8, 32)[self.field]

    def sketch(self, elements):
        """The cardinality code and the words of a set."""
        _, code, planes = signature(self.sampler, self.size, self.seed, self.k, self.b, FIELDS[self.field], elements)
        return code, tuple(planes)

    def code_of(self, count):
        return cardinality_code(FIELDS[self.field], self.size, count)

    def signature_pages(self, ids):
        """How many signatures each page holds. SIGP-1"""
        return shares(ids, 8 * 65512 // (64 * self.b * self.words + self.code_bits))

    def signature_bytes(self, n):
        """Payload of a page of n signatures. SIGP-1"""
        return 8 * self.b * self.words * n + ceil_div(n * self.code_bits, 8)


# --- file.md -----------------------------------------------------------------------------------------

class Superblock:
    def __init__(self, block):
        """Of a block with the magic."""
        need("SUPER-1", zlib.crc32(block[:4092]) == struct.unpack("<I", block[4092:])[0],
             "the checksum of a superblock does not match")
        (_, version, reserved, self.required, _, self.id, self.generation, self.manifest, self.length,
         self.checksum, self.end, self.hot, self.hot_made, self.clean) = struct.unpack_from(
             "<8sH6sQQ16sQQIIQQQB", block)
        need("SUPER-2", version == 2, f"format version {version} is unsupported")
        need("SUPER-3", self.required <= 1, f"required features {self.required:#x} are unsupported")
        need("SUPER-4", not any(reserved) and not any(block[97:4092]) and self.clean <= 1,
             "reserved bytes are not zero, or clean is neither 0 nor 1")
        need("SUPER-6", DATA <= self.manifest and self.manifest + self.length <= self.end
             and self.manifest % UNIT == 0 and self.length <= 262196 and self.end % UNIT == 0,
             "the manifest lies outside the data")
        need("SUPER-7", self.hot <= self.hot_made and not (self.clean and self.hot), "an impossible hot tier")


def current_superblock(data):
    """The superblock of the current state. SUPER-5"""
    valid, broken = {}, []
    for block in (data[:4096], data[4096:8192]):
        if len(block) == 4096 and block[:8] == b"RINGER\x1a\n":
            try:
                valid[block] = Superblock(block)
            except Broken as error:
                broken.append(error)
    for error in broken:
        if not valid or error.rule in ("SUPER-2", "SUPER-3"):
            raise error
    need("SUPER-5", valid, "no Ringer database: neither superblock has the magic")
    first, *other = valid.values()
    need("SUPER-5", not other or first.id == other[0].id and first.generation != other[0].generation,
         "two superblocks of different databases, or two states of one generation")
    current = max(valid.values(), key=lambda superblock: superblock.generation)
    need("SUPER-6", current.end <= len(data), "the file ends before its data")
    return current


class Entry:
    """What the manifest says of a segment."""
    def __init__(self, data):
        (self.id, self.offset, self.length, self.checksum, self.rows, self.live, reserved, *self.liveness
         ) = struct.unpack("<QQQIIIIQQQ", data)
        self.liveness_id, self.liveness_offset, self.liveness_length = self.liveness
        need("MAN-3", 1 <= self.rows and self.live <= self.rows and self.id >= 1 and reserved == 0,
             "counts, id or reserved bytes of an entry")
        if self.live == self.rows:
            need("MAN-6", not any(self.liveness), "a liveness block where no row is hidden")
        else:
            need("MAN-6", self.liveness_id and self.liveness_length == liveness_bytes(self.rows),
                 "no liveness block, or one of another length than LIVE-1 gives")


class Database:
    def __init__(self, data):
        self.data = data
        self.superblock = current_superblock(data)
        if self.superblock.hot:
            raise SystemExit("not closed: later commits wait in a hot tier, which this reader does not read")
        self.id = self.superblock.id
        self.manifest()  # The mark is not looked at: without a hot tier it counts as absent (MARK-1).

    def crc(self, data):
        """A checksum that is sealed with the database."""
        return zlib.crc32(data, zlib.crc32(self.id))

    def manifest(self):
        at, length = self.superblock.manifest, self.superblock.length
        manifest = self.data[at:at + length]
        need("MAN-1", length >= 116, "the manifest is too short")
        checksum = int.from_bytes(manifest[-4:], "little")
        (magic, _, database, scheme, self.sealed, next_block, _, count, reserved) = struct.unpack_from(
            "<8sQ16s48sQQQII", manifest)
        need("MAN-1", magic == b"RINGMANI" and checksum == self.superblock.checksum == self.crc(manifest[:-4])
             and database == self.id, "magic, checksum or database id of the manifest")
        need("MAN-2", count <= 4095 and length == 112 + 64 * count + 4 and reserved == 0,
             "the manifest does not have the entries that it says")
        self.scheme = Scheme(scheme)
        need("SUPER-8", self.superblock.required == bool(self.scheme.e), "required features of another scheme")
        self.entries = [Entry(manifest[112 + 64 * i:176 + 64 * i]) for i in range(count)]
        self.check_blocks(next_block)

    def check_blocks(self, next_block):
        ids = [entry.id for entry in self.entries]
        need("MAN-4", all(a < b for a, b in zip(ids, ids[1:])), "segment ids do not rise")
        ids += [entry.liveness_id for entry in self.entries if entry.liveness_id]
        need("MAN-4", len(set(ids)) == len(ids) and all(i < next_block for i in ids),
             "a block number is there twice or not below the next one")
        blocks = [(entry.offset, entry.length) for entry in self.entries]
        blocks += [(e.liveness_offset, e.liveness_length) for e in self.entries if e.liveness_id]
        end = DATA
        for offset, length in sorted(blocks):
            need("MAN-5", offset % UNIT == 0 and length % UNIT == 0 and length > 0 and end <= offset,
                 "a block that is not aligned, empty, or in the way of another")
            end = offset + length
            need("MAN-5", end <= self.superblock.end, "a block past the end of data")

    def page(self, region, number, kind, block, longest=None):
        """The payload of a page, and its length with header and padding. All regions end at multiples of
        64, so there is room for a header in them."""
        start, end = region
        at = start + UNIT * number
        checksum, found, version, reserved, owner, place, length = struct.unpack_from("<IBBHQII", self.data, at)
        whole = aligned(PAGE_HEADER + length)
        need("PAGE-5", whole <= (longest or LONGEST[kind]) and at + whole <= end, "a page is longer than it may be")
        need("PAGE-1", checksum == self.crc(self.data[at + 4:at + whole]), "the checksum of a page")
        need("PAGE-2", version == 1, f"page version {version} is unsupported")
        need("PAGE-3", (found, owner, place) == (kind, block, number), "a page that belongs elsewhere")
        body = self.data[at + PAGE_HEADER:at + whole]
        need("PAGE-4", reserved == 0 and not any(body[length:]), "reserved bytes or padding are not zero")
        return body[:length], whole

    def pages(self, region, counts, kind, block, number=0):
        """Payloads of pages that follow each other, one for each count, and the number after them."""
        payloads = []
        for _ in counts:
            payload, whole = self.page(region, number, kind, block)
            payloads.append(payload)
            number += whole // UNIT
        return payloads, number

    def hidden(self, entry):
        """Whether each row of a segment is hidden."""
        if not entry.liveness_id:
            return [False] * entry.rows
        region = (entry.liveness_offset, entry.liveness_offset + entry.liveness_length)
        counts = shares(entry.rows, ROWS_PER_LIVENESS)
        hidden = []
        for count, bitmap in zip(counts, self.pages(region, counts, LIVENESS, entry.liveness_id)[0]):
            need("LIVE-1", len(bitmap) == ceil_div(count, 8), "the length of a liveness bitmap")
            bits = int.from_bytes(bitmap, "little")
            need("LIVE-2", bits >> count == 0, "bits past the last row")
            hidden += [bool(bits >> i & 1) for i in range(count)]
        need("LIVE-3", hidden.count(False) == entry.live, "the number of live rows")
        return hidden

    def rows(self):
        """{key: (sequence, empty, code, words, elements)} of all live rows."""
        rows = {}
        for entry in self.entries:
            segment = Segment(self, entry)
            for (key, *row), hidden in zip(segment.rows(), self.hidden(entry)):
                if not hidden:
                    need("MAN-7", key not in rows, "a key has two rows that are not hidden")
                    rows[key] = row
        return rows


def liveness_bytes(rows):  # LIVE-1
    return sum(aligned(PAGE_HEADER + ceil_div(n, 8)) for n in shares(rows, ROWS_PER_LIVENESS))


# --- segment.md --------------------------------------------------------------------------------------

class Segment:
    def __init__(self, database, entry):
        self.database, self.entry, self.scheme = database, entry, database.scheme
        need("SEG-6", entry.length >= 256, "no room for the header page")
        header, _ = database.page((entry.offset, entry.offset + 256), 0, HEADER, entry.id)
        need("SEG-1", len(header) in (208, 232), "the header does not have 208 bytes, or 232")
        (magic, owner, scheme, length, self.first, self.last, self.n, self.ids, self.empty_id, reserved,
         signatures_at, signatures, keys_at, keys, copies_at, copies, self.key_bytes, self.root, self.level,
         zero, postings_at, postings, self.short, self.lists, zero2) = struct.unpack(
             "<8s16s48sQQQIIIIQQQQQQQIB3sQQQII", header[:208])
        need("SEG-1", magic == b"RINGSG2\n" and reserved == 0 and not any(zero) and zero2 == 0,
             "magic, reserved or zero")
        own = Scheme(scheme)
        need("SEG-1", len(header) == (232 if own.e else 208), "the length of the header")
        postings_end = postings_at + postings
        sets_at, sets, set_bytes = struct.unpack("<3Q", header[208:]) if own.e else (postings_end, 0, 0)
        need("SEG-2", 1 <= self.ids <= self.n <= 4294967294, f"{self.ids} ids of {self.n} rows")
        need("SEG-3", (self.empty_id < self.ids or self.empty_id == NONE) and self.first <= self.last,
             "the empty id or the sequences")
        need("SEG-4", signatures_at == 256 and keys_at == 256 + signatures and copies_at == keys_at + keys
             and postings_at == copies_at + copies and sets_at == postings_end and sets_at + sets == length
             and length % UNIT == 0 and max(signatures, keys, copies, postings, sets) <= 1 << 38,
             "the regions do not follow each other or fill the segment")
        pages = [own.signature_bytes(n) for n in own.signature_pages(self.ids)]
        need("SEG-4", signatures == sum(aligned(PAGE_HEADER + n) for n in pages), "length of the signatures")
        need("SEG-4", copies == copies_bytes(self.n - self.ids), "length of the copies")
        need("SEG-5", UNIT * self.root < keys and 1 <= self.level <= 32, "the root lies outside the keys")
        checksum = int.from_bytes(database.data[entry.offset:entry.offset + 4], "little")
        need("SEG-6", (owner, scheme, self.n, length, checksum) == (database.id, self.scheme.data, entry.rows,
             entry.length, entry.checksum), "the header is not the one that the manifest refers to")
        need("SEG-3", self.last <= database.sealed, "a sequence past the sealed one")
        at = entry.offset
        self.signature_region = (at + 256, at + keys_at)
        self.key_region = (at + keys_at, at + copies_at)
        self.copy_region = (at + copies_at, at + postings_at)
        self.postings = (at + postings_at, at + postings_end)
        self.sets = (at + sets_at, at + length)
        self.index = Postings(self, need)
        self.kept = Sets(self, sets, set_bytes, need) if own.e else None

    def signatures(self):
        """(empty, code, words) of each id."""
        scheme, b, words, bits = self.scheme, self.scheme.b, self.scheme.words, self.scheme.code_bits
        counts = scheme.signature_pages(self.ids)
        past = 2**(64 * words) - 2**scheme.k  # SIG-3
        found = []
        payloads, _ = self.database.pages(self.signature_region, counts, SIGNATURES, self.entry.id)
        for n, payload in zip(counts, payloads):
            need("SIGP-1", len(payload) == scheme.signature_bytes(n), "the length of a signature page")
            all_words = struct.unpack_from(f"<{n * b * words}Q", payload)
            codes = int.from_bytes(payload[8 * n * b * words:], "little")
            need("SIGP-2", codes >> n * bits == 0, "bits above the last code")
            for i in range(n):
                first = words if b < 3 else 2 * words
                others = b * words - first
                rest = n * first + i * others
                own = all_words[i * first:(i + 1) * first] + all_words[rest:rest + others]
                for plane in range(b):
                    last = own[(plane + 1) * words - 1]
                    need("SIGP-2", last << 64 * (words - 1) & past == 0, "bits past the last sample")
                code = codes >> i * bits & 2**bits - 1
                empty = len(found) == self.empty_id
                need("SIGP-3", empty or code or scheme.field not in (3, 4), "code 0 of a set that is not empty")
                need("SIGP-4", not empty or code == 0 and not any(own), "the empty set is not zero")
                found.append((int(empty), code, own))
        return found

    def rows(self):
        """(key, sequence, empty, code, words, elements) of each row, in order; elements are None if they are not kept."""
        signatures = self.signatures()
        self.keys, self.row_ids, self.sequences, self.copies = [], [], [], []
        self.next_id = 0
        self.fence(self.root, self.level, None)
        need("LEAF-3", (len(self.keys), self.next_id) == (self.n, self.ids), "rows or ids are missing")
        need("SEG-2", sum(map(len, self.keys)) == self.key_bytes, "the bytes of all keys")
        need("SEG-3", max(self.sequences) <= self.last, "a sequence past the last")
        self.check_copies()
        self.index.check(signatures)
        scheme = self.scheme
        sets = self.kept.read(scheme.sketch, scheme.code_of) if self.kept else [None] * self.ids
        return [(key, sequence, *signatures[i], sets[i])
                for key, sequence, i in zip(self.keys, self.sequences, self.row_ids)]

    def fence(self, number, level, expected):
        longest = INNER_FENCE if expected else None
        page, _ = self.database.page(self.key_region, number, FENCE, self.entry.id, longest)
        need("FENCE-1", len(page) >= 8, "no room for the start of a fence")
        found, zero, count, zero2 = struct.unpack_from("<B3sHH", page)
        need("FENCE-1", len(page) >= 8 + 20 * count, "no room for the entries of a fence")
        need("FENCE-2", found == level and count >= 1 and not any(zero) and zero2 == 0,
             "level, count or zeros of a fence")
        children, rows, ids, key_ends, filter_ends = zip(*struct.iter_unpack("<5I", page[8:8 + 20 * count]))
        need("FENCE-3", all(a < b for a, b in zip(rows, rows[1:])) and
             all(list(of) == sorted(of) for of in (ids, key_ends, filter_ends)), "the order of fence entries")
        filters_at = 8 + 20 * count + key_ends[-1]
        need("FENCE-1", filters_at <= len(page), "no room for the separators")
        need("FENCE-4", filters_at + filter_ends[-1] == len(page), "the filters do not fill the page")
        need("FENCE-5", expected in (None, (rows[0], ids[0])), "a fence does not start where its parent says")
        separators = cut(page[8 + 20 * count:filters_at], key_ends)
        filters = cut(page[filters_at:], filter_ends)
        for i, child in enumerate(children):
            need("FENCE-5", self.key_region[0] + UNIT * child < self.key_region[1], "a child outside the keys")
            before = len(self.keys)
            if level > 1:
                need("FILTER-1", filters[i] == b"", "a filter above level 1")
                self.fence(child, level - 1, (rows[i], ids[i]))
            else:
                self.leaf(child, (rows[i], ids[i]))
                need("FILTER-1", filters[i] == bloom(self.keys[before:]), "the filter of a leaf")
            need("FENCE-3", separators[i] <= self.keys[before], "a separator above a key of its child")
            need("FENCE-3", self.keys[before - 1] < separators[i] if before else separators[i] == b"",
                 "a separator not above the child before, or a first one that is not empty")

    def leaf(self, number, expected):
        page, _ = self.database.page(self.key_region, number, LEAF, self.entry.id)
        need("LEAF-1", len(page) >= 24, "no room for the start of a leaf")
        first_row, first_id, count, prefix_length, suffix_length, copies, width, zero = struct.unpack_from(
            "<IIHHHHB7s", page)
        varies = suffix_length == 0xFFFF
        ends_at = 24 + prefix_length
        sequences_at = ends_at + 2 * count * varies
        copies_at = sequences_at + width * count
        suffixes_at = copies_at + 6 * copies
        need("LEAF-1", suffixes_at <= len(page), "no room for what the start of a leaf says")
        need("LEAF-2", count >= 1 and width <= 8 and not any(zero), "count, sequence width or zeros of a leaf")
        need("LEAF-3", first_row + count <= self.n, "rows past the last")
        ends = (struct.unpack_from(f"<{count}H", page, ends_at) if varies
                else [suffix_length * (i + 1) for i in range(count)])
        need("LEAF-4", list(ends) == sorted(ends) and suffixes_at + ends[-1] == len(page),
             "the suffixes do not fill the page")
        need("LEAF-4", all(a < b for a, b in zip(ends, ends[1:])), "a suffix after the first is empty")
        keys = [page[24:ends_at] + suffix for suffix in cut(page[suffixes_at:], ends)]
        need("LEAF-4", all(1 <= len(key) <= 4096 for key in keys), "the length of a key")
        places = list(struct.iter_unpack("<HI", page[copies_at:suffixes_at]))
        need("LEAF-6", all(a < b for (a, _), (b, _) in zip(places, places[1:]))
             and all(place < count and of < first_id + place - i for i, (place, of) in enumerate(places)),
             "places of copies, or copies of what does not come before")
        need("LEAF-5", first_id + count - copies <= self.ids, "ids past the last")
        need("FENCE-5", (first_row, first_id) == expected, "a leaf does not start where its parent says")
        need("LEAF-3", expected == (len(self.keys), self.next_id), "a leaf does not follow the one before")
        copied = dict(places)
        for i, key in enumerate(keys):
            need("LEAF-7", not self.keys or self.keys[-1] < key, "the keys do not rise")
            if i in copied:
                self.copies.append((copied[i], len(self.keys)))
            else:
                self.next_id += 1
            self.row_ids.append(copied.get(i, self.next_id - 1))
            self.keys.append(key)
            self.sequences.append(self.first + int.from_bytes(
                page[sequences_at + width * i:sequences_at + width * (i + 1)], "little"))

    def check_copies(self):
        counts = shares(self.n - self.ids, PAIRS_PER_PAGE)
        payloads, number = self.database.pages(self.copy_region, counts, COPIES, self.entry.id)
        pairs, firsts = [], []
        for count, payload in zip(counts, payloads):
            need("COPY-1", len(payload) == 8 * count, "the length of a page of copies")
            own = list(struct.iter_unpack("<II", payload))
            firsts.append(own[0][0])
            pairs += own
        need("COPY-2", all(a < b for a, b in zip(pairs, pairs[1:]))
             and all(i < self.ids and row < self.n for i, row in pairs), "order or range of the copies")
        counts = shares(len(firsts), IDS_PER_PAGE)
        found = []
        payloads, _ = self.database.pages(self.copy_region, counts, DIRECTORY, self.entry.id, number)
        for count, payload in zip(counts, payloads):
            need("COPY-3", len(payload) == 4 * count, "the length of a copies directory")
            found += [first for first, in struct.iter_unpack("<I", payload)]
        need("COPY-3", found == sorted(found), "the copies directory falls")
        need("COPY-4", pairs == sorted(self.copies), "the copies are not those of the leaves")
        need("COPY-3", found == firsts, "the copies directory is not that of the copies")


def cut(data, ends):
    return [data[start:end] for start, end in zip((0, *ends), ends)]


def copies_bytes(count):
    pairs = shares(count, PAIRS_PER_PAGE)
    return sum(aligned(PAGE_HEADER + 8 * n) for n in pairs) + sum(
        aligned(PAGE_HEADER + 4 * n) for n in shares(len(pairs), IDS_PER_PAGE))


def bloom(keys):  # FILTER-1
    filter = bytearray(ceil_div(10 * len(keys), 8))
    m = 8 * len(filter)
    for key in keys:
        h = xxh3(key)
        s, d = h & 0xFFFFFFFF, h >> 32 | 1
        for i in range(6):
            j = ((s + i * d) % 2**32) * m >> 32
            filter[j // 8] |= 1 << j % 8
    return bytes(filter)


# --- the command -------------------------------------------------------------------------------------

def read(path):  # rejects/README.md
    if path.suffix != ".patch":
        return path.read_bytes()
    for what, *rest in map(str.split, path.read_text().splitlines()):
        if what == "of":
            data = bytearray((path.parent.parent / "golden" / rest[0]).read_bytes())
        elif what == "length":
            del data[int(rest[0]):]
        elif what != "#":
            at, old, new = int(what), bytes.fromhex(rest[0]), bytes.fromhex(rest[1])
            if data[at:at + len(old)] != old or len(old) != len(new):
                raise SystemExit(f"{path}: made of another golden file")
            data[at:at + len(old)] = new
    return bytes(data)


def rows_text(path):
    rows = Database(read(path)).rows()
    text = []
    for key, (sequence, empty, code, words, elements) in sorted(rows.items()):
        fields = [key.hex(), sequence, empty, code, "".join(f"{w:016x}" for w in words)]
        if elements is not None:
            fields.append(",".join(map(str, elements)))
        text.append("\t".join(map(str, fields)) + "\n")
    return "".join(text)


def outcome(path):
    """The rows, or the rule that is broken with a sentence; and the exit status."""
    try:
        return rows_text(path), 0
    except Broken as broken:
        return f"{broken}\n", 1


def check(golden, rejects):
    wrong = [] if golden and rejects else ["no golden files or no rejects"]
    for path in golden:
        if outcome(path)[0] != path.with_suffix(".rows").read_text():
            wrong.append(f"{path}: other rows than in the .rows file")
    for path in rejects:
        found, _ = outcome(path)
        if found.split(":")[0] != re.match(r"[A-Z]+-\d+", path.name).group():
            wrong.append(f"{path}: {found}")
    folder = golden[0].parent.parent if golden else Path()
    if (folder / "reading.md").exists():
        wrong_tables = differences((folder / "reading.md").read_text(), (folder / "golden/one.ringer").read_bytes())
        wrong += [f"{folder / 'reading.md'}: {wrong_tables}"] * bool(wrong_tables)
    print(*wrong, sep="\n", end="\n" if wrong else "", file=sys.stderr)
    return 1 if wrong else 0


def main(command="", *arguments):
    if command in ("--check", "--rows") and len(arguments) <= 1:
        folder = Path(*arguments) if arguments else Path(__file__).resolve().parent
        golden = sorted(folder.glob("golden/*.ringer"))
        if command == "--check":
            return check(golden, sorted(folder.glob("rejects/*.patch")))
        for path in golden:
            path.with_suffix(".rows").write_text(rows_text(path))
    elif command == "--apply" and len(arguments) == 2:
        Path(arguments[1]).write_bytes(read(Path(arguments[0])))
    elif not command or command.startswith("-") or arguments:
        print(__doc__, file=sys.stderr)
        return 2
    else:
        text, status = outcome(Path(command))
        sys.stdout.write(text)
        return status
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
