//! Opening a session.

use crate::call::context::RunContext;
use crate::call::extract::UserDataMap;
use crate::call::mode::Mode;
use crate::call::response::ToolResponse;
use crate::call::scope::{Boxed, Governor, Run, Scope};
use crate::registry::ToolContext;
use crate::session::journal::{JournalError, Recovered};
use crate::session::metrics::context::tokens_in;
use crate::session::metrics::history::Measured;
use crate::session::pipeline::record;
use crate::session::runtime::{Shared, Toolbox};
use crate::session::session::{Core, Session, SessionId};
use crate::session::store::{OpenError, OpenRequest, SessionRecord, StoreError};
use crate::session::updates::Sink;
use crate::session::{concurrency, running, session, updates};
use serde_json::Value;
use std::future::IntoFuture;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::task::{Context, Poll};
use tokio::sync::RwLock;
use tokio::time::timeout;

/// A session that is about to be opened: say for whom and with what, then await it.
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
#[must_use = "a session is not opened before it is awaited"]
pub struct SessionBuilder {
    parts: Option<Parts>,
    opening: Option<Boxed<'static, Result<Session, OpenError>>>,
}

struct Parts {
    shared: Arc<Shared>,
    id: SessionId,
    mode: Mode,
    principal: Box<str>,
    user_data: UserDataMap,
    config: Value,
    sink: Option<Arc<Sink>>,
    prompt: Option<u64>,
    tools: Option<ToolContext>,
}

impl SessionBuilder {
    pub(crate) fn new(shared: Arc<Shared>, id: SessionId, mode: Mode) -> Self {
        let user_data = UserDataMap::default();
        let parts = Parts {
            shared,
            id,
            mode,
            principal: Box::default(),
            user_data,
            config: Value::Null,
            sink: None,
            prompt: None,
            tools: None,
        };
        Self { parts: Some(parts), opening: None }
    }

    fn with(mut self, change: impl FnOnce(&mut Parts)) -> Self {
        if let Some(parts) = &mut self.parts {
            change(parts);
        }
        self
    }

    /// For whom the session speaks. Approvals are bound to it: one that was asked for here is good for nobody else.
    pub fn principal(self, principal: impl Into<String>) -> Self {
        self.with(|parts| parts.principal = principal.into().into())
    }

    /// A value for tools to find by its type; a second one of a type replaces the first.
    pub fn user_data<T: Send + Sync + 'static>(self, value: T) -> Self {
        self.user_data_shared(Arc::new(value))
    }

    /// The same for a value that several sessions share, such as a pool.
    pub fn user_data_shared<T: Send + Sync + 'static>(self, value: Arc<T>) -> Self {
        self.with(|parts| parts.user_data.insert(value))
    }

    /// What the host sets for the session, which tools read by [`RunContext::config`]. Of several who open a session, the
    /// first one's holds.
    pub fn config(self, config: impl Into<Value>) -> Self {
        self.with(|parts| parts.config = config.into())
    }

    /// The system prompt that the model is given, where it is more than the session's
    /// [`instructions`](Session::instructions): its size is logged and measured, and the text is not kept. R-M4
    pub fn system_prompt(self, text: &str) -> Self {
        self.with(|parts| parts.prompt = Some(tokens_in(text)))
    }

    /// Tools that this session has in the place of the runtime's: those of an agent, say. Budgets, metrics, hooks and the
    /// store are the runtime's still; tools of one name are counted together, whichever session's they are.
    ///
    /// A session that is open already keeps the tools that it began with; where they are another agent's than these, it
    /// is not joined. R-I4
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
    pub fn tools(self, tools: ToolContext) -> Self {
        self.with(|parts| parts.tools = Some(tools))
    }

    /// Says that the transport shows the updates of running tools. A tool's first update is then its call's answer; the
    /// later ones come to `shown` under the id `<id>_update_N`, and its result under `<id>_final`. L24
    pub fn on_update(self, shown: impl Fn(ToolResponse) + Send + Sync + 'static) -> Self {
        self.with(|parts| parts.sink = Some(Arc::new(shown)))
    }
}

impl Future for SessionBuilder {
    type Output = Result<Session, OpenError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(parts) = self.parts.take() {
            self.opening = Some(Box::pin(parts.open()));
        }
        match &mut self.opening {
            Some(opening) => opening.as_mut().poll(cx),
            None => Poll::Pending,
        }
    }
}

impl Parts {
    async fn open(self) -> Result<Session, OpenError> {
        if !(1..=512).contains(&self.id.as_str().len()) {
            return Err(OpenError::InvalidId);
        }
        let toolbox = match &self.tools {
            Some(tools) => self.shared.toolbox_of(tools).map_err(OpenError::Tools)?,
            None => self.shared.toolbox(),
        };
        let policy = self.shared.policy(self.mode);
        let opening = OpenRequest {
            id: self.id.clone(),
            mode: self.mode,
            version: Arc::clone(&toolbox.version),
            idle: policy.idle,
            max_sessions: policy.max_sessions,
            history: policy.limits.history,
        };
        let record = self.shared.store.open(&opening).within(policy.store_deadline).await?;
        if let Some(core) = self.shared.find_live(self.id.as_str()).filter(|core| is_open(core)) {
            return self.joined(core);
        }
        let recovered = self.recovered().await?;
        let core = self.core(toolbox, record, recovered);
        // Of all who open it at once, the first one's is the session.
        match first(&core) {
            None => {
                core.shared.measured.opened(&core, self.tools.is_some());
                core.tell_beginning();
                Ok(Session(core))
            }
            Some(first) => self.joined(first),
        }
    }

    /// Another handle of a session that is open here.
    fn joined(self, core: Arc<Core>) -> Result<Session, OpenError> {
        if core.principal != self.principal {
            return Err(OpenError::OtherPrincipal { id: core.id.clone() });
        }
        // Whose tools they are, so are the settings and the secrets behind them.
        let agent = self.tools.as_ref().and_then(ToolContext::agent);
        if agent.is_some() && agent != core.toolbox.context.agent() {
            return Err(OpenError::OtherAgent { id: core.id.clone() });
        }
        if let Some(sink) = self.sink {
            core.shown_by(sink);
        }
        Ok(Session(core))
    }

    async fn recovered(&self) -> Result<Vec<Recovered>, OpenError> {
        let Some(journal) = &self.shared.journal else { return Ok(Vec::new()) };
        let deadline = self.shared.policy(self.mode).store_deadline;
        let recovered = timeout(deadline, journal.recover(self.id.as_str()).into_future()).await;
        let recovered = recovered.unwrap_or_else(|_| Err(JournalError::new("no answer in time")));
        recovered.map_err(|error| OpenError::Store(StoreError::new(error.to_string())))
    }

    fn core(&self, toolbox: Arc<Toolbox>, record: Arc<dyn SessionRecord>, recovered: Vec<Recovered>) -> Arc<Core> {
        let concurrent = self.shared.policy(self.mode).concurrent_calls;
        let (user_data, config) = (self.user_data.clone(), Arc::new(self.config.clone()));
        let sink = self.sink.clone().map(|sink| OnceLock::from(Box::new(Mutex::new(sink))));
        let kept = self.tools.as_ref().and_then(ToolContext::kept);
        Arc::new_cyclic(|core: &Weak<Core>| {
            let governor: Weak<dyn Governor> = Weak::clone(core) as _;
            let run =
                Run { session: Some(self.id.shared()), mode: self.mode, user_data, config, governor: Some(governor) };
            Core {
                shared: Arc::clone(&self.shared),
                toolbox,
                base: RunContext::of(Arc::new(run), Arc::new(Scope::default())),
                // Another one of the same text: calls that layers hold are told apart by it.
                id: SessionId::new(self.id.as_str()),
                mode: self.mode,
                principal: self.principal.clone(),
                record,
                running: running::Running::default(),
                drain: concurrency::Drain::default(),
                slots: concurrency::Slots::new(concurrent),
                barrier: RwLock::new(()),
                sink: sink.unwrap_or_default(),
                measured: Measured::new(self.prompt),
                updates: updates::Updates::default(),
                playout: session::Playout::default(),
                recovered: Mutex::new(recovered),
                journaled: Mutex::default(),
                reuse: record::Reuse::default(),
                kept: Mutex::new(kept),
            }
        })
    }
}

/// Makes a session known under its id, unless it is open here already: then gives that one.
fn first(core: &Arc<Core>) -> Option<Arc<Core>> {
    let mut live = core.shared.live();
    let known = live.get(core.id.as_str()).and_then(Weak::upgrade);
    let open = known.as_deref().is_some_and(is_open);
    if !open {
        live.insert(core.id.shared(), Arc::downgrade(core));
    }
    // A session that goes asks for the lock, so none may go while it is held.
    drop(live);
    known.filter(|_| open)
}

/// Whether the handle is of the session that is open now, and not of an earlier one under the same id.
fn is_open(core: &Core) -> bool {
    !core.drain.is_closed() && !core.record.state().ended
}
