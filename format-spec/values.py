"""Values: a second implementation of values.md. Used by reader.py.

    decode(data, at, need)   the value that starts at byte `at`, or None, and where its encoding ends
    Values                   the region of values of a segment
"""
from elements import BYTES_PER_PAGE, STARTS_PER_PAGE, page_bytes, shares

VALUES, VALUES_DIRECTORY = 18, 19
MOST = 65537


def decode(data, at, need):
    size = shift = 0
    while True:
        need("VALUE-1", at < len(data), "a value is shorter than it says")
        byte = data[at]
        at += 1
        size |= (byte & 127) << shift
        shift += 7
        if byte < 128 or shift == 21:
            break
    need("VALUE-2", byte < 128 and (byte or shift == 7) and size <= MOST, "the size of a value is impossible")
    if size == 0:
        return None, at
    end = at + size - 1
    need("VALUE-1", end <= len(data), "a value is shorter than it says")
    return data[at:end], end


class Values:
    def __init__(self, segment, length, value_bytes, need):
        """For a segment whose header was read. `values` is its region of values, which has this length."""
        self.segment, self.need = segment, need
        self.pages, self.starts = shares(value_bytes, BYTES_PER_PAGE), shares(segment.n, STARTS_PER_PAGE)
        need("VALUE-3", value_bytes >= segment.n and length == sum(map(page_bytes, self.pages)) + sum(
            page_bytes(5 * n) for n in self.starts), "the region of values has the wrong length")

    def read(self):
        """The value of each row, or None."""
        segment, need = self.segment, self.need
        pages = lambda counts, kind, number: segment.database.pages(
            segment.values, counts, kind, segment.entry.id, number)
        payloads, number = pages(self.pages, VALUES, 0)
        for payload, count in zip(payloads, self.pages):
            need("VALUE-4", len(payload) == count, "a page of values has the wrong length")
        data, starts = b"".join(payloads), []
        payloads, _ = pages(self.starts, VALUES_DIRECTORY, number)
        for payload, count in zip(payloads, self.starts):
            need("VALUE-5", len(payload) == 5 * count, "a directory page of values has the wrong length")
            starts += [int.from_bytes(payload[i:i + 5], "little") for i in range(0, len(payload), 5)]
        need("VALUE-5", starts[0] == 0 and all(a < b for a, b in zip(starts, [*starts[1:], len(data)])),
             "the starts of values are wrong")
        found = []
        for start, end in zip(starts, [*starts[1:], len(data)]):
            value, at = decode(data[:end], start, need)
            need("VALUE-6", at == end, "a value does not end where the next one starts")
            found.append(value)
        return found
