//! Percent escapes of paths, queries and form bodies.

use std::fmt::Write;

/// Escapes a text from the model for a path segment, a query or a form body. Everything except
/// letters, digits and `-._~` is escaped, so that the text cannot end its place.
pub(crate) fn escape(text: &str) -> String {
    escape_except(text, |byte| {
        byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
    })
}

/// Escapes the bytes of a credential that the value of a cookie cannot have, by RFC 6265. Servers
/// compare the value without decoding it, so everything else stays.
pub(crate) fn escape_cookie(text: &str) -> String {
    escape_except(text, |byte| {
        byte.is_ascii_graphic() && !b"\",;\\".contains(&byte)
    })
}

/// Escapes a fixed part of a path, which keeps its delimiters and its own escapes.
pub(crate) fn escape_literal(text: &str) -> String {
    escape_except(text, |byte| {
        byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@%/".contains(&byte)
    })
}

fn escape_except(text: &str, keeps: impl Fn(u8) -> bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if keeps(byte) {
            escaped.push(char::from(byte));
        } else {
            // Writing to a `String` does not fail.
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

/// Returns true for a path with a segment that URLs resolve: `.` and `..`, also as `%2e`.
pub(crate) fn has_dot_segment(path: &str) -> bool {
    path.split('/').any(|segment| {
        let plain = segment.to_ascii_lowercase().replace("%2e", ".");
        matches!(plain.as_str(), "." | "..")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_all_delimiters() {
        assert_eq!(
            escape("a/b?c#d e+é%2F.."),
            "a%2Fb%3Fc%23d%20e%2B%C3%A9%252F.."
        );
        assert_eq!(
            escape_literal("/a b/{x}:go%2F\\"),
            "/a%20b/%7Bx%7D:go%2F%5C"
        );
    }

    #[test]
    fn finds_dot_segments_in_every_notation() {
        for path in ["/..", "/a/../b", "/%2e%2E", "/.%2e/", "/."] {
            assert!(has_dot_segment(path), "{path}");
        }
        for path in ["/a..b", "/...", "/%252e%252e", "/a.json"] {
            assert!(!has_dot_segment(path), "{path}");
        }
    }
}
