//! Truncation of results that exceed their limit: the cut text is valid JSON again, with a marker.

use crate::json::StringScanner;
use serde::{Deserialize, Serialize};

/// A description of how a result was cut.
///
/// ```
/// use tool_core::call::SizeUnit;
/// use tool_core::{RunContext, ToolContext, tool};
///
/// /// List the numbers.
/// #[tool(max_output = 20)]
/// fn numbers() -> Vec<u32> {
///     (0..1_000).collect()
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_core::RegistryErrors> {
/// let tools = ToolContext::builder().with(numbers).build()?;
/// let response = tools.call("numbers", "", &RunContext::detached()).await;
/// let truncated = response.meta().truncated().expect("it is too long");
/// assert_eq!((truncated.limit, truncated.unit), (20, SizeUnit::Characters));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Truncated {
    /// The limit that the result exceeded.
    pub limit: usize,
    /// The unit of `limit` and `total`.
    pub unit: SizeUnit,
    /// The size of the whole result; absent if serialisation stopped at the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<usize>,
}

/// The unit of a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SizeUnit {
    /// Unicode scalars of the compact JSON.
    Characters,
    /// Bytes of the compact JSON.
    Bytes,
}

/// Cuts `data` to about `limit` characters; `None` if it fits.
pub(crate) fn truncate_characters(data: &str, limit: usize) -> Option<(String, Truncated)> {
    if data.len() <= limit {
        return None;
    }
    let end = data.char_indices().nth(limit)?.0;
    let total = data.chars().count();
    let truncated = Truncated {
        limit,
        unit: SizeUnit::Characters,
        total: Some(total),
    };
    let cut = with_marker(data.get(..end).unwrap_or_default(), &truncated);
    Some((cut, truncated))
}

/// Cuts `data` to about `limit` bytes; `None` if it fits.
pub(crate) fn truncate_bytes(data: &str, limit: usize) -> Option<(String, Truncated)> {
    let partial = data
        .as_bytes()
        .get(..limit)
        .filter(|partial| partial.len() < data.len())?;
    let truncated = Truncated {
        limit,
        unit: SizeUnit::Bytes,
        total: Some(data.len()),
    };
    Some((close_partial(partial, &truncated), truncated))
}

/// Cuts the result of [`close_partial`] further, to about `limit` characters; `None` if it fits.
pub(crate) fn truncate_again(data: &str, limit: usize) -> Option<(String, Truncated)> {
    let (_, partial) = data.strip_suffix('}')?.split_once(PARTIAL)?;
    let end = partial.char_indices().nth(limit)?.0;
    let truncated = Truncated {
        limit,
        unit: SizeUnit::Characters,
        total: None,
    };
    Some((
        with_marker(partial.get(..end).unwrap_or_default(), &truncated),
        truncated,
    ))
}

/// Makes valid JSON of the first bytes of a JSON text.
pub(crate) fn close_partial(partial: &[u8], truncated: &Truncated) -> String {
    let whole = partial
        .utf8_chunks()
        .next()
        .map_or("", |chunk| chunk.valid());
    with_marker(whole, truncated)
}

/// The text between the marker and the partial data.
const PARTIAL: &str = r#","partial":"#;

/// Returns `{"truncated":"...","partial":<the beginning, closed>}`, which cannot be mistaken for
/// the whole data.
fn with_marker(prefix: &str, truncated: &Truncated) -> String {
    let total = truncated
        .total
        .map(|total| format!(" of {total}"))
        .unwrap_or_default();
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

/// Returns the longest valid JSON that begins like `prefix`, which is the beginning of a compact
/// JSON text.
fn close(prefix: &str) -> String {
    let mut scanner = PartialScanner::default();
    for (at, byte) in prefix.bytes().enumerate() {
        scanner.step(at, byte);
    }
    if scanner.strings.is_in_string() && !scanner.is_key {
        return scanner.close(&prefix[..scanner.string_end(prefix)], "\"");
    }
    match scanner.complete {
        // A number or a word that was cut has no meaningful beginning.
        0 => "null".to_owned(),
        end => scanner.close(&prefix[..end], ""),
    }
}

/// Scans the beginning of a JSON text. A JSON reader cannot do this, because it fails at the cut.
#[derive(Default)]
struct PartialScanner {
    /// The closing brackets that are missing, the outermost first.
    open: Vec<u8>,
    strings: StringScanner,
    /// True if the current or next string is an object's key.
    is_key: bool,
    /// The offset of the last escape in the current string.
    escape_at: Option<usize>,
    /// The length of the longest prefix that needs nothing but its closing brackets.
    complete: usize,
}

impl PartialScanner {
    fn step(&mut self, at: usize, byte: u8) {
        if !self.strings.step(byte) {
            self.step_string(at);
            return;
        }
        match byte {
            b'{' | b'[' => {
                self.open.push(if byte == b'{' { b'}' } else { b']' });
                self.is_key = byte == b'{';
                self.complete = at + 1;
            }
            b'}' | b']' => {
                self.open.pop();
                self.complete = at + 1;
            }
            b',' => {
                // The value before a comma is complete, also a number.
                self.complete = at;
                self.is_key = self.open.last() == Some(&b'}');
            }
            b':' => self.is_key = false,
            _ => {}
        }
    }

    fn step_string(&mut self, at: usize) {
        if self.strings.is_escaped() {
            self.escape_at = Some(at);
        } else if !self.strings.is_in_string() {
            self.escape_at = None;
            if !self.is_key {
                self.complete = at + 1;
            }
        }
    }

    /// Returns the end of a cut string, before an incomplete escape. The longest escape, `\uXXXX`,
    /// has six bytes.
    fn string_end(&self, prefix: &str) -> usize {
        let length = |at: usize| {
            if prefix.as_bytes().get(at + 1) == Some(&b'u') {
                6
            } else {
                2
            }
        };
        let incomplete = self.escape_at.filter(|at| prefix.len() < at + length(*at));
        incomplete.unwrap_or(prefix.len())
    }

    fn close(&self, kept: &str, quote: &str) -> String {
        let brackets = self
            .open
            .iter()
            .rev()
            .map(|byte| char::from(*byte))
            .collect::<String>();
        format!("{kept}{quote}{brackets}")
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

    #[test]
    fn every_cut_is_valid_json_with_a_marker() {
        let text = sample().to_string();
        for limit in 0..text.chars().count() {
            let (cut, truncated) =
                truncate_characters(&text, limit).expect("longer than the limit");
            let value: Value =
                serde_json::from_str(&cut).unwrap_or_else(|e| panic!("limit {limit}: {cut}: {e}"));
            assert!(
                value["truncated"]
                    .as_str()
                    .is_some_and(|t| t.contains("cut at")),
                "{cut}"
            );
            assert_eq!(truncated.total, Some(text.chars().count()));
        }
    }

    #[test]
    fn a_result_of_exactly_the_limit_is_whole() {
        let text = sample().to_string();
        assert_eq!(truncate_characters(&text, text.chars().count()), None);
    }

    #[test]
    fn bytes_that_end_inside_a_character_are_cut_before_it() {
        let text = r#"["größer"]"#;
        for end in 0..text.len() {
            let truncated = Truncated {
                limit: end,
                unit: SizeUnit::Bytes,
                total: None,
            };
            let cut = close_partial(&text.as_bytes()[..end], &truncated);
            serde_json::from_str::<Value>(&cut).unwrap_or_else(|e| panic!("{end}: {cut}: {e}"));
        }
    }

    #[test]
    fn a_cut_list_keeps_its_first_entries() {
        let (cut, _) = truncate_characters("[1,2,3,4,5,6]", 7).expect("cut");
        assert_eq!(
            serde_json::from_str::<Value>(&cut).expect("json")["partial"],
            json!([1, 2, 3])
        );
    }
}
