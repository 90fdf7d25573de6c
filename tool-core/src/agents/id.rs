//! Whom a toolset works for.

use std::fmt;
use std::sync::Arc;

/// The agent that a session is of: user data of every session that agents open, for toolsets that keep something of each
/// agent's.
///
/// ```
/// use tool_core::agents::AgentId;
/// use tool_core::{UserData, tool};
///
/// /// Remember something.
/// #[tool]
/// fn remember(#[context] agent: UserData<AgentId>, what: &str) -> String {
///     format!("{} will remember {what}", agent.as_str())
/// }
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct AgentId(Arc<str>);

impl AgentId {
    /// An agent's id, for run contexts that are made by hand.
    pub fn new(agent: impl Into<Arc<str>>) -> Self {
        Self(agent.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
