//! Results, in Gemini's form.

use crate::protocol::results;
use crate::protocol::turns::exact;
use serde_json::{Map, Value, json};
use tool_core::Content;
use tool_core::call::ModelResult;

/// The largest whole number that Gemini keeps: its objects hold doubles.
const MOST: u64 = 1 << 53;

/// The media that a result may show.
const MEDIA: [&str; 3] = ["image/png", "image/jpeg", "image/webp"];

/// A result under the id that the provider gave, where it gave one.
pub(in crate::protocol) fn function_response(id: &str, name: &str, result: &ModelResult) -> Map<String, Value> {
    let mut response = Map::new();
    if !id.is_empty() {
        response.insert("id".to_owned(), id.into());
    }
    response.insert("name".to_owned(), name.into());
    let (media, rest) = match result.content() {
        Some(parts) => parts.into_iter().partition(is_media),
        None => (Vec::new(), Vec::new()),
    };
    let told = if result.parts {
        let texts = rest.iter().map(results::text_of).filter(|text| !text.is_empty());
        Value::from(texts.collect::<Vec<_>>().join(
            "
",
        ))
    } else {
        value(result)
    };
    let member = if result.is_error { "error" } else { "output" };
    response.insert("response".to_owned(), json!({member: told}));
    if !media.is_empty() {
        response.insert("parts".to_owned(), media.into_iter().map(inline).collect());
    }
    response
}

/// The data as a value where it keeps its digits, otherwise as its text. An error's message stays text.
fn value(result: &ModelResult) -> Value {
    let is_data = !result.is_error || result.text.starts_with('{');
    let value = Some(&result.text).filter(|_| is_data).and_then(|text| exact(text, MOST));
    value.map_or_else(|| Value::from(result.text.as_str()), escaped)
}

fn is_media(part: &Content) -> bool {
    matches!(part, Content::Image { mime_type, .. } if MEDIA.contains(&mime_type.as_str()))
}

fn inline(part: Content) -> Value {
    match part {
        Content::Image { data, mime_type } => json!({"inlineData": {"mimeType": mime_type, "data": data}}),
        other => json!({"text": results::text_of(&other)}),
    }
}

/// With one `$` more at keys that are `$ref`: the API takes them for references to media, and refuses them.
fn escaped(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let key = |key: String| {
                if key.trim_start_matches('$') == "ref" && key != "ref" { format!("${key}") } else { key }
            };
            members.into_iter().map(|(name, value)| (key(name), escaped(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(escaped).collect(),
        other => other,
    }
}
