//! Tests of the fast paths against the definition (FEAT-4 to FEAT-8): normalise, split at white space, split by UAX
//! #29.

use proptest::prelude::*;

use super::definition;
use super::words::Words;

fn check(reader: &mut Words, touching: &mut Words, text: &[u8]) {
    let expected = definition::words(text);
    let found = reader.read(text);
    let words: Vec<&[u8]> = (0..found.len()).map(|i| found.word(i)).collect();
    let shown = String::from_utf8_lossy(text);
    assert_eq!(words, expected.iter().map(String::as_bytes).collect::<Vec<_>>(), "{shown:?}");
    let flat: String = expected.iter().flat_map(|word| [word, " "]).collect();
    assert_eq!(*found.bytes, *flat.as_bytes(), "{shown:?}");
    let found = String::from_utf8(touching.read(text).bytes.to_vec()).unwrap();
    assert_eq!(found.trim_end_matches(' '), definition::gram_text(text), "{shown:?}");
    assert!(found.len() <= found.trim_end_matches(' ').len() + 1, "{shown:?}");
}

/// Checks all texts of up to `length` of these characters.
fn check_all(alphabet: &[&[u8]], length: u32) {
    let (mut reader, mut touching) = (Words::new(), Words::touching());
    let mut text = Vec::new();
    for length in 0..=length {
        for number in 0..alphabet.len().pow(length) {
            text.clear();
            let mut left = number;
            for _ in 0..length {
                text.extend_from_slice(alphabet[left % alphabet.len()]);
                left /= alphabet.len();
            }
            check(&mut reader, &mut touching, &text);
            // The same text between others, so that it is read with the white space around it.
            if number % 5 == 0 {
                let among = [b"\xC3\xA9 ", &text[..], b" ", &b"\xC3\xA9".repeat(32)].concat();
                check(&mut reader, &mut touching, &among);
            }
        }
    }
}

/// One character of each ASCII class that FEAT-6 distinguishes, both cases, and NUL.
#[test]
fn short_ascii_texts() {
    let alphabet = [&b"a"[..], b"Z", b"1", b"_", b".", b":", b",", b"'", b"\"", b"-", b" "];
    check_all(&alphabet, 5);
    check_all(&[b"b", b"9", b";", b"\r", b"\n", b"\0", b"\t", b"\x7F"], 5);
}

/// One character of each kind, whole and in parts, with characters that break and join words.
#[test]
fn short_texts_of_many_scripts() {
    let alphabet = [
        "a", "1", "É", "ß", "\u{301}", "中", "カ", "ｱ", "ﾞ", "א", "ा", "्", "ก", "한", "\u{11AB}",
        ".", "'", "\"", "_", "’", "。", "\u{3000}", "\u{AD}", "\u{200D}", "\u{200B}", "🇦", "😀",
        "´", "½", "\u{FFFD}", " ", "-",
    ];
    check_all(&alphabet.map(str::as_bytes), 3);
    let fewer = ["a", "É", "\u{301}", "中", "カ", "א", "ा", ".", "_", "。", "\u{AD}", "´"];
    check_all(&fewer.map(str::as_bytes), 4);
}

#[test]
fn short_texts_that_are_not_utf8() {
    check_all(&[b"a", b"\xC3", b"\xA9", b"\xE4\xB8", b"\xAD", b"\xF0\x9F", b"\xFF", b" ", b"."], 5);
}

/// Every character alone, between letters, and between digits.
#[test]
fn every_character() {
    let (mut reader, mut touching) = (Words::new(), Words::touching());
    for c in '\0'..=char::MAX {
        check(&mut reader, &mut touching, format!("é{c}b 1{c}2{c} {c}中{c}").as_bytes());
    }
}

#[test]
fn telling_cases() {
    for (text, words) in [
        ("Größe GROẞE STRASSE", "grösse|grosse|strasse"),
        ("DİYARBAKIR", "di\u{307}yarbakir"),
        ("ΟΔΥΣΣΕΥΣ, σοφός", "οδυσσευσ|σοφόσ"),
        ("cafe\u{301} caf\u{e9}", "café|café"),
        ("ﬁve ｗｏｒｄ Ⅳ", "five|word|iv"),
        ("don't don’t 'quoted' l'été", "don't|don’t|quoted|l'été"),
        ("1,234.56 3.14. v1.2 a.b 10:30", "1,234.56|3.14|v1.2|a.b|10|30"),
        ("snake_case __x__ ___", "snake_case|__x__"),
        ("and/or e-mail", "and|or|e|mail"),
        ("السلام عليكم ١٢٣", "السلام|عليكم|١٢٣"),
        ("नमस्ते दुनिया", "नमस्ते|दुनिया"),
        ("中文字", "中|文|字"),
        ("カタカナとひ", "カタカナ|と|ひ"),
        ("สวัส", "ส|วั|ส"),
        ("👍🏽 ok 👩‍👩‍👧", "ok"),
        ("\u{FEFF}bom\r\nnext\0nul", "bom|next|nul"),
        ("zero\u{200B}width hy\u{AD}phen", "zero|width|hyphen"),
    ] {
        assert_eq!(definition::words(text.as_bytes()).join("|"), words, "{text}");
        check(&mut Words::new(), &mut Words::touching(), text.as_bytes());
    }
    assert_eq!(definition::words(b"caf\xE9 on\xFFe"), ["caf", "on", "e"]);
    let grams =
        String::from_utf8(Words::touching().read("東京 Tower。b".as_bytes()).bytes.to_vec());
    assert_eq!(grams.as_deref(), Ok("東京 tower b "));
}

/// Lengths near the sizes of blocks and windows.
#[test]
fn long_texts() {
    let (mut reader, mut touching) = (Words::new(), Words::touching());
    for filler in ["x", "x ", "Don't ", "a.", "..", "é", "中", "1,", "_ ", "é ", "\u{301}"] {
        for length in (0..140).chain(4080..4110).chain([9000]) {
            let mut text = filler.repeat(length / filler.len() + 1);
            text.push_str("end.É 5.");
            check(&mut reader, &mut touching, text.as_bytes());
        }
    }
}

/// A character outside ASCII removes its whole piece from the words read so far, however many blocks ago the piece
/// began.
#[test]
fn pieces_that_stop_being_ascii() {
    let (mut reader, mut touching) = (Words::new(), Words::touching());
    let (front, piece) = ("No _ on. ".repeat(20), "it's-a_1.5".repeat(20));
    for start in (0..140).chain([180]) {
        for length in (0..10).chain(54..76).chain(118..140).chain([200]) {
            let text = format!("{}\n{}é'b c", &front[..start], &piece[..length]);
            check(&mut reader, &mut touching, text.as_bytes());
        }
    }
}

proptest! {
    #[test]
    fn any_text(text in "\\PC*") {
        check(&mut Words::new(), &mut Words::touching(), text.as_bytes());
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check(&mut Words::new(), &mut Words::touching(), &bytes);
    }

    #[test]
    fn any_ascii(text in "[ -~\n]{0,300}") {
        check(&mut Words::new(), &mut Words::touching(), text.as_bytes());
    }

    #[test]
    fn any_sentences(text in "([A-Za-z]{1,12}[ ,.'’]{1,2}|[а-яА-Яё]{1,9}[ .]|[一-龠ァ-ヴ]{1,5}[。 ]?|[äöüßé]){0,60}") {
        check(&mut Words::new(), &mut Words::touching(), text.as_bytes());
    }
}
