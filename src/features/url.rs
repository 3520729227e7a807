//! Features of URLs: pairs of neighbouring parts with their positions.
//!
//! In: a URL. Out: one feature for each pair (FEAT-11). The features of all URLs of a host form the set of the
//! host: [`Extractor`](super::Extractor) reads them as one document. Mirrors share many of them.

use unicode_segmentation::UnicodeSegmentation;
use xxhash_rust::xxh3::xxh3_64;

use super::limits::{Sink, Watch};
use super::normal::normal;
use crate::error::Result;

/// The characters of a URL that are read between two checks of the limits.
const LOOK: usize = 4096;

/// Parts that too many URLs have (FEAT-11).
const STOP_WORDS: [&str; 22] = [
    "asp", "aspx", "bin", "cgi", "com", "default", "ftp", "home", "htm", "html", "http", "https",
    "index", "jsp", "main", "net", "org", "php", "shtml", "txt", "www", "xhtml",
];

/// The features of a URL (FEAT-11).
///
/// ```
/// use ringer::features::{token, url};
/// let path = url(b"/cellblock16/inmates/dilbert/personal/foo.htm");
/// assert_eq!(path.len(), 4);
/// assert_eq!(path[0], token("cellblock inmates 0"));
/// ```
pub fn url(address: &[u8]) -> Vec<u64> {
    let mut features = Vec::new();
    UrlReader::new().features_into(address, &mut features);
    features
}

/// Reads many URLs and reuses its buffers.
///
/// ```
/// use ringer::features::UrlReader;
/// let mut host = Vec::new();
/// let mut reader = UrlReader::new();
/// for address in ["http://www.example.org/papers/minhash", "http://www.example.org/papers/simhash"] {
///     reader.features_into(address.as_bytes(), &mut host);
/// }
/// assert_eq!(host[0], host[2]);
/// ```
#[derive(Debug, Default)]
pub struct UrlReader {
    bytes: Vec<u8>,
    text: String,
    pair: String,
}

impl UrlReader {
    /// Makes a reader with empty buffers.
    pub fn new() -> UrlReader {
        UrlReader::default()
    }

    /// Appends the features of a URL in order. A URL with a single part has one feature.
    pub fn features_into(&mut self, address: &[u8], features: &mut Vec<u64>) {
        let mut sink = Sink { watch: Watch::none(), features, take: None };
        let read = self.read_into(address, &mut sink);
        debug_assert!(read.is_ok(), "nothing limits it");
    }

    /// The same within limits.
    pub(super) fn read_into(&mut self, address: &[u8], sink: &mut Sink<'_>) -> Result<()> {
        self.bytes.clear();
        unescape(address, &mut self.bytes);
        self.text.clear();
        for (i, c) in normal(String::from_utf8_lossy(&self.bytes).chars()).enumerate() {
            self.text.push(c);
            if i % LOOK == 0 {
                sink.watch.at(self.text.len())?;
            }
        }
        sink.watch.at(self.text.len())?;
        let parts = self.text.split(|c: char| !is_part(c));
        let parts = parts.filter(|part| !part.is_empty() && !STOP_WORDS.contains(part));
        let mut last: Option<(usize, &str)> = None;
        let mut feature = |before: &str, part: &str, position: usize| {
            let space = if before.is_empty() { "" } else { " " };
            self.pair.clear();
            for piece in [before, space, part, " "] {
                self.pair.push_str(piece);
            }
            self.pair.push_str(&position.to_string());
            sink.features.push(xxh3_64(self.pair.as_bytes()));
            sink.added()
        };
        for (i, part) in parts.enumerate() {
            if let Some((position, before)) = last {
                feature(before, part, position)?;
            }
            last = Some((i, part));
        }
        if let Some((0, part)) = last {
            feature("", part, 0)?;
        }
        Ok(())
    }
}

/// Replaces `%` and two hexadecimal digits by the byte that they encode.
fn unescape(address: &[u8], bytes: &mut Vec<u8>) {
    let digit = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
    let mut rest = address;
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        match (first, digit(behind.first()), digit(behind.get(1))) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((16 * high + low) as u8);
                rest = &behind[2..];
            }
            _ => bytes.push(*first),
        }
    }
}

/// True for ASCII letters in lower case, and for other characters that form words. ASCII digits and punctuation
/// separate parts.
fn is_part(c: char) -> bool {
    let mut utf8 = [0; 4];
    match c.is_ascii() {
        true => c.is_ascii_lowercase(),
        false => c.encode_utf8(&mut utf8).unicode_words().next().is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::token;

    fn features<const N: usize>(parts: [&str; N]) -> Vec<u64> {
        parts.map(token).to_vec()
    }

    /// FEAT-11, with the examples of the paper. The host has the parts www, infoseek and com; two are stop words.
    #[test]
    fn parts_positions_and_stop_words() {
        assert_eq!(url(b"www6.infoseek.com"), features(["infoseek 0"]));
        let path = b"/cellblock16/inmates/dilbert/personal/foo.htm";
        let expected =
            ["cellblock inmates 0", "inmates dilbert 1", "dilbert personal 2", "personal foo 3"];
        assert_eq!(url(path), features(expected));
        assert_eq!(url(b"HTTP://WWW.A.com/A/a"), features(["a a 0", "a a 1"]));
        for nothing in [&b""[..], b"http://www.com/index.html", b"/1/2/3", b"%", b"%4"] {
            assert_eq!(url(nothing), []);
        }
    }

    #[test]
    fn escapes_and_other_scripts() {
        let cafe = features(["café menü 0"]);
        assert_eq!(url("/Café/menü".as_bytes()), cafe);
        assert_eq!(url(b"/caf%C3%A9/men%75%cc%88"), cafe);
        assert_eq!(url(b"/a%zz%4/b%"), features(["a zz 0", "zz b 1"]));
        assert_eq!(url(b"/a%ff/\xC3b"), features(["a b 0"]));
        assert_eq!(url("/東京/b".as_bytes()), features(["東京 b 0"]));
    }
}
