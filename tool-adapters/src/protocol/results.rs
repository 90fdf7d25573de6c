//! Results, as providers take them that know text only.

use tool_core::Content;
use tool_core::call::ModelResult;

/// A result as texts: one for each part, or the whole. What is no text is named, never left out in silence.
pub(super) fn texts(result: &ModelResult) -> Vec<String> {
    match result.content() {
        Some(parts) => parts.iter().map(text_of).collect(),
        None => vec![result.text.clone()],
    }
}

/// A result as one text.
pub(super) fn text(result: &ModelResult) -> String {
    match result.content() {
        Some(parts) => parts.iter().map(text_of).collect::<Vec<_>>().join("\n"),
        None => result.text.clone(),
    }
}

/// A part as text.
pub(super) fn text_of(part: &Content) -> String {
    match part {
        Content::Text { text } | Content::Resource { text: Some(text), .. } => text.clone(),
        Content::Resource { uri, mime_type: Some(mime_type), .. } => format!("[resource {uri} ({mime_type})]"),
        Content::Resource { uri, .. } => format!("[resource {uri}]"),
        part => left_out(part),
    }
}

/// What stands in the place of a part that cannot be shown.
pub(super) fn left_out(part: &Content) -> String {
    let (kind, mime_type) = match part {
        Content::Image { mime_type, .. } => ("image", mime_type.as_str()),
        Content::Audio { mime_type, .. } => ("audio", mime_type.as_str()),
        _ => return "[a part that cannot be shown was left out]".to_owned(),
    };
    format!("[{kind} ({mime_type}) left out: it cannot be shown here]")
}

/// A data URL.
pub(super) fn data_url(mime_type: &str, base64: &str) -> String {
    format!("data:{mime_type};base64,{base64}")
}
