"""From a set to samples: a second implementation of hashing.md. It is simple, not fast. Used by reference.py."""
import math

M = 2**64 - 1
G = 0x9E3779B97F4A7C15
C1, C2 = 0x3C79AC492BA7B653, 0x1C69B3F74AC4AE35
# HASH-3
ELEMENTS, SAMPLES, UNIVERSE, EMPTY_BINS, DONORS, GROUPS, TIES, WEIGHTS, PROJECTIONS, VISITS = range(1, 11)


def ceil_div(a, b):
    return -(-a // b)


def stir(x):  # HASH-1
    x = (x ^ x >> 27) * C1 & M
    return (x ^ x >> 33) * C2 & M


def settle(x):  # HASH-1
    return x ^ x >> 27


def mix(x):  # HASH-1
    return settle(stir(x))


def unstir(x):
    """The inverse of stir. The vectors need elements with a given hash."""
    x = x * pow(C2, -1, 2**64) & M
    x = (x ^ x >> 33) * pow(C1, -1, 2**64) & M
    return x ^ x >> 27 ^ x >> 54


def unmix(x):
    """The inverse of mix."""
    return unstir(x ^ x >> 27 ^ x >> 54)


def key(w, i):  # HASH-2
    return mix(w + G * (i + 1) & M)


def keys(seed, purpose, i):
    return key(mix(seed + G * purpose & M), i)


def permutation(n, w):  # HASH-4
    bits = max((n - 1).bit_length(), 6)
    high_bits = bits // 2
    low_bits = bits - high_bits
    high_mask, low_mask = 2**high_bits - 1, 2**low_bits - 1
    c = [key(w, i) for i in range(6)]

    def image(x):
        while True:
            high, low = x >> low_bits, x & low_mask
            for i in (0, 2, 4):
                high ^= mix(low ^ c[i]) & high_mask
                low ^= mix(high ^ c[i + 1]) & low_mask
            x = high << low_bits | low
            if x < n:
                return x
    return image


def element_hash(seed, x):  # SAMPLE-1
    return stir(x ^ keys(seed, ELEMENTS, 0))


# --- numbers -----------------------------------------------------------------------------------------

def unit(w):  # HASH-5
    return ((w >> 12) + 0.5) / 2**52


def product(w):  # HASH-5
    return ((w >> 32) + 0.5) / 2**32 * (((w & 0xFFFFFFFF) + 0.5) / 2**32)


def coefficients(text):
    return [float(c) for c in text.split()]


N1 = coefficients("""2509.0809287301226727 33430.575583588128105 67265.770927008700853 45921.953931549871457
                    13731.693765509461125 1971.5909503065514427 133.14166789178437745 3.387132872796366608""")
M1 = coefficients("""5226.495278852854561 28729.085735721942674 39307.89580009271061 21213.794301586595867
                    5394.1960214247511077 687.1870074920579083 42.313330701600911252 1""")
N2 = coefficients("""7.7454501427834140764e-4 0.0227238449892691845833 0.24178072517745061177 1.27045825245236838258
                    3.64784832476320460504 5.7694972214606914055 4.6303378461565452959 1.42343711074968357734""")
M2 = coefficients("""1.05075007164441684324e-9 5.475938084995344946e-4 0.0151986665636164571966 0.14810397642748007459
                    0.68976733498510000455 1.6763848301838038494 2.05319162663775882187 1""")
N3 = coefficients("""2.01033439929228813265e-7 2.71155556874348757815e-5 0.0012426609473880784386 0.026532189526576123093
                    0.29656057182850489123 1.7848265399172913358 5.4637849111641143699 6.6579046435011037772""")
M3 = coefficients("""2.04426310338993978564e-15 1.4215117583164458887e-7 1.8463183175100546818e-5 7.868691311456132591e-4
                    0.0148753612908506148525 0.13692988092273580531 0.59983220655588793769 1""")


def horner(polynomial, y):
    value = 0.0
    for c in polynomial:
        value = value * y + c
    return value


def normal(w):  # HASH-6
    centred = unit(w) - 0.5
    if abs(centred) <= 0.425:
        y = 0.180625 - centred * centred
        return centred * horner(N1, y) / horner(M1, y)
    y = math.sqrt(-math.log(unit(w) if centred < 0 else 1 - unit(w)))
    if y <= 5:
        far = horner(N2, y - 1.6) / horner(M2, y - 1.6)
    else:
        far = horner(N3, y - 5) / horner(M3, y - 5)
    return math.copysign(far, centred)


def weighted_set(sampler, pairs):
    """A dict of weights by element, in ascending order, from pairs of element and weight. WEIGHT-1, WEIGHT-2"""
    together = {}
    for x, weight in sorted(pairs):
        if not math.isfinite(weight) or sampler == "weighted" and weight <= 0:
            raise ValueError("WEIGHT-1")
        together[x] = together[x] + weight if x in together else weight
    if not all(map(math.isfinite, together.values())):
        raise ValueError("WEIGHT-2")
    return {x: weight for x, weight in together.items() if weight != 0}


# --- samplers ----------------------------------------------------------------------------------------

def samples(sampler, size, seed, k, elements):
    """The k samples of a set that is not empty. `size` is D, or 0 for the open universe. The samplers weighted and sign
    projection take a dict of weights. The others take an iterable of distinct elements."""
    if sampler == "lazy":
        return lazy_samples(seed, k, elements)
    if sampler == "every-bin":
        return every_bin_samples(seed, k, elements)
    if sampler == "weighted":
        return weighted_samples(seed, k, elements)
    if sampler == "sign-projection":
        return projection_signs(seed, k, elements)
    if size and max(elements) >= size:
        raise ValueError("SAMPLE-1: an element outside the universe")
    hashes = None if size else [element_hash(seed, x) for x in elements]
    if sampler == "independent":
        if not size:  # SAMPLE-2
            return [min(mix(h ^ w) for h in hashes) for w in (keys(seed, SAMPLES, j) for j in range(k))]
        return [min(map(permutation(size, keys(seed, UNIVERSE, j)), elements)) for j in range(k)]  # SAMPLE-3

    span = size or 2**64
    order = map(permutation(size, keys(seed, UNIVERSE, 0)), elements) if size else hashes
    place = {}  # by occupied bin
    for p in order:
        i = p * k // span
        place[i] = min(p, place.get(i, p))
    if size:  # SAMPLE-5
        result = {i: p - ceil_div(i * size, k) for i, p in place.items()}
    else:  # SAMPLE-4
        place = {i: p for i, p in place.items() if p != M} or {k - 1: M}
        result = {i: settle(p) for i, p in place.items()}
    for i in range(k):
        if i not in place:  # SAMPLE-6, SAMPLE-7
            donor = min(place, key=permutation(k, keys(seed, DONORS, i)))
            result[i] = mix(place[donor] ^ keys(seed, EMPTY_BINS, i))
    return [result[i] for i in range(k)]


def thresholds(members, group_size):
    """The t_j of SAMPLE-8 whose p_j is not 0."""
    p = 2**96
    for _ in range(members):
        p = p * (group_size - 1) // group_size
    total, found = 0, []
    for j in range(members):
        if p > 0:
            total += p
            found.append(total >> 32)
        p = p * (members - j) // ((j + 1) * (group_size - 1))
    return found


def lazy_samples(seed, draws, elements):
    hashes = [element_hash(seed, x) for x in elements]
    group_size = min(max(draws, 2), 128)
    claims = [{} for _ in range(draws)]  # for each sample, extensions by the hash of the element
    for i in range(ceil_div(draws, group_size)):  # SAMPLE-8
        start = i * group_size
        members = min(group_size, draws - start)
        limits = thresholds(members, group_size)
        for h in hashes:
            draw = mix(h ^ keys(seed, GROUPS, i))
            count = sum(limit <= draw for limit in limits)
            for claim in range(1, count + 1):
                span = members - count + claim
                scaled = key(draw, claim - 1) * span
                j = start + (scaled >> 64)
                if h in claims[j]:
                    j = start + span - 1
                claims[j][h] = scaled & M
    result = []
    for j in range(draws):  # SAMPLE-9
        def tie(h):
            return mix(h ^ keys(seed, TIES, j))
        if claims[j]:
            most = max(claims[j].values())
            winner = min((h for h, extension in claims[j].items() if extension == most), key=tie)
        else:
            winner = min(hashes, key=tie)
        result.append(mix(winner ^ keys(seed, SAMPLES, j)))
    return result


def visit_order(seed, k, r):
    """The list of order r, and the word that it is made from. SAMPLE-12"""
    w = keys(seed, VISITS, r)
    steps = list(range(k))
    for i in range(k - 1, 1, -1):
        j = 1 + (key(w, i) * i >> 64)
        steps[i], steps[j] = steps[j], steps[i]
    return steps, w


def every_bin_samples(seed, k, elements):
    count = 256
    while count * k > 2**20:
        count //= 2
    low_bits = 16 - (k - 1).bit_length()
    orders = {}
    best = [(2**16, 0, 0)] * k  # rank, tie, folded hash
    ties = [keys(seed, TIES, i) for i in range(k)]
    for x in elements:  # SAMPLE-12
        h = min(element_hash(seed, x), M - 1)
        folded = settle(h) & 0xFFFFFFFF
        r = folded * count >> 32
        if r not in orders:
            orders[r] = visit_order(seed, k, r)
        steps, w = orders[r]
        for time, step in enumerate(steps):
            i = ((h * k >> 64) + step) % k
            rank = time << low_bits | key(w, time) & (1 << low_bits) - 1 if time else 0  # SAMPLE-13
            if rank <= best[i][0]:  # SAMPLE-14
                best[i] = min(best[i], (rank, stir(h ^ ties[i]) if rank else h, folded))
    result = []
    for i, (_, _, folded) in enumerate(best):  # SAMPLE-15
        c = [keys(seed, SAMPLES, i) >> 16 * part & 0xFFFF for part in range(4)]
        low, high = ((folded & 0xFFFF) ^ c[0]) * (c[2] | 1), (folded >> 16 ^ c[1]) * (c[3] | 1)
        result.append((low ^ low >> 16 ^ high ^ high >> 16) & 0xFFFF)
    return result


def weighted_samples(seed, n, weights):  # SAMPLE-10
    result = []
    for j in range(n):
        ranks = []
        for x, weight in weights.items():
            h = element_hash(seed, x)
            draw = mix(h ^ keys(seed, WEIGHTS, j))
            rate = -math.log(product(draw))
            scale = -math.log(product(key(draw, 0)))
            shift = unit(key(draw, 1))
            level = math.floor(math.log(weight) / rate + shift)
            ranks.append((math.log(scale) - rate * (level - shift) - rate, h, level))
        _, h, level = min(ranks)
        result.append(mix(mix(h + G * level & M) ^ keys(seed, SAMPLES, j)))
    return result


def projection_signs(seed, n, weights):  # SAMPLE-11
    _, exponent = math.frexp(max(map(abs, weights.values())))  # frexp: 1/2 <= mantissa < 1
    scaled = [(element_hash(seed, x), w / 2.0**(exponent - 1)) for x, w in weights.items()]
    result = []
    for j in range(n):
        total = 0.0
        for h, w in scaled:
            total += w * normal(mix(h ^ keys(seed, PROJECTIONS, j)))
        result.append(int(total > 0))
    return result
