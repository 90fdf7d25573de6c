//! The warning about a tool that keeps its thread past the time of its call: nothing can end such a
//! call, and others wait.

use crate::call::response::shorten_name;
use crate::time::{self, CallInstant};
use crate::tool::function::FunctionTool;
use crate::tool::guarded_tool::GuardedTool;
use crate::tool::invocation::ToolResult;
use crate::tool::spans::CALLS_TARGET;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// The time of a call, and the tool that it calls.
#[derive(Clone, Copy)]
pub(crate) struct ThreadTime<'a> {
    pub(crate) tool: &'a FunctionTool,
    pub(crate) call_id: Option<&'a Arc<str>>,
    pub(crate) began: CallInstant,
    /// The time that the call may take; `None` if it has no end.
    pub(crate) limit: Option<Duration>,
}

/// The most by which a poll may end late without a warning. Shorter limits allow a tenth of them.
const GRACE: Duration = Duration::from_millis(50);

/// The time in which a call keeps its thread past no limit, so that most calls are not checked.
pub(crate) const UNCHECKED: Duration = Duration::from_millis(1);

impl ThreadTime<'_> {
    /// Warns if a poll has kept its thread past the limit. Both ends of the poll are times since
    /// the call began.
    #[cold]
    pub(crate) fn check(&self, from: Duration, to: Duration) {
        if let Some(limit) = self.limit
            && to > limit.saturating_add(GRACE.min(limit / 10))
            && from < limit
            && !self.tool.definition().flags().blocking
        {
            self.warn(limit, to);
        }
    }

    /// Does the same for a poll that ends now.
    pub(crate) fn check_since(&self, polled_at: CallInstant) {
        if self.limit.is_some() {
            let to = self.began.elapsed();
            self.check(polled_at.since(self.began), to);
        }
    }

    fn warn(&self, limit: Duration, taken: Duration) {
        let tool = self.tool.name().escape_debug();
        let call_id = self.call_id.map(|id| shorten_name(id));
        let limit = time::milliseconds(limit);
        let taken = taken.as_millis();
        tracing::warn!(
            target: CALLS_TARGET,
            %tool,
            call_id,
            "`{tool}` kept its thread past its timeout of {limit} ms, until {taken} ms after its call: other calls wait meanwhile, \
             and it cannot be ended; make it `blocking`, or let it wait with `.await`"
        );
    }
}

/// The future of a tool that has waited, each of whose further polls is checked. It was just
/// polled, so that the first poll of this future does nothing.
pub(crate) struct WaitingTool<'a> {
    future: GuardedTool<'a>,
    time: ThreadTime<'a>,
    was_polled: bool,
}

impl<'a> WaitingTool<'a> {
    /// Creates the future of a tool whose first poll began at `started`.
    pub(crate) fn new(future: GuardedTool<'a>, time: ThreadTime<'a>, started: CallInstant) -> Self {
        time.check_since(started);
        Self {
            future,
            time,
            was_polled: true,
        }
    }
}

impl Future for WaitingTool<'_> {
    type Output = ToolResult;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<ToolResult> {
        if std::mem::take(&mut self.was_polled) {
            return Poll::Pending;
        }
        if self.time.limit.is_none() {
            return Pin::new(&mut self.future).poll(cx);
        }
        let polled_at = CallInstant::now();
        let polled = Pin::new(&mut self.future).poll(cx);
        self.time.check_since(polled_at);
        polled
    }
}
