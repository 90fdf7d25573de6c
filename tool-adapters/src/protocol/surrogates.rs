//! Halves of characters: some servers cut a text in UTF-16, in the middle of one, and no JSON reader takes that.

/// JSON in which each escaped half of a character without its other half is a replacement character instead; `None`
/// where there is none.
pub(super) fn replaced(json: &str) -> Option<String> {
    let mut whole = String::new();
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        whole.push_str(before);
        let read = match unit(escape) {
            Some(0xD800..=0xDBFF) if matches!(escape.get(6..).and_then(unit), Some(0xDC00..=0xDFFF)) => 12,
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
fn unit(escape: &str) -> Option<u16> {
    u16::from_str_radix(escape.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

#[cfg(test)]
mod tests {
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
