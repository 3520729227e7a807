//! A scan compares two planes first and the others only where needed. That changes no answer.

use ringer::{Like, Signature};
use testkit::query_oracle::{Request, crafted};
use testkit::random::Random;
use testkit::scale::some;

use super::rare_paths::{Place, options, scheme};

/// Scans many signatures for a few that stand out early, late or not at all, in memory or not, among ties, duplicates
/// and deleted rows.
#[test]
fn two_passes_change_no_answer() {
    const ROWS: u64 = 9000;
    let schemes = [(64, 8, false), (128, 4, false), (70, 5, true), (256, 3, false), (64, 2, false)];
    for (samples, bits, small_cache) in some(&schemes, 2) {
        let scheme = scheme(samples, bits, [8, 2, 2 * u16::from(bits), 1]);
        let values = 1 << bits;
        let mut random = Random(u64::from(samples) + u64::from(bits));
        let mut some = || (0..samples).map(|_| random.below(values) as u16).collect::<Vec<_>>();
        let (near, popular) = (some(), some());
        // `alike` of the samples come from the query on average, the others are random.
        let mut like = |near: &[u16], alike: u64, low: u16| {
            let chance = |near: &u16| match random.below(u64::from(samples)) < alike {
                true => *near & low | random.below(values) as u16 & !low,
                false => random.below(values) as u16,
            };
            crafted(&scheme, &near.iter().map(chance).collect::<Vec<_>>())
        };
        let cache_bytes = if small_cache { 200_000 } else { 1 << 26 };
        let mut place = Place::new(&scheme, options().with_cache_bytes(cache_bytes));
        let key = |n: u64| format!("{:05}", n * 7919 % ROWS).into_bytes();
        let strange: Vec<u16> = near.iter().map(|near| near ^ 3).collect();
        let lone: Vec<u16> = near.iter().map(|near| near ^ 2).collect();
        let mut rows: Vec<Signature> = Vec::new();
        for n in 0..ROWS {
            let row = match n {
                0..40 => like(&near, u64::from(samples) * (40 + n) / 80, !0),
                // Ties, some of them duplicates. With 4 bits every signature has one key.
                40..60 if bits != 4 => rows[n as usize % 7].clone(),
                60 => like(&lone, u64::from(samples), !0),
                // More ties. Their first planes do not make them look more similar than they are, and they do not
                // stand out.
                61..90 => {
                    let hardly = u64::from(samples / 4) + (1.3 * f64::from(samples).sqrt()) as u64;
                    let place = |i: usize| (i as u64 * 37 + n * 11) % u64::from(samples);
                    let differ = near
                        .iter()
                        .enumerate()
                        .map(|(i, near)| near ^ u16::from(place(i) >= hardly));
                    crafted(&scheme, &differ.collect::<Vec<_>>())
                }
                // Many signatures that look similar only in their lowest bits.
                _ if n % 4 == 1 => like(&popular, u64::from(samples) * 3 / 4, 3),
                _ => like(&near, 0, 0),
            };
            rows.push(row);
        }
        let rows: Vec<_> =
            rows.into_iter().enumerate().map(|(n, row)| (key(n as u64), row)).collect();
        let gone: Vec<_> = rows.iter().step_by(9).map(|(key, _)| (key.clone(), None)).collect();
        let requests = [1, 10, 30, 70, 100].map(Request::top);
        let all = requests.map(|request| Request { exhaustive: true, ..request });
        let requests =
            [requests, all, all.map(|request| Request { min: Some(0.2), ..request })].concat();
        for round in ["in the memtable", "one segment", "with deletions", "compacted"] {
            match round {
                "in the memtable" => place
                    .commit(&rows.iter().cloned().map(|(k, r)| (k, Some(r))).collect::<Vec<_>>()),
                "one segment" => place.db.checkpoint().unwrap(),
                "with deletions" => place.commit(&gone),
                _ => place.db.compact().unwrap(),
            }
            for query in [&near, &strange, &lone, &popular].map(|near| crafted(&scheme, near)) {
                place.compare(&query, &requests, &format!("{round}, {samples} of {bits} bits"));
            }
        }
        let verified = |near: &[u16], top: usize| {
            let (snapshot, near) = (place.db.snapshot(), crafted(&scheme, near));
            let query = snapshot.query(Like::Signature(&near)).top(top).exhaustive();
            query.explain().unwrap().work.verified
        };
        // Two passes are used where they save work, and abandoned where nothing stands out.
        if bits > 2 && !small_cache {
            assert!(verified(&near, 10) < ROWS / 8, "{samples} of {bits} bits");
        }
        assert!(verified(&strange, 10) >= ROWS * 7 / 8, "{samples} of {bits} bits");
    }
}
