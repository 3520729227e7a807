//! Turns one document into a set or a signature: reads it, extracts its features, and sketches them.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use ringer::features::{Chunk, Chunker, Extractor, Limits, Media, Weighting};
use ringer::scheme::{Features, Measure, Sampler};
use ringer::{Error, Signature, Sketcher};

use super::gathered::Gathered;
use super::records::Content;
use crate::problems::{Problem, Reason};
use crate::show;
use crate::{compression, interrupt};

/// Larger files are skipped unless `--max-text` is larger, because a text is held in memory as a whole.
const MAX_TEXT_BYTES: u64 = 64 << 20;

/// A file with a zero byte in its first bytes is binary, not text.
const BINARY_CHECK_BYTES: u64 = 8 << 10;

/// How many bytes are read at a time from files that need not be in memory as a whole.
const PIECE_BYTES: usize = 1 << 20;

/// From this number of features on, duplicates are removed before sketching. The sketcher would need several times the memory
/// of the set to detect them.
const MANY_FEATURES: usize = 1 << 20;

/// How many samples are drawn between two checks for an interrupt, if the sampler visits each element for each sample.
const MANY_SAMPLES: u64 = 1 << 26;

/// The limits of one document, if the command line gives any.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DocumentLimits {
    pub(crate) text: Option<u64>,
    pub(crate) features: Option<u64>,
    /// Texts with fewer words are skipped.
    pub(crate) words: u64,
    /// Whether binary files are texts.
    pub(crate) binary: bool,
}

impl DocumentLimits {
    /// No limits, for documents that were within them when they were added.
    pub(crate) const NONE: DocumentLimits =
        DocumentLimits { text: Some(u64::MAX), features: Some(u64::MAX), words: 0, binary: true };

    /// The most bytes of a file of text.
    fn file_bytes(self) -> u64 {
        self.text.unwrap_or(0).max(MAX_TEXT_BYTES)
    }

    /// Fails if a text has too few words.
    pub(crate) fn check_words(self, text: &[u8]) -> Result<(), Problem> {
        let words = text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        match words.take(self.words as usize).count() as u64 >= self.words {
            true => Ok(()),
            false => {
                let message = format!(
                    "has fewer than {}, the limit of --min-words",
                    show::count(self.words, "word")
                );
                Err(Problem::new(Reason::TooShort, message))
            }
        }
    }

    fn of_texts(self) -> Limits {
        let usual = Limits::default();
        usual
            .with_normal_bytes(self.text.unwrap_or(usual.normal_bytes))
            .with_features(self.features.unwrap_or(usual.features))
    }
}

/// The state that one thread needs to turn documents into signatures.
pub(crate) struct Worker<'a> {
    sketcher: &'a Sketcher,
    extractor: Extractor,
    limits: DocumentLimits,
    /// How the elements of documents are weighted, if not by their number.
    weighting: Option<&'a Weighting>,
    set: Vec<u64>,
    /// The extracted elements with their weights, in place of `set`.
    weighted_set: Vec<(u64, f64)>,
    gathered: Gathered,
    bytes: Vec<u8>,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(sketcher: &'a Sketcher) -> Worker<'a> {
        let extractor =
            Extractor::of_scheme(sketcher.scheme()).interrupted_by(interrupt::requested);
        Worker {
            sketcher,
            extractor,
            limits: DocumentLimits::default(),
            weighting: None,
            set: Vec::new(),
            weighted_set: Vec::new(),
            gathered: Gathered::default(),
            bytes: Vec::new(),
        }
    }

    /// Sets the limits of a document.
    pub(crate) fn limited(self, limits: DocumentLimits) -> Worker<'a> {
        Worker { extractor: self.extractor.limited(limits.of_texts()), limits, ..self }
    }

    /// Sets how the elements of documents are weighted.
    pub(crate) fn weighing(self, weighting: Option<&'a Weighting>) -> Worker<'a> {
        Worker { weighting, ..self }
    }

    /// The distinct elements of a parsed document that have weights.
    pub(crate) fn elements_of_content(&mut self, content: &Content<'_>) -> Result<Vec<u64>, Error> {
        match content {
            Content::Document(document) => {
                self.extract(document, Media::Plain)?;
                Ok(self.elements())
            }
            other => self.set_of_content(other),
        }
    }

    /// The distinct elements of a file that have weights; `None` after an interrupt.
    pub(crate) fn elements_of_file(&mut self, path: &Path) -> Result<Option<Vec<u64>>, Problem> {
        self.extract_file(path)?;
        Ok((!interrupt::requested()).then(|| self.elements()))
    }

    fn elements(&self) -> Vec<u64> {
        self.weighted_set.iter().map(|(element, _)| *element).collect()
    }

    /// The set of a parsed document, without weights.
    pub(crate) fn set_of_content(&mut self, content: &Content<'_>) -> Result<Vec<u64>, Error> {
        match content {
            Content::Document(document) | Content::Weighted(document) => {
                self.extract(document, Media::Plain)?;
                Ok(std::mem::take(&mut self.set))
            }
            Content::Set(set) => Ok(set.clone()),
            Content::WeightedSet(set) => Ok(set.iter().map(|(element, _)| *element).collect()),
        }
    }

    /// The signature of a parsed document.
    pub(crate) fn of_content(&mut self, content: &Content<'_>) -> Result<Signature, Error> {
        match content {
            Content::Document(document) => {
                self.extract(document, Media::Plain)?;
                self.sketch_set()
            }
            Content::Set(set) => match self.weighting {
                Some(weighting) => {
                    self.sketcher.sketch_weighted(&weighting.frequencies().weigh(set))
                }
                None => self.sketcher.sketch(set),
            },
            Content::Weighted(elements) => {
                let set = self.weighted(elements)?;
                self.sketcher.sketch_weighted(&set)
            }
            Content::WeightedSet(set) => self.sketcher.sketch_weighted(set),
        }
    }

    /// Parses elements with weights: `bread:2.5 milk:1`. The weight follows the last colon.
    fn weighted(&mut self, elements: &[u8]) -> Result<Vec<(u64, f64)>, Error> {
        let mut set = Vec::new();
        let vectors = self.sketcher.scheme().measure == Measure::Cosine;
        let words = elements.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        for word in words {
            let colon = word.iter().rposition(|byte| *byte == b':');
            let weight = colon.and_then(|at| str::from_utf8(&word[at + 1..]).ok()?.parse().ok());
            let refused = |limit: &str| {
                let start = &word[..word.len().min(40)];
                Error::InvalidArgument { what: show::key(start), limit: limit.into() }
            };
            let (Some(colon @ 1..), Some(weight)) = (colon, weight) else {
                return Err(refused("the weight is missing: write element:weight"));
            };
            // The library would reject these as well, but does not know the word.
            let sound = |weight: f64| weight.is_finite() && (vectors || weight > 0.0);
            if !sound(weight) {
                return Err(refused(match vectors {
                    true => "the weight must be a finite number",
                    false => "the weight must be a finite number above 0",
                }));
            }
            self.extractor.extract(&word[..colon], Media::Plain, &mut self.set)?;
            set.extend(self.set.iter().map(|element| (*element, weight)));
        }
        Ok(set)
    }

    /// The signature of a file; `None` after an interrupt. Compressed text files are decompressed.
    pub(crate) fn of_file(&mut self, path: &Path) -> Result<Option<Signature>, Problem> {
        self.extract_file(path)?;
        if interrupt::requested() {
            return Ok(None);
        }
        let refused = |error: Error| {
            Problem::new(Reason::Malformed, format!("{}: {error}", show::path(path)))
        };
        self.sketch_set().map(Some).map_err(refused)
    }

    /// The set of a file; `None` after an interrupt.
    pub(crate) fn set_of_file(&mut self, path: &Path) -> Result<Option<Vec<u64>>, Problem> {
        self.extract_file(path)?;
        Ok((!interrupt::requested()).then(|| std::mem::take(&mut self.set)))
    }

    /// The text of a file, for people to read; `None` if it has none.
    pub(crate) fn text_of_file(&mut self, path: &Path) -> Option<Vec<u8>> {
        let (mut input, _) = compression::recognised(File::open(path).ok()?).ok()?;
        let text = self.read_text(&mut input);
        matches!(text, Ok(Text::Read)).then(|| std::mem::take(&mut self.bytes))
    }

    /// Extracts the features of a file. Stops early after an interrupt.
    fn extract_file(&mut self, path: &Path) -> Result<(), Problem> {
        let unreadable = |error: io::Error| {
            let message = format!("cannot read {}: {error}", show::path(path));
            Problem::new(Reason::Unreadable, message)
        };
        let refused = |error: Error| {
            Problem::new(reason_of(&error), format!("{}: {}", show::path(path), refusal(&error)))
        };
        let file = File::open(path).map_err(unreadable)?;
        if let Features::Chunks { horizon } = self.sketcher.scheme().features {
            let chunker = Chunker::new(horizon).map_err(refused)?;
            self.in_pieces(file, chunker).map_err(unreadable)?.map_err(refused)?;
            if let Some(weighting) = self.weighting {
                weighting.frequencies().weigh_into(&self.set, &mut self.weighted_set);
            }
            return Ok(());
        }
        let (mut input, packed) = compression::recognised(file).map_err(unreadable)?;
        let text = self.read_text(&mut input);
        let name = show::path(path);
        match text.map_err(unreadable)? {
            Text::Read => {}
            Text::Binary(kind) => {
                let advice =
                    compression::advice(kind).map_or(String::new(), |advice| format!("; {advice}"));
                let message = format!("{name} is {kind}, not text{advice}");
                return Err(Problem::new(Reason::Binary, message));
            }
            Text::TooLarge => {
                let message = format!(
                    "{name} is larger than {}, the limit of a text: raise it with --max-text, split the file, or use \
                     --features chunks",
                    show::bytes(self.limits.file_bytes())
                );
                return Err(Problem::new(Reason::TooLarge, message));
            }
        }
        self.limits.check_words(&self.bytes).map_err(|Problem { reason, message }| {
            Problem::new(reason, format!("{name} {message}"))
        })?;
        // The type of page.html.gz is that of page.html.
        let media = Media::of_path(if packed { path.with_extension("") } else { path.into() });
        let bytes = std::mem::take(&mut self.bytes);
        let extracted = self.extract(&bytes, media);
        self.bytes = bytes;
        match extracted {
            // The caller checks for interrupts.
            Err(Error::Interrupted) => Ok(()),
            extracted => extracted.map_err(refused),
        }
    }

    /// Whether repeated elements count once.
    fn repeats_do_not_count(&self) -> bool {
        self.sketcher.scheme().measure == Measure::Jaccard
    }

    /// Extracts the features of a document. For a long document whose repeated features count once, memory holds only its
    /// distinct features.
    fn extract(&mut self, document: &[u8], media: Media) -> Result<(), Error> {
        if let Some(weighting) = self.weighting {
            let weighted = &mut self.weighted_set;
            return self.extractor.extract_weighted(document, media, weighting, weighted);
        }
        if !self.repeats_do_not_count() || document.len() <= PIECE_BYTES {
            return self.extractor.extract(document, media, &mut self.set);
        }
        self.gathered = Gathered::default();
        let gathered = &mut self.gathered;
        let mut take = |some: &[u64]| gathered.take(some, interrupt::requested);
        self.extractor.extract_each(document, media, &mut take)?;
        self.gathered.finish(&mut self.set, interrupt::requested)
    }

    /// The signature of the extracted features.
    fn sketch_set(&mut self) -> Result<Signature, Error> {
        if self.weighting.is_some() {
            return self.sketcher.sketch_weighted(&self.weighted_set);
        }
        let scheme = self.sketcher.scheme();
        if self.set.len() > MANY_FEATURES
            && self.repeats_do_not_count()
            && !self.set.is_sorted_by(|a, b| a < b)
        {
            self.set.sort_unstable();
            self.set.dedup();
        }
        let each =
            if scheme.sampler == Sampler::Independent { u64::from(scheme.samples) } else { 1 };
        if self.set.len() as u64 * each <= MANY_SAMPLES {
            return self.sketcher.sketch(&self.set);
        }
        let mut stream = self.sketcher.stream();
        for some in self.set.chunks((MANY_SAMPLES / each).max(1) as usize) {
            if interrupt::requested() {
                return Err(Error::Interrupted);
            }
            some.iter().try_for_each(|feature| stream.push(*feature))?;
        }
        stream.finish()
    }

    /// Reads a file, if it is a text and not too large.
    fn read_text(&mut self, input: &mut dyn Read) -> io::Result<Text> {
        self.bytes.clear();
        input.take(BINARY_CHECK_BYTES).read_to_end(&mut self.bytes)?;
        let utf16 = Utf16::of(&self.bytes);
        if utf16.is_none() && !self.limits.binary {
            match (compression::kind_of(&self.bytes), self.bytes.contains(&0)) {
                (Some(kind), _) => return Ok(Text::Binary(kind)),
                (None, true) => return Ok(Text::Binary("binary")),
                (None, false) => {}
            }
        }
        let most = self.limits.file_bytes();
        input.take(most.saturating_add(1)).read_to_end(&mut self.bytes)?;
        if self.bytes.len() as u64 > most {
            return Ok(Text::TooLarge);
        }
        if let Some(order) = utf16 {
            self.bytes = order.decode(&self.bytes[2..]);
        }
        Ok(Text::Read)
    }

    /// Extracts the chunks of a file, which is never in memory as a whole.
    fn in_pieces(&mut self, mut file: File, mut chunker: Chunker) -> io::Result<Result<(), Error>> {
        let limit = self.limits.features;
        let Worker { set, bytes, .. } = self;
        set.clear();
        let (mut most, mut chunks, mut pushed) = (MANY_FEATURES, 0, Ok(()));
        // Repeated chunks count if elements have weights.
        let drop_repeats = self.sketcher.scheme().measure == Measure::Jaccard;
        let mut push = |chunk: Chunk<'_>| {
            chunks += 1;
            if let Some(limit) = limit.filter(|limit| chunks > *limit) {
                pushed = Err(Error::DocumentTooLarge { what: "features", limit });
                return;
            }
            set.push(chunk.feature());
            if drop_repeats && set.len() > most {
                set.sort_unstable();
                set.dedup();
                most = (2 * set.len()).max(MANY_FEATURES);
            }
        };
        bytes.resize(PIECE_BYTES, 0);
        while !interrupt::requested() {
            match file.read(bytes) {
                Ok(0) => break,
                Ok(read) => chunker.push(&bytes[..read], &mut push),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        chunker.finish(&mut push);
        Ok(pushed)
    }
}

/// Why a document that the library rejected is skipped.
pub(crate) fn reason_of(error: &Error) -> Reason {
    match error {
        Error::DocumentTooLarge { .. } => Reason::OverLimit,
        _ => Reason::Malformed,
    }
}

/// Why a document was rejected, and which option accepts it.
pub(crate) fn refusal(error: &Error) -> String {
    match error {
        Error::DocumentTooLarge { what, limit } => {
            let option = if *what == "features" { "--max-features" } else { "--max-text" };
            format!(
                "the document has more than {limit} {what}; leave it out, or raise the limit with {option}"
            )
        }
        other => other.to_string(),
    }
}

/// The result of reading a text.
enum Text {
    Read,
    /// What it is instead.
    Binary(&'static str),
    TooLarge,
}

/// The byte order of UTF-16 text, from its byte order mark.
#[derive(Clone, Copy)]
enum Utf16 {
    Little,
    Big,
}

impl Utf16 {
    fn of(text: &[u8]) -> Option<Utf16> {
        match text {
            [0xff, 0xfe, ..] => Some(Utf16::Little),
            [0xfe, 0xff, ..] => Some(Utf16::Big),
            _ => None,
        }
    }

    fn decode(self, text: &[u8]) -> Vec<u8> {
        let unit = |pair: &[u8]| match self {
            Utf16::Little => u16::from_le_bytes([pair[0], pair[1]]),
            Utf16::Big => u16::from_be_bytes([pair[0], pair[1]]),
        };
        let characters = char::decode_utf16(text.chunks_exact(2).map(unit));
        let text: String = characters.map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
        text.into_bytes()
    }
}
