//! The host's tower layers around the calls of all sessions.

use crate::call::{ErrorKind, ToolCall, ToolError, ToolResponse};
use futures_util::FutureExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;
use tokio::sync::Mutex;
use tower::util::BoxService;
use tower::{BoxError, Service, ServiceExt};

/// A service that makes calls.
pub(crate) type CallService = BoxService<ToolCall, ToolResponse, BoxError>;

/// Wraps a service in one layer.
pub(crate) type WrapService = Box<dyn FnOnce(CallService) -> CallService + Send>;

/// The layers, with the service inside them.
///
/// The service is behind a lock, because a rate limit cannot be cloned: calls queue for readiness in order, and then run
/// concurrently.
pub(crate) struct LayerStack {
    service: Mutex<Option<CallService>>,
    /// The layers, outermost first, and the innermost service, until the stack is built at the first call: some layers can
    /// only be built inside a tokio runtime.
    unbuilt: std::sync::Mutex<Option<(Vec<WrapService>, CallService)>>,
}

impl LayerStack {
    pub(crate) fn new(layers: Vec<WrapService>, innermost: CallService) -> Self {
        Self { service: Mutex::default(), unbuilt: std::sync::Mutex::new(Some((layers, innermost))) }
    }

    /// Returns `None` if a layer panicked while it was built. Without its layers, the runtime makes no call.
    fn build(&self) -> Option<CallService> {
        let (layers, innermost) = self.unbuilt.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let build = || layers.into_iter().rev().fold(innermost, |service, wrap| wrap(service));
        catch_unwind(AssertUnwindSafe(build)).ok()
    }

    /// Makes a call through the layers.
    pub(crate) async fn call(&self, call: ToolCall) -> Result<ToolResponse, BoxError> {
        let calling = async {
            let response = {
                let mut service = self.service.lock().await;
                if service.is_none() {
                    *service = self.build();
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
