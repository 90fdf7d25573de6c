//! Answers that say more than the types of rmcp can: those of other servers, which are passed on.
//!
//! The handler returns an answer of rmcp's type, which has what holds for this connection, and
//! carries the rest as text in its metadata. The transport makes one result of both.

use crate::original::OF_CONNECTION;
use axum::body::{Body, Bytes};
use axum::response::Response;
use futures_util::StreamExt;
use memchr::memmem;
use rmcp::model::{
    CustomResult, JsonRpcMessage, MetaObject, RequestId, ServerJsonRpcMessage, ServerResult,
};
use serde_json::Value;

/// The member of metadata that carries the members of a result to the transport. Nothing else sets
/// it, as no server sets a member with this beginning.
const PASSED_ON: &str = "tool-adapters/passed-on";

/// Returns the members of a page of a list. The entries are JSON.
pub(crate) fn list(member: &str, entries: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let mut text = format!(r#"{{"{member}":["#);
    for (at, entry) in entries.into_iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        text.push_str(entry.as_ref());
    }
    text.push_str("]}");
    text
}

/// Returns the metadata that carries the members of a result, as JSON.
pub(crate) fn carrying(result: String) -> MetaObject {
    MetaObject(
        [(PASSED_ON.to_owned(), Value::String(result))]
            .into_iter()
            .collect(),
    )
}

/// Takes the members that an answer carries.
fn take(answer: &mut ServerResult) -> Option<String> {
    let meta = match answer {
        ServerResult::CallToolResult(result) => &mut result.meta,
        ServerResult::ListToolsResult(result) => &mut result.meta,
        ServerResult::ListPromptsResult(result) => &mut result.meta,
        ServerResult::GetPromptResult(result) => &mut result.meta,
        ServerResult::ListResourcesResult(result) => &mut result.meta,
        ServerResult::ListResourceTemplatesResult(result) => &mut result.meta,
        ServerResult::ReadResourceResult(result) => &mut result.meta,
        _ => return None,
    };
    match meta.as_mut()?.0.remove(PASSED_ON)? {
        Value::String(result) => Some(result),
        _ => None,
    }
}

/// Returns the result that has these members, and of an answer of rmcp's type what holds for this
/// connection.
pub(crate) fn completed(result: &str, answer: &ServerResult) -> String {
    let typed = serde_json::to_value(answer).unwrap_or_default();
    let mut text = result.strip_suffix('}').unwrap_or_default().to_owned();
    for name in OF_CONNECTION {
        if let Some(value) = typed.get(name) {
            if text.len() > 1 {
                text.push(',');
            }
            text.push('"');
            text.push_str(name);
            text.push_str("\":");
            text.push_str(&value.to_string());
        }
    }
    text.push('}');
    text
}

/// Returns the message with a result that is JSON.
pub(crate) fn message(id: &RequestId, result: &str) -> Option<String> {
    let id = serde_json::to_string(id).ok()?;
    let parts = [
        r#"{"jsonrpc":"2.0","id":"#,
        &id,
        r#","result":"#,
        result,
        "}",
    ];
    Some(parts.concat())
}

/// Returns the text of a message whose result carries members.
pub(crate) fn text_of(sent: &mut ServerJsonRpcMessage) -> Option<String> {
    let JsonRpcMessage::Response(response) = sent else {
        return None;
    };
    let result = take(&mut response.result)?;
    message(&response.id, &completed(&result, &response.result))
}

/// Completes a message whose result carries members.
pub(crate) fn complete(mut sent: ServerJsonRpcMessage) -> ServerJsonRpcMessage {
    if let JsonRpcMessage::Response(response) = &mut sent
        && let Some(result) = take(&mut response.result)
        && let Ok(result) = serde_json::from_str(&completed(&result, &response.result))
    {
        response.result = ServerResult::CustomResult(CustomResult::new(result));
    }
    sent
}

/// Completes the answer to a request over HTTP, in which rmcp has written each message as an event,
/// or the only one as JSON.
pub(crate) fn complete_response(response: Response) -> Response {
    response.map(|body| {
        Body::from_stream(
            body.into_data_stream()
                .map(|chunk| chunk.map(completed_chunk)),
        )
    })
}

fn completed_chunk(chunk: Bytes) -> Bytes {
    if memmem::find(&chunk, PASSED_ON.as_bytes()).is_none() {
        return chunk;
    }
    let text = String::from_utf8_lossy(&chunk);
    let lines = text.split_inclusive('\n').map(|line| {
        let (start, sent) = match line.strip_prefix("data:") {
            Some(sent) => ("data: ", sent),
            None => ("", line),
        };
        let read = serde_json::from_str::<ServerJsonRpcMessage>(sent.trim()).ok();
        match read.and_then(|mut sent| text_of(&mut sent)) {
            Some(completed) => format!(
                "{start}{completed}{}",
                if line.ends_with('\n') { "\n" } else { "" }
            ),
            None => line.to_owned(),
        }
    });
    lines.collect::<String>().into()
}
