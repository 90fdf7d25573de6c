//! The handler of one connection.

use crate::mcp::server::session::{
    ClientSession, McpResult, RunningCall, ServerContext, ServerState, SharedSessions, client, http_parts, is_stateless,
};
use crate::mcp::server::{confirm, strict, tools};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest, CustomResult,
    DiscoverResult, ErrorCode, Implementation, InitializeRequestParams, InitializeResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ProgressToken, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::Peer;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::pin::pin;
use std::sync::Arc;
use tokio::sync::mpsc::{Receiver, channel};
use tool_core::call::ProgressUpdate;
use tool_core::text::hex;
use tool_core::trace::{self, DistributedContext};
use tool_core::{ErrorKind, Session, ToolCall, ToolResponse};

/// The part of a list that a client asks for.
type PageRequest = Option<PaginatedRequestParams>;

/// The handler of a connection. Over HTTP without sessions a connection is one request.
pub(crate) struct Connection {
    pub(crate) session: Arc<ClientSession>,
    /// The sessions of requests over HTTP that come without one.
    shared: Option<Arc<SharedSessions>>,
    state: Arc<ServerState>,
    /// OpenTelemetry's name of the transport. `None` for HTTP and for unknown streams.
    transport: Option<&'static str>,
}

impl Connection {
    /// Creates the handler of a client over streams.
    pub(crate) fn over_streams(state: Arc<ServerState>, transport: Option<&'static str>) -> Self {
        let session = Arc::new(ClientSession::new(Arc::clone(&state), None));
        Self { session, shared: None, state, transport }
    }

    pub(crate) fn over_http(state: Arc<ServerState>, shared: Arc<SharedSessions>) -> Self {
        Self { shared: Some(shared), ..Self::over_streams(state, None) }
    }

    /// Returns the session of this connection, or the one that the client's requests share if it did not `initialize`.
    fn client_session(&self, context: &ServerContext) -> McpResult<Arc<ClientSession>> {
        match &self.shared {
            Some(shared) if !self.session.is_open() => shared.get(&client(context), &self.state),
            _ => Ok(Arc::clone(&self.session)),
        }
    }

    async fn instructions(&self, context: &ServerContext) -> McpResult<Option<String>> {
        if let Some(text) = &self.state.settings.instructions {
            return Ok(Some(text.clone()));
        }
        let client = self.client_session(context)?;
        Ok(tools::guides(client.get(context).await?))
    }

    /// Begins a call in the client's session. A shared session that has expired is replaced, as its client cannot do it.
    async fn begin_call(&self, context: &ServerContext) -> McpResult<(RunningCall, Session)> {
        let client_session = self.client_session(context)?;
        let session = client_session.get(context).await?;
        let (running, has_ended) = client_session.begin_call(session).await;
        match &self.shared {
            Some(shared) if has_ended && !self.session.is_open() => {
                shared.remove(&client(context), &client_session);
                let client_session = self.client_session(context)?;
                let session = client_session.get(context).await?;
                Ok((client_session.begin_call(session).await.0, session.clone()))
            }
            _ => Ok((running, session.clone())),
        }
    }

    async fn call(&self, request: CallToolRequestParams, context: &ServerContext) -> McpResult<CallToolResponse> {
        if let Some(request_state) = request.request_state.clone() {
            let client = self.client_session(context)?;
            let session = client.get(context).await?;
            return confirm::resume(session, request, &request_state).await;
        }
        let (running, session) = self.begin_call(context).await?;
        let session = &session;
        let wire_name = &*request.name;
        let tool = tools::tool_name(session, wire_name).unwrap_or_else(|| wire_name.to_owned());
        let arguments = request.arguments.as_ref().map(serde_json::to_string).and_then(Result::ok);
        let call = ToolCall::new(running.id(), &tool, arguments.unwrap_or_else(|| "{}".to_owned()));
        let response = run(session, call, context).await;
        if is_unknown_tool(session, &tool, &response) {
            let message = response.error().map_or_else(String::new, |error| error.message.clone());
            return Err(ErrorData::invalid_params(message, None));
        }
        confirm::deny_nested(session, &response).await;
        match response.meta().confirmation() {
            Some(confirmation) => {
                confirm::request(&self.state, &request, (session, &*tool, confirmation), context).await
            }
            None => Ok(tools::complete(session, &tool, &response)),
        }
    }

    /// Returns the client's span as the parent of a call.
    fn parent(&self, context: &ServerContext) -> DistributedContext {
        let pairs = context.meta.iter().filter_map(|(name, value)| Some((name, value.as_str()?)));
        if self.state.settings.trust_baggage {
            return DistributedContext::from_trusted_pairs(pairs);
        }
        let mut parent = DistributedContext::from_pairs(pairs);
        // An untrusted client cannot hide its calls from exporters.
        parent.sampled = None;
        parent
    }

    /// Returns the attributes of a call's span.
    fn attributes(&self, context: &ServerContext) -> Vec<(&'static str, Value)> {
        let mut attributes =
            vec![("mcp.method.name", "tools/call".into()), ("jsonrpc.request.id", context.id.to_string().into())];
        if let Some(version) = context.protocol_version() {
            attributes.push(("mcp.protocol.version", version.as_str().into()));
        }
        let http = http_parts(context);
        let session = http.and_then(|parts| parts.headers.get("mcp-session-id")?.to_str().ok());
        // The id itself is a credential of the session, so the span gets a hash of it.
        let hash = |id| hex(Sha256::digest(id).get(..8).unwrap_or_default());
        attributes.extend(session.map(|id| ("mcp.session.id", hash(id).into())));
        let transport = if http.is_some() { Some("tcp") } else { self.transport };
        attributes.extend(transport.map(|transport| ("network.transport", transport.into())));
        attributes
    }
}

fn unknown_method(method: &str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("unknown method `{method}`"), None)
}

impl ServerHandler for Connection {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.server_info = Implementation::new(&self.state.settings.name, &self.state.settings.version);
        info
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: ServerContext,
    ) -> McpResult<InitializeResult> {
        context.peer.set_peer_info(request.clone());
        let mut result = self.negotiate_initialize(&request)?;
        self.session.get(&context).await?;
        result.instructions = self.instructions(&context).await?;
        Ok(result)
    }

    async fn discover(&self, context: ServerContext) -> McpResult<DiscoverResult> {
        let mut info = self.get_info();
        info.instructions = self.instructions(&context).await?;
        Ok(DiscoverResult::from_server_info(self.supported_protocol_versions().into_owned(), info))
    }

    async fn list_tools(&self, request: PageRequest, context: ServerContext) -> McpResult<ListToolsResult> {
        let client = self.client_session(&context)?;
        let session = client.get(&context).await?;
        let cursor = request.and_then(|request| request.cursor);
        tools::page(session, cursor.as_deref(), is_stateless(&context))
    }

    async fn call_tool(&self, request: CallToolRequestParams, context: ServerContext) -> McpResult<CallToolResponse> {
        let call = trace::attributed(self.attributes(&context), self.call(request, &context));
        // Boxed, as each connection's future would otherwise have the size of the largest call.
        Box::pin(trace::import(self.parent(&context), call)).await
    }

    /// Returns the tool against which rmcp checks the headers of a request over HTTP.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::find(&self.state.runtime.tools(), name)
    }

    async fn on_custom_request(&self, request: CustomRequest, _: ServerContext) -> McpResult<CustomResult> {
        Err(unknown_method(&strict::excerpt(&request.method)))
    }

    // rmcp's defaults return empty lists for the methods below.

    async fn list_prompts(&self, _: PageRequest, _: ServerContext) -> McpResult<ListPromptsResult> {
        Err(unknown_method("prompts/list"))
    }

    async fn list_resources(&self, _: PageRequest, _: ServerContext) -> McpResult<ListResourcesResult> {
        Err(unknown_method("resources/list"))
    }

    async fn list_resource_templates(
        &self,
        _: PageRequest,
        _: ServerContext,
    ) -> McpResult<ListResourceTemplatesResult> {
        Err(unknown_method("resources/templates/list"))
    }

    async fn complete(&self, _: CompleteRequestParams, _: ServerContext) -> McpResult<CompleteResult> {
        Err(unknown_method("completion/complete"))
    }
}

/// Runs a call, forwards its progress, and cancels it when the client does.
async fn run(session: &Session, call: ToolCall, context: &ServerContext) -> ToolResponse {
    let id = call.id().to_owned();
    let (call, mut progress) = ProgressForwarder::attach(call, context.meta.get_progress_token(), context.peer.clone());
    let mut running = pin!(session.call(call));
    let mut cancelled = false;
    let response = loop {
        tokio::select! {
            biased;
            response = &mut running => break response,
            () = context.ct.cancelled(), if !cancelled => {
                cancelled = true;
                session.cancel(&id);
            }
            () = progress.forward_next() => {}
        }
    };
    progress.forward_rest().await;
    response
}

/// Returns true if the tool does not exist. A tool's own "not found" error is a result, not a protocol error.
fn is_unknown_tool(session: &Session, tool: &str, response: &ToolResponse) -> bool {
    response.error().is_some_and(|error| error.kind == ErrorKind::NotFound)
        && !session.definitions().iter().any(|known| known.name() == tool)
}

/// Sends the updates of a call as `notifications/progress`, if the client sent a progress token.
struct ProgressForwarder {
    token: Option<ProgressToken>,
    peer: Peer<RoleServer>,
    updates: Receiver<ProgressUpdate>,
    last: f64,
}

impl ProgressForwarder {
    /// The number of updates that may wait. Further updates are dropped, so that the tool is not held up.
    const CAPACITY: usize = 256;

    fn attach(call: ToolCall, token: Option<ProgressToken>, peer: Peer<RoleServer>) -> (ToolCall, Self) {
        let (sender, updates) = channel::<ProgressUpdate>(Self::CAPACITY);
        let call = match token {
            Some(_) => call.on_update(move |update| _ = sender.try_send(update.clone())),
            None => call,
        };
        (call, Self { token, peer, updates, last: -1.0 })
    }

    /// Waits for the next update and sends it. Never returns if there is no progress token.
    async fn forward_next(&mut self) {
        match self.updates.recv().await {
            Some(update) => self.send(update).await,
            None => std::future::pending().await,
        }
    }

    async fn forward_rest(&mut self) {
        while let Ok(update) = self.updates.try_recv() {
            self.send(update).await;
        }
    }

    async fn send(&mut self, update: ProgressUpdate) {
        let Some(token) = &self.token else { return };
        // In percent. The protocol requires increasing values, even if the tool gives no fraction.
        let percent = update.fraction.map_or(f64::MIN, |fraction| fraction * 100.0);
        let step = if self.last < 0.0 { 1.0 } else { 0.01 };
        self.last = if percent > self.last { percent } else { self.last + step };
        let mut params = ProgressNotificationParam::new(token.clone(), self.last).with_message(update.message);
        if update.fraction.is_some() {
            params = params.with_total(100.0);
        }
        if let Err(error) = self.peer.notify_progress(params).await {
            tracing::debug!(%error, "failed to send a progress notification");
        }
    }
}
