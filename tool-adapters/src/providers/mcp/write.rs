//! Results in JSON-RPC answers, and the result of `tools/list`.

use crate::providers::call_ids::CallIds;
use crate::providers::codec::ToolAnswer;
use crate::providers::declared_tool::DeclaredTool;
use crate::providers::json_text::JsonObject;
use crate::providers::mcp::output_schema;
use crate::providers::mcp::read::TEXT_ID;
use crate::providers::request::{Request, RequestBody, text_of, tools};
use serde_json::{Map, Value, json};
use tool_core::call::ModelResult;
use tool_core::{Category, Content, ErrorKind, ToolDefinition};

/// JSON-RPC's "invalid params", which MCP uses for an unknown tool.
const INVALID_PARAMS: i32 = -32602;

/// Writes one answer for each result. A call of an unknown tool is answered with an error.
pub(crate) fn encode(answers: &[ToolAnswer<'_>], _ids: &CallIds) -> Value {
    answers.iter().map(write_answer).collect()
}

fn write_answer(answer: &ToolAnswer<'_>) -> Value {
    let id = request_id(answer);
    match answer.response.error().filter(|error| error.kind == ErrorKind::NotFound) {
        Some(error) => {
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": INVALID_PARAMS, "message": error.message}})
        }
        None => json!({"jsonrpc": "2.0", "id": id, "result": call_result(&answer.result)}),
    }
}

/// Returns the id of the request in its own type, or ours if there was none.
fn request_id(answer: &ToolAnswer<'_>) -> Value {
    match answer.call {
        Some(call) if call.kind != TEXT_ID => serde_json::from_str(&call.id).unwrap_or_default(),
        Some(call) => Value::from(call.id.as_str()),
        None => Value::from(answer.id()),
    }
}

/// Writes the result of `tools/list`.
pub(crate) fn request(request: &Request<'_>) -> Value {
    RequestBody::new(request).with("tools", tools(request)).finish()
}

/// Writes a tool of the result of `tools/list`.
pub(crate) fn declaration(tool: &DeclaredTool<'_>) -> String {
    JsonObject::new()
        .with("name", tool.name)
        .with_some("title", tool.definition.title())
        .with_some("description", tool.description())
        .raw("inputSchema", tool.schema)
        .with_some("outputSchema", tool.definition.output().map(output_schema::declared))
        .with("annotations", annotations(tool.definition))
        .finish()
}

/// Returns hints for the person who allows the tool. A hint that is not set is left out: the client then assumes the
/// worst, as the protocol says.
fn annotations(tool: &ToolDefinition) -> Map<String, Value> {
    let (flags, is_read_only) = (tool.flags(), tool.category() == Category::Retrieval);
    let mut annotations = Map::from_iter([("readOnlyHint".to_owned(), is_read_only.into())]);
    let hints = [
        // The hint has no meaning for a tool that only reads.
        ("destructiveHint", flags.destructive && !is_read_only),
        ("idempotentHint", flags.idempotent),
        ("openWorldHint", flags.open_world),
    ];
    annotations.extend(hints.into_iter().filter(|(_, is_set)| *is_set).map(|(hint, _)| (hint.to_owned(), true.into())));
    annotations.extend(tool.title().map(|title| ("title".to_owned(), title.into())));
    annotations
}

/// Writes the result of `tools/call`. Data that is an object is structured content too.
fn call_result(result: &ModelResult) -> Value {
    let content = match result.content() {
        Some(parts) => parts.iter().map(write_part).collect(),
        None if result.text.is_empty() => Vec::new(),
        None => vec![json!({"type": "text", "text": result.text})],
    };
    // The protocol has `resultType` since 2026-07-28. Older clients pass over it.
    let mut written = json!({"content": content, "isError": result.is_error, "resultType": "complete"});
    if let (false, Ok(data @ Value::Object(_))) = (result.is_error, serde_json::from_str(&result.text)) {
        written["structuredContent"] = data;
    }
    written
}

fn write_part(part: &Content) -> Value {
    match part {
        Content::Text { text } => json!({"type": "text", "text": text}),
        Content::Image { data, mime_type } => json!({"type": "image", "data": data, "mimeType": mime_type}),
        Content::Audio { data, mime_type } => json!({"type": "audio", "data": data, "mimeType": mime_type}),
        Content::Resource { uri, mime_type, text } => write_resource(uri, mime_type.as_deref(), text.as_deref()),
        other => json!({"type": "text", "text": text_of(other)}),
    }
}

/// Writes a resource with its text, or a link to one without.
fn write_resource(uri: &str, mime_type: Option<&str>, text: Option<&str>) -> Value {
    let mut resource = Map::from_iter([("uri".to_owned(), uri.into())]);
    resource.extend(mime_type.map(|mime_type| ("mimeType".to_owned(), mime_type.into())));
    if let Some(text) = text {
        resource.insert("text".to_owned(), text.into());
        return json!({"type": "resource", "resource": resource});
    }
    resource.extend([("type".to_owned(), "resource_link".into()), ("name".to_owned(), uri.into())]);
    Value::Object(resource)
}
