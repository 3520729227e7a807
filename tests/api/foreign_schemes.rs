//! Foreign schemes: their signatures are made of sketches of other programs. They are stored, searched and paired as others are,
//! and every way to compare them with a set or a document is the same error.

use ringer::scheme::{CardinalityField, Features, Sampler};
use ringer::{Database, Error, Like, Parameters, Scheme, Signature, Sketcher, presets};

fn parameters() -> Parameters {
    presets::PRECISE
        .with_sampler(Sampler::Independent)
        .with_cardinality(CardinalityField::None)
        .with_seed(0x464f_5245_1234_5678)
}

/// Signatures of `count` sketches. Neighbours have all samples but a few in common.
fn signatures(sketcher: &Sketcher, count: usize) -> Vec<Signature> {
    let bytes = sketcher.signature_bytes();
    let one = |i: usize| {
        let mut planes = vec![0x5a; bytes];
        planes[bytes - 1] = 0;
        planes[..i].fill(0xa5);
        sketcher.signature_from_bytes(&planes).unwrap()
    };
    (0..count).map(one).collect()
}

#[test]
fn the_mark_and_the_shape_make_a_scheme_foreign() {
    let foreign = |parameters| Scheme::new(parameters).unwrap().is_foreign();
    assert!(foreign(parameters()));
    assert!(foreign(parameters().with_seed(0x464f_5245 << 32)));
    for other in [
        parameters().with_seed(0x464f_5246_1234_5678),
        parameters().with_seed(0x464f_5245),
        parameters().with_features(Features::Tokens),
        parameters().with_sampler(Sampler::OnePermutation),
        parameters().with_cardinality(CardinalityField::Exact),
    ] {
        assert!(!foreign(other), "{other:?}");
        assert!(Sketcher::new(&Scheme::new(other).unwrap()).sketch(&[1]).is_ok());
    }
}

#[test]
fn sets_and_documents_are_refused_everywhere() {
    let scheme = Scheme::new(parameters()).unwrap();
    let sketcher = Sketcher::new(&scheme);
    let refused = |result: Result<(), Error>| assert_eq!(result, Err(Error::ForeignScheme));
    for set in [&[][..], &[1, 2, 3]] {
        refused(sketcher.sketch(set).map(drop));
        refused(sketcher.sketch_all(&[set]).map(drop));
    }
    refused(sketcher.sketch_text("a text").map(drop));
    refused(sketcher.sketch_bytes(b"a text").map(drop));
    refused(sketcher.sketch_html(b"<p>a text").map(drop));
    refused(sketcher.stream().push(1));
    refused(sketcher.stream().finish().map(drop));

    let db = Database::in_memory(&scheme).unwrap();
    refused(db.put("a", &[1, 2]).map(drop));
    refused(db.batch().put("a", &[1, 2]).map(drop));
    refused(db.batch().put_text("a", "a text").map(drop));
    refused(db.bulk_load().put("a", &[1, 2]).map(drop));
    let snapshot = db.snapshot();
    for like in [Like::Features(&[1]), Like::Features(&[]), Like::Text("a"), Like::Bytes(b"a")] {
        refused(snapshot.query(like).run().map(drop));
        refused(snapshot.query(like).exhaustive().run().map(drop));
    }
    assert_eq!(db.snapshot().len(), Ok(0));
}

#[test]
fn signatures_are_stored_searched_and_paired() {
    let scheme = Scheme::new(parameters()).unwrap();
    let db = Database::in_memory(&scheme).unwrap();
    let signatures = signatures(db.sketcher(), 4);
    let mut batch = db.batch();
    for (i, signature) in signatures.iter().enumerate() {
        batch.put_signature(i.to_string(), signature.clone()).unwrap();
    }
    db.commit(batch).unwrap();
    let snapshot = db.snapshot();
    for like in [Like::Key(b"2"), Like::Signature(&signatures[2])] {
        let answer = snapshot.query(like).min_similarity(0.5).run().unwrap();
        assert!(answer.matches.len() >= 3, "{like:?}");
    }
    let own = snapshot.compare("1", "1").unwrap().similarity_value();
    assert_eq!(own, 1.0);
    let mut pairs = 0;
    let found = snapshot.pairs(0.5).run(|_| {
        pairs += 1;
        std::ops::ControlFlow::Continue(())
    });
    assert!(found.is_ok() && pairs == 6, "{pairs}");
}
