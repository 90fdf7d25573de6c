//! The import of a server's tools as a toolset of raw function tools, and their calls.

use crate::mcp::client::address::ServerAddress;
use crate::mcp::client::answer::{Answer, MAX_TEXT};
use crate::mcp::client::credentials::{Credentials, parse_url};
use crate::mcp::client::error::ImportError;
use crate::mcp::client::names::{self, KEY};
use crate::mcp::client::pins::Pins;
use crate::mcp::client::quarantine::{QuarantineReason, QuarantinedTool};
use crate::mcp::client::remote::{self, Connection, RemoteOptions, RemoteServer};
use crate::mcp::client::tasks;
use rmcp::RoleClient;
use rmcp::model::{
    self, CallToolRequest, CallToolRequestParams, CancelledNotificationParam, ClientRequest, ErrorCode, JsonObject,
    ProgressNotificationParam, RequestId, RequestParamsMeta, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, ServiceError};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::pin::pin;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, sleep_until};
use tool_core::arguments::SchemaChecker;
use tool_core::text::truncate;
use tool_core::tool::{self, LifecycleFuture};
use tool_core::{
    Category, FunctionTool, RawTool, RegistryErrors, RunContext, Tool, ToolContext, ToolError, ToolOutput, Toolset,
    time, trace,
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
    /// standard error is logged at `debug`. A process that has ended is started again by the next call, up to 5 times a
    /// minute. It is stopped when the toolset is closed or dropped.
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

    /// Allows connections over HTTP to the hosts and addresses of a policy only. A name is checked when it is resolved, and the
    /// connection goes to the checked address. No proxy is used. The policy's limits of size and time are not used. By default
    /// every host is allowed.
    ///
    /// ```
    /// use tool_adapters::egress::EgressPolicy;
    /// use tool_adapters::mcp::McpClient;
    ///
    /// let policy = EgressPolicy::new().only_allowed().allow_host("mcp.example");
    /// let client = McpClient::url("https://mcp.example/mcp").egress(policy);
    /// ```
    #[cfg(feature = "egress")]
    pub fn egress(mut self, policy: crate::egress::EgressPolicy) -> Self {
        self.credentials.egress = Some(policy);
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
        Self::new(ServerAddress::Streams(Some((Box::new(input), Box::new(output)))), name.into())
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

    /// Sets the time limit for connecting and for each call, in a session or outside. Defaults to 30 s. In a session
    /// [`map_tools`](Self::map_tools) can set another limit for a tool.
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
        Ok(ImportedToolset::new(remote, &declared, self.prefix.as_deref(), self.map.as_deref()))
    }
}

debug_only!(McpClient, |this| name: this.options.name);

/// The tools of a server. Their calls go to the server until the toolset is closed.
pub struct ImportedToolset {
    tools: Vec<Tool>,
    remote: Arc<RemoteServer>,
}

impl ImportedToolset {
    fn new(remote: Arc<RemoteServer>, declared: &[model::Tool], prefix: Option<&str>, map: Option<&MapTool>) -> Self {
        let mut tools = Vec::new();
        for declared in declared {
            match import_tool(&remote, declared, prefix) {
                Ok(tool) => tools.push(Tool::Function(map.map_or_else(|| tool.clone(), |map| map(tool.clone())))),
                Err(errors) => remote.quarantine_invalid(&declared.name, errors),
            }
        }
        remote.quarantine.end_check(&remote.options.name);
        Self { tools, remote }
    }

    /// Imports the tools again over the same connection, with those that the server has added. Both toolsets use the
    /// connection, until both are dropped.
    #[cfg(feature = "gateway")]
    pub(crate) async fn reimport(&self, prefix: Option<&str>) -> Result<Self, ImportError> {
        let declared = self.remote.import_again().await?;
        Ok(Self::new(Arc::clone(&self.remote), &declared, prefix, None))
    }

    /// Returns the tools that are not offered, or no longer offered, sorted by name. Of tools that were never offered, the
    /// first 1,000 are kept.
    pub fn quarantined(&self) -> Vec<QuarantinedTool> {
        self.remote.quarantine.all()
    }

    /// Returns false while the connection is lost. The next call or [`refresh`](Self::refresh) makes it again.
    pub fn is_connected(&self) -> bool {
        !self.remote.is_lost()
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

/// The state of an imported tool.
struct RemoteTool {
    remote: Arc<RemoteServer>,
    /// The name that the server gives the tool.
    name: String,
    read_only: bool,
    output: Option<SchemaChecker>,
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
        parameters: parameters(&declared.input_schema),
    };
    let state = RemoteTool {
        remote: Arc::clone(remote),
        name: declared.name.to_string(),
        read_only: annotations.read_only_hint == Some(true),
        output: declared.output_schema.as_ref().map(|schema| SchemaChecker::new(&Value::Object((**schema).clone()))),
    };
    let handler = async |tool: &RemoteTool, arguments: Value, ctx: &RunContext| tool.call(arguments, ctx).await;
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

/// Returns the schema of the arguments. A tool that takes none is declared like one of this process, so that members which a
/// model adds are ignored before the server sees them.
fn parameters(schema: &JsonObject) -> Value {
    let is_empty = |value: &Value| match value {
        Value::Object(members) => members.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    let has_none = schema.iter().all(|(keyword, value)| match keyword.as_str() {
        "type" => value == "object",
        "properties" | "required" => is_empty(value),
        "additionalProperties" => *value == Value::Bool(false),
        "$schema" | "title" | "description" => true,
        _ => false,
    });
    if has_none && (schema.contains_key("properties") || schema.contains_key("additionalProperties")) {
        return json!({"type": "object", "properties": {}});
    }
    Value::Object(schema.clone())
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
    /// Calls the tool, until the call's deadline or its cancellation. A call outside a session has the client's time limit.
    async fn call(&self, arguments: Value, ctx: &RunContext) -> Result<ToolOutput, ToolError> {
        let limit = self.remote.options.timeout;
        let end = ctx.deadline().map_or_else(|| time::after(Instant::now(), limit), Instant::from_std);
        let failed = |error: ToolError| Err(error.partial_side_effects(!self.read_only));
        tokio::select! {
            biased;
            output = self.run(arguments, ctx) => output,
            () = ctx.cancellation().cancelled() => failed(ToolError::cancelled("the call was cancelled")),
            () = sleep_until(end) => failed(ToolError::timeout("the tool's server did not answer in time")),
        }
    }

    fn check_offered(&self) -> Result<(), ToolError> {
        match self.remote.quarantine.get(&self.name) {
            None => Ok(()),
            Some(tool) if tool.reason == QuarantineReason::Removed => Err(self.removed()),
            Some(tool) => Err(ToolError::permanent(format!("the tool was not called: {tool}"))),
        }
    }

    fn removed(&self) -> ToolError {
        let server = self.remote.options.name.escape_debug();
        ToolError::not_found(format!("the server `{server}` no longer has the tool `{}`", self.name.escape_debug()))
    }

    async fn run(&self, arguments: Value, ctx: &RunContext) -> Result<ToolOutput, ToolError> {
        // The list is checked again before a new connection is used.
        let connection = self.remote.connection().await?;
        self.check_offered()?;
        let mut params = CallToolRequestParams::new(self.name.clone());
        if let Value::Object(arguments) = arguments {
            params = params.with_arguments(arguments);
        }
        for (name, value) in trace::export().to_pairs() {
            if name != "baggage" || self.remote.options.baggage {
                params.meta_or_default().insert(name.to_owned(), value.into());
            }
        }
        let answer = if self.remote.needs_task(&self.name) {
            let report = |message: &str| ctx.update(self.remote.options.credentials.display(message));
            tasks::call(&connection.peer, &params, self.remote.options.timeout, report).await
        } else {
            self.send(&connection, params, ctx).await
        };
        let credentials = &self.remote.options.credentials;
        let answer = match answer {
            Ok(ServerResult::CallToolResult(result)) => credentials.redact_answer(result).ok().map(Answer::from),
            Ok(ServerResult::CustomResult(result)) => {
                credentials.redact_answer(result.0).ok().and_then(Answer::of_value)
            }
            Ok(ServerResult::InputRequiredResult(_) | ServerResult::CreateTaskResult(_)) => {
                return Err(ToolError::permanent("the server asks for user input, which a call cannot give"));
            }
            Ok(_) => None,
            Err(error) => return Err(self.convert_error(error, &connection).await),
        };
        match answer {
            Some(answer) => answer.into_output(&self.remote.options.name, self.output.as_ref()),
            None => Err(self.convert_error(ServiceError::UnexpectedResponse, &connection).await),
        }
    }

    async fn convert_error(&self, error: ServiceError, connection: &Connection) -> ToolError {
        let credentials = &self.remote.options.credentials;
        let error = match error {
            ServiceError::McpError(error) => {
                let may_be_removed = [ErrorCode::METHOD_NOT_FOUND, ErrorCode::INVALID_PARAMS].contains(&error.code);
                if may_be_removed && self.remote.has_removed(connection, &self.name).await {
                    return self.removed();
                }
                let message = credentials.redact(&error.message);
                return ToolError::permanent(truncate(&message, MAX_TEXT));
            }
            error @ (ServiceError::TransportSend(_) | ServiceError::TransportClosed) => {
                let status = connection.status().await.map(|status| format!(" ({status})")).unwrap_or_default();
                let error = credentials.display(&remote::describe(&error));
                tracing::warn!(tool = %self.name.escape_debug(), %error, status, "lost the connection to a server");
                let effects = if self.read_only { "" } else { "; the call may have had effects" };
                ToolError::transient(format!("the connection to the tool's server is lost{status}{effects}"))
            }
            error => {
                let error = credentials.display(&remote::describe(&error));
                tracing::warn!(tool = %self.name.escape_debug(), %error, "failed to read the answer of a server");
                ToolError::permanent("the answer of the tool's server cannot be read")
            }
        };
        error.partial_side_effects(!self.read_only)
    }

    /// Sends a `tools/call` request, and describes it on the span of the call. The progress of the server becomes updates of
    /// the call. Dropping the future notifies the server that the call is cancelled.
    async fn send(
        &self,
        connection: &Connection,
        params: CallToolRequestParams,
        ctx: &RunContext,
    ) -> Result<ServerResult, ServiceError> {
        let peer = &connection.peer;
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sent = peer.send_request_with_option(request, PeerRequestOptions::no_options()).await?;
        let mut progress = connection.progress.listen(sent.progress_token.clone());
        self.set_attributes(peer, &sent.id);
        let mut cancel = CancelOnDrop { peer, id: Some(sent.id.clone()) };
        let mut answer = pin!(sent.await_response());
        let answer = loop {
            tokio::select! {
                biased;
                Some(update) = progress.updates.recv() => self.report(&update, ctx),
                answer = &mut answer => break answer,
            }
        };
        cancel.id = None;
        while let Ok(update) = progress.updates.try_recv() {
            self.report(&update, ctx);
        }
        answer
    }

    /// Reports the progress of the server as an update of the call.
    fn report(&self, update: &ProgressNotificationParam, ctx: &RunContext) {
        let message = self.remote.options.credentials.display(update.message.as_deref().unwrap_or_default());
        match update.total.filter(|total| *total > 0.0) {
            Some(total) => ctx.progress().fraction(update.progress / total, message),
            None if message.is_empty() => {}
            None => ctx.update(message),
        }
    }

    fn set_attributes(&self, peer: &Peer<RoleClient>, id: &RequestId) {
        trace::attribute("mcp.method.name", "tools/call");
        trace::attribute("jsonrpc.request.id", id.to_string());
        if let Some(info) = peer.peer_info() {
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
