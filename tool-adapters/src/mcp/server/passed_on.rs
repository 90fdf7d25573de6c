//! Answers that say more than the types of rmcp can: those of other servers, which are passed on.
//!
//! The handler returns an answer of rmcp's type, which has what holds for this connection, and leaves the rest here as text. The transport
//! puts both together.

use crate::mcp::original::OF_CONNECTION;
use crate::mcp::server::connection::Connection;
use crate::mcp::server::session::{ServerContext, http_parts};
use axum::body::{Body, Bytes};
use axum::response::Response;
use futures_util::StreamExt;
use rmcp::model::{CustomResult, JsonRpcMessage, RequestId, ServerJsonRpcMessage, ServerResult};
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The answers that wait for their transport. A cancelled request leaves one behind.
const MAX_WAITING: usize = 256;

/// The answers that are passed on, until they are sent. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct PassedOn(Arc<Mutex<VecDeque<PassedAnswer>>>);

struct PassedAnswer {
    id: RequestId,
    /// The member by which the answer of rmcp's type is known, such as `tools`.
    member: &'static str,
    /// The members of the result, as JSON.
    result: String,
}

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

/// Returns the result that has these members, and of an answer of rmcp's type what holds for this connection.
pub(crate) fn completed(result: &str, answer: &ServerResult) -> String {
    let typed = serde_json::to_value(answer).unwrap_or_default();
    let mut text = result.strip_suffix('}').unwrap_or_default().to_owned();
    for name in OF_CONNECTION {
        if let Some(value) = typed.get(name) {
            let comma = if text.len() > 1 { "," } else { "" };
            text.push_str(&format!(r#"{comma}"{name}":{value}"#));
        }
    }
    text.push('}');
    text
}

impl PassedOn {
    /// Returns the place for the answer to a request. A request over HTTP without a session has its own.
    fn of<'a>(connection: &'a Connection, context: &'a ServerContext) -> &'a Self {
        let own = http_parts(context).and_then(|parts| parts.extensions.get::<Self>());
        own.unwrap_or(&connection.passed_on)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<PassedAnswer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves the members of a result for the transport.
    pub(crate) fn put(connection: &Connection, context: &ServerContext, member: &'static str, result: String) {
        let mut waiting = Self::of(connection, context).lock();
        waiting.retain(|answer| answer.id != context.id);
        if waiting.len() == MAX_WAITING {
            waiting.pop_front();
        }
        waiting.push_back(PassedAnswer { id: context.id.clone(), member, result });
    }

    fn take(&self, id: &RequestId) -> Option<PassedAnswer> {
        let mut waiting = self.lock();
        let at = waiting.iter().position(|answer| answer.id == *id)?;
        waiting.remove(at)
    }

    /// Returns the text of the result of a message, if it is one that is passed on.
    fn result_of(&self, message: &ServerJsonRpcMessage) -> Option<(RequestId, String)> {
        match message {
            JsonRpcMessage::Response(response) => {
                let PassedAnswer { id, member, result } = self.take(&response.id)?;
                let typed = serde_json::to_value(&response.result).ok()?;
                // Another answer is one to a later request of this id.
                typed.get(member)?;
                Some((id, completed(&result, &response.result)))
            }
            JsonRpcMessage::Error(error) => {
                error.id.as_ref().and_then(|id| self.take(id));
                None
            }
            _ => None,
        }
    }

    /// Returns the text of a message that is passed on.
    pub(crate) fn text_of(&self, message: &ServerJsonRpcMessage) -> Option<String> {
        let (id, result) = self.result_of(message)?;
        let id = serde_json::to_string(&id).ok()?;
        Some(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
    }

    /// Completes a message that is passed on.
    pub(crate) fn complete(&self, mut message: ServerJsonRpcMessage) -> ServerJsonRpcMessage {
        let result = self.result_of(&message).and_then(|(_, result)| serde_json::from_str::<Value>(&result).ok());
        if let (JsonRpcMessage::Response(response), Some(result)) = (&mut message, result) {
            response.result = ServerResult::CustomResult(CustomResult::new(result));
        }
        message
    }

    /// Completes the answer to a request over HTTP, in which rmcp has written each message as an event, or the only one as JSON.
    pub(crate) fn complete_response(self, response: Response) -> Response {
        response.map(|body| {
            Body::from_stream(body.into_data_stream().map(move |chunk| chunk.map(|chunk| self.chunk(chunk))))
        })
    }

    fn chunk(&self, chunk: Bytes) -> Bytes {
        if self.lock().is_empty() {
            return chunk;
        }
        let text = String::from_utf8_lossy(&chunk);
        let mut is_changed = false;
        let lines = text.split_inclusive('\n').map(|line| {
            let (start, message) = match line.strip_prefix("data:") {
                Some(message) => ("data: ", message),
                None => ("", line),
            };
            let read = serde_json::from_str::<ServerJsonRpcMessage>(message.trim()).ok();
            match read.and_then(|message| self.text_of(&message)) {
                Some(message) => {
                    is_changed = true;
                    let end = if line.ends_with('\n') { "\n" } else { "" };
                    format!("{start}{message}{end}")
                }
                None => line.to_owned(),
            }
        });
        let completed = lines.collect::<String>();
        if is_changed { completed.into() } else { chunk }
    }
}
