//! The runtime and its sessions as `tower::Service`s, and tower's layers around all calls.

use crate::call::error::{ErrorKind, ToolError};
use crate::call::refusal::{outside_session, refused};
use crate::call::response::ToolResponse;
use crate::call::scope::Boxed;
use crate::call::tool_call::ToolCall;
use crate::session::runtime::{Runtime, Shared};
use crate::session::session::Session;
use futures_util::FutureExt;
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
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
pub(crate) type Wrap = Box<dyn FnOnce(Boxes) -> Boxes + Send>;

impl Stack {
    pub(crate) fn new(shared: Weak<Shared>, layers: Vec<Wrap>) -> Option<Self> {
        let any = !layers.is_empty();
        any.then(|| Self { built: Mutex::default(), layers: std::sync::Mutex::new(layers), shared })
    }

    /// None where a layer panicked while it was built: without its layers no call is made.
    fn build(&self) -> Option<Boxes> {
        let shared = Weak::clone(&self.shared);
        let inner = BoxService::new(service_fn(move |call: ToolCall| {
            let shared = shared.upgrade();
            async move { Ok::<_, BoxError>(shared_call(shared, call).await) }
        }));
        let layers = std::mem::take(&mut *self.layers.lock().unwrap_or_else(PoisonError::into_inner));
        if layers.is_empty() {
            return None;
        }
        catch_unwind(AssertUnwindSafe(|| layers.into_iter().rev().fold(inner, |inner, wrap| wrap(inner)))).ok()
    }

    /// Whether a call leaves nothing behind, however far it came.
    fn harmless(&self, call: &ToolCall) -> bool {
        let core = self.shared.upgrade().and_then(|shared| shared.find_live(call.session()?));
        core.is_some_and(|core| {
            core.toolbox.find(call.name()).is_none_or(|(_, tool)| tool.definition().body.harmless())
        })
    }

    pub(crate) async fn call(&self, call: ToolCall) -> ToolResponse {
        let (began, kept) = (Instant::now(), call.clone());
        let called = async {
            let answer = {
                let mut stack = self.built.lock().await;
                if stack.is_none() {
                    *stack = self.build();
                }
                stack.as_mut().ok_or("a layer panicked while it was built")?.ready().await?.call(call)
            };
            answer.await
        };
        let answered = AssertUnwindSafe(called).catch_unwind().await.unwrap_or_else(|_| Err("a layer panicked".into()));
        answered.unwrap_or_else(|error| refused(&kept, turned_away(error.as_ref(), self.harmless(&kept)), began))
    }
}

/// The innermost service: finds the session that makes the call.
async fn shared_call(shared: Option<Arc<Shared>>, call: ToolCall) -> ToolResponse {
    // The very session that the call came from: another may have opened under its id while a layer held the call.
    let core = shared.and_then(|shared| {
        let from = call.shared_session()?;
        shared.find_live(from).filter(|core| Arc::ptr_eq(&core.id.shared(), from))
    });
    match core {
        Some(core) => core.run(call).await,
        None => outside_session(&call),
    }
}

/// What a layer's error says. Nobody knows how far the call came, except where it was shed. R-E3
fn turned_away(error: &(dyn std::error::Error + Send + Sync + 'static), harmless: bool) -> ToolError {
    if error.is::<tower::load_shed::error::Overloaded>() {
        let message = "too many calls at once; nothing was done. Try again shortly";
        return ToolError::rate_limit(message);
    }
    if error.is::<tower::timeout::error::Elapsed>() {
        let late = ToolError::new(ErrorKind::Timeout, "the call took too long", harmless);
        return late.partial_side_effects(!harmless);
    }
    ToolError::internal(format!("a layer refused the call: {error}")).partial_side_effects(!harmless)
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
