//! Many-way resemblance in a bounded universe, exactly.
//!
//! In: the share r_i of the universe that each set fills, and for each subset of the sets how often all of its
//! samples agree. Out: the n-way resemblance, or the sizes of intersection and union. Consider the elements in random
//! order. The next element that is in any of the waiting sets Q is in exactly the sets h with probability
//! `e(h|Q)/u(Q)`. Those sets have their minimum there. The others keep waiting and must get the same low bits by
//! chance:
//!
//! ```text
//! P(Q) = sum over non-empty h of e(h|Q)/u(Q) F(Q \ h),   F(Q) = A(u(Q), b) P(Q),   F(none) = 1
//! ```
//!
//! u(Q) is the union, and e(h|Q) the part of it that is in exactly the sets h of Q. Both are signed sums of
//! intersections. If all smaller intersections are known, `u(Q) P(Q)` is affine in the one unknown, the intersection
//! of all of Q. So subsets are solved in order of size. For three sets this is the closed form `s = (P u0 - c0) / (c1
//! - P)`.

use super::chance::a;
use crate::limits::MAX_SETS_DENSE;

const SUBSETS: usize = 1 << MAX_SETS_DENSE;

/// The n-way resemblance. `agree(subset)` is the share of samples in which all sets of the subset agree. A subset is
/// a bit mask of at least two sets.
pub(super) fn resemblance(shares: &[f64], bits: u32, agree: impl Fn(usize) -> f64) -> f64 {
    let [intersection, union] = intersection_and_union(shares, bits, agree);
    intersection / union
}

/// The shares of the universe that the intersection of all sets and their union fill. If all sets nearly agree, a small
/// error of the rates is a large one of both.
pub(super) fn intersection_and_union(
    shares: &[f64],
    bits: u32,
    agree: impl Fn(usize) -> f64,
) -> [f64; 2] {
    let all = (1 << shares.len()) - 1;
    let mut intersection = [0.0; SUBSETS];
    let mut follow = [0.0; SUBSETS];
    follow[0] = 1.0;
    for (set, share) in shares.iter().enumerate() {
        intersection[1 << set] = *share;
        follow[1 << set] = a(*share, bits);
    }
    let mut union_of_all = 0.0;
    for size in 2..=shares.len() as u32 {
        for q in (1..=all).filter(|q: &usize| q.count_ones() == size) {
            let observed = agree(q);
            let terms = Affine::of(q, &intersection, &follow);
            intersection[q] = terms.solve(observed).unwrap_or_else(|| smallest(q, &intersection));
            let union = terms.union + terms.union_slope * intersection[q];
            follow[q] = a(union.clamp(0.0, 1.0), bits) * observed;
            union_of_all = union;
        }
    }
    [intersection[all], union_of_all]
}

/// `u(Q)` and `u(Q) P(Q)` as functions of the unknown intersection of Q.
struct Affine {
    union: f64,
    union_slope: f64,
    hits: f64,
    hits_slope: f64,
}

impl Affine {
    fn of(q: usize, intersection: &[f64; SUBSETS], follow: &[f64; SUBSETS]) -> Affine {
        let mut terms = Affine { union: 0.0, union_slope: -sign(q), hits: 0.0, hits_slope: 0.0 };
        for h in subsets(q) {
            if h != q {
                terms.union -= sign(h) * intersection[h];
            }
            // e(h|Q): the signed sum of the intersections of all t between h and Q.
            let between = subsets(q ^ h).chain([0]).map(|more| h | more).filter(|t| *t != q);
            let exactly: f64 = between.map(|t| sign(t ^ h) * intersection[t]).sum();
            terms.hits += exactly * follow[q ^ h];
            terms.hits_slope += sign(q ^ h) * follow[q ^ h];
        }
        terms
    }

    /// The intersection at which Q agrees as often as observed, or `None` if any would do (0/0).
    fn solve(&self, observed: f64) -> Option<f64> {
        let divisor = observed * self.union_slope - self.hits_slope;
        (divisor.abs() > 1e-12).then(|| (self.hits - observed * self.union) / divisor)
    }
}

/// The smallest intersection of all but one of the sets of Q. It is the solution if all sets are equal.
fn smallest(q: usize, intersection: &[f64; SUBSETS]) -> f64 {
    let sets = (0..MAX_SETS_DENSE).filter(|set| q >> set & 1 == 1);
    sets.map(|set| intersection[q ^ (1 << set)]).fold(f64::INFINITY, f64::min)
}

/// `(-1)^|subset|`.
fn sign(subset: usize) -> f64 {
    if subset.count_ones().is_multiple_of(2) { 1.0 } else { -1.0 }
}

/// All non-empty subsets of a bit mask, the mask itself first.
fn subsets(mask: usize) -> impl Iterator<Item = usize> {
    let below = move |s: &usize| Some((s - 1) & mask).filter(|s| *s != 0);
    std::iter::successors(Some(mask).filter(|s| *s != 0), below)
}

/// The forward direction, for tests: how often all sets agree, given every intersection.
#[cfg(test)]
pub(super) fn agreement(sets: usize, intersection: &[f64], bits: u32) -> f64 {
    let mut known = [0.0; SUBSETS];
    known[..1 << sets].copy_from_slice(intersection);
    let mut follow = [0.0; SUBSETS];
    follow[0] = 1.0;
    let mut agreement = 1.0;
    for size in 1..=sets as u32 {
        for q in (1..1 << sets).filter(|q: &usize| q.count_ones() == size) {
            let terms = Affine::of(q, &known, &follow);
            let union = terms.union + terms.union_slope * known[q];
            agreement = (terms.hits + terms.hits_slope * known[q]) / union;
            follow[q] = a(union, bits) * agreement;
        }
    }
    agreement
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Intersections by mask from the sizes of the exact regions.
    fn intersections(sets: usize, regions: &[f64]) -> Vec<f64> {
        let superset = |mask: usize| (0..1 << sets).filter(move |r: &usize| r & mask == mask);
        (0..1 << sets).map(|mask| superset(mask).map(|r| regions[r]).sum()).collect()
    }

    fn close(a: f64, b: f64, what: &str) {
        assert!((a - b).abs() < 6e-7, "{what}: {a} {b}");
    }

    #[test]
    fn three_sets_test_vector() {
        let s = [0.0, 0.5697, 0.5537, 0.489, 0.3564, 0.33, 0.325, 0.31];
        for (bits, expected) in [(1, 0.645_102), (2, 0.519_239), (3, 0.484_895), (4, 0.480_158)] {
            close(agreement(3, &s, bits), expected, "P_b of three sets");
        }
    }

    #[test]
    fn four_sets_test_vector() {
        let sizes = [40, 30, 20, 20, 10, 10, 15, 25, 5, 10, 10, 10, 10, 10, 100];
        let mut regions = vec![0.0];
        regions.extend(sizes.iter().map(|s| f64::from(100 * s) / 65_536.0));
        let s = intersections(4, &regions);
        let union: f64 = regions.iter().sum();
        close(s[15] / union, 0.307_692, "R");
        for (bits, expected) in [(1, 0.492_639), (2, 0.351_683), (3, 0.313_855), (4, 0.307_958)] {
            close(agreement(4, &s, bits), expected, "P_b of four sets");
        }
    }

    /// For three sets the recursion is the closed form that solves for s directly.
    #[test]
    fn three_sets_closed_form() {
        let (r1, r2, r3) = (0.5697, 0.5537, 0.3564);
        let (p12, p13, p23, p123) = (74.0 / 128.0, 69.0 / 128.0, 71.0 / 128.0, 60.0 / 128.0);
        for bits in 2..=8 {
            let pair = |p: f64, ra: f64, rb: f64| {
                let r = super::super::Chance::dense(bits, ra, rb).resemblance(p);
                r / (1.0 + r) * (ra + rb)
            };
            let (s12, s13, s23) = (pair(p12, r1, r2), pair(p13, r1, r3), pair(p23, r2, r3));
            let g = |s: f64, rj: f64, rk: f64| {
                let u = rj + rk - s;
                a(u, bits) * (s + (rj - s) * a(rk, bits) + (rk - s) * a(rj, bits)) / u
            };
            let (g1, g2, g3) = (g(s23, r2, r3), g(s13, r1, r3), g(s12, r1, r2));
            let (a1, a2, a3) = (a(r1, bits), a(r2, bits), a(r3, bits));
            let u0 = r1 + r2 + r3 - s12 - s13 - s23;
            let c0 = s23 * a1
                + s13 * a2
                + s12 * a3
                + (r1 - s12 - s13) * g1
                + (r2 - s12 - s23) * g2
                + (r3 - s13 - s23) * g3;
            let c1 = 1.0 + g1 - a1 + g2 - a2 + g3 - a3;
            let s = (p123 * u0 - c0) / (c1 - p123);
            let observed = |q: usize| {
                [p12, p13, p23, p123][[3, 5, 6, 7].iter().position(|m| *m == q).unwrap()]
            };
            let r = resemblance(&[r1, r2, r3], bits, observed);
            assert!((r - s / (s + u0)).abs() < 1e-12, "b {bits}: {r} {}", s / (s + u0));
        }
    }

    /// What the forward direction gives, the backward direction takes apart again, for 2 to 6 sets.
    #[test]
    fn backward_undoes_forward() {
        let mut random = testkit::random::Random(5);
        for sets in 2_usize..=6 {
            let regions: Vec<f64> =
                (0..1 << sets).map(|_| random.unit() / 2_f64.powi(1 + sets as i32)).collect();
            let s = intersections(sets, &regions);
            let union: f64 = regions[1..].iter().sum();
            let all = (1 << sets) - 1;
            for bits in 3..=6 {
                let restricted = |q: usize| {
                    let members: Vec<usize> = (0..sets).filter(|i| q >> i & 1 == 1).collect();
                    let spread = |mask: usize| {
                        let on = (0..members.len()).filter(|i| mask >> i & 1 == 1);
                        on.map(|i| 1 << members[i]).sum::<usize>()
                    };
                    let part: Vec<f64> = (0..1 << members.len()).map(|m| s[spread(m)]).collect();
                    agreement(members.len(), &part, bits)
                };
                let shares: Vec<f64> = (0..sets).map(|i| s[1 << i]).collect();
                let r = resemblance(&shares, bits, restricted);
                assert!((r - s[all] / union).abs() < 1e-9, "{sets} sets, b {bits}: {r}");
            }
        }
    }
}
