//! The sessions of clients, and the settings and data that all connections of a server share.

use crate::server::changes::ChangeNotifier;
use crate::server::client::{Client, FindPrincipal, Identity};
use crate::server::client_requests;
use crate::server::open_answers::{OpenAnswer, OpenAnswers};
use crate::server::request_ids::random_id;
use crate::server::unclaimed::{AwaitedCall, UnclaimedCalls};
use axum::http::request::Parts;
use futures_util::{StreamExt, stream};
use parking_lot::{Mutex, RwLock};
use rmcp::model::{Implementation, ProtocolVersion};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;
use tokio::time::Instant;
use tool_adapters_http::access::AccessRules;
use tool_adapters_http::quota::{Quota, QuotaExceeded, QuotaLimits, Share};
use tool_adapters_http::serve::HttpLimits;
use tool_core::session::{SessionBuilder, SharedRecords};
use tool_core::{CancellationToken, Mode, Runtime, Session, ToolContext, ToolDefinition};

/// The client that opens a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientInfo {
    /// The client's name, as it claims.
    pub name: Option<String>,
    /// The client's version, as it claims.
    pub version: Option<String>,
    /// The authenticated principal that [`Server::principal`](super::Server::principal) returned.
    pub principal: Option<String>,
}

impl ClientInfo {
    /// Returns what a client claims of itself, with its principal.
    pub(crate) fn of(claimed: Option<&Implementation>, client: &Client) -> Self {
        Self {
            name: claimed.map(|claimed| claimed.name.clone()),
            version: claimed.map(|claimed| claimed.version.clone()),
            principal: client.principal().map(str::to_owned),
        }
    }
}

/// The context of a client's request.
pub(crate) type ServerContext = RequestContext<RoleServer>;

/// A result whose error is the answer to a client's request.
pub(crate) type McpResult<T> = Result<T, ErrorData>;

/// The way in which the calls of a tool may run as tasks, in revision 2026-07-28. See [`Server::tasks`](super::Server::tasks).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskSupport {
    /// Calls are answered when their tool ends.
    #[default]
    Forbidden,
    /// A call becomes a task if its client supports tasks.
    Optional,
    /// A call of a client that does not support tasks is refused.
    Required,
}

type ChooseTaskSupport = dyn Fn(&ToolDefinition) -> TaskSupport + Send + Sync;
type ConfigureSession = dyn Fn(SessionBuilder, &ClientInfo) -> SessionBuilder + Send + Sync;

#[derive(Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a setting of its own"
)]
pub(crate) struct Settings {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) instructions: Option<String>,
    /// True where the guides of tools are prompts and resources.
    pub(crate) guides: bool,
    pub(crate) turn_after: Duration,
    pub(crate) confirm_timeout: Duration,
    /// The time for which a call waits for the host's approval. `None` if only clients approve.
    pub(crate) host_approval: Option<Duration>,
    pub(crate) idle_timeout: Duration,
    pub(crate) tasks: Option<Arc<ChooseTaskSupport>>,
    pub(crate) task_ttl: Duration,
    pub(crate) max_tasks: usize,
    pub(crate) max_message: usize,
    pub(crate) max_sessions: QuotaLimits,
    pub(crate) max_unchecked_sessions: usize,
    pub(crate) limits: HttpLimits,
    pub(crate) path: String,
    pub(crate) trust_baggage: bool,
    pub(crate) access: AccessRules,
    pub(crate) find_principal: Option<Arc<FindPrincipal>>,
    pub(crate) configure_session: Option<Arc<ConfigureSession>>,
    #[cfg(feature = "auth")]
    pub(crate) oauth: Option<Arc<crate::auth::ResourceGate>>,
    pub(crate) shutdown: CancellationToken,
    pub(crate) mode: Mode,
    /// True if the capabilities announce that the list of tools may change.
    pub(crate) tools_change: bool,
    /// True if prompts and resources are served also while no tool needs them.
    pub(crate) all_features: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: "tools".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instructions: None,
            guides: true,
            turn_after: Duration::from_secs(30),
            confirm_timeout: Duration::from_secs(10 * 60),
            host_approval: None,
            idle_timeout: Duration::from_secs(30 * 60),
            tasks: None,
            task_ttl: Duration::from_secs(15 * 60),
            max_tasks: 32,
            max_message: 4 << 20,
            max_sessions: QuotaLimits {
                all: 10_000,
                each: 1_024,
            },
            max_unchecked_sessions: 16,
            limits: HttpLimits::default(),
            path: "/mcp".to_owned(),
            trust_baggage: false,
            access: AccessRules::default(),
            find_principal: None,
            configure_session: None,
            #[cfg(feature = "auth")]
            oauth: None,
            shutdown: CancellationToken::new(),
            mode: Mode::Text,
            tools_change: false,
            all_features: false,
        }
    }
}

#[derive(Clone)]
pub(crate) struct ServerState {
    pub(crate) settings: Settings,
    pub(crate) runtime: Runtime,
    pub(crate) changes: ChangeNotifier,
    pub(crate) open: Arc<Quota<Identity>>,
    /// The bytes of bodies, by peer.
    pub(crate) bodies: Arc<Quota<Identity>>,
    pub(crate) answers: OpenAnswers,
    pub(crate) refreshes: Arc<Refreshes>,
    pub(crate) endpoints: Arc<Endpoints>,
}

/// The sessions that are open, and how often their tools were refreshed.
#[derive(Default)]
pub(crate) struct Refreshes {
    count: AtomicU64,
    /// By address. An entry is removed with its session.
    open: Mutex<HashMap<usize, Weak<ClientSession>>>,
}

/// The sessions that are renewed at once. The store of a session may be slow.
const RENEWED_AT_ONCE: usize = 16;

impl Refreshes {
    fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// Makes all open sessions old, and returns the work that renews them. A session that is not
    /// renewed yet is renewed by its next request.
    pub(crate) fn refresh(&self) -> impl Future<Output = ()> + Send + use<> {
        self.count.fetch_add(1, Ordering::AcqRel);
        let open = self.open.lock().values().cloned().collect::<Vec<_>>();
        let renew = async |session: Weak<ClientSession>| {
            if let Some(session) = session.upgrade() {
                // The next request of a session that fails tries again, and reports it.
                let _ = session.open_or_renew(ClientInfo::default).await;
            }
        };
        stream::iter(open).for_each_concurrent(RENEWED_AT_ONCE, renew)
    }
}

/// Sessions of an endpoint that can be ended by their principals.
pub(crate) trait EndSessions: Send + Sync {
    /// Ends the sessions and streams of the principals that are gone.
    fn end_of(&self, is_gone: &dyn Fn(&str) -> bool);
}

/// The sessions of all endpoints of a server, while they are there.
#[derive(Default)]
pub(crate) struct Endpoints(Mutex<Vec<Weak<dyn EndSessions>>>);

impl Endpoints {
    pub(crate) fn add(&self, sessions: Weak<dyn EndSessions>) {
        let mut all = self.0.lock();
        all.retain(|sessions| sessions.strong_count() > 0);
        all.push(sessions);
    }

    /// Ends the sessions and streams of the principals that are gone.
    pub(crate) fn end_sessions(&self, is_gone: &dyn Fn(&str) -> bool) {
        let all = self.0.lock().clone();
        for sessions in all.iter().filter_map(Weak::upgrade) {
            sessions.end_of(is_gone);
        }
    }
}

impl ServerState {
    pub(crate) fn new(runtime: Runtime) -> Self {
        let settings = Settings::default();
        let open = Arc::default();
        let bodies = Arc::default();
        let answers = OpenAnswers::default();
        let changes = ChangeNotifier::default();
        let refreshes = Arc::default();
        let endpoints = Arc::default();
        Self {
            settings,
            runtime,
            changes,
            open,
            bodies,
            answers,
            refreshes,
            endpoints,
        }
    }

    /// Takes the place of a client's session.
    pub(crate) fn take_place(&self, client: &Client) -> Result<Share<Identity>, QuotaExceeded> {
        let counted = client.counted_as();
        let mut max = self.settings.max_sessions;
        if let Identity::Claims(_) = counted {
            max.each = max.each.min(self.settings.max_unchecked_sessions);
        }
        Share::one(&self.open, counted, max)
    }

    /// Returns the way in which calls of a tool may run as tasks.
    pub(crate) fn task_support(&self, tools: &ToolContext, name: &str) -> TaskSupport {
        let Some(choose) = &self.settings.tasks else {
            return TaskSupport::Forbidden;
        };
        tools
            .function_tool(name)
            .map(|tool| choose(tool.definition()))
            .unwrap_or_default()
    }
}

/// Returns the HTTP request that carried a message. Returns `None` over standard input and other
/// streams.
pub(crate) fn http_parts(context: &ServerContext) -> Option<&Parts> {
    context.extensions.get::<Parts>()
}

/// Returns the client that makes a request. Over streams there is one, which is not identified.
pub(crate) fn client(context: &ServerContext) -> Client {
    http_parts(context)
        .and_then(|parts| parts.extensions.get::<Client>())
        .cloned()
        .unwrap_or_default()
}

/// Returns true if a request speaks revision 2026-07-28 or later, in which a server cannot send
/// requests to the client.
pub(crate) fn is_stateless(context: &ServerContext) -> bool {
    context
        .protocol_version()
        .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

pub(crate) struct ClientSession {
    state: Arc<ServerState>,
    /// The id of a session that all processes which serve the client share.
    shared_id: Option<String>,
    /// True if all clients of an address share the session, as they are not identified.
    pub(crate) is_anonymous: bool,
    opened: RwLock<Option<OpenedSession>>,
    /// Held while the session is opened or renewed.
    opening: tokio::sync::Mutex<()>,
    calls: AtomicU64,
    /// Begins the ids of calls.
    call_prefix: String,
    activity: Mutex<Activity>,
    /// The number of streams of changes that are open.
    pub(crate) streams: Arc<AtomicUsize>,
    /// The calls that wait for the host's approval while their client does not. Empty in most
    /// sessions.
    pub(crate) unclaimed: OnceLock<Box<UnclaimedCalls>>,
    /// Cancelled once the client's requests get this session no more. Empty in most sessions
    /// that are open.
    streams_ended: OnceLock<CancellationToken>,
}

/// An open session, with its client and the refresh whose tools it has.
#[derive(Clone)]
struct OpenedSession {
    session: Session,
    client: ClientInfo,
    refresh: u64,
    /// True if the store does not know the session any more.
    is_lost: bool,
}

impl OpenedSession {
    fn is_current(&self, state: &ServerState) -> bool {
        !self.is_lost && self.refresh == state.refreshes.count()
    }
}

/// The calls under way and the last change of their number, from which the end of a turn is
/// inferred.
struct Activity {
    running: usize,
    since: Instant,
}

/// Counts a call as running until it is dropped.
pub(crate) struct RunningCall {
    session: Arc<ClientSession>,
    number: u64,
}

impl RunningCall {
    pub(crate) fn session(&self) -> &Arc<ClientSession> {
        &self.session
    }

    /// Returns true if the call runs in this session.
    pub(crate) fn is_of(&self, session: &Arc<ClientSession>) -> bool {
        Arc::ptr_eq(&self.session, session)
    }

    /// Returns the call's id. The client's request ids are not used, as they need not be unique.
    pub(crate) fn id(&self) -> String {
        format!("{}{}", self.session.call_prefix, self.number)
    }
}

impl ClientSession {
    pub(crate) fn new(state: Arc<ServerState>, shared_id: Option<String>) -> Self {
        let activity = Mutex::new(Activity {
            running: 0,
            since: Instant::now(),
        });
        let opened = RwLock::default();
        let opening = tokio::sync::Mutex::default();
        let calls = AtomicU64::new(0);
        let call_prefix = call_prefix(shared_id.is_some());
        let streams = Arc::default();
        let unclaimed = OnceLock::new();
        let streams_ended = OnceLock::new();
        Self {
            state,
            shared_id,
            is_anonymous: false,
            opened,
            opening,
            calls,
            call_prefix,
            activity,
            streams,
            unclaimed,
            streams_ended,
        }
    }

    /// Returns the token that is cancelled once the client's requests get this session no more: its
    /// principal is gone, or the session has ended or was lost. Its streams of changes end then.
    pub(crate) fn streams_ended(&self) -> &CancellationToken {
        self.streams_ended.get_or_init(CancellationToken::new)
    }

    /// Returns the id by which all processes know the client.
    pub(crate) fn shared_id(&self) -> Option<&str> {
        self.shared_id.as_deref()
    }

    /// Returns the records that all processes share.
    pub(crate) fn shared_records(&self) -> Option<SharedRecords> {
        self.state.runtime.shared_records(self.state.settings.mode)
    }

    /// Counts a result that has to be recorded before the process ends.
    pub(crate) fn open_answer(&self) -> OpenAnswer {
        self.state.answers.begin()
    }

    fn opened(&self) -> Option<OpenedSession> {
        self.opened.read().clone()
    }

    /// Returns the session if it is open and has the current tools.
    pub(crate) fn current(&self) -> Option<Session> {
        let opened = self.opened.read();
        let current = opened
            .as_ref()
            .filter(|opened| opened.is_current(&self.state));
        current.map(|opened| opened.session.clone())
    }

    /// Returns the session if it is open, also while its tools are those before a refresh.
    pub(crate) fn latest(&self) -> Option<Session> {
        let opened = self.opened.read();
        opened.as_ref().map(|opened| opened.session.clone())
    }

    /// Returns the session with the current tools, and opens it for a client if it is not open.
    pub(crate) async fn get(self: &Arc<Self>, context: &ServerContext) -> McpResult<Session> {
        let info = || ClientInfo::of(context.client_info().as_ref(), &client(context));
        match self.current() {
            Some(session) => Ok(session),
            // Boxed, as every request's future would otherwise have the size of the opening.
            None => Box::pin(self.open_or_renew(info)).await,
        }
    }

    /// Opens the session, gives it the tools of the last refresh, or opens another in the place of
    /// one that is lost, as its client does not know of that. A session that the host has ended
    /// stays as it is.
    pub(crate) async fn open_or_renew(
        self: &Arc<Self>,
        client: impl FnOnce() -> ClientInfo,
    ) -> McpResult<Session> {
        let _opening = self.opening.lock().await;
        if let Some(session) = self.current() {
            return Ok(session);
        }
        match self.opened() {
            Some(opened) if opened.is_lost => self.open(self.new_id()?, opened.client, false).await,
            Some(opened) if opened.session.state().ended => Ok(opened.session),
            Some(opened) => {
                self.open(opened.session.id().as_str().to_owned(), opened.client, true)
                    .await
            }
            None => self.open(self.new_id()?, client(), false).await,
        }
    }

    /// Gives up a session that the store does not know any more, unless another is open already.
    pub(crate) fn lose(&self, lost: &Session) {
        let mut opened = self.opened.write();
        if let Some(opened) = opened
            .as_mut()
            .filter(|opened| opened.session.id() == lost.id())
        {
            tracing::warn!(session = %lost.id().as_str().escape_debug(), "the store has lost an MCP session");
            opened.is_lost = true;
        }
    }

    /// Begins a turn if the next call would, and returns true if that shows that the store has lost
    /// the session.
    pub(crate) async fn begin_due_turn(self: &Arc<Self>) -> bool {
        let Some(session) = self
            .current()
            .filter(|_| self.begins_turn(&self.activity.lock()))
        else {
            return false;
        };
        let (_running, is_lost) = self.begin_call(&session).await;
        is_lost
    }

    async fn open(
        self: &Arc<Self>,
        id: String,
        client: ClientInfo,
        renews: bool,
    ) -> McpResult<Session> {
        let refresh = self.state.refreshes.count();
        let session = open(&self.state, id, &client, renews).await?;
        if !renews {
            self.state
                .refreshes
                .open
                .lock()
                .insert(Arc::as_ptr(self).addr(), Arc::downgrade(self));
        }
        let opened = OpenedSession {
            session: session.clone(),
            client,
            refresh,
            is_lost: false,
        };
        // The earlier session is dropped without the lock.
        let earlier = self.opened.write().replace(opened);
        drop(earlier);
        Ok(session)
    }

    fn new_id(&self) -> McpResult<String> {
        self.shared_id
            .clone()
            .map_or_else(|| Ok(format!("mcp-{}", random_id()?)), Ok)
    }

    pub(crate) fn is_open(&self) -> bool {
        self.opened.read().is_some()
    }

    /// Returns true if the session was open and has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.opened()
            .is_some_and(|opened| opened.session.state().ended)
    }

    /// Counts a call as running, and begins a new turn if the session was idle for long enough.
    /// Returns true with it if the store has lost the session. One that the host has ended stays
    /// ended.
    pub(crate) async fn begin_call(self: &Arc<Self>, session: &Session) -> (RunningCall, bool) {
        let (running, new_turn) = {
            let mut activity = self.activity.lock();
            let new_turn = self.begins_turn(&activity);
            (self.count(&mut activity), new_turn)
        };
        let is_lost = new_turn && !session.state().ended && session.next_turn().await.ended;
        (running, is_lost)
    }

    /// Counts a call as running that was begun before, so that it begins no turn.
    pub(crate) fn count_begun(self: &Arc<Self>) -> RunningCall {
        self.count(&mut self.activity.lock())
    }

    /// Counts a call as running. Returns `None` if the call would wait for its session or for a new
    /// turn.
    pub(crate) fn begin_at_once(self: &Arc<Self>) -> Option<(RunningCall, Session)> {
        let session = self.current()?;
        let mut activity = self.activity.lock();
        (!self.begins_turn(&activity)).then(|| (self.count(&mut activity), session))
    }

    fn begins_turn(&self, activity: &Activity) -> bool {
        activity.running == 0 && activity.since.elapsed() >= self.state.settings.turn_after
    }

    fn count(self: &Arc<Self>, activity: &mut Activity) -> RunningCall {
        activity.running += 1;
        RunningCall {
            session: Arc::clone(self),
            number: self.calls.fetch_add(1, Ordering::Relaxed) + 1,
        }
    }

    /// Returns true if no call waits for the host while its client does not.
    pub(crate) fn has_none_unclaimed(&self) -> bool {
        self.unclaimed.get().is_none_or(|calls| calls.is_empty())
    }

    /// Takes out the call that waits for the host and that its client repeats, with the alias that
    /// it got or without one.
    pub(crate) fn claim(
        &self,
        alias: Option<&str>,
        digest: impl FnOnce() -> String,
    ) -> Option<AwaitedCall> {
        let calls = self
            .unclaimed
            .get()
            .filter(|calls| !calls.is_empty() && (alias.is_some() || !self.is_anonymous))?;
        calls.claim(&digest(), |call| {
            alias.is_none_or(|alias| call.has_alias(alias))
        })
    }

    pub(crate) async fn end(&self) {
        if let Some(opened) = self.opened() {
            opened.session.end().await;
        }
    }
}

/// Returns the beginning of the ids of a session's calls. Other processes make calls in a shared
/// session, too, and a journal must not take a call for one of theirs.
fn call_prefix(is_shared: bool) -> String {
    let random = is_shared.then(random_id).and_then(Result::ok);
    let part = random.as_deref().and_then(|random| random.get(..16));
    part.map_or_else(|| "call_".to_owned(), |part| format!("call_{part}_"))
}

async fn open(
    state: &ServerState,
    id: String,
    client: &ClientInfo,
    renews: bool,
) -> McpResult<Session> {
    let mut builder = client_requests::unavailable(state.runtime.session(id, state.settings.mode));
    if renews {
        builder = builder.renewed();
    }
    if let Some(principal) = &client.principal {
        builder = builder.principal(principal);
    }
    if let Some(configure) = &state.settings.configure_session {
        builder = configure(builder, client);
    }
    builder.await.map_err(|error| {
        tracing::error!(%error, "failed to open an MCP session");
        ErrorData::internal_error(
            "no session can be opened at the moment; try again later",
            None,
        )
    })
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        let mut activity = self.session.activity.lock();
        activity.running = activity.running.saturating_sub(1);
        activity.since = Instant::now();
    }
}

impl Drop for ClientSession {
    fn drop(&mut self) {
        let opened = self.opened.get_mut().take();
        if opened.is_some() {
            self.state
                .refreshes
                .open
                .lock()
                .remove(&std::ptr::from_ref(self).addr());
        }
        if self.shared_id.is_some() {
            // Another process may be in the middle of a turn of the session, which expires in the
            // store.
            return;
        }
        if let (Some(opened), Ok(runtime)) = (opened, tokio::runtime::Handle::try_current()) {
            runtime.spawn(async move { opened.session.end().await });
        }
    }
}

/// A session for each client that opens none, until it is idle for [`Server::idle_timeout`](super::Server::idle_timeout).
///
/// From revision 2026-07-28 on a request belongs to no session of the protocol. Without a session
/// that outlives the request, every request would begin with full budgets and an empty history. So
/// all requests of one client share a session.
#[derive(Default)]
pub(crate) struct SharedSessions(Mutex<HashMap<Identity, SharedSession>>);

struct SharedSession {
    session: Arc<ClientSession>,
    used: Instant,
    _slot: Share<Identity>,
}

impl Drop for SharedSession {
    /// Ends the streams of changes of a session that is removed. Otherwise nothing could end them
    /// with their principal, and they would not count among those of the session that follows.
    fn drop(&mut self) {
        self.session.streams_ended().cancel();
    }
}

impl SharedSessions {
    /// Returns the session of a client. Fails if it has none and no further session may be opened.
    pub(crate) fn get(
        &self,
        client: &Client,
        state: &Arc<ServerState>,
    ) -> McpResult<Arc<ClientSession>> {
        let now = Instant::now();
        let mut expired = Vec::new();
        let mut sessions = self.0.lock();
        if let Some(shared) = sessions.get_mut(&client.identity) {
            if !shared.session.has_ended() {
                shared.used = now;
                return Ok(Arc::clone(&shared.session));
            }
            expired.extend(sessions.remove(&client.identity));
        }
        let idle_timeout = state.settings.idle_timeout;
        let is_idle = |shared: &SharedSession| {
            now.duration_since(shared.used) >= idle_timeout
                && Arc::strong_count(&shared.session) == 1
        };
        expired.extend(
            sessions
                .extract_if(|_, shared| is_idle(shared))
                .map(|(_, shared)| shared),
        );
        // The sessions end and their places are free once they are dropped.
        drop(expired);
        let slot = state.take_place(client).map_err(too_many_sessions)?;
        let mut session = ClientSession::new(Arc::clone(state), client.session_id());
        session.is_anonymous = session.shared_id.is_none();
        let session = Arc::new(session);
        let shared = SharedSession {
            session: Arc::clone(&session),
            used: now,
            _slot: slot,
        };
        sessions.insert(client.identity.clone(), shared);
        Ok(session)
    }

    /// Removes the session of a client that has ended, so that the next request opens another.
    pub(crate) fn remove(&self, client: &Client, ended: &Arc<ClientSession>) {
        let mut sessions = self.0.lock();
        if sessions
            .get(&client.identity)
            .is_some_and(|shared| Arc::ptr_eq(&shared.session, ended))
        {
            sessions.remove(&client.identity);
        }
    }
}

impl EndSessions for SharedSessions {
    fn end_of(&self, is_gone: &dyn Fn(&str) -> bool) {
        let is_of_gone = |identity: &Identity| match identity {
            Identity::Principal(principal) => is_gone(principal),
            _ => false,
        };
        let ended = self
            .0
            .lock()
            .extract_if(|identity, _| is_of_gone(identity))
            .collect::<Vec<_>>();
        // Dropped without the lock.
        drop(ended);
    }
}

/// Returns the answer to a request that would open one session too many.
pub(crate) fn too_many_sessions(limit: QuotaExceeded) -> ErrorData {
    tracing::warn!(?limit, "refused to open an MCP session");
    let (who, max) = match limit {
        QuotaExceeded::All(max) => ("the server has", max),
        QuotaExceeded::Each(max) => (
            "this client, or all at its address whose tokens are not checked, have",
            max,
        ),
    };
    ErrorData::invalid_request(
        format!("{who} {max} sessions open; end one of them, or try again later"),
        None,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_whose_router_is_dropped_are_forgotten() {
        let endpoints = Endpoints::default();
        for _ in 0..3 {
            let shared = Arc::<SharedSessions>::default();
            let sessions = Arc::downgrade(&shared);
            endpoints.add(sessions);
        }
        assert_eq!(endpoints.0.lock().len(), 1, "the last is not looked at yet");
    }

    // T26
    #[tokio::test]
    async fn a_lost_session_ends_its_streams() {
        let tools = ToolContext::builder().build().expect("no tools");
        let runtime = Runtime::builder(tools).build().expect("a runtime");
        let state = Arc::new(ServerState::new(runtime));
        let shared = SharedSessions::default();
        let client = Client::default();
        let lost = shared.get(&client, &state).expect("a session");
        let ended = lost.streams_ended().clone();
        assert!(!ended.is_cancelled());

        shared.remove(&client, &lost);
        assert!(ended.is_cancelled());
    }
}
