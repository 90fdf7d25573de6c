//! Errors of agents.

use crate::agents::keys::KeyError;
use crate::agents::store::AgentStoreError;
use crate::arguments::problem::{Problem, nearest};
use crate::call::error::{ErrorKind, ErrorList, IntoToolError, ToolError};
use crate::session::store::OpenError;
use crate::text::truncate;
use crate::tool::configure::ConfigureError;
use crate::trace::redaction::Redaction;
use std::fmt;
use thiserror::Error;

/// An error about an agent, or about one of its toolsets. No text of it contains a secret.
///
/// ```
/// use tool_core::agents::{AgentError, AgentErrorKind, AgentStoreError};
///
/// /// Returns the HTTP status with which a settings form answers.
/// fn status(error: &AgentError) -> u16 {
///     match &error.kind {
///         AgentErrorKind::NotConfigured => 404,
///         AgentErrorKind::Store(AgentStoreError::Conflict { .. }) => 409,
///         AgentErrorKind::InvalidConfig(_) | AgentErrorKind::InvalidSecrets(_) => 422,
///         _ => 500,
///     }
/// }
///
/// let error = AgentError::new("alice", "shop", AgentErrorKind::NotConfigured);
/// assert_eq!(status(&error), 404);
/// assert_eq!(
///     error.to_string(),
///     "toolset `shop` of agent `alice`: the toolset is not configured; add a record for it"
/// );
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AgentError {
    /// The agent's id; empty if the error is about all agents.
    pub agent: String,
    /// The toolset's name; empty if the error is about the agent as a whole.
    pub tool: String,
    /// The problem.
    pub kind: AgentErrorKind,
}

/// The problem of an [`AgentError`].
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum AgentErrorKind {
    /// The agent has no record of the toolset.
    #[error("the toolset is not configured; add a record for it")]
    NotConfigured,
    /// The record is disabled.
    #[error("the toolset is disabled; enable its record")]
    Disabled,
    /// The record disables this action.
    #[error("action `{}` is disabled", action.escape_debug())]
    ActionDisabled {
        /// The action's name.
        action: String,
    },
    /// No toolset of this name is linked into the program. The record stays as it is.
    #[error("no toolset of this name is registered; link its crate (`use my_tools as _;`){}", did_you_mean(nearest.as_deref()))]
    NotRegistered {
        /// The most similar registered name.
        nearest: Option<String>,
    },
    /// The toolset has no such action.
    #[error("unknown action `{}`{}", action.escape_debug(), did_you_mean(nearest.as_deref()))]
    UnknownAction {
        /// The name that was asked for.
        action: String,
        /// The most similar name.
        nearest: Option<String>,
    },
    /// The settings do not match the toolset's schema. Lists every problem.
    #[error("invalid settings:{}", list(.0))]
    InvalidConfig(ErrorList<Problem>),
    /// The secrets do not match the toolset's schema. Lists every problem, without values.
    #[error("invalid secrets:{}", list(.0))]
    InvalidSecrets(ErrorList<Problem>),
    /// A write has several problems.
    #[error("{}", .0.iter().map(Self::to_string).collect::<Vec<_>>().join("\n"))]
    Several(Vec<Self>),
    /// The secrets cannot be sealed or opened.
    #[error(transparent)]
    Key(KeyError),
    /// The settings that decide where the secrets go are not those that the secrets were entered
    /// for. The toolset does not get the secrets until a person sets them again, or restores the
    /// settings.
    #[error("{}", KeyError::DestinationChanged { settings: settings.clone() })]
    DestinationChanged {
        /// JSON pointers of the settings that differ.
        settings: Vec<String>,
    },
    /// A setting that decides where the tokens of a grant go has changed since the person was asked
    /// to agree.
    #[error(
        "a setting that decides where the tokens go has changed since the authorisation was begun; check the settings, \
         and begin again"
    )]
    GrantMoved,
    /// The store failed or refused the operation.
    #[error(transparent)]
    Store(#[from] AgentStoreError),
    /// The toolset refused its settings, or did not start. Texts of internal errors are only
    /// logged.
    #[error("failed to set up the toolset: {}", shown(.0))]
    Failed(ToolError),
    /// Tools of the toolset have the names of other tools of the agent.
    #[error("duplicate tool names: {0}")]
    Collision(String),
    /// The session for an action did not open.
    #[error("failed to open a session for the action: {0}")]
    NoSession(#[source] OpenError),
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |nearest| {
        format!("; did you mean `{}`?", nearest.escape_debug())
    })
}

fn list(problems: &[Problem]) -> String {
    problems
        .iter()
        .map(|problem| format!("\n- {}", problem.in_settings()))
        .collect::<Vec<_>>()
        .concat()
}

fn shown(error: &ToolError) -> &str {
    if error.kind() == ErrorKind::Internal {
        "internal error, see the log"
    } else {
        error.message()
    }
}

impl AgentError {
    /// Creates an error about a toolset of an agent; `tool` is empty for an error about the agent
    /// as a whole.
    pub fn new(
        agent: impl Into<String>,
        tool: impl Into<String>,
        kind: impl Into<AgentErrorKind>,
    ) -> Self {
        Self {
            agent: agent.into(),
            tool: tool.into(),
            kind: kind.into(),
        }
    }

    /// Returns a function for `map_err` that adds the names of the agent and the toolset.
    pub(crate) fn about<E: Into<AgentErrorKind>>(agent: &str, tool: &str) -> impl Fn(E) -> Self {
        move |kind| Self::new(agent, tool, kind)
    }
}

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let agent = self.agent.escape_debug();
        let tool = self.tool.escape_debug();
        match (&*self.agent, &*self.tool) {
            ("", _) => write!(f, "agents: {}", self.kind),
            (_, "") => write!(f, "agent `{agent}`: {}", self.kind),
            _ => write!(f, "toolset `{tool}` of agent `{agent}`: {}", self.kind),
        }
    }
}

/// The text contains the kind's, so the source is that of the kind.
impl std::error::Error for AgentError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.kind.source()
    }
}

impl From<KeyError> for AgentErrorKind {
    fn from(error: KeyError) -> Self {
        match error {
            KeyError::DestinationChanged { settings } => Self::DestinationChanged { settings },
            other => Self::Key(other),
        }
    }
}

impl From<ConfigureError> for AgentErrorKind {
    fn from(error: ConfigureError) -> Self {
        match error {
            ConfigureError::Config(problems) => Self::InvalidConfig(problems),
            ConfigureError::Secrets(problems) => Self::InvalidSecrets(problems),
            ConfigureError::Both { config, secrets } => Self::Several(vec![
                Self::InvalidConfig(config),
                Self::InvalidSecrets(secrets),
            ]),
            ConfigureError::Failed(error) => Self::Failed(error),
        }
    }
}

impl AgentErrorKind {
    /// Reports an action that is not among the known ones. Its name is shortened, because it may be
    /// very long.
    pub(crate) fn unknown_action<'a>(action: &str, known: impl Iterator<Item = &'a str>) -> Self {
        Self::UnknownAction {
            action: truncate(action, 60),
            nearest: nearest(action, known).map(str::to_owned),
        }
    }

    /// Returns true if the store cannot be reached, so that a later try may succeed.
    pub(crate) fn is_store_down(&self) -> bool {
        matches!(self, Self::Store(AgentStoreError::Down { .. }))
    }
}

/// Lets a tool return an agent's error with `?`. The model reads problems that it can solve; others
/// go to the log.
impl IntoToolError for AgentError {
    fn into_tool_error(self) -> ToolError {
        let text = self.to_string();
        match self.kind {
            AgentErrorKind::Failed(error) => error,
            AgentErrorKind::Store(AgentStoreError::Conflict { .. }) => ToolError::conflict(text),
            AgentErrorKind::NotConfigured
            | AgentErrorKind::Disabled
            | AgentErrorKind::ActionDisabled { .. }
            | AgentErrorKind::NotRegistered { .. }
            | AgentErrorKind::UnknownAction { .. }
            | AgentErrorKind::Store(AgentStoreError::InvalidId) => ToolError::permanent(text),
            kind => {
                tracing::error!(error = %Redaction::new().text(&text), "failed to load the agent's tools");
                if kind.is_store_down() || matches!(kind, AgentErrorKind::NoSession(_)) {
                    return ToolError::transient(
                        "the agent's tools are not available; try again later",
                    );
                }
                let tool = self.tool.escape_debug();
                ToolError::permanent(format!(
                    "toolset `{tool}` is not set up correctly; a person has to correct it"
                ))
            }
        }
    }
}
