//! The strings of a JSON text and what is between them, for readers that make no values of it.

use crate::json::string::run_end;

/// Tells the strings of a JSON text from the rest, in parts of any size.
///
/// It knows strings and their escapes, and nothing else of the grammar. You can use it on a text
/// that is cut off or is not JSON.
///
/// ```
/// use tool_core::json::StringScanner;
///
/// let mut scanner = StringScanner::default();
/// let brackets = br#"{"a": "[\"]"#.iter().filter(|byte| scanner.step(**byte));
/// assert_eq!(brackets.copied().collect::<Vec<_>>(), b"{: ");
/// assert!(scanner.is_in_string());
/// ```
#[derive(Clone, Debug, Default)]
pub struct StringScanner {
    in_string: bool,
    is_escaped: bool,
}

/// The part of a string in some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StringPart {
    /// The string goes on after the bytes.
    Open,
    /// The string ends before this index, with its quote.
    End(usize),
    /// At this index the string has a raw line end, which no string may have: it is broken off.
    Broken(usize),
}

impl StringScanner {
    /// Returns true inside of a string.
    #[inline]
    pub fn is_in_string(&self) -> bool {
        self.in_string
    }

    /// Returns true after the backslash of an escape.
    #[inline]
    pub fn is_escaped(&self) -> bool {
        self.is_escaped
    }

    /// Moves past a byte. Returns true if it is outside of the strings and their quotes.
    #[inline]
    pub fn step(&mut self, byte: u8) -> bool {
        if self.in_string {
            self.in_string = self.is_escaped || byte != b'"';
            self.is_escaped = !self.is_escaped && byte == b'\\';
            return false;
        }
        self.in_string = byte == b'"';
        !self.in_string
    }

    /// Moves past the bytes of the string that is open, faster than [`step`](Self::step).
    pub fn skip_string(&mut self, bytes: &[u8]) -> StringPart {
        let mut at = usize::from(std::mem::take(&mut self.is_escaped));
        while at < bytes.len() {
            at = run_end(bytes, at);
            match bytes.get(at) {
                None => break,
                Some(b'"') => {
                    self.in_string = false;
                    return StringPart::End(at + 1);
                }
                Some(b'\\') => at += 2,
                Some(b'\n' | b'\r') => return StringPart::Broken(at),
                Some(_) => at += 1,
            }
        }
        self.is_escaped = at > bytes.len();
        StringPart::Open
    }
}

/// Returns the bytes of a JSON text outside of its strings.
///
/// ```
/// use tool_core::json::outside_strings;
///
/// let objects = outside_strings(br#"[{"a": "{"}, {}]"#).filter(|byte| *byte == b'{');
/// assert_eq!(objects.count(), 2);
/// ```
pub fn outside_strings(json: &[u8]) -> impl Iterator<Item = u8> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(byte) = json.get(at) {
            at += 1;
            if *byte != b'"' {
                return Some(*byte);
            }
            at = string_end(json, at);
        }
        None
    })
}

/// Returns the place behind the quote that ends a string, or the end of the text.
fn string_end(json: &[u8], mut at: usize) -> usize {
    while at < json.len() {
        at = run_end(json, at);
        match json.get(at) {
            Some(b'"') => return at + 1,
            Some(b'\\') => at += 2,
            _ => at += 1,
        }
    }
    json.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stepped(text: &[u8]) -> Vec<u8> {
        let mut scanner = StringScanner::default();
        let outside = text.iter().copied().filter(|byte| scanner.step(*byte));
        outside.collect()
    }

    #[test]
    fn an_escaped_quote_does_not_end_a_string() {
        for text in [r#"{"a\"}":1}"#, r#"{"a\\":1}"#, r#"{"\\\"}":1}"#] {
            assert_eq!(stepped(text.as_bytes()), b"{:1}", "{text}");
        }
    }

    #[test]
    fn a_string_is_skipped_however_it_is_cut() {
        let text = br#"12345678\"123\\","x""#;
        for cut in 0..text.len() {
            let (first, second) = text.split_at(cut);
            let mut scanner = StringScanner {
                in_string: true,
                is_escaped: false,
            };
            let end = match scanner.skip_string(first) {
                StringPart::Open => match scanner.skip_string(second) {
                    StringPart::End(end) => cut + end,
                    other => panic!("{other:?} at {cut}"),
                },
                StringPart::End(end) => end,
                other @ StringPart::Broken(_) => panic!("{other:?} at {cut}"),
            };
            assert_eq!(end, 16, "{cut}");
            assert!(!scanner.is_in_string());
        }
    }

    #[test]
    fn a_raw_line_end_breaks_a_string_off() {
        for (text, part) in [
            ("ab\ncd\"", StringPart::Broken(2)),
            ("ab\r", StringPart::Broken(2)),
            ("a\tb\"", StringPart::End(4)),
            ("a\\\n\"", StringPart::End(4)),
        ] {
            let mut scanner = StringScanner {
                in_string: true,
                is_escaped: false,
            };
            assert_eq!(scanner.skip_string(text.as_bytes()), part, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn whole_texts_and_single_bytes_are_told_alike(text in "[a\"\\\\{\n\u{e4}]{0,40}") {
            let whole: Vec<u8> = outside_strings(text.as_bytes()).collect();
            prop_assert_eq!(whole, stepped(text.as_bytes()));
        }
    }
}
