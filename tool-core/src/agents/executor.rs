//! One agent: its tools, its sessions and its actions.

use crate::agents::builder::{Agents, AgentsInner};
use crate::agents::error::{AgentError, AgentErrorKind};
use crate::agents::load;
use crate::agents::loaded::{LoadedAgent, ToolsetState};
use crate::agents::record::AgentId;
use crate::agents::settings::check_ids;
use crate::call::{Arguments, Mode, ToolCall, ToolResponse};
use crate::registry::ToolContext;
use crate::session::approvals::fresh_id;
use crate::session::{Runtime, SessionBuilder, SessionId};
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// One agent, whose tools are made from its records. Cheap to create and to clone.
///
/// ```standalone_crate
/// use tool_core::agents::{Agents, MemoryAgentToolStore};
/// use tool_core::serde_json::json;
/// use tool_core::{Mode, ToolCall, toolset};
///
/// #[derive(Default)]
/// struct Clock;
///
/// /// Tells the time.
/// #[toolset(name = "clock")]
/// impl Clock {
///     /// Tell the time of a city.
///     #[tool(category = "retrieval")]
///     fn time(&self, city: &str) -> String {
///         format!("it is noon in {city}")
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let agents = Agents::builder(MemoryAgentToolStore::new()).build()?;
/// agents.add("alice", "clock").save().await?;
/// let alice = agents.executor("alice");
///
/// // A conversation with a model.
/// let session = alice.session("chat-42", Mode::Text).await?.principal("user:7").await?;
/// assert!(session.call(ToolCall::new("call_1", "time", json!({"city": "Bern"}))).await.is_ok());
///
/// // One action for a button, a schedule or a webhook.
/// let response = alice.run_tool_action("clock", "time", json!({"city": "Bern"})).await?;
/// assert_eq!(response.data_json(), Some(r#""it is noon in Bern""#));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct AgentExecutor {
    pub(crate) agents: Arc<AgentsInner>,
    pub(crate) agent: Arc<str>,
}

impl Agents {
    /// Returns an agent by its id. Does not ask the store.
    pub fn executor(&self, agent: impl AsRef<str>) -> AgentExecutor {
        AgentExecutor {
            agents: Arc::clone(&self.0),
            agent: agent.as_ref().into(),
        }
    }
}

impl AgentExecutor {
    /// Returns the agent's id.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// Loads the agent as its records are now. Toolsets whose records have not changed since the last load are used again.
    /// Toolsets that fail are left out and reported by [`LoadedAgent::failures`].
    ///
    /// Fails if the agent as a whole cannot be loaded, for example because the store is down. What
    /// was loaded before stays usable, and is used again when the store is back.
    pub async fn load(&self) -> Result<Arc<LoadedAgent>, AgentError> {
        check_ids(&self.agent, None)?;
        load::load(&self.agents, &self.agent).await
    }

    /// Returns the agent's tools as its records are now.
    pub async fn tools(&self) -> Result<ToolContext, AgentError> {
        Ok(self.load().await?.tools().clone())
    }

    /// Creates a session with the agent's tools as its records are now. The session keeps these
    /// tools until it ends. Set its principal and what else its tools need, and await the builder
    /// to open it.
    pub async fn session(
        &self,
        id: impl Into<SessionId>,
        mode: Mode,
    ) -> Result<SessionBuilder, AgentError> {
        let id = id.into();
        let loaded = self.load().await?;
        Ok(self.open_session(id, "", mode, Some(&loaded)))
    }

    /// Creates the session of one action. Unless the host sets another, its principal is the
    /// agent's own, so that actions share the caps of a principal. Without loaded tools it only
    /// shows the principal.
    pub(crate) fn open_action(&self, mode: Mode, loaded: Option<&LoadedAgent>) -> SessionBuilder {
        self.open_session(
            format!("action-{}", fresh_id()).into(),
            &format!("agent:{}", self.agent),
            mode,
            loaded,
        )
    }

    fn open_session(
        &self,
        id: SessionId,
        principal: &str,
        mode: Mode,
        loaded: Option<&LoadedAgent>,
    ) -> SessionBuilder {
        let mut session = self.agents.runtime.session(id, mode).principal(principal);
        if let Some(loaded) = loaded {
            session = session.tools(loaded.tools().clone());
        }
        let session = session.user_data(AgentId::new(Arc::clone(&self.agent)));
        match &self.agents.each_session {
            Some(change) => change(session),
            None => session,
        }
    }

    /// Runs one action of one of the agent's toolsets, for a user interface, a schedule or a
    /// webhook. It has the same limits as a model's call, in its own session, which ends with the
    /// action. The session's principal is `agent:<id>`, unless
    /// [`AgentsBuilder::each_session`](crate::agents::AgentsBuilder::each_session) sets another.
    ///
    /// If the action needs a person's approval, it waits in the store, and the response is
    /// `CONFIRMATION_REQUIRED` with a token for [`approve`](Self::approve) or [`deny`](Self::deny).
    ///
    /// Fails without running anything if the toolset is not configured for the agent, is disabled,
    /// is not registered, has no such action, or has failed.
    pub async fn run_tool_action(
        &self,
        tool: &str,
        action: &str,
        arguments: impl Into<Arguments<'_>>,
    ) -> Result<ToolResponse, AgentError> {
        let call = ToolCall::new(fresh_id(), action, arguments);
        let loaded = self.load().await?;
        let mode =
            mode_of(&loaded, tool, call.name()).map_err(AgentError::about(&self.agent, tool))?;
        let session = self.open_action(mode, Some(&loaded)).await;
        let session = session.map_err(|error| {
            AgentError::new(&*self.agent, tool, AgentErrorKind::NoSession(error))
        })?;
        let ended = session.clone();
        let (running, ending) = run_after_drop(async move { ended.end().await });
        let response = session.call(call).await;
        let response = self.keep_waiting(&session, response).await;
        drop(running);
        _ = ending.await;
        Ok(response)
    }

    /// Returns the runtime of the agent's sessions.
    pub fn runtime(&self) -> &Runtime {
        &self.agents.runtime
    }
}

impl std::fmt::Debug for AgentExecutor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentExecutor")
            .field("agent", &self.agent)
            .finish_non_exhaustive()
    }
}

/// Returns the mode in which a session has the action, or the reason why the agent does not have
/// it.
fn mode_of(loaded: &LoadedAgent, tool: &str, action: &str) -> Result<Mode, AgentErrorKind> {
    let toolset = loaded.toolset(tool).ok_or(AgentErrorKind::NotConfigured)?;
    let ready = match &toolset.state {
        ToolsetState::Ready(ready) => ready,
        ToolsetState::Disabled => return Err(AgentErrorKind::Disabled),
        ToolsetState::Failed(kind) => return Err(kind.clone()),
    };
    let disabled = &toolset.disabled_actions;
    if !ready.actions.iter().any(|known| known == action) {
        let offered = ready
            .actions
            .iter()
            .map(String::as_str)
            .filter(|action| !disabled.contains(*action));
        let unknown = AgentErrorKind::unknown_action(action, offered);
        // It may belong to a nested toolset that failed.
        return Err(ready.failures.first().cloned().unwrap_or(unknown));
    }
    if disabled.contains(action) {
        return Err(AgentErrorKind::ActionDisabled {
            action: action.to_owned(),
        });
    }
    let modes = loaded
        .tools()
        .function_tool(action)
        .map(|tool| tool.definition().modes());
    Ok(if modes.is_none_or(|modes| modes.contains(Mode::Text)) {
        Mode::Text
    } else {
        Mode::Voice
    })
}

/// Spawns work that begins when the returned handle is dropped, also with a future that is
/// cancelled.
fn run_after_drop(
    work: impl Future<Output = ()> + Send + 'static,
) -> (oneshot::Sender<()>, JoinHandle<()>) {
    let (handle, dropped) = oneshot::channel();
    let task = tokio::spawn(async move {
        _ = dropped.await;
        work.await;
    });
    (handle, task)
}
