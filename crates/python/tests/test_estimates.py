"""Estimates: values, standard errors, intervals and probabilities are those of the formulas, evaluated by scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest

import ringerdb as rdb

special = pytest.importorskip("scipy.special")
stats = pytest.importorskip("scipy.stats")

#: The quantile of the normal distribution for intervals of 95 %.
Z = stats.norm.ppf(0.975)

#: Numbers of samples, bits, and equal samples.
COUNTS = [(k, b, x) for k, b in [(64, 8), (128, 1), (128, 4), (200, 2), (40, 4)] for x in sorted({*range(0, k + 1, 7), k - 1, k})]


def compared(k: int, b: int, x: int) -> rdb.Comparison:
    """Two signatures of which exactly x samples are equal."""
    db = rdb.memory(features="ids", sampler="independent", cardinality="none", samples=k, bits=b, slots=0, seed=1)
    samples = np.random.default_rng(x).integers(0, 1 << b, (2, k))
    samples[1] = samples[0]
    samples[1, x:] ^= 1
    db.put_many(["a", "b"], signatures=db.sketcher.from_samples(samples))
    found = db.estimate("a", "b")
    assert found.equal_samples == x
    return found


def interval(k: int, c: float, x: int) -> tuple[float, float]:
    """The interval of the resemblance: Wilson's for many samples, that of Clopper and Pearson for few; and the exact tails."""
    exact_high = 1.0 if x == k else stats.beta.ppf(0.975, x + 1, k - x)
    if k < 64:
        low, high = 0.0 if x == 0 else stats.beta.ppf(0.025, x, k - x + 1), exact_high
    else:
        p, scale = x / k, 1 + Z * Z / k
        centre, half = (p + Z * Z / (2 * k)) / scale, Z / scale * math.sqrt(p * (1 - p) / k + Z * Z / (4 * k * k))
        low, high = centre - half, centre + half
        if k - x < 4.5:
            high = max(high, exact_high)
    low, high = ((end - c) / (1 - c) for end in (low, high))
    if stats.binom.sf(x - 1, k, c) > 0.025:
        low = 0.0
    return min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)


@pytest.mark.parametrize(("k", "b", "x"), COUNTS)
def test_resemblances_are_those_of_the_formulas(k: int, b: int, x: int) -> None:
    c, found = 2.0**-b, compared(k, b, x)
    p = x / k
    for estimate in (found.resemblance, found.similarity, found.unbiased, found.likelihood):
        assert estimate.value == pytest.approx((p - c) / (1 - c), abs=1e-12)
        assert (estimate.low, estimate.high) == pytest.approx(interval(k, c, x), abs=1e-9)
        if 0 < x < k:
            assert estimate.std_error == pytest.approx(math.sqrt(p * (1 - p) / k) / (1 - c), rel=1e-9)
    # Jeffreys' prior, cut to the possible probabilities of agreement.
    for t in (0.01, 0.2, 0.5, 0.8, 0.99):
        # By the upper tails, which have all digits even if they are small.
        above = [special.betaincc(x + 0.5, k - x + 0.5, place) for place in (c + (1 - c) * t, c)]
        assert found.probability_at_least(t) == pytest.approx(above[0] / above[1], rel=1e-8, abs=1e-12)
    assert found.probability_at_least(0.0) == 1.0 and found.probability_at_least(1.01) == 0.0


def test_intervals_of_the_matrix_cover_the_truth() -> None:
    """Of 400 pairs of known resemblance, about 95 % are in their intervals, and the errors are as large as stated."""
    db = rdb.memory(features="ids", sampler="independent", cardinality="none", samples=128, bits=4, slots=0, seed=3)
    starts = [(i * 10_000, 20 * (i % 40)) for i in range(400)]
    for name, shift in (("a", False), ("b", True)):
        sets = [range(start + (offset if shift else 0), start + 1000 + (offset if shift else 0)) for start, offset in starts]
        db.put_many([f"{name}{i}" for i in range(400)], sets=sets)
    within, scores = 0, []
    for i, (_, offset) in enumerate(starts):
        truth, found = (1000 - offset) / (1000 + offset), db.estimate(f"a{i}", f"b{i}").resemblance
        within += found.low <= truth <= found.high
        if 0 < offset:
            # By the standard error at the truth, which the estimate does not shift.
            p = 1 / 16 + 15 / 16 * truth
            scores.append((found.value - truth) / (math.sqrt(p * (1 - p) / 128) * 16 / 15))
    # More than six standard deviations of the binomial below 95 % would be a defect.
    assert within >= 400 * 0.95 - 6 * math.sqrt(400 * 0.95 * 0.05)
    assert abs(np.mean(scores)) < 6 / math.sqrt(len(scores))
    assert stats.chi2.cdf((np.array(scores) ** 2).sum(), len(scores)) == pytest.approx(0.5, abs=0.4999)


@pytest.mark.parametrize("x", [0, 3, 64, 100, 127, 128])
def test_angles_and_cosines_are_those_of_the_formulas(x: int) -> None:
    db = rdb.memory(preset="cosine", features="ids", samples=128, slots=0, seed=1)
    samples = np.zeros((2, 128), dtype=int)
    samples[1, x:] = 1
    db.put_many(["a", "b"], signatures=db.sketcher.from_samples(samples))
    found, p = db.estimate("a", "b"), x / 128
    assert found.angle.value == pytest.approx(math.pi * (1 - p), abs=1e-12)
    assert found.cosine.value == pytest.approx(math.cos(math.pi * (1 - p)), abs=1e-12)
    assert found.angle.low <= found.angle.value <= found.angle.high
    if 0 < x < 128:
        assert found.angle.std_error == pytest.approx(math.pi * math.sqrt(p * (1 - p) / 128), rel=1e-9)
    for name in ("resemblance", "overlap", "intersection"):
        with pytest.raises(rdb.InvalidArgument):
            getattr(found, name)


def test_measures_of_kept_sets_are_counted() -> None:
    db = rdb.memory(features="ids", keep_sets=True, seed=1)
    a, b = set(range(0, 300)), set(range(250, 400))
    db.put_many(["a", "b", "empty"], sets=[a, b, []])
    found = db.estimate("a", "b")
    counted = {
        "resemblance": len(a & b) / len(a | b), "intersection": len(a & b), "union": len(a | b), "hamming": len(a ^ b),
        "containment_of_first": len(a & b) / 300, "containment_of_second": len(a & b) / 150, "overlap": len(a & b) / 150,
    }
    for name, value in counted.items():
        estimate = getattr(found, name)
        assert (estimate.value, estimate.std_error, estimate.low, estimate.high) == pytest.approx((value, 0, value, value)), name
    assert found.is_exact and found.likelihood == found.similarity and found.unbiased.std_error > 0
    truth = counted["resemblance"]
    assert found.possibly_at_least(truth) and found.certainly_at_least(truth)
    assert not found.possibly_at_least(truth + 1e-6) and not found.certainly_at_least(truth + 1e-6)
    with pytest.raises(rdb.InvalidArgument, match="undefined"):
        db.estimate("a", "empty").overlap
    with pytest.raises(rdb.InvalidArgument, match="angle"):
        found.angle


def test_overlap_follows_from_the_intersection() -> None:
    db = rdb.memory(features="ids", preset="precise", cardinality="exact", seed=2)
    db.put_many(["a", "b"], sets=[range(0, 900), range(600, 1000)])
    found = db.estimate("a", "b")
    assert found.overlap == found.containment_of_second
    assert found.overlap.value == pytest.approx(found.intersection.value / 400, rel=1e-9)
    assert found.overlap.low < 300 / 400 < found.overlap.high


def test_thresholds_are_decided_by_the_wider_interval() -> None:
    """Possible and certain mean the ends of the 99.9 % interval, which are outside of those of the 95 % interval."""
    found = compared(128, 4, 70)
    estimate = found.resemblance
    assert found.possibly_at_least(estimate.high) and not found.certainly_at_least(estimate.low)
    places = np.linspace(0, 1, 2001)
    possible, certain = ([ask(t) for t in places] for ask in (found.possibly_at_least, found.certainly_at_least))
    assert possible == sorted(possible, reverse=True) and certain == sorted(certain, reverse=True)
    z = stats.norm.ppf(1 - 0.0005)
    p, scale = 70 / 128, 1 + z * z / 128
    centre, half = (p + z * z / 256) / scale, z / scale * math.sqrt(p * (1 - p) / 128 + z * z / (4 * 128 * 128))
    ends = [(end - 1 / 16) / (15 / 16) for end in (centre - half, centre + half)]
    assert [places[sum(certain) - 1], places[sum(possible) - 1]] == pytest.approx(ends, abs=1 / 2000)


def test_likelihood_uses_the_order_of_samples() -> None:
    """For a set of 3 % of the universe in one of 30 %, its error is half of that of the similarity, or less."""
    universe, errors = 20_000, {"similarity": [], "likelihood": []}
    for seed in range(40):
        db = rdb.memory(features="ids", preset="precise", sampler="independent", universe=universe, cardinality="exact",
                        bits=8, slots=0, seed=seed)
        db.put_many(["a", "b"], sets=[range(600), range(6000)])
        found = db.estimate("a", "b")
        for name, values in errors.items():
            values.append(getattr(found, name).value - 0.1)
    root = {name: math.sqrt(np.mean(np.square(values))) for name, values in errors.items()}
    assert root["likelihood"] < 0.6 * root["similarity"], root
    # Elsewhere there is no order to use.
    db = rdb.memory(features="ids", preset="precise", seed=1)
    db.put_many(["a", "b"], sets=[range(600), range(300, 900)])
    assert db.estimate("a", "b").likelihood == db.estimate("a", "b").similarity
