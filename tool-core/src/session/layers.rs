//! tower's layers around the calls of all sessions.

use crate::call::{ErrorKind, ToolCall, ToolError, ToolResponse};
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;
use tokio::sync::Mutex;
use tower::util::{BoxService, MapErr};
use tower::{BoxError, Layer, Service, ServiceExt};

/// A service that makes calls.
pub(crate) type CallService = BoxService<ToolCall, ToolResponse, BoxError>;

/// Wraps a service in one layer.
pub(crate) type WrapService = Box<dyn FnOnce(CallService) -> CallService + Send>;

/// Returns a function that wraps a service in the layer.
pub(crate) fn wrap_in<L, S>(layer: L) -> WrapService
where
    L: Layer<CallService, Service = S> + Send + 'static,
    S: Service<ToolCall, Response = ToolResponse, Error: Into<BoxError>, Future: Send>
        + Send
        + 'static,
{
    Box::new(move |service| {
        BoxService::new(MapErr::new(layer.layer(service), Into::<BoxError>::into))
    })
}

/// The layers, with the service inside them.
///
/// The service is behind a lock, because a rate limit cannot be cloned: calls queue for readiness
/// in order, and then run concurrently.
pub(crate) struct LayerStack(Mutex<LayeredService>);

struct LayeredService {
    /// The layers, outermost first, until they are built at the first call: some can only be built
    /// inside a tokio runtime.
    unbuilt: Vec<WrapService>,
    /// `None` once a layer has panicked while it was built. Without its layers, the runtime makes
    /// no call.
    service: Option<CallService>,
}

impl LayerStack {
    /// Returns the layers around a service, if there are some.
    pub(crate) fn new(layers: Vec<WrapService>, innermost: CallService) -> Option<Self> {
        let service = Some(innermost);
        (!layers.is_empty()).then(|| {
            Self(Mutex::new(LayeredService {
                unbuilt: layers,
                service,
            }))
        })
    }

    /// Makes a call through the layers. If one of them fails, only a `harmless` tool has had no
    /// effect.
    pub(crate) async fn call(
        &self,
        call: ToolCall,
        harmless: bool,
    ) -> Result<ToolResponse, ToolError> {
        let calling = async {
            let response = {
                let LayeredService { unbuilt, service } = &mut *self.0.lock().await;
                while let Some(wrap) = unbuilt.pop() {
                    *service = service.take().map(wrap);
                }
                service
                    .as_mut()
                    .ok_or("a layer panicked while it was built")?
                    .ready()
                    .await?
                    .call(call)
            };
            response.await
        };
        let response = AssertUnwindSafe(calling)
            .catch_unwind()
            .await
            .unwrap_or_else(|_| Err("a layer panicked".into()));
        response.map_err(|error| layer_error(&error, harmless))
    }
}

/// Converts the error of a layer. Unless the call was shed, it may have run.
fn layer_error(error: &BoxError, harmless: bool) -> ToolError {
    if error.is::<tower::load_shed::error::Overloaded>() {
        return ToolError::rate_limit(
            "too many concurrent calls; nothing was done. Try again shortly",
        );
    }
    if error.is::<tower::timeout::error::Elapsed>() {
        let timeout = ToolError::new(ErrorKind::Timeout, "the call took too long", harmless);
        return timeout.partial_side_effects(!harmless);
    }
    ToolError::internal(format!("a layer refused the call: {error}"))
        .partial_side_effects(!harmless)
}
