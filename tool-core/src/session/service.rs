//! The services of tower that a runtime and a session are.

use crate::call::{ToolCall, ToolResponse};
use crate::session::handle::Session;
use crate::session::pipeline::entry;
use crate::session::runtime::Runtime;
use futures_util::future::BoxFuture;
use std::convert::Infallible;
use std::task::{Context, Poll};
use tower::Service;

/// Serves the calls of all sessions that have a handle in this process. [`ToolCall::in_session`]
/// names the session, and the call acts for the principal of that session. So the host sets the
/// name itself, or checks who sent it.
impl Service<ToolCall> for Runtime {
    type Response = ToolResponse;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<ToolResponse, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: ToolCall) -> Self::Future {
        let session = call.session().and_then(|id| self.0.session(id));
        Box::pin(async move {
            Ok(match session {
                Some(session) => entry::call(&session, call).await,
                None => ToolResponse::outside_session(&call),
            })
        })
    }
}

impl Service<ToolCall> for Session {
    type Response = ToolResponse;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<ToolResponse, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: ToolCall) -> Self::Future {
        let session = self.clone();
        Box::pin(async move { Ok(Session::call(&session, call).await) })
    }
}
