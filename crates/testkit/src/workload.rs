//! A synthetic workload of sets that resemble documents. Each set is a function of its number.
//!
//! There are N sets of 200 elements. Nine in ten are background. The rest are clusters of ten, planted at exact
//! resemblances .50, .55, .. .95 (rounded up to the next value that 200 elements allow) to a query that is not itself
//! in the workload. A background set or a query takes 60 elements from common pools of growing size, one from each.
//! The most popular elements are in a quarter of all sets. So the resemblance of a background set to a query is about
//! .006, and at most .18.
//!
//! Every set has its own random generator and can be made without the others, so ten million sets need no more memory
//! than one. A smaller workload is a part of a larger one.

use crate::random::{Random, mix};

/// The number of elements of a set.
pub const ELEMENTS: usize = 200;

/// The number of members of a cluster.
pub const MEMBERS: u64 = 10;

/// The number of elements of a set that come from the common pools.
const COMMON: usize = 60;

/// Before mixing, private elements have this bit and common ones do not.
const TOP: u64 = 1 << 63;

/// The elements of one set.
pub type Set = [u64; ELEMENTS];

/// The workload of one size.
#[derive(Debug, Clone)]
pub struct Workload {
    sets: u64,
    /// The size of each pool, and the number of its first element.
    pools: Vec<(u64, u64)>,
}

impl Workload {
    /// Defines a workload of this many sets, a multiple of 100.
    pub fn new(sets: u64) -> Workload {
        assert!(sets > 0 && sets.is_multiple_of(100), "the number of sets is a multiple of 100");
        let mut first = 0;
        let mut pool = |j: usize| {
            let size = (4.0 * 1.12_f64.powi(j as i32)) as u64;
            first += size;
            (size, first - size)
        };
        Workload { sets, pools: (0..COMMON).map(&mut pool).collect() }
    }

    /// Returns the number of sets, N.
    pub fn len(&self) -> u64 {
        self.sets
    }

    /// Returns the number of clusters, which is also the number of queries.
    pub fn clusters(&self) -> u64 {
        self.sets / 100
    }

    /// Returns the set number of a member of a cluster.
    pub fn member(&self, cluster: u64, member: u64) -> u64 {
        self.sets - MEMBERS * (self.clusters() - cluster) + member
    }

    /// Returns set number i. Sets from `member(0, 0)` on are planted.
    pub fn set(&self, i: u64) -> Set {
        let mut set = match i.checked_sub(self.member(0, 0)) {
            None => self.unmixed(&mut Random::of(1, i)),
            Some(planted) => self.planted(planted / MEMBERS, planted % MEMBERS),
        };
        set.iter_mut().for_each(|x| *x = mix(*x));
        set
    }

    /// Returns the query of a cluster.
    pub fn query(&self, cluster: u64) -> Set {
        let mut set = self.unmixed(&mut Random::of(2, cluster));
        set.iter_mut().for_each(|x| *x = mix(*x));
        set
    }

    fn unmixed(&self, random: &mut Random) -> Set {
        let mut set = [0; ELEMENTS];
        set.iter_mut().for_each(|x| *x = random.word() | TOP);
        for (x, (size, first)) in set.iter_mut().zip(&self.pools) {
            *x = common(first + random.below(*size));
        }
        set
    }

    /// Returns the query with some random elements replaced by fresh ones.
    fn planted(&self, cluster: u64, member: u64) -> Set {
        let mut set = self.unmixed(&mut Random::of(2, cluster));
        let random = &mut Random::of(3, cluster * MEMBERS + member);
        for i in 0..ELEMENTS - shared(member) {
            let other = i + random.below((ELEMENTS - i) as u64) as usize;
            set.swap(i, other);
            set[i] = random.word() | TOP;
        }
        set
    }
}

/// Returns how many elements a member of a cluster shares with the query: the fewest that give a resemblance of .50 +
/// .05 m. For two sets of 200 elements, R = s / (400 - s), so s = 400 R / (1 + R).
pub fn shared(member: u64) -> usize {
    (400 * (10 + member)).div_ceil(30 + member) as usize
}

/// Returns the exact resemblance of a member to the query.
pub fn resemblance(member: u64) -> f64 {
    let shared = shared(member);
    shared as f64 / (2 * ELEMENTS - shared) as f64
}

/// Returns the common element with this number.
fn common(id: u64) -> u64 {
    let mut h = id.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    h = (h ^ (h >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (h ^ (h >> 32)) & !TOP
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::*;

    /// Counts the resemblance.
    fn exact(a: &Set, b: &Set) -> f64 {
        let (a, b): (HashSet<_>, HashSet<_>) = (a.iter().collect(), b.iter().collect());
        a.intersection(&b).count() as f64 / a.union(&b).count() as f64
    }

    #[test]
    fn planted_sets_have_their_resemblance_exactly() {
        let w2 = Workload::new(20_000);
        for cluster in 0..w2.clusters() {
            let query = w2.query(cluster);
            for member in 0..MEMBERS {
                let found = exact(&query, &w2.set(w2.member(cluster, member)));
                assert_eq!(found, resemblance(member));
                let wanted = 0.5 + 0.05 * member as f64;
                assert!(found >= wanted - 1e-9 && found < wanted + 0.011, "{found} for {wanted}");
            }
        }
        assert_eq!(w2.member(w2.clusters() - 1, MEMBERS - 1), w2.len() - 1);
    }

    #[test]
    fn the_vocabulary_is_skewed() {
        let w2 = Workload::new(30_000);
        let sets = w2.member(0, 0);
        let mut counts = HashMap::<u64, u64>::new();
        for i in 0..sets {
            w2.set(i).iter().for_each(|x| *counts.entry(*x).or_default() += 1);
        }
        // Each element of pool j is in one of s_j sets, where s_j = 4, 4, 5, 5, 6, .. 3,205.
        for (size, first) in &w2.pools {
            let mut all = 0;
            for id in *first..first + size {
                let count = counts.remove(&mix(common(id))).unwrap_or(0);
                let (mean, deviation) =
                    (sets as f64 / *size as f64, (sets as f64 / *size as f64).sqrt());
                assert!((count as f64 - mean).abs() < 6.0 * deviation, "{id}: {count} for {mean}");
                all += count;
            }
            assert_eq!(all, sets);
        }
        // All other elements are private.
        assert_eq!(counts.len() as u64, sets * (ELEMENTS - COMMON) as u64);
        let sizes: Vec<u64> = w2.pools.iter().map(|pool| pool.0).collect();
        assert_eq!((&sizes[..6], sizes[59]), (&[4, 4, 5, 5, 6, 7][..], 3205));
        // The elements must equal those of the generator used for earlier measurements.
        assert_eq!(mix(common(1)), 0xB27D_D62B_DE6C_EFF2);
        assert_eq!(mix(common(28_000)), 0xF44A_262C_1976_53AA);
    }

    #[test]
    fn background_is_a_little_alike() {
        let w2 = Workload::new(100_000);
        let pairs = 20_000;
        let all = (0..pairs).map(|i| exact(&w2.query(i % 1000), &w2.set(i)));
        let (sum, most) = all.fold((0.0, 0.0), |(sum, most): (f64, f64), r| (sum + r, most.max(r)));
        let mean = sum / pairs as f64;
        assert!((mean - 0.00616).abs() < 0.0003, "{mean}");
        assert!(most < 0.18, "{most}");
    }

    #[test]
    fn a_smaller_workload_is_part_of_a_larger() {
        let (small, large) = (Workload::new(1000), Workload::new(100_000));
        assert_eq!(small.set(899), large.set(899));
        assert_eq!(small.query(9), large.query(9));
        assert_eq!(small.set(small.member(9, 3)), large.set(large.member(9, 3)));
    }
}
