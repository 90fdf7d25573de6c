//! The import of a server's tools as a toolset of raw function tools, and their calls.

use crate::mcp::client::address::ServerAddress;
use crate::mcp::client::answer::{Answer, MAX_TEXT};
use crate::mcp::client::changes::ServerChanges;
use crate::mcp::client::credentials::{Credentials, parse_url};
use crate::mcp::client::error::ImportError;
use crate::mcp::client::names::{self, KEY};
use crate::mcp::client::pins::Pins;
use crate::mcp::client::quarantine::{QuarantineReason, QuarantinedTool};
use crate::mcp::client::remote::{self, Connection, RemoteOptions, RemoteServer};
use crate::mcp::client::requests::{self, ServerRights};
use crate::mcp::client::routes::{CallMessage, CallRoute, RelayedRequest};
use crate::mcp::client::tasks;
use crate::mcp::send_on_drop::SendOnDrop;
use futures_util::StreamExt;
use futures_util::future::OptionFuture;
use futures_util::stream::FuturesUnordered;
use rmcp::RoleClient;
use rmcp::model::{
    self, CallToolRequest, CallToolRequestParams, CancelledNotificationParam, ClientRequest, ErrorCode,
    InputRequiredResult, InputResponses, JsonObject, ProgressNotificationParam, RequestId, RequestParamsMeta,
    ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, ServiceError};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::pin::pin;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, sleep, sleep_until};
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
        let (rights, tasks) = (ServerRights::default(), HashSet::new());
        let options = RemoteOptions {
            name,
            pins,
            pinned_only: false,
            probe: false,
            timeout,
            baggage: true,
            credentials,
            rights,
            tasks,
        };
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

    /// Allows the server to ask the user by forms (`elicitation/create`) while it is called. By default it is refused.
    ///
    /// The question goes to the session of the call, and the host's
    /// [`on_question`](tool_core::session::RuntimeBuilder::on_question) shows it. Its message begins with the server's name,
    /// and its form is checked and bounded ([`RawQuestion`](tool_core::call::RawQuestion)). The limits on questions are the
    /// policy's. A server that asks for passwords or keys breaks the protocol, and the user should decline.
    ///
    /// A request that does not tell to which of several calls in flight it belongs is refused. Over HTTP it does.
    ///
    /// ```no_run
    /// use std::process::Command;
    /// use tool_adapters::mcp::McpClient;
    /// use tool_core::call::{Answer, Question};
    /// use tool_core::{Runtime, ToolContext};
    ///
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// let github = McpClient::command(Command::new("github-mcp-server")).allow_elicitation().connect().await?;
    /// let tools = ToolContext::builder().with(github).build()?;
    /// let runtime = Runtime::builder(tools).on_question(async |question: Question| {
    ///     println!("{}", question.message); // `github-mcp-server` asks: ..
    ///     Ok(Answer::Declined)
    /// });
    /// # Ok(())
    /// # }
    /// ```
    pub fn allow_elicitation(mut self) -> Self {
        self.options.rights.forms = true;
        self
    }

    /// Allows the server to send the user to a page, such as for signing in, while it is called. By default it is refused.
    ///
    /// The host's handler gets a [`Question`](tool_core::call::Question) with a `url`. The address is `https`, or on this
    /// machine, and its host is written in ASCII.
    pub fn allow_url_elicitation(mut self) -> Self {
        self.options.rights.urls = true;
        self
    }

    /// Sets the folders that the server learns by `roots/list`, as `file://` URIs. By default it learns none.
    ///
    /// ```
    /// use std::process::Command;
    /// use tool_adapters::mcp::McpClient;
    ///
    /// let files = McpClient::command(Command::new("files")).roots(["file:///home/ada/project"]);
    /// ```
    pub fn roots(mut self, uris: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.options.rights.roots = Some(uris.into_iter().map(Into::into).collect());
        self
    }

    /// Runs these tools as tasks if the server supports it (revision 2025-11-25), by the names that the server gives them. A task
    /// goes on when the connection is lost, and its state is requested over the next one. Tools that need a task always
    /// run as one.
    pub fn run_as_tasks(mut self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.options.tasks.extend(tools.into_iter().map(Into::into));
        self
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

    /// Returns a receiver of the changes of which the server notifies from now on.
    ///
    /// ```no_run
    /// use tool_adapters::mcp::{McpClient, ServerChange};
    ///
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// let tracker = McpClient::url("https://tracker.example/mcp").connect().await?;
    /// let mut changes = tracker.changes();
    /// while let Some(change) = changes.next().await {
    ///     if let ServerChange::Tools = change {
    ///         // The tools that changed are quarantined. Import again to offer new ones.
    ///         eprintln!("{:?}", tracker.quarantined());
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn changes(&self) -> ServerChanges {
        self.remote.changes.subscribe()
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
        let failed = |error: ToolError| Err(error.partial_side_effects(!self.read_only));
        tokio::select! {
            biased;
            output = self.run(arguments, ctx) => output,
            () = ctx.cancellation().cancelled() => failed(ToolError::cancelled("the call was cancelled")),
            () = deadline(ctx, self.remote.options.timeout) => {
                failed(ToolError::timeout("the tool's server did not answer in time"))
            }
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
        let answer = if self.remote.runs_as_task(&self.name) {
            self.run_task(connection.clone(), &params, ctx).await
        } else {
            self.converse(&connection, params, ctx).await?
        };
        let credentials = &self.remote.options.credentials;
        let answer = match answer {
            Ok(ServerResult::CallToolResult(result)) => credentials.redact_answer(result).ok().map(Answer::from),
            Ok(ServerResult::CustomResult(result)) => {
                credentials.redact_answer(result.0).ok().and_then(Answer::of_value)
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

    /// Sends a `tools/call` request, and repeats it with the input that the server requires (revision 2026-07-28).
    async fn converse(
        &self,
        connection: &Connection,
        mut params: CallToolRequestParams,
        ctx: &RunContext,
    ) -> Result<Result<ServerResult, ServiceError>, ToolError> {
        for round in 0..=MAX_ROUNDS {
            let required = match self.send(connection, params.clone(), ctx).await {
                Ok(ServerResult::InputRequiredResult(required)) => required,
                answer => return Ok(answer),
            };
            if round == MAX_ROUNDS {
                break;
            }
            params.request_state.clone_from(&required.request_state);
            params.input_responses = self.input(required, round, ctx).await?;
        }
        let message = format!("the tool's server asked for input more than {MAX_ROUNDS} times");
        Err(ToolError::permanent(message).partial_side_effects(!self.read_only))
    }

    /// Returns the input that a server requires of the user.
    async fn input(
        &self,
        required: InputRequiredResult,
        round: u32,
        ctx: &RunContext,
    ) -> Result<Option<InputResponses>, ToolError> {
        let requests = required.input_requests.unwrap_or_default();
        if requests.len() > MAX_REQUESTS {
            return Err(ToolError::permanent(format!("the tool's server asked {} things at once", requests.len())));
        }
        if requests.is_empty() {
            // The server wants the call again, later.
            sleep(STATE_PAUSE * 2_u32.pow(round)).await;
            return Ok(None);
        }
        let mut responses = InputResponses::new();
        for (name, request) in requests {
            let mut request = serde_json::to_value(request).unwrap_or_default();
            let method = request["method"].as_str().unwrap_or_default().to_owned();
            let answer = requests::answer(&self.remote.options, ctx, &method, request["params"].take()).await;
            let answer = answer.map_err(|error| {
                ToolError::permanent(format!("the tool's server needs an answer that it cannot get: {}", error.message))
            })?;
            responses.insert(name, answer);
        }
        Ok(Some(responses))
    }

    /// Runs a call as a task. When the connection is lost, the task is looked for over the next one.
    async fn run_task(
        &self,
        mut connection: Arc<Connection>,
        params: &CallToolRequestParams,
        ctx: &RunContext,
    ) -> Result<ServerResult, ServiceError> {
        let options = &self.remote.options;
        let begun =
            self.attend(connection.routes.enter(), ctx, tasks::begin(&connection.peer, params, options.timeout));
        let mut task = match begun.await? {
            Ok(task) => task,
            Err(answer) => return Ok(answer),
        };
        let report = |message: &str| ctx.update(options.credentials.display(message));
        let mut resumed = 0;
        loop {
            let route = connection.routes.enter();
            route.set_task(&task.id);
            let finishing = task.finish(&connection.peer, options.rights.any(), report);
            let error = match self.attend(route, ctx, finishing).await {
                Err(error) if tasks::is_lost(&error) && resumed < MAX_RESUMED => error,
                answer => return answer,
            };
            resumed += 1;
            connection = match self.remote.connection().await {
                Ok(next) if !Arc::ptr_eq(&next, &connection) => next,
                _ => return Err(error),
            };
        }
    }

    /// Sends a `tools/call` request, and describes it on the span of the call. Dropping the future notifies the server that the
    /// call is cancelled.
    async fn send(
        &self,
        connection: &Connection,
        params: CallToolRequestParams,
        ctx: &RunContext,
    ) -> Result<ServerResult, ServiceError> {
        let peer = &connection.peer;
        let route = connection.routes.enter();
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sent = peer.send_request_with_option(request, PeerRequestOptions::no_options()).await?;
        route.set_request(sent.id.clone(), sent.progress_token.clone());
        self.set_attributes(peer, &sent.id);
        let mut cancel = cancel_on_drop(peer.clone(), sent.id.clone());
        let answer = self.attend(route, ctx, sent.await_response()).await;
        cancel.disarm();
        answer
    }

    /// Waits for an answer, and handles the messages of the server that belong to the call: its progress becomes updates, and its
    /// requests are answered.
    async fn attend<T>(&self, mut route: CallRoute, ctx: &RunContext, answer: impl Future<Output = T>) -> T {
        let (mut answer, mut answering) = (pin!(answer), FuturesUnordered::new());
        let answer = loop {
            let answered = OptionFuture::from((!answering.is_empty()).then(|| answering.next()));
            tokio::select! {
                biased;
                message = route.next() => match message {
                    CallMessage::Request(request) => answering.push(self.answer(request, ctx)),
                    message => self.report(message, ctx),
                },
                Some(_) = answered => {}
                answer = &mut answer => break answer,
            }
        };
        while let Some(message) = route.try_next() {
            self.report(message, ctx);
        }
        answer
    }

    /// Answers a request of the server, until it is withdrawn.
    async fn answer(&self, request: RelayedRequest, ctx: &RunContext) {
        let RelayedRequest { method, params, answer: mut sender } = request;
        let answered = tokio::select! {
            biased;
            answered = requests::answer(&self.remote.options, ctx, &method, params) => answered,
            () = sender.closed() => return,
        };
        // A receiver that is gone has withdrawn the request.
        _ = sender.send(answered);
    }

    /// Reports a message of the server as an update of the call. Requests after the answer are dropped.
    fn report(&self, message: CallMessage, ctx: &RunContext) {
        match message {
            CallMessage::Progress(update) => self.report_progress(&update, ctx),
            CallMessage::Status(message) => ctx.update(self.remote.options.credentials.display(&message)),
            CallMessage::Request(_) => {}
        }
    }

    fn report_progress(&self, update: &ProgressNotificationParam, ctx: &RunContext) {
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

/// The rounds of input that a server may require for a call, and the requests of each.
const MAX_ROUNDS: u32 = 8;
const MAX_REQUESTS: usize = 8;

/// The pause before a call is repeated for which the server requires no input, which doubles with each round.
const STATE_PAUSE: Duration = Duration::from_millis(100);

/// The connections over which a task may be looked for again.
const MAX_RESUMED: u32 = 5;

/// Waits until the time of a call is over. It goes on while the user is asked.
async fn deadline(ctx: &RunContext, limit: Duration) {
    let began = Instant::now();
    let end = || match ctx.deadline() {
        Some(deadline) => Instant::from_std(deadline),
        None => time::after(began, limit.saturating_add(ctx.waited_for_user())),
    };
    let mut at = end();
    loop {
        sleep_until(at).await;
        let later = end();
        if later <= at {
            return;
        }
        at = later;
    }
}

/// Notifies the server that a call is cancelled when it is dropped.
fn cancel_on_drop(peer: Peer<RoleClient>, id: RequestId) -> SendOnDrop<impl Future<Output = ()> + Send> {
    SendOnDrop::new(async move {
        let reason = Some("the caller no longer waits for the result".to_owned());
        if let Err(error) = peer.notify_cancelled(CancelledNotificationParam::new(Some(id), reason)).await {
            tracing::debug!(%error, "failed to notify a server of a cancelled call");
        }
    })
}
