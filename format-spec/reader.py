#!/usr/bin/env python3
"""A second reader of closed Ringer databases, written from the pages beside it alone.

It is simple, not fast: it reads a whole file and checks every rule of file.md, pages.md, segment.md, postings.md,
elements.md, values.md and scheme.md. It needs only the standard library.

    python3 reader.py FILE               print the rows of a database, or of a golden file with a .patch
    python3 reader.py --check [FOLDER]   compare FOLDER/golden/*.ringer with the .rows files beside them, the tables of
                                         FOLDER/reading.md with the file that they describe, and the rule that each of
                                         FOLDER/rejects/RULE*.patch breaks with its name; exit status 1 if anything
                                         differs. FOLDER is by default that of this file
    python3 reader.py --rows [FOLDER]    write the .rows files anew
    python3 reader.py --apply PATCH FILE write a golden file with a .patch as a file of its own

golden/README.md describes the rows, and rejects/README.md the patches. If a rule is broken, the reader prints only
`RULE: sentence`, and its exit status is 1.
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
from reference import ceil_div  # noqa: E402
from scheme import Broken, Scheme, need  # noqa: E402
from values import VALUES, VALUES_DIRECTORY, Values  # noqa: E402
from xxh3 import xxh3  # noqa: E402

UNIT = 64
DATA = 12288
NONE = 0xFFFFFFFF
HEADER, SIGNATURES, LEAF, FENCE, TOMBSTONES, DUPLICATES, DIRECTORY = range(1, 8)
LONGEST = {HEADER: 256, SIGNATURES: 65536, FENCE: 65536} | dict.fromkeys(
    (LEAF, TOMBSTONES, DUPLICATES, DIRECTORY, POSTING_DIRECTORY, SHORT, TABLE, LIST, SETS, SETS_DIRECTORY,
     VALUES, VALUES_DIRECTORY), 8192)
INNER_FENCE = 16384
PAGE_HEADER = 24
ROWS_PER_TOMBSTONES = 65344
PAIRS_PER_PAGE, IDS_PER_PAGE = 1021, 2042


def aligned(n):
    return ceil_div(n, UNIT) * UNIT


# --- file.md -----------------------------------------------------------------------------------------

class Superblock:
    def __init__(self, block):
        """From a block that has the magic."""
        need("SUPER-1", zlib.crc32(block[:4092]) == struct.unpack("<I", block[4092:])[0],
             "the checksum of a superblock does not match")
        (_, version, reserved, self.required, _, self.id, self.generation, self.manifest, self.length,
         self.checksum, self.end, self.log_number, self.logs_made, self.clean) = struct.unpack_from(
             "<8sH6sQQ16sQQIIQQQB", block)
        need("SUPER-2", version == 3, f"format version {version} is unsupported")
        need("SUPER-3", self.required <= 1, f"required features {self.required:#x} are unsupported")
        need("SUPER-4", not any(reserved) and not any(block[97:4092]) and self.clean <= 1,
             "reserved bytes are not zero, or clean is neither 0 nor 1")
        need("SUPER-6", DATA <= self.manifest and self.manifest + self.length <= self.end
             and self.manifest % UNIT == 0 and self.length <= 262196 and self.end % UNIT == 0,
             "the manifest lies outside the data")
        need("SUPER-7", self.log_number <= self.logs_made and not (self.clean and self.log_number),
             "the number of the log is impossible")


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
    """A manifest entry."""
    def __init__(self, data):
        (self.id, self.offset, self.length, self.checksum, self.rows, self.live, reserved, *self.tombstones
         ) = struct.unpack("<QQQIIIIQQQ", data)
        self.tombstones_id, self.tombstones_offset, self.tombstones_length = self.tombstones
        need("MAN-3", 1 <= self.rows and self.live <= self.rows and self.id >= 1 and reserved == 0,
             "the counts, id or reserved bytes of an entry are wrong")
        if self.live == self.rows:
            need("MAN-6", not any(self.tombstones), "there is a tombstone bitmap, but all rows are live")
        else:
            need("MAN-6", self.tombstones_id and self.tombstones_length == tombstone_bytes(self.rows),
                 "the tombstone bitmap is missing or has the wrong length")


class Database:
    def __init__(self, data):
        self.data = data
        self.superblock = current_superblock(data)
        if self.superblock.log_number:
            raise SystemExit("the database is not closed: later commits are in its write-ahead log, which this program cannot read")
        self.id = self.superblock.id
        self.manifest()  # Without a log, the commit mark counts as absent (MARK-1).

    def crc(self, data):
        """A salted checksum."""
        return zlib.crc32(data, zlib.crc32(self.id))

    def manifest(self):
        at, length = self.superblock.manifest, self.superblock.length
        manifest = self.data[at:at + length]
        need("MAN-1", length >= 116, "the manifest is too short")
        checksum = int.from_bytes(manifest[-4:], "little")
        (magic, _, database, scheme, self.checkpointed, next_extent, _, count, reserved) = struct.unpack_from(
            "<8sQ16s48sQQQII", manifest)
        need("MAN-1", magic == b"RINGMANI" and checksum == self.superblock.checksum == self.crc(manifest[:-4])
             and database == self.id, "the magic, checksum or database id of the manifest is wrong")
        need("MAN-2", count <= 4095 and length == 112 + 64 * count + 4 and reserved == 0,
             "the length of the manifest does not fit its number of entries")
        self.scheme = Scheme(scheme)
        need("SUPER-8", self.superblock.required == bool(self.scheme.e), "the required features do not fit the scheme")
        self.entries = [Entry(manifest[112 + 64 * i:176 + 64 * i]) for i in range(count)]
        self.check_extents(next_extent)

    def check_extents(self, next_extent):
        ids = [entry.id for entry in self.entries]
        need("MAN-4", all(a < b for a, b in zip(ids, ids[1:])), "the segment ids do not ascend")
        ids += [entry.tombstones_id for entry in self.entries if entry.tombstones_id]
        need("MAN-4", len(set(ids)) == len(ids) and all(i < next_extent for i in ids),
             "an id of an extent occurs twice or is too large")
        extents = [(entry.offset, entry.length) for entry in self.entries]
        extents += [(e.tombstones_offset, e.tombstones_length) for e in self.entries if e.tombstones_id]
        end = DATA
        for offset, length in sorted(extents):
            need("MAN-5", offset % UNIT == 0 and length % UNIT == 0 and length > 0 and end <= offset,
                 "an extent is not aligned, is empty, or overlaps another")
            end = offset + length
            need("MAN-5", end <= self.superblock.end, "an extent goes past the end of data")

    def page(self, region, number, kind, extent, longest=None):
        """The payload of a page, and the length of the page. A region ends at a multiple of 64, so it has room for the
        header."""
        start, end = region
        at = start + UNIT * number
        checksum, found, version, reserved, owner, place, length = struct.unpack_from("<IBBHQII", self.data, at)
        whole = aligned(PAGE_HEADER + length)
        need("PAGE-5", whole <= (longest or LONGEST[kind]) and at + whole <= end, "a page is too long")
        need("PAGE-1", checksum == self.crc(self.data[at + 4:at + whole]), "the checksum of a page does not match")
        need("PAGE-2", version == 1, f"page version {version} is unsupported")
        need("PAGE-3", (found, owner, place) == (kind, extent, number), "a page belongs to another place")
        body = self.data[at + PAGE_HEADER:at + whole]
        need("PAGE-4", reserved == 0 and not any(body[length:]), "reserved bytes or padding are not zero")
        return body[:length], whole

    def pages(self, region, counts, kind, extent, number=0):
        """The payloads of consecutive pages, one for each count, and the page number after them."""
        payloads = []
        for _ in counts:
            payload, whole = self.page(region, number, kind, extent)
            payloads.append(payload)
            number += whole // UNIT
        return payloads, number

    def dead(self, entry):
        """Whether each row of a segment has a tombstone."""
        if not entry.tombstones_id:
            return [False] * entry.rows
        region = (entry.tombstones_offset, entry.tombstones_offset + entry.tombstones_length)
        counts = shares(entry.rows, ROWS_PER_TOMBSTONES)
        dead = []
        for count, bitmap in zip(counts, self.pages(region, counts, TOMBSTONES, entry.tombstones_id)[0]):
            need("TOMB-1", len(bitmap) == ceil_div(count, 8), "a tombstone bitmap has the wrong length")
            bits = int.from_bytes(bitmap, "little")
            need("TOMB-2", bits >> count == 0, "bits past the last row are not zero")
            dead += [bool(bits >> i & 1) for i in range(count)]
        need("TOMB-3", dead.count(False) == entry.live, "the number of live rows is wrong")
        return dead

    def rows(self):
        """(sequence, empty, code, words, elements, value) of all live rows, by key."""
        rows = {}
        for entry in self.entries:
            segment = Segment(self, entry)
            for (key, *row), dead in zip(segment.rows(), self.dead(entry)):
                if not dead:
                    need("MAN-7", key not in rows, "a key has two live rows")
                    rows[key] = row
        return rows


def tombstone_bytes(rows):  # TOMB-1
    return sum(aligned(PAGE_HEADER + ceil_div(n, 8)) for n in shares(rows, ROWS_PER_TOMBSTONES))


# --- segment.md --------------------------------------------------------------------------------------

class Segment:
    def __init__(self, database, entry):
        self.database, self.entry, self.scheme = database, entry, database.scheme
        need("SEG-6", entry.length >= 256, "no room for the header page")
        header, _ = database.page((entry.offset, entry.offset + 256), 0, HEADER, entry.id)
        need("SEG-1", len(header) in (208, 232), "the header does not have 208 bytes, or 232")
        (magic, owner, scheme, length, self.first, self.last, self.n, self.ids, self.empty_id, reserved,
         value_bytes, signatures, keys_at, keys, duplicates_at, duplicates, self.key_bytes, self.root, self.level,
         zero, postings_at, postings, self.short, self.lists, zero2) = struct.unpack(
             "<8s16s48sQQQIIIIQQQQQQQIB3sQQQII", header[:208])
        need("SEG-1", magic == b"RINGSG3\n" and reserved == 0 and not any(zero) and zero2 == 0,
             "the magic or the reserved bytes are wrong")
        own = Scheme(scheme)
        need("SEG-1", len(header) == (232 if own.e else 208), "the header has the wrong length")
        postings_end = postings_at + postings
        sets_at, sets, set_bytes = struct.unpack("<3Q", header[208:]) if own.e else (postings_end, 0, 0)
        need("SEG-2", 1 <= self.ids <= self.n <= 4294967294, f"{self.ids} ids of {self.n} rows")
        need("SEG-3", (self.empty_id < self.ids or self.empty_id == NONE) and self.first <= self.last,
             "the empty id or the sequences are wrong")
        values_at = sets_at + sets
        values = length - values_at
        need("SEG-4", keys_at == 256 + signatures and duplicates_at == keys_at + keys
             and postings_at == duplicates_at + duplicates and sets_at == postings_end
             and (values >= 0 if value_bytes else values == 0)
             and length % UNIT == 0 and max(signatures, keys, duplicates, postings, sets, values) <= 1 << 38,
             "the regions do not follow each other or fill the segment")
        pages = [own.signature_bytes(n) for n in own.signature_pages(self.ids)]
        need("SEG-4", signatures == sum(aligned(PAGE_HEADER + n) for n in pages),
             "the region of signatures has the wrong length")
        need("SEG-4", duplicates == duplicates_bytes(self.n - self.ids), "the region of duplicate rows has the wrong length")
        need("SEG-5", UNIT * self.root < keys and 1 <= self.level <= 32, "the root lies outside the keys")
        checksum = int.from_bytes(database.data[entry.offset:entry.offset + 4], "little")
        need("SEG-6", (owner, scheme, self.n, length, checksum) == (database.id, self.scheme.data, entry.rows,
             entry.length, entry.checksum), "the header is not that of the manifest")
        need("SEG-3", self.last <= database.checkpointed, "a sequence is greater than the checkpointed one")
        at = entry.offset
        self.signature_region = (at + 256, at + keys_at)
        self.key_region = (at + keys_at, at + duplicates_at)
        self.duplicate_region = (at + duplicates_at, at + postings_at)
        self.postings = (at + postings_at, at + postings_end)
        self.sets = (at + sets_at, at + values_at)
        self.values = (at + values_at, at + length)
        self.index = Postings(self, need)
        self.kept = Sets(self, sets, set_bytes, need) if own.e else None
        self.valued = Values(self, values, value_bytes, need) if value_bytes else None

    def signatures(self):
        """(empty, code, words) of each id, in order."""
        scheme, b, words, bits = self.scheme, self.scheme.b, self.scheme.words, self.scheme.code_bits
        counts = scheme.signature_pages(self.ids)
        past = 2**(64 * words) - 2**scheme.k  # SIG-3
        found = []
        payloads, _ = self.database.pages(self.signature_region, counts, SIGNATURES, self.entry.id)
        for n, payload in zip(counts, payloads):
            need("SIGP-1", len(payload) == scheme.signature_bytes(n), "a signature page has the wrong length")
            all_words = struct.unpack_from(f"<{n * b * words}Q", payload)
            codes = int.from_bytes(payload[8 * n * b * words:], "little")
            need("SIGP-2", codes >> n * bits == 0, "bits above the last code are not zero")
            for i in range(n):
                first = words if b < 3 else 2 * words
                others = b * words - first
                rest = n * first + i * others
                own = all_words[i * first:(i + 1) * first] + all_words[rest:rest + others]
                for plane in range(b):
                    last = own[(plane + 1) * words - 1]
                    need("SIGP-2", last << 64 * (words - 1) & past == 0, "bits past the last sample are not zero")
                code = codes >> i * bits & 2**bits - 1
                empty = len(found) == self.empty_id
                need("SIGP-3", empty or code or scheme.field not in (3, 4), "a set that is not empty has code 0")
                need("SIGP-4", not empty or code == 0 and not any(own), "the signature of the empty set is not zero")
                found.append((int(empty), code, own))
        return found

    def rows(self):
        """(key, sequence, empty, code, words, elements, value) of each row, in order. `elements` is None if sets are not
        kept, and `value` if the row has none."""
        signatures = self.signatures()
        self.keys, self.row_ids, self.sequences, self.duplicates = [], [], [], []
        self.next_id = 0
        self.fence(self.root, self.level, None)
        need("LEAF-3", (len(self.keys), self.next_id) == (self.n, self.ids), "rows or ids are missing")
        need("SEG-2", sum(map(len, self.keys)) == self.key_bytes, "`key bytes` is wrong")
        need("SEG-3", max(self.sequences) <= self.last, "a sequence is greater than the last")
        self.check_duplicates()
        self.index.check(signatures)
        scheme = self.scheme
        sets = self.kept.read(scheme.sketch, scheme.code_of) if self.kept else [None] * self.ids
        values = self.valued.read() if self.valued else [None] * self.n
        return [(key, sequence, *signatures[i], sets[i], value)
                for key, sequence, i, value in zip(self.keys, self.sequences, self.row_ids, values)]

    def fence(self, number, level, expected):
        longest = INNER_FENCE if expected else None
        page, _ = self.database.page(self.key_region, number, FENCE, self.entry.id, longest)
        need("FENCE-1", len(page) >= 8, "a fence page is too short for its start")
        found, zero, count, zero2 = struct.unpack_from("<B3sHH", page)
        need("FENCE-1", len(page) >= 8 + 20 * count, "a fence page is too short for its entries")
        need("FENCE-2", found == level and count >= 1 and not any(zero) and zero2 == 0,
             "the level, count or zeros of a fence page are wrong")
        children, rows, ids, key_ends, filter_ends = zip(*struct.iter_unpack("<5I", page[8:8 + 20 * count]))
        need("FENCE-3", all(a < b for a, b in zip(rows, rows[1:])) and
             all(list(of) == sorted(of) for of in (ids, key_ends, filter_ends)), "fence entries are not in order")
        filters_at = 8 + 20 * count + key_ends[-1]
        need("FENCE-1", filters_at <= len(page), "a fence page is too short for its separators")
        need("FENCE-4", filters_at + filter_ends[-1] == len(page), "the filters do not fill the rest of a fence page")
        need("FENCE-5", expected in (None, (rows[0], ids[0])), "a fence does not start where its parent says")
        separators = cut(page[8 + 20 * count:filters_at], key_ends)
        filters = cut(page[filters_at:], filter_ends)
        for i, child in enumerate(children):
            need("FENCE-5", self.key_region[0] + UNIT * child < self.key_region[1],
                 "a child lies outside the region of the keys")
            before = len(self.keys)
            if level > 1:
                need("FILTER-1", filters[i] == b"", "there is a filter above level 1")
                self.fence(child, level - 1, (rows[i], ids[i]))
            else:
                self.leaf(child, (rows[i], ids[i]))
                need("FILTER-1", filters[i] == bloom(self.keys[before:]), "the filter of a leaf is wrong")
            need("FENCE-3", separators[i] <= self.keys[before], "a separator is greater than a key of its child")
            need("FENCE-3", self.keys[before - 1] < separators[i] if before else separators[i] == b"",
                 "a separator is not greater than the keys before it, or the first one is not empty")

    def leaf(self, number, expected):
        page, _ = self.database.page(self.key_region, number, LEAF, self.entry.id)
        need("LEAF-1", len(page) >= 24, "a leaf is too short for its start")
        first_row, first_id, count, prefix_length, suffix_length, duplicates, width, zero = struct.unpack_from(
            "<IIHHHHB7s", page)
        varies = suffix_length == 0xFFFF
        ends_at = 24 + prefix_length
        sequences_at = ends_at + 2 * count * varies
        duplicates_at = sequences_at + width * count
        suffixes_at = duplicates_at + 6 * duplicates
        need("LEAF-1", suffixes_at <= len(page), "a leaf is too short for what its start says")
        need("LEAF-2", count >= 1 and width <= 8 and not any(zero),
             "the count, sequence width or zeros of a leaf are wrong")
        need("LEAF-3", first_row + count <= self.n, "a leaf has rows past the last one")
        ends = (struct.unpack_from(f"<{count}H", page, ends_at) if varies
                else [suffix_length * (i + 1) for i in range(count)])
        need("LEAF-4", list(ends) == sorted(ends) and suffixes_at + ends[-1] == len(page),
             "the suffixes do not fill the rest of a leaf")
        need("LEAF-4", all(a < b for a, b in zip(ends, ends[1:])), "a suffix after the first is empty")
        keys = [page[24:ends_at] + suffix for suffix in cut(page[suffixes_at:], ends)]
        need("LEAF-4", all(1 <= len(key) <= 4096 for key in keys), "a key is too short or too long")
        places = list(struct.iter_unpack("<HI", page[duplicates_at:suffixes_at]))
        need("LEAF-6", all(a < b for (a, _), (b, _) in zip(places, places[1:]))
             and all(place < count and of < first_id + place - i for i, (place, of) in enumerate(places)),
             "the duplicate rows of a leaf are wrong")
        need("LEAF-5", first_id + count - duplicates <= self.ids, "a leaf has ids past the last one")
        need("FENCE-5", (first_row, first_id) == expected, "a leaf does not start where its parent says")
        need("LEAF-3", expected == (len(self.keys), self.next_id), "a leaf does not follow the one before")
        shared = dict(places)
        for i, key in enumerate(keys):
            need("LEAF-7", not self.keys or self.keys[-1] < key, "the keys do not ascend")
            if i in shared:
                self.duplicates.append((shared[i], len(self.keys)))
            else:
                self.next_id += 1
            self.row_ids.append(shared.get(i, self.next_id - 1))
            self.keys.append(key)
            self.sequences.append(self.first + int.from_bytes(
                page[sequences_at + width * i:sequences_at + width * (i + 1)], "little"))

    def check_duplicates(self):
        counts = shares(self.n - self.ids, PAIRS_PER_PAGE)
        payloads, number = self.database.pages(self.duplicate_region, counts, DUPLICATES, self.entry.id)
        pairs, firsts = [], []
        for count, payload in zip(counts, payloads):
            need("DUP-1", len(payload) == 8 * count, "a page of duplicate rows has the wrong length")
            own = list(struct.iter_unpack("<II", payload))
            firsts.append(own[0][0])
            pairs += own
        need("DUP-2", all(a < b for a, b in zip(pairs, pairs[1:]))
             and all(i < self.ids and row < self.n for i, row in pairs),
             "the duplicate rows are not in order or out of range")
        counts = shares(len(firsts), IDS_PER_PAGE)
        found = []
        payloads, _ = self.database.pages(self.duplicate_region, counts, DIRECTORY, self.entry.id, number)
        for count, payload in zip(counts, payloads):
            need("DUP-3", len(payload) == 4 * count, "a directory page of duplicate rows has the wrong length")
            found += [first for first, in struct.iter_unpack("<I", payload)]
        need("DUP-3", found == sorted(found), "the directory of duplicate rows descends")
        need("DUP-4", pairs == sorted(self.duplicates), "the duplicate rows are not those of the leaves")
        need("DUP-3", found == firsts, "the directory does not fit the duplicate rows")


def cut(data, ends):
    return [data[start:end] for start, end in zip((0, *ends), ends)]


def duplicates_bytes(count):
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
                raise SystemExit(f"{path}: the patch does not fit the golden file")
            data[at:at + len(old)] = new
    return bytes(data)


def rows_text(path):
    rows = Database(read(path)).rows()
    text = []
    for key, (sequence, empty, code, words, elements, value) in sorted(rows.items()):
        fields = [key.hex(), sequence, empty, code, "".join(f"{w:016x}" for w in words)]
        if elements is not None:
            fields.append(",".join(map(str, elements)))
        if value is not None:
            fields.append(f"value={value.hex()}")
        text.append("\t".join(map(str, fields)) + "\n")
    return "".join(text)


def outcome(path):
    """The rows or the broken rule, as text, and the exit status."""
    try:
        return rows_text(path), 0
    except Broken as broken:
        return f"{broken}\n", 1


def check(golden, rejects):
    wrong = [] if golden and rejects else ["no golden files or no rejects"]
    for path in golden:
        if outcome(path)[0] != path.with_suffix(".rows").read_text():
            wrong.append(f"{path}: the rows differ from the .rows file")
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
