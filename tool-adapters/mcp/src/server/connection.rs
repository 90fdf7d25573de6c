//! The handler of one connection.

#![expect(
    deprecated,
    reason = "revision 2026-07-28 deprecates logging, and still serves it"
)]

use crate::server::asking::{Asking, Step};
use crate::server::calls::{CallUnderWay, CallsUnderWay};
use crate::server::changes::{OpenStream, Recipient, Subscriptions};
use crate::server::client::Client;
use crate::server::client_requests::Capabilities;
use crate::server::confirm::RepeatedRequest;
use crate::server::features::Features;
use crate::server::forwarder::{self, LogThreshold, Wanted};
use crate::server::ongoing_call::OngoingCall;
use crate::server::pages::PageRequest;
use crate::server::parked::ParkedCalls;
use crate::server::session::{
    ClientInfo, ClientSession, McpResult, RunningCall, ServerContext, ServerState, SharedSessions,
    TaskSupport, client, http_parts, is_stateless,
};
use crate::server::task_records::{TaskLimits, TaskPlace};
use crate::server::tasks::{BegunTask, Tasks, task_tool};
use crate::server::unclaimed::AwaitedCall;
use crate::server::{changes, confirm, passed_on, prompts, resources, skills, tools};
use axum::http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, ClientCapabilities,
    CompleteRequestParams, CompleteResult, CreateTaskResult, DiscoverResult, ErrorCode,
    GetPromptRequestParams, GetPromptResponse, GetSkillRequestParams, GetSkillResult,
    GetTaskParams, GetTaskResult, Implementation, InitializeRequestParams, InitializeResult,
    InputRequiredResult, InputResponses, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListSkillsResult, ListToolsResult, PaginatedRequestParams,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, RequestId, RequestMetaObject,
    ServerConfig, SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool,
    UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{Peer, SubscriptionContext};
use rmcp::transport::common::http_header::HEADER_SESSION_ID;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};
use tokio_util::sync::DropGuard;
use tool_adapters_providers::{Provider, declare};
use tool_core::call::HostHandlers;
use tool_core::session::SEARCH_TOOL;
use tool_core::text::hex;
use tool_core::trace::{self, DistributedContext};
use tool_core::{CancellationToken, Session, ToolResponse};

/// Does the work of a request, unless the client cancels it.
async fn until_cancelled<T>(
    context: &ServerContext,
    work: impl Future<Output = McpResult<T>>,
) -> McpResult<T> {
    let cancelled = || ErrorData::internal_error("the client has cancelled the request", None);
    context
        .ct
        .run_until_cancelled(Box::pin(work))
        .await
        .unwrap_or_else(|| Err(cancelled()))
}

type ListParams = Option<PaginatedRequestParams>;

/// A request for a prompt or a resource, which may ask the client, and which the client repeats
/// with its answers.
struct AskingRequest {
    digest: String,
    /// The state of a repeated request.
    state: Option<String>,
    answers: Option<InputResponses>,
}

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
    /// The capabilities of the client that has initialized the session, and the way to it, which
    /// over HTTP each request has.
    client: OnceLock<(Capabilities, Option<Peer<RoleServer>>)>,
    /// The parameters with which the client has initialized a session over HTTP, with the revision
    /// that was agreed on.
    initialized: OnceLock<Box<InitializeRequestParams>>,
    /// The log messages that the client of the session takes.
    log: LogThreshold,
    pub(crate) calls: CallsUnderWay,
    parked: Arc<ParkedCalls>,
    tasks: Arc<Tasks>,
    /// The subscriptions of the client, once it has initialized the session, and the end of their
    /// notifications.
    subscriptions: OnceLock<(Arc<Subscriptions>, DropGuard)>,
}

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
            client: OnceLock::new(),
            initialized: OnceLock::new(),
            log: LogThreshold::default(),
            calls: CallsUnderWay::default(),
            parked: Arc::default(),
            tasks: Arc::default(),
            subscriptions: OnceLock::new(),
        }
    }

    pub(crate) fn over_http(
        state: Arc<ServerState>,
        shared: Arc<SharedSessions>,
        parked: Arc<ParkedCalls>,
        tasks: Arc<Tasks>,
    ) -> Self {
        Self {
            shared: Some(shared),
            parked,
            tasks,
            ..Self::over_streams(state, None)
        }
    }

    /// Returns the session of this connection, or the one that the client's requests share if it
    /// did not `initialize`.
    fn client_session(&self, context: &ServerContext) -> McpResult<Arc<ClientSession>> {
        match &self.shared {
            Some(shared) if !self.session.is_open() => shared.get(&client(context), &self.state),
            _ => Ok(Arc::clone(&self.session)),
        }
    }

    /// Returns true if a request still identifies its client. Over streams there is one client.
    fn is_still_of(&self, client: &Client, context: &ServerContext) -> bool {
        let settings = &self.state.settings;
        let find_principal = settings.find_principal.as_deref();
        http_parts(context)
            .is_none_or(|parts| client.is_still_of(parts, find_principal, &settings.access))
    }

    /// Begins a call over HTTP if neither its session nor its turn has to be waited for.
    pub(crate) fn begin_at_once(
        &self,
        client: &Client,
        request: &CallToolRequestParams,
        wanted: Wanted,
        cancellation: CancellationToken,
    ) -> Option<OngoingCall> {
        if request.name == SEARCH_TOOL {
            // Its client is notified, through its connection.
            return None;
        }
        let shared = self.shared.as_ref().filter(|_| !self.session.is_open());
        let shared = shared
            .map(|shared| shared.get(client, &self.state))
            .transpose()
            .ok()?;
        let session = shared.as_ref().unwrap_or(&self.session);
        // A repeated call does not begin.
        let begun = session
            .has_none_unclaimed()
            .then(|| session.begin_at_once())??;
        // The capabilities of a client without a session are read when its call waits.
        let may_ask = shared.is_some() || self.has_capabilities();
        Some(OngoingCall::new(
            begun,
            request,
            wanted,
            may_ask,
            cancellation,
        ))
    }

    /// Returns true if tools may ask the client of a call. From revision 2026-07-28 on that is
    /// known with the way of asking.
    fn may_ask(&self, context: &ServerContext) -> bool {
        is_stateless(context) || self.has_capabilities()
    }

    fn has_capabilities(&self) -> bool {
        self.client
            .get()
            .is_some_and(|(capabilities, _)| !capabilities.is_empty())
    }

    /// Returns the notifications that a client asks for, with its session or with the request.
    pub(crate) fn wanted(&self, meta: &RequestMetaObject, is_stateless: bool) -> Wanted {
        let log = if is_stateless {
            meta.log_level().map(forwarder::level)
        } else {
            self.log.get()
        };
        Wanted {
            progress: meta.get_progress_token(),
            log,
            may_change: is_stateless,
        }
    }

    /// Returns the way to a client over streams that gets requests, with its capabilities. Returns
    /// `None` before it has initialized the session.
    pub(crate) fn requester(&self) -> Option<(Peer<RoleServer>, Capabilities)> {
        let (capabilities, peer) = self.client.get()?;
        Some((peer.clone()?, *capabilities))
    }

    /// Returns the parameters with which a client over HTTP has initialized its session.
    pub(crate) fn initialized(&self) -> Option<&InitializeRequestParams> {
        self.initialized.get().map(Box::as_ref)
    }

    /// Returns the client's session if its tools need a part of the protocol.
    async fn session_with(
        &self,
        context: &ServerContext,
        part: impl Fn(Features) -> bool,
    ) -> McpResult<Session> {
        let session = self.client_session(context)?.get(context).await?.clone();
        if part(self.state.features(session.tools())) {
            return Ok(session);
        }
        let message =
            "this server has no prompts, resources or completions of this kind for this client";
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None))
    }

    /// Forwards changes to the client until the connection or the server ends.
    fn forward_changes(
        &self,
        wanted: SubscriptionFilter,
        client: &Client,
        to: Recipient,
    ) -> (Arc<Subscriptions>, DropGuard) {
        let changes = &self.state.changes;
        let sees = self.sees(&self.session);
        let subscriptions = Arc::new(Subscriptions::new(changes, client, sees));
        let ended = self.state.settings.shutdown.child_token();
        changes::forward(
            changes,
            (wanted, to),
            Arc::clone(&subscriptions),
            ended.clone(),
        );
        (subscriptions, ended.drop_guard())
    }

    /// Returns a function that returns true if a session shows a resource.
    fn sees(&self, session: &Arc<ClientSession>) -> impl Fn(&str) -> bool + Send + Sync + use<> {
        let guides = self.state.settings.guides;
        let session = Arc::downgrade(session);
        move |uri| {
            let session = session.upgrade().and_then(|session| session.latest());
            session.is_some_and(|session| resources::check_known(&session, guides, uri).is_ok())
        }
    }

    /// Returns the subscriptions of a client that has initialized the session.
    fn subscriptions(&self) -> McpResult<&Subscriptions> {
        let message = "subscriptions need a session; send `initialize` first";
        let (subscriptions, _) = self
            .subscriptions
            .get()
            .ok_or_else(|| ErrorData::invalid_request(message, None))?;
        Ok(subscriptions)
    }

    fn instructions(&self, session: &Session) -> Option<String> {
        self.state
            .settings
            .instructions
            .clone()
            .or_else(|| tools::guides(session))
    }

    /// Opens the session of a client, which gets notifications of changes in one way.
    pub(crate) async fn open(
        &self,
        mut request: InitializeRequestParams,
        client: &Client,
        to: Recipient,
    ) -> McpResult<InitializeResult> {
        let mut result = self.negotiate_initialize(&request)?;
        let session = self
            .session
            .open_or_renew(|| ClientInfo::of(Some(&request.client_info), client))
            .await?;
        // A request that fails leaves nothing behind: the client may send another one, which over
        // streams has another peer.
        self.revision
            .get_or_init(|| result.protocol_version.clone());
        let peer = match &to {
            Recipient::Peer(peer) if self.shared.is_none() => Some(peer.clone()),
            _ => None,
        };
        self.client
            .get_or_init(|| (Capabilities::of(Some(request.capabilities.clone())), peer));
        result.capabilities = self.state.capabilities(session.tools());
        if tools::are_searched(&session) {
            result
                .capabilities
                .tools
                .get_or_insert_default()
                .list_changed = Some(true);
        }
        if self.state.has_changes(session.tools()) {
            let mut wanted = SubscriptionFilter::new();
            let features = self.state.features(session.tools());
            wanted.tools_list_changed = Some(self.state.settings.tools_change);
            (wanted.prompts_list_changed, wanted.resources_list_changed) =
                (Some(features.prompts), Some(features.resources));
            self.subscriptions
                .get_or_init(|| self.forward_changes(wanted, client, to));
        }
        result.instructions = self.instructions(&session);
        if self.shared.is_some() {
            request.protocol_version = result.protocol_version.clone();
            self.initialized.get_or_init(|| Box::new(request));
        }
        Ok(result)
    }

    /// Begins a call in the client's session, which is replaced if the store has lost it.
    async fn begin_call(&self, context: &ServerContext) -> McpResult<(RunningCall, Session)> {
        let client_session = self.client_session(context)?;
        let session = client_session.get(context).await?;
        let (running, is_lost) = client_session.begin_call(&session).await;
        if !is_lost {
            return Ok((running, session));
        }
        self.lose(&client(context), &client_session, &session);
        let client_session = self.client_session(context)?;
        let session = client_session.get(context).await?;
        Ok((client_session.begin_call(&session).await.0, session))
    }

    /// Makes a call in the client's session.
    async fn begin(
        &self,
        request: &CallToolRequestParams,
        context: &ServerContext,
    ) -> McpResult<OngoingCall> {
        let wanted = self.wanted(&context.meta, is_stateless(context));
        Ok(OngoingCall::new(
            self.begin_call(context).await?,
            request,
            wanted,
            self.may_ask(context),
            CancellationToken::new(),
        ))
    }

    /// Gives up a session that the store has lost, so that the client's next call opens another.
    pub(crate) fn lose(&self, client: &Client, of: &Arc<ClientSession>, lost: &Session) {
        of.lose(lost);
        if let Some(shared) = self.shared.as_ref().filter(|_| !self.session.is_open()) {
            shared.remove(client, of);
        }
    }

    async fn call(
        &self,
        mut request: CallToolRequestParams,
        context: &ServerContext,
    ) -> McpResult<CallToolResponse> {
        if let Some(state) = request.request_state.take() {
            let digest = confirm::digest_of_call(&request);
            let repeated = RepeatedRequest {
                state,
                answers: request.input_responses.take(),
                digest,
            };
            return match self.resume(repeated, context).await? {
                ControlFlow::Continue(call) => self.finish(call, &request, context).await,
                ControlFlow::Break(response) => Ok(response),
            };
        }
        let call = if let Some(call) = OngoingCall::taken_over(context) {
            call
        } else {
            let client = self.client_session(context)?;
            if let Some(awaited) = client.claim(None, || confirm::digest_of_call(&request)) {
                let running = client.count_begun();
                return match self.confirm(running, awaited, &request, context).await? {
                    ControlFlow::Continue(call) => self.finish(call, &request, context).await,
                    ControlFlow::Break(response) => Ok(response),
                };
            }
            self.begin(&request, context).await?
        };
        let call = self.with_task_place(call, context).await?;
        self.finish(call, &request, context).await
    }

    /// Returns the call that a client repeats with its answers, or the answer to the request.
    async fn resume(
        &self,
        mut repeated: RepeatedRequest,
        context: &ServerContext,
    ) -> McpResult<ControlFlow<CallToolResponse, OngoingCall>> {
        let client = self.client_session(context)?;
        if let Some(resumed) = self.parked.resume(&mut repeated, |call: &OngoingCall| {
            call.running.is_of(&client)
        }) {
            let resumed = resumed?;
            if let ControlFlow::Continue(call) = &resumed {
                call.set_wanted(self.wanted(&context.meta, is_stateless(context)));
            }
            return Ok(resumed.map_break(CallToolResponse::from));
        }
        let session = client.get(context).await?;
        let unclaimed = client.claim(Some(repeated.alias()), || repeated.digest.clone());
        let digest = repeated.digest.clone();
        let approved = match (confirm::resume(&session, repeated).await, unclaimed) {
            (Ok(ControlFlow::Continue(approved)), _) => approved,
            (Ok(ControlFlow::Break(asked @ CallToolResponse::InputRequired(_))), Some(awaited)) => {
                confirm::keep(&client, digest, awaited).await;
                return Ok(ControlFlow::Break(asked));
            }
            (Ok(ControlFlow::Break(response)), _) => return Ok(ControlFlow::Break(response)),
            // The host was first.
            (Err(_), Some(awaited)) => {
                return Ok(ControlFlow::Break(confirm::outcome(awaited).await));
            }
            (Err(error), None) => return Err(error),
        };
        let call = OngoingCall::approved(
            (client.count_begun(), session),
            approved,
            self.wanted(&context.meta, is_stateless(context)),
            self.may_ask(context),
        );
        let call = self.with_task_place(call, context).await?;
        Ok(ControlFlow::Continue(call))
    }

    /// Asks for the approval of a call. Returns the call to run, or the answer to its request.
    async fn confirm(
        &self,
        running: RunningCall,
        awaited: AwaitedCall,
        request: &CallToolRequestParams,
        context: &ServerContext,
    ) -> McpResult<ControlFlow<CallToolResponse, OngoingCall>> {
        let session = awaited.session.clone();
        let client = Arc::clone(running.session());
        let asked = confirm::request(&self.state, request, (&client, awaited), context).await?;
        Ok(asked.map_continue(|approved| {
            OngoingCall::approved(
                (running, session),
                approved,
                self.wanted(&context.meta, is_stateless(context)),
                self.may_ask(context),
            )
        }))
    }

    /// Reads a prompt or a resource, until its result or a question with which the client repeats
    /// the request.
    async fn read<T, F>(
        &self,
        request: AskingRequest,
        context: &ServerContext,
        start: impl FnOnce(HostHandlers) -> F,
    ) -> McpResult<ControlFlow<InputRequiredResult, T>>
    where
        T: Send + 'static,
        F: Future<Output = McpResult<T>> + Send + 'static,
    {
        let client = self.client_session(context)?;
        let AskingRequest {
            digest,
            state,
            answers,
        } = request;
        let mut reading: Asking<McpResult<T>> = if let Some(state) = state {
            let mut repeated = RepeatedRequest {
                state,
                answers,
                digest: digest.clone(),
            };
            let is_own =
                |(of, _): &(Arc<ClientSession>, Asking<McpResult<T>>)| Arc::ptr_eq(of, &client);
            match self
                .parked
                .resume(&mut repeated, is_own)
                .unwrap_or_else(|| Err(confirm::no_pending_call()))?
            {
                ControlFlow::Continue((_, reading)) => reading,
                ControlFlow::Break(asked) => return Ok(ControlFlow::Break(asked)),
            }
        } else {
            let early = self.may_ask(context).then(|| answers.unwrap_or_default());
            Asking::new(early, |handlers| start(handlers.unwrap_or_default()))
        };
        reading.set_route(context);
        match until_cancelled(context, async { Ok(reading.step().await) }).await? {
            Step::Answered(Ok(read)) => Ok(ControlFlow::Continue(read)),
            Step::Answered(Err(error)) => Err(reading.missing(&error.message).unwrap_or(error)),
            Step::Asked(requests) => self
                .parked
                .park((client, reading.detached()), requests, digest)
                .map(ControlFlow::Break),
        }
    }

    /// Returns true if calls of a listed tool may become tasks.
    pub(crate) fn may_be_task(&self, wire_name: &str) -> bool {
        let state = &self.state;
        state.settings.tasks.is_some() && {
            let tools = state.runtime.tools();
            let name = declare(Provider::Mcp, &tools)
                .tool_name(wire_name)
                .unwrap_or(wire_name)
                .to_owned();
            state.task_support(&tools, &name) != TaskSupport::Forbidden
        }
    }

    /// Takes a place for the task that a call becomes as soon as its tool waits, if it becomes one.
    /// Fails if its client has to support tasks, and does not, or has too many.
    async fn with_task_place(
        &self,
        mut call: OngoingCall,
        context: &ServerContext,
    ) -> McpResult<OngoingCall> {
        let support = self.state.task_support(call.session.tools(), &call.tool);
        if support == TaskSupport::Forbidden {
            return Ok(call);
        }
        let client = context
            .client_capabilities()
            .filter(|_| is_stateless(context));
        if client.is_some_and(|client| client.supports_tasks()) {
            let session = Arc::clone(call.client_session());
            let place = self.tasks.reserve(&session, self.task_limits()).await?;
            call.task_place = Some(place);
        } else if support == TaskSupport::Required {
            let tasks = ClientCapabilities::builder().enable_tasks().build();
            return Err(ErrorData::missing_required_client_capability(tasks));
        }
        Ok(call)
    }

    fn task_limits(&self) -> TaskLimits {
        TaskLimits {
            max: self.state.settings.max_tasks,
            ttl: self.state.settings.task_ttl,
        }
    }

    /// Runs a call to its answer, or to a question with which the client repeats the request.
    async fn finish(
        &self,
        mut call: OngoingCall,
        request: &CallToolRequestParams,
        context: &ServerContext,
    ) -> McpResult<CallToolResponse> {
        let mut has_begun_again = false;
        let mut is_approved = false;
        loop {
            let step = match call.task_place.take() {
                Some(place) => match self.step_or_task(&mut call, place, context).await {
                    ControlFlow::Continue(step) => step,
                    ControlFlow::Break(task) => return Ok(self.run_task(task, call)),
                },
                None => call.run(context).await,
            };
            let response = match step {
                // Nothing was done, so the call is made once more in a session that the store
                // knows.
                Step::Answered(response)
                    if response.meta().session_is_lost() && !has_begun_again =>
                {
                    has_begun_again = true;
                    self.lose(&client(context), call.client_session(), &call.session);
                    call = self.begin(request, context).await?;
                    call = self.with_task_place(call, context).await?;
                    continue;
                }
                Step::Answered(response) => response,
                Step::Asked(requests) => {
                    call.asking = call.asking.detached();
                    return Ok(self
                        .parked
                        .park(call, requests, confirm::digest_of_call(request))?
                        .into());
                }
            };
            if call.has_searched(&response) && !is_stateless(context) {
                notify_list_changed(context).await;
            }
            confirm::deny_nested(&call.session, &response).await;
            if is_approved && confirm::reached_no_call(&response) {
                // The call no longer waited when its user accepted.
                return Ok(CallToolResponse::Complete(confirm::ended(&call.tool)));
            }
            let Some(confirmation) = response.meta().confirmation() else {
                let result = call.complete(&response)?;
                return Ok(CallToolResponse::Complete(result.into()));
            };
            let awaited = AwaitedCall::new(&call.session, &call.tool, confirmation);
            call = match self
                .confirm(call.running, awaited, request, context)
                .await?
            {
                ControlFlow::Continue(approved) => approved,
                ControlFlow::Break(answer) => return Ok(answer),
            };
            is_approved = true;
        }
    }

    /// Runs a call that becomes a task as soon as it waits. Returns its next step, or the task.
    async fn step_or_task(
        &self,
        call: &mut OngoingCall,
        place: TaskPlace,
        context: &ServerContext,
    ) -> ControlFlow<BegunTask, Step<ToolResponse>> {
        let step = match call.step_at_once(context) {
            Some(step) => Some(step),
            // A task has no notifications, so these are sent before it begins.
            None => call.forward_waiting(context).await,
        };
        if let Some(step) = step {
            call.forward_rest(&context.peer).await;
            call.task_place = Some(place);
            return ControlFlow::Continue(step);
        }
        match self.begin_task(call, place).await {
            Ok(task) => {
                call.set_wanted(Wanted::default());
                ControlFlow::Break(task)
            }
            // The call has begun, so it is answered when it is done.
            Err(error) => {
                tracing::warn!(%error, "a call does not become a task");
                ControlFlow::Continue(call.run(context).await)
            }
        }
    }

    /// Makes a call that has begun a task.
    fn begin_task(
        &self,
        call: &OngoingCall,
        place: TaskPlace,
    ) -> impl Future<Output = McpResult<BegunTask>> + Send + use<> {
        let tasks = Arc::clone(&self.tasks);
        let session = Arc::clone(call.client_session());
        let tool = task_tool(call);
        let limits = self.task_limits();
        async move { tasks.begin(&session, tool, place, limits).await }
    }

    fn run_task(&self, task: BegunTask, call: OngoingCall) -> CallToolResponse {
        CallToolResponse::Task(CreateTaskResult::new(self.tasks.run(task, call)))
    }

    /// Returns the client's span as the parent of a call.
    pub(crate) fn parent(&self, meta: &RequestMetaObject) -> DistributedContext {
        let pairs = meta
            .iter()
            .filter_map(|(name, value)| Some((name, value.as_str()?)));
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
        let mut attributes = vec![
            ("mcp.method.name", "tools/call".into()),
            ("jsonrpc.request.id", id.to_string().into()),
        ];
        attributes
            .extend(revision.map(|revision| ("mcp.protocol.version", revision.as_str().into())));
        let session = http.and_then(|parts| parts.headers.get(HEADER_SESSION_ID)?.to_str().ok());
        // The id itself is a credential of the session, so the span gets a hash of it.
        let hash = |id| hex(Sha256::digest(id).get(..8).unwrap_or_default());
        attributes.extend(session.map(|id| ("mcp.session.id", hash(id).into())));
        let transport = if http.is_some() {
            Some("tcp")
        } else {
            self.transport
        };
        attributes.extend(transport.map(|transport| ("network.transport", transport.into())));
        attributes
    }
}

impl ServerHandler for Connection {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(self.state.capabilities(&self.state.runtime.tools()));
        info.server_info =
            Implementation::new(&self.state.settings.name, &self.state.settings.version);
        info
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: ServerContext,
    ) -> McpResult<InitializeResult> {
        context.peer.set_peer_info(request.clone());
        self.open(request, &client(&context), Recipient::of(&context))
            .await
    }

    async fn discover(&self, context: ServerContext) -> McpResult<DiscoverResult> {
        let mut info = self.get_info();
        let session = self.client_session(&context)?.get(&context).await?;
        info.capabilities = self.state.capabilities(session.tools());
        info.instructions = self.instructions(&session);
        Ok(DiscoverResult::from_server_info(
            self.supported_protocol_versions().into_owned(),
            info,
        ))
    }

    async fn list_tools(
        &self,
        params: ListParams,
        context: ServerContext,
    ) -> McpResult<ListToolsResult> {
        let client = self.client_session(&context)?;
        let session = client.get(&context).await?;
        let mut page = tools::page(&session, &PageRequest::of(params, &context))?;
        page.answer.meta = Some(passed_on::carrying(passed_on::list("tools", &page.tools)));
        Ok(page.answer)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: ServerContext,
    ) -> McpResult<CallToolResponse> {
        let under_way = CallUnderWay::of(&context.extensions);
        if under_way.is_some_and(|call| call.is_cancelled()) {
            // rmcp has heard of it before it knew the call.
            context.ct.cancel();
        }
        let attributes = || {
            self.attributes(
                &context.id,
                context.protocol_version().as_ref(),
                http_parts(&context),
            )
        };
        let call = trace::attributed(attributes, self.call(request, &context));
        // Boxed, as each connection's future would otherwise have the size of the largest call.
        Box::pin(trace::import(self.parent(&context.meta), call)).await
    }

    async fn list_prompts(
        &self,
        params: ListParams,
        context: ServerContext,
    ) -> McpResult<ListPromptsResult> {
        let session = self
            .session_with(&context, |features| features.prompts)
            .await?;
        let guides = self.state.settings.guides;
        prompts::list(&session, guides, &PageRequest::of(params, &context))
    }

    async fn get_prompt(
        &self,
        mut request: GetPromptRequestParams,
        context: ServerContext,
    ) -> McpResult<GetPromptResponse> {
        let session = self
            .session_with(&context, |features| features.prompts)
            .await?;
        let asked = AskingRequest {
            digest: confirm::digest(&(&request.name, &request.arguments)),
            state: request.request_state.take(),
            answers: request.input_responses.take(),
        };
        let guides = self.state.settings.guides;
        let get = |handlers| async move { prompts::get(&session, guides, request, handlers).await };
        Ok(match self.read(asked, &context, get).await? {
            ControlFlow::Continue(got) => GetPromptResponse::Complete(got),
            ControlFlow::Break(asked) => GetPromptResponse::InputRequired(asked),
        })
    }

    async fn list_resources(
        &self,
        params: ListParams,
        context: ServerContext,
    ) -> McpResult<ListResourcesResult> {
        let session = self
            .session_with(&context, |features| features.resources)
            .await?;
        let guides = self.state.settings.guides;
        resources::list(&session, guides, &PageRequest::of(params, &context))
    }

    async fn list_resource_templates(
        &self,
        params: ListParams,
        context: ServerContext,
    ) -> McpResult<ListResourceTemplatesResult> {
        let session = self
            .session_with(&context, |features| features.resources)
            .await?;
        resources::list_templates(&session, &PageRequest::of(params, &context))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: ServerContext,
    ) -> McpResult<ReadResourceResponse> {
        let session = self
            .session_with(&context, |features| features.resources)
            .await?;
        let asked = AskingRequest {
            digest: confirm::digest(&request.uri),
            state: request.request_state,
            answers: request.input_responses,
        };
        let uri = request.uri;
        let guides = self.state.settings.guides;
        let with_hints = is_stateless(&context);
        let read = |handlers| async move {
            resources::read(&session, guides, &uri, (with_hints, handlers)).await
        };
        Ok(match self.read(asked, &context, read).await? {
            ControlFlow::Continue(read) => ReadResourceResponse::Complete(read),
            ControlFlow::Break(asked) => ReadResourceResponse::InputRequired(asked),
        })
    }

    async fn list_skills(
        &self,
        params: ListParams,
        context: ServerContext,
    ) -> McpResult<ListSkillsResult> {
        let session = self
            .session_with(&context, |features| features.skills)
            .await?;
        skills::list(&session, &PageRequest::of(params, &context))
    }

    async fn get_skill(
        &self,
        request: GetSkillRequestParams,
        context: ServerContext,
    ) -> McpResult<GetSkillResult> {
        let session = self
            .session_with(&context, |features| features.skills)
            .await?;
        skills::get(&session, &request.uri, is_stateless(&context))
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: ServerContext,
    ) -> McpResult<CompleteResult> {
        let session = self
            .session_with(&context, |features| features.completions)
            .await?;
        until_cancelled(&context, prompts::complete(&session, request)).await
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: ServerContext,
    ) -> McpResult<()> {
        let session = self
            .session_with(&context, |features| features.resources)
            .await?;
        let uri = &request.uri;
        let begin = || {
            resources::check_known(&session, self.state.settings.guides, uri)?;
            self.subscriptions()?.add(uri.clone())
        };
        resources::subscribe(&session, uri, begin).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: ServerContext,
    ) -> McpResult<()> {
        self.subscriptions()?.remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let state = &self.state;
        let settings = &state.settings;
        let tools = state.runtime.tools();
        if !state.has_changes(&tools) {
            return None;
        }

        // The host may give each session other tools.
        let is_known = |uri: &str| {
            settings.configure_session.is_some()
                || resources::may_be_known(&tools, settings.guides, uri)
        };
        Some(changes::accepted(
            requested,
            settings.tools_change,
            is_known,
        ))
    }

    async fn listen(&self, stream: SubscriptionContext) -> McpResult<()> {
        let context = stream.request_context();
        let client_session = self.client_session(context)?;
        let client = client(context);
        // The principal may have gone between the check of the request and the look for its
        // session, which would stay then.
        if !self.is_still_of(&client, context) {
            let message = "the client may use this server no more";
            return Err(ErrorData::invalid_request(message, None));
        }
        let _open = OpenStream::open(&client_session.streams)?;
        let session = client_session.get(context).await?;
        let changes = &self.state.changes;
        // Before the subscriptions, so that no change is missed.
        let received = changes.received();
        let subscriptions = Subscriptions::new(changes, &client, self.sees(&client_session));
        let subscribing = Box::pin(async {
            for uri in stream.accepted().resource_subscriptions.iter().flatten() {
                let begin = || {
                    resources::check_known(&session, self.state.settings.guides, uri)?;
                    subscriptions.add(uri.clone())
                };
                // The stream is accepted already. The rest of it is still of use.
                if let Err(error) = resources::subscribe(&session, uri, begin).await {
                    tracing::debug!(%error, "a stream goes on without one of its resources");
                }
            }
        });

        let shutdown = &self.state.settings.shutdown;
        let ended = async {
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = client_session.streams_ended().cancelled() => {}
                () = client.token_ended() => {}
            }
        };
        Box::pin(changes::listen(
            received,
            &subscriptions,
            &stream,
            subscribing,
            ended,
        ))
        .await;
        Ok(())
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: ServerContext,
    ) -> McpResult<GetTaskResult> {
        let session = self.client_session(&context)?;
        let task = self.tasks.get(&session, &request.task_id).await?;
        Ok(GetTaskResult::new(task))
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: ServerContext,
    ) -> McpResult<()> {
        let session = self.client_session(&context)?;
        let answers = request.input_responses;
        self.tasks.update(&session, &request.task_id, answers).await
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: ServerContext,
    ) -> McpResult<()> {
        let session = self.client_session(&context)?;
        self.tasks.cancel(&session, &request.task_id).await
    }

    async fn set_level(&self, request: SetLevelRequestParams, _: ServerContext) -> McpResult<()> {
        self.log.set(request.level);
        Ok(())
    }

    /// Returns the tool against which rmcp checks the headers of a request over HTTP.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::find(&self.state.runtime.tools(), name)
    }
}

async fn notify_list_changed(context: &ServerContext) {
    if let Err(error) = context.peer.notify_tool_list_changed().await {
        tracing::debug!(%error, "failed to send a notification of a changed list");
    }
}
