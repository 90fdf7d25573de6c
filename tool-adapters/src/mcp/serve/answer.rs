//! A response as the protocol's result. L18

use crate::declare::output;
use rmcp::model::{CallToolResult, ContentBlock, Resource, ResourceContents};
use serde_json::Value;
use tool_core::call::{OutputKind, ResultForm};
use tool_core::{Content, ToolResponse};

/// `promised`: the schema of the tool's results, where it has one.
pub(super) fn of(response: &ToolResponse, promised: Option<&Value>) -> CallToolResult {
    let result = response.for_model(ResultForm::Plain);
    if result.is_error {
        return CallToolResult::error(vec![ContentBlock::text(result.text)]);
    }
    let content = match result.content() {
        Some(parts) => parts.into_iter().map(block).collect(),
        None if result.text.is_empty() => Vec::new(),
        None => vec![ContentBlock::text(result.text)],
    };
    let Some(schema) = promised.filter(|_| response.form() == OutputKind::Data) else {
        return CallToolResult::success(content);
    };
    match whole(response) {
        Some(data) => {
            let mut result = CallToolResult::success(content);
            result.structured_content = Some(output::structured(schema, data));
            result
        }
        // A client would refuse a result that is not what was promised; an error promises nothing.
        None => CallToolResult::error(content),
    }
}

/// The data, unless it was cut.
fn whole(response: &ToolResponse) -> Option<Value> {
    if response.meta().truncated().is_some() {
        return None;
    }
    serde_json::from_str(response.data_json()?).ok()
}

fn block(part: Content) -> ContentBlock {
    match part {
        Content::Text { text } => ContentBlock::text(text),
        Content::Image { data, mime_type } => ContentBlock::image(data, mime_type),
        Content::Audio { data, mime_type } => ContentBlock::audio(data, mime_type),
        Content::Resource { uri, mime_type, text: Some(text) } => {
            ContentBlock::resource(ResourceContents::TextResourceContents { uri, mime_type, text, meta: None })
        }
        Content::Resource { uri, mime_type, text: None } => {
            let name = uri.rsplit('/').find(|part| !part.is_empty()).unwrap_or(&uri).to_owned();
            let mut link = Resource::new(uri, name);
            link.mime_type = mime_type;
            ContentBlock::resource_link(link)
        }
        // A part of a later version: what it is in JSON.
        other => ContentBlock::text(serde_json::to_string(&other).unwrap_or_default()),
    }
}
