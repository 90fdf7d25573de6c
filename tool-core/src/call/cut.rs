//! Results that outgrow their limit: cut to valid JSON, with a marker that tells so.

use serde::{Deserialize, Serialize};

/// How a result was cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Truncated {
    /// The limit that the result outgrew.
    pub limit: usize,
    /// In what it is counted.
    pub unit: SizeUnit,
    /// How long the whole result was, in the same unit; absent where serialising stopped at the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<usize>,
}

/// In what a size is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SizeUnit {
    /// Unicode scalars of the compact JSON.
    Characters,
    /// Bytes of the compact JSON.
    Bytes,
}

/// Cuts `data` to about `limit` Unicode scalars; `None` where it fits.
pub(crate) fn cut(data: &str, limit: usize) -> Option<(String, Truncated)> {
    if data.len() <= limit {
        return None;
    }
    let end = data.char_indices().nth(limit)?.0;
    let total = data.chars().count();
    let truncated = Truncated { limit, unit: SizeUnit::Characters, total: Some(total) };
    let cut = wrap(data.get(..end).unwrap_or_default(), &truncated);
    Some((cut, truncated))
}

/// Cuts `data` to `limit` bytes; `None` where it fits.
pub(crate) fn bound(data: &str, limit: usize) -> Option<(String, Truncated)> {
    let partial = data.as_bytes().get(..limit).filter(|partial| partial.len() < data.len())?;
    let truncated = Truncated { limit, unit: SizeUnit::Bytes, total: Some(data.len()) };
    Some((cut_bytes(partial, &truncated), truncated))
}

/// Cuts what [`cut_bytes`] has left to about `limit` Unicode scalars; `None` where that has no more of them.
pub(crate) fn narrow(data: &str, limit: usize) -> Option<(String, Truncated)> {
    let (_, partial) = data.strip_suffix('}')?.split_once(PARTIAL)?;
    let end = partial.char_indices().nth(limit)?.0;
    let truncated = Truncated { limit, unit: SizeUnit::Characters, total: None };
    Some((wrap(partial.get(..end).unwrap_or_default(), &truncated), truncated))
}

/// Cuts bytes that were on their way to be JSON.
pub(crate) fn cut_bytes(partial: &[u8], truncated: &Truncated) -> String {
    let whole = match std::str::from_utf8(partial) {
        Ok(text) => text,
        // A limit in the middle of a character: what stands before it is sound.
        Err(error) => std::str::from_utf8(partial.get(..error.valid_up_to()).unwrap_or_default()).unwrap_or_default(),
    };
    wrap(whole, truncated)
}

/// What stands between the marker and the beginning.
const PARTIAL: &str = r#","partial":"#;

/// `{"truncated":"...","partial":<the beginning, closed>}`: whoever reads the data cannot take it for the whole.
fn wrap(prefix: &str, truncated: &Truncated) -> String {
    let total = truncated.total.map(|total| format!(" of {total}")).unwrap_or_default();
    let unit = match truncated.unit {
        SizeUnit::Characters => "characters",
        SizeUnit::Bytes => "bytes",
    };
    format!(
        r#"{{"truncated":"cut at {}{total} {unit}; ask for less or for a narrower part"{PARTIAL}{}}}"#,
        truncated.limit,
        close(prefix)
    )
}

/// The longest valid JSON that begins like `prefix`, which is the beginning of compact JSON text.
fn close(prefix: &str) -> String {
    let mut scan = Scan::default();
    for (at, byte) in prefix.bytes().enumerate() {
        scan.step(at, byte);
    }
    if scan.in_text && !scan.key {
        return scan.finish(&prefix[..scan.text_end(prefix)], "\"");
    }
    match scan.sound {
        // A bare scalar that was cut: a number or a word has no meaningful beginning.
        0 => "null".to_owned(),
        end => scan.finish(&prefix[..end], ""),
    }
}

#[derive(Default)]
#[allow(clippy::struct_excessive_bools)] // the states of a scanner
struct Scan {
    /// The closing brackets owed.
    open: Vec<u8>,
    in_text: bool,
    escaped: bool,
    /// Whether the text being read is an object's key.
    key: bool,
    /// Whether the next text in an object is a key.
    wants_key: bool,
    /// Where the escape now being read begins.
    escape_at: usize,
    /// The length of the longest prefix that only needs its brackets closed.
    sound: usize,
}

impl Scan {
    fn step(&mut self, at: usize, byte: u8) {
        if self.in_text {
            self.step_text(at, byte);
            return;
        }
        match byte {
            b'"' => {
                self.in_text = true;
                self.key = self.wants_key && self.open.last() == Some(&b'}');
                self.escape_at = usize::MAX;
            }
            b'{' | b'[' => {
                self.open.push(if byte == b'{' { b'}' } else { b']' });
                self.wants_key = byte == b'{';
                self.mark(at + 1);
            }
            b'}' | b']' => {
                self.open.pop();
                self.mark(at + 1);
            }
            b',' => {
                // What stands before a comma is whole.
                self.mark(at);
                self.wants_key = self.open.last() == Some(&b'}');
            }
            b':' => self.wants_key = false,
            _ => {}
        }
    }

    fn step_text(&mut self, at: usize, byte: u8) {
        if self.escaped {
            self.escaped = false;
        } else if byte == b'\\' {
            self.escaped = true;
            self.escape_at = at;
        } else if byte == b'"' {
            self.in_text = false;
            if !self.key {
                self.mark(at + 1);
            }
        }
    }

    fn mark(&mut self, end: usize) {
        self.sound = end;
    }

    /// Where a cut text may end: not inside an escape (the longest, `\uXXXX`, has six bytes).
    fn text_end(&self, prefix: &str) -> usize {
        let unfinished = self.escape_at != usize::MAX
            && prefix.len() - self.escape_at
                < if prefix.as_bytes().get(self.escape_at + 1) == Some(&b'u') { 6 } else { 2 };
        if unfinished { self.escape_at } else { prefix.len() }
    }

    fn finish(&self, kept: &str, quote: &str) -> String {
        let mut text = String::with_capacity(kept.len() + self.open.len() + 1);
        text.push_str(kept);
        text.push_str(quote);
        text.extend(self.open.iter().rev().map(|byte| char::from(*byte)));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use serde_json::json;

    fn sample() -> Value {
        json!({"a": [1, 22, "three \" \u{1F600} \n"], "b": {"c": null, "d": [[], {}]}, "größe": -1.5e10, "t": "\u{1}x"})
    }

    // R-E1, THREATS "huge result": valid JSON wherever the limit falls
    #[test]
    fn every_cut_is_valid_json_that_says_so() {
        let text = sample().to_string();
        for limit in 0..text.chars().count() {
            let (cut, truncated) = cut(&text, limit).expect("longer than the limit");
            let value: Value = serde_json::from_str(&cut).unwrap_or_else(|e| panic!("limit {limit}: {cut}: {e}"));
            assert!(value["truncated"].as_str().is_some_and(|t| t.contains("cut at")), "{cut}");
            assert_eq!(truncated.total, Some(text.chars().count()));
        }
    }

    #[test]
    fn a_result_of_exactly_the_limit_is_whole() {
        let text = sample().to_string();
        assert_eq!(cut(&text, text.chars().count()), None);
    }

    #[test]
    fn bytes_that_end_inside_a_character_are_cut_before_it() {
        let text = r#"["größer"]"#;
        for end in 0..text.len() {
            let truncated = Truncated { limit: end, unit: SizeUnit::Bytes, total: None };
            let cut = cut_bytes(&text.as_bytes()[..end], &truncated);
            serde_json::from_str::<Value>(&cut).unwrap_or_else(|e| panic!("{end}: {cut}: {e}"));
        }
    }

    #[test]
    fn a_cut_list_keeps_its_first_entries() {
        let (cut, _) = cut("[1,2,3,4,5,6]", 7).expect("cut");
        assert_eq!(serde_json::from_str::<Value>(&cut).expect("json")["partial"], json!([1, 2, 3]));
    }
}
