//! Clusters of a database, compared with connected components and leaders found by brute force.

use testkit::query_oracle;
use testkit::random::Random;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use query_oracle::{Brute, Rows};
use ringer::{Accept, Clustering, Clusters, Comparison, Database, Error, Linkage, Options, Scheme};

const GO_ON: ControlFlow<()> = ControlFlow::Continue(());

/// Representative, keys and lowest comparison of each cluster.
type All = Vec<(Vec<u8>, Vec<Vec<u8>>, Comparison)>;

fn found(clusters: Clusters<'_>) -> All {
    let mut all = All::new();
    let report = clusters.run(|cluster| {
        let keys: Vec<Vec<u8>> = cluster.keys.map(|key| key.unwrap().to_vec()).collect();
        assert!(cluster.signatures <= keys.len());
        all.push((cluster.representative.to_vec(), keys, cluster.lowest));
        GO_ON
    });
    assert!(!report.unwrap().cancelled);
    all
}

/// Returns the keys that are similar to each key, by brute force.
fn graph(rows: &Rows, min: f64) -> BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>> {
    let mut graph: BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>> = BTreeMap::new();
    for (a, signature) in rows.iter().filter(|(_, s)| !s.is_empty()) {
        let mut brute = Brute::new(signature);
        graph.entry(a.clone()).or_default();
        for (b, other) in rows.iter().filter(|(b, s)| *b != a && !s.is_empty()) {
            if brute.value(other).1 >= min - 1e-9 && brute.slots(other, false) >= 1 {
                graph.get_mut(a).unwrap().insert(b.clone());
            }
        }
    }
    graph
}

/// Returns the clusters by definition, as sorted lists of keys.
fn by_definition(
    graph: &BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>>,
    linkage: Linkage,
) -> Vec<Vec<Vec<u8>>> {
    let (mut taken, mut all) = (BTreeSet::new(), Vec::new());
    for first in graph.keys() {
        if !taken.insert(first.clone()) {
            continue;
        }
        let mut cluster = BTreeSet::from([first.clone()]);
        let mut open = vec![first.clone()];
        while let Some(key) = open.pop() {
            for other in &graph[&key] {
                if taken.insert(other.clone()) {
                    cluster.insert(other.clone());
                    if linkage == Linkage::Connected {
                        open.push(other.clone());
                    }
                }
            }
        }
        if cluster.len() > 1 {
            all.push(cluster.into_iter().collect());
        }
    }
    all
}

fn check(db: &Database, rows: &Rows, at: &str) {
    for min in [0.3, 0.5, 0.7, 0.9] {
        let graph = graph(rows, min);
        for linkage in [Linkage::Connected, Linkage::Strict] {
            let right = by_definition(&graph, linkage);
            let all = found(db.snapshot().clusters(min).linkage(linkage));
            let keys: Vec<Vec<Vec<u8>>> = all.iter().map(|(_, keys, _)| keys.clone()).collect();
            assert!(keys == right, "{at} {min} {linkage:?}: {} of {}", keys.len(), right.len());
            assert!(!all.is_empty());
            for (representative, keys, lowest) in all {
                assert_eq!(representative, keys[0]);
                let mut brute = Brute::new(&rows[&representative]);
                let values = keys[1..].iter().map(|key| brute.value(&rows[key]).1);
                let least = values.fold(f64::INFINITY, f64::min);
                assert_eq!(lowest.similarity().value, least);
                assert!(linkage == Linkage::Connected || least >= min - 1e-9);
            }
        }
    }
}

/// Stores chains of sets (each similar to the next but not to the one after), families, duplicates and empty sets.
fn rows(db: &Database) -> Rows {
    let mut random = Random(3);
    let mut rows = Rows::new();
    let mut put = |key: u64, set: &[u64]| {
        rows.insert(
            format!("{:04}", key * 7919 % 10_000).into_bytes(),
            db.sketcher().sketch(set).unwrap(),
        )
    };
    for i in 0..60 {
        put(i, &(i * 40..i * 40 + 200).collect::<Vec<_>>());
    }
    for i in 60..300 {
        let (family, cut) = (random.below(30), random.below(90));
        put(i, &(100_000 * (family + 1) + cut..100_000 * (family + 1) + 150).collect::<Vec<_>>());
    }
    for i in 300..330 {
        put(i, &[]);
    }
    for i in 330..360 {
        put(i, &[i % 5, 77]);
    }
    rows
}

#[test]
fn clusters_are_those_of_the_definition_wherever_rows_live() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.ringer");
    let options = Options::default().with_background(false).with_merge(false);
    let db = Database::create(&path, &Scheme::near_duplicate(), options.clone()).unwrap();
    let rows = rows(&db);
    let all: Vec<_> = rows.iter().collect();
    for part in all[..240].chunks(80) {
        let mut load = db.bulk_load();
        part.iter().for_each(|(key, signature)| load.put_signature(key, signature).unwrap());
        load.commit().unwrap();
    }
    let mut batch = db.batch();
    for (key, signature) in &all[200..] {
        batch.put_signature(key, (*signature).clone()).unwrap();
    }
    db.commit(batch).unwrap();
    check(&db, &rows, "fresh");
    db.compact().unwrap();
    check(&db, &rows, "compact");
    db.close().unwrap();
    check(&Database::open(&path, options).unwrap(), &rows, "open");
}

#[test]
fn conditions_reach_the_pairs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.ringer");
    let db = Database::create(&path, &Scheme::near_duplicate(), Options::default()).unwrap();
    let rows = rows(&db);
    let mut load = db.bulk_load();
    rows.iter().for_each(|(key, signature)| load.put_signature(key, signature).unwrap());
    load.commit().unwrap();
    let snapshot = db.snapshot();
    let keys = |all: All| all.iter().map(|(_, keys, _)| keys.len()).sum::<usize>();
    let all = keys(found(snapshot.clusters(0.5)));
    let few = keys(found(snapshot.clusters(0.5).pairs(|pairs| pairs.accept(Accept::Certain))));
    assert!(few < all, "{few} {all}");
    // The check rejects every pair, so only sets with equal signatures stay together.
    let none = found(snapshot.clusters(0.5).pairs(|pairs| pairs.check(|_, _| Ok(Some(0.0)))));
    assert!(none.iter().all(|(_, keys, _)| keys.len() > 1) && keys(none) < few);
    let error = snapshot.clusters(0.5).pairs(|pairs| pairs.memory(10)).run(|_| GO_ON);
    assert!(matches!(error, Err(Error::OverLimit { limit: 10, .. })));
    let error = snapshot.clusters(2.0).run(|_| GO_ON);
    assert!(matches!(error, Err(Error::InvalidArgument { .. })));
    let mut seen = 0;
    let report = snapshot.clusters(0.5).run(|_| {
        seen += 1;
        if seen == 3 { ControlFlow::Break(()) } else { GO_ON }
    });
    assert!(report.unwrap().cancelled && seen == 3);
}

/// Sets added one after the other, in commits of any size, end up in the same clusters as in a run over all sets.
/// That also holds if the clusters were stored and linked again in between.
#[test]
fn sets_that_join_make_the_same_clusters() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.ringer");
    let options = Options::default().with_background(false).with_memtable_rows(100);
    let db = Database::create(&path, &Scheme::near_duplicate(), options).unwrap();
    let rows = rows(&db);
    let min = 0.6;
    let mut clusters = Clustering::new(min).unwrap();
    let mut random = Random(1);
    let mut order: Vec<&Vec<u8>> = rows.keys().collect();
    (1..order.len()).rev().for_each(|i| order.swap(i, random.below(i as u64 + 1) as usize));
    for part in order.chunks(13) {
        let mut batch = db.batch();
        part.iter().for_each(|key| {
            batch.put_signature(key, rows[*key].clone()).unwrap();
        });
        db.commit(batch).unwrap();
        for key in part {
            let joined = db.snapshot().join(&mut clusters, key).unwrap();
            assert!(!joined.truncated);
            assert_eq!(clusters.representative(key), Some(&*joined.representative));
            assert!(
                joined.matches > 0 || clusters.clusters().iter().all(|c| !c.contains(&&***key))
            );
        }
        let mut again = Clustering::new(min).unwrap();
        clusters.iter().for_each(|(key, representative)| again.link(key, representative));
        assert_eq!((again.len(), again.clusters()), (clusters.len(), clusters.clusters()));
        clusters = again;
    }
    let right: Vec<Vec<Vec<u8>>> =
        found(db.snapshot().clusters(min)).into_iter().map(|(_, keys, _)| keys).collect();
    assert!(right.len() > 10);
    assert_eq!(clusters.clusters(), right);
    assert_eq!(clusters.len(), rows.len());
    let error = db.snapshot().join(&mut clusters, "nobody");
    assert!(matches!(error, Err(Error::NoSuchKey { .. })));
    assert!(matches!(Clustering::new(1.5), Err(Error::InvalidArgument { .. })));
    assert_eq!(clusters.representative("nobody"), None);
}

/// Incremental clusters accept pairs by the same rule as a run over all sets and as single comparisons.
#[test]
fn growing_clusters_accept_by_estimate_possibility_and_certainty() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.ringer");
    let db = Database::create(&path, &Scheme::near_duplicate(), Options::default()).unwrap();
    let rows = rows(&db);
    let mut batch = db.batch();
    for (key, signature) in &rows {
        batch.put_signature(key, signature.clone()).unwrap();
    }
    db.commit(batch).unwrap();
    let (min, snapshot) = (0.6, db.snapshot());
    let mut all = Vec::new();
    for accept in [Accept::Estimate, Accept::Possible, Accept::Certain] {
        let mut graph: BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>> = BTreeMap::new();
        for (a, signature) in rows.iter().filter(|(_, s)| !s.is_empty()) {
            let brute = Brute::new(signature);
            let links = graph.entry(a.clone()).or_default();
            for (b, other) in rows.iter().filter(|(b, s)| *b != a && !s.is_empty()) {
                let comparison = signature.compare(other).unwrap().without_order();
                let reaches = match accept {
                    Accept::Estimate => comparison.similarity().value >= min - 1e-9,
                    Accept::Possible => comparison.possibly_at_least(min),
                    Accept::Certain => comparison.certainly_at_least(min),
                    _ => unreachable!("all rules are listed above"),
                };
                if reaches && brute.slots(other, false) >= 1 {
                    links.insert(b.clone());
                }
            }
        }
        let mut clusters = Clustering::new(min).unwrap().accept(accept);
        for (key, links) in &graph {
            let joined = snapshot.join(&mut clusters, key).unwrap();
            assert_eq!(joined.matches, links.len(), "{accept:?}");
        }
        let right = by_definition(&graph, Linkage::Connected);
        assert_eq!(clusters.clusters(), right, "{accept:?}");
        let run = found(snapshot.clusters(min).pairs(|pairs| pairs.accept(accept)));
        assert_eq!(run.into_iter().map(|(_, keys, _)| keys).collect::<Vec<_>>(), right);
        all.push(right);
    }
    assert!(all[0] != all[1] && all[1] != all[2] && all[0] != all[2], "the rules differ here");
}
