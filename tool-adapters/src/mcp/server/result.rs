//! Tool responses as results of `tools/call`.

use crate::mcp::server::list;
use crate::providers::mcp::output_schema;
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock, Resource, ResourceContents};
use serde_json::Value;
use tool_core::call::{OutputKind, ResultForm};
use tool_core::{Content, Session, ToolResponse};

/// Converts the response of a call of `tool` into the protocol's response.
pub(crate) fn complete(session: &Session, tool: &str, response: &ToolResponse) -> CallToolResponse {
    CallToolResponse::Complete(convert(response, list::output_schema(session.tools(), tool)))
}

fn convert(response: &ToolResponse, schema: Option<&Value>) -> CallToolResult {
    let result = response.for_model(ResultForm::Plain);
    if result.is_error {
        return CallToolResult::error(vec![ContentBlock::text(result.text)]);
    }
    let content = match result.content() {
        Some(parts) => parts.into_iter().map(content_block).collect(),
        None if result.text.is_empty() => Vec::new(),
        None => vec![ContentBlock::text(result.text)],
    };
    let Some(schema) = schema.filter(|_| response.kind() == OutputKind::Data) else {
        return CallToolResult::success(content);
    };
    match untruncated_data(response) {
        Some(data) => {
            let mut result = CallToolResult::success(content);
            result.structured_content = Some(output_schema::structured(schema, data));
            result
        }
        // A client refuses a success without the structured content of the output schema. An error needs none.
        None => CallToolResult::error(content),
    }
}

fn untruncated_data(response: &ToolResponse) -> Option<Value> {
    if response.meta().truncated().is_some() {
        return None;
    }
    serde_json::from_str(response.data_json()?).ok()
}

fn content_block(part: Content) -> ContentBlock {
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
        // `Content` is non-exhaustive.
        other => ContentBlock::text(serde_json::to_string(&other).unwrap_or_default()),
    }
}
