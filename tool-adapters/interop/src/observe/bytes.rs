//! The bytes of an answer, which close the span of its request.

use futures_core::Stream;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tool_adapters_http::observed_call::ObservedCall;
use tool_core::ToolError;

/// Passes bytes on unchanged. The span ends with the last of them, or when they are dropped.
pub(crate) struct ObservedBytes<S> {
    bytes: S,
    /// `None` once the span is closed.
    call: Option<ObservedCall>,
}

impl<S> ObservedBytes<S> {
    pub(crate) fn new(bytes: S, call: ObservedCall) -> Self {
        Self {
            bytes,
            call: Some(call),
        }
    }
}

impl<S, B, E> Stream for ObservedBytes<S>
where
    S: Stream<Item = Result<B, E>> + Unpin,
    B: AsRef<[u8]>,
{
    type Item = Result<B, E>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let item = ready!(Pin::new(&mut self.bytes).poll_next(context));
        match &item {
            Some(Ok(bytes)) => {
                if let Some(call) = &mut self.call {
                    call.push(bytes.as_ref());
                }
            }
            Some(Err(_)) => {
                if let Some(call) = self.call.take() {
                    call.fail(ToolError::transient("the answer broke off"));
                }
            }
            None => {
                if let Some(call) = self.call.take() {
                    call.end();
                }
            }
        }
        Poll::Ready(item)
    }
}
