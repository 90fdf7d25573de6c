//! What a JSON text says, in one go: with a call's arguments it is most of what there is to read, and full of escapes.

use std::borrow::Cow;

/// What stands between the quotes of a valid JSON text. Half a character is a replacement character.
pub(super) fn unescaped(text: &str) -> Cow<'_, str> {
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
mod tests {
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
