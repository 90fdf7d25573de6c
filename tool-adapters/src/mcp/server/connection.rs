//! The handler of one connection.

use crate::mcp::server::client::Client;
use crate::mcp::server::elicit::{self, AskedQuestion, Elicitation, QuestionRoute};
use crate::mcp::server::parked::ParkedCalls;
use crate::mcp::server::session::{
    ClientSession, McpResult, RunningCall, ServerContext, ServerState, SharedSessions, client, http_parts, is_stateless,
};
use crate::mcp::server::{confirm, tools};
use axum::http::request::Parts;
use futures_util::future::{BoxFuture, OptionFuture};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, DiscoverResult, Implementation, InitializeRequestParams,
    InitializeResult, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ProgressToken,
    ProtocolVersion, RequestId, RequestMetaObject, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::Peer;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tokio::sync::SetOnce;
use tokio::sync::mpsc::{Receiver, Sender, channel};
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
    pub(crate) state: Arc<ServerState>,
    /// OpenTelemetry's name of the transport. `None` for HTTP and for unknown streams.
    transport: Option<&'static str>,
    /// The revision that `initialize` agreed on.
    pub(crate) revision: OnceLock<ProtocolVersion>,
    /// Set if the client that has initialized the session shows forms to its user.
    shows_forms: OnceLock<()>,
    parked: Arc<ParkedCalls<OngoingCall>>,
}

/// A call that runs in its client's session.
pub(crate) struct OngoingCall {
    running: RunningCall,
    session: Session,
    /// The tool's name in the session.
    tool: String,
    pub(crate) response: BoxFuture<'static, ToolResponse>,
    /// The way of questions to the user, if the client may show them.
    route: Option<Arc<SetOnce<QuestionRoute>>>,
    /// The questions that the answer to the request carries.
    asked: Option<Receiver<AskedQuestion>>,
}

/// The end of a request for a call.
enum Step {
    Answered(ToolResponse),
    Asked(Box<AskedQuestion>),
}

/// A call that has begun, in the extensions of its request.
#[derive(Clone)]
struct Begun(Arc<Mutex<Option<OngoingCall>>>);

impl Connection {
    /// Returns true if the client may send arrays of messages.
    pub(crate) fn allows_batches(&self) -> bool {
        self.revision.get() == Some(&ProtocolVersion::V_2025_03_26)
    }

    /// Creates the handler of a client over streams.
    pub(crate) fn over_streams(state: Arc<ServerState>, transport: Option<&'static str>) -> Self {
        let session = Arc::new(ClientSession::new(Arc::clone(&state), None));
        Self {
            session,
            shared: None,
            state,
            transport,
            revision: OnceLock::new(),
            shows_forms: OnceLock::new(),
            parked: Arc::default(),
        }
    }

    pub(crate) fn over_http(
        state: Arc<ServerState>,
        shared: Arc<SharedSessions>,
        parked: Arc<ParkedCalls<OngoingCall>>,
    ) -> Self {
        Self { shared: Some(shared), parked, ..Self::over_streams(state, None) }
    }

    /// Returns the session of this connection, or the one that the client's requests share if it did not `initialize`.
    fn client_session(&self, context: &ServerContext) -> McpResult<Arc<ClientSession>> {
        match &self.shared {
            Some(shared) if !self.session.is_open() => shared.get(&client(context), &self.state),
            _ => Ok(Arc::clone(&self.session)),
        }
    }

    /// Begins a call over HTTP if neither its session nor its turn has to be waited for.
    pub(crate) fn begin_at_once(&self, client: &Client, request: &CallToolRequestParams) -> Option<OngoingCall> {
        let shared = self.shared.as_ref().filter(|_| !self.session.is_open());
        let shared = shared.map(|shared| shared.get(client, &self.state)).transpose().ok()?;
        let begun = shared.as_ref().unwrap_or(&self.session).begin_at_once()?;
        // The capabilities of a client without a session are read when its call waits.
        let may_ask = shared.is_some() || self.shows_forms.get().is_some();
        Some(OngoingCall::new(begun, request, None, may_ask))
    }

    /// Returns true if the client of a call may show forms. From revision 2026-07-28 on that is known with its way of asking.
    fn may_ask(&self, context: &ServerContext) -> bool {
        is_stateless(context) || self.shows_forms.get().is_some()
    }

    async fn instructions(&self, context: &ServerContext) -> McpResult<Option<String>> {
        if let Some(text) = &self.state.settings.instructions {
            return Ok(Some(text.clone()));
        }
        let client = self.client_session(context)?;
        Ok(tools::guides(&client.get(context).await?))
    }

    /// Begins a call in the client's session. A shared session that has expired is replaced, as its client cannot do it.
    async fn begin_call(&self, context: &ServerContext) -> McpResult<(RunningCall, Session)> {
        let client_session = self.client_session(context)?;
        let session = client_session.get(context).await?;
        let (running, has_ended) = client_session.begin_call(&session).await;
        match &self.shared {
            Some(shared) if has_ended && !self.session.is_open() => {
                shared.remove(&client(context), &client_session);
                let client_session = self.client_session(context)?;
                let session = client_session.get(context).await?;
                Ok((client_session.begin_call(&session).await.0, session))
            }
            _ => Ok((running, session)),
        }
    }

    async fn call(&self, mut request: CallToolRequestParams, context: &ServerContext) -> McpResult<CallToolResponse> {
        if let Some(request_state) = request.request_state.clone() {
            let client = self.client_session(context)?;
            if let Some(resumed) = self.parked.resume(&mut request, |call| call.running.is_of(&client)) {
                return match resumed? {
                    ControlFlow::Continue(call) => self.finish(call, None, &request, context).await,
                    ControlFlow::Break(response) => Ok(response),
                };
            }
            let session = client.get(context).await?;
            return confirm::resume(&session, request, &request_state).await;
        }
        let progress = context.meta.get_progress_token().map(|token| ProgressForwarder::new(token, &context.peer));
        let (updates, progress) = progress.unzip();
        let call = match http_parts(context).and_then(OngoingCall::taken_over) {
            Some(call) => call,
            None => OngoingCall::new(self.begin_call(context).await?, &request, updates, self.may_ask(context)),
        };
        self.finish(call, progress, &request, context).await
    }

    /// Runs a call to its answer, or to a question with which the client repeats the request.
    async fn finish(
        &self,
        mut call: OngoingCall,
        progress: Option<ProgressForwarder>,
        request: &CallToolRequestParams,
        context: &ServerContext,
    ) -> McpResult<CallToolResponse> {
        let response = match call.run(progress, context).await {
            Step::Answered(response) => response,
            Step::Asked(question) => return self.parked.park(call.detached(), *question, request),
        };
        confirm::deny_nested(&call.session, &response).await;
        match response.meta().confirmation() {
            Some(confirmation) => {
                confirm::request(&self.state, request, (&call.session, &*call.tool, confirmation), context).await
            }
            None => call.complete(&response).map(CallToolResponse::Complete),
        }
    }

    /// Returns the client's span as the parent of a call.
    pub(crate) fn parent(&self, meta: &RequestMetaObject) -> DistributedContext {
        let pairs = meta.iter().filter_map(|(name, value)| Some((name, value.as_str()?)));
        if self.state.settings.trust_baggage {
            return DistributedContext::from_trusted_pairs(pairs);
        }
        let mut parent = DistributedContext::from_pairs(pairs);
        // An untrusted client cannot hide its calls from exporters.
        parent.sampled = None;
        parent
    }

    /// Returns the attributes of a call's span.
    pub(crate) fn attributes(
        &self,
        id: &RequestId,
        revision: Option<&ProtocolVersion>,
        http: Option<&Parts>,
    ) -> Vec<(&'static str, Value)> {
        let mut attributes =
            vec![("mcp.method.name", "tools/call".into()), ("jsonrpc.request.id", id.to_string().into())];
        attributes.extend(revision.map(|revision| ("mcp.protocol.version", revision.as_str().into())));
        let session = http.and_then(|parts| parts.headers.get("mcp-session-id")?.to_str().ok());
        // The id itself is a credential of the session, so the span gets a hash of it.
        let hash = |id| hex(Sha256::digest(id).get(..8).unwrap_or_default());
        attributes.extend(session.map(|id| ("mcp.session.id", hash(id).into())));
        let transport = if http.is_some() { Some("tcp") } else { self.transport };
        attributes.extend(transport.map(|transport| ("network.transport", transport.into())));
        attributes
    }
}

impl ServerHandler for Connection {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools();
        let mut info = ServerConfig::new(if self.state.settings.tools_change {
            capabilities.enable_tool_list_changed().build()
        } else {
            capabilities.build()
        });
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
        self.revision.get_or_init(|| result.protocol_version.clone());
        if elicit::shows_forms(context.client_capabilities()) {
            self.shows_forms.get_or_init(|| ());
        }
        self.session.get(&context).await?;
        self.session.peer.get_or_init(|| context.peer.clone());
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
        tools::page(&session, cursor.as_deref(), is_stateless(&context))
    }

    async fn call_tool(&self, request: CallToolRequestParams, context: ServerContext) -> McpResult<CallToolResponse> {
        let attributes = || self.attributes(&context.id, context.protocol_version().as_ref(), http_parts(&context));
        let call = trace::attributed(attributes, self.call(request, &context));
        // Boxed, as each connection's future would otherwise have the size of the largest call.
        Box::pin(trace::import(self.parent(&context.meta), call)).await
    }

    /// Returns the tool against which rmcp checks the headers of a request over HTTP.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::find(&self.state.runtime.tools(), name)
    }
}

impl OngoingCall {
    /// Puts the call into its request, for the handler that takes it over.
    pub(crate) fn hand_over(self, parts: &mut Parts) {
        parts.extensions.insert(Begun(Arc::new(Mutex::new(Some(self)))));
    }

    /// Takes over the call that a request has begun, if it has.
    fn taken_over(parts: &Parts) -> Option<Self> {
        parts.extensions.get::<Begun>()?.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Makes a call of a listed tool. Its updates go to `updates`.
    fn new(
        (running, session): (RunningCall, Session),
        request: &CallToolRequestParams,
        updates: Option<Sender<ProgressUpdate>>,
        may_ask: bool,
    ) -> Self {
        let tool = tools::tool_name(&session, &request.name).unwrap_or_else(|| request.name.to_string());
        let arguments = request.arguments.as_ref().map(serde_json::to_string).and_then(Result::ok);
        let mut call = ToolCall::new(running.id(), &tool, arguments.unwrap_or_else(|| "{}".to_owned()));
        if let Some(updates) = updates {
            call = call.on_update(move |update| _ = updates.try_send(update.clone()));
        }
        let route = may_ask.then(|| Arc::new(SetOnce::new()));
        if let Some(route) = &route {
            call = call.on_question(Elicitation(Arc::clone(route)));
        }
        let caller = session.clone();
        let response = Box::pin(async move { caller.call(call).await });
        Self { running, session, tool, response, route, asked: None }
    }

    /// Sets the way of the call's questions. Over HTTP the call may have asked before its connection was known.
    fn set_route(&mut self, context: &ServerContext) {
        let Some(unset) = self.route.as_ref().filter(|route| !route.initialized()) else { return };
        let route = if !is_stateless(context) {
            QuestionRoute::Requests(context.peer.clone())
        } else if elicit::shows_forms(context.client_capabilities()) {
            let (questions, asked) = channel(1);
            self.asked = Some(asked);
            QuestionRoute::Repeats(questions)
        } else {
            QuestionRoute::None
        };
        let _ = unset.set(route);
    }

    /// Lets the call go on in a task, while no request waits for it.
    fn detached(mut self) -> Self {
        let task = tokio::spawn(self.response);
        self.response = Box::pin(async move {
            match task.await {
                Ok(response) => response,
                Err(error) => match error.try_into_panic() {
                    Ok(panic) => resume_unwind(panic),
                    // The program ends.
                    Err(_) => std::future::pending().await,
                },
            }
        });
        self
    }

    /// Runs the call, forwards its progress, and cancels it when the client does.
    async fn run(&mut self, mut progress: Option<ProgressForwarder>, context: &ServerContext) -> Step {
        self.set_route(context);
        let mut cancelled = false;
        let response = loop {
            let forwarded = OptionFuture::from(progress.as_mut().map(ProgressForwarder::forward_next));
            let asked = OptionFuture::from(self.asked.as_mut().map(Receiver::recv));
            tokio::select! {
                biased;
                response = &mut self.response => break Step::Answered(response),
                () = context.ct.cancelled(), if !cancelled => {
                    cancelled = true;
                    self.session.cancel(&self.running.id());
                }
                Some(Some(question)) = asked => break Step::Asked(Box::new(question)),
                Some(()) = forwarded => {}
            }
        };
        OptionFuture::from(progress.as_mut().map(ProgressForwarder::forward_rest)).await;
        response
    }

    /// Returns the result of a response. A tool that does not exist is an error of the protocol.
    pub(crate) fn complete(&self, response: &ToolResponse) -> McpResult<CallToolResult> {
        // A tool's own "not found" error is a result.
        let is_listed = || self.session.definitions().iter().any(|known| known.name() == self.tool);
        if response.error().is_some_and(|error| error.kind == ErrorKind::NotFound) && !is_listed() {
            let message = response.error().map_or_else(String::new, |error| error.message.clone());
            return Err(ErrorData::invalid_params(message, None));
        }
        Ok(tools::complete(&self.session, &self.tool, response))
    }
}

/// Sends the updates of a call as `notifications/progress`, for a client that sent a progress token.
struct ProgressForwarder {
    token: ProgressToken,
    peer: Peer<RoleServer>,
    updates: Receiver<ProgressUpdate>,
    last: f64,
}

impl ProgressForwarder {
    /// The number of updates that may wait. Further updates are dropped, so that the tool is not held up.
    const CAPACITY: usize = 256;

    fn new(token: ProgressToken, peer: &Peer<RoleServer>) -> (Sender<ProgressUpdate>, Self) {
        let (sender, updates) = channel(Self::CAPACITY);
        (sender, Self { token, peer: peer.clone(), updates, last: -1.0 })
    }

    /// Waits for the next update and sends it. Never returns once the call has ended.
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
        // In percent. The protocol requires increasing values, even if the tool gives no fraction.
        let percent = update.fraction.map_or(f64::MIN, |fraction| fraction * 100.0);
        let step = if self.last < 0.0 { 1.0 } else { 0.01 };
        self.last = if percent > self.last { percent } else { self.last + step };
        let mut params = ProgressNotificationParam::new(self.token.clone(), self.last).with_message(update.message);
        if update.fraction.is_some() {
            params = params.with_total(100.0);
        }
        if let Err(error) = self.peer.notify_progress(params).await {
            tracing::debug!(%error, "failed to send a progress notification");
        }
    }
}
