//! The results of a server's tools, as outputs of tools, and the errors of answers that cannot be
//! read.

use crate::original::{self, Removed};
use rmcp::model::{
    CallToolResult, ContentBlock, ErrorData, RequestId, ResourceContents, ServerJsonRpcMessage,
};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;
use tool_adapters_providers::framing::frame::is_too_large_to_parse;
use tool_core::arguments::SchemaChecker;
use tool_core::call::Original;
use tool_core::text::truncate;
use tool_core::{Content, ToolError, ToolOutput};

/// Maximum number of characters of a server's error that are shown.
pub(crate) const MAX_TEXT: usize = 4_000;

/// The places that an error names at which a result violates its schema.
const MAX_PROBLEMS: usize = 5;

/// Maximum number of bytes of a message of a server.
pub(crate) const MAX_MESSAGE: usize = 16 << 20;

/// Returns the error of an answer whose values would take too much memory.
pub(crate) fn too_many_values() -> ErrorData {
    let message =
        "expected an answer with fewer values from the tool's server; ask for less at once";
    ErrorData::internal_error(message, None)
}

/// Returns the error of an answer that is too long to be read.
pub(crate) fn too_long(size: impl std::fmt::Display) -> ErrorData {
    let message = format!(
        "expected an answer of at most {MAX_MESSAGE} bytes from the tool's server, got {size}; ask for less at once"
    );
    ErrorData::internal_error(message, None)
}

/// Returns the error of an answer that cannot be read.
pub(crate) fn unreadable() -> ErrorData {
    let message = "the answer of the tool's server cannot be read: it is not JSON, does not follow the protocol, or nests deeper than 128";
    ErrorData::internal_error(message, None)
}

/// Returns the message that fails a request.
pub(crate) fn failure(error: ErrorData, id: RequestId) -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::error(error, Some(id))
}

/// The result of a call.
#[derive(Debug)]
pub(crate) struct Answer<'a> {
    /// The result as it is passed on.
    passed_on: Cow<'a, str>,
    is_error: bool,
    data: Option<Value>,
    parts: Vec<Content>,
}

/// The members of a result whose parts are texts.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TextResult<'a> {
    #[serde(borrow)]
    content: Vec<TextPart<'a>>,
    // `null` is structured content, too.
    #[serde(default, deserialize_with = "given")]
    structured_content: Option<Value>,
    #[serde(default, deserialize_with = "given")]
    is_error: Option<bool>,
    #[serde(rename = "_meta")]
    meta: Option<IgnoredAny>,
    // What holds for one connection.
    result_type: Option<IgnoredAny>,
    next_cursor: Option<IgnoredAny>,
    ttl_ms: Option<IgnoredAny>,
    cache_scope: Option<IgnoredAny>,
}

impl TextResult<'_> {
    /// Returns true if all members are passed on as they are.
    fn is_plain(&self) -> bool {
        let others = [
            &self.meta,
            &self.result_type,
            &self.next_cursor,
            &self.ttl_ms,
            &self.cache_scope,
        ];
        others.iter().all(|member| member.is_none())
    }
}

#[derive(Deserialize)]
struct TextPart<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    text: String,
}

fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(value: D) -> Result<Option<T>, D::Error> {
    T::deserialize(value).map(Some)
}

impl<'a> Answer<'a> {
    /// Reads a result in which `removed` was masked. Returns `None` if it is no result of a call.
    pub(crate) fn read(result: &'a str, removed: &[Removed]) -> Option<Self> {
        Self::read_texts(result, removed).or_else(|| Self::read_parts(result, removed))
    }

    /// Reads a result whose parts are texts, as nearly all are.
    fn read_texts(result: &'a str, removed: &[Removed]) -> Option<Self> {
        let read = serde_json::from_str::<TextResult<'_>>(result).ok()?;
        if read.content.iter().any(|part| part.kind != "text") {
            return None;
        }
        let passed_on = if removed.is_empty() && read.is_plain() {
            original::on_one_line(result)
        } else {
            original::passed_on(result, removed)
        };
        let parts = read
            .content
            .into_iter()
            .map(|part| Content::text(part.text))
            .collect();
        Some(Self {
            passed_on,
            is_error: read.is_error == Some(true),
            data: read.structured_content,
            parts,
        })
    }

    fn read_parts(result: &'a str, removed: &[Removed]) -> Option<Self> {
        if let Ok(read) = serde_json::from_str::<CallToolResult>(result) {
            let passed_on = original::passed_on(result, removed);
            let parts = read.content.into_iter().map(content).collect();
            return Some(Self {
                passed_on,
                is_error: read.is_error == Some(true),
                data: read.structured_content,
                parts,
            });
        }
        Self::of_value(serde_json::from_str(result).ok()?, removed)
    }

    /// Reads a result that has parts of an unknown kind, which are kept as text, or members of
    /// another form, which are left out.
    fn of_value(mut result: Value, removed: &[Removed]) -> Option<Self> {
        let members = result.as_object_mut()?;
        let is_error = members.get("isError").and_then(Value::as_bool);
        let data = members.get("structuredContent").cloned();
        let parts = members.get("content").and_then(Value::as_array).cloned();
        if is_error.is_none() && data.is_none() && parts.is_none() {
            return None;
        }
        if is_error.is_none() {
            members.shift_remove("isError");
        }
        let parts = parts.unwrap_or_default().into_iter();
        let parts = parts.map(|part| {
            ContentBlock::deserialize(&part)
                .map_or_else(|_| Content::text(part.to_string()), content)
        });
        let parts = parts.collect::<Vec<_>>();
        if let Some(Value::Array(sent)) = members.get_mut("content") {
            for (part, read) in sent
                .iter_mut()
                .zip(&parts)
                .filter(|(part, _)| !part.is_object())
            {
                *part = json!({"type": "text", "text": text_of(read)});
            }
        } else {
            // Clients need the member, and older ones the data in it.
            let text = data
                .iter()
                .map(|data| json!({"type": "text", "text": data.to_string()}));
            let text = text.collect::<Vec<_>>();
            members.insert("content".to_owned(), text.into());
        }
        let passed_on = Cow::Owned(original::passed_on(&result.to_string(), removed).into_owned());
        Some(Self {
            passed_on,
            is_error: is_error == Some(true),
            data,
            parts,
        })
    }

    /// Converts the result of a tool of this server. It is checked before it is cut to the maximum
    /// size of a result.
    pub(crate) fn into_output(
        self,
        server: &str,
        schema: Option<&SchemaChecker>,
    ) -> Result<ToolOutput, ToolError> {
        let original = Original::new(self.passed_on, original::shorten);
        if self.is_error {
            let text = self
                .parts
                .iter()
                .filter_map(text_of)
                .collect::<Vec<_>>()
                .join("\n");
            let text = if text.is_empty() {
                "the tool failed"
            } else {
                &text
            };
            return Ok(
                ToolOutput::failed(ToolError::permanent(truncate(text, MAX_TEXT)))
                    .original(original),
            );
        }
        let violation = |problem: &str| {
            let server = server.escape_debug();
            ToolError::permanent(format!(
                "the server `{server}` violates the output schema of its tool: {problem}"
            ))
        };
        match (self.data, schema) {
            (None, Some(_)) => Err(violation("the result has no `structuredContent`")),
            (None, None) => Ok(ToolOutput::content(self.parts).original(original)),
            (Some(data), schema) => {
                let problems = schema
                    .map(|schema| schema.problems(&data))
                    .unwrap_or_default();
                if problems.is_empty() {
                    let repeats = self.parts.is_empty() || repeats(&self.parts, &data);
                    let output = ToolOutput::new(data).original(original);
                    return Ok(if repeats {
                        output
                    } else {
                        output.with_content(self.parts)
                    });
                }
                let shown =
                    problems
                        .iter()
                        .take(MAX_PROBLEMS)
                        .map(|problem| match &*problem.pointer {
                            "" => problem
                                .to_string()
                                .replacen("arguments: ", "the result: ", 1),
                            _ => problem.to_string(),
                        });
                let shown = shown.collect::<Vec<_>>().join("; ");
                Err(violation(&truncate(&shown, MAX_TEXT)))
            }
        }
    }
}

/// Returns true if the parts are the data as JSON, or the value that a server has wrapped as
/// `{"result": ..}`, as most servers send it again for older clients.
fn repeats(parts: &[Content], data: &Value) -> bool {
    let [Content::Text { text }] = parts else {
        return false;
    };
    if is_too_large_to_parse(text.as_bytes()) {
        return false;
    }
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return false;
    };
    value == *data || data.get("result") == Some(&value)
}

fn text_of(part: &Content) -> Option<&str> {
    match part {
        Content::Text { text }
        | Content::Resource {
            text: Some(text), ..
        } => Some(text),
        _ => None,
    }
}

/// Reads a part. One of an unknown kind is kept as text.
pub(crate) fn part(part: &RawValue) -> Content {
    serde_json::from_str(part.get()).map_or_else(|_| Content::text(part.get()), content)
}

pub(crate) fn content(block: ContentBlock) -> Content {
    match block {
        ContentBlock::Text(text) => Content::text(text.text),
        ContentBlock::Image(image) => Content::image(image.data, image.mime_type),
        ContentBlock::Audio(audio) => Content::audio(audio.data, audio.mime_type),
        ContentBlock::ResourceLink(link) => Content::Resource {
            uri: link.uri,
            mime_type: link.mime_type,
            text: None,
            name: None,
        },
        ContentBlock::Resource(resource) => match resource.resource {
            ResourceContents::TextResourceContents {
                uri,
                mime_type,
                text,
                ..
            } => Content::Resource {
                uri,
                mime_type,
                text: Some(text),
                name: None,
            },
            ResourceContents::BlobResourceContents {
                mime_type, blob, ..
            } => embedded(mime_type, blob),
            other => as_text(&other),
        },
        other => as_text(&other),
    }
}

/// Converts a part of a newer kind.
fn as_text(part: &impl Serialize) -> Content {
    Content::text(serde_json::to_string(part).unwrap_or_default())
}

/// Returns bytes in base64 as a part.
pub(crate) fn embedded(mime_type: Option<String>, base64: String) -> Content {
    let mime_type = mime_type.unwrap_or_else(|| "application/octet-stream".to_owned());
    match mime_type.split('/').next() {
        Some("image") => Content::image(base64, mime_type),
        Some("audio") => Content::audio(base64, mime_type),
        _ => Content::Resource {
            uri: format!("data:{mime_type};base64,{base64}"),
            mime_type: Some(mime_type),
            text: None,
            name: None,
        },
    }
}
