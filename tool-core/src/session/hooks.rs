//! Hooks: the host's own code before, after and around every call.

use crate::call::{Mode, ToolError, ToolResponse};
use crate::tool::ToolDefinition;
use futures_util::future::BoxFuture;
use std::sync::Arc;

/// The future that a hook returns.
pub type HookFuture<'a, T> = BoxFuture<'a, T>;

/// The host's own code around the calls of all sessions. Hooks run in the order in which they were added; the first
/// `around` is the outermost.
///
/// ```
/// use tool_core::session::{Hook, HookFuture, HookedCall};
/// use tool_core::{Category, ToolError};
///
/// /// Restricts actions to the staff.
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
    /// Runs before a call that has passed every check. An error becomes the call's answer: the call does not run, and
    /// its budget is refunded.
    fn before<'a>(&'a self, _call: &'a HookedCall<'a>) -> HookFuture<'a, Result<(), ToolError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Runs after a call of a known tool was answered, also where it was refused. It may change the answer. The runtime
    /// stops waiting for it after one second.
    fn after<'a>(&'a self, _call: &'a HookedCall<'a>, _response: &'a mut ToolResponse) -> HookFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Runs around a call that has passed every check, and returns the answer. If it does not call
    /// [`next.run()`](Next::run), the call does not run and its budget is refunded. It is dropped one second after the
    /// call's deadline.
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
    /// The principal of the session; empty where the host gave none.
    pub principal: &'a str,
    /// The session's mode.
    pub mode: Mode,
    /// The number of the turn.
    pub turn: u64,
    /// The id that the model gave the call.
    pub call_id: &'a str,
    /// The tool.
    pub tool: &'a ToolDefinition,
    /// The arguments' JSON text. After a refusal it may be invalid.
    pub arguments: &'a str,
}

/// The rest of the chain inside an `around` hook: the hooks after it, and the tool.
pub struct Next<'a> {
    hooks: &'a [Arc<dyn Hook>],
    call: &'a HookedCall<'a>,
    tool: &'a RunTool<'a>,
}

/// Runs the tool at the end of the chain.
pub(crate) type RunTool<'a> = dyn Fn() -> BoxFuture<'a, ToolResponse> + Send + Sync + 'a;

impl<'a> Next<'a> {
    pub(crate) fn new(hooks: &'a [Arc<dyn Hook>], call: &'a HookedCall<'a>, tool: &'a RunTool<'a>) -> Self {
        Self { hooks, call, tool }
    }

    /// Runs the rest of the chain.
    pub fn run(self) -> HookFuture<'a, ToolResponse> {
        match self.hooks.split_first() {
            Some((first, rest)) => first.around(self.call, Next { hooks: rest, ..self }),
            None => (self.tool)(),
        }
    }
}
