//! One of the server's tools as a raw function tool.

use crate::mcp::client::remote::RemoteServer;
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
    Category, Content, FunctionTool, RawTool, RegistryErrors, RunContext, ToolContext, ToolError, ToolOutput, tool,
    trace,
};

/// The state of an imported tool.
struct RemoteTool {
    remote: Arc<RemoteServer>,
    /// The name that the server gives the tool.
    name: String,
    read_only: bool,
    has_output_schema: bool,
}

/// Converts a declaration into a tool. Fails if it cannot be registered.
pub(crate) fn import_tool(
    remote: &Arc<RemoteServer>,
    declared: &Tool,
    prefix: Option<&str>,
) -> Result<FunctionTool, RegistryErrors> {
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
    let state = RemoteTool {
        remote: Arc::clone(remote),
        name: declared.name.to_string(),
        read_only: annotations.read_only_hint == Some(true),
        has_output_schema: declared.output_schema.is_some(),
    };
    let handler = async |tool: &RemoteTool, arguments: Value, _: &RunContext| tool.call(arguments).await;
    let tool = FunctionTool::raw_output_with(raw, state, handler).validate(true).timeout(remote.options.timeout);
    let mut tool = annotate(&tool, &annotations);
    if let Some(title) = declared.title.as_ref().or(annotations.title.as_ref()) {
        tool = tool.title(title);
    }
    if let Some(output) = &declared.output_schema {
        tool = tool.output_schema(Value::Object((**output).clone()));
    }
    // Registered alone first, so that an invalid tool does not keep the others out.
    ToolContext::builder().with(tool.clone()).build().map(|_| tool)
}

/// Sets the category and the annotations. Missing hints get the protocol's defaults, which assume the worst.
fn annotate(tool: &FunctionTool, hints: &ToolAnnotations) -> FunctionTool {
    let read_only = hints.read_only_hint == Some(true);
    let annotations = tool::ToolAnnotations {
        idempotent: hints.is_idempotent(),
        destructive: !read_only && hints.is_destructive(),
        open_world: hints.open_world_hint != Some(false),
        ..tool::ToolAnnotations::default()
    };
    tool.category(if read_only { Category::Retrieval } else { Category::Action }).flags(annotations)
}

impl RemoteTool {
    async fn call(&self, arguments: Value) -> Result<ToolOutput, ToolError> {
        if let Some(quarantined) = self.remote.quarantined(&self.name) {
            return Err(ToolError::permanent(format!("the tool was not called: {quarantined}")));
        }
        let mut request = CallToolRequestParams::new(self.name.clone());
        if let Value::Object(arguments) = arguments {
            request = request.with_arguments(arguments);
        }
        match self.send(request).await {
            Ok(CallToolResponse::Complete(result)) => convert_result(result, self.has_output_schema),
            Ok(_) => Err(ToolError::permanent("the server asks for user input, which a call cannot give")),
            Err(error) => Err(self.convert_error(error)),
        }
    }

    fn convert_error(&self, error: ServiceError) -> ToolError {
        let error = match error {
            ServiceError::McpError(error) => return ToolError::permanent(excerpt(&error.message)),
            ServiceError::TransportSend(_) | ServiceError::TransportClosed => {
                ToolError::transient("the connection to the tool's server is lost; the call may have had effects")
            }
            ServiceError::Timeout { .. } => ToolError::transient("the tool's server did not answer in time"),
            error => {
                tracing::warn!(tool = %self.name.escape_debug(), %error, "failed to read the answer of a server");
                ToolError::permanent("the answer of the tool's server cannot be read")
            }
        };
        error.partial_side_effects(!self.read_only)
    }

    /// Sends a `tools/call` request with the trace, and describes it on the span of the call. Dropping the future
    /// notifies the server that the call is cancelled.
    async fn send(&self, mut params: CallToolRequestParams) -> Result<CallToolResponse, ServiceError> {
        for (name, value) in trace::export().to_pairs() {
            if name != "baggage" || self.remote.options.baggage {
                params.meta_or_default().insert(name.to_owned(), value.into());
            }
        }
        let peer = &self.remote.peer;
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sent = peer.send_request_with_option(request, PeerRequestOptions::no_options()).await?;
        self.set_attributes(&sent.id);
        let mut cancel = CancelOnDrop { peer, id: Some(sent.id.clone()) };
        let answer = sent.await_response().await;
        cancel.id = None;
        match answer? {
            ServerResult::CallToolResult(result) => Ok(CallToolResponse::Complete(result)),
            ServerResult::InputRequiredResult(result) => Ok(CallToolResponse::InputRequired(result)),
            ServerResult::CreateTaskResult(result) => Ok(CallToolResponse::Task(result)),
            _ => Err(ServiceError::UnexpectedResponse),
        }
    }

    fn set_attributes(&self, id: &RequestId) {
        trace::attribute("mcp.method.name", "tools/call");
        trace::attribute("jsonrpc.request.id", id.to_string());
        if let Some(info) = self.remote.peer.peer_info() {
            trace::attribute("mcp.protocol.version", info.protocol_version.as_str());
        }
        if let Some(transport) = self.remote.transport {
            trace::attribute("network.transport", transport);
        }
    }
}

/// Notifies the server that a call is cancelled, unless its id was taken.
struct CancelOnDrop<'a> {
    peer: &'a Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let peer = self.peer.clone();
            let reason = Some("the caller no longer waits for the result".to_owned());
            runtime.spawn(async move {
                if let Err(error) = peer.notify_cancelled(CancelledNotificationParam::new(Some(id), reason)).await {
                    tracing::debug!(%error, "failed to notify a server of a cancelled call");
                }
            });
        }
    }
}

fn convert_result(result: CallToolResult, has_output_schema: bool) -> Result<ToolOutput, ToolError> {
    if result.is_error == Some(true) {
        let texts = result.content.iter().filter_map(ContentBlock::as_text).map(|text| text.text.as_str());
        let text = texts.collect::<Vec<_>>().join("\n");
        return Err(ToolError::permanent(if text.is_empty() { "the tool failed".to_owned() } else { excerpt(&text) }));
    }
    match result.structured_content {
        Some(data) => Ok(ToolOutput::new(data)),
        None if has_output_schema => {
            Err(ToolError::permanent("the server sent no structured result, although the tool has an output schema"))
        }
        None => Ok(ToolOutput::content(result.content.into_iter().map(content))),
    }
}

/// Returns the beginning of a text of the server.
fn excerpt(text: &str) -> String {
    truncate(text, 4_000)
}

fn content(block: ContentBlock) -> Content {
    let unknown = || Content::text("[unknown kind of content]");
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
            _ => unknown(),
        },
        _ => unknown(),
    }
}
