//! The conditions under which a person has to approve the calls of a tool: that of the tool itself,
//! and those that the host has added. None of them replaces another.

use crate::call::approval_reason::{ApprovalNeed, ApprovalReason, ApprovalSource};
use crate::tool::options::Confirm;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The words of a condition that gives no reason of its own.
const EACH_CALL: &str = "it asks before each call";
const THESE_ARGUMENTS: &str = "it asks about a call with these arguments";
/// The reason of a condition that panics, so that a person decides.
const PANICKED: &str = "its condition failed, so a person decides";

/// A condition that the host has added to a tool.
#[derive(Clone)]
pub(crate) enum HostCondition {
    /// Every call, for a reason.
    Always(Arc<str>),
    /// Calls with some arguments.
    When(Arc<Asks>),
}

/// Decides by the arguments' JSON text.
pub(crate) type Asks = dyn Fn(&str) -> ApprovalNeed + Send + Sync;

impl HostCondition {
    /// Returns the condition of an option, if it asks for anything.
    pub(crate) fn of(confirm: Confirm) -> Option<Self> {
        match confirm {
            Confirm::Never => None,
            Confirm::Always => Some(Self::Always(EACH_CALL.into())),
            Confirm::When(asks) => Some(Self::When(Arc::new(asks))),
        }
    }

    fn reason(&self, arguments: &str) -> Option<ApprovalReason> {
        match self {
            Self::Always(text) => Some(ApprovalReason::new(ApprovalSource::Policy, text)),
            Self::When(asks) => ask(ApprovalSource::Policy, || asks(arguments)),
        }
    }
}

/// Returns the strictest of two conditions, for the descriptions of a tool.
pub(crate) fn strictest(one: Confirm, added: &HostCondition) -> Confirm {
    match (one, added) {
        (Confirm::Always, _) | (_, HostCondition::Always(_)) => Confirm::Always,
        (Confirm::When(asks), _) => Confirm::When(asks),
        // Only the tool itself knows the condition of the host, so a person decides.
        (Confirm::Never, HostCondition::When(_)) => Confirm::When(|_| ApprovalNeed::Yes),
    }
}

/// Adds the reasons of the tool and of the host's conditions to a list. The arguments are canonical:
/// a condition that searches their text has to find what the tool gets, however a model spells it.
pub(crate) fn add_reasons(
    own: Confirm,
    host: &[HostCondition],
    arguments: &str,
    reasons: &mut Vec<ApprovalReason>,
) {
    let of_tool = match own {
        Confirm::Never => None,
        Confirm::Always => Some(ApprovalReason::new(ApprovalSource::Tool, EACH_CALL)),
        Confirm::When(asks) => ask(ApprovalSource::Tool, || asks(arguments)),
    };
    reasons.extend(of_tool);
    reasons.extend(
        host.iter()
            .filter_map(|condition| condition.reason(arguments)),
    );
}

/// Asks a condition. If it panics, a person decides.
fn ask(source: ApprovalSource, asks: impl FnOnce() -> ApprovalNeed) -> Option<ApprovalReason> {
    match catch_unwind(AssertUnwindSafe(asks)) {
        Ok(need) => need.reason(source, THESE_ARGUMENTS),
        Err(_) => Some(ApprovalReason::new(source, PANICKED)),
    }
}
