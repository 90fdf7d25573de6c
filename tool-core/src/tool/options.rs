//! What an attribute says of a tool: its category, its modes, and how calls of it are treated.

use serde::{Deserialize, Serialize};

/// What a tool is for. The runtime's limits and the providers' annotations follow from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Category {
    /// It reads: implies read-only and idempotent.
    Retrieval,
    /// It changes something outside.
    Action,
    /// It computes, or serves the conversation itself.
    #[default]
    Utility,
}

impl Category {
    /// The word that stands in the attribute and in the manifest.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Retrieval => "retrieval",
            Self::Action => "action",
            Self::Utility => "utility",
        }
    }
}

/// What happens to a call of a tool while another call of it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnDuplicate {
    /// Both run.
    #[default]
    Allow,
    /// The new one is refused.
    Reject,
    /// The running one is cancelled.
    Replace,
    /// The model is asked to confirm.
    Confirm,
}

/// Which calls count as duplicates of one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DuplicateScope {
    /// Any two of the same tool.
    #[default]
    Name,
    /// Two with equal arguments.
    NameAndArgs,
}

/// Whether a call waits for a person's word.
#[derive(Clone, Copy, Debug, Default)]
pub enum Confirm {
    /// It does not.
    #[default]
    Never,
    /// It does, always.
    Always,
    /// The function decides on the arguments' JSON text; arguments that do not decode ask.
    When(fn(&str) -> bool),
}

/// Yes-or-no options of a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // each is an option of its own in the attribute
pub struct ToolAnnotations {
    /// Calling it twice with the same arguments does no more than calling it once.
    pub idempotent: bool,
    /// It may destroy what it works on.
    pub destructive: bool,
    /// It reaches beyond the program's own data.
    pub open_world: bool,
    /// Hidden from replies that are generated while the agent enters.
    pub ignore_on_enter: bool,
    /// The model may cancel a running call.
    pub cancellable: bool,
    /// Calls of it run one after the other, and not beside others.
    pub sequential: bool,
    /// It blocks its thread, so a session runs it on a bounded pool.
    pub blocking: bool,
}
