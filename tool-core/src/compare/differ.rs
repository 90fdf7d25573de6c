//! A cheap look at two texts, which most often tells that they are not equal.
//!
//! Up to the first byte in which they differ both texts have the same tokens, and so stand at the same place of the same
//! value. If that is inside a text or a number that is written in the plain way in both, the values differ there.

/// Whether two texts of accepted arguments are different for certain. Where this is false they may be either.
pub(super) fn certainly_differ(one: &[u8], other: &[u8]) -> bool {
    let at = same_prefix(one, other);
    let (Some(prefix), Some(a), Some(b)) = (one.get(..at), one.get(at), other.get(at)) else { return false };
    // With escapes one text has many spellings, and quotes are not to be counted.
    let (quotes, escapes) = prefix.iter().fold((0_u8, 0_u8), |(quotes, escapes), byte| {
        (quotes ^ u8::from(*byte == b'"'), escapes | u8::from(*byte == b'\\'))
    });
    if escapes != 0 || *a == b'\\' || *b == b'\\' {
        return false;
    }
    if quotes == 1 { is_value(prefix) } else { numbers_differ(one, other, at) }
}

/// How many bytes both begin with, found eight at a time.
fn same_prefix(one: &[u8], other: &[u8]) -> usize {
    let (ones, _) = one.as_chunks::<8>();
    let (others, _) = other.as_chunks::<8>();
    let words = ones.iter().zip(others).take_while(|(a, b)| a == b).count() * 8;
    let rest = one.iter().zip(other).skip(words).take_while(|(a, b)| a == b).count();
    words + rest
}

/// Whether the text that is open at the end of `prefix` is a value: after a comma it might be a key.
fn is_value(prefix: &[u8]) -> bool {
    let open = prefix.iter().rposition(|byte| *byte == b'"').unwrap_or(0);
    let before = prefix.get(..open).unwrap_or_default().trim_ascii_end();
    matches!(before.last(), Some(b':' | b'['))
}

/// Whether both have a number here, as plain digits, and not the same.
fn numbers_differ(one: &[u8], other: &[u8], at: usize) -> bool {
    let begin =
        one.get(..at).unwrap_or_default().iter().rposition(|byte| !is_of_number(*byte)).map_or(0, |last| last + 1);
    match (plain_number(one, begin), plain_number(other, begin)) {
        (Some(a), Some(b)) => a != b,
        _ => false,
    }
}

fn is_of_number(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E')
}

/// The digits of a whole number, with its sign. `-0` is not one: it is written in two ways.
fn plain_number(text: &[u8], begin: usize) -> Option<&[u8]> {
    let rest = text.get(begin..)?;
    let end = rest.iter().position(|byte| !is_of_number(*byte))?;
    let number = rest.get(..end)?;
    let digits = number.strip_prefix(b"-").unwrap_or(number);
    let plain = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) && number != b"-0";
    plain.then_some(number)
}

#[cfg(test)]
mod tests {
    use super::certainly_differ;

    fn differ(one: &str, other: &str) -> bool {
        let both =
            [certainly_differ(one.as_bytes(), other.as_bytes()), certainly_differ(other.as_bytes(), one.as_bytes())];
        assert_eq!(both[0], both[1], "{one} {other}");
        both[0]
    }

    // R-L3
    #[test]
    fn texts_and_whole_numbers_in_one_place_are_told_apart() {
        assert!(differ(r#"{"a":"x","b":1}"#, r#"{"a":"y","b":1}"#));
        assert!(differ(r#"{"a":"x"}"#, r#"{"a":"xy"}"#));
        assert!(differ(r#"{"a":["x"]}"#, r#"{"a":["y"]}"#));
        assert!(differ(r#"{"a": 12}"#, r#"{"a": 13}"#));
        assert!(differ(r#"{"a":12}"#, r#"{"a":120}"#));
        assert!(differ(r#"{"a":9007199254740992}"#, r#"{"a":9007199254740993}"#));
    }

    // R-L3
    #[test]
    fn what_may_be_another_spelling_is_left_open() {
        for (one, other) in [
            (r#"{"a":"x"}"#, r#"{"a":"x"}"#),
            (r#"{"a":"x"}"#, r#"{"a":"\u0078"}"#),
            (r#"{"a":"\\","b":"x"}"#, r#"{"a":"\\","b":"y"}"#),
            (r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#),
            (r#"{"z":[],"a":1,"b":2}"#, r#"{"z":[],"b":2,"a":1}"#),
            (r#"{"a":1}"#, r#"{"a":1.0}"#),
            (r#"{"a":1}"#, r#"{"a": 1}"#),
            (r#"{"a":10}"#, r#"{"a":1e1}"#),
            (r#"{"a":0}"#, r#"{"a":-0}"#),
            (r#"{"a":1}"#, r#"{"a":1,"b":5}"#),
            ("", "{}"),
        ] {
            assert!(!differ(one, other), "{one} {other}");
        }
    }
}
