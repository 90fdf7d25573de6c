//! What a program does with one agent.

use super::loaded::LoadedAgent;
use super::{AgentError, AgentErrorKind, AgentId, Shared, action, load, record};
use crate::call::{Arguments, ToolCall};
use crate::context::ToolContext;
use crate::response::ToolResponse;
use crate::runtime::{Open, Runtime, SessionId, fresh_id};
use crate::tool::Mode;
use std::sync::Arc;

/// One agent, whose tools are made of its records. Cheap to make and to clone.
#[derive(Clone)]
pub struct AgentExecutor {
    pub(super) shared: Arc<Shared>,
    pub(super) agent: Arc<str>,
}

impl AgentExecutor {
    /// The agent's id.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// The agent as its records are now. Toolsets that have not changed since the last time are the same ones; those that
    /// fail are left out and told in [`LoadedAgent::failures`].
    ///
    /// An error is about the agent as a whole: its store is down, say. What was loaded before works on, and is there
    /// again when the store is.
    pub async fn load(&self) -> Result<Arc<LoadedAgent>, AgentError> {
        if !record::is_id(&self.agent) {
            return Err(AgentError::new(&self.agent, "", AgentErrorKind::InvalidId));
        }
        load::load(&self.shared, &self.agent).await
    }

    /// The agent's tools as its records are now.
    pub async fn tools(&self) -> Result<ToolContext, AgentError> {
        Ok(self.load().await?.tools().clone())
    }

    /// Opens a session with the agent's tools of this moment, which it keeps. Say for whom it speaks and what else its
    /// tools need, and then await it. R-I4
    pub async fn session(&self, id: impl Into<SessionId>, mode: Mode) -> Result<Open, AgentError> {
        let id = id.into();
        let loaded = self.load().await?;
        Ok(self.open(id, mode, &loaded))
    }

    pub(super) fn open(&self, id: SessionId, mode: Mode, loaded: &LoadedAgent) -> Open {
        let open = self.shared.runtime.session(id, mode).tools(loaded.tools().clone());
        let open = open.user_data(AgentId::new(Arc::clone(&self.agent)));
        match &self.shared.each_session {
            Some(change) => change(open),
            None => open,
        }
    }

    /// Runs one action of one of the agent's toolsets, as its records are now: for a user interface, a schedule, a
    /// webhook. It is governed as a model's call is, in a session of its own that ends with it.
    ///
    /// The answer is `CONFIRMATION_REQUIRED` where the action wants a person's word:
    /// [`approve`](Self::approve) or [`deny`](Self::deny) with its token then, for as long as it lives.
    ///
    /// An error says that nothing was run: the toolset is not configured for the agent, disabled, not registered, has no
    /// such action, or has failed. A7
    pub async fn run_tool_action(
        &self,
        tool: &str,
        action: &str,
        arguments: impl Into<Arguments<'_>>,
    ) -> Result<ToolResponse, AgentError> {
        let call = ToolCall::new(fresh_id(), action, arguments);
        action::run(self, tool, call).await
    }

    /// Runs the call that [`run_tool_action`](Self::run_tool_action) was asked to confirm, with the tools that it was
    /// asked with. `NOT_FOUND` where nothing waits under the token: it was used, has expired, or is another agent's.
    pub async fn approve(&self, token: &str) -> ToolResponse {
        action::decide(self, token, true).await
    }

    /// Answers it without running it: `DENIED`.
    pub async fn deny(&self, token: &str) -> ToolResponse {
        action::decide(self, token, false).await
    }

    /// What governs the agent's sessions.
    pub fn runtime(&self) -> &Runtime {
        &self.shared.runtime
    }
}

impl std::fmt::Debug for AgentExecutor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentExecutor").field("agent", &self.agent).finish_non_exhaustive()
    }
}
