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

    /// Makes a call through the layers. If one of them fails once the call has reached them, only a
    /// `harmless` tool has had no effect.
    pub(crate) async fn call(
        &self,
        call: ToolCall,
        harmless: bool,
    ) -> Result<ToolResponse, LayerError> {
        let mut is_made = false;
        let calling = async {
            let response = {
                let LayeredService { unbuilt, service } = &mut *self.0.lock().await;
                while let Some(wrap) = unbuilt.pop() {
                    *service = service.take().map(wrap);
                }
                let ready = service
                    .as_mut()
                    .ok_or("a layer panicked while it was built")?
                    .ready()
                    .await?;
                is_made = true;
                ready.call(call)
            };
            response.await
        };
        let response = AssertUnwindSafe(calling)
            .catch_unwind()
            .await
            .unwrap_or_else(|_| Err("a layer panicked".into()));
        response.map_err(|error| layer_error(&error, is_made, harmless))
    }
}

/// The error of a call that its layers have answered.
pub(crate) struct LayerError {
    pub(crate) error: ToolError,
    /// True if the tool has run, or may have.
    pub(crate) may_have_run: bool,
}

/// Converts the error of a layer. Unless the call was shed, or the layers did not get it, it may have
/// run.
fn layer_error(error: &BoxError, is_made: bool, harmless: bool) -> LayerError {
    let is_shed = error.is::<tower::load_shed::error::Overloaded>();
    let may_have_run = is_made && !is_shed;
    let error = if is_shed {
        ToolError::rate_limit("too many concurrent calls; nothing was done. Try again shortly")
    } else if error.is::<tower::timeout::error::Elapsed>() {
        ToolError::new(ErrorKind::Timeout, "the call took too long", harmless)
    } else {
        ToolError::internal(format!("a layer refused the call: {error}"))
    };
    LayerError {
        error: error.partial_side_effects(may_have_run && !harmless),
        may_have_run,
    }
}
