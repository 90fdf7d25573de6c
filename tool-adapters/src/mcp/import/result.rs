//! What a call of a server's tool gives. All of it is data, whatever it says.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use tool_core::text::truncate;
use tool_core::{Content, ToolError, ToolOutput};

/// The characters of a server's error that are passed on.
const SAID: usize = 4_000;

pub(super) fn read(given: CallToolResult, promised: bool) -> Result<ToolOutput, ToolError> {
    if given.is_error == Some(true) {
        let texts = given.content.iter().filter_map(ContentBlock::as_text).map(|text| text.text.as_str());
        let text = texts.collect::<Vec<_>>().join("\n");
        return Err(ToolError::permanent(if text.is_empty() { "the tool failed".to_owned() } else { said(&text) }));
    }
    match given.structured_content {
        Some(data) => Ok(ToolOutput::new(data)),
        None if promised => Err(ToolError::permanent("the server left out the result that its schema promises")),
        None => Ok(ToolOutput::content(given.content.into_iter().map(part))),
    }
}

/// A server's words, in bounds.
pub(super) fn said(text: &str) -> String {
    truncate(text, SAID)
}

fn part(block: ContentBlock) -> Content {
    match block {
        ContentBlock::Text(text) => Content::text(text.text),
        ContentBlock::Image(image) => Content::image(image.data, image.mime_type),
        ContentBlock::Audio(audio) => Content::audio(audio.data, audio.mime_type),
        ContentBlock::ResourceLink(link) => Content::Resource { uri: link.uri, mime_type: link.mime_type, text: None },
        ContentBlock::Resource(resource) => match resource.resource {
            ResourceContents::TextResourceContents { uri, mime_type, text, .. } => {
                Content::Resource { uri, mime_type, text: Some(text) }
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => match mime_type {
                Some(mime_type) if mime_type.starts_with("image/") => Content::image(blob, mime_type),
                Some(mime_type) if mime_type.starts_with("audio/") => Content::audio(blob, mime_type),
                mime_type => Content::Resource { uri, mime_type, text: None },
            },
            _ => unread(),
        },
        _ => unread(),
    }
}

/// A part of a later revision.
fn unread() -> Content {
    Content::text("[a part of a kind that is not known here]")
}
