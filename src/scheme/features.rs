//! The feature kinds, which say how documents become sets: their names, parameters, versions and codes.
//!
//! They are part of the scheme because signatures are comparable only if their sets were made in the same way. The
//! extractors themselves are in [`crate::features`]. A code is never used again for something else
//! (`format-spec/scheme.md`).

use super::ElementHash;
use crate::error::{Error, Result};
use crate::limits::{
    MAX_GRAM_CHARACTERS, MAX_HORIZON, MAX_SHINGLE_WORDS, MAX_SPOT_WORDS, MIN_HORIZON,
};

/// How documents become sets of features. A kind has a version, which changes whenever its output does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Features {
    /// The caller gives numbers (FEAT-1).
    Ids,
    /// The caller gives words, and each is hashed.
    Tokens,
    /// Runs of `words` consecutive words of a text, each hashed ([`crate::features::shingles`]).
    Shingles {
        /// The words of a shingle.
        words: u16,
        /// What happens at the end of the text.
        ends: Ends,
    },
    /// Runs of `characters` consecutive characters of a text, for languages that put no spaces between words.
    Grams {
        /// Characters in a gram.
        characters: u16,
        /// What happens at the end of the text.
        ends: Ends,
    },
    /// Chunks of a file of any kind, cut at places that its content determines.
    Chunks {
        /// The distance in bytes, on both sides of a cut, within which no other place is a better cut.
        horizon: u32,
    },
    /// Phrases that start at stop words. Menus and headlines have few of them.
    Spots {
        /// The distance between two words of the phrase. With 1, every word counts.
        distance: u8,
        /// The words of a phrase.
        chain: u8,
    },
    /// The parts of a URL with their positions. A document has one URL, or several with white space between them.
    Url,
}

/// How runs of words or characters end at the end of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Ends {
    /// Runs continue at the beginning, so there are as many runs as words.
    #[default]
    Looped,
    /// Runs stop there, so a run starts only where a whole one fits.
    Plain,
}

/// The bit of the parameter that means [`Ends::Plain`].
const PLAIN: u32 = 1 << 16;

/// The names of the kinds for the command line and [`Features::from_str`](std::str::FromStr), with the default
/// parameters.
const NAMED: [(&str, Features); 7] = [
    ("ids", Features::Ids),
    ("tokens", Features::Tokens),
    ("text", Features::TEXT),
    ("grams", Features::Grams { characters: 5, ends: Ends::Looped }),
    ("chunks", Features::CHUNKS),
    ("spots", Features::Spots { distance: 1, chain: 3 }),
    ("url", Features::Url),
];

impl Features {
    /// The default for texts: looped shingles of five words.
    pub const TEXT: Features = Features::Shingles { words: 5, ends: Ends::Looped };

    /// The default for files of any kind: chunks of 33 to 256 bytes, 65 on average.
    pub const CHUNKS: Features = Features::Chunks { horizon: 32 };

    /// Returns the version of the output of this kind.
    pub const fn version(self) -> u8 {
        match self {
            Features::Shingles { .. } => 2,
            Features::Ids
            | Features::Tokens
            | Features::Grams { .. }
            | Features::Chunks { .. }
            | Features::Spots { .. }
            | Features::Url => 1,
        }
    }

    /// Returns the code in stored bytes.
    pub const fn code(self) -> u8 {
        match self {
            Features::Ids => 1,
            Features::Tokens => 2,
            Features::Shingles { .. } => 3,
            Features::Grams { .. } => 4,
            Features::Chunks { .. } => 5,
            Features::Spots { .. } => 6,
            Features::Url => 7,
        }
    }

    /// Returns the parameter in stored bytes.
    pub(super) fn parameter(self) -> u32 {
        let run = |length: u16, ends| match ends {
            Ends::Looped => u32::from(length),
            Ends::Plain => u32::from(length) | PLAIN,
        };
        match self {
            Features::Ids | Features::Tokens | Features::Url => 0,
            Features::Shingles { words, ends } => run(words, ends),
            Features::Grams { characters, ends } => run(characters, ends),
            Features::Chunks { horizon } => horizon,
            Features::Spots { distance, chain } => u32::from(u16::from_le_bytes([distance, chain])),
        }
    }

    /// Returns the kind with this code and parameter; `None` if the code is unknown (SCHEME-4), `Some(None)` if the kind
    /// does not allow the parameter (SCHEME-9).
    pub(super) fn from_code(code: u8, parameter: u32) -> Option<Option<Features>> {
        let [low, high, plain, rest] = parameter.to_le_bytes();
        let length = u16::from_le_bytes([low, high]);
        let ends = match (plain, rest) {
            (0, 0) => Some(Ends::Looped),
            (1, 0) => Some(Ends::Plain),
            _ => None,
        };
        let bare = |kind| Some(kind).filter(|_| parameter == 0);
        Some(match code {
            1 => bare(Features::Ids),
            2 => bare(Features::Tokens),
            3 => ends.map(|ends| Features::Shingles { words: length, ends }),
            4 => ends.map(|ends| Features::Grams { characters: length, ends }),
            5 => Some(Features::Chunks { horizon: parameter }),
            6 => Some(Features::Spots { distance: low, chain: high })
                .filter(|_| plain == 0 && rest == 0),
            7 => bare(Features::Url),
            _ => return None,
        })
    }

    /// The codes that this version knows.
    pub(super) const CODES: (u8, u8) = (1, 7);

    /// Returns the element hash of this kind.
    pub const fn element_hash(self) -> ElementHash {
        match self {
            Features::Ids => ElementHash::Identity,
            Features::Tokens
            | Features::Shingles { .. }
            | Features::Grams { .. }
            | Features::Chunks { .. }
            | Features::Spots { .. }
            | Features::Url => ElementHash::Xxh3,
        }
    }

    /// Returns the value that is out of range, if any, and what is allowed (SCHEME-9).
    pub(super) fn broken_limit(self) -> Option<(String, String)> {
        let limit = |name: &str, value: u32, least: u32, most: u32| {
            let broken = !(least..=most).contains(&value);
            broken.then(|| (format!("{name} = {value}"), format!("it must be {least} to {most}")))
        };
        match self {
            Features::Ids | Features::Tokens | Features::Url => None,
            Features::Shingles { words, .. } => {
                limit("words in a shingle", words.into(), 1, MAX_SHINGLE_WORDS.into())
            }
            Features::Grams { characters, .. } => {
                limit("characters in a gram", characters.into(), 1, MAX_GRAM_CHARACTERS.into())
            }
            Features::Chunks { horizon } => {
                limit("horizon of chunks", horizon, MIN_HORIZON, MAX_HORIZON)
            }
            Features::Spots { distance, chain } => {
                let words = u32::from(distance) * u32::from(chain);
                limit("distance times chain of a spot", words, 1, MAX_SPOT_WORDS as u32)
            }
        }
    }
}

impl std::fmt::Display for Features {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let plain = |ends: &Ends| if *ends == Ends::Plain { ", plain" } else { "" };
        match self {
            Features::Ids => f.write_str("ids"),
            Features::Tokens => f.write_str("tokens"),
            Features::Shingles { words, ends } => {
                write!(f, "text({words}-word shingles{})", plain(ends))
            }
            Features::Grams { characters, ends } => {
                write!(f, "grams({characters} characters{})", plain(ends))
            }
            Features::Chunks { horizon } => write!(f, "chunks(horizon {horizon} bytes)"),
            Features::Spots { distance, chain } => {
                write!(f, "spots({chain} words, every {distance})")
            }
            Features::Url => f.write_str("url"),
        }
    }
}

/// Parses the name of a kind: `text` has the default parameters, `text:3` another number of words, characters, horizon or
/// chain, and `text:3:plain` runs that are not looped.
impl std::str::FromStr for Features {
    type Err = Error;

    fn from_str(text: &str) -> Result<Features> {
        let (rest, ends) = match text.strip_suffix(":plain") {
            Some(rest) => (rest, Ends::Plain),
            None => (text, Ends::Looped),
        };
        let (name, parameter) = rest.split_once(':').map_or((rest, None), |(n, p)| (n, Some(p)));
        let refused = |limit: String| Error::invalid(format!("features `{text}`"), limit);
        let usual = NAMED.iter().find(|(known, _)| *known == name).map(|(_, usual)| *usual);
        let usual = usual.ok_or_else(|| {
            let known = NAMED.map(|(name, _)| name).join(", ");
            refused(format!("choose one of {known}; some take a number, as in `text:3`"))
        })?;
        // The number after the colon, or the default.
        let number = |usual: u32, most: u32| match parameter {
            None => Ok(usual),
            Some(given) => {
                let number = given.parse().ok().filter(|n| (1..=most).contains(n));
                number.ok_or_else(|| {
                    refused(format!("the number after the colon must be 1 to {most}"))
                })
            }
        };
        let short =
            |usual: u16, most: u16| Ok::<_, Error>(number(usual.into(), most.into())? as u16);
        let parsed = match usual {
            Features::Shingles { words, .. } => {
                Features::Shingles { words: short(words, MAX_SHINGLE_WORDS)?, ends }
            }
            Features::Grams { characters, .. } => {
                Features::Grams { characters: short(characters, MAX_GRAM_CHARACTERS)?, ends }
            }
            _ if ends == Ends::Plain => {
                return Err(refused(format!("`{name}` does not take `:plain`")));
            }
            Features::Chunks { horizon } => {
                Features::Chunks { horizon: number(horizon, MAX_HORIZON)? }
            }
            Features::Spots { distance, chain } => Features::Spots {
                distance,
                chain: number(chain.into(), MAX_SPOT_WORDS as u32)? as u8,
            },
            Features::Ids | Features::Tokens | Features::Url if parameter.is_some() => {
                return Err(refused(format!("`{name}` takes no number")));
            }
            bare @ (Features::Ids | Features::Tokens | Features::Url) => bare,
        };
        Ok(parsed)
    }
}
