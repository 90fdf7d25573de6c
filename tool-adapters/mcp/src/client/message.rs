//! The one reader of a server's messages, from their text. Calls and rmcp get them as they were
//! read.

use crate::client::answer::{too_many_values, unreadable};
use crate::client::direct;
use crate::client::rights::with_unknown_modes;
use crate::client::tasks::TaskTools;
use crate::original;
use memchr::memmem;
use rmcp::model::{ErrorData, JsonRpcVersion2_0, RequestId, ServerJsonRpcMessage};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use tool_adapters_providers::framing::frame::is_too_large_to_parse;

/// Reads the messages of a connection.
#[derive(Clone)]
pub(crate) struct MessageReader {
    tasks: TaskTools,
    /// True over HTTP, where rmcp checks tools that name headers for their arguments, and sends
    /// these headers. So it has to read a list of such tools itself.
    rmcp_reads_headers: bool,
}

/// The reason why a message is not read.
#[derive(Debug, PartialEq)]
pub(crate) enum ReadError {
    /// Its values would take too much memory.
    TooManyValues,
    Unreadable,
}

impl From<ReadError> for ErrorData {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::TooManyValues => too_many_values(),
            ReadError::Unreadable => unreadable(),
        }
    }
}

/// The members of a message by which an answer is known.
#[derive(Deserialize)]
struct AnswerMessage<'a> {
    #[serde(rename = "jsonrpc")]
    _version: JsonRpcVersion2_0,
    id: Option<RequestId>,
    method: Option<IgnoredAny>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    error: Option<ErrorData>,
}

impl MessageReader {
    pub(crate) fn over_lines(tasks: TaskTools) -> Self {
        Self {
            tasks,
            rmcp_reads_headers: false,
        }
    }

    pub(crate) fn over_http(tasks: TaskTools) -> Self {
        Self {
            tasks,
            rmcp_reads_headers: true,
        }
    }

    /// Reads a message. The result of a call, and one that is passed on, is kept as the text that
    /// the server has sent.
    pub(crate) fn read(&self, text: &[u8]) -> Result<ServerJsonRpcMessage, ReadError> {
        if is_too_large_to_parse(text) {
            return Err(ReadError::TooManyValues);
        }
        self.tasks.note(text);
        let marked = with_unknown_modes(text).map(|message| message.to_string());
        let text = marked.as_ref().map_or(text, |marked| marked.as_bytes());
        if let Some(answer) = self.read_answer(text) {
            return Ok(answer);
        }
        serde_json::from_slice(text).map_err(|_| ReadError::Unreadable)
    }

    /// Reads an answer, unless rmcp's types are needed for its result.
    fn read_answer(&self, text: &[u8]) -> Option<ServerJsonRpcMessage> {
        let answer = serde_json::from_slice::<AnswerMessage<'_>>(text).ok()?;
        if answer.method.is_some() {
            return None;
        }
        if let Some(error) = answer.error {
            return Some(ServerJsonRpcMessage::error(error, answer.id));
        }
        let id = answer.id?;
        let result = answer.result?.get();
        let is_kept = direct::is_call(&id)
            || (original::is_passed_on(result) && !self.is_for_rmcp(result.as_bytes()));
        is_kept.then(|| ServerJsonRpcMessage::response(original::sealed(result), id))
    }

    fn is_for_rmcp(&self, result: &[u8]) -> bool {
        self.rmcp_reads_headers
            && memmem::find(result, b"\"x-mcp-header\"").is_some()
            && memmem::find(result, b"\"tools\"").is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::ServerResult;

    const CALL: i64 = 1_000_000_007;

    fn read(text: &str) -> Result<ServerJsonRpcMessage, ReadError> {
        MessageReader::over_http(TaskTools::default()).read(text.as_bytes())
    }

    fn result(id: i64, result: &str) -> Option<ServerResult> {
        let text = format!(r#"{{"jsonrpc": "2.0", "id": {id}, "result": {result}}}"#);
        match read(&text) {
            Ok(ServerJsonRpcMessage::Response(response)) => Some(response.result),
            _ => None,
        }
    }

    fn is_kept(id: i64, text: &str) -> bool {
        let Some(ServerResult::CustomResult(kept)) = result(id, text) else {
            return false;
        };
        kept.0 == text
    }

    #[test]
    fn results_that_are_passed_on_are_kept_as_text() {
        for kept in [r#"{"content": [], "new": 1.0}"#, r#"{"tools": []}"#] {
            assert!(is_kept(CALL, kept) && is_kept(1, kept), "{kept}");
        }
        // What a call gets is decided where it is made.
        for other in [r#"{"task": {"taskId": "t"}}"#, "{}", "[1]"] {
            assert!(is_kept(CALL, other) && !is_kept(1, other), "{other}");
        }
    }

    #[test]
    fn a_list_of_tools_with_headers_is_read_by_rmcp() {
        let listed = r#"{"tools": [{"name": "a", "inputSchema": {"type": "object", "properties": {"b": {"type": "string", "x-mcp-header": "B"}}}}]}"#;
        assert!(matches!(
            result(1, listed),
            Some(ServerResult::ListToolsResult(_))
        ));
    }

    #[test]
    fn an_answer_with_an_error_is_an_error() {
        for id in ["null", "1", "1000000007"] {
            let text = format!(
                r#"{{"jsonrpc": "2.0", "id": {id}, "result": null, "error": {{"code": 5, "message": "no"}}}}"#
            );
            let Ok(ServerJsonRpcMessage::Error(error)) = read(&text) else {
                panic!("{text}");
            };
            assert_eq!(error.error.code.0, 5);
        }
    }

    #[test]
    fn an_answer_of_another_version_is_not_read() {
        for version in [r#""1.0""#, "2.0", "null"] {
            let text =
                format!(r#"{{"jsonrpc": {version}, "id": {CALL}, "result": {{"content": []}}}}"#);
            assert!(read(&text).is_err(), "{text}");
        }
    }
}
