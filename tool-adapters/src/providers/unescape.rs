//! What a JSON text says, in one go: with a call's arguments it is most of what there is to read, and full of escapes.

use std::borrow::Cow;

/// What stands between the quotes of a valid JSON text. Half a character is a replacement character.
pub(crate) fn unescaped(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find('\\') else { return Cow::Borrowed(text) };
    let (before, mut rest) = text.split_at(first);
    let mut said = String::with_capacity(text.len());
    said.push_str(before);
    while let Some(escape) = rest.strip_prefix('\\') {
        let after = escape.get(1..).unwrap_or_default();
        rest = match escape.as_bytes().first() {
            Some(b'u') => unit(after, &mut said),
            Some(escaped) => {
                said.push(plain(*escaped));
                after
            }
            None => "",
        };
        let next = rest.bytes().position(|byte| byte == b'\\').unwrap_or(rest.len());
        let (before, after) = rest.split_at(next);
        said.push_str(before);
        rest = after;
    }
    Cow::Owned(said)
}

/// The character of an escape of one letter.
fn plain(escaped: u8) -> char {
    match escaped {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        same => char::from(same),
    }
}

/// Reads the digits of an escaped UTF-16 unit, and its other half where it is one; gives what comes after.
fn unit<'a>(digits: &'a str, said: &mut String) -> &'a str {
    let four = |digits: &str| digits.get(..4).and_then(|digits| u16::from_str_radix(digits, 16).ok());
    let rest = digits.get(4..).unwrap_or_default();
    let Some(unit) = four(digits) else { return rest };
    let other = rest.strip_prefix("\\u").and_then(four);
    let mut chars = char::decode_utf16([unit].into_iter().chain(other));
    let char = chars.next().and_then(Result::ok).unwrap_or(char::REPLACEMENT_CHARACTER);
    said.push(char);
    // Both halves are read where they are one character.
    if char.len_utf16() == 2 { rest.get(6..).unwrap_or_default() } else { rest }
}

#[cfg(test)]
mod unescape_tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_escape_is_read() {
        for (json, expected) in [
            (r#"{\"a\":\"b\\\/\"}"#, "{\"a\":\"b\\/\"}"),
            (r"\b\f\n\r\t", "\u{8}\u{c}\n\r\t"),
            (r"\u00e4\u20AC\ud83d\ude00ä", "ä€😀ä"),
            (r"\ud83d", "\u{FFFD}"),
            (r"\ud83dx\ude00", "\u{FFFD}x\u{FFFD}"),
            (r"\ud83d\ud83d\ude00", "\u{FFFD}😀"),
            (r"\ud83d\u0041", "\u{FFFD}A"),
            ("plain ä", "plain ä"),
            ("", ""),
        ] {
            assert_eq!(unescaped(json), expected, "{json}");
        }
    }

    proptest! {
        #[test]
        fn it_is_what_a_json_reader_says(text in any::<String>()) {
            let json = serde_json::to_string(&text).expect("JSON");
            prop_assert_eq!(unescaped(&json[1..json.len() - 1]), text);
        }
    }
}

// ---- Halves of characters: some servers cut a text in UTF-16, in the middle of one, and no JSON reader takes that.

/// JSON in which each escaped half of a character without its other half is a replacement character instead; `None`
/// where there is none.
pub(crate) fn replaced(json: &str) -> Option<String> {
    let mut whole = String::new();
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        whole.push_str(before);
        let read = match surrogate_unit(escape) {
            Some(0xD800..=0xDBFF) if matches!(escape.get(6..).and_then(surrogate_unit), Some(0xDC00..=0xDFFF)) => 12,
            Some(0xD800..=0xDFFF) => {
                whole.push_str("\\ufffd");
                rest = escape.get(6..).unwrap_or_default();
                continue;
            }
            // The backslash, and the character that it escapes.
            _ => escape.char_indices().nth(2).map_or(escape.len(), |(at, _)| at),
        };
        let (same, after) = escape.split_at(read);
        whole.push_str(same);
        rest = after;
    }
    whole.push_str(rest);
    (whole != json).then_some(whole)
}

/// The UTF-16 unit that an escape at the beginning stands for.
fn surrogate_unit(escape: &str) -> Option<u16> {
    u16::from_str_radix(escape.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

#[cfg(test)]
mod surrogates_tests {
    use super::*;

    #[test]
    fn only_halves_are_replaced() {
        for (json, expected) in [
            (r#""\ud83d""#, Some(r#""\ufffd""#)),
            (r#""\uDE00\ud83d\u00e4""#, Some(r#""\ufffd\ufffd\u00e4""#)),
            (r#""\ud83dä\"\ud83d\ude00""#, Some(r#""\ufffdä\"\ud83d\ude00""#)),
            (r#""\ud83d\ude00 \\ud83d \n""#, None),
            (r#""\"#, None),
            (r#""\ud8"#, None),
        ] {
            assert_eq!(replaced(json).as_deref(), expected, "{json}");
        }
    }
}
