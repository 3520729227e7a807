//! (a) Theory: variance factors, storage, exponents of the index, and the exactness of the formulas.

use ringer::estimate::Chance;
use ringer::estimate::planning::{lsh_exponent, storage_factor};

use crate::chart::{Axis, Figure, Kind, Series};
use crate::page::{Agrees, Claim, Part};
use crate::{Effort, Outcome};

/// Pairs of table 1 of 000: name, r1, r2, R and the printed B(64)/B(1).
const PRINTED: [(&str, f64, f64, f64, f64); 6] = [
    ("KONG-HONG", 0.0145, 0.0143, 0.925, 31.0),
    ("OF-AND", 0.570, 0.554, 0.771, 40.8),
    ("GAMBIA-KIRIBATI", 0.0031, 0.0028, 0.712, 26.6),
    ("UNITED-STATES", 0.062, 0.061, 0.591, 24.8),
    ("LOW-PAY", 0.045, 0.043, 0.112, 6.8),
    ("A-TEST", 0.596, 0.035, 0.052, 6.2),
];

/// The storage of 64-bit samples over that of b-bit samples.
pub(crate) fn improvement(bits: u32, r1: f64, r2: f64, r: f64) -> f64 {
    64.0 * r * (1.0 - r) / storage_factor(bits, r1, r2, r)
}

fn line(name: String, colour: usize, points: Vec<(f64, f64)>) -> Series {
    Series { name, kind: Kind::Line, colour, points }
}

fn storage(r: f64) -> Figure {
    let curve = |bits: u32| {
        let points =
            (1..100).map(|i| f64::from(i) / 100.0).map(|x| (x, improvement(bits, r, r, x)));
        line(format!("b = {bits}"), bits as usize - 1, points.collect())
    };
    Figure {
        title: match r < 1e-6 {
            true => "Storage improvement, sparse sets".into(),
            false => format!("Storage improvement, r1 = r2 = {r}"),
        },
        caption: "B(64)/B(b): how many times the space 64-bit samples need at the same variance."
            .into(),
        x: Axis::linear("resemblance R"),
        y: Axis::linear("B(64) / B(b)"),
        series: (1..=4).map(curve).collect(),
    }
}

/// How much smaller b-bit samples are than a random sample of the universe, at the same variance of the Hamming distance
/// (equation 20, whose variances do not depend on R's estimate otherwise).
fn hamming_gain(r1: f64, ratio: f64) -> Vec<(f64, f64)> {
    let r2 = r1 * ratio;
    let gain = |i: i32| {
        let s = r2 * f64::from(i) / 40.0;
        let (resemblance, h) = (s / (r1 + r2 - s), r1 + r2 - 2.0 * s);
        let sampling = h * (1.0 - h);
        let chance = Chance::dense(1, r1, r2);
        let variance = chance.variance(chance.agreement(resemblance));
        let hashing = variance * 4.0 * (r1 + r2).powi(2) / (1.0 + resemblance).powi(4);
        (s / r2, sampling * (r1 + r2) / 2.0 * 64.0 / hashing)
    };
    (0..=40).filter(|i| r1 + r2 - r2 * f64::from(*i) / 40.0 <= 1.0).map(gain).collect()
}

fn hamming() -> Figure {
    let shares = [1e-4, 0.1, 0.5, 0.9];
    let series = shares
        .iter()
        .enumerate()
        .map(|(colour, r1)| line(format!("r1 = {r1}"), colour, hamming_gain(*r1, 0.5)));
    Figure {
        title: "1-bit samples against random sampling of the universe".into(),
        caption: "The storage ratio of equation (20) for r2 = r1/2; as in figure 5 of 000.".into(),
        x: Axis::linear("share of the smaller set that is shared, s / r2"),
        y: Axis::linear("storage ratio"),
        series: series.collect(),
    }
}

fn exponents(near: f64) -> Figure {
    let curve = |(colour, bits): (usize, Option<u32>)| {
        let chance = bits.map_or(Chance { c1: 0.0, c2: 0.0 }, Chance::sparse);
        let ratios = (0..=40).map(|i| 1.05 + (1.0 / near - 0.05 - 1.05) * f64::from(i) / 40.0);
        let name = bits.map_or("full samples".into(), |bits| format!("b = {bits}"));
        line(name, colour, ratios.map(|c| (c, lsh_exponent(&chance, near, c))).collect())
    };
    let kept = [Some(1), Some(2), Some(4), None];
    Figure {
        title: format!("Exponent of the index, near distance {near}"),
        caption: "rho of equations (30) and (31): a query takes about N^rho comparisons. As in figure 11 of 000.".into(),
        x: Axis::linear("ratio c of the far distance to the near one"),
        y: Axis::linear("rho"),
        series: kept.into_iter().enumerate().map(curve).collect(),
    }
}

/// The exact probability that b-bit samples agree in a universe of d elements.
fn exact(d: usize, f1: usize, f2: usize, shared: usize, bits: u32) -> f64 {
    let (values, union) = (1 << bits, f1 + f2 - shared);
    // After the first minimum at a place, the distance to the other one: places without an element of that set.
    let mut sum = 0.0;
    let mut before = 1.0;
    for t in 0..d {
        let left = (d - t) as f64;
        sum += before * shared as f64 / left;
        for (alone, other) in [(f1 - shared, f2), (f2 - shared, f1)] {
            let mut apart = before * alone as f64 / left;
            for place in t + 1..d {
                let left = (d - place) as f64;
                if (place - t) % values == 0 {
                    sum += apart * other as f64 / left;
                }
                apart *= (left - other as f64).max(0.0) / left;
            }
        }
        before *= (left - union as f64).max(0.0) / left;
        if before <= 0.0 {
            break;
        }
    }
    sum
}

/// The largest error of the formula in a universe of d elements.
fn worst(d: usize, step: usize) -> (f64, Vec<(f64, f64)>) {
    let (mut worst, mut points) = (0.0_f64, Vec::new());
    for f1 in [d / 10, d / 2, d * 4 / 5].map(|f| f.max(2)) {
        for f2 in (2..=f1).rev().step_by(step) {
            let least = (f1 + f2).saturating_sub(d);
            for shared in (least..=f2).step_by(step) {
                let r = shared as f64 / (f1 + f2 - shared) as f64;
                let shares = [f1, f2].map(|f| f as f64 / d as f64);
                for bits in [1, 2, 4] {
                    let formula = Chance::dense(bits, shares[0], shares[1]).agreement(r);
                    let error = formula - exact(d, f1, f2, shared, bits);
                    worst = worst.max(error.abs());
                    if bits == 1 && f2 == f1 {
                        points.push((r, error));
                    }
                }
            }
        }
    }
    (worst, points)
}

pub(crate) fn part(effort: Effort) -> Outcome<Part> {
    let at_half = improvement(1, 1e-10, 1e-10, 0.5);
    let printed = PRINTED.map(|(_, r1, r2, r, printed)| (improvement(1, r1, r2, r), printed));
    let off =
        printed.iter().map(|(ours, printed)| (ours / printed - 1.0).abs()).fold(0.0, f64::max);
    let list: Vec<String> = PRINTED
        .iter()
        .zip(printed)
        .map(|((name, ..), (ours, printed))| format!("{name} {ours:.1} ({printed})"))
        .collect();
    let (small, small_points) = worst(20, 1);
    let (large, large_points) = worst(500, effort.choose(60, 40));
    let prefer = (1..100)
        .map(|i| f64::from(i) / 100.0)
        .find(|r| improvement(1, 1e-10, 1e-10, *r) > improvement(2, 1e-10, 1e-10, *r));
    let prefer = prefer.unwrap_or(1.0);
    let error = |title: &str, points: Vec<(f64, f64)>| Figure {
        title: title.into(),
        caption: "Formula (5) minus the exact probability, b = 1, f1 = f2; as in figure 1 of 000."
            .into(),
        x: Axis::linear("resemblance R"),
        y: Axis::linear("error of P"),
        series: vec![Series { name: "b = 1".into(), kind: Kind::Points, colour: 0, points }],
    };
    let mut figures: Vec<Figure> = [1e-10, 0.1, 0.5, 0.9].map(storage).into();
    figures.push(hamming());
    figures.extend([exponents(0.1), exponents(0.5)]);
    figures.push(error("Error of the formula, D = 20", small_points));
    figures.push(error("Error of the formula, D = 500", large_points));
    let claims = vec![
        Claim::new(
            "000, 1.2",
            "1-bit samples at R = .5 need 21.3 times less space than 64-bit samples",
            format!("B(64)/B(1) = {at_half:.2}"),
            Agrees::when((at_half - 64.0 / 3.0).abs() < 0.05),
        ),
        Claim::new(
            "000, table 1",
            "B(64)/B(1) of six word pairs",
            format!("{}; at most {:.1} % off", list.join(", "), 100.0 * off),
            Agrees::when(off < 0.02),
        ),
        Claim::new(
            "000, figure 2",
            "below R = .4, 2 bits are better than 1 for sparse sets",
            format!("1 bit is better from R = {prefer:.2} on; by the formulas, from 1/3 on"),
            if prefer < 0.4 { Agrees::InPart } else { Agrees::No },
        ),
        Claim::new(
            "000, figure 1",
            "the error of formula (5) is below .01 for D = 20 and below .0004 for D = 500",
            format!(
                "{small:.4} and {large:.5} for f1 = D/10, D/2 and 4D/5 and f2 from 2 on; the paper does not give its sizes"
            ),
            if small < 0.0105 && large < 4e-4 { Agrees::Yes } else { Agrees::InPart },
        ),
    ];
    let text = "Formulas alone: the storage improvement of 000 (figure 2) and 003 (figure 1), the comparison with random \
                sampling, the exponent of the index, and the error of the formulas for small universes, against the exact \
                sum over all places."
        .into();
    Ok(Part { title: "Theory", text, figures, claims })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All orders of 0..n.
    fn orders(n: usize) -> Vec<Vec<usize>> {
        if n == 0 {
            return vec![Vec::new()];
        }
        let shorter = orders(n - 1);
        let insert = |order: &Vec<usize>| {
            (0..n).map(|at| [&order[..at], &[n - 1], &order[at..]].concat()).collect::<Vec<_>>()
        };
        shorter.iter().flat_map(insert).collect()
    }

    #[test]
    fn exact_probabilities_are_those_of_all_orders() {
        let all = orders(6);
        for (f1, f2, shared) in [(3, 2, 1), (4, 4, 2), (1, 1, 0), (6, 3, 3), (2, 2, 2)] {
            for bits in [1, 2] {
                let first = |order: &[usize], from: usize, to: usize| {
                    order.iter().position(|x| (from..to).contains(x)).unwrap_or(0)
                };
                let agree = |order: &&Vec<usize>| {
                    let (a, b) = (first(order, 0, f1), first(order, f1 - shared, f1 + f2 - shared));
                    a % (1 << bits) == b % (1 << bits)
                };
                let counted = all.iter().filter(agree).count() as f64 / all.len() as f64;
                let computed = exact(6, f1, f2, shared, bits);
                assert!(
                    (counted - computed).abs() < 1e-12,
                    "{f1} {f2} {shared}: {counted} {computed}"
                );
            }
        }
    }

    #[test]
    fn sparse_storage_improvements_are_the_printed_ones() {
        assert!((improvement(1, 0.0, 0.0, 0.5) - 64.0 / 3.0).abs() < 1e-9);
        assert!((improvement(1, 0.570, 0.554, 0.771) - 40.84).abs() < 0.01);
    }
}
