//! Opening a session.

use crate::call::context::{CallContext, RunContext, SessionContext, SessionHandle};
use crate::call::handlers::handler_setters;
use crate::call::{Mode, ToolResponse};
use crate::json::nested::unless_too_deep;
use crate::registry::ToolContext;
use crate::session::calls_in_progress::CallsInProgress;
use crate::session::control_tools::session_tools;
use crate::session::drain_switch::OpenReplies;
use crate::session::earlier_calls::EarlierCalls;
use crate::session::handle::Session;
use crate::session::inner::{
    RareState, RuntimeInner, SessionInner, SessionResources, SharedState, journal_key,
};
use crate::session::journal::JournalError;
use crate::session::metrics::context::{ContextUsage, tokens_in};
use crate::session::running::RunningCalls;
use crate::session::state::SessionId;
use crate::session::store::handle::RecordHandle;
use crate::session::store::handle::within;
use crate::session::store::{OpenError, OpenRequest};
use crate::session::tools::SessionTools;
use crate::session::updates::{UpdateListener, UpdateOptions};
use crate::tool::instance::OpenToolsets;
use crate::trace::redaction::Redaction;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::Value;
use std::any::TypeId;
use std::sync::{Arc, OnceLock, Weak};
use tokio::time::Instant;

/// A session that is about to be opened. Await it to open the session.
///
/// ```
/// # use tool_core::{Mode, Runtime, ToolContext};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let runtime = Runtime::builder(ToolContext::builder().build()?).build()?;
/// let session = runtime.session("s-1", Mode::Text).principal("user:7").user_data(42_u32).await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "a session is opened when the builder is awaited"]
pub struct SessionBuilder {
    runtime: Arc<RuntimeInner>,
    id: SessionId,
    pub(crate) principal: Arc<str>,
    /// The part of the calls' contexts that is known before the session is open.
    context: SessionContext,
    update_listener: Option<Arc<UpdateListener>>,
    /// True if calls are answered in the background.
    background_answers: bool,
    prompt_tokens: Option<u64>,
    tools: Option<ToolContext>,
    /// True if the configuration nests too deep. It is left out.
    too_deep: bool,
    /// True if an open session gets the current tools.
    renewed: bool,
}

impl SessionBuilder {
    pub(crate) fn new(runtime: Arc<RuntimeInner>, id: SessionId, mode: Mode) -> Self {
        Self {
            runtime,
            context: SessionContext {
                id: Some(id.shared()),
                mode,
                ..SessionContext::default()
            },
            id,
            principal: Arc::default(),
            update_listener: None,
            background_answers: false,
            prompt_tokens: None,
            tools: None,
            too_deep: false,
            renewed: false,
        }
    }

    /// Sets the principal on whose behalf the session acts, for example the id of a user. The
    /// session belongs to it until it ends, in all processes that share the store: no other
    /// principal can join it or approve its calls. Defaults to an empty text, which is an identity
    /// as any other.
    pub fn principal(mut self, principal: impl Into<String>) -> Self {
        self.principal = principal.into().into();
        self
    }

    /// Adds a value that tools find by its type. A second value of a type replaces the first. If
    /// the session is already open in this process, its first values stay, and this value is
    /// dropped.
    pub fn user_data<T: Send + Sync + 'static>(self, value: T) -> Self {
        self.user_data_shared(Arc::new(value))
    }

    /// Adds a value that several sessions share, for example a connection pool. If the session is
    /// already open in this process, its first values stay.
    pub fn user_data_shared<T: Send + Sync + 'static>(mut self, value: Arc<T>) -> Self {
        self.context.user_data.insert(TypeId::of::<T>(), value);
        self
    }

    /// Sets the configuration that tools read by [`RunContext::config`]. If the session is already
    /// open in this process, its first configuration stays.
    pub fn config(mut self, config: impl Into<Value>) -> Self {
        let config = unless_too_deep(config.into());
        self.too_deep = config.is_none();
        self.context.config = Arc::new(config.unwrap_or_default());
        self
    }

    /// Sets the system prompt of the model, if it is more than the session's [`instructions`](Session::instructions). Its
    /// size is logged and measured; the text is not kept.
    pub fn system_prompt(mut self, text: &str) -> Self {
        self.prompt_tokens = Some(tokens_in(text));
        self
    }

    /// Replaces the runtime's tools in this session, for example by the tools of an agent. Budgets,
    /// metrics, hooks and the store stay those of the runtime. Tools of one name are counted
    /// together, in all sessions.
    ///
    /// A session that is already open keeps its tools. If they belong to another agent than these
    /// tools, or if only one of both belongs to an agent, opening fails.
    ///
    /// ```
    /// # use tool_core::{Mode, Runtime, ToolContext, tool};
    /// /// Say hello.
    /// #[tool]
    /// fn greet() -> &'static str {
    ///     "hello"
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let runtime = Runtime::builder(ToolContext::builder().build()?).build()?;
    /// let tools = ToolContext::builder().with(greet).build()?;
    /// let session = runtime.session("s-1", Mode::Text).tools(tools).await?;
    /// assert!(session.tools().has_tool("greet"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn tools(mut self, tools: ToolContext) -> Self {
        self.tools = Some(tools);
        self
    }

    /// Gives a session that is already open in this process the current tools and policies
    /// ([`Runtime::update_tools`](crate::Runtime::update_tools), [`update_policy`](crate::Runtime::update_policy)), and this
    /// builder's user data and configuration.
    ///
    /// The new handle is of the same session: its turn, its budgets, its state and its approvals in
    /// the store go on, and so does what this process knows of its calls, for example from the
    /// journal. Handles from before keep the earlier tools, and their running calls end under them.
    /// The end of the session, by any of its handles, ends all of them. Cached results and the list
    /// of running calls begin anew.
    ///
    /// ```
    /// # use tool_core::{Mode, Runtime, ToolContext, tool};
    /// # /// Say hello.
    /// # #[tool]
    /// # fn greet() -> &'static str {
    /// #     "hello"
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let runtime = Runtime::builder(ToolContext::builder().build()?).build()?;
    /// let session = runtime.session("s-1", Mode::Text).await?;
    /// runtime.update_tools(ToolContext::builder().with(greet).build()?)?;
    /// assert!(!session.tools().has_tool("greet"));
    /// let session = runtime.session("s-1", Mode::Text).renewed().await?;
    /// assert!(session.tools().has_tool("greet"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn renewed(self) -> Self {
        Self {
            renewed: true,
            ..self
        }
    }

    handler_setters! {
        ///
        /// It takes the place of the runtime's. If the session is already open in this process, its
        /// first handler stays.
        |builder| builder.context.handlers
    }

    /// Sets a function that hears the updates of all calls while their tools run, for example to
    /// show them to the user. The updates of a call have the ids `<id>_update_1`, `<id>_update_2`
    /// and so on.
    ///
    /// It only listens: the model reads the results of its calls, as it does without a listener. It
    /// runs on the thread of the tool, so it must not wait, and its panic is logged. If the session
    /// is already open in this process, it replaces the earlier one.
    ///
    /// ```
    /// # use tool_core::{Mode, RunContext, Runtime, ToolCall, ToolContext, tool};
    /// /// Import the rows.
    /// #[tool]
    /// fn import(ctx: &RunContext) -> u32 {
    ///     ctx.update("half of it");
    ///     7
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let runtime = Runtime::builder(ToolContext::builder().with(import).build()?).build()?;
    /// let show = |update: tool_core::ToolResponse| println!("{}", update.into_text());
    /// let session = runtime.session("s-1", Mode::Text).on_update(show).await?;
    /// assert_eq!(session.call(ToolCall::new("call_1", "import", "{}")).await.data_json(), Some("7"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn on_update(mut self, hear: impl Fn(ToolResponse) + Send + Sync + 'static) -> Self {
        self.update_listener = Some(Arc::new(hear));
        self
    }

    /// Lets the model go on while a tool works: the first update of a call that has a text is its
    /// answer, and the tool continues in the background. Its later updates and its result reach the
    /// model as notes, in the next step or turn. Off by default, also if there is a listener.
    ///
    /// [`Session::reply`], the agent loop and the live loop take care of the notes. A host with another loop takes the answers by
    /// [`take_background_answers`](Session::take_background_answers); see [`BackgroundAnswer`](crate::session::BackgroundAnswer).
    ///
    /// An approved call is not answered in the background: [`approve`](Session::approve) returns
    /// its result. If the answers of 64 calls wait, those of further calls are their results. If
    /// the session is already open in this process, it is switched on for all of its handles.
    pub fn background_answers(mut self) -> Self {
        self.background_answers = true;
        self
    }
}

impl IntoFuture for SessionBuilder {
    type Output = Result<Session, OpenError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.open())
    }
}

impl SessionBuilder {
    async fn open(self) -> Result<Session, OpenError> {
        loop {
            if let Some(session) = self.open_unless_ended().await? {
                return Ok(session);
            }
        }
    }

    /// Opens the session. Returns `None` if it has ended meanwhile, or was opened again under its id.
    async fn open_unless_ended(&self) -> Result<Option<Session>, OpenError> {
        if !(1..=512).contains(&self.id.as_str().len()) {
            return Err(OpenError::InvalidId);
        }
        if self.too_deep {
            return Err(OpenError::InvalidConfig);
        }
        let tools = match &self.tools {
            Some(tools) => self.runtime.tools_of(tools).map_err(OpenError::Tools)?,
            None => self.runtime.tools(),
        };
        let policy = &tools.policies[self.context.mode as usize];
        let request = OpenRequest {
            id: self.id.clone(),
            principal: Arc::clone(&self.principal),
            agent: tools.context.agent().cloned().unwrap_or_default(),
            mode: self.context.mode,
            version: Arc::clone(&tools.version),
            idle_timeout: policy.idle_timeout,
            max_sessions: policy.max_sessions,
            call_bytes: policy.call_history,
            keep_calls_for: policy.keep_calls_for,
            redaction: policy.redaction.clone(),
        };
        let record = self
            .runtime
            .store
            .open(&request, policy.store_deadline)
            .await?;
        let known = self.runtime.session(self.id.as_str());
        let seen = known.as_ref().map(Arc::downgrade);
        let known = known.filter(|session| session.is_open_as(record.incarnation()));
        let known = match known {
            // If the handles with the newest tools are gone, an earlier one is listed.
            Some(open) if !self.renewed && open.is_newest() => return Ok(Some(self.join(open))),
            known => known,
        };
        let (tools, open) = self.set_up(tools).await?;
        if let Some(earlier) = known {
            let opened = OpenedSession {
                updates: earlier.updates.clone(),
                rare: Some(earlier.renewed_state(&tools)),
                record,
            };
            let session = self.create(tools, open, opened);
            let is_listed = list_renewed(&earlier, &session);
            return Ok(is_listed.then_some(Session(session)));
        }

        let opened = OpenedSession {
            updates: OnceLock::new(),
            rare: self.recover(&request).await?,
            record,
        };
        let session = self.create(tools, open, opened);
        // Several callers may open the session at once; the first one's becomes the session.
        match list_or_find(&session, seen.as_ref()) {
            Listing::Listed => {}
            Listing::Found(first) => return Ok(Some(self.join(first))),
            Listing::Late => return Ok(None),
        }
        let full_guides = session.policy().full_guides[session.mode() as usize];
        let context = session.tools.initial_context(session.mode(), full_guides);
        let context = self
            .prompt_tokens
            .map_or(context, |tokens| context.with_prompt(tokens));
        session.runtime.metrics.session_opened(context);
        if tracing::enabled!(target: "tool_core::context", tracing::Level::INFO) {
            session
                .initial_context()
                .log(session.id.as_str(), session.definitions().len());
        }
        Ok(Some(Session(session)))
    }

    /// Returns a handle of a session that is already open in this process. The store has compared
    /// principal and agent.
    fn join(&self, session: Arc<SessionInner>) -> Session {
        if self.has_update_options() {
            self.set_update_options(session.updates.get_or_init(Arc::default));
        }
        Session(session)
    }

    fn has_update_options(&self) -> bool {
        self.background_answers || self.update_listener.is_some()
    }

    fn set_update_options(&self, options: &UpdateOptions) {
        if let Some(listener) = &self.update_listener {
            options.set_listener(Arc::clone(listener));
        }
        if self.background_answers {
            options.answer_in_background();
        }
    }

    /// Sets up the toolsets that are not open. Returns a snapshot without the tools of those that
    /// failed, and the toolsets that the session keeps open.
    async fn set_up(
        &self,
        tools: Arc<SessionTools>,
    ) -> Result<(Arc<SessionTools>, OpenToolsets), OpenError> {
        if tools.context.instances().is_empty() {
            return Ok((tools, Vec::new()));
        }
        let (open, rest) = tools.context.open().await;
        let known = tools.context.setup_failures().count();
        for failure in rest
            .iter()
            .flat_map(ToolContext::setup_failures)
            .skip(known)
        {
            let session = self.id.as_str().escape_debug();
            let toolset = failure.toolset.escape_debug();
            let error = Redaction::new().text(failure.error.message());
            tracing::error!(%session, %toolset, %error, "failed to set up a toolset; its tools are not offered");
        }
        if self.tools.is_none() {
            // The tools that a session brought are closed with it, those of the runtime with the
            // runtime.
            let before = std::mem::replace(&mut *tools.open.lock(), open.clone());
            drop(before);
        }
        let Some(rest) = rest else {
            return Ok((tools, open));
        };
        let stats_of = |tool: &str| self.runtime.metrics.stats_of(tool, self.tools.is_some());
        let mut rest = session_tools(rest, stats_of, &tools.policies).map_err(OpenError::Tools)?;
        // The store and approvals know the tools by the version that the session asked for.
        rest.version = Arc::clone(&tools.version);
        if self.tools.is_some() {
            rest.context = rest.context.downgraded();
        }
        Ok((Arc::new(rest), open))
    }

    /// Reads the session's calls of earlier processes from the journal. Returns the state of a session
    /// that has some.
    async fn recover(&self, request: &OpenRequest) -> Result<Option<RareState>, JournalError> {
        let Some(journal) = &self.runtime.journal else {
            return Ok(None);
        };
        let deadline = self.runtime.tools().policies[self.context.mode as usize].store_deadline;
        let key = journal_key(request.id.as_str(), &request.principal, &request.agent);
        let recovered = within(deadline, journal.recover(&key), JournalError::timeout).await?;
        if recovered.is_empty() {
            return Ok(None);
        }
        let shared = SharedState {
            earlier: Mutex::new(EarlierCalls::new(recovered)),
            ..SharedState::default()
        };
        Ok(Some(RareState {
            shared: Arc::new(shared),
            ..RareState::default()
        }))
    }

    fn create(
        &self,
        tools: Arc<SessionTools>,
        open: OpenToolsets,
        opened: OpenedSession,
    ) -> Arc<SessionInner> {
        let OpenedSession {
            record,
            updates,
            rare,
        } = opened;
        let permits = tools.policies[self.context.mode as usize].permits();
        if self.has_update_options() {
            self.set_update_options(updates.get_or_init(Arc::default));
        }
        let brought = self.tools.as_ref().and_then(ToolContext::shared_resource);
        let needs_resources = brought.is_some() || !open.is_empty();
        let resources = needs_resources.then(|| {
            Box::new(SessionResources {
                toolsets: open,
                brought,
            })
        });
        Arc::new_cyclic(|session: &Weak<SessionInner>| {
            let handle: Weak<dyn SessionHandle> = Weak::clone(session) as _;
            let mut context = SessionContext {
                handle: Some(handle),
                ..self.context.clone()
            };
            context.handlers = context.handlers.or(&self.runtime.handlers);
            SessionInner {
                calls: CallsInProgress::new(permits),
                record,
                runtime: Arc::clone(&self.runtime),
                tools,
                updates,
                own_log: OnceLock::new(),
                running: RunningCalls::default(),
                replies: OpenReplies::default(),
                id: self.id.clone(),
                principal: Arc::clone(&self.principal),
                base: RunContext::from_parts(Arc::new(context), Arc::new(CallContext::default())),
                context_usage: ContextUsage::new(self.prompt_tokens),
                opened: Instant::now(),
                ended: OnceLock::new(),
                rare: rare.map(Box::new).map(OnceLock::from).unwrap_or_default(),
                resources: Mutex::new(resources),
            }
        })
    }
}

/// The state with which a session that is opened goes on.
struct OpenedSession {
    record: RecordHandle,
    /// The listener of a session that is renewed, and the calls in its background.
    updates: OnceLock<Arc<UpdateOptions>>,
    rare: Option<RareState>,
}

/// Lists a session under its id, in place of the generation that it renews. Returns false if that
/// has ended meanwhile, or if a later session is listed. The session is closed then.
fn list_renewed(earlier: &Arc<SessionInner>, session: &Arc<SessionInner>) -> bool {
    let mut sessions = session.runtime.sessions.lock();
    let listed = sessions.get(session.id.as_str()).and_then(Weak::upgrade);
    let is_later = listed.as_deref().is_some_and(|listed| {
        let is_same = listed.record.incarnation() == session.record.incarnation();
        !is_same && !listed.calls.is_closed()
    });
    session.shared().generations.add(earlier, session, || {
        if earlier.calls.is_closed() || is_later {
            session.calls.close();
        }
    });
    let is_open = !session.calls.is_closed();
    if is_open {
        sessions.insert(session.id.shared(), Arc::downgrade(session));
    }
    // A session that is dropped takes the lock, so `listed` must outlive it.
    drop(sessions);
    is_open
}

/// The end of an attempt to list a session under its id.
enum Listing {
    /// It is listed.
    Listed,
    /// The same session is listed already.
    Found(Arc<SessionInner>),
    /// Another session was listed meanwhile.
    Late,
}

/// Lists a session under its id, unless it is listed already. A session that expired in the store and
/// was opened again is another one: it takes the place of `seen`, which was listed before.
fn list_or_find(session: &Arc<SessionInner>, seen: Option<&Weak<SessionInner>>) -> Listing {
    let mut sessions = session.runtime.sessions.lock();
    let known = sessions.get(session.id.as_str()).and_then(Weak::upgrade);
    let is_same = known
        .as_deref()
        .is_some_and(|known| known.is_open_as(session.record.incarnation()));
    let is_later = known.as_deref().is_some_and(|known| {
        let is_seen = seen.is_some_and(|seen| std::ptr::eq(seen.as_ptr(), known));
        !is_same && !is_seen && !known.calls.is_closed()
    });
    if !is_same && !is_later {
        sessions.insert(session.id.shared(), Arc::downgrade(session));
    }
    // A session that is dropped takes the lock, so `known` must outlive it.
    drop(sessions);
    match known {
        Some(first) if is_same => Listing::Found(first),
        _ if is_later => Listing::Late,
        _ => Listing::Listed,
    }
}
