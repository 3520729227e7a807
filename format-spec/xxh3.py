"""XXH3-64 with seed 0 and the default secret. It is simple, not fast."""
import struct

M = 2**64 - 1
SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")
P32_1, P32_2, P32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
P64_1, P64_2, P64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
P64_4, P64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
MX1, MX2 = 0x165667919E3779F9, 0x9FB21C651E98DF25


def r32(data, at):
    return struct.unpack_from("<I", data, at)[0]


def r64(data, at):
    return struct.unpack_from("<Q", data, at)[0]


def fold(a, b):
    """The two halves of the 128-bit product, xored."""
    return (a * b & M) ^ (a * b >> 64)


def rotl(x, n):
    return (x << n | x >> (64 - n)) & M


def avalanche(x):
    x = (x ^ x >> 37) * MX1 & M
    return x ^ x >> 32


def avalanche64(x):
    """The finish of XXH64, which XXH3 uses for the shortest inputs."""
    x = (x ^ x >> 33) * P64_2 & M
    x = (x ^ x >> 29) * P64_3 & M
    return x ^ x >> 32


def mix16(data, at, secret_at):
    return fold(r64(data, at) ^ r64(SECRET, secret_at), r64(data, at + 8) ^ r64(SECRET, secret_at + 8))


def xxh3(data):
    n = len(data)
    if n == 0:
        return avalanche64(r64(SECRET, 56) ^ r64(SECRET, 64))
    if n <= 3:
        word = data[0] << 16 | data[n >> 1] << 24 | data[-1] | n << 8
        return avalanche64(word ^ r32(SECRET, 0) ^ r32(SECRET, 4))
    if n <= 8:
        x = (r32(data, n - 4) + (r32(data, 0) << 32)) ^ r64(SECRET, 8) ^ r64(SECRET, 16)
        x = (x ^ rotl(x, 49) ^ rotl(x, 24)) * MX2 & M
        x = (x ^ (x >> 35) + n & M) * MX2 & M
        return x ^ x >> 28
    if n <= 16:
        low = r64(data, 0) ^ r64(SECRET, 24) ^ r64(SECRET, 32)
        high = r64(data, n - 8) ^ r64(SECRET, 40) ^ r64(SECRET, 48)
        swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
        return avalanche(n + swapped + high + fold(low, high) & M)
    if n <= 128:
        acc = n * P64_1
        for i in range((n - 1) // 32 + 1):
            acc += mix16(data, 16 * i, 32 * i) + mix16(data, n - 16 * (i + 1), 32 * i + 16)
        return avalanche(acc & M)
    if n <= 240:
        acc = n * P64_1 + sum(mix16(data, 16 * i, 16 * i) for i in range(8))
        acc = avalanche(acc & M)
        acc += sum(mix16(data, 16 * i, 16 * (i - 8) + 3) for i in range(8, n // 16))
        return avalanche(acc + mix16(data, n - 16, 136 - 17) & M)
    return xxh3_long(data)


def xxh3_long(data):
    acc = [P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1]

    def stripe(at, secret_at):
        for i in range(8):
            word = r64(data, at + 8 * i)
            keyed = word ^ r64(SECRET, secret_at + 8 * i)
            acc[i ^ 1] = acc[i ^ 1] + word & M
            acc[i] = acc[i] + (keyed & 0xFFFFFFFF) * (keyed >> 32) & M

    stripes = (len(data) - 1) // 64  # whole ones before the last, which ends with the input
    for s in range(stripes):
        stripe(64 * s, 8 * (s % 16))
        if s % 16 == 15:  # the end of a block of 1024 bytes
            for i in range(8):
                acc[i] = (acc[i] ^ acc[i] >> 47 ^ r64(SECRET, 128 + 8 * i)) * P32_1 & M
    stripe(len(data) - 64, 192 - 64 - 7)
    x = len(data) * P64_1
    for i in range(0, 8, 2):
        x += fold(acc[i] ^ r64(SECRET, 11 + 8 * i), acc[i + 1] ^ r64(SECRET, 19 + 8 * i))
    return avalanche(x & M)
