//! Maximum likelihood from the order of samples, in a bounded universe (Li and König, section 7.3).
//!
//! In: how many samples of two sets of known sizes are equal, smaller or larger, by magnitude ([`OrderCounts`]). Out: the
//! most likely resemblance, with its distribution.
//!
//! A minimum is a place in `{0..D-1}`. If sets fill a good part of the universe, minima are small, and their low bits show
//! which one is the smaller, and by how much. A set that is contained in another one never has the smaller minimum. So the
//! table of all `2^b x 2^b` pairs of values tells more than the count of equal ones. In sparse sets, low bits of
//! different minima are independent, and only equality tells anything.
//!
//! The place t of the smaller minimum and the distance d to the other one are geometrically distributed: with
//! `s = |A ∩ B| / D` and `u = r1 + r2 - s`, places before t have no element (probability 1 - u each), and places between
//! both have none of the other set. Reduced modulo `M = 2^b`, with `g(i) = (1-u)^i / (1 - (1-u)^M)` and
//! `h_r(d) = r (1-r)^d / (1 - (1-r)^M)`,
//!
//! ```text
//! P(i, j) = g(i) ( [i = j] s + (r1 - s) h_r2(j - i - 1 mod M) ) + g(j) (r2 - s) h_r1(i - j - 1 mod M)
//! ```
//!
//! Cells of the same order and magnitude are added up, in closed form. The sums lose at most 7 % of the precision of the
//! full table.

use super::chance;
use super::posterior::Posterior;
use crate::sketch::{MAGNITUDES, OrderCounts};

/// The first value of each magnitude but the last is below this.
const SMALL: usize = 4;

/// Where the coarse search for the maximum looks.
const STEPS: u32 = 24;

/// Steps of the fine search: each shortens the range by the golden ratio, down to a hundred millionth.
const FINE_STEPS: u32 = 32;

/// Below this number of places of a set in M, the order of samples tells nothing that could be measured.
const LEAST_ORDER: f64 = 1e-4;

/// The counts of two sets of known sizes.
pub(super) struct Table {
    counts: OrderCounts,
    sizes: (f64, f64),
    universe: f64,
    /// M.
    values: f64,
    sides: [Side; 2],
}

/// One set: the share r of the universe that it fills, and what follows from it.
#[derive(Clone, Copy)]
struct Side {
    r: f64,
    /// `1 - r`.
    y: f64,
    /// `1 - (1 - r)^M`.
    n: f64,
    /// `h_r(M - 1)`.
    chance: f64,
}

impl Table {
    /// The table, or `None` if these sets fill too little of the universe.
    pub(super) fn new(
        counts: OrderCounts,
        sizes: (f64, f64),
        universe: u64,
        bits: u32,
    ) -> Option<Table> {
        let (universe, values) = (universe as f64, f64::from(bits).exp2());
        let tells = values * (sizes.0 + sizes.1) / universe >= LEAST_ORDER;
        let possible = sizes.0.min(sizes.1) >= 1.0 && sizes.0.max(sizes.1) <= universe;
        let sides = [sizes.0, sizes.1].map(|size| {
            let r = size / universe;
            let n = -(values * (-r).ln_1p()).exp_m1();
            Side { r, y: 1.0 - r, n, chance: chance::a(r, bits) }
        });
        (tells && possible).then_some(Table { counts, sizes, universe, values, sides })
    }

    /// The probabilities of the cells: equal, below, above.
    fn cells(&self, shared: f64) -> [[f64; MAGNITUDES]; 3] {
        let [first, second] = &self.sides;
        let s = shared / self.universe;
        let u = (first.r + second.r - s).min(1.0);
        let m = self.values;
        let n = -(m * (-u).ln_1p()).exp_m1();
        let lone = [(first.r - s).max(0.0), (second.r - s).max(0.0)];
        let alike = s + lone[0] * second.chance + lone[1] * first.chance;
        let equal = by_magnitude(m, alike / u, |i| (1.0 - u).powi(i) / n * alike);
        let below = ordered(u, n, m, [first, second], lone);
        let above = ordered(u, n, m, [second, first], [lone[1], lone[0]]);
        [equal, below, above]
    }

    /// The log-likelihood of an intersection, in elements.
    fn ln_likelihood(&self, shared: f64) -> f64 {
        let counts = [self.counts.equal, self.counts.below, self.counts.above];
        let pairs = counts.as_flattened().iter().zip(self.cells(shared).as_flattened().to_vec());
        pairs.filter(|(n, _)| **n > 0).map(|(n, p)| f64::from(*n) * p.ln()).sum()
    }

    fn resemblance(&self, shared: f64) -> f64 {
        shared / (self.sizes.0 + self.sizes.1 - shared)
    }

    fn shared(&self, resemblance: f64) -> f64 {
        resemblance / (1.0 + resemblance) * (self.sizes.0 + self.sizes.1)
    }

    /// The most likely resemblance, and the distribution of the resemblance if all possible ones are equally frequent
    /// beforehand. Takes about 250 evaluations of the likelihood, for any k and b.
    pub(super) fn solve(&self) -> (f64, Posterior) {
        let (f1, f2) = self.sizes;
        let (least, most) = ((f1 + f2 - self.universe).max(0.0), f1.min(f2));
        // The maximum is between the neighbours of the best of a few places. The places are denser near the ends, where
        // the likelihood is steeper.
        let place = |i: u32| {
            let share = f64::from(i) / f64::from(STEPS);
            least + (most - least) * share * share * (3.0 - 2.0 * share)
        };
        let best = (0..=STEPS)
            .map(|i| (self.ln_likelihood(place(i)), i))
            .fold((f64::NEG_INFINITY, 0), |best, next| if next.0 > best.0 { next } else { best })
            .1;
        let (low, high) = (place(best.saturating_sub(1)), place((best + 1).min(STEPS)));
        let peak = self.maximum(low, high);
        // The intersection has a whole number of elements.
        let (below, above) = (peak.floor().max(least), peak.ceil().min(most));
        let whole =
            if self.ln_likelihood(above) > self.ln_likelihood(below) { above } else { below };
        let value = self.resemblance(whole);
        let (low, high) = (self.resemblance(least), self.resemblance(most));
        let ln_likelihood = |resemblance: f64| self.ln_likelihood(self.shared(resemblance));
        (value, Posterior::around(value, low, high, &ln_likelihood))
    }

    /// Golden section search.
    fn maximum(&self, mut low: f64, mut high: f64) -> f64 {
        let golden = (5.0_f64.sqrt() - 1.0) / 2.0;
        let (mut a, mut b) = (high - golden * (high - low), low + golden * (high - low));
        let (mut at_a, mut at_b) = (self.ln_likelihood(a), self.ln_likelihood(b));
        for _ in 0..FINE_STEPS {
            if at_a < at_b {
                (low, a, at_a) = (a, b, at_b);
                b = low + golden * (high - low);
                at_b = self.ln_likelihood(b);
            } else {
                (high, b, at_b) = (b, a, at_a);
                a = high - golden * (high - low);
                at_a = self.ln_likelihood(a);
            }
        }
        0.5 * (low + high)
    }
}

/// Adds up the values from 0 to 3 to their magnitudes. What remains of the total has the last one.
fn by_magnitude(m: f64, total: f64, of: impl Fn(i32) -> f64) -> [f64; MAGNITUDES] {
    let mut cells = [0.0; MAGNITUDES];
    for (i, cell) in [0, 1, 2, 2].into_iter().enumerate() {
        if (i as f64) < m {
            cells[cell] += of(i as i32).max(0.0);
        }
    }
    let small: f64 = cells.iter().sum();
    if m > SMALL as f64 {
        cells[MAGNITUDES - 1] = (total - small).max(0.0);
    }
    cells
}

/// The probabilities that the value of the first side is i and the smaller one, by the magnitude of i. `lone` are the
/// shares of elements that only one set has.
fn ordered(u: f64, n: f64, m: f64, [own, other]: [&Side; 2], lone: [f64; 2]) -> [f64; MAGNITUDES] {
    let x = 1.0 - u;
    // Either its minimum is the smaller one, or that of the other is and the distance goes beyond M.
    let (direct, wrapped) = (lone[0] / (n * other.n), lone[1] / (n * own.n));
    let ln_y = (-other.r).ln_1p();
    let of = |i: i32| {
        let rest = m - 1.0 - f64::from(i);
        let distance = if rest > 0.0 { -(rest * ln_y).exp_m1() } else { 0.0 };
        direct * x.powi(i) * distance
            + wrapped * own.r * x.powi(i + 1) * own.y.powi(i) * mixed_powers(own, lone[1], rest)
    };
    let last = (own.y.ln() * (m - 1.0)).exp();
    let total = direct * (n / u - mixed_powers(other, lone[0], m))
        + wrapped * (mixed_powers(own, lone[1], m) - last * n / u);
    by_magnitude(m, total, of)
}

/// The sum of `x^t y^(n-1-t)` over t from 0 to n - 1, where y is that of a set and `x = y - gap`.
fn mixed_powers(side: &Side, gap: f64, n: f64) -> f64 {
    if n <= 0.0 {
        return 0.0;
    }
    if side.y <= 0.0 {
        return if n > 1.0 { 0.0 } else { 1.0 };
    }
    let power = ((n - 1.0) * side.y.ln()).exp();
    let ratio = (gap / side.y).min(1.0);
    if ratio < f64::EPSILON { n * power } else { power * -(n * (-ratio).ln_1p()).exp_m1() / ratio }
}
