//! The entry of a call into its session: the host's layers, an answer in the background, a span and
//! log lines. Most calls need none of them.

use crate::call::{ToolCall, ToolResponse};
use crate::session::inner::SessionInner;
#[cfg(feature = "tower")]
use crate::session::layers::{LayerError, LayerStack};
use crate::session::pipeline::background::call_in_background;
use crate::session::pipeline::call::govern;
use crate::session::pipeline::observed::{call_nested, is_observed};
#[cfg(feature = "tower")]
use crate::session::pipeline::passing_call::PassingCall;
#[cfg(feature = "tower")]
use crate::session::pipeline::{record, without_tool};
#[cfg(feature = "tower")]
use crate::time::CallInstant;
use futures_util::future::BoxFuture;
use std::sync::Arc;

/// Makes a call, through the host's layers if there are some.
pub(crate) async fn call(session: &Arc<SessionInner>, call: ToolCall) -> ToolResponse {
    let is_plain =
        !session.runtime.has_layers() && session.background().is_none() && !is_observed(session);
    // Most calls need none of the futures between, each of which would move the call and its
    // response.
    if is_plain {
        govern(session, call).await
    } else {
        call_outside(session, call).await
    }
}

/// Makes a call that has to pass layers, or that may be answered in the background, or that is
/// observed.
fn call_outside(session: &Arc<SessionInner>, call: ToolCall) -> BoxFuture<'_, ToolResponse> {
    #[cfg(feature = "tower")]
    if let Some(layers) = &session.runtime.layers {
        return Box::pin(call_through_layers(session, layers, call));
    }
    Box::pin(call_inside_layers(session, call))
}

#[cfg(feature = "tower")]
async fn call_through_layers(
    session: &Arc<SessionInner>,
    layers: &LayerStack,
    call: ToolCall,
) -> ToolResponse {
    let tool = session.tools.find(call.name());
    // A control tool must not wait for the calls that it cancels.
    if tool.is_some_and(|(index, _)| session.tools.is_control_tool(index)) {
        return call_inside_layers(session, call).await;
    }
    let harmless = tool.is_none_or(|(_, tool)| tool.definition().compiled.is_harmless());
    let began = CallInstant::now();
    let unanswered = call.clone();
    // The session itself and not its id, under which another one may be open by then.
    let layered = LayeredCall {
        session,
        passing: Arc::new(PassingCall::of(session)),
    };
    let passing = Arc::clone(&layered.passing);
    let call = call.in_session(session.id.shared()).in_layers(passing);
    let LayerError {
        error,
        may_have_run,
    } = match layers.call(call, harmless).await {
        Ok(response) => return response,
        Err(error) => error,
    };
    let response = ToolResponse::refused(&unanswered, error, began);
    if may_have_run {
        let dropped = layered.passing.answer();
        without_tool::record_begun(session, &unanswered, &response, dropped);
    } else {
        without_tool::record_refusal(session, &unanswered, &response);
    }
    response
}

/// A call that its layers have. Dropped before they have answered it themselves, it logs the entry of
/// a call that they have dropped.
#[cfg(feature = "tower")]
struct LayeredCall<'a> {
    session: &'a Arc<SessionInner>,
    passing: Arc<PassingCall>,
}

#[cfg(feature = "tower")]
impl Drop for LayeredCall<'_> {
    fn drop(&mut self) {
        if let Some(entry) = self.passing.end_unanswered() {
            record::audit_later(self.session, *entry);
        }
    }
}

/// Makes a call that has passed the layers, in the session that it came from.
#[cfg(feature = "tower")]
pub(crate) async fn call_from_layers(call: ToolCall) -> ToolResponse {
    let session = call.layers().and_then(PassingCall::session);
    match session {
        Some(session) => call_inside_layers(&session, call).await,
        // A layer has replaced the call by one of its own.
        None => ToolResponse::outside_session(&call),
    }
}

async fn call_inside_layers(session: &Arc<SessionInner>, call: ToolCall) -> ToolResponse {
    // An approved call has a result in the conversation already, which its first update cannot
    // become.
    match session.background().filter(|_| call.approval().is_none()) {
        None => call_nested(session, call).await,
        Some(answers) => {
            Box::pin(call_in_background(
                Arc::clone(session),
                call,
                Arc::clone(answers),
            ))
            .await
        }
    }
}
