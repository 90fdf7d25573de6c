//! The import of a server's tools as a toolset of raw function tools, and their calls.

use crate::mcp::client::address::ServerAddress;
use crate::mcp::client::credentials::{Credentials, parse_url};
use crate::mcp::client::error::ImportError;
use crate::mcp::client::names::{self, KEY};
use crate::mcp::client::pins::Pins;
use crate::mcp::client::quarantine::QuarantinedTool;
use crate::mcp::client::remote::{RemoteOptions, RemoteServer};
use rmcp::RoleClient;
use rmcp::model::{
    self, CallToolRequest, CallToolRequestParams, CallToolResult, CancelledNotificationParam, ClientRequest,
    ContentBlock, RequestId, RequestParamsMeta, ResourceContents, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, ServiceError};
use serde_json::Value;
use std::ffi::OsStr;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tool_core::text::truncate;
use tool_core::tool::{self, LifecycleFuture};
use tool_core::{
    Category, Content, FunctionTool, RawTool, RegistryErrors, RunContext, Tool, ToolContext, ToolError, ToolOutput,
    Toolset, trace,
};
use zeroize::Zeroizing;

/// A builder that connects to a server and imports its tools.
///
/// ```no_run
/// use std::process::Command;
/// use tool_adapters::mcp::{McpClient, Pins};
/// use tool_core::ToolContext;
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let mut command = Command::new("npx");
/// command.args(["-y", "@modelcontextprotocol/server-everything"]);
/// let everything = McpClient::command(command).prefix("everything").pins(Pins::file("mcp.pins.json")?).connect().await?;
/// for tool in everything.quarantined() {
///     eprintln!("{tool}");
/// }
/// let tools = ToolContext::builder().with(everything).build()?;
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is imported before `connect`"]
pub struct McpClient {
    address: ServerAddress,
    options: RemoteOptions,
    credentials: Credentials,
    prefix: Option<String>,
    map: Option<Box<MapTool>>,
    has_name: bool,
    has_pins: bool,
}

type MapTool = dyn Fn(FunctionTool) -> FunctionTool + Send + Sync;

impl McpClient {
    fn new(address: ServerAddress, name: String) -> Self {
        let (pins, timeout, credentials) = (Pins::memory(), Duration::from_secs(30), Arc::default());
        let options =
            RemoteOptions { name, pins, pinned_only: false, probe: false, timeout, baggage: true, credentials };
        let (credentials, prefix, map) = (Credentials::default(), None, None);
        Self { address, options, credentials, prefix, map, has_name: false, has_pins: false }
    }

    /// Starts the server as a child process, and connects over its standard input and output.
    ///
    /// The process gets the variables that are set on the command, and of this process's variables `HOME`, `LANG`,
    /// `LOGNAME`, `PATH`, `SHELL`, `TERM` and `USER` only, or their counterparts on Windows, so that the keys of this
    /// process do not reach it. [`env_from_parent`](Self::env_from_parent) names others. What it writes to its
    /// standard error is logged at `debug`.
    pub fn command(command: Command) -> Self {
        let (name, _) = names::of_command(&command);
        Self::new(ServerAddress::Command(command, Vec::new()), name)
    }

    /// Passes these variables of this process on to the server's process, if they are set.
    ///
    /// ```
    /// use std::process::Command;
    /// use tool_adapters::mcp::McpClient;
    ///
    /// let github = McpClient::command(Command::new("github-mcp-server")).env_from_parent(["GITHUB_TOKEN"]);
    /// ```
    pub fn env_from_parent(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        if let ServerAddress::Command(_, from_parent) = &mut self.address {
            from_parent.extend(names.into_iter().map(Into::into));
        }
        self
    }

    /// Sets a variable of the server's process.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        if let ServerAddress::Command(command, _) = &mut self.address {
            command.env(name, value);
        }
        self
    }

    /// Connects to a server over streamable HTTP. A URL without a scheme is `https`, and `http` for loopback hosts.
    /// Redirects to another origin are not followed.
    pub fn url(url: impl Into<String>) -> Self {
        let url = url.into();
        let name = parse_url(&url).map_or_else(|_| "[invalid URL]".to_owned(), |url| names::of_url(&url));
        Self::new(ServerAddress::Url(url), name)
    }

    /// Allows requests with a key over `http` to other machines. By default they are refused, because anyone on the way can
    /// read the key.
    pub fn allow_unencrypted(mut self) -> Self {
        self.credentials.allow_unencrypted = true;
        self
    }

    /// Sends a header with each request over HTTP. Its value appears in no error, log or name, and is wiped from memory. If
    /// the name is one of a key, such as `X-Api-Key`, the value is masked in results too.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.credentials.headers.push((name.into(), Zeroizing::new(value.into())));
        self
    }

    /// Sends a bearer token with each request over HTTP.
    pub fn bearer(self, token: impl Into<String>) -> Self {
        let value = format!("Bearer {}", *Zeroizing::new(token.into()));
        self.header("authorization", value)
    }

    /// Sends the bearer token that a function returns. It is called for each request, so it should keep its token. If the
    /// server refuses a token with 401, the function is called once more, with that token, and has to return another.
    /// Requests at the same time share one call. The function runs in a task, for at most 30 s, and a panic is an error.
    ///
    /// ```
    /// use tool_adapters::mcp::McpClient;
    ///
    /// # async fn fetch_token() -> Result<String, std::io::Error> { Ok(String::new()) }
    /// let client = McpClient::url("https://mcp.example/mcp").bearer_from(|refused: Option<String>| async move {
    ///     if refused.is_some() {
    ///         // Drop the token that is kept.
    ///     }
    ///     fetch_token().await
    /// });
    /// ```
    pub fn bearer_from<F, T, E>(mut self, provide: F) -> Self
    where
        F: Fn(Option<String>) -> T + Send + Sync + 'static,
        T: Future<Output = Result<String, E>> + Send + 'static,
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        self.credentials.tokens = Some(Arc::new(move |refused| {
            let provided = provide(refused);
            Box::pin(async move { provided.await.map_err(Into::into) })
        }));
        self
    }

    /// Connects to a server over two streams, such as the halves of a socket.
    pub fn streams<R, W>(name: impl Into<String>, input: R, output: W) -> Self
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        Self::new(ServerAddress::Streams(Box::new(input), Box::new(output)), name.into())
    }

    /// Sets the server's name, which is the id of the toolset and the key of its pins. Defaults to the command or the
    /// URL, in which arguments, values and segments that may be keys are masked. The name that the server gives itself is not used.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        (self.options.name, self.has_name) = (name.into(), true);
        self
    }

    /// Sets a prefix for the tools' names, followed by `_`, so that they do not clash with other tools.
    pub fn prefix(self, prefix: impl Into<String>) -> Self {
        Self { prefix: Some(prefix.into()), ..self }
    }

    /// Sets the pins against which declarations are checked. Defaults to pins in memory, which end with the connection.
    /// Needs a [`name`](Self::name) if parts of the default name are masked, as other servers could have it too.
    pub fn pins(mut self, pins: Pins) -> Self {
        (self.options.pins, self.has_pins) = (pins, true);
        self
    }

    /// Imports only tools that are already pinned. By default a tool is trusted and pinned at its first use.
    pub fn pinned_only(self) -> Self {
        Self { options: RemoteOptions { pinned_only: true, ..self.options }, ..self }
    }

    /// Probes whether the server speaks revision 2026-07-28, and falls back to older revisions. By default the newest
    /// revision that begins with `initialize` is used.
    pub fn probe(self) -> Self {
        Self { options: RemoteOptions { probe: true, ..self.options }, ..self }
    }

    /// Sets the time limit for connecting and for each call. Defaults to 30 s.
    pub fn timeout(self, limit: Duration) -> Self {
        Self { options: RemoteOptions { timeout: limit, ..self.options }, ..self }
    }

    /// Does not send the `baggage` of the trace, which names the run and the customer. The parent span is still sent.
    pub fn without_baggage(self) -> Self {
        Self { options: RemoteOptions { baggage: false, ..self.options }, ..self }
    }

    /// Sets a function that changes each tool before it is offered. A server's description of its tools is not
    /// verified, so the host can be stricter, such as by requiring confirmation.
    ///
    /// ```
    /// use tool_adapters::mcp::McpClient;
    /// use tool_core::Category;
    /// use tool_core::tool::Confirm;
    ///
    /// let client = McpClient::url("http://127.0.0.1:8931/mcp").map_tools(|tool| match tool.definition().category() {
    ///     Category::Retrieval => tool,
    ///     _ => tool.confirm(Confirm::Always),
    /// });
    /// ```
    pub fn map_tools(self, map: impl Fn(FunctionTool) -> FunctionTool + Send + Sync + 'static) -> Self {
        Self { map: Some(Box::new(map)), ..self }
    }

    /// Connects and imports the server's tools. Tools that differ from their pins or cannot be registered are
    /// [quarantined](ImportedToolset::quarantined).
    pub async fn connect(mut self) -> Result<ImportedToolset, ImportError> {
        if self.has_pins && !self.has_name && self.options.name.contains(KEY) {
            return Err(ImportError::Unnamed { name: self.options.name });
        }
        self.options.credentials = Arc::new(self.credentials);
        let (remote, declared) = RemoteServer::connect(self.address, self.options).await?;
        let mut tools = Vec::new();
        for declared in declared {
            match import_tool(&remote, &declared, self.prefix.as_deref()) {
                Ok(tool) => tools.push(Tool::Function(match &self.map {
                    Some(map) => map(tool),
                    None => tool,
                })),
                Err(errors) => remote.quarantine_invalid(&declared.name, errors),
            }
        }
        remote.quarantine.end_check(&remote.options.name);
        Ok(ImportedToolset { tools, remote })
    }
}

debug_only!(McpClient, |this| name: this.options.name);

/// The tools of a server. Their calls go to the server until the toolset is closed.
pub struct ImportedToolset {
    tools: Vec<Tool>,
    remote: Arc<RemoteServer>,
}

impl ImportedToolset {
    /// Returns the tools that are not offered, or no longer offered, sorted by name. Of tools that were never offered, the
    /// first 1,000 are kept.
    pub fn quarantined(&self) -> Vec<QuarantinedTool> {
        self.remote.quarantine.all()
    }

    /// Requests the server's list again, and quarantines tools that have changed. This happens automatically when the
    /// server notifies that its list has changed.
    pub async fn refresh(&self) -> Result<(), ImportError> {
        self.remote.refresh().await
    }
}

impl Toolset for ImportedToolset {
    fn id(&self) -> &str {
        &self.remote.options.name
    }

    fn tools(self: Arc<Self>) -> Vec<Tool> {
        self.tools.clone()
    }

    fn close(&self) -> LifecycleFuture<'_> {
        Box::pin(async {
            self.remote.close().await;
            Ok(())
        })
    }
}

debug_only!(ImportedToolset, |this| name: this.remote.options.name, tools: this.tools);

/// Maximum number of characters of a server's error that are shown.
const MAX_TEXT: usize = 4_000;

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
    declared: &model::Tool,
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
fn annotate(tool: &FunctionTool, hints: &model::ToolAnnotations) -> FunctionTool {
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
        if let Some(quarantined) = self.remote.quarantine.get(&self.name) {
            return Err(ToolError::permanent(format!("the tool was not called: {quarantined}")));
        }
        let mut request = CallToolRequestParams::new(self.name.clone());
        if let Value::Object(arguments) = arguments {
            request = request.with_arguments(arguments);
        }
        match self.send(request).await {
            Ok(ServerResult::CallToolResult(result)) => match self.remote.options.credentials.redact_answer(result) {
                Ok(result) => convert_result(result, self.has_output_schema),
                Err(_) => Err(self.convert_error(ServiceError::UnexpectedResponse)),
            },
            Ok(ServerResult::InputRequiredResult(_) | ServerResult::CreateTaskResult(_)) => {
                Err(ToolError::permanent("the server asks for user input, which a call cannot give"))
            }
            Ok(_) => Err(self.convert_error(ServiceError::UnexpectedResponse)),
            Err(error) => Err(self.convert_error(error)),
        }
    }

    fn convert_error(&self, error: ServiceError) -> ToolError {
        let error = match error {
            ServiceError::McpError(error) => {
                let message = self.remote.options.credentials.redact(&error.message);
                return ToolError::permanent(truncate(&message, MAX_TEXT));
            }
            ServiceError::TransportSend(_) | ServiceError::TransportClosed => {
                ToolError::transient("the connection to the tool's server is lost; the call may have had effects")
            }
            ServiceError::Timeout { .. } => ToolError::transient("the tool's server did not answer in time"),
            error => {
                let error = self.remote.options.credentials.display(&error.to_string());
                tracing::warn!(tool = %self.name.escape_debug(), %error, "failed to read the answer of a server");
                ToolError::permanent("the answer of the tool's server cannot be read")
            }
        };
        error.partial_side_effects(!self.read_only)
    }

    /// Sends a `tools/call` request with the trace, and describes it on the span of the call. Dropping the future
    /// notifies the server that the call is cancelled.
    async fn send(&self, mut params: CallToolRequestParams) -> Result<ServerResult, ServiceError> {
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
        answer
    }

    fn set_attributes(&self, id: &RequestId) {
        trace::attribute("mcp.method.name", "tools/call");
        trace::attribute("jsonrpc.request.id", id.to_string());
        if let Some(info) = self.remote.peer.peer_info() {
            let version = self.remote.options.credentials.redact(info.protocol_version.as_str());
            trace::attribute("mcp.protocol.version", version);
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
        return Err(ToolError::permanent(if text.is_empty() {
            "the tool failed".to_owned()
        } else {
            truncate(&text, MAX_TEXT)
        }));
    }
    match result.structured_content {
        Some(data) => Ok(ToolOutput::new(data)),
        None if has_output_schema => {
            Err(ToolError::permanent("the server sent no structured result, although the tool has an output schema"))
        }
        None => Ok(ToolOutput::content(result.content.into_iter().map(content))),
    }
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
