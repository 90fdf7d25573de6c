//! A provider's form of the parts of messages and results.

use crate::accepted_parts::{AcceptedParts, PartKind};
use crate::message_parts::{
    MediaPart, MessagePart, TextFile, left_out_note, read_part, read_result_part,
};
use crate::request::text_of;
use serde_json::Value;
use tool_core::Content;

/// A provider's form of the parts of a message, with a function for each kind. A part for which
/// there is none becomes a text.
pub(crate) trait PartForm {
    fn text(text: &str) -> Value;

    /// Writes a file of the user whose text is at hand. Defaults to a text that begins with the
    /// name of the file.
    fn text_file(_file: &TextFile<'_>) -> Option<Value> {
        None
    }

    /// Writes a file of a result whose text is at hand. Defaults to its text.
    fn result_file(_file: &TextFile<'_>) -> Option<Value> {
        None
    }

    fn image(_image: &MediaPart<'_>) -> Option<Value> {
        None
    }

    fn sound(_sound: &MediaPart<'_>) -> Option<Value> {
        None
    }

    fn video(_video: &MediaPart<'_>) -> Option<Value> {
        None
    }

    fn document(_document: &MediaPart<'_>) -> Option<Value> {
        None
    }
}

/// Writes an image, a sound, a video or a document.
pub(crate) fn write_media<F: PartForm>(media: &MediaPart<'_>) -> Option<Value> {
    match media.kind {
        PartKind::Image => F::image(media),
        PartKind::Sound => F::sound(media),
        PartKind::Video => F::video(media),
        PartKind::Document => F::document(media),
    }
}

/// Returns true if there is a form for a part.
pub(crate) fn has_form<F: PartForm>(media: &MediaPart<'_>) -> bool {
    write_media::<F>(media).is_some()
}

/// A part of a message in a provider's form.
enum WrittenPart {
    Text(String),
    Other(Value),
}

impl WrittenPart {
    /// Writes a part of the user; `None` for a blank text.
    fn of_user<F: PartForm>(part: &Content, accepted: &AcceptedParts) -> Option<Self> {
        let other = match read_part(part, accepted) {
            Ok(MessagePart::Text(text)) => {
                return Some(Self::Text(text.into_owned())).filter(|_| !is_blank(part));
            }
            Ok(MessagePart::TextFile(file)) => match F::text_file(&file) {
                None => return Some(Self::Text(file.labelled())),
                written => written,
            },
            Ok(MessagePart::Media(media)) => write_media::<F>(&media),
            Err(_) => None,
        };
        Some(other.map_or_else(|| Self::Text(left_out_note(part)), Self::Other))
    }

    fn into_value<F: PartForm>(self) -> Value {
        match self {
            Self::Text(text) => F::text(&text),
            Self::Other(value) => value,
        }
    }
}

fn is_blank(part: &Content) -> bool {
    matches!(part, Content::Text { text } if text.trim().is_empty())
}

/// Writes the parts of a message. Blank texts are left out, and a part that the server does not
/// take becomes a note.
pub(crate) fn write_parts<F: PartForm>(parts: &[Content], accepted: &AcceptedParts) -> Vec<Value> {
    let written = parts
        .iter()
        .filter_map(|part| WrittenPart::of_user::<F>(part, accepted));
    written.map(WrittenPart::into_value::<F>).collect()
}

/// Writes a message as one text if it has nothing else, and as its parts if it has: some servers
/// take texts only. `None` for a message without content.
pub(crate) fn write_content<F: PartForm>(
    parts: &[Content],
    accepted: &AcceptedParts,
) -> Option<Value> {
    let mut written = Vec::with_capacity(parts.len());
    let mut texts = Vec::with_capacity(parts.len());
    for part in parts {
        let part = WrittenPart::of_user::<F>(part, accepted);
        if let Some(WrittenPart::Text(text)) = &part {
            texts.push(text.clone());
        }
        written.extend(part.map(WrittenPart::into_value::<F>));
    }
    if written.is_empty() {
        return None;
    }
    if texts.len() == written.len() {
        return Some(Value::from(texts.join("\n")));
    }
    Some(Value::from(written))
}

/// Writes the parts of a result, for servers that take more than text in it. Blank texts are left
/// out.
pub(crate) fn write_result_parts<F: PartForm>(
    parts: &[Content],
    accepted: &AcceptedParts,
) -> Vec<Value> {
    let mut written = Vec::with_capacity(parts.len());
    for part in parts {
        let value = match read_result_part(part, accepted) {
            MessagePart::Text(text) if text.trim().is_empty() => continue,
            MessagePart::TextFile(file) if file.text.trim().is_empty() => continue,
            MessagePart::Text(text) => Some(F::text(&text)),
            MessagePart::TextFile(file) => {
                F::result_file(&file).or_else(|| Some(F::text(&file.text)))
            }
            MessagePart::Media(media) => write_media::<F>(&media),
        };
        written.push(value.unwrap_or_else(|| F::text(&text_of(part))));
    }
    written
}
