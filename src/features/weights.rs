//! Weights of features: how often and where a feature occurs in a document, and how rare it is among documents.
//!
//! In: the features of documents, their counts, or a dense vector. Out: elements with weights, the input of
//! [`Sketcher::sketch_weighted`](crate::Sketcher::sketch_weighted). To this module a feature is just a number.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::limits::MAX_PART_WEIGHT;

/// Counts the documents that contain each feature, and computes tf-idf weights.
///
/// The weight of a feature that occurs `tf` times in a document, and in `df` of N documents, is
///
/// ```text
/// tf (1 + ln((1 + N) / (1 + df)))
/// ```
///
/// It is never below `tf`: even a feature of all documents counts. A feature that was never seen has `df` 0. The
/// logarithm is the same on every machine, so signatures of these weights are too.
///
/// Documents are comparable only if they were weighted with the same counts. Count first, then weight all
/// documents, and keep [`counts`](DocumentFrequencies::counts) for documents that arrive later.
///
/// Memory: 20 to 40 bytes for each distinct feature, without a limit. If documents never end, bound it with
/// [`forget_below`](DocumentFrequencies::forget_below).
///
/// ```
/// use ringer::features::{DocumentFrequencies, tokens};
/// use ringer::{Scheme, Sketcher, presets};
/// let texts = ["the tea is hot", "the tea is cold", "the day is cold the night colder"];
/// let texts = texts.map(|text| tokens(text.split(' ')));
/// let mut frequencies = DocumentFrequencies::new();
/// texts.iter().for_each(|text| frequencies.add(text));
/// let sketcher = Sketcher::new(&Scheme::new(presets::WEIGHTED)?);
/// let signature = sketcher.sketch_weighted(&frequencies.weigh(&texts[2]))?;
/// # assert!(!signature.is_empty());
/// # Ok::<(), ringer::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct DocumentFrequencies {
    documents: u64,
    counts: HashMap<u64, u64>,
    /// The features of the document being added, sorted.
    sorted: Vec<u64>,
}

impl DocumentFrequencies {
    /// Starts without documents. Until one is added, the weight of a feature is how often it occurs.
    pub fn new() -> DocumentFrequencies {
        DocumentFrequencies::default()
    }

    /// Takes counts made elsewhere: the number of documents, and for each feature the number of documents that
    /// contain it. No count may exceed the number of documents, and no feature may occur twice.
    ///
    /// ```
    /// use ringer::features::DocumentFrequencies;
    /// let frequencies = DocumentFrequencies::from_counts(1000, [(7, 999), (8, 2)])?;
    /// assert!(frequencies.weight(7) < 1.01 && frequencies.weight(8) > 6.0);
    /// assert!(DocumentFrequencies::from_counts(1000, [(7, 1001)]).is_err());
    /// # Ok::<(), ringer::Error>(())
    /// ```
    pub fn from_counts(
        documents: u64,
        counts: impl IntoIterator<Item = (u64, u64)>,
    ) -> Result<DocumentFrequencies> {
        let mut all = HashMap::new();
        for (feature, count) in counts {
            if count > documents {
                return Err(Error::invalid(
                    format!("feature {feature} in {count} of {documents} documents"),
                    "a feature is in no more documents than there are",
                ));
            }
            if all.insert(feature, count).is_some() {
                return Err(Error::invalid(
                    format!("feature {feature}, twice"),
                    "each feature has one number of documents",
                ));
            }
        }
        Ok(DocumentFrequencies { documents, counts: all, sorted: Vec::new() })
    }

    /// Counts one more document, given by its features in any order. Repeats count once.
    pub fn add(&mut self, features: &[u64]) {
        self.documents = self.documents.saturating_add(1);
        self.sorted.clear();
        self.sorted.extend_from_slice(features);
        self.sorted.sort_unstable();
        self.sorted.dedup();
        for feature in &self.sorted {
            let count = self.counts.entry(*feature).or_insert(0);
            *count = count.saturating_add(1);
        }
    }

    /// The number of documents counted.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// The number of documents that contain the feature.
    pub fn documents_with(&self, feature: u64) -> u64 {
        self.counts.get(&feature).copied().unwrap_or(0)
    }

    /// All features with their numbers of documents, in ascending order of features.
    pub fn counts(&self) -> Vec<(u64, u64)> {
        let mut counts: Vec<_> = self.counts.iter().map(|(x, count)| (*x, *count)).collect();
        counts.sort_unstable();
        counts
    }

    /// Drops the features of fewer than `least` documents, usually most of them, and frees their memory. From then
    /// on they count as never seen, so their weight is too high, by at most `ln(least)` for each occurrence.
    pub fn forget_below(&mut self, least: u64) {
        self.counts.retain(|_, count| *count >= least);
        self.counts.shrink_to_fit();
    }

    /// The weight of a feature that occurs once: `1 + ln((1 + N) / (1 + df))`, at least 1.
    pub fn weight(&self, feature: u64) -> f64 {
        let [all, with] = [self.documents, self.documents_with(feature)].map(|n| 1.0 + n as f64);
        1.0 + libm::log(all / with)
    }

    /// The features of a document with their weights, each once and in ascending order. Repeats raise the weight.
    pub fn weigh(&self, features: &[u64]) -> Vec<(u64, f64)> {
        let mut weighted = Vec::with_capacity(features.len());
        self.weigh_into(features, &mut weighted);
        weighted
    }

    /// The same as [`weigh`](DocumentFrequencies::weigh), but replaces the content of a buffer, which can be
    /// reused.
    ///
    /// ```
    /// # use ringer::features::DocumentFrequencies;
    /// let frequencies = DocumentFrequencies::from_counts(3, [(1, 3)])?;
    /// let mut weighted = Vec::new();
    /// frequencies.weigh_into(&[2, 1, 1], &mut weighted);
    /// assert_eq!(weighted, [(1, 2.0), (2, 1.0 + f64::ln(4.0))]);
    /// # Ok::<(), ringer::Error>(())
    /// ```
    pub fn weigh_into(&self, features: &[u64], weighted: &mut Vec<(u64, f64)>) {
        weighted.clear();
        weighted.extend(features.iter().map(|x| (*x, 1.0)));
        sum_repeats(weighted);
        for (feature, weight) in weighted {
            *weight *= self.weight(*feature);
        }
    }
}

/// How documents become weighted sets: by the rarity of features, and by where in an HTML page they are.
///
/// The weight of a feature is
///
/// ```text
/// (tf + (T - 1) tf_title + (H - 1) tf_headings) (1 + ln((1 + N) / (1 + df)))
/// ```
///
/// `tf` is how often it occurs in the visible text of the document. `tf_title` is how often it occurs in the title as a text
/// of its own, and `tf_headings` in the headings, each a text of its own. T and H are the weights of a title and of headings:
/// with T = 5, the title counts as if the page had it five times. N and `df` are those of the
/// [frequencies](DocumentFrequencies). T = H = 1 and no documents are the default, and then the weight of a feature is `tf`.
///
/// Documents are comparable only if they were weighted in the same way. Databases do not store it, so keep it with them.
///
/// ```
/// use ringer::features::{Extractor, Media, Weighting, token};
/// use ringer::scheme::{Ends, Features};
/// let weighting = Weighting::new().with_title(5.0)?.with_headings(2.0)?;
/// let mut extractor = Extractor::new(Features::Shingles { words: 1, ends: Ends::Looped })?;
/// let mut weighted = Vec::new();
/// let page = b"<title>Tea</title><h1>Green tea</h1><p>Tea from Japan";
/// extractor.extract_weighted(page, Media::Html, &weighting, &mut weighted)?;
/// let weight = |word: &str| weighted.iter().find(|(x, _)| *x == token(word)).map(|(_, weight)| *weight);
/// assert_eq!((weight("tea"), weight("green"), weight("japan")), (Some(8.0), Some(2.0), Some(1.0)));
/// # Ok::<(), ringer::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Weighting {
    frequencies: DocumentFrequencies,
    title: f64,
    headings: f64,
}

impl Default for Weighting {
    fn default() -> Weighting {
        Weighting { frequencies: DocumentFrequencies::new(), title: 1.0, headings: 1.0 }
    }
}

impl Weighting {
    /// Starts with all weights 1: the weight of a feature is how often it occurs.
    pub fn new() -> Weighting {
        Weighting::default()
    }

    /// Replaces the document frequencies.
    #[must_use]
    pub fn with_frequencies(self, frequencies: DocumentFrequencies) -> Weighting {
        Weighting { frequencies, ..self }
    }

    /// Replaces the weight of titles, 1 to [`MAX_PART_WEIGHT`].
    pub fn with_title(self, weight: f64) -> Result<Weighting> {
        Ok(Weighting { title: part_weight("title", weight)?, ..self })
    }

    /// Replaces the weight of headings, 1 to [`MAX_PART_WEIGHT`].
    pub fn with_headings(self, weight: f64) -> Result<Weighting> {
        Ok(Weighting { headings: part_weight("headings", weight)?, ..self })
    }

    /// The document frequencies.
    pub fn frequencies(&self) -> &DocumentFrequencies {
        &self.frequencies
    }

    /// The weight of the title.
    pub fn title(&self) -> f64 {
        self.title
    }

    /// The weight of headings.
    pub fn headings(&self) -> f64 {
        self.headings
    }

    /// Replaces counted weights, in any order and with repeats, by those of the formula.
    pub(super) fn finish(&self, weighted: &mut Vec<(u64, f64)>) {
        sum_repeats(weighted);
        for (feature, weight) in weighted {
            *weight *= self.frequencies.weight(*feature);
        }
    }
}

fn part_weight(part: &str, weight: f64) -> Result<f64> {
    match (1.0..=MAX_PART_WEIGHT).contains(&weight) {
        true => Ok(weight),
        false => Err(Error::invalid(
            format!("{part} of weight {weight}"),
            format!("the weight of a title or of headings must be 1 to {MAX_PART_WEIGHT}"),
        )),
    }
}

/// Sorts features, and adds up the weights of equal ones. Sums of equal numbers do not depend on their order.
fn sum_repeats(weighted: &mut Vec<(u64, f64)>) {
    weighted.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    weighted.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
}

/// Converts a dense vector to elements with weights. The element of a coordinate is its index. Zeros are omitted.
/// Numbers that are not finite are kept, so that the sketcher rejects them.
///
/// ```
/// use ringer::{Scheme, Sketcher, features, presets};
/// assert_eq!(features::vector(&[0.5, 0.0, -2.0]), [(0, 0.5), (2, -2.0)]);
/// let sketcher = Sketcher::new(&Scheme::new(presets::COSINE)?);
/// let a = sketcher.sketch_weighted(&features::vector(&[0.5, 0.0, -2.0]))?;
/// let b = sketcher.sketch_weighted(&features::vector(&[1.0, 0.0, -4.0]))?;
/// assert_eq!(a, b);
/// # Ok::<(), ringer::Error>(())
/// ```
pub fn vector(coordinates: &[f32]) -> Vec<(u64, f64)> {
    let indexed = (0..).zip(coordinates.iter().map(|c| f64::from(*c)));
    indexed.filter(|(_, c)| *c != 0.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with the definition, computed feature by feature.
    #[test]
    fn weights_are_those_of_the_formula() {
        let documents: [&[u64]; 4] = [&[1, 1, 2], &[2, 3, u64::MAX], &[], &[2, 1]];
        let mut frequencies = DocumentFrequencies::new();
        documents.iter().for_each(|document| frequencies.add(document));
        for text in documents.iter().chain(&[&[9, 1, 9, 2, 9_u64][..]]) {
            let weighted = frequencies.weigh(text);
            assert!(weighted.is_sorted_by(|a, b| a.0 < b.0));
            for x in [0, 1, 2, 3, 9, u64::MAX] {
                let tf = text.iter().filter(|y| **y == x).count() as f64;
                let df = documents.iter().filter(|document| document.contains(&x)).count();
                let expected = tf * ((5.0 / (1.0 + df as f64)).ln() + 1.0);
                let found = weighted.iter().find(|pair| pair.0 == x).map_or(0.0, |pair| pair.1);
                assert!((found - expected).abs() < 1e-14, "{x} {found} {expected}");
            }
        }
        assert_eq!(frequencies.counts(), [(1, 2), (2, 3), (3, 1), (u64::MAX, 1)]);
        let same = DocumentFrequencies::from_counts(4, frequencies.counts()).unwrap();
        assert_eq!(same.weigh(&[1, 2, 3]), frequencies.weigh(&[1, 2, 3]));
        assert_eq!(DocumentFrequencies::new().weigh(&[5, 5, 4]), [(4, 1.0), (5, 2.0)]);
    }

    #[test]
    fn parts_weigh_at_least_1() {
        for wrong in [0.99, 0.0, -1.0, MAX_PART_WEIGHT * 1.1, f64::NAN, f64::INFINITY] {
            let errors =
                [Weighting::new().with_title(wrong), Weighting::new().with_headings(wrong)];
            for error in errors.map(|refused| refused.unwrap_err().to_string()) {
                assert!(error.contains("must be 1 to 1000000"), "{error}");
            }
        }
        let most = Weighting::new().with_title(MAX_PART_WEIGHT).unwrap();
        assert_eq!((most.title(), most.headings()), (MAX_PART_WEIGHT, 1.0));
    }

    #[test]
    fn bad_numbers_are_refused() {
        let error = |documents, counts: &[(u64, u64)]| {
            let all = counts.iter().copied();
            DocumentFrequencies::from_counts(documents, all).unwrap_err().to_string()
        };
        assert!(error(2, &[(1, 2), (2, 3)]).contains("feature 2 in 3 of 2 documents"));
        assert!(error(9, &[(1, 2), (1, 2)]).contains("feature 1, twice"));
        let mut most = DocumentFrequencies::from_counts(u64::MAX, [(1, u64::MAX), (2, 0)]).unwrap();
        // Adding a document saturates the count.
        for _ in 0..2 {
            assert_eq!(most.weight(1), 1.0);
            assert!(most.weight(2) > 44.0 && most.weight(2).is_finite());
            most.add(&[1, 3]);
        }
    }

    #[test]
    fn what_is_forgotten_weighs_a_little_more() {
        let counts = (1..=100).map(|x| (x, x));
        let whole = DocumentFrequencies::from_counts(100, counts).unwrap();
        let mut fewer = whole.clone();
        fewer.forget_below(10);
        assert_eq!(fewer.counts().len(), 91);
        for x in 0..=100 {
            let more = fewer.weight(x) - whole.weight(x);
            assert!((0.0..=10_f64.ln()).contains(&more) && (x < 10 || more == 0.0), "{x} {more}");
        }
    }

    #[test]
    fn vectors_keep_what_is_not_zero() {
        assert_eq!(vector(&[]), []);
        assert_eq!(vector(&[0.0, -0.0, 1.5]), [(2, 1.5)]);
        let odd = vector(&[f32::NAN, f32::INFINITY]);
        assert!(odd.len() == 2 && odd[0].1.is_nan());
    }
}
