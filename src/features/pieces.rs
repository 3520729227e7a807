//! Words of text that is not all ASCII.
//!
//! In: text that starts and ends at ASCII white space, and may contain more. Out: the words of FEAT-6. Most
//! characters are handled one by one, because neither their normal form nor their role in word boundaries depends
//! on their neighbours. A character that does depend on its neighbours starts the slow path: the stretch from the
//! last certain boundary to the next one is normalised and split exactly as the specification defines.

use unicode_segmentation::UnicodeSegmentation;

use super::characters::{Kind, look_up};
use super::normal::{is_space, normal};
use super::words::{Flat, Reading};
use crate::error::Result;

/// The characters of a stretch that are read between two checks of the limits.
const LOOK: usize = 4096;

/// Reads the words of such text.
#[derive(Debug)]
pub(super) struct Pieces {
    /// Gram text puts no space between words that touch (FEAT-8).
    touching: bool,
    /// The normal form of a stretch.
    stretch: String,
}

/// The kind of word that is being read.
#[derive(Clone, Copy, PartialEq)]
enum Open {
    None,
    Joining,
    Katakana,
    Alone,
}

/// A snapshot of the output, to which it can be rolled back.
#[derive(Clone, Copy)]
struct Written {
    bytes: usize,
    bounds: usize,
    /// The last word ends exactly at the current position.
    touches: bool,
}

impl Pieces {
    pub(super) fn new(touching: bool) -> Pieces {
        Pieces { touching, stretch: String::new() }
    }

    /// Appends the words of a text.
    pub(super) fn read(
        &mut self,
        pieces: &[u8],
        words: &mut Flat,
        reading: &mut Reading<'_>,
    ) -> Result<()> {
        let text = String::from_utf8_lossy(pieces);
        let mut writer =
            Writer { words, touching: self.touching, touches: false, open: Open::None };
        let mut rest = &*text;
        while !rest.is_empty() {
            match writer.read_certain(rest, reading)? {
                Read::All => break,
                Read::UpTo(end) => rest = &rest[end..],
                Read::Stretch(start, end) => {
                    self.read_stretch(&rest[start..end], &mut writer, reading)?;
                    rest = &rest[end..];
                }
            }
        }
        writer.close();
        Ok(())
    }

    /// Splits a stretch as the specification defines. Normalisation and word boundaries do not reach across white
    /// space, so each part is finished at the next white space, however long the stretch is.
    fn read_stretch(
        &mut self,
        text: &str,
        writer: &mut Writer<'_>,
        reading: &mut Reading<'_>,
    ) -> Result<()> {
        self.stretch.clear();
        for (i, c) in normal(text.chars()).enumerate() {
            if is_space(c) {
                self.end_part(writer);
                writer.touches = false;
            } else {
                self.stretch.push(c);
            }
            if i % LOOK == 0 {
                reading.step(writer.words, self.stretch.len())?;
            }
        }
        self.end_part(writer);
        Ok(())
    }

    /// Splits the part collected so far into words.
    fn end_part(&mut self, writer: &mut Writer<'_>) {
        let mut end = 0;
        for (at, word) in self.stretch.unicode_word_indices() {
            writer.touches &= at == end;
            writer.start(Open::Alone);
            writer.words.bytes.extend_from_slice(word.as_bytes());
            writer.close();
            end = at + word.len();
        }
        writer.touches &= end == self.stretch.len();
        self.stretch.clear();
    }
}

/// How far a text was read.
enum Read {
    All,
    /// Up to this certain boundary.
    UpTo(usize),
    /// Up to a stretch whose characters depend on their neighbours, given as start and end.
    Stretch(usize, usize),
}

/// The bytes that are read at once. After them, finished words may be handed out.
const GO: usize = 1 << 16;

/// The role of a character.
enum Part {
    OfWord,
    OfNone,
    /// The role depends on its neighbours.
    Depends,
}

/// True if the text may start with a character that a middle character joins to the word before.
fn joins_with_middle(text: &str) -> bool {
    let kind = text.chars().next().map(|c| look_up(c).kind);
    matches!(kind, Some(Kind::Joins | Kind::Extends | Kind::Depends))
}

struct Writer<'a> {
    words: &'a mut Flat,
    touching: bool,
    touches: bool,
    open: Open,
}

impl Writer<'_> {
    /// Reads while nothing depends on neighbours, or up to the first certain boundary after many bytes. If a
    /// character depends on its neighbours, the words since the last certain boundary are removed again, and the
    /// stretch is returned.
    fn read_certain(&mut self, text: &str, reading: &mut Reading<'_>) -> Result<Read> {
        let mut boundary = (0, self.written());
        for (at, c) in text.char_indices() {
            let character = look_up(c);
            let behind = at + c.len_utf8();
            if at >= GO {
                if matches!(character.kind, Kind::Alone | Kind::Breaks) {
                    // This boundary is certain, so the words before it will not be removed again.
                    self.close();
                    reading.step(self.words, 0)?;
                    return Ok(Read::UpTo(at));
                }
                if at % GO < c.len_utf8() {
                    reading.watch.at(self.words.taken + self.words.bytes.len())?;
                }
            }
            // Nearly all characters join, so this branch is predicted well.
            let part = if character.kind == Kind::Joins {
                self.start_unless(Open::Joining);
                Part::OfWord
            } else {
                self.read_rare(character.kind, at, &text[behind..], &mut boundary)
            };
            match part {
                Part::OfWord => self.write(character.normal),
                Part::OfNone => {}
                Part::Depends => {
                    self.take_back(boundary.1);
                    let certain = |c: char| matches!(look_up(c).kind, Kind::Alone | Kind::Breaks);
                    let rest = &text[behind..];
                    let end = behind + rest.find(certain).unwrap_or(rest.len());
                    return Ok(Read::Stretch(boundary.0, end));
                }
            }
        }
        self.close();
        Ok(Read::All)
    }

    /// Handles a character that is not a plain part of a word, and updates the last certain boundary if it makes
    /// one.
    #[inline(never)]
    fn read_rare(
        &mut self,
        kind: Kind,
        at: usize,
        behind: &str,
        boundary: &mut (usize, Written),
    ) -> Part {
        match kind {
            Kind::Joins => self.start_unless(Open::Joining),
            Kind::Katakana => self.start_unless(Open::Katakana),
            Kind::Extends if self.open != Open::None => {}
            Kind::Extends | Kind::Depends => return Part::Depends,
            Kind::Middle if self.open == Open::Joining && joins_with_middle(behind) => {
                return Part::Depends;
            }
            Kind::Alone => {
                self.close();
                *boundary = (at, self.written());
                self.start(Open::Alone);
            }
            Kind::Middle | Kind::Breaks => {
                self.close();
                *boundary = (at, self.written());
                self.touches = false;
                return Part::OfNone;
            }
        }
        Part::OfWord
    }

    /// Always copies four bytes, which avoids a call for each character.
    #[inline(always)]
    fn write(&mut self, c: char) {
        let mut utf8 = [0; 4];
        let length = c.encode_utf8(&mut utf8).len();
        self.words.bytes.spare(4)[..4].copy_from_slice(&utf8);
        self.words.bytes.advance(length);
    }

    #[inline(always)]
    fn start_unless(&mut self, open: Open) {
        if self.open != open {
            self.start(open);
        }
    }

    fn start(&mut self, open: Open) {
        self.close();
        if self.touching && self.touches {
            self.words.bytes.pop();
        }
        self.open = open;
    }

    fn close(&mut self) {
        if self.open != Open::None {
            self.words.bytes.push(b' ');
            self.words.bounds.push(self.words.bytes.len());
            self.touches = true;
            self.open = Open::None;
        }
    }

    fn written(&self) -> Written {
        let (bytes, bounds) = (self.words.bytes.len(), self.words.bounds.len());
        Written { bytes, bounds, touches: self.touches }
    }

    /// Removes everything written after a boundary.
    fn take_back(&mut self, written: Written) {
        self.open = Open::None;
        self.touches = written.touches;
        if self.words.bytes.len() > written.bytes {
            self.words.bytes.truncate(written.bytes);
            self.words.bounds.truncate(written.bounds);
            // A touching word had overwritten the space after the word before it.
            if let Some(last) = self.words.bytes.last_mut() {
                *last = b' ';
            }
        }
    }
}
