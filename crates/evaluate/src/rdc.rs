//! (h) Remote differential compression: similar files among crate versions, and the bytes that have to be sent.

use std::collections::{HashMap, HashSet};

use ringer::features::{Chunker, DEFAULT_HORIZON};
use ringer::{Scheme, Signature, Sketcher, presets};

use crate::chart::{Axis, Figure, Kind, Series};
use crate::data::{self, NO_DATA};
use crate::page::{Agrees, Claim, Part};
use crate::{Effort, Outcome};

/// Bytes that describe a chunk: a hash and a length.
const DESCRIPTION: u64 = 12;

/// The horizon of the chunker, in bytes. RDC's default chunks have about two thousand bytes; source files are small.
const HORIZON: u32 = DEFAULT_HORIZON;

/// The slots that must match for a file to become a candidate base.
const LEAST: u32 = 5;

struct Chunked {
    chunks: Vec<(u64, u64)>,
    signature: Signature,
    features: Vec<u64>,
    /// The list of chunks, which is cut into chunks itself.
    list: Vec<(u64, u64)>,
}

/// The horizon for lists: about ten descriptions a chunk.
const LIST_HORIZON: u32 = 64;

/// The chunks of a string: their features and lengths.
fn cut(bytes: &[u8], horizon: u32) -> Outcome<Vec<(u64, u64)>> {
    let mut chunks = Vec::new();
    let mut chunker = Chunker::new(horizon)?;
    let mut keep = |chunk: ringer::features::Chunk<'_>| {
        chunks.push((chunk.feature(), chunk.bytes().len() as u64));
    };
    chunker.push(bytes, &mut keep);
    chunker.finish(&mut keep);
    Ok(chunks)
}

fn chunked(bytes: &[u8], sketcher: &Sketcher) -> Outcome<Chunked> {
    let chunks = cut(bytes, HORIZON)?;
    let describe = |(feature, bytes): &(u64, u64)| {
        [&feature.to_be_bytes()[..], &(*bytes as u32).to_be_bytes()].concat()
    };
    let list = cut(&chunks.iter().flat_map(describe).collect::<Vec<u8>>(), LIST_HORIZON)?;
    let mut features: Vec<u64> = chunks.iter().map(|(feature, _)| *feature).collect();
    features.sort_unstable();
    features.dedup();
    Ok(Chunked { chunks, signature: sketcher.sketch(&features)?, features, list })
}

/// The bytes that the receiver lacks, who has the chunks of these files.
fn sent(new: &Chunked, bases: &[&Chunked]) -> u64 {
    let have: HashSet<u64> = bases.iter().flat_map(|base| &base.features).copied().collect();
    DESCRIPTION * new.chunks.len() as u64 + unknown(&new.chunks, have)
}

/// The bytes of chunks that are not among these, each sent once.
fn unknown(chunks: &[(u64, u64)], mut have: HashSet<u64>) -> u64 {
    chunks.iter().map(|(feature, bytes)| if have.insert(*feature) { *bytes } else { 0 }).sum()
}

/// The same if the list of chunks is not sent as a whole, but as descriptions of its own chunks, and those of its chunks
/// that the receiver lacks.
fn sent_recursively(new: &Chunked, bases: &[&Chunked]) -> u64 {
    let lists = bases.iter().flat_map(|base| &base.list).map(|(feature, _)| *feature).collect();
    let have = bases.iter().flat_map(|base| &base.features).copied().collect();
    DESCRIPTION * new.list.len() as u64 + unknown(&new.list, lists) + unknown(&new.chunks, have)
}

/// Totals over all files of all versions but the first.
#[derive(Default)]
struct Totals {
    bytes: u64,
    same_name: u64,
    by_traits: u64,
    by_three: u64,
    by_best: u64,
    recursive: u64,
    /// Files whose best base has a resemblance of at least a half, and of these, those for which the traits found a base
    /// that is nearly as good.
    similar: u64,
    found: u64,
}

pub(crate) fn part(_: Effort) -> Outcome<Part> {
    let title = "Remote differential compression";
    let Some(versions) = data::versions()? else {
        return Ok(Part { title, text: NO_DATA.into(), figures: Vec::new(), claims: Vec::new() });
    };
    let traits = Sketcher::new(&Scheme::new(presets::RDC)?);
    let sketched: Outcome<Vec<Vec<Chunked>>> = versions
        .iter()
        .map(|version| version.files.iter().map(|file| chunked(&file.bytes, &traits)).collect())
        .collect();
    let sketched = sketched?;
    let mut totals = Totals::default();
    let mut points: [Vec<(f64, f64)>; 4] = Default::default();
    for i in 1..versions.len() {
        if versions[i].order().0 != versions[i - 1].order().0 {
            continue;
        }
        let (mut here, names) = (Totals::default(), &versions[i - 1].files);
        let named: HashMap<&str, usize> =
            names.iter().enumerate().map(|(j, f)| (&*f.path, j)).collect();
        for (file, new) in versions[i].files.iter().zip(&sketched[i]) {
            here.bytes += file.bytes.len() as u64;
            let old = &sketched[i - 1];
            let same: Vec<&Chunked> =
                named.get(&*file.path).map(|j| &old[*j]).into_iter().collect();
            here.same_name += sent(new, &same);
            // Candidates are ranked by matching traits.
            let mut ranked: Vec<(u32, usize)> = Vec::new();
            let mut best = (0.0, None);
            for (j, base) in old.iter().enumerate() {
                let equal = new.signature.count_equal(&base.signature)?;
                if equal >= LEAST {
                    ranked.push((equal, j));
                }
                let exact = crate::simulation::resemblance(&new.features, &base.features);
                if exact > best.0 {
                    best = (exact, Some(j));
                }
            }
            ranked.sort_by_key(|(equal, j)| (std::cmp::Reverse(*equal), *j));
            let bases: Vec<&Chunked> = ranked.iter().take(3).map(|(_, j)| &old[*j]).collect();
            here.by_traits += sent(new, &bases[..bases.len().min(1)]);
            here.by_three += sent(new, &bases);
            here.recursive += sent_recursively(new, &bases[..bases.len().min(1)]);
            let ideal: Vec<&Chunked> = best.1.map(|j| &old[j]).into_iter().collect();
            here.by_best += sent(new, &ideal);
            if best.0 >= 0.5 {
                here.similar += 1;
                let reached = bases
                    .iter()
                    .map(|base| crate::simulation::resemblance(&new.features, &base.features));
                here.found += u64::from(reached.fold(0.0, f64::max) >= best.0 - 0.1);
            }
        }
        let at = |bytes: u64| (i as f64, 100.0 * bytes as f64 / here.bytes.max(1) as f64);
        points[0].push(at(here.same_name));
        points[1].push(at(here.by_traits));
        points[2].push(at(here.by_best));
        points[3].push(at(here.recursive));
        totals.bytes += here.bytes;
        totals.same_name += here.same_name;
        totals.by_traits += here.by_traits;
        totals.by_three += here.by_three;
        totals.by_best += here.by_best;
        totals.recursive += here.recursive;
        totals.similar += here.similar;
        totals.found += here.found;
    }
    let share = |bytes: u64| 100.0 * bytes as f64 / totals.bytes.max(1) as f64;
    let names = [
        "base of the same name",
        "base chosen by traits",
        "most similar base",
        "by traits, lists in chunks",
    ];
    let series = points.into_iter().enumerate().map(|(colour, points)| Series {
        name: names[colour].into(),
        kind: Kind::Points,
        colour,
        points,
    });
    let figures = vec![Figure {
        title: "Bytes sent for a new version".into(),
        caption: "Versions of itertools, nix and rustls in order. Each file is sent as descriptions of its chunks and the chunks that the base lacks.".into(),
        x: Axis::linear("version"),
        y: Axis::linear("bytes sent, % of the version"),
        series: series.collect(),
    }];
    let recall = 100.0 * totals.found as f64 / totals.similar.max(1) as f64;
    let claims = vec![
        Claim::new(
            "001, 6.2",
            "twelve traits of 6 bits find the most similar files, of which at least 5 traits match",
            format!(
                "for {recall:.1} % of {} files with a base of resemblance .5 or more, one of the three best by traits is within .1 of the best",
                totals.similar
            ),
            Agrees::when(recall > 85.0),
        ),
        Claim::new(
            "001, 6.2",
            "choosing the base by traits saves most of what an ideal choice saves",
            format!(
                "sent: {:.1} % with the base of the same name, {:.1} % by traits, {:.1} % with three bases by traits, {:.1} % with the most similar base",
                share(totals.same_name),
                share(totals.by_traits),
                share(totals.by_three),
                share(totals.by_best)
            ),
            Agrees::when(share(totals.by_traits) < share(totals.by_best) * 1.25 + 1.0),
        ),
    ];
    let mut claims = claims;
    claims.push(Claim::new(
        "001, 6.2",
        "recursive differential compression, which cuts the list of chunks into chunks again, reduces what is sent",
        format!(
            "{:.1} % with lists in chunks, {:.1} % with whole lists ({} and {} bytes of {})",
            share(totals.recursive),
            share(totals.by_traits),
            totals.recursive,
            totals.by_traits,
            totals.bytes
        ),
        Agrees::when(totals.recursive < totals.by_traits),
    ));
    let text = "Every file of a version is sent to a receiver who has the previous version. The sender sends the traits first. \
                The receiver names the base, and then only the chunks that the base lacks are sent. The counts include 12 \
                bytes for each chunk, its hash and length. In the recursive form, the list of chunks is cut into chunks, too, and only \
                the chunks of the list that the base's list lacks are sent."
        .into();
    Ok(Part { title, text, figures, claims })
}
