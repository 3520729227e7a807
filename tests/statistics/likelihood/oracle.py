"""The most likely resemblance by the full contingency table: an independent implementation.

`oracle.py --write` writes vectors.tsv, and `oracle.py --check` compares it with what this program computes. It adds up
cells one by one, and maximises with scipy if that is installed and by its own search otherwise. `oracle.py --cells`
compares the cells with sums over all places and distances.
"""

import math
import random
import sys
from pathlib import Path

VECTORS = Path(__file__).with_name("vectors.tsv")
# D, |A|, |B|, |A and B|, b, k
CASES = [
    (65536, 37335, 36289, 32000, 1, 128), (65536, 37335, 36289, 32000, 2, 128), (65536, 37335, 36289, 32000, 4, 128),
    (65536, 39000, 2300, 2000, 4, 128), (65536, 39000, 2300, 100, 4, 200), (65536, 2300, 39000, 2300, 2, 128),
    (4096, 400, 1200, 400, 4, 64), (4096, 1200, 1200, 0, 3, 128), (4096, 1200, 400, 40, 6, 128),
    (1000, 100, 20, 19, 5, 256), (1000, 990, 980, 975, 3, 128), (65536, 700, 650, 400, 4, 128),
    (300, 150, 150, 150, 4, 64), (5000, 5000, 1000, 1000, 4, 64), (2000, 3, 500, 2, 4, 128),
]
CELLS = 2000


def geometric(r, values):
    """The distribution of a distance modulo 2^b, from 0."""
    total = 1 - (1 - r) ** values
    return [r * (1 - r) ** d / total for d in range(values)]


def table(r1, r2, s, values):
    """The probability of each pair of values."""
    u = r1 + r2 - s
    total = 1 - (1 - u) ** values
    place = [(1 - u) ** i / total for i in range(values)]
    to_first, to_second = geometric(r1, values), geometric(r2, values)
    return [
        [
            place[i] * ((s if i == j else 0) + (r1 - s) * to_second[(j - i - 1) % values])
            + place[j] * (r2 - s) * to_first[(i - j - 1) % values]
            for j in range(values)
        ]
        for i in range(values)
    ]


def cell_of(i, j):
    """Order, and magnitude of the smaller value."""
    return (i > j) - (i < j), min(min(i, j).bit_length(), 3)


def likelihood(case, counts):
    """The log-likelihood as a function of the size of the intersection."""
    universe, f1, f2, _, bits, _ = case

    def at(shared):
        merged = {}
        cells = table(f1 / universe, f2 / universe, shared / universe, 1 << bits)
        for i, row in enumerate(cells):
            for j, p in enumerate(row):
                cell = cell_of(i, j)
                merged[cell] = merged.get(cell, 0) + p
        terms = [n * math.log(merged[cell]) if merged[cell] > 0 else -math.inf for cell, n in counts.items()]
        return sum(terms)

    return at


def maximum(f, low, high):
    """Where f is greatest: the best of a grid, then a finer one around it."""
    try:
        from scipy.optimize import minimize_scalar
    except ImportError:
        minimize_scalar = None
    steps = 60
    places = [low + (high - low) * i / steps for i in range(steps + 1)]
    best = max(range(steps + 1), key=lambda i: f(places[i]))
    low, high = places[max(best - 1, 0)], places[min(best + 1, steps)]
    if minimize_scalar:
        found = minimize_scalar(lambda x: -max(f(x), -1e300), bounds=(low, high), method="bounded", options={"xatol": 1e-7})
        return max([low, found.x, high], key=f)
    while high - low > 1e-7 * max(high, 1):
        places = [low + (high - low) * i / 8 for i in range(9)]
        best = max(range(9), key=lambda i: f(places[i]))
        low, high = places[max(best - 1, 0)], places[min(best + 1, 8)]
    return (low + high) / 2


def solve(case, first, second):
    """The most likely resemblance, and the deviation of the likelihood."""
    universe, f1, f2 = case[:3]
    counts = {}
    for i, j in zip(first, second):
        counts[cell_of(i, j)] = counts.get(cell_of(i, j), 0) + 1
    f = likelihood(case, counts)
    least, most = max(f1 + f2 - universe, 0), min(f1, f2)
    peak = maximum(f, least, most)
    shared = max([max(math.floor(peak), least), min(math.ceil(peak), most)], key=f)
    resemblance = lambda a: a / (f1 + f2 - a)
    low, high = resemblance(least), resemblance(most)
    top = f(shared)
    # Only cells near the maximum carry weight: first coarse ones, then fine ones where those do.
    weigh = lambda middles: [math.exp(f(r / (1 + r) * (f1 + f2)) - top) for r in middles]
    for _ in range(3):
        width = (high - low) / 50
        middles = [low + width * (i + 0.5) for i in range(50)]
        kept = [m for m, w in zip(middles, weigh(middles)) if w > 1e-12] or middles
        low, high = max(kept[0] - width, low), min(kept[-1] + width, high)
    width = (high - low) / CELLS
    middles = [low + width * (i + 0.5) for i in range(CELLS)]
    weights = weigh(middles)
    total = sum(weights)
    mean = sum(m * w for m, w in zip(middles, weights)) / total
    variance = sum((m - mean) ** 2 * w for m, w in zip(middles, weights)) / total
    return resemblance(shared), math.sqrt(variance)


def samples(case, seed):
    """Samples of two sets, from random permutations of the universe: a minimum is the first place with an element."""
    universe, f1, f2, shared, bits, k = case
    draw = random.Random(seed)
    first, second = [], []
    for _ in range(k):
        # Regions of the elements: in both, only in one, in none. Places are drawn until both have a minimum.
        left = [shared, f1 - shared, f2 - shared, universe - f1 - f2 + shared]
        z, place = [None, None], 0
        while None in z:
            at = draw.randrange(sum(left))
            region = 0
            while at >= left[region]:
                at -= left[region]
                region += 1
            left[region] -= 1
            for side in (0, 1):
                if z[side] is None and region in (0, side + 1):
                    z[side] = place
            place += 1
        first.append(z[0] % (1 << bits))
        second.append(z[1] % (1 << bits))
    return first, second


def rows():
    for number, case in enumerate(CASES):
        first, second = samples(case, number)
        value, deviation = solve(case, first, second)
        texts = [",".join(map(str, values)) for values in (first, second)]
        yield [*map(str, case), *texts, f"{value:.9f}", f"{deviation:.9f}"]


def check_cells():
    """The cells by the sum over all places of the smaller minimum and all distances to the other."""
    for r1, r2, s, values in [(0.3, 0.5, 0.2, 8), (0.6, 0.04, 0.03, 4), (0.2, 0.2, 0.0, 16)]:
        u = r1 + r2 - s
        expected = [[0.0] * values for _ in range(values)]
        for t in range(200):
            before = (1 - u) ** t
            expected[t % values][t % values] += before * s
            for d in range(1, 900):
                expected[t % values][(t + d) % values] += before * (r1 - s) * (1 - r2) ** (d - 1) * r2
                expected[(t + d) % values][t % values] += before * (r2 - s) * (1 - r1) ** (d - 1) * r1
        worst = max(abs(a - b) for x, y in zip(expected, table(r1, r2, s, values)) for a, b in zip(x, y))
        assert worst < 1e-12, (r1, r2, s, values, worst)


def main():
    mode = sys.argv[1:]
    if mode == ["--cells"]:
        check_cells()
        print("the cells are right")
    elif mode == ["--write"]:
        head = ["universe", "first", "second", "shared", "bits", "samples", "of_first", "of_second", "value", "deviation"]
        VECTORS.write_text("".join("\t".join(row) + "\n" for row in [head, *rows()]))
    elif mode == ["--check"]:
        stored = [line.split("\t") for line in VECTORS.read_text().splitlines()[1:]]
        for line, row in zip(stored, rows(), strict=True):
            assert line[:8] == row[:8], line[:6]
            for a, b in zip(line[8:], row[8:]):
                assert abs(float(a) - float(b)) < 1e-6, (line[:6], a, b)
        print(f"{len(stored)} vectors agree")
    else:
        sys.exit(__doc__)


main()
