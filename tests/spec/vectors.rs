//! The library, checked against the vectors of `format-spec/`. `format-spec/reference.py` made them, an
//! implementation in another language, written from the specification alone.

use ringer::features::Chunker;
use ringer::features::rabin::{Polynomial, Rabin};
use ringer::internals::format::kept_set::KeptShape;
use ringer::scheme::{CardinalityField, Elements, Packing, Sampler, Slots, Universe};
use ringer::sketch::SlotReader;
use ringer::{Parameters, Scheme, Sketcher, features, presets};

/// Returns the rows of a table without its header.
pub(crate) fn rows(table: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    table.lines().skip(1).map(|line| line.split('\t').collect())
}

fn hex_bytes(text: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&text[at..at + 2], 16).expect("a byte");
    (0..text.len()).step_by(2).map(byte).collect()
}

fn universe(text: &str) -> Universe {
    match text {
        "open" => Universe::Open,
        size => Universe::Bounded(size.parse().expect("a size")),
    }
}

pub(crate) fn number<T: std::str::FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("{text} is no number"))
}

/// Parses a sampler, followed by its packing unless that is the default.
fn sampled(text: &str) -> (Sampler, Packing) {
    let (sampler, packing) = text.split_once('+').unwrap_or((text, "low-bits"));
    (sampler.parse().expect("a sampler"), packing.parse().expect("a packing"))
}

/// Parses sampler, universe, seed, k, b and cardinality field.
pub(crate) fn with_samples(start: Parameters, columns: [&str; 6]) -> Parameters {
    let [sampler, place, seed, k, b, cardinality] = columns;
    let (sampler, packing) = sampled(sampler);
    start
        .with_sampler(sampler)
        .with_packing(packing)
        .with_universe(universe(place))
        .with_seed(number(seed))
        .with_samples(number(k))
        .with_bits(number(b))
        .with_cardinality(cardinality.parse().unwrap())
}

/// Parses L, g, v and m.
pub(crate) fn slots_of([count, g, v, m]: [&str; 4]) -> Slots {
    Slots {
        count: number(count),
        samples_per_slot: number(g),
        value_bits: number(v),
        min_matches: number(m),
    }
}

#[test]
fn schemes() {
    let mut seen = Vec::new();
    for row in rows(include_str!("../../format-spec/vectors/scheme.tsv")) {
        let [name, kind, sampler, place, seed, k, b, cardinality, l, g, v, m, bytes, print] =
            row[..]
        else {
            panic!("{row:?}")
        };
        let start = Parameters::default().with_features(kind.parse().unwrap());
        let parameters = with_samples(start, [sampler, place, seed, k, b, cardinality])
            .with_slots(slots_of([l, g, v, m]))
            .with_elements(Elements::None);
        let scheme = Scheme::new(parameters).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(scheme.to_bytes().to_vec(), hex_bytes(bytes), "{name}");
        assert_eq!(format!("{:016x}", scheme.fingerprint()), print, "{name}");
        assert_eq!(Scheme::from_bytes(&hex_bytes(bytes)), Ok(scheme), "{name}");
        if let Some((_, preset)) = presets::ALL.iter().find(|(n, _)| *n == name) {
            assert_eq!(&parameters, preset, "{name}");
            seen.push(name);
        }
    }
    assert_eq!(seen.len(), presets::ALL.len());
}

/// The mixing function that the set descriptions use.
fn mix(mut x: u64) -> u64 {
    x ^= x >> 27;
    x = x.wrapping_mul(0x3C79_AC49_2BA7_B653);
    x ^= x >> 33;
    x = x.wrapping_mul(0x1C69_B3F7_4AC4_AE35);
    x ^ (x >> 27)
}

fn elements(description: &str, universe: Universe) -> Vec<u64> {
    let (kind, rest) = description.split_once(':').expect("a kind of set");
    let split = |at: char| rest.split(at).filter(|n| !n.is_empty()).map(number::<u64>);
    let numbers: Vec<u64> =
        if kind == "list" { split(',').collect() } else { split(':').collect() };
    match (kind, &numbers[..]) {
        ("list", all) => all.to_vec(),
        ("range", [start, count, step]) => {
            (0..*count).map(|i| start.wrapping_add(i.wrapping_mul(*step))).collect()
        }
        ("mixed", [start, count]) => (0..*count).map(|i| mix(start.wrapping_add(i))).collect(),
        ("mixedmod", [start, count]) => {
            let Universe::Bounded(size) = universe else { panic!("{description}") };
            (0..*count).map(|i| mix(start.wrapping_add(i)) % size).collect()
        }
        _ => panic!("{description}"),
    }
}

/// HASH-1 to HASH-4 through SAMPLE-1, SAMPLE-2, SAMPLE-3, SAMPLE-4, SAMPLE-5, SAMPLE-6, SAMPLE-7, SAMPLE-8,
/// SAMPLE-9, and SIG-1, SIG-2, SIG-3, SIG-4.
#[test]
fn signatures() {
    let mut checked = 0;
    for row in rows(include_str!("../../format-spec/vectors/signature.tsv")) {
        let [sampler, place, seed, k, b, cardinality, set, empty, code, planes] = row[..] else {
            panic!("{row:?}")
        };
        let columns = [sampler, place, seed, k, b, cardinality];
        let parameters = with_samples(presets::PRECISE, columns).with_slots(Slots::NONE);
        let scheme = Scheme::new(parameters).unwrap_or_else(|error| panic!("{row:?}: {error}"));
        let elements = elements(set, scheme.universe);
        let sketcher = Sketcher::new(&scheme);
        let signature = sketcher.sketch(&elements).unwrap();
        let found: String = signature.planes().iter().map(|word| format!("{word:016x}")).collect();
        assert_eq!(found, planes, "{row:?}");
        assert_eq!(signature.is_empty(), empty == "1", "{row:?}");
        assert_eq!(signature.cardinality_code(), number::<u32>(code), "{row:?}");
        // The same through the other entry points, and with every element twice.
        let mut stream = sketcher.stream();
        elements.iter().chain(&elements).try_for_each(|x| stream.push(*x)).unwrap();
        assert_eq!(stream.finish().as_ref(), Ok(&signature), "{row:?}");
        let many = sketcher.sketch_all(&[elements.clone(), elements]).unwrap();
        assert_eq!(many.get(1).as_ref(), Some(&signature), "{row:?}");
        checked += 1;
    }
    assert!(checked > 250);
}

/// Parses elements with their weights, as `format-spec/reference.py` describes them.
pub(crate) fn weights(description: &str) -> Vec<(u64, f64)> {
    let (kind, rest) = description.split_once(':').expect("a kind of set");
    if kind == "weights" {
        let pairs = rest.split(',').map(|pair| pair.split_once('=').expect("a pair"));
        return pairs.map(|(x, weight)| (number(x), number(weight))).collect();
    }
    if !["powers", "signed"].contains(&kind) {
        return elements(description, Universe::Open).into_iter().map(|x| (x, 1.0)).collect();
    }
    let numbers: Vec<i64> = rest.split(':').map(number).collect();
    let [start, count, low, high] = numbers[..] else { panic!("{description}") };
    let weight = |i| {
        let v = mix((start + count + i) as u64);
        let exponent = low + (v >> 52 & 0x7FF) as i64 % (high - low + 1);
        let sign = if kind == "signed" { v >> 63 << 63 } else { 0 };
        f64::from_bits(sign | ((exponent + 1023) as u64) << 52 | v << 12 >> 12)
    };
    (0..count).map(|i| (mix((start + i) as u64), weight(i))).collect()
}

/// WEIGHT-1, WEIGHT-2, HASH-5 and HASH-6 through SAMPLE-10 and SAMPLE-11, and SIG-1.
#[test]
fn weighted_signatures() {
    let mut checked = std::collections::BTreeMap::new();
    for row in rows(include_str!("../../format-spec/vectors/weighted.tsv")) {
        let [name, seed, k, b, set, empty, planes] = row[..] else { panic!("{row:?}") };
        let columns = [name, "open", seed, k, b, "none"];
        let parameters = with_samples(presets::WEIGHTED, columns).with_slots(Slots::NONE);
        let scheme = Scheme::new(parameters).unwrap_or_else(|error| panic!("{row:?}: {error}"));
        let weights = weights(set);
        let sketcher = Sketcher::new(&scheme);
        let signature = sketcher.sketch_weighted(&weights).unwrap();
        let found: String = signature.planes().iter().map(|word| format!("{word:016x}")).collect();
        assert_eq!(found, planes, "{row:?}");
        assert_eq!(signature.is_empty(), empty == "1", "{row:?}");
        // The same through the other entry points, in reverse, and without weights if all are 1.
        let mut stream = sketcher.stream();
        weights.iter().rev().try_for_each(|(x, w)| stream.push_weighted(*x, *w)).unwrap();
        assert_eq!(stream.finish().as_ref(), Ok(&signature), "{row:?}");
        let many = sketcher.sketch_all_weighted(&[&weights[..0], &weights]).unwrap();
        assert_eq!(many.get(1).as_ref(), Some(&signature), "{row:?}");
        if weights.iter().all(|(_, weight)| *weight == 1.0) {
            let elements: Vec<u64> = weights.iter().map(|(x, _)| *x).collect();
            assert_eq!(sketcher.sketch(&elements).as_ref(), Ok(&signature), "{row:?}");
        }
        *checked.entry(name).or_insert(0) += 1;
    }
    assert!(checked.len() == 3 && checked.values().all(|rows| *rows >= 15), "{checked:?}");
}

/// SLOT-1, SLOT-2, SLOT-3.
#[test]
fn slots() {
    let mut checked = 0;
    for row in rows(include_str!("../../format-spec/vectors/slot.tsv")) {
        let [k, b, count, g, v, set, values] = row[..] else { panic!("{row:?}") };
        let scheme = presets::PRECISE
            .with_sampler(Sampler::OnePermutation)
            .with_samples(number(k))
            .with_bits(number(b))
            .with_slots(slots_of([count, g, v, "1"]))
            .with_cardinality(CardinalityField::None);
        let scheme = Scheme::new(scheme).unwrap();
        let elements = elements(set, scheme.universe);
        let signature = Sketcher::new(&scheme).sketch(&elements).unwrap();
        let reader = SlotReader::new(&scheme);
        let mut found = vec![0; reader.count()];
        reader.read(signature.planes(), &mut found);
        let expected: Vec<u32> = values.split(',').map(number).collect();
        assert_eq!(found, expected, "{row:?}");
        checked += 1;
    }
    assert!(checked > 40);
}

/// SIG-5.
#[test]
fn cardinality_codes() {
    let mut checked = 0;
    for row in rows(include_str!("../../format-spec/vectors/cardinality.tsv")) {
        let [field, place, elements, code] = row[..] else { panic!("{row:?}") };
        let field: ringer::scheme::CardinalityField = field.parse().unwrap();
        assert_eq!(field.encode(number(elements), universe(place)), Ok(number(code)), "{row:?}");
        checked += 1;
    }
    assert!(checked > 400);
}

/// FEAT-2 to FEAT-12, against an independent implementation with its own Unicode tables (FEAT-3) and decoding
/// (FEAT-4). FEAT-1, ids, is tested by all signatures here.
#[test]
fn texts() {
    let mut checked = std::collections::BTreeMap::new();
    for row in rows(include_str!("../../format-spec/vectors/features.tsv")) {
        let [kind, parameter, text, expected] = row[..] else { panic!("{row:?}") };
        let text = hex_bytes(text);
        let found = match kind {
            "tokens" => Ok(vec![features::token(&text)]),
            "shingles" => features::shingles(&text, number(parameter)),
            "plain-shingles" => features::plain_shingles(&text, number(parameter)),
            "grams" => features::grams(&text, number(parameter)),
            "plain-grams" => features::plain_grams(&text, number(parameter)),
            "spots" => {
                let (distance, chain) = parameter.split_once(':').unwrap();
                features::spots(&text, number(distance), number(chain))
            }
            "url" => Ok(features::url(&text)),
            _ => {
                assert_eq!(features::html::visible_text(&text), hex_bytes(expected), "{row:?}");
                *checked.entry(kind).or_insert(0) += 1;
                continue;
            }
        };
        let found: Vec<String> = found.unwrap().iter().map(|f| format!("{f:016x}")).collect();
        let shown = String::from_utf8_lossy(&text);
        assert_eq!(found.join(","), expected, "{kind} {parameter} {shown}");
        *checked.entry(kind).or_insert(0) += 1;
    }
    assert!(checked.len() == 8 && checked.values().all(|rows| *rows > 5), "{checked:?}");
}

/// RABIN-1 to RABIN-3 and RABIN-5, against bitwise division.
#[test]
fn fingerprints() {
    let hex = |text| u64::from_str_radix(text, 16).unwrap();
    let mut checked = 0;
    for row in rows(include_str!("../../format-spec/vectors/rabin.tsv")) {
        let [what, degree, q, input, expected] = row[..] else { panic!("{row:?}") };
        let found = if what == "search" {
            Polynomial::primitive_from_seed(hex(input)).low()
        } else {
            let rabin = Rabin::new(Polynomial::new(number(degree), hex(q)).unwrap());
            let print = |text| rabin.fingerprint(&hex_bytes(text));
            match (what, input.split_once(',')) {
                ("primitive", _) => u64::from(rabin.polynomial().is_primitive()),
                ("concat", Some((a, b))) => rabin.concat(print(a), print(b), b.len() as u64 / 2),
                _ => print(input),
            }
        };
        assert_eq!(found, hex(expected), "{row:?}");
        checked += 1;
    }
    assert!(checked > 100);
}

/// Builds the input that a row of chunks.tsv describes, as `format-spec/chunks.py` defines it.
fn described(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in text.split('+').filter(|part| !part.is_empty()) {
        let (part, times) = part.split_once('*').unwrap_or((part, "1"));
        let piece = match *part.split(':').collect::<Vec<_>>() {
            ["run", byte, count] => vec![number(byte); number(count)],
            ["noise", seed, count] => (1..=number::<u64>(count))
                .map(|i| (i + number::<u64>(seed)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56)
                .map(|byte| byte as u8)
                .collect(),
            ["bytes", hex] => hex_bytes(hex),
            _ => panic!("{part}"),
        };
        bytes.extend(piece.repeat(number(times)));
    }
    bytes
}

/// CHUNK-1 to CHUNK-4, and with them RABIN-4.
#[test]
fn chunks() {
    let mut checked = 0;
    for row in rows(include_str!("../../format-spec/vectors/chunks.tsv")) {
        let [horizon, input, cuts, expected] = row[..] else { panic!("{row:?}") };
        let (bytes, horizon) = (described(input), number(horizon));
        let found: Vec<String> = features::chunks(&bytes, horizon)
            .unwrap()
            .iter()
            .map(|f| format!("{f:016x}"))
            .collect();
        assert_eq!(found.join(","), expected, "{row:?}");
        let mut starts = Vec::new();
        let mut chunker = Chunker::new(horizon).unwrap();
        chunker.push(&bytes, |chunk| starts.push(chunk.start()));
        chunker.finish(|chunk| starts.push(chunk.start()));
        let starts: Vec<String> = starts.iter().skip(1).map(u64::to_string).collect();
        assert_eq!(starts.join(","), cuts, "{row:?}");
        checked += 1;
    }
    assert!(checked > 40);
}

/// SIG-7, and the encoding of elements.md: what is kept of sets, and its bytes.
#[test]
fn kept_sets() {
    let mut checked = 0;
    for row in rows(include_str!("../../format-spec/vectors/elements.tsv")) {
        let [seed, bits, set, kept, bytes] = row[..] else { panic!("{row:?}") };
        let elements = Elements::Kept { bits: number(bits) };
        let parameters = presets::PRECISE.with_seed(number(seed)).with_elements(elements);
        let scheme = Scheme::new(parameters).unwrap();
        let signature = Sketcher::new(&scheme).sketch(&elements_of(set)).unwrap();
        let expected: Vec<u64> = kept.split(',').filter(|n| !n.is_empty()).map(number).collect();
        assert_eq!(signature.elements(), Some(&*expected), "{row:?}");
        let shape = KeptShape::of(&scheme).unwrap();
        let (mut encoded, mut decoded) = (Vec::new(), Vec::new());
        shape.encode(&expected, &mut encoded);
        assert_eq!(encoded, hex_bytes(bytes), "{row:?}");
        assert_eq!(shape.decode(&encoded, &mut decoded), Ok(encoded.len()));
        assert_eq!(decoded, expected);
        checked += 1;
    }
    assert!(checked > 70);
}

fn elements_of(set: &str) -> Vec<u64> {
    elements(set, Universe::Open)
}
