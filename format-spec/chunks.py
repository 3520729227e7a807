"""Rabin fingerprints and chunks: a second implementation of chunks.md. It is simple, not fast. Used by reference.py.

A polynomial is its degree and its low part `q`. `h` is the horizon. vectors/README.md describes rabin.tsv and chunks.tsv.
"""
STANDARD = (64, 0x76C90A8130474C05)  # RABIN-1
WINDOW, REACH = 16, 8
PRIMES = {1: [], 8: [3, 5, 17], 31: [2147483647], 32: [3, 5, 17, 257, 65537],
          64: [3, 5, 17, 257, 641, 65537, 6700417]}


def remainder(dividend, degree, q):
    divisor = 1 << degree | q
    while dividend.bit_length() > degree:
        dividend ^= divisor << dividend.bit_length() - 1 - degree
    return dividend


def fingerprint(data, degree, q):  # RABIN-2
    return remainder(int.from_bytes(b"\1" + data, "big") << degree, degree, q)


def product(a, b, degree, q):
    total = 0
    for i in range(b.bit_length()):
        if b >> i & 1:
            total ^= a << i
    return remainder(total, degree, q)


def power_of_x(exponent, degree, q):
    power = 1
    for bit in bin(exponent)[2:]:
        power = product(power, power, degree, q)
        if bit == "1":
            power = product(power, 2, degree, q)
    return power


def concat(first, second, length, degree, q):  # RABIN-3
    shifted = product(first ^ fingerprint(b"", degree, q), power_of_x(8 * length, degree, q), degree, q)
    return shifted ^ second


def is_primitive(degree, q):  # RABIN-5
    order = 2**degree - 1
    return (power_of_x(order, degree, q) == 1
            and all(power_of_x(order // r, degree, q) != 1 for r in PRIMES[degree]))


def primitive_of_seed(seed, xxh3):  # RABIN-5
    i = 0
    while True:
        q = xxh3(seed.to_bytes(8, "little") + i.to_bytes(8, "little")) | 1
        if is_primitive(64, q):
            return q
        i += 1


def cuts(data, h):
    n = len(data)
    v = {i: fingerprint(data[i - WINDOW:i], *STANDARD) >> 32 for i in range(WINDOW, n + 1)}  # CHUNK-1

    def is_landmark(i):  # CHUNK-2
        return (WINDOW + h <= i <= n - h and all(v[j] >= v[i] for j in range(i - h, i))
                and all(v[j] > v[i] for j in range(i + 1, i + h + 1)))

    found = []
    c = 0
    while True:  # CHUNK-3
        landmark = next((i for i in range(c + 1, c + REACH * h + 1) if is_landmark(i)), None)
        if landmark is not None:
            c = landmark
        elif n > c + REACH * h:
            c = min(range(c + h + 1, c + (REACH - 1) * h + 1), key=lambda i: (v[i], -i))
        else:
            return found
        found.append(c)


def chunks(data, h, xxh3):  # CHUNK-4
    ends = [0, *cuts(data, h), len(data)]
    return [xxh3(data[a:b]) for a, b in zip(ends, ends[1:]) if a < b]


# --- the vectors -------------------------------------------------------------------------------------

def input_of(description):
    data = b""
    for part in filter(None, description.split("+")):
        part, _, times = part.partition("*")
        kind, _, rest = part.partition(":")
        if kind == "bytes":
            piece = bytes.fromhex(rest)
        else:
            seed, count = map(int, rest.split(":"))
            piece = bytes([seed]) * count if kind == "run" else bytes(
                ((seed + i) * 0x9E3779B97F4A7C15 & 2**64 - 1) >> 56 for i in range(1, count + 1))
        data += piece * int(times or 1)
    return data


POLYNOMIALS = (STANDARD, (8, 0x1D), (8, 0x1B), (1, 1), (1, 0), (31, 9), (32, 0x04C11DB7), (64, 0x1B), (64, 0x42F0E1EBA9EA3693))
STRINGS = (b"", b"\0", b"A", b"hello world", bytes(8), bytes(range(256)), b"\xff" * 33)


def rabin_rows(xxh3):
    yield "what", "degree", "q", "input", "output"
    for degree, q in POLYNOMIALS:
        for data in STRINGS:
            yield "fingerprint", degree, f"{q:x}", data.hex(), f"{fingerprint(data, degree, q):x}"
        for a, b in zip(STRINGS, STRINGS[1:]):
            both = concat(fingerprint(a, degree, q), fingerprint(b, degree, q), len(b), degree, q)
            assert both == fingerprint(a + b, degree, q)
            yield "concat", degree, f"{q:x}", f"{a.hex()},{b.hex()}", f"{both:x}"
        yield "primitive", degree, f"{q:x}", "", int(is_primitive(degree, q))
    for seed in (0, 1, 2, 42, 2**64 - 1):
        yield "search", 64, "", f"{seed:x}", f"{primitive_of_seed(seed, xxh3):x}"


INPUTS = (
    "", "bytes:00", "bytes:68656c6c6f20776f726c64", "run:32:79", "run:32:80", "noise:1:79", "noise:1:81", "noise:2:300",
    "noise:3:2000", "run:0:3000", "run:255:257", "noise:4:7*300", "noise:5:40*60", "noise:6:100*20", "noise:7:500+run:0:900+noise:8:500",
    "noise:3:1000+bytes:6e6577+noise:9:1000", "noise:10:1*100+noise:11:3*400+noise:12:600")


def chunk_rows(xxh3):
    yield "horizon", "input", "cuts", "features"
    for h in (16, 32, 100):
        for description in INPUTS:
            data = input_of(description)
            yield (h, description, ",".join(map(str, cuts(data, h))),
                   ",".join(f"{x:016x}" for x in chunks(data, h, xxh3)))
