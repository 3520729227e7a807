//! Words of text that is not all ASCII.
//!
//! In: bytes without ASCII white space. Out: the words of FEAT-6. Characters whose part does not depend
//! on their neighbours are taken one by one; where one comes that does, the stretch from the last certain
//! boundary to the next is normalised and cut by the definition.

use unicode_segmentation::UnicodeSegmentation;

use super::characters::{Kind, look_up};
use super::normal::{is_space, normal};
use super::words::Flat;

/// Reads pieces.
#[derive(Debug)]
pub(super) struct Pieces {
    /// Words that touch have no space between them (FEAT-8).
    touching: bool,
    /// A stretch in its normal form.
    stretch: String,
}

/// The word that is being read.
#[derive(Clone, Copy, PartialEq)]
enum Open {
    None,
    Joining,
    Katakana,
    Alone,
}

/// What has been written.
#[derive(Clone, Copy)]
struct Written {
    bytes: usize,
    bounds: usize,
    /// The last word ends where the text goes on.
    touches: bool,
}

impl Pieces {
    pub(super) fn new(touching: bool) -> Pieces {
        Pieces { touching, stretch: String::new() }
    }

    /// Appends the words of a piece.
    pub(super) fn read(&mut self, piece: &[u8], words: &mut Flat) {
        let text = String::from_utf8_lossy(piece);
        let mut writer =
            Writer { words, touching: self.touching, touches: false, open: Open::None };
        let mut rest = &*text;
        while !rest.is_empty() {
            let Some((start, end)) = writer.read_certain(rest) else { break };
            self.read_stretch(&rest[start..end], &mut writer);
            rest = &rest[end..];
        }
        writer.close();
    }

    /// The definition itself.
    fn read_stretch(&mut self, text: &str, writer: &mut Writer<'_>) {
        self.stretch.clear();
        self.stretch.extend(normal(text.chars()));
        for (i, part) in self.stretch.split(is_space).enumerate() {
            writer.touches &= i == 0;
            let mut end = 0;
            for (at, word) in part.unicode_word_indices() {
                writer.touches &= at == end;
                writer.start(Open::Alone);
                writer.words.bytes.extend_from_slice(word.as_bytes());
                writer.close();
                end = at + word.len();
            }
            writer.touches &= end == part.len();
        }
    }
}

struct Writer<'a> {
    words: &'a mut Flat,
    touching: bool,
    touches: bool,
    open: Open,
}

impl Writer<'_> {
    /// Reads while nothing depends on neighbours. Out: the stretch that does, if there is one; what was
    /// written of it is taken back.
    fn read_certain(&mut self, text: &str) -> Option<(usize, usize)> {
        let mut boundary = (0, self.written());
        for (at, c) in text.char_indices() {
            let character = look_up(c);
            let next = || text[at + c.len_utf8()..].chars().next().map(|c| look_up(c).kind);
            let kind = match character.kind {
                Kind::Middle if self.open != Open::Joining => Kind::Breaks,
                Kind::Middle => match next() {
                    Some(Kind::Joins | Kind::Extends | Kind::Depends) => Kind::Depends,
                    _ => Kind::Breaks,
                },
                Kind::Extends if self.open == Open::None => Kind::Depends,
                kind => kind,
            };
            match kind {
                Kind::Joins => self.start_unless(Open::Joining),
                Kind::Katakana => self.start_unless(Open::Katakana),
                Kind::Extends => {}
                Kind::Alone | Kind::Breaks => {
                    self.close();
                    boundary = (at, self.written());
                    if kind == Kind::Breaks {
                        self.touches = false;
                        continue;
                    }
                    self.start(Open::Alone);
                }
                Kind::Middle | Kind::Depends => {
                    self.take_back(boundary.1);
                    let behind = &text[at + c.len_utf8()..];
                    let certain = |c: char| matches!(look_up(c).kind, Kind::Alone | Kind::Breaks);
                    let length = behind.find(certain).unwrap_or(behind.len());
                    return Some((boundary.0, at + c.len_utf8() + length));
                }
            }
            let mut utf8 = [0; 4];
            self.words.bytes.extend_from_slice(character.normal.encode_utf8(&mut utf8).as_bytes());
        }
        self.close();
        None
    }

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

    /// Forgets what was written after a boundary.
    fn take_back(&mut self, written: Written) {
        self.open = Open::None;
        self.touches = written.touches;
        if self.words.bytes.len() > written.bytes {
            self.words.bytes.truncate(written.bytes);
            self.words.bounds.truncate(written.bounds);
            // A word that touched the one before had taken its space.
            if let Some(last) = self.words.bytes.last_mut() {
                *last = b' ';
            }
        }
    }
}
