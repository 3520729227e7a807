"""The rows of features.tsv: texts, URLs and pages with their features. Used by reference.py."""
import features
from xxh3 import xxh3

TEXTS = [t.encode() for t in (
    "", " \t\r\n", "... -- !?", "word", "The quick brown fox jumps over the lazy dog",
    "a rose is a rose is a rose", "MiXeD CASE, under_score; don't (stop)\n42nd 3.14", "Größe STRASSE Straße ẞ",
    "İSTANBUL ıI İ", "ΟΔΥΣΣΕΥΣ ΣΟΦΟΣ Σ ς", "٣٤٥ ४५ 𝟙𝟚 x² H₂O ½ ⅷ Ⅷ ①", "中文 日本語。漢字かな交じり文、한국어",
    "cafe\u0301s A\u030ang caf\u00e9 \u0301x", "ǅ ǆ Ǆ Å K ſ ﬁ ª Ж 𐐀 Ა Ꭰ", "\ufeffbom\u200bzero\u00a0width\x00nul",
    "𝔘𝔫𝔦 👍🏽 emoji€sign", "x" * 300 + " " + "Y" * 1100, "1,234.56 1.a a.1 a.b, a..b 1;2 a:b 1:2 a,b e.g. 'a' don’t",
    "_ __ _a_ a_ _1 -_- a_b.c_d", "カタカナ ﾊﾝｶｸ ﾊﾞ コーヒー_x ーー", "צה״ל צה\"ל א' א\"", "नमस्ते दुनिया", "สวัสดี", "السَّلام عليكم",
    "hy\u00adphen zero\u200dwidth\u200cjoin", "🇩🇪🇫🇷 flags👩\u200d👩\u200d👧x", "\u00b4tick don\u00b4t \u1fb3\u0345", "한\u11ab\u1161 각",
    "It was said that the story of the day would have been told by all who were there, not by the few.")] + [
    b"lone\x80continuation \x80 \xbf", b"cut\xc3 cut\xe2\x82 cut\xf0\x9f\x91 end\xe2\x82",
    b"over\xc0\xaflong \xe0\x80\xaf \xf0\x80\x80\xafx",
    b"sur\xed\xa0\x80ro\xed\xbf\xbfgate", b"high\xf4\x90\x80\x80er\xf5x\xfe\xffy", b"\xff",
    b"\xc3\xa9\xc3A\xcc\xc3\xa9"]

URLS = (b"", b"http://www6.infoseek.com/", b"/cellblock16/inmates/dilbert/personal/foo.htm",
        b"https://www.example.org/a/b/c/d/e/f/g/h/i/j/k/l/m?n=o#p", b"HTTP://Example.COM/Caf%C3%A9/%e6%9d%b1%e4%ba%ac", "/Straße/café/٣x".encode(),
        b"%", b"/a%2/b%zz/%4", b"/a%ff\xfe/b", b"/%2541")

PAGES = (b"", b"plain", b"<title>Tea &amp; cakes</title><p>Ap<b>ple</b> pie<td>1<td>2</p>", b"<h1>A</h1>B<li>C<br>D<hr/>E",
         b"a<script>if (a > b) '</p>'</script>b<style>c</style>d<template>e<p>f</p></template>g",
         b"wo<!-- comment -->rd<wbr>s &eacute;&#233;&#x4e2d; &lt;b&gt;", "<p>Größe<span>n</span><div>\n\nx</div>".encode())


def rows():
    yield "kind", "parameter", "text", "features"

    def row(kind, parameter, text, parts):
        return kind, parameter, text.hex(), ",".join(f"{xxh3(part):016x}" for part in parts)
    for text in TEXTS:
        yield row("tokens", 0, text, [text])
        for n in (1, 2, 3, 5, 8):
            yield row("shingles", n, text, features.shingles(text, n, True))
        yield row("plain-shingles", 4, text, features.shingles(text, 4, False))
        for n in (1, 5):
            yield row("grams", n, text, features.grams(text, n, True))
        yield row("plain-grams", 4, text, features.grams(text, 4, False))
        for distance, chain in ((1, 1), (2, 3)):
            yield row("spots", f"{distance}:{chain}", text, features.spots(text, distance, chain))
    for text in URLS:
        yield row("url", 0, text, features.url(text))
    for page in PAGES:
        yield "html", 0, page.hex(), features.visible_text(page).hex()
