//! Visible text of HTML.
//!
//! In: the bytes of a page, which should be UTF-8 and may be malformed. Out: its text with entities decoded,
//! without tags, comments, scripts, styles and templates (FEAT-12). The edge of a block separates words, and
//! formatting within a word does not. Attributes are omitted, even `alt` and `title`, because most are the same on
//! all pages of a site. The tokenizer is that of WHATWG. No tree is built, so broken nesting costs nothing. The
//! text is input for the other kinds of features.

use std::convert::Infallible;
use std::ops::Range;

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Readable, Reader, Span, Tokenizer};

use super::limits::Watch;
use crate::error::{Error, Result};

/// Inline elements, which do not separate words (FEAT-12), in ascending order.
const INLINE: [&[u8]; 38] = [
    b"a", b"abbr", b"acronym", b"b", b"bdi", b"bdo", b"big", b"blink", b"cite", b"code", b"data",
    b"del", b"dfn", b"em", b"font", b"i", b"ins", b"kbd", b"mark", b"nobr", b"output", b"q", b"rb",
    b"ruby", b"s", b"samp", b"slot", b"small", b"span", b"strike", b"strong", b"sub", b"sup",
    b"time", b"tt", b"u", b"var", b"wbr",
];

/// Elements whose content is invisible and not markup. The tokenizer reads it as text up to the end tag.
const HIDDEN_TEXT: [&[u8]; 6] =
    [b"iframe", b"noembed", b"noframe", b"noscript", b"script", b"style"];

/// Elements whose content is invisible markup.
const HIDDEN_MARKUP: [&[u8]; 2] = [b"noframes", b"template"];

/// The visible text of a page.
///
/// ```
/// use ringer::features::html::visible_text;
/// let page = b"<title>Tea &amp; cakes</title><style>p{}</style><p>Ap<b>ple</b> pie<td>1<td>2<!-- -->";
/// let words: Vec<String> = String::from_utf8(visible_text(page)).unwrap().split_whitespace().map(String::from).collect();
/// assert_eq!(words, ["Tea", "&", "cakes", "Apple", "pie", "1", "2"]);
/// ```
pub fn visible_text(page: &[u8]) -> Vec<u8> {
    let mut reader = TextReader::new();
    reader.read(page);
    reader.text
}

/// Reads many pages and reuses its buffer.
///
/// ```
/// use ringer::features::{Ends, ShingleReader, html::TextReader};
/// let (mut pages, mut shingles) = (TextReader::new(), ShingleReader::new(3, Ends::Looped)?);
/// let mut features = Vec::new();
/// shingles.features_into(pages.read(b"<p>Hello <i>W</i>orld!"), &mut features);
/// assert_eq!(features, ringer::features::shingles(b"hello world", 3)?);
/// # Ok::<(), ringer::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct TextReader {
    text: Vec<u8>,
    /// The title and headings of the text, if they were asked for.
    parts: Parts,
}

/// Where in the visible text of a page its title and its headings are.
#[derive(Debug, Default)]
pub(super) struct Parts {
    /// The first `title` element.
    pub(super) title: Option<Range<usize>>,
    /// The elements `h1` to `h6`, without empty ones.
    pub(super) headings: Vec<Range<usize>>,
}

/// Finds the parts of a page while its text is read. A title goes up to its end tag. A heading goes up to the next start or
/// end tag of any heading, and both to the end of the page at the latest.
struct Marks<'a> {
    parts: &'a mut Parts,
    title: Option<usize>,
    heading: Option<usize>,
}

impl Marks<'_> {
    /// A visible start tag, before which the text ends at `end` and after which it continues at `next`.
    fn start(&mut self, tag: &[u8], end: usize, next: usize) {
        if is_heading(tag) {
            self.end_heading(end);
            self.heading = Some(next);
        }
        if tag == b"title" && self.title.is_none() && self.parts.title.is_none() {
            self.title = Some(next);
        }
    }

    /// A visible end tag, before which the text ends here.
    fn end(&mut self, tag: &[u8], end: usize) {
        if is_heading(tag) {
            self.end_heading(end);
        }
        if tag == b"title" {
            self.end_title(end);
        }
    }

    fn end_heading(&mut self, end: usize) {
        let heading = self.heading.take().map(|start| start..end);
        self.parts.headings.extend(heading.filter(|range| !range.is_empty()));
    }

    fn end_title(&mut self, end: usize) {
        if let Some(start) = self.title.take() {
            self.parts.title = Some(start..end);
        }
    }
}

fn is_heading(tag: &[u8]) -> bool {
    matches!(tag, [b'h', b'1'..=b'6'])
}

impl TextReader {
    /// Makes a reader with an empty buffer.
    pub fn new() -> TextReader {
        TextReader::default()
    }

    /// The visible text of a page (FEAT-12).
    pub fn read(&mut self, page: &[u8]) -> &[u8] {
        let read = self.read_watched(page, &Watch::none());
        debug_assert!(read.is_ok(), "nothing limits it");
        &self.text
    }

    /// The same within limits.
    pub(super) fn read_watched(&mut self, page: &[u8], watch: &Watch<'_>) -> Result<&[u8]> {
        self.read_parts(page, watch).map(|(text, _)| text)
    }

    /// The visible text, and where its title and headings are.
    pub(super) fn read_parts(&mut self, page: &[u8], watch: &Watch<'_>) -> Result<(&[u8], &Parts)> {
        self.text.clear();
        self.parts.title = None;
        self.parts.headings.clear();
        let text = &mut self.text;
        let mut marks = Marks { parts: &mut self.parts, title: None, heading: None };
        let (mut hidden_text, mut hidden_markup) = (false, 0_u64);
        let take = |event: CallbackEvent<'_>, _: Span<()>| -> Option<Infallible> {
            match event {
                CallbackEvent::OpenStartTag { name } => {
                    hidden_text = HIDDEN_TEXT.contains(&name);
                    hidden_markup += u64::from(HIDDEN_MARKUP.contains(&name));
                    let hidden = hidden_text || hidden_markup > 0;
                    let end = text.len();
                    separate(name, hidden, text);
                    if !hidden {
                        marks.start(name, end, text.len());
                    }
                }
                CallbackEvent::EndTag { name } => {
                    let hidden = hidden_text || hidden_markup > 0;
                    hidden_text = false;
                    let closes = u64::from(HIDDEN_MARKUP.contains(&name));
                    hidden_markup = hidden_markup.saturating_sub(closes);
                    if !hidden {
                        marks.end(name, text.len());
                    }
                    separate(name, hidden, text);
                }
                CallbackEvent::String { value } if !hidden_text && hidden_markup == 0 => {
                    text.extend_from_slice(value);
                }
                _ => {}
            }
            None
        };
        let mut emitter = CallbackEmitter::new(take);
        emitter.naively_switch_states(true);
        let watched = Watched { page: page.to_reader(), watch, calls: 0 };
        Tokenizer::new_with_emitter(watched, emitter).finish()?;
        marks.end_heading(self.text.len());
        marks.end_title(self.text.len());
        Ok((&self.text, &self.parts))
    }
}

/// The bytes of a page, with regular checks for an interrupt.
struct Watched<'a, R> {
    page: R,
    watch: &'a Watch<'a>,
    calls: u32,
}

impl<R> Watched<'_, R> {
    #[inline(always)]
    fn step(&mut self) -> Result<()> {
        self.calls = self.calls.wrapping_add(1);
        if self.calls.is_multiple_of(4096) { self.watch.at(0) } else { Ok(()) }
    }
}

impl<R: Reader<Error = Infallible>> Reader for Watched<'_, R> {
    type Error = Error;

    #[inline(always)]
    fn read_byte(&mut self) -> Result<Option<u8>> {
        self.step()?;
        let Ok(byte) = self.page.read_byte();
        Ok(byte)
    }

    #[inline(always)]
    fn try_read_string(&mut self, s: &[u8], case_sensitive: bool) -> Result<bool> {
        let Ok(read) = self.page.try_read_string(s, case_sensitive);
        Ok(read)
    }

    #[inline(always)]
    fn read_until<'b>(
        &'b mut self,
        needle: &[u8],
        buffer: &'b mut [u8; 4],
    ) -> Result<Option<&'b [u8]>> {
        self.step()?;
        let Ok(read) = self.page.read_until(needle, buffer);
        Ok(read)
    }
}

/// Ends a line at the edge of a visible block.
fn separate(tag: &[u8], hidden: bool, text: &mut Vec<u8>) {
    if !hidden && INLINE.binary_search(&tag).is_err() && text.last().is_some_and(|b| *b != b'\n') {
        text.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(page: &str) -> String {
        let text = String::from_utf8(visible_text(page.as_bytes())).unwrap();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// FEAT-12: which text is visible, and what separates words.
    #[test]
    fn text_is_what_a_reader_sees() {
        assert!(INLINE.is_sorted_by(|a, b| a < b));
        for (page, seen) in [
            ("plain", "plain"),
            ("<b>wo</b>rd", "word"),
            ("<td>a<td>b", "a b"),
            ("<P>one<P>two<BR>three</P>", "one two three"),
            ("<h1>A</h1>B<li>C", "A B C"),
            ("a<x-y>b</x-y>c", "a b c"),
            ("&lt;b&gt; &eacute; &#x4e2d; &copy &zzz; AT&T", "<b> é 中 © &zzz; AT&T"),
            ("<title>T &amp; <b>U</title>V", "T & <b>U V"),
            ("a<script>if (a < b) '</p>' <!-- </script>b", "ab"),
            ("a<style>b{}</style>c<noscript>d</noscript>e", "ace"),
            ("a<template>b<template>c</template>d</template>e", "ae"),
            ("wo<!-- -- > comment -->rd <!doctype html>x <![CDATA[y]]>z", "word x z"),
            ("<textarea><b>t</textarea><p title='no' alt=no>u", "<b>t u"),
            ("<meta name=description content=hidden><link><body>shown", "shown"),
            ("wo<wbr>rd co\u{AD}op", "word co\u{AD}op"),
            ("a < b <3 </> <", "a < b <3 <"),
            ("</template></script>still here", "still here"),
            ("<p>open <b <i>tags<p", "open tags"),
            ("<script>never closed", ""),
            ("<template>never closed", ""),
        ] {
            assert_eq!(words(page), seen, "{page}");
        }
    }

    /// The title and the headings of a page, with one space between words.
    fn parts(page: &str) -> (Option<String>, Vec<String>) {
        let mut reader = TextReader::new();
        let (text, parts) = reader.read_parts(page.as_bytes(), &Watch::none()).unwrap();
        let shown = |range: &Range<usize>| {
            let words = String::from_utf8(text[range.clone()].to_vec()).unwrap();
            words.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        (parts.title.as_ref().map(shown), parts.headings.iter().map(shown).collect())
    }

    #[test]
    fn titles_and_headings_are_found() {
        for (page, title, headings) in [
            ("no <b>parts", None, &[][..]),
            ("<title>T &amp; <b>U</title>V", Some("T & <b>U"), &[]),
            ("<TITLE>one</TITLE><title>two</title><svg><title>three</title>", Some("one"), &[]),
            ("<title></title><title>second</title>", Some(""), &[]),
            ("<title>never closed <h1>", Some("never closed <h1>"), &[]),
            ("<h1>A <i>B</i></h1>c<H6>D</H6><h7>e</h7><h0>f", None, &["A B", "D"]),
            ("<h1>A<p>B<p>C</h2>d", None, &["A B C"]),
            ("<h1>A<h2>B</h1>c</h2>d", None, &["A", "B"]),
            (
                "<h3></h3><h3> </h3><h3>never closed<p>to the end",
                None,
                &["", "never closed to the end"],
            ),
            ("<template><title>no</title><h1>no</h1></template><h1>yes", None, &["yes"]),
            ("<h1>A<script>'</h1>'</script>B</h1>c", None, &["AB"]),
            ("<head><h1>A<!-- </h1> -->B</h1><header>c", None, &["AB"]),
        ] {
            let expected =
                (title.map(str::to_string), headings.iter().map(ToString::to_string).collect());
            assert_eq!(parts(page), expected, "{page}");
        }
    }

    #[test]
    fn any_bytes_are_a_page() {
        assert_eq!(visible_text(b""), b"");
        let bytes: Vec<u8> = (0..=255).cycle().take(10_000).collect();
        assert!(visible_text(&bytes).len() <= 40_000);
        assert_eq!(words(&"<template>".repeat(100_000)), "");
        assert_eq!(words(&"<a b='".repeat(100_000)), "");
        assert_eq!(words(&"&amp".repeat(100_000)).len(), 100_000);
    }
}
