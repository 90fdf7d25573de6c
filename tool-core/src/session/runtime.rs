//! The runtime, which governs the calls of all sessions.

use crate::call::Mode;
#[cfg(feature = "tower")]
use crate::call::ToolCall;
use crate::call::error::ErrorList;
use crate::call::handlers::{SharedHandlers, handler_setters};
use crate::call::{ApprovalNeed, ToolError, ToolResponse};
use crate::registry::{RegistryError, RegistryErrors, ToolContext};
use crate::session::approval_requests::ApprovalRequests;
use crate::session::approvals::{PendingCall, Signer};
use crate::session::builder::SessionBuilder;
use crate::session::circuit_breaker::Circuits;
use crate::session::control_tools::session_tools;
use crate::session::drain::DrainReport;
use crate::session::drain_switch::DrainSwitch;
use crate::session::guards::Guards;
use crate::session::handle::Session;
use crate::session::hooks::{
    AfterHook, AroundHook, BeforeHook, ConfirmHook, Hook, HookFn, HookedCall, Next,
};
use crate::session::inner::{RuntimeInner, SessionInner};
use crate::session::journal::{DynJournal, Journal};
use crate::session::journal_seal::JournalSealer;
#[cfg(feature = "tower")]
use crate::session::layers::{CallService, LayerStack, WrapService, wrap_in};
use crate::session::metrics::call_log::SessionCall;
use crate::session::metrics::report::{LoopMetrics, Metrics, RuntimeMetrics};
#[cfg(feature = "tower")]
use crate::session::pipeline::entry;
use crate::session::policy::Policy;
use crate::session::shared_limits::SharedSettings;
use crate::session::state::SessionId;
use crate::session::store::handle::DynStore;
use crate::session::store::{MemoryStore, SessionStore, StoreError};
use crate::session::thread_pool::ThreadPool;
use crate::session::tools::Policies;
use crate::session::unrecorded_calls::UnrecordedCalls;
use crate::tool::instance::release;
use futures_util::future::join_all;
use parking_lot::{Mutex, RwLock};
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::watch;

/// Builds a [`Runtime`].
///
/// ```
/// use std::time::Duration;
/// use tool_core::session::MemoryStore;
/// use tool_core::{Mode, Policy, Runtime, ToolContext};
///
/// let tools = ToolContext::builder().build()?;
/// let runtime = Runtime::builder(tools)
///     .policy_for(Mode::Voice, Policy::voice().deadline(Duration::from_secs(5)))
///     .store(MemoryStore::new()) // the default
///     .signing_key([7; 32]) // in production random bytes, the same in all processes
///     .build()?;
/// # let _ = runtime;
/// # Ok::<(), tool_core::RegistryErrors>(())
/// ```
#[must_use]
pub struct RuntimeBuilder {
    tools: ToolContext,
    /// By mode.
    policies: [Policy; 2],
    store: Arc<dyn DynStore>,
    journal: Option<Arc<dyn DynJournal>>,
    handlers: SharedHandlers,
    hooks: Vec<Arc<dyn Hook>>,
    guards: Guards,
    #[cfg(feature = "tower")]
    layers: Vec<WrapService>,
    signer: Option<Signer>,
}

/// # Policy, storage and keys
impl RuntimeBuilder {
    /// Sets the policy of all sessions, in place of earlier policies. Defaults to [`Policy::voice`]
    /// for voice sessions and
    /// [`Policy::text`] for text sessions.
    pub fn policy(self, policy: Policy) -> Self {
        self.policy_for(Mode::Voice, policy.clone())
            .policy_for(Mode::Text, policy)
    }

    /// Sets the policy of the sessions of one mode.
    pub fn policy_for(mut self, mode: Mode, policy: Policy) -> Self {
        self.policies[mode as usize] = policy;
        self
    }

    /// Sets the session store, or an `Arc` of one. Defaults to a [`MemoryStore`].
    pub fn store(mut self, store: impl SessionStore) -> Self {
        self.store = Arc::new(store);
        self
    }

    /// Sets the journal in which calls are recorded before they run. Defaults to none.
    ///
    /// With a [signing key](Self::signing_key), each entry and each response has a keyed proof. A
    /// record that was changed, or written without the key, counts as unknown: an action does not
    /// run, and no response is read from it.
    pub fn journal(mut self, journal: impl Journal) -> Self {
        self.journal = Some(Arc::new(journal));
        self
    }

    /// Sets the key that signs approval tokens, and the records of the [journal](Self::journal): 32
    /// random bytes. Defaults to a random key of this process, whose tokens no other process can
    /// redeem; the journal's records are not signed then.
    pub fn signing_key(mut self, key: [u8; 32]) -> Self {
        self.signer = Some(Signer::new(key));
        self
    }

    /// Builds the runtime.
    ///
    /// # Errors
    ///
    /// - A tool has the name of a control tool: `cancel_call` or `list_running_calls`, which are
    ///   added if a tool is `cancellable`; `get_tool_guide` ([`Policy::guides_on_demand`]); or
    ///   `search_tools` ([`Policy::search_tools`]).
    /// - A policy has a [`principal_window`](Policy::principal_window) under a second, or a shared limit
    ///   that admits nothing.
    pub fn build(self) -> Result<Runtime, RegistryErrors> {
        check_policies(&self.policies)?;
        let metrics = RuntimeMetrics::default();
        let policies = Arc::new(self.policies);
        let tools = Arc::new(session_tools(
            self.tools,
            |tool| metrics.stats_of(tool, false),
            &policies,
        )?);
        let threads = policies
            .iter()
            .map(|policy| policy.blocking_threads)
            .max()
            .unwrap_or(1);
        let inner = Arc::new(RuntimeInner {
            tools: RwLock::new(tools),
            store: self.store,
            journal: self.journal,
            handlers: self.handlers,
            hooks: self.hooks,
            guards: self.guards,
            #[cfg(feature = "tower")]
            layers: LayerStack::new(self.layers, innermost_service()),
            journal_sealer: JournalSealer(self.signer.clone()),
            signer: self.signer.unwrap_or_else(Signer::random),
            sessions: Mutex::default(),
            threads: ThreadPool::new(threads),
            metrics,
            circuits: Circuits::default(),
            accounts: Mutex::default(),
            approvals: ApprovalRequests::default(),
            unrecorded: UnrecordedCalls::default(),
            spare: Arc::default(),
            drain: DrainSwitch::default(),
        });
        Ok(Runtime(inner))
    }
}

/// # Hooks, guards and layers
impl RuntimeBuilder {
    /// Adds a function that runs before each call which has passed every check. An error becomes
    /// the call's answer. See
    /// [`Hook::before`].
    ///
    /// ```
    /// use tool_core::session::HookedCall;
    /// use tool_core::{Category, Runtime, ToolContext, ToolError};
    ///
    /// # let tools = ToolContext::builder().build()?;
    /// let runtime = Runtime::builder(tools).before(async |call: HookedCall<'_>| {
    ///     let allowed = call.tool.category() != Category::Action || call.principal.starts_with("staff:");
    ///     if allowed { Ok(()) } else { Err(ToolError::auth("only the staff may do this")) }
    /// });
    /// # runtime.build()?;
    /// # Ok::<(), tool_core::RegistryErrors>(())
    /// ```
    ///
    /// A closure may capture. Each call runs a clone of it, so share what it captures in an `Arc`:
    ///
    /// ```
    /// use std::collections::HashSet;
    /// use std::sync::Arc;
    /// use tool_core::session::HookedCall;
    /// use tool_core::{Runtime, ToolContext, ToolError};
    ///
    /// # let tools = ToolContext::builder().build()?;
    /// let blocked = Arc::new(HashSet::from(["user:7"]));
    /// let runtime = Runtime::builder(tools).before(async move |call: HookedCall<'_>| {
    ///     if blocked.contains(call.principal) { Err(ToolError::auth("this account is blocked")) } else { Ok(()) }
    /// });
    /// # runtime.build()?;
    /// # Ok::<(), tool_core::RegistryErrors>(())
    /// ```
    pub fn before<F>(self, function: F) -> Self
    where
        F: for<'a> HookFn<'a, (HookedCall<'a>,), Output = Result<(), ToolError>, Future: Send>
            + 'static,
    {
        self.hook(BeforeHook(function))
    }

    /// Adds a function that says whether a person has to approve a call, and why. It returns a
    /// `bool`, a reason in an [`Option`], or an [`ApprovalNeed`]. What the tool and the policy ask for
    /// stays. See [`Hook::confirm`].
    ///
    /// ```
    /// use tool_core::session::HookedCall;
    /// use tool_core::{Category, Runtime, ToolContext};
    ///
    /// # let tools = ToolContext::builder().build()?;
    /// let runtime = Runtime::builder(tools).confirm(async |call: HookedCall<'_>| {
    ///     let asks = call.tool.category() == Category::Action && call.principal.is_empty();
    ///     asks.then_some("the user is not signed in")
    /// });
    /// # runtime.build()?;
    /// # Ok::<(), tool_core::RegistryErrors>(())
    /// ```
    pub fn confirm<F>(self, function: F) -> Self
    where
        F: for<'a> HookFn<'a, (HookedCall<'a>,), Output: Into<ApprovalNeed>, Future: Send>
            + 'static,
    {
        self.hook(ConfirmHook(function))
    }

    /// Adds a function that runs after each call of a known tool, and may change its answer. See [`Hook::after`].
    ///
    /// ```
    /// use tool_core::session::HookedCall;
    /// use tool_core::{Runtime, ToolContext, ToolResponse};
    ///
    /// # let tools = ToolContext::builder().build()?;
    /// let runtime = Runtime::builder(tools).after(async |call: HookedCall<'_>, response: &mut ToolResponse| {
    ///     println!("{} of {}: {}", call.tool.name(), call.principal, response.is_ok());
    /// });
    /// # runtime.build()?;
    /// # Ok::<(), tool_core::RegistryErrors>(())
    /// ```
    pub fn after<F>(self, function: F) -> Self
    where
        F: for<'a> HookFn<'a, (HookedCall<'a>, &'a mut ToolResponse), Output = (), Future: Send>
            + 'static,
    {
        self.hook(AfterHook(function))
    }

    /// Adds a function that runs around each call which has passed every check, and returns its
    /// answer. See
    /// [`Hook::around`].
    ///
    /// ```
    /// use tool_core::session::{HookedCall, Next};
    /// use tool_core::{Runtime, ToolContext};
    ///
    /// # let tools = ToolContext::builder().build()?;
    /// let runtime = Runtime::builder(tools).around(async |call: HookedCall<'_>, next: Next<'_>| {
    ///     println!("{} begins", call.tool.name());
    ///     next.run().await
    /// });
    /// # runtime.build()?;
    /// # Ok::<(), tool_core::RegistryErrors>(())
    /// ```
    pub fn around<F>(self, function: F) -> Self
    where
        F: for<'a> HookFn<'a, (HookedCall<'a>, Next<'a>), Output = ToolResponse, Future: Send>
            + 'static,
    {
        self.hook(AroundHook(function))
    }

    /// Adds a hook.
    pub fn hook(mut self, hook: impl Hook) -> Self {
        self.hooks.push(Arc::new(hook));
        self
    }

    /// Sets the guards of all sessions, in place of earlier ones: checks of what a user says and of
    /// what a model answers. [`Session::reply`] and the agent loop run them. Hooks run around the
    /// calls between the two.
    ///
    /// ```
    /// use tool_core::session::{GuardedInput, Guards, InputVerdict};
    /// use tool_core::{Runtime, ToolContext};
    ///
    /// # let tools = ToolContext::builder().build()?;
    /// let guards = Guards::new().input(async |input: GuardedInput<'_>| {
    ///     let is_card = input.message.text().contains("4111 1111");
    ///     Ok(if is_card { InputVerdict::Refuse("Keep your card number.".into()) } else { InputVerdict::Pass })
    /// });
    /// let runtime = Runtime::builder(tools).guards(guards).build()?;
    /// # Ok::<(), tool_core::RegistryErrors>(())
    /// ```
    pub fn guards(self, guards: Guards) -> Self {
        Self { guards, ..self }
    }

    /// Adds a tower layer around the calls of all sessions, for example a rate limit, a concurrency
    /// limit or load shedding. The first layer is the outermost.
    ///
    /// A rate limit makes calls wait; their `durationMs` does not include that time. With load
    /// shedding around it, calls that would wait are answered `RATE_LIMIT`. tower's `Elapsed` is
    /// answered TIMEOUT, any other error INTERNAL. Calls that tools make, and calls of the control
    /// tools, do not pass through the layers.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tool_core::{Runtime, ToolContext};
    /// use tower::limit::RateLimitLayer;
    /// use tower::load_shed::LoadShedLayer;
    ///
    /// # let tools = ToolContext::builder().build()?;
    /// let limit = RateLimitLayer::new(100, Duration::from_secs(1));
    /// let runtime = Runtime::builder(tools).layer(LoadShedLayer::new()).layer(limit).build()?;
    /// # Ok::<(), tool_core::RegistryErrors>(())
    /// ```
    #[cfg(feature = "tower")]
    pub fn layer<L, S>(mut self, layer: L) -> Self
    where
        L: tower::Layer<
                tower::util::BoxService<ToolCall, ToolResponse, tower::BoxError>,
                Service = S,
            > + Send
            + 'static,
        S: tower::Service<
                ToolCall,
                Response = ToolResponse,
                Error: Into<tower::BoxError>,
                Future: Send,
            > + Send
            + 'static,
    {
        self.layers.push(wrap_in(layer));
        self
    }
}

/// # Requests of tools to the host
impl RuntimeBuilder {
    handler_setters! {
        ///
        /// A session's or a call's own handler comes before it. Defaults to none: a request fails
        /// at once, and a log message reaches `tracing` only.
        |builder| builder.handlers
    }
}

fn check_policies(policies: &Policies) -> Result<(), RegistryErrors> {
    let settings = policies
        .iter()
        .filter_map(|policy| policy.shared.as_deref());
    let mut problems = settings
        .flat_map(SharedSettings::problems)
        .collect::<Vec<_>>();
    if policies
        .iter()
        .filter_map(Policy::caps)
        .any(|caps| caps.window < Duration::from_secs(1))
    {
        let message = "expected a `Policy::principal_window` of at least a second; set a longer one, such as a day";
        problems.push(message.to_owned());
    }
    // Both modes often have the same policy.
    problems.sort();
    problems.dedup();
    let errors = problems
        .into_iter()
        .map(|problem| RegistryError::new(problem, []));
    ErrorList::check(errors.collect())
}

/// Returns the service inside the layers.
#[cfg(feature = "tower")]
fn innermost_service() -> CallService {
    CallService::new(tower::service_fn(|call: ToolCall| async move {
        Ok(entry::call_from_layers(call).await)
    }))
}

/// A call that waits for approval, with the session that decides on it. See [`Runtime::waiting_calls`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WaitingCall {
    /// The session.
    pub session: Session,
    /// The call.
    pub call: PendingCall,
    /// The token of the call, for [`Session::approve`] and [`Session::deny`].
    pub token: String,
}

/// Governs the calls of all sessions: budgets, modes, loop detection, confirmation, deadlines.
/// Cheap to clone.
///
/// ```
/// use serde_json::json;
/// use tool_core::{Mode, Policy, Runtime, ToolCall, ToolContext, tool};
///
/// /// Add two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let tools = ToolContext::builder().with(add).build()?;
/// let runtime = Runtime::builder(tools).policy(Policy::voice()).build()?;
/// let session = runtime.session("s-1", Mode::Voice).await?;
///
/// let response = session.call(ToolCall::new("call_1", "add", json!({"a": 1, "b": 2}))).await;
/// assert_eq!(response.data_json(), Some("3"));
/// session.end().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Runtime(pub(crate) Arc<RuntimeInner>);

/// # Sessions
impl Runtime {
    /// Returns a builder of a runtime with these tools.
    pub fn builder(tools: ToolContext) -> RuntimeBuilder {
        RuntimeBuilder {
            tools,
            policies: [Policy::voice(), Policy::text()],
            store: Arc::new(MemoryStore::new()),
            journal: None,
            handlers: SharedHandlers::default(),
            hooks: Vec::new(),
            guards: Guards::new(),
            #[cfg(feature = "tower")]
            layers: Vec::new(),
            signer: None,
        }
    }

    /// Opens a session with the current tools, or joins the session that is open under this id.
    /// Await the builder to open it.
    pub fn session(&self, id: impl Into<SessionId>, mode: Mode) -> SessionBuilder {
        SessionBuilder::new(Arc::clone(&self.0), id.into(), mode)
    }

    /// Returns the number of open sessions in all processes that share the store.
    ///
    /// # Errors
    ///
    /// The store failed.
    pub async fn sessions(&self) -> Result<u64, StoreError> {
        self.0.store.sessions().await
    }

    /// Returns the calls that the store keeps of the session that is open under an id, or that was open last, oldest first
    /// and redacted. Those of a session that has ended are kept for [`Policy::keep_calls_for`].
    ///
    /// This is for the host, for example its pages for operators: it does not ask on whose behalf the host reads. What a user may
    /// read of a session is its [`history`](crate::Session::history).
    ///
    /// # Errors
    ///
    /// The store failed.
    pub async fn calls(&self, id: impl Into<SessionId>) -> Result<Vec<SessionCall>, StoreError> {
        self.0.store.calls(&id.into()).await
    }
}

/// # The end of the process
impl Runtime {
    /// Prepares the end of this process: nothing new begins, and what runs may finish. Use it if
    /// the session store is shared, so that another process goes on with the sessions. They stay in
    /// their store, and so do the calls that wait for approval.
    ///
    /// - New calls and approvals of calls are answered with a retryable `TRANSIENT`, and nothing is
    ///   done. A new reply of a model ends with that error, and its message is not added to the
    ///   history.
    /// - Running calls finish, with the calls that their tools make. A reply that has begun goes on,
    ///   with its calls.
    /// - What still runs after `limit` is cancelled and answered, and is in the report. A drain
    ///   waits up to 5 more seconds for these answers.
    /// - Then the runtime's toolsets are closed, except those that are in use elsewhere.
    ///
    /// Choose a limit above the longest deadline of a call. It must end before the process is
    /// killed: in Kubernetes, set `terminationGracePeriodSeconds` 15 s above it.
    ///
    /// There is no way back: this runtime makes no calls any more. With sessions in memory nothing
    /// can go on with them, so call [`shutdown`](Self::shutdown) afterwards, or instead.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tool_core::{ErrorKind, Mode, Runtime, ToolCall, ToolContext, tool};
    ///
    /// /// Say hello.
    /// #[tool]
    /// fn greet() -> &'static str {
    ///     "hello"
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let runtime = Runtime::builder(ToolContext::builder().with(greet).build()?).build()?;
    /// let session = runtime.session("s-1", Mode::Text).await?;
    ///
    /// let report = runtime.drain(Duration::from_secs(30)).await; // at SIGTERM
    /// assert!(report.is_empty(), "{report:?} did not finish");
    ///
    /// let response = session.call(ToolCall::new("call_1", "greet", "{}")).await;
    /// let error = response.error().ok_or("it is refused")?;
    /// assert_eq!((error.kind, error.retryable), (ErrorKind::Transient, true));
    /// assert_eq!(runtime.sessions().await?, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn drain(&self, limit: Duration) -> DrainReport {
        self.0.drain(limit).await
    }

    /// Returns true once a [`drain`](Self::drain) has begun. A check for readiness answers that the
    /// process takes no requests then.
    pub fn is_draining(&self) -> bool {
        self.0.drain.is_on()
    }

    /// Waits until a [`drain`](Self::drain) begins. Use it to end what has no end of its own, for
    /// example a stream of events or a conversation by voice.
    pub async fn drain_begun(&self) {
        self.0.drain.begun().cancelled().await;
    }

    /// Ends every session that has a handle in this process: running calls are cancelled and
    /// answered. Then closes the runtime's toolsets, except those that are in use elsewhere.
    ///
    /// The sessions end in their store, too. With a store that processes share, no other process
    /// can go on with them: use [`drain`](Self::drain) instead.
    pub async fn shutdown(&self) {
        let sessions = self
            .0
            .sessions
            .lock()
            .values()
            .filter_map(Weak::upgrade)
            .collect::<Vec<_>>();
        join_all(sessions.iter().map(SessionInner::end)).await;
        let open = std::mem::take(&mut *self.0.tools().open.lock());
        release(open).await;
    }
}

/// # Tools and policies
impl Runtime {
    /// Returns the tools of sessions that are opened now, including the control tools.
    pub fn tools(&self) -> ToolContext {
        self.0.tools().context.clone()
    }

    /// Replaces all tools. Open sessions keep the tools that they were opened with, until they are
    /// [renewed](SessionBuilder::renewed).
    pub fn update_tools(&self, tools: ToolContext) -> Result<(), RegistryErrors> {
        let stats = |tool: &str| self.0.metrics.stats_of(tool, false);
        let mut current = self.0.tools.write();
        let tools = Arc::new(session_tools(tools, stats, &current.policies)?);
        // Dropped without the lock, as dropping tools may take locks.
        let before = std::mem::replace(&mut *current, tools);
        drop(current);
        drop(before);
        Ok(())
    }

    /// Replaces the policy of a mode. Open sessions keep the policies that they were opened with,
    /// until they are
    /// [renewed](SessionBuilder::renewed). The size of the pool of [`Policy::blocking_threads`] does not change.
    ///
    /// ```
    /// # use tool_core::{Mode, Policy, Runtime, ToolContext};
    /// # let runtime = Runtime::builder(ToolContext::builder().build()?).build()?;
    /// runtime.update_policy(Mode::Text, Policy::text().max_calls(Some(20)))?;
    /// # Ok::<(), tool_core::RegistryErrors>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors for which [`RuntimeBuilder::build`] refuses a policy.
    pub fn update_policy(&self, mode: Mode, policy: Policy) -> Result<(), RegistryErrors> {
        let stats = |tool: &str| self.0.metrics.stats_of(tool, false);
        let mut current = self.0.tools.write();
        let mut policies = (*current.policies).clone();
        policies[mode as usize] = policy;
        check_policies(&policies)?;
        let mut tools = session_tools(current.context.clone(), stats, &Arc::new(policies))?;
        tools.open.get_mut().clone_from(&current.open.lock());
        let tools = Arc::new(tools);
        let before = std::mem::replace(&mut *current, tools);
        drop(current);
        drop(before);
        Ok(())
    }
}

/// # Calls that wait for a person
impl Runtime {
    /// Returns the calls that wait for approval and were requested in this process, the oldest
    /// first: of the last 256 requests, those whose session still has a handle here. Calls that
    /// other processes requested are in the store, but are not listed.
    ///
    /// This is for the host, for example its pages for operators: it does not ask on whose behalf
    /// the host decides.
    ///
    /// ```
    /// # use tool_core::{Mode, Runtime, ToolCall, ToolContext, tool};
    /// # /// Delete a note.
    /// # #[tool(confirm)]
    /// # fn delete(id: u32) -> u32 {
    /// #     id
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let runtime = Runtime::builder(ToolContext::builder().with(delete).build()?).build()?;
    /// let session = runtime.session("s-1", Mode::Text).await?;
    /// session.call(ToolCall::new("call_1", "delete", r#"{"id": 7}"#)).await;
    ///
    /// let waiting = runtime.waiting_calls().await?;
    /// assert_eq!(waiting[0].call.payload(), r#"delete({"id":7})"#);
    /// let response = waiting[0].session.approve(&waiting[0].token).await;
    /// assert_eq!(response.data_json(), Some("7"));
    /// assert!(runtime.waiting_calls().await?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The store failed.
    pub async fn waiting_calls(&self) -> Result<Vec<WaitingCall>, StoreError> {
        let mut waiting = Vec::new();
        for requested in self.0.approvals.calls() {
            // Without a handle the call waits on, and is listed once the session has one again.
            let Some(session) = self.0.session(requested.session.as_str()) else {
                continue;
            };
            let pending = if session.is_open_as(requested.incarnation) {
                session.record.pending(&requested.id).await?
            } else {
                None
            };
            match pending.filter(|call| !call.is_stale()) {
                Some(call) => {
                    let token = self.0.signer.sign(&call);
                    waiting.push(WaitingCall {
                        session: Session(session),
                        call,
                        token,
                    });
                }
                None => self.0.approvals.forget(&requested.id),
            }
        }
        Ok(waiting)
    }

    /// Returns the number of approvals that this process has requested, as a receiver that wakes at
    /// each one.
    pub fn approval_requests(&self) -> watch::Receiver<u64> {
        self.0.approvals.count.subscribe()
    }

    /// Returns the signer of approval tokens.
    #[cfg(feature = "agents")]
    pub(crate) fn signer(&self) -> &Signer {
        &self.0.signer
    }
}

/// # Measurements
impl Runtime {
    /// Returns the measurements: calls, sizes, latencies, errors, context, loops. Tools of one name
    /// are measured together, also those that sessions bring themselves.
    pub fn metrics(&self) -> Metrics {
        // Upgraded first: a session that is dropped takes the lock.
        let sessions = self
            .0
            .sessions
            .lock()
            .values()
            .filter_map(Weak::upgrade)
            .collect::<Vec<_>>();
        let mut loops = LoopMetrics::default();
        for session in sessions.iter().filter(|session| !session.calls.is_closed()) {
            loops.active_sessions += 1;
            loops.total_turns_tracked += session.log().turns_since(session.first_turn());
        }
        let circuits = self.0.circuits.metrics();
        let tools = self.0.tools();
        self.0.metrics.report(&tools.context, loops, circuits)
    }

    /// Returns the number of `blocking` tools that still run although their callers were answered
    /// or are gone.
    pub fn detached(&self) -> usize {
        self.0.threads.detached.len()
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime")
            .field("tools", &self.tools())
            .finish_non_exhaustive()
    }
}
