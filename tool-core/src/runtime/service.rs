//! The runtime and its sessions as `tower::Service`s, and tower's layers around all calls.

use super::handle::{Runtime, Shared};
use super::session::Session;
use crate::call::{ToolCall, outside_session, refused};
use crate::response::{ErrorKind, ToolError, ToolResponse};
use crate::run::Boxed;
use std::convert::Infallible;
use std::sync::{Arc, PoisonError, Weak};
use std::task::{Context, Poll};
use tokio::sync::Mutex;
use tokio::time::Instant;
use tower::util::BoxService;
use tower::{BoxError, Service, ServiceExt, service_fn};

type Boxes = BoxService<ToolCall, ToolResponse, BoxError>;

/// The host's layers around the calls of all sessions.
///
/// Behind a lock, because a rate limit cannot be cloned: calls queue in order for readiness, and run side by side.
pub(crate) struct Stack {
    built: Mutex<Option<Boxes>>,
    /// Until they are built, at the first call: some layers need a tokio runtime to be built in.
    layers: std::sync::Mutex<Vec<Wrap>>,
    shared: Weak<Shared>,
}

/// Puts one layer around what is there.
pub(super) type Wrap = Box<dyn FnOnce(Boxes) -> Boxes + Send>;

impl Stack {
    pub(super) fn new(shared: Weak<Shared>, layers: Vec<Wrap>) -> Option<Self> {
        let any = !layers.is_empty();
        any.then(|| Self { built: Mutex::default(), layers: std::sync::Mutex::new(layers), shared })
    }

    fn build(&self) -> Boxes {
        let shared = Weak::clone(&self.shared);
        let inner = BoxService::new(service_fn(move |call: ToolCall| {
            let shared = shared.upgrade();
            async move { Ok::<_, BoxError>(shared_call(shared, call).await) }
        }));
        let layers = std::mem::take(&mut *self.layers.lock().unwrap_or_else(PoisonError::into_inner));
        layers.into_iter().rev().fold(inner, |inner, wrap| wrap(inner))
    }

    pub(super) async fn call(&self, call: ToolCall) -> ToolResponse {
        let (began, kept) = (Instant::now(), call.clone());
        let called = async {
            let answer = {
                let mut stack = self.built.lock().await;
                stack.get_or_insert_with(|| self.build()).ready().await?.call(call)
            };
            answer.await
        };
        called.await.unwrap_or_else(|error| refused(&kept, turned_away(error.as_ref()), began))
    }
}

/// The innermost service: finds the session that makes the call.
async fn shared_call(shared: Option<Arc<Shared>>, call: ToolCall) -> ToolResponse {
    let core = shared.and_then(|shared| shared.find_live(call.session()?));
    match core {
        Some(core) => core.run(call).await,
        None => outside_session(&call),
    }
}

fn turned_away(error: &(dyn std::error::Error + Send + Sync + 'static)) -> ToolError {
    if error.is::<tower::load_shed::error::Overloaded>() {
        let message = "too many calls at once; nothing was done. Try again shortly";
        return ToolError::rate_limit(message);
    }
    if error.is::<tower::timeout::error::Elapsed>() {
        return ToolError::new(ErrorKind::Timeout, "the call took too long", false).unexpected();
    }
    ToolError::internal(format!("a layer refused the call: {error}"))
}

impl Service<ToolCall> for Session {
    type Response = ToolResponse;
    type Error = Infallible;
    type Future = Boxed<'static, Result<ToolResponse, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: ToolCall) -> Self::Future {
        let session = self.clone();
        Box::pin(async move { Ok(Session::call(&session, call).await) })
    }
}

/// Serves the calls of all sessions that have a handle in this process: [`ToolCall::in_session`] says which one.
impl Service<ToolCall> for Runtime {
    type Response = ToolResponse;
    type Error = Infallible;
    type Future = Boxed<'static, Result<ToolResponse, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: ToolCall) -> Self::Future {
        let shared = Arc::clone(&self.0);
        Box::pin(async move {
            Ok(match call.session().and_then(|id| shared.find_live(id)) {
                Some(core) => core.call(call).await,
                None => outside_session(&call),
            })
        })
    }
}
