//! Limits for one document. Long texts, which are read piece by piece, have the features of the definition. Memory is
//! a documented multiple of the document's size, even if normalisation makes it many times longer. Limits are
//! enforced, and work stops soon after a cancellation.

use testkit::allocations;
use testkit::random::Random;
use testkit::scale::cases;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use allocations::taking;
use ringer::Error;
use ringer::features::{Ends, Extractor, Limits, Media, definition, tokens};
use ringer::scheme::Features;

/// The parts of texts: words, scripts without spaces, ligatures, combining marks, and invalid UTF-8.
const PARTS: [&str; 16] = [
    "word",
    " ",
    "\u{FDFA}",
    "東京",
    "カタカナ",
    "ｶﾞ",
    "e\u{301}",
    "don't",
    "3.14",
    "㌖",
    "한글",
    "\n",
    "ü-ß",
    "ﷲ",
    "ไทย",
    "\u{1F468}\u{200D}\u{1F469}",
];

/// Returns a text of `parts` parts of few kinds. Some texts have no white space at all.
fn text(random: &mut Random, parts: usize) -> Vec<u8> {
    let kinds = 1 + random.index(PARTS.len());
    let first = random.index(PARTS.len());
    let mut text = Vec::new();
    for i in 0..parts {
        text.extend_from_slice(PARTS[(first + random.index(kinds)) % PARTS.len()].as_bytes());
        if random.index(9) == 0 {
            text.extend_from_slice(format!("{i}").as_bytes());
        }
        if random.index(4000) == 0 {
            text.push(0xFF);
        }
    }
    text
}

fn expected(features: Features, text: &[u8]) -> Vec<u64> {
    match features {
        Features::Shingles { words, ends } => {
            let all = definition::words(text);
            tokens(definition::runs(&all, words.into(), ends == Ends::Looped, " "))
        }
        Features::Grams { characters, ends } => {
            let all: Vec<String> = definition::gram_text(text).chars().map(String::from).collect();
            tokens(definition::runs(&all, characters.into(), ends == Ends::Looped, ""))
        }
        _ => unreachable!("no other kind is asked for"),
    }
}

/// It makes no difference where a text is split into pieces (FEAT-7, FEAT-9).
#[test]
fn long_texts_have_the_features_of_the_definition() {
    let kinds = [
        Features::Shingles { words: 1, ends: Ends::Looped },
        Features::Shingles { words: 5, ends: Ends::Looped },
        Features::Shingles { words: 64, ends: Ends::Plain },
        Features::Grams { characters: 1, ends: Ends::Looped },
        Features::Grams { characters: 5, ends: Ends::Looped },
        Features::Grams { characters: 64, ends: Ends::Plain },
    ];
    let mut random = Random(22);
    let mut long = 0;
    for round in 0..cases(6, 24) {
        let text = text(&mut random, 30_000);
        long += usize::from(text.len() > 100_000);
        for kind in kinds {
            let mut extractor = Extractor::new(kind).unwrap();
            let mut set = Vec::new();
            extractor.extract(&text, Media::Plain, &mut set).unwrap();
            assert!(set == expected(kind, &text), "round {round}, {kind}");
            let mut pieces = Vec::new();
            let mut keep = |some: &[u64]| {
                pieces.extend_from_slice(some);
                Ok(())
            };
            extractor.extract_each(&text, Media::Plain, &mut keep).unwrap();
            assert!(pieces == set, "round {round}, {kind}, in pieces");
        }
    }
    assert!(long > cases(3, 15), "{long}");
}

const MIB: usize = 1 << 20;

/// Returns documents that need the most memory. A quick run tries each kind of features with a quarter of them.
fn hostile() -> Vec<(&'static str, Vec<u8>)> {
    let repeat = |part: &str| part.repeat(2 * MIB / part.len()).into_bytes();
    vec![
        ("ligatures", repeat("\u{FDFA}")),
        ("ligatures and ideographs", repeat("\u{FDFA}東")),
        ("one word of squares", repeat("㌖")),
        ("marks", repeat("\u{301}")),
        ("letters and marks", repeat("e\u{301}")),
        ("ideographs", repeat("東京")),
        ("short words", repeat("a ")),
        ("short stop words", repeat("the ")),
        ("one word", repeat("a")),
        ("no UTF-8", vec![0xFF; 2 * MIB]),
        ("entities", repeat("&ngE;")),
        ("tags", repeat("<p>")),
    ]
}

/// Memory stays within the documented multiples (see `Extractor`).
#[test]
fn memory_is_a_stated_multiple_of_the_document() {
    let kinds = [
        Features::TEXT,
        Features::Grams { characters: 5, ends: Ends::Looped },
        Features::Spots { distance: 1, chain: 2 },
        Features::CHUNKS,
        Features::Tokens,
        Features::Url,
    ];
    for (i, kind) in kinds.into_iter().enumerate() {
        for (what, document) in hostile().into_iter().skip(i % cases(4, 1)).step_by(cases(4, 1)) {
            for media in [Media::Plain, Media::Html] {
                let mut extractor = Extractor::new(kind).unwrap().limited(Limits::NONE);
                let mut set = Vec::new();
                let (_, most) = taking(|| extractor.extract(&document, media, &mut set).unwrap());
                let times = most as f64 / document.len() as f64;
                assert!(most <= 128 * document.len() + 2 * MIB, "{kind}, {what}: {times:.1} times");
                drop(set);
                let mut extractor = Extractor::new(kind).unwrap().limited(Limits::NONE);
                let mut count = 0;
                let mut take = |some: &[u64]| {
                    count += some.len();
                    Ok(())
                };
                let (_, most) =
                    taking(|| extractor.extract_each(&document, media, &mut take).unwrap());
                let piecewise = matches!(kind, Features::Shingles { .. } | Features::Grams { .. });
                let spaced = ["ligatures", "ligatures and ideographs", "ideographs", "short words"];
                if piecewise && spaced.contains(&what) {
                    let times = most as f64 / document.len() as f64;
                    assert!(most <= 4 * document.len() + 2 * MIB, "{kind}, {what}: {times:.1}");
                }
            }
        }
    }
}

#[test]
fn limits_are_kept_to_the_byte_and_to_the_feature() {
    let too_large = |what: &'static str, limit: u64| Err(Error::DocumentTooLarge { what, limit });
    let ligatures = "\u{FDFA}".repeat(100_000).into_bytes();
    let normal = definition::gram_text(&ligatures).len() as u64 + 1;
    let grams = definition::gram_text(&ligatures).chars().count() as u64;
    let words = definition::words(&ligatures).len() as u64;
    let mut set = Vec::new();
    for (kind, features) in
        [(Features::TEXT, words), (Features::Grams { characters: 5, ends: Ends::Looped }, grams)]
    {
        let mut extract = |limits| {
            let mut extractor = Extractor::new(kind).unwrap().limited(limits);
            extractor.extract(&ligatures, Media::Plain, &mut set)
        };
        let bytes = |normal_bytes| Limits::NONE.with_normal_bytes(normal_bytes);
        assert_eq!(extract(bytes(normal)), Ok(()));
        assert_eq!(extract(bytes(normal - 1)), too_large("bytes of normalised text", normal - 1));
        let at_most = |features| Limits::NONE.with_features(features);
        assert_eq!(extract(at_most(features)), Ok(()));
        assert_eq!(extract(at_most(features - 1)), too_large("features", features - 1));
        let mut extractor = Extractor::new(kind).unwrap().limited(at_most(features - 1));
        let ended = extractor.extract_each(&ligatures, Media::Plain, &mut |_| Ok(()));
        assert_eq!(ended, too_large("features", features - 1), "in pieces");
    }
    for (kind, document) in [
        (Features::Tokens, &b"a b c d"[..]),
        (Features::Ids, b"1 2 3 4"),
        (Features::Url, b"/a/b/c/d/e"),
        (Features::Spots { distance: 1, chain: 1 }, b"the w the x the y the z"),
    ] {
        for features in [4, 3] {
            let mut extractor =
                Extractor::new(kind).unwrap().limited(Limits::NONE.with_features(features));
            let extracted = extractor.extract(document, Media::Plain, &mut set);
            assert_eq!(extracted.is_ok(), features == 4, "{kind}");
        }
    }
}

/// A cancellation is noticed within a part of the work that takes far less than a second. This is counted in bytes
/// and features, not in time.
#[test]
fn cancellation_stops_the_work() {
    let kinds = [
        Features::TEXT,
        Features::Grams { characters: 5, ends: Ends::Looped },
        Features::Spots { distance: 1, chain: 2 },
        Features::CHUNKS,
        Features::Tokens,
    ];
    for (i, kind) in kinds.into_iter().enumerate() {
        for (what, document) in hostile().into_iter().skip(i % cases(4, 1)).step_by(cases(4, 1)) {
            let lists = matches!(kind, Features::Tokens);
            if lists && !document.contains(&b' ') {
                continue;
            }
            for media in [Media::Plain, Media::Html] {
                let asked = Arc::new(AtomicU64::new(0));
                let count = Arc::clone(&asked);
                let extractor = Extractor::new(kind).unwrap().limited(Limits::NONE);
                let mut extractor = extractor
                    .interrupted_by(move || count.fetch_add(1, Ordering::Relaxed) == u64::MAX);
                extractor.extract(&document, media, &mut Vec::new()).unwrap();
                let all = asked.load(Ordering::Relaxed);
                // There is at least one poll per 512 KiB. Exceptions: a run of combining marks is one character and
                // is sorted at once, and ASCII without white space is read at memory speed.
                let plain = document.is_ascii() && !document.contains(&b' ');
                let at_once =
                    what == "marks" || what == "one word" || (plain && media == Media::Plain);
                let least = if at_once { 1 } else { document.len() as u64 / (MIB as u64 / 2) };
                assert!(all >= least, "{kind}, {what}: asked {all} times");
                let half = asked.fetch_sub(all, Ordering::Relaxed) / 2;
                let count = Arc::clone(&asked);
                let mut extractor =
                    extractor.interrupted_by(move || count.fetch_add(1, Ordering::Relaxed) >= half);
                let ended = extractor.extract(&document, media, &mut Vec::new());
                assert_eq!(ended, Err(Error::Interrupted), "{kind}, {what}");
                assert_eq!(asked.load(Ordering::Relaxed), half + 1, "it ends at once");
            }
        }
    }
}
