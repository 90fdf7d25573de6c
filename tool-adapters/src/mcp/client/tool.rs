//! One of the server's tools as a raw function tool.

use crate::mcp::client::remote::Remote;
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResponse, CallToolResult, CancelledNotificationParam,
    ClientRequest, ContentBlock, RequestId, RequestParamsMeta, ResourceContents, ServerResult, Tool, ToolAnnotations,
};
use rmcp::service::{Peer, PeerRequestOptions, ServiceError};
use serde_json::Value;
use std::sync::Arc;
use tool_core::text::truncate;
use tool_core::{
    Category, Content, FunctionTool, RawTool, RunContext, ToolContext, ToolError, ToolOutput, tool, trace,
};

/// What a call needs.
struct Called {
    remote: Arc<Remote>,
    /// As the server calls it.
    name: String,
    reads: bool,
    promised: bool,
}

/// The tool, or why there is none of it.
pub(crate) fn made(remote: &Arc<Remote>, declared: &Tool, prefix: Option<&str>) -> Result<FunctionTool, String> {
    let annotations = declared.annotations.clone().unwrap_or_default();
    let name = match prefix {
        Some(prefix) => format!("{prefix}_{}", declared.name),
        None => declared.name.to_string(),
    };
    let raw = RawTool {
        name,
        description: declared.description.as_deref().unwrap_or_default().to_owned(),
        parameters: Value::Object((*declared.input_schema).clone()),
    };
    let called = Called {
        remote: Arc::clone(remote),
        name: declared.name.to_string(),
        reads: annotations.read_only_hint == Some(true),
        promised: declared.output_schema.is_some(),
    };
    let tool = FunctionTool::raw_output_with(raw, called, async |called: &Called, arguments: Value, _: &RunContext| {
        call(called, arguments).await
    });
    let mut tool = described(&tool.validate(true).timeout(remote.timeout()), &annotations);
    if let Some(title) = declared.title.as_ref().or(annotations.title.as_ref()) {
        tool = tool.title(title);
    }
    if let Some(output) = &declared.output_schema {
        tool = tool.output_schema(Value::Object((**output).clone()));
    }
    // By itself first: what is wrong with one must not keep the others out. References elsewhere are not followed.
    ToolContext::builder().with(tool.clone()).build().map(|_| tool).map_err(|problems| problems.to_string())
}

/// What the server says of its tool, with the protocol's own defaults: the worst.
fn described(tool: &FunctionTool, said: &ToolAnnotations) -> FunctionTool {
    let reads = said.read_only_hint == Some(true);
    let flags = tool::ToolAnnotations {
        idempotent: said.is_idempotent(),
        destructive: !reads && said.is_destructive(),
        open_world: said.open_world_hint != Some(false),
        ..tool::ToolAnnotations::default()
    };
    tool.category(if reads { Category::Retrieval } else { Category::Action }).flags(flags)
}

async fn call(called: &Called, arguments: Value) -> Result<ToolOutput, ToolError> {
    if let Some(held) = called.remote.why_held(&called.name) {
        return Err(ToolError::permanent(format!("it was not called: {held}")));
    }
    let mut request = CallToolRequestParams::new(called.name.clone());
    if let Value::Object(arguments) = arguments {
        request = request.with_arguments(arguments);
    }
    // Dropped half way, as when it is cancelled or late, it has the server told.
    match send(&called.remote, request).await {
        Ok(CallToolResponse::Complete(given)) => read(given, called.promised),
        Ok(_) => Err(ToolError::permanent("the server wants more of its user than a call can give it")),
        Err(error) => Err(failed(called, error)),
    }
}

fn failed(called: &Called, error: ServiceError) -> ToolError {
    match error {
        ServiceError::McpError(error) => ToolError::permanent(said(&error.message)),
        ServiceError::TransportSend(_) | ServiceError::TransportClosed => {
            let gone = ToolError::transient("the server of this tool is gone, and may have done something before");
            gone.partial_side_effects(!called.reads)
        }
        ServiceError::Timeout { .. } => {
            ToolError::transient("the server of this tool did not answer in time").partial_side_effects(!called.reads)
        }
        other => {
            tracing::warn!(tool = %called.name.escape_debug(), error = %other, "a server's answer was none");
            ToolError::permanent("the server of this tool gave no answer that can be read")
                .partial_side_effects(!called.reads)
        }
    }
}

// ---- One `tools/call` request: it takes the trace along, its span knows it by its id, and it is taken back when nobody
// waits for it any longer.

/// The baggage has the run and the customer.
const BAGGAGE: &str = "baggage";

pub(crate) async fn send(remote: &Remote, mut params: CallToolRequestParams) -> Result<CallToolResponse, ServiceError> {
    for (name, value) in trace::export().to_pairs() {
        if name != BAGGAGE || remote.shares_baggage() {
            params.meta_or_default().insert(name.to_owned(), value.into());
        }
    }
    let peer = remote.peer();
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    let sent = peer.send_request_with_option(request, PeerRequestOptions::no_options()).await?;
    describe(remote, &sent.id);
    let mut waiting = Waiting { peer, id: Some(sent.id.clone()) };
    let answer = sent.await_response().await;
    waiting.id = None;
    match answer? {
        ServerResult::CallToolResult(result) => Ok(CallToolResponse::Complete(result)),
        ServerResult::InputRequiredResult(result) => Ok(CallToolResponse::InputRequired(result)),
        ServerResult::CreateTaskResult(result) => Ok(CallToolResponse::Task(result)),
        _ => Err(ServiceError::UnexpectedResponse),
    }
}

/// Says on the span of the call what request it is, in place of a second span.
fn describe(remote: &Remote, id: &RequestId) {
    trace::attribute("mcp.method.name", "tools/call");
    trace::attribute("jsonrpc.request.id", id.to_string());
    if let Some(info) = remote.peer().peer_info() {
        trace::attribute("mcp.protocol.version", info.protocol_version.as_str());
    }
    if let Some(transport) = remote.transport() {
        trace::attribute("network.transport", transport);
    }
}

/// Tells the server when it is dropped before there is an answer.
struct Waiting<'a> {
    peer: &'a Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let peer = self.peer.clone();
            let why = Some("nobody waits for it any longer".to_owned());
            runtime.spawn(async move {
                if let Err(error) = peer.notify_cancelled(CancelledNotificationParam::new(Some(id), why)).await {
                    tracing::debug!(%error, "a server could not be told that a call is taken back");
                }
            });
        }
    }
}

// ---- What a call of a server's tool gives. All of it is data, whatever it says.

/// The characters of a server's error that are passed on.
const SAID: usize = 4_000;

pub(crate) fn read(given: CallToolResult, promised: bool) -> Result<ToolOutput, ToolError> {
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
pub(crate) fn said(text: &str) -> String {
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
