//! Hooks: the host's own code before, after and around every call.

use crate::call::error::ToolError;
use crate::call::mode::Mode;
use crate::call::response::ToolResponse;
use crate::call::scope::Boxed;
use crate::tool::definition::ToolDefinition;
use std::sync::Arc;

/// A future that a hook gives.
pub type HookFuture<'a, T> = Boxed<'a, T>;

/// The host's own code around the calls of all sessions. Hooks run in the order in which they were added; of `around`,
/// the first is the outermost.
///
/// ```
/// use tool_core::session::{Hook, HookFuture, HookedCall};
/// use tool_core::{Category, ToolError};
///
/// /// Lets only the staff act.
/// struct StaffOnly;
///
/// impl Hook for StaffOnly {
///     fn before<'a>(&'a self, call: &'a HookedCall<'a>) -> HookFuture<'a, Result<(), ToolError>> {
///         Box::pin(async move {
///             let allowed = call.tool.category() != Category::Action || call.principal.starts_with("staff:");
///             if allowed { Ok(()) } else { Err(ToolError::auth("only the staff may do this")) }
///         })
///     }
/// }
/// ```
pub trait Hook: Send + Sync + 'static {
    /// Before a call runs that has passed every check. An error is its answer: it does not run, and its budget is
    /// given back.
    fn before<'a>(&'a self, _call: &'a HookedCall<'a>) -> HookFuture<'a, Result<(), ToolError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// After a call of a known tool was answered, refused ones too. The answer may still be changed, within a second.
    fn after<'a>(&'a self, _call: &'a HookedCall<'a>, _response: &'a mut ToolResponse) -> HookFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Around the run of a call that has passed every check. What it returns is the answer. Where it does not go on,
    /// the call has not run, and its budget is given back.
    /// A second after the call's deadline it is given up.
    fn around<'a>(&'a self, _call: &'a HookedCall<'a>, next: Next<'a>) -> HookFuture<'a, ToolResponse> {
        next.run()
    }
}

/// The call that a hook sees.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct HookedCall<'a> {
    /// The session's id.
    pub session: &'a str,
    /// For whom the session speaks; empty where the host does not tell.
    pub principal: &'a str,
    /// The session's mode.
    pub mode: Mode,
    /// The number of the turn.
    pub turn: u64,
    /// The id that the model gave the call.
    pub call_id: &'a str,
    /// The tool.
    pub tool: &'a ToolDefinition,
    /// The arguments' JSON text. After a refusal it may be anything.
    pub arguments: &'a str,
}

/// What an `around` hook stands around: the hooks after it, and the tool.
pub struct Next<'a> {
    hooks: &'a [Arc<dyn Hook>],
    call: &'a HookedCall<'a>,
    tool: &'a Run<'a>,
}

pub(crate) type Run<'a> = dyn Fn() -> Boxed<'a, ToolResponse> + Send + Sync + 'a;

impl<'a> Next<'a> {
    pub(crate) fn new(hooks: &'a [Arc<dyn Hook>], call: &'a HookedCall<'a>, tool: &'a Run<'a>) -> Self {
        Self { hooks, call, tool }
    }

    /// Goes on.
    pub fn run(self) -> HookFuture<'a, ToolResponse> {
        match self.hooks.split_first() {
            Some((first, rest)) => first.around(self.call, Next { hooks: rest, ..self }),
            None => (self.tool)(),
        }
    }
}
