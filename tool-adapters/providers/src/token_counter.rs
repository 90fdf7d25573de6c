//! The endpoints that count the tokens of a request, and an estimate for the other providers.

use serde_json::{Map, Value};

/// The endpoint of a provider that counts the tokens of a request.
#[derive(Clone, Copy)]
pub struct TokenCounter {
    /// Returns the segments of the path for a model.
    pub path: fn(model: &str) -> Vec<String>,
    /// Converts the body of a request to the model.
    pub body: fn(model: &str, body: Value) -> Value,
    /// The pointer to the number in the answer.
    pub result: &'static str,
}

/// Returns the members of a body with these names.
pub(crate) fn only(body: Value, names: &[&str]) -> Value {
    let Value::Object(members) = body else {
        return Value::Object(Map::new());
    };
    let known = members
        .into_iter()
        .filter(|(name, _)| names.contains(&name.as_str()));
    known.collect()
}

/// The tokens of an image, a page or a minute of sound, about.
const TOKENS_OF_MEDIA: u64 = 1_600;

/// The characters of a token, about.
const CHARACTERS_OF_TOKEN: u64 = 4;

/// The shortest text in base64 that is taken for a picture or a file.
const MIN_MEDIA_LENGTH: usize = 256;

/// Estimates the tokens of a request from its body: a quarter of its characters, and a fixed number
/// for each picture or file.
///
/// ```
/// use tool_adapters::providers::estimate_tokens;
/// use tool_core::serde_json::json;
///
/// let body = json!({"messages": [{"role": "user", "content": "What is on my calendar?"}]});
/// assert_eq!(estimate_tokens(&body), 16);
/// ```
#[must_use]
pub fn estimate_tokens(body: &Value) -> u64 {
    let mut size = BodySize::default();
    size.add(body);
    size.characters.div_ceil(CHARACTERS_OF_TOKEN) + size.media * TOKENS_OF_MEDIA
}

#[derive(Default)]
struct BodySize {
    characters: u64,
    media: u64,
}

impl BodySize {
    fn add(&mut self, value: &Value) {
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    self.characters += name.chars().count() as u64 + 4;
                    self.add(value);
                }
            }
            Value::Array(items) => {
                for item in items {
                    self.characters += 1;
                    self.add(item);
                }
            }
            Value::String(text) if is_media(text) => self.media += 1,
            Value::String(text) => self.characters += text.chars().count() as u64 + 2,
            other => self.characters += other.to_string().len() as u64,
        }
    }
}

/// Returns true for bytes in base64, by themselves or in a `data:` URI.
fn is_media(text: &str) -> bool {
    let base64 = match text.strip_prefix("data:") {
        Some(uri) => uri.split_once(";base64,").map_or("", |(_, data)| data),
        None => text,
    };
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=-_".contains(&byte);
    base64.len() >= MIN_MEDIA_LENGTH && base64.bytes().all(is_base64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_picture_has_a_fixed_estimate() {
        let text = estimate_tokens(&json!({"content": ""}));
        let picture = |length: usize| json!({"content": "iVBORw0K".repeat(length / 8)});
        for length in [1_000, 1_000_000] {
            let tokens = estimate_tokens(&picture(length));
            assert!((text + 1_590..text + 1_610).contains(&tokens), "{tokens}");
        }
    }

    #[test]
    fn a_long_text_is_no_picture() {
        let text = "the quick brown fox ".repeat(100);
        assert_eq!(estimate_tokens(&json!(text)), 501);
    }
}
