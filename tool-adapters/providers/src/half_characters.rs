//! Characters that a server has cut in two: half of a surrogate pair, or a part of the bytes of
//! UTF-8.
//!
//! A JSON text cannot hold a half, so each half becomes a mark: a character of a private-use plane,
//! which the reader passes on like any other. Pieces are joined with their marks, and two marks
//! that belong together become the character that the model wrote. A mark that is left over is an
//! error, never a replacement character.

use memchr::memchr;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashMap;

/// The mark of the first unit of the surrogates, U+D800. There are 2,048 of them.
const FIRST_SURROGATE: u32 = 0x10_F800;
/// The mark of the byte 0. Only bytes from 0x80 on are marked.
const FIRST_BYTE: u32 = 0x10_F700;
/// The first byte of every mark.
const MARK_BEGINS: u8 = 0xF4;

/// A half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Half {
    HighSurrogate(u16),
    LowSurrogate(u16),
    Byte(u8),
}

/// The error of a half whose other half did not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnpairedHalf;

/// A text in pieces whose end may be half a character.
#[derive(Debug, Default)]
pub struct PieceJoiner {
    /// The marks at the end of the last piece.
    pending: String,
}

impl PieceJoiner {
    /// Returns true while half of a character waits for the other.
    pub fn has_half(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Returns the characters that are whole after this piece.
    pub fn join<'a>(&mut self, piece: &'a str) -> Result<Cow<'a, str>, UnpairedHalf> {
        if self.pending.is_empty() && !has_mark(piece) {
            return Ok(Cow::Borrowed(piece));
        }
        if piece.is_empty() {
            return Ok(Cow::Borrowed(""));
        }
        let mut text = std::mem::take(&mut self.pending);
        text.push_str(piece);
        let mut whole = resolve(&text)?;
        let end = whole.trim_end_matches(is_mark).len();
        self.pending = whole.split_off(end);
        Ok(Cow::Owned(whole))
    }
}

/// The halves of a message, and the texts that they are in.
#[derive(Debug, Default)]
pub struct Halves {
    /// Finds escaped halves.
    pub search: SurrogateSearch,
    /// True once the search has found something. Until then no event can have half a character in
    /// an escape.
    pub may_be_escaped: bool,
    /// True once an event of the message had a half. Until then nothing is looked at for marks.
    pub were_seen: bool,
    /// Joins the pieces of the text.
    pub text: PieceJoiner,
    /// Joins the pieces of the reasoning.
    pub reasoning: PieceJoiner,
    /// The texts of items, one after another.
    pub items: PieceJoiner,
    /// The arguments of calls, by our id.
    pub arguments: HashMap<String, PieceJoiner>,
}

impl Halves {
    /// Takes in the next bytes of the message.
    pub fn note(&mut self, bytes: &[u8]) {
        if !self.may_be_escaped {
            self.may_be_escaped = self.search.finds_in(bytes);
        }
    }

    /// Returns true if a text ends with half a character.
    pub fn is_open(&self) -> bool {
        self.text.has_half() || self.reasoning.has_half() || self.items.has_half()
    }
}

/// Joins the halves of a whole text.
pub fn join_whole(text: &str) -> Result<String, UnpairedHalf> {
    resolve(text).and_then(|whole| {
        if has_mark(&whole) {
            Err(UnpairedHalf)
        } else {
            Ok(whole)
        }
    })
}

/// Returns true if a text has a mark.
pub fn has_mark(text: &str) -> bool {
    memchr(MARK_BEGINS, text.as_bytes()).is_some() && text.contains(is_mark)
}

/// Returns a JSON text in which each escaped half of a surrogate pair is a mark; `None` if there is
/// no half. Fails if the text has the characters of marks itself.
pub fn mark_surrogates(json: &str) -> Result<Option<String>, UnpairedHalf> {
    if !SurrogateSearch::default().finds_in(json.as_bytes()) {
        return Ok(None);
    }

    let mut marked = String::new();
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        marked.push_str(before);
        let unit = surrogate(escape);
        let pairs = matches!(unit, Some(0xD800..=0xDBFF))
            && matches!(escape.get(6..).and_then(surrogate), Some(0xDC00..=0xDFFF));
        let length = match unit {
            Some(unit) if !pairs => {
                marked.extend(mark(FIRST_SURROGATE, u32::from(unit) - 0xD800));
                rest = escape.get(6..).unwrap_or_default();
                continue;
            }
            Some(_) => 12,
            // The backslash and the character after it.
            None => escape
                .char_indices()
                .nth(2)
                .map_or(escape.len(), |(at, _)| at),
        };
        let (same, after) = escape.split_at(length);
        marked.push_str(same);
        rest = after;
    }
    marked.push_str(rest);
    match marked == json {
        true => Ok(None),
        false if has_mark(json) => Err(UnpairedHalf),
        false => Ok(Some(marked)),
    }
}

/// Searches a message for escaped surrogates, wherever it is cut.
#[derive(Debug, Default)]
pub struct SurrogateSearch {
    /// The last bytes, if they begin an escape.
    begun: Escape,
}

/// The part of an escape that has come.
#[derive(Clone, Copy, Debug, Default)]
enum Escape {
    #[default]
    Nothing,
    Backslash,
    Unicode,
}

impl SurrogateSearch {
    /// Returns true if an escape that ends in the next bytes may be that of a surrogate.
    pub fn finds_in(&mut self, bytes: &[u8]) -> bool {
        let rest = match (std::mem::take(&mut self.begun), bytes) {
            (begun, []) => {
                self.begun = begun;
                return false;
            }
            (Escape::Nothing, bytes) => bytes,
            (Escape::Unicode, [digit, rest @ ..]) => {
                if is_surrogate_digit(*digit) {
                    return true;
                }
                rest
            }
            (Escape::Backslash, [b'u']) => {
                self.begun = Escape::Unicode;
                return false;
            }
            (Escape::Backslash, [b'u', digit, ..]) if is_surrogate_digit(*digit) => return true,
            (Escape::Backslash, [_, rest @ ..]) => rest,
        };
        self.search(rest)
    }

    fn search(&mut self, bytes: &[u8]) -> bool {
        let mut rest = bytes;
        while let Some(at) = memchr(b'\\', rest) {
            match rest.get(at + 1..).unwrap_or_default() {
                [] => self.begun = Escape::Backslash,
                [b'u'] => self.begun = Escape::Unicode,
                [b'u', digit, ..] if is_surrogate_digit(*digit) => return true,
                _ => {}
            }
            rest = rest.get(at + 2..).unwrap_or_default();
        }
        false
    }
}

/// Returns true for the first digit of a surrogate's escape.
fn is_surrogate_digit(digit: u8) -> bool {
    matches!(digit, b'd' | b'D')
}

/// Returns a text in which each byte that is not UTF-8 is a mark. Returns `None` if the text has
/// the characters of marks itself.
pub fn mark_bytes(bytes: &[u8]) -> Option<String> {
    let mut marked = String::new();
    for chunk in bytes.utf8_chunks() {
        if has_mark(chunk.valid()) {
            return None;
        }
        marked.push_str(chunk.valid());
        marked.extend(
            chunk
                .invalid()
                .iter()
                .filter_map(|byte| mark(FIRST_BYTE, u32::from(*byte))),
        );
    }
    Some(marked)
}

/// Returns true if each mark is at the beginning or the end of a text in this JSON: a server cuts a
/// character between two texts. Any other byte that is not UTF-8 was damaged on its way.
pub fn has_cut_texts_only(json: &str) -> bool {
    match serde_json::from_str::<Value>(json) {
        Ok(value) => is_cut_text_or_whole(&value),
        Err(_) => false,
    }
}

fn is_cut_text_or_whole(value: &Value) -> bool {
    match value {
        Value::String(text) => !has_mark(text.trim_matches(is_mark)),
        Value::Array(items) => items.iter().all(is_cut_text_or_whole),
        Value::Object(members) => members
            .iter()
            .all(|(name, value)| !has_mark(name) && is_cut_text_or_whole(value)),
        _ => true,
    }
}

/// Joins the halves of a text. Halves at its end, whose others may still come, stay marks.
fn resolve(text: &str) -> Result<String, UnpairedHalf> {
    let mut whole = String::with_capacity(text.len());
    let mut open = OpenHalves::default();
    for letter in text.chars() {
        match half_of(letter) {
            Some(half) => whole.extend(open.add(half)?),
            None if open.is_empty() => whole.push(letter),
            None => return Err(UnpairedHalf),
        }
    }
    whole.extend(open.marks());
    Ok(whole)
}

/// The halves of the character that is being joined.
#[derive(Default)]
struct OpenHalves {
    surrogate: Option<u16>,
    bytes: Vec<u8>,
}

impl OpenHalves {
    fn is_empty(&self) -> bool {
        self.surrogate.is_none() && self.bytes.is_empty()
    }

    /// Returns the character that the half completes.
    fn add(&mut self, half: Half) -> Result<Option<char>, UnpairedHalf> {
        match (half, self.surrogate) {
            (Half::HighSurrogate(unit), None) if self.bytes.is_empty() => {
                self.surrogate = Some(unit);
                Ok(None)
            }
            (Half::LowSurrogate(low), Some(high)) => {
                self.surrogate = None;
                let letter = char::decode_utf16([high, low]).next();
                letter.and_then(Result::ok).map(Some).ok_or(UnpairedHalf)
            }
            (Half::Byte(byte), None) => {
                self.bytes.push(byte);
                self.whole_bytes()
            }
            _ => Err(UnpairedHalf),
        }
    }

    fn whole_bytes(&mut self) -> Result<Option<char>, UnpairedHalf> {
        match std::str::from_utf8(&self.bytes) {
            Ok(text) => {
                let letter = text.chars().next();
                self.bytes.clear();
                Ok(letter)
            }
            // More bytes may complete it.
            Err(error) if error.error_len().is_none() => Ok(None),
            Err(_) => Err(UnpairedHalf),
        }
    }

    fn marks(&self) -> impl Iterator<Item = char> {
        let surrogate = self
            .surrogate
            .and_then(|unit| mark(FIRST_SURROGATE, u32::from(unit) - 0xD800));
        let bytes = self
            .bytes
            .iter()
            .filter_map(|byte| mark(FIRST_BYTE, u32::from(*byte)));
        surrogate.into_iter().chain(bytes)
    }
}

fn mark(first: u32, number: u32) -> Option<char> {
    char::from_u32(first + number)
}

fn is_mark(letter: char) -> bool {
    half_of(letter).is_some()
}

fn half_of(letter: char) -> Option<Half> {
    let code = u32::from(letter);
    if let Some(number) = code.checked_sub(FIRST_SURROGATE) {
        let unit = u16::try_from(0xD800 + number).ok()?;
        return Some(if unit < 0xDC00 {
            Half::HighSurrogate(unit)
        } else {
            Half::LowSurrogate(unit)
        });
    }
    let byte = u8::try_from(code.checked_sub(FIRST_BYTE)?).ok()?;
    (byte >= 0x80).then_some(Half::Byte(byte))
}

/// Returns the unit of an escape such as `\ud83d`, if it is half of a pair.
fn surrogate(escape: &str) -> Option<u16> {
    let digits = escape.strip_prefix("\\u")?.get(..4)?;
    let unit = u16::from_str_radix(digits, 16).ok()?;
    (0xD800..=0xDFFF).contains(&unit).then_some(unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reads JSON strings, one a piece, and joins them.
    fn joined(pieces: &[&str]) -> Result<String, UnpairedHalf> {
        let mut joiner = PieceJoiner::default();
        let mut text = String::new();
        for piece in pieces {
            let marked = mark_surrogates(piece)?.unwrap_or_else(|| (*piece).to_owned());
            let piece = serde_json::from_str::<String>(&marked).expect("a JSON string");
            text.push_str(&joiner.join(&piece)?);
        }
        if joiner.has_half() {
            Err(UnpairedHalf)
        } else {
            Ok(text)
        }
    }

    // M2
    #[test]
    fn joins_a_pair_that_was_cut() {
        assert_eq!(
            joined(&[r#""a \ud83d""#, r#""\ude00 b""#]).as_deref(),
            Ok("a 😀 b")
        );
        assert_eq!(
            joined(&[r#""\ud83d""#, r#""""#, r#""\ude00\ud83d""#, r#""\uDE00""#]).as_deref(),
            Ok("😀😀")
        );
    }

    // M2
    #[test]
    fn refuses_a_half_without_its_other_half() {
        for pieces in [
            &[r#""\ud83d""#][..],
            &[r#""\ude00""#],
            &[r#""\ud83d x""#],
            &[r#""\ud83d""#, r#""x""#],
            &[r#""\ud83d""#, r#""\ud83d""#, r#""\ude00""#],
            &[r#""x\ude00\ud83d""#],
        ] {
            assert_eq!(joined(pieces), Err(UnpairedHalf), "{pieces:?}");
        }
    }

    #[test]
    fn leaves_other_escapes_as_they_are() {
        for json in [
            r#""\ud83d\ude00 \\ud83d \n \u00e4""#,
            r#""\"#,
            r#""\ud8"#,
            "plain",
        ] {
            assert_eq!(mark_surrogates(json), Ok(None), "{json}");
        }
    }

    #[test]
    fn a_text_with_the_characters_of_marks_is_not_marked() {
        assert_eq!(mark_surrogates("\"\u{10F800}\\ud83d\""), Err(UnpairedHalf));
        assert_eq!(mark_bytes("\"\u{10F7C3}\"".as_bytes()), None);
        assert!(!has_mark("\u{10F6FF}\u{10F77F}"), "no half has these");
    }

    // M1
    #[test]
    fn a_damaged_byte_within_a_text_is_no_half() {
        let marked = |bytes: &[u8]| mark_bytes(bytes).expect("no marks of its own");
        assert!(has_cut_texts_only(&marked(b"{\"content\":\"a\xF0\x9F\"}")));
        assert!(has_cut_texts_only(&marked(
            b"{\"content\":[\"\x98\x80 b\"]}"
        )));
        for damaged in [
            &b"{\"content\":\"a\xE1b\"}"[..],
            b"{\"conte\xEEt\":\"a\"}",
            b"{\"content\"\xBA\"a\"}",
        ] {
            assert!(
                !has_cut_texts_only(&marked(damaged)),
                "{}",
                String::from_utf8_lossy(damaged)
            );
        }
    }

    proptest! {
        // M2
        #[test]
        fn joins_a_text_wherever_its_bytes_are_cut(text in "\\PC{0,12}", cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4)) {
            prop_assume!(!has_mark(&text));
            let mut places = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect::<Vec<_>>();
            places.extend([0, text.len()]);
            places.sort_unstable();
            let mut joiner = PieceJoiner::default();
            let mut whole = String::new();
            for place in places.windows(2) {
                let piece = mark_bytes(&text.as_bytes()[place[0]..place[1]]).expect("no marks of its own");
                whole.push_str(&joiner.join(&piece).expect("its other half comes"));
            }
            prop_assert!(!joiner.has_half());
            prop_assert_eq!(whole, text);
        }

        // M2
        #[test]
        fn finds_an_escaped_surrogate_wherever_it_is_cut(json in r"(x|n|u|d8|\\\\){0,8}", cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4)) {
            let mut places = cuts.iter().map(|cut| cut.index(json.len() + 1)).collect::<Vec<_>>();
            places.extend([0, json.len()]);
            places.sort_unstable();
            let mut search = SurrogateSearch::default();
            let mut pieces = places.windows(2).map(|place| &json.as_bytes()[place[0]..place[1]]);
            let found = pieces.any(|piece| search.finds_in(piece));
            prop_assert_eq!(found, json.replace(r"\\", "").contains(r"\ud"));
        }

        // M2
        #[test]
        fn joins_a_text_wherever_its_units_are_cut(text in "\\PC{0,12}", at in any::<prop::sample::Index>()) {
            prop_assume!(!has_mark(&text));
            let units = text.encode_utf16().collect::<Vec<_>>();
            let (before, after) = units.split_at(at.index(units.len() + 1));
            let escaped = |units: &[u16]| {
                let escapes = units.iter().fold(String::new(), |escapes, unit| format!("{escapes}\\u{unit:04x}"));
                format!("\"{escapes}\"")
            };
            prop_assert_eq!(joined(&[&escaped(before), &escaped(after)]), Ok(text));
        }
    }
}
