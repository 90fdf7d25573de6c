//! What can be wrong with an agent's tools.

use crate::agents::keys::KeyError;
use crate::agents::store::AgentStoreError;
use crate::arguments::problem::Problem;
use crate::call::error::{ErrorKind, IntoToolError, ToolError};
use crate::session::store::OpenError;
use crate::tool::configure::ConfigureError;
use crate::trace::redaction::Redaction;
use std::fmt;

/// What is wrong with a toolset of an agent. No text of it shows a secret. A7
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AgentError {
    /// The agent's id.
    pub agent: String,
    /// The toolset's name; empty where it is about the agent as a whole.
    pub tool: String,
    /// What is wrong.
    pub kind: AgentErrorKind,
}

/// What is wrong with a toolset of an agent.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AgentErrorKind {
    /// The agent has no record of the toolset.
    NotConfigured,
    /// The record is disabled.
    Disabled,
    /// The record disables this action.
    ActionDisabled {
        /// Its name.
        action: String,
    },
    /// No toolset of that name is linked into this program. The record is left as it is.
    NotRegistered {
        /// A registered name that is nearly the same.
        nearest: Option<String>,
    },
    /// The toolset has no such action.
    UnknownAction {
        /// The name that was asked for.
        action: String,
        /// A name that is nearly the same.
        nearest: Option<String>,
    },
    /// The settings do not fit the toolset's schema: every problem.
    InvalidConfig(Vec<Problem>),
    /// The secrets do not fit the toolset's schema: every problem, by place and kind, without values.
    InvalidSecrets(Vec<Problem>),
    /// Several things at once are wrong with what was to be written: each of them.
    Several(Vec<Self>),
    /// There is no key to open the secrets with.
    MissingKey,
    /// The secrets are sealed under a key that is not there.
    UnknownKey {
        /// Its id.
        key: String,
    },
    /// The key of that id is another one than the secrets were sealed under.
    WrongKey {
        /// Its id.
        key: String,
    },
    /// The sealed secrets were changed, or moved here from another agent or toolset.
    Tampered,
    /// The row holds something else than a record.
    Unreadable(String),
    /// The toolset did not take its settings, or did not open.
    Failed(ToolError),
    /// Tools of it have the names of others that the agent has.
    Collision(String),
    /// The record is not in the version that the writer read: nothing was written.
    Conflict {
        /// Its version now; `None` where it was removed.
        found: Option<u64>,
    },
    /// An id that is empty, longer than 512 bytes, or has control characters.
    InvalidId,
    /// The store cannot be reached, does not answer, or does not understand.
    StoreDown(String),
    /// The session in which an action was to be run did not open.
    NoSession(OpenError),
}

impl AgentError {
    pub(crate) fn new(agent: &str, tool: &str, kind: AgentErrorKind) -> Self {
        Self { agent: agent.to_owned(), tool: tool.to_owned(), kind }
    }

    pub(crate) fn of_store(agent: &str, tool: &str, error: AgentStoreError) -> Self {
        Self::new(agent, tool, error.into())
    }
}

impl From<AgentStoreError> for AgentErrorKind {
    fn from(error: AgentStoreError) -> Self {
        match error {
            AgentStoreError::Conflict { found } => Self::Conflict { found },
            AgentStoreError::InvalidId => Self::InvalidId,
            AgentStoreError::Unreadable(why) => Self::Unreadable(why),
            AgentStoreError::Down(why) => Self::StoreDown(why),
        }
    }
}

impl From<KeyError> for AgentErrorKind {
    fn from(error: KeyError) -> Self {
        match error {
            KeyError::Unknown { key } => Self::UnknownKey { key },
            KeyError::Wrong { key } => Self::WrongKey { key },
            KeyError::Tampered => Self::Tampered,
            KeyError::Missing | KeyError::Unset(_) => Self::MissingKey,
            KeyError::TooLong { .. } => Self::Failed(ToolError::permanent(error.to_string())),
            KeyError::File { .. } | KeyError::Malformed(_) | KeyError::Random => {
                Self::Failed(ToolError::internal(error.to_string()))
            }
        }
    }
}

impl From<ConfigureError> for AgentErrorKind {
    fn from(error: ConfigureError) -> Self {
        match error {
            ConfigureError::Config(problems) => Self::InvalidConfig(problems),
            ConfigureError::Secrets(problems) => Self::InvalidSecrets(problems),
            ConfigureError::Both { config, secrets } => {
                Self::Several(vec![Self::InvalidConfig(config), Self::InvalidSecrets(secrets)])
            }
            ConfigureError::Failed(error) => Self::Failed(error),
        }
    }
}

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (agent, tool) = (self.agent.escape_debug(), self.tool.escape_debug());
        match self.tool.as_str() {
            "" => write!(f, "agent `{agent}`: {}", self.kind),
            _ => write!(f, "toolset `{tool}` of agent `{agent}`: {}", self.kind),
        }
    }
}

impl fmt::Display for AgentErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let meant = |f: &mut fmt::Formatter<'_>, nearest: &Option<String>| match nearest {
            Some(nearest) => write!(f, "; did you mean `{}`?", nearest.escape_debug()),
            None => Ok(()),
        };
        let list = |f: &mut fmt::Formatter<'_>, what: &str, problems: &[Problem]| {
            f.write_str(what)?;
            problems.iter().try_for_each(|problem| write!(f, "\n- {}", problem.in_settings()))
        };
        match self {
            Self::NotConfigured => f.write_str("it is not configured; add a record of it first"),
            Self::Disabled => f.write_str("it is disabled; enable its record"),
            Self::ActionDisabled { action } => write!(f, "its action `{}` is disabled", action.escape_debug()),
            Self::NotRegistered { nearest } => {
                f.write_str("no toolset of that name is registered; is its crate linked (`use my_tools as _;`)?")?;
                meant(f, nearest)
            }
            Self::UnknownAction { action, nearest } => {
                write!(f, "it has no action `{}`", action.escape_debug())?;
                meant(f, nearest)
            }
            Self::InvalidConfig(problems) => list(f, "its settings do not fit:", problems),
            Self::InvalidSecrets(problems) => list(f, "its secrets do not fit:", problems),
            Self::Several(all) => {
                let mut separator = "";
                all.iter().try_for_each(|kind| write!(f, "{}{kind}", std::mem::replace(&mut separator, "\n")))
            }
            Self::MissingKey => write!(f, "{}", KeyError::Missing),
            Self::UnknownKey { key } => write!(f, "{}", KeyError::Unknown { key: key.clone() }),
            Self::WrongKey { key } => write!(f, "{}", KeyError::Wrong { key: key.clone() }),
            Self::Tampered => write!(f, "{}", KeyError::Tampered),
            Self::Unreadable(why) => write!(f, "{}", AgentStoreError::Unreadable(why.clone())),
            Self::Failed(error) if error.kind() == ErrorKind::Internal => {
                f.write_str("it broke while it was set up; the log says how")
            }
            Self::Failed(error) => write!(f, "it was not set up: {}", error.message()),
            Self::Collision(why) => write!(f, "its tools collide with others of the agent: {why}"),
            Self::Conflict { found } => write!(f, "{}", AgentStoreError::Conflict { found: *found }),
            Self::InvalidId => f.write_str("an id has 1 to 512 bytes and no control characters"),
            Self::StoreDown(why) => write!(f, "{}", AgentStoreError::Down(why.clone())),
            Self::NoSession(why) => write!(f, "no session opened to run the action in: {why}"),
        }
    }
}

impl std::error::Error for AgentError {}

/// So that a tool may return it. What a model can do something about it reads; of the rest it reads that a person has to.
impl IntoToolError for AgentError {
    fn into_tool_error(self) -> ToolError {
        let text = self.to_string();
        match self.kind {
            AgentErrorKind::Failed(error) => error,
            AgentErrorKind::StoreDown(_) | AgentErrorKind::NoSession(_) => {
                log(&text);
                ToolError::transient("the agent's tools cannot be reached at the moment; try again later")
            }
            AgentErrorKind::Conflict { .. } => ToolError::conflict(text),
            AgentErrorKind::NotConfigured
            | AgentErrorKind::Disabled
            | AgentErrorKind::ActionDisabled { .. }
            | AgentErrorKind::NotRegistered { .. }
            | AgentErrorKind::UnknownAction { .. }
            | AgentErrorKind::InvalidId => ToolError::permanent(text),
            _ => {
                log(&text);
                let tool = self.tool.escape_debug();
                ToolError::permanent(format!(
                    "toolset `{tool}` is not set up as it has to be; a person has to see to it"
                ))
            }
        }
    }
}

fn log(error: &str) {
    let error = Redaction::new().text(error);
    tracing::error!(%error, "an agent's tools are not to be had");
}
