//! Results, in MCP's form.

use crate::protocol::results;
use serde_json::{Map, Value, json};
use tool_core::Content;
use tool_core::call::ModelResult;

/// The result of `tools/call`. Data that is an object is told as structured content too.
pub(super) fn result(result: &ModelResult) -> Value {
    let content = match result.content() {
        Some(parts) => parts.iter().map(part).collect(),
        None if result.text.is_empty() => Vec::new(),
        None => vec![json!({"type": "text", "text": result.text})],
    };
    let mut told = Map::from_iter([
        ("content".to_owned(), content.into()),
        ("isError".to_owned(), result.is_error.into()),
        // Since 2026-07-28; older clients pass over it.
        ("resultType".to_owned(), "complete".into()),
    ]);
    if let (false, Ok(data @ Value::Object(_))) = (result.is_error, serde_json::from_str(&result.text)) {
        told.insert("structuredContent".to_owned(), data);
    }
    Value::Object(told)
}

fn part(part: &Content) -> Value {
    match part {
        Content::Text { text } => json!({"type": "text", "text": text}),
        Content::Image { data, mime_type } => json!({"type": "image", "data": data, "mimeType": mime_type}),
        Content::Audio { data, mime_type } => json!({"type": "audio", "data": data, "mimeType": mime_type}),
        Content::Resource { uri, mime_type, text } => resource(uri, mime_type.as_deref(), text.as_deref()),
        other => json!({"type": "text", "text": results::text_of(other)}),
    }
}

/// A resource whose text is at hand, or a link to one.
fn resource(uri: &str, mime_type: Option<&str>, text: Option<&str>) -> Value {
    let mut told = Map::from_iter([("uri".to_owned(), uri.into())]);
    told.extend(mime_type.map(|mime_type| ("mimeType".to_owned(), mime_type.into())));
    if let Some(text) = text {
        told.insert("text".to_owned(), text.into());
        return json!({"type": "resource", "resource": told});
    }
    told.extend([("type".to_owned(), "resource_link".into()), ("name".to_owned(), uri.into())]);
    Value::Object(told)
}
