//! Escapes of JSON strings: read in one pass, as the arguments of calls are full of them, and repaired.

use std::borrow::Cow;

/// Returns the text of a valid JSON string without its quotes. A surrogate without its other half becomes a replacement
/// character.
pub(crate) fn unescaped(string: &str) -> Cow<'_, str> {
    let Some(first) = string.find('\\') else { return Cow::Borrowed(string) };
    let (before, mut rest) = string.split_at(first);
    let mut text = String::with_capacity(string.len());
    text.push_str(before);
    while let Some(escape) = rest.strip_prefix('\\') {
        let after = escape.get(1..).unwrap_or_default();
        rest = match escape.as_bytes().first() {
            Some(b'u') => push_unit(after, &mut text),
            Some(letter) => {
                text.push(escaped_char(*letter));
                after
            }
            None => "",
        };
        let next = rest.bytes().position(|byte| byte == b'\\').unwrap_or(rest.len());
        let (plain, after) = rest.split_at(next);
        text.push_str(plain);
        rest = after;
    }
    Cow::Owned(text)
}

/// Returns the character of an escape of one letter.
fn escaped_char(letter: u8) -> char {
    match letter {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        same => char::from(same),
    }
}

/// Adds the character of a `\u` escape whose digits begin the text; returns the text after it.
fn push_unit<'a>(digits: &'a str, text: &mut String) -> &'a str {
    let rest = digits.get(4..).unwrap_or_default();
    let Some(unit) = utf16_unit(digits) else { return rest };
    let other = rest.strip_prefix("\\u").and_then(utf16_unit);
    let mut chars = char::decode_utf16([unit].into_iter().chain(other));
    let char = chars.next().and_then(Result::ok).unwrap_or(char::REPLACEMENT_CHARACTER);
    text.push(char);
    // A pair of surrogates is one character.
    if char.len_utf16() == 2 { rest.get(6..).unwrap_or_default() } else { rest }
}

fn utf16_unit(digits: &str) -> Option<u16> {
    u16::from_str_radix(digits.get(..4)?, 16).ok()
}

/// Returns JSON in which each escaped surrogate without its other half is a replacement character; `None` if there is
/// no such escape. Some servers cut a string between two UTF-16 units, which no JSON parser accepts.
pub(crate) fn surrogates_replaced(json: &str) -> Option<String> {
    let unit = |escape: &str| escape.strip_prefix("\\u").and_then(utf16_unit);
    let mut repaired = String::new();
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        repaired.push_str(before);
        let read = match unit(escape) {
            Some(0xD800..=0xDBFF) if matches!(escape.get(6..).and_then(unit), Some(0xDC00..=0xDFFF)) => 12,
            Some(0xD800..=0xDFFF) => {
                repaired.push_str("\\ufffd");
                rest = escape.get(6..).unwrap_or_default();
                continue;
            }
            // The backslash and the character after it.
            _ => escape.char_indices().nth(2).map_or(escape.len(), |(at, _)| at),
        };
        let (same, after) = escape.split_at(read);
        repaired.push_str(same);
        rest = after;
    }
    repaired.push_str(rest);
    (repaired != json).then_some(repaired)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_every_escape() {
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

    #[test]
    fn replaces_single_surrogates_only() {
        for (json, expected) in [
            (r#""\ud83d""#, Some(r#""\ufffd""#)),
            (r#""\uDE00\ud83d\u00e4""#, Some(r#""\ufffd\ufffd\u00e4""#)),
            (r#""\ud83dä\"\ud83d\ude00""#, Some(r#""\ufffdä\"\ud83d\ude00""#)),
            (r#""\ud83d\ude00 \\ud83d \n""#, None),
            (r#""\"#, None),
            (r#""\ud8"#, None),
        ] {
            assert_eq!(surrogates_replaced(json).as_deref(), expected, "{json}");
        }
    }

    proptest! {
        #[test]
        fn reads_what_a_json_parser_reads(text in any::<String>()) {
            let json = serde_json::to_string(&text).expect("JSON");
            prop_assert_eq!(unescaped(&json[1..json.len() - 1]), text);
        }
    }
}
