"""Text features: a second implementation of features.md. Used by reference.py.

Properties of characters come from Python's own tables. For characters that these do not cover (the word break property
of a few characters, anything newer than the tables) it raises ValueError instead of guessing.
"""
import re
import unicodedata
from html.parser import HTMLParser

IGNORED = ((0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
           (0x200C, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
           (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF))
SPACE = "[\t-\r \x85\u1680\u2028\u2029]"


def normal(text):  # FEAT-5
    kept = "".join(c for c in text if not any(first <= ord(c) <= last for first, last in IGNORED))
    for c in kept:
        if unicodedata.category(c) == "Cn":
            raise ValueError(f"U+{ord(c):04X} is newer than Python's tables")
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKD", kept).casefold())


# --- UAX #29 -----------------------------------------------------------------------------------------

MIDDLES = {"MidLetter": ":\xb7\u0387\u055f\u05f4\u2027", "MidNumLet": ".\u2018\u2019\u2024",
           "MidNum": ",;\u037e\u0589\u060c\u060d\u066c\u07f8\u2044", "Single": "'", "Double": '"'}
NO_LETTERS = ("CJK ", "HIRAGANA ", "IDEOGRAPHIC ", "THAI ", "LAO ", "MYANMAR ", "KHMER ")


def word_break(c):
    """The word break property, as far as names and categories determine it."""
    for name, members in MIDDLES.items():
        if c in members:
            return name
    category, name = unicodedata.category(c), unicodedata.name(c, "")
    if 0x1F1E6 <= ord(c) <= 0x1F1FF:
        return "Regional"
    if category[0] == "M" or 0x1F3FB <= ord(c) <= 0x1F3FF:
        return "Extend"
    if category == "Pc":
        return "ExtendNumLet"
    if category == "Nd" or c == "\u066b":
        return "Numeric"
    if name.startswith("KATAKANA") and c != "\u30fb" or name.startswith("KATAKANA-HIRAGANA"):
        return "Katakana"
    if category[0] == "L" or category == "Nl":
        if name.startswith(NO_LETTERS):
            return "Other"
        return "Hebrew" if name.startswith("HEBREW LETTER") else "ALetter"
    if category in ("So", "Sk", "Cf", "Lm") and ord(c) not in range(0x1F300, 0x1F700) and c not in "\u200b\ufffd\xb0\xa9\xae`^":
        raise ValueError(f"U+{ord(c):04X}: its word break property cannot be told")
    return "Other"


def boundaries(text):
    """Whether there is a boundary before each character but the first."""
    kinds = [word_break(c) for c in text]
    for i in range(1, len(text)):
        if kinds[i] == "Extend":  # WB4
            yield False
            continue
        # WB4: marks do not count. `left` and `right` are the kinds before and after, `beyond` one further.
        before = [k for k in kinds[:i] if k != "Extend"] or ["Other"]
        if kinds[0] == "Extend" and all(k == "Extend" for k in kinds[:i]):
            before = ["Other"]
        behind = [k for k in kinds[i:] if k != "Extend"]
        left, right = before[-1], behind[0]
        further_left = before[-2] if len(before) > 1 else "none"
        further_right = behind[1] if len(behind) > 1 else "none"
        letter, middle = ("ALetter", "Hebrew"), ("MidLetter", "MidNumLet", "Single")
        number = ("MidNum", "MidNumLet", "Single")
        words = letter + ("Numeric", "Katakana", "ExtendNumLet")
        flags = 0
        for k in reversed(before):
            if k != "Regional":
                break
            flags += 1
        yield not (
            left in letter and right in letter  # WB5
            or left in letter and right in middle and further_right in letter  # WB6
            or further_left in letter and left in middle and right in letter  # WB7
            or left == "Hebrew" and right == "Single"  # WB7a
            or left == "Hebrew" and right == "Double" and further_right == "Hebrew"  # WB7b
            or further_left == "Hebrew" and left == "Double" and right == "Hebrew"  # WB7c
            or left in letter + ("Numeric",) and right in letter + ("Numeric",)  # WB8, WB9, WB10
            or further_left == "Numeric" and left in number and right == "Numeric"  # WB11
            or left == "Numeric" and right in number and further_right == "Numeric"  # WB12
            or left == right == "Katakana"  # WB13
            or left in words and right == "ExtendNumLet"  # WB13a
            or left == "ExtendNumLet" and right in words  # WB13b
            or left == right == "Regional" and flags % 2 == 1)  # WB15, WB16


def is_alphanumeric(c):
    """Alphabetic, Nd, Nl or No. Python does not know Other_Alphabetic, a part of Alphabetic with only marks and symbols.
    That matters only for a segment without a letter; `segments` raises an error there."""
    return unicodedata.category(c)[0] == "L" or unicodedata.category(c) in ("Nd", "Nl", "No")


def segments(text):
    """(is a word, text) of each segment. White space is a segment, too. FEAT-6"""
    for part in re.split(f"({SPACE})", text):
        if re.fullmatch(SPACE, part):
            yield False, part
            continue
        start = 0
        for i, cut in enumerate([*boundaries(part), True], 1):
            if cut and part:
                segment, start = part[start:i], i
                word = any(map(is_alphanumeric, segment))
                if not word and any(unicodedata.category(c) in ("Mn", "Mc") and not unicodedata.combining(c) for c in segment):
                    raise ValueError("a mark without a letter: Python does not know whether it is Other_Alphabetic")
                yield word, segment


def decoded(data):  # FEAT-4
    return data.decode("utf-8", "replace")


def words(data):
    return [segment for word, segment in segments(normal(decoded(data))) if word]


def gram_text(data):  # FEAT-8
    kept = "".join(segment if word else " " for word, segment in segments(normal(decoded(data))))
    return " ".join(part for part in kept.split(" ") if part)


# --- features ----------------------------------------------------------------------------------------

def runs(parts, length, looped):  # FEAT-7, FEAT-9
    n = len(parts)
    if looped:
        return [[parts[(i + j) % n] for j in range(length)] for i in range(n)]
    length = min(length, n)
    return [parts[i:i + length] for i in range(n - length + 1)] if n else []


def shingles(data, w, looped):
    return [" ".join(run).encode() for run in runs(words(data), w, looped)]


def grams(data, n, looped):
    return ["".join(run).encode() for run in runs(list(gram_text(data)), n, looped)]


STOP_WORDS = set("""a about after all also an and are as at be been but by can do for from had has have he her his i if in into
is it its more not of on or said she that the their there they this to up was we were what when which who will with would you
your""".split())


def spots(data, distance, chain):  # FEAT-10
    found, all_words = [], words(data)
    for i, stop in enumerate(all_words):
        if stop in STOP_WORDS:
            others = [word for word in all_words[i + 1:] if word not in STOP_WORDS]
            picked = others[distance - 1:distance * chain:distance]
            if len(picked) == chain:
                found.append(" ".join([stop, *picked]).encode())
    return found


URL_STOP_WORDS = set("""asp aspx bin cgi com default ftp home htm html http https index jsp main net org php shtml txt www
xhtml""".split())


def url(data):  # FEAT-11
    data = re.sub(rb"%([0-9A-Fa-f]{2})", lambda match: bytes([int(match[1], 16)]), data)
    text = "".join(c if "a" <= c <= "z" or c > "\x7f" and is_alphanumeric(c) else " " for c in normal(decoded(data)))
    parts = [part for part in text.split() if part not in URL_STOP_WORDS]
    if len(parts) == 1:
        return [f"{parts[0]} 0".encode()]
    return [f"{a} {b} {i}".encode() for i, (a, b) in enumerate(zip(parts, parts[1:]))]


INLINE = set("""a abbr acronym b bdi bdo big blink cite code data del dfn em font i ins kbd mark nobr output q rb ruby s samp slot small
span strike strong sub sup time tt u var wbr""".split())
HIDDEN = ("iframe", "noembed", "noframe", "noscript", "script", "style", "template", "noframes")


class VisibleText(HTMLParser):  # FEAT-12, for well-formed pages only
    def __init__(self, page):
        super().__init__()
        self.text, self.hidden = "", 0
        self.feed(decoded(page))
        self.close()

    def separate(self, tag):
        if not self.hidden and tag not in INLINE and self.text and self.text[-1] != "\n":
            self.text += "\n"

    def handle_starttag(self, tag, attributes):
        self.hidden += tag in HIDDEN
        self.separate(tag)

    def handle_endtag(self, tag):
        was_hidden = self.hidden
        self.hidden -= tag in HIDDEN
        if not was_hidden:
            self.separate(tag)

    def handle_data(self, text):
        if not self.hidden:
            self.text += text


def visible_text(page):
    return VisibleText(page).text.encode()
