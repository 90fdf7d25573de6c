//! The host's own code around the calls of all sessions: hooks and tower layers.

use crate::call::{ErrorKind, Mode, ToolCall, ToolError, ToolResponse};
use crate::tool::ToolDefinition;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tokio::sync::Mutex;
use tower::util::BoxService;
use tower::{BoxError, Service, ServiceExt};

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
    pub(crate) hooks: &'a [Arc<dyn Hook>],
    pub(crate) call: &'a HookedCall<'a>,
    pub(crate) tool: &'a RunTool<'a>,
}

/// Runs the tool at the end of the chain.
pub(crate) type RunTool<'a> = dyn Fn() -> BoxFuture<'a, ToolResponse> + Send + Sync + 'a;

impl<'a> Next<'a> {
    /// Runs the rest of the chain.
    pub fn run(self) -> HookFuture<'a, ToolResponse> {
        match self.hooks.split_first() {
            Some((first, rest)) => first.around(self.call, Next { hooks: rest, ..self }),
            None => (self.tool)(),
        }
    }
}

/// A service that makes calls.
pub(crate) type CallService = BoxService<ToolCall, ToolResponse, BoxError>;

/// Wraps a service in one layer.
pub(crate) type WrapService = Box<dyn FnOnce(CallService) -> CallService + Send>;

/// The layers, with the service inside them.
///
/// The service is behind a lock, because a rate limit cannot be cloned: calls queue for readiness in order, and then run
/// concurrently.
pub(crate) struct LayerStack(Mutex<LayeredService>);

struct LayeredService {
    /// The layers, outermost first, until they are built at the first call: some can only be built inside a tokio runtime.
    unbuilt: Vec<WrapService>,
    /// `None` once a layer has panicked while it was built. Without its layers, the runtime makes no call.
    service: Option<CallService>,
}

impl LayerStack {
    pub(crate) fn new(layers: Vec<WrapService>, innermost: CallService) -> Self {
        Self(Mutex::new(LayeredService { unbuilt: layers, service: Some(innermost) }))
    }

    /// Makes a call through the layers.
    pub(crate) async fn call(&self, call: ToolCall) -> Result<ToolResponse, BoxError> {
        let calling = async {
            let response = {
                let LayeredService { unbuilt, service } = &mut *self.0.lock().await;
                while let Some(wrap) = unbuilt.pop() {
                    *service = service.take().map(wrap);
                }
                service.as_mut().ok_or("a layer panicked while it was built")?.ready().await?.call(call)
            };
            response.await
        };
        AssertUnwindSafe(calling).catch_unwind().await.unwrap_or_else(|_| Err("a layer panicked".into()))
    }
}

/// Converts the error of a layer. Unless the call was shed, it may have run, and only a `harmless` tool has had no effect.
pub(crate) fn layer_error(error: &BoxError, harmless: bool) -> ToolError {
    if error.is::<tower::load_shed::error::Overloaded>() {
        return ToolError::rate_limit("too many concurrent calls; nothing was done. Try again shortly");
    }
    if error.is::<tower::timeout::error::Elapsed>() {
        let timeout = ToolError::new(ErrorKind::Timeout, "the call took too long", harmless);
        return timeout.partial_side_effects(!harmless);
    }
    ToolError::internal(format!("a layer refused the call: {error}")).partial_side_effects(!harmless)
}
