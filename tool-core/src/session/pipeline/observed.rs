//! A call in its span, with its log lines.

use crate::call::envelope::milliseconds;
use crate::call::response::shorten_name;
use crate::call::{ToolCall, ToolResponse};
use crate::session::caps::SpendingCaps;
use crate::session::inner::SessionInner;
use crate::session::pipeline::call::govern;
use crate::tool::spans;
use crate::tool::spans::CALLS_TARGET;
use crate::trace::span;
use std::sync::Arc;
use tracing::Level;

/// The most characters that are logged of arguments.
const MAX_ARGUMENTS: usize = 4_000;

/// Makes a call inside the layers, in a span and with log lines where they are wanted. A tool's own
/// calls begin here.
pub(crate) async fn call_nested(session: &Arc<SessionInner>, call: ToolCall) -> ToolResponse {
    if is_observed(session) {
        let observed = observe(session, call, |call| govern(session, call));
        Box::pin(observed).await
    } else {
        govern(session, call).await
    }
}

/// Returns true if calls have spans and log lines.
#[inline]
pub(crate) fn is_observed(session: &SessionInner) -> bool {
    span::is_wanted() || session.policy().caps().is_some_and(SpendingCaps::have_cost)
}

/// Makes a call in a span, and logs its start and its end.
async fn observe<F: Future<Output = ToolResponse>>(
    session: &Arc<SessionInner>,
    call: ToolCall,
    run: impl FnOnce(ToolCall) -> F,
) -> ToolResponse {
    let lines = CallLines::new(session, &call);
    let Some((_, tool)) = session.tools.find(call.name()) else {
        // An unknown name opens no span, as a model may invent any number of names.
        lines.started(session, &call);
        return lines.completed(run(call).await);
    };
    let call_id = Arc::clone(call.shared_id());
    let work = async {
        lines.started(session, &call);
        let redaction = &session.policy().redaction;
        spans::record_arguments(call.arguments(), Some(redaction));
        let response = lines.completed(run(call).await);
        spans::record_result(&response, Some(redaction));
        response
    };
    spans::in_call_span(tool, Some(&call_id), work).await
}

/// The log lines of one call. Dropped before the call has completed, it logs that the call was
/// dropped.
struct CallLines(Option<CallFields>);

struct CallFields {
    tool: String,
    call_id: String,
    session: String,
}

impl CallLines {
    /// Prepares the lines, if anything listens to them.
    fn new(session: &SessionInner, call: &ToolCall) -> Self {
        let enabled = tracing::enabled!(target: CALLS_TARGET, Level::INFO);
        Self(enabled.then(|| CallFields {
            tool: shorten_name(call.name()),
            call_id: shorten_name(call.id()),
            session: shorten_name(session.id.as_str()),
        }))
    }

    fn started(&self, session: &SessionInner, call: &ToolCall) {
        let redaction = &session.policy().redaction;
        let Some(CallFields {
            tool,
            call_id,
            session,
        }) = &self.0
        else {
            return;
        };
        tracing::info!(target: CALLS_TARGET, tool, call_id, session, "tool call started");
        if tracing::enabled!(target: CALLS_TARGET, Level::DEBUG) {
            let arguments = redaction.json_up_to(call.arguments(), MAX_ARGUMENTS);
            tracing::debug!(target: CALLS_TARGET, tool, call_id, session, arguments, "tool call arguments");
        }
    }

    fn completed(mut self, response: ToolResponse) -> ToolResponse {
        let Some(CallFields {
            tool,
            call_id,
            session,
        }) = self.0.take()
        else {
            return response;
        };
        let meta = response.meta();
        let error_type = response.error().map(|error| error.kind.as_str());
        let ok = response.is_ok();
        let size_chars = meta.size_chars();
        let duration_ms = milliseconds(meta.duration());
        tracing::info!(
            target: CALLS_TARGET, tool, call_id, session, ok, error_type, duration_ms, size_chars, "tool call completed"
        );
        let bytes = response.data_json().map_or(0, str::len);
        let tokens = meta.token_estimate();
        tracing::debug!(target: CALLS_TARGET, tool, call_id, session, size_chars, bytes, tokens, "tool call result");
        response
    }
}

impl Drop for CallLines {
    fn drop(&mut self) {
        if let Some(CallFields {
            tool,
            call_id,
            session,
        }) = self.0.take()
        {
            tracing::info!(target: CALLS_TARGET, tool, call_id, session, "tool call dropped");
        }
    }
}
