//! Answers to calls of a model that the agent loop does not make.

use crate::call::{ErrorKind, ToolCall, ToolError, ToolResponse};
use crate::session::inner::SessionInner;
use crate::session::reply_finish::ReplyFinish;
use crate::time::CallInstant;

/// Returns the name of the limit at which an answer was cut off.
pub(crate) fn name_of_limit(max_tokens: Option<u32>) -> String {
    match max_tokens {
        Some(tokens) => format!("the limit of {tokens} output tokens (`max_tokens`)"),
        None => "the provider's limit of output tokens".to_owned(),
    }
}

/// Returns the message to the model about calls that did not run, because their answer did not end
/// as a complete one.
pub(crate) fn refusal_of_calls(finish: ReplyFinish, max_tokens: Option<u32>) -> String {
    match finish {
        ReplyFinish::Length => format!(
            "The call was cut off: the answer reached {}, so nothing was done. Call it again with shorter arguments, or split \
             the work into several calls.",
            name_of_limit(max_tokens)
        ),
        _ => "The call was not made: the answer that it is part of did not end as a complete one."
            .to_owned(),
    }
}

/// Returns the response to a call that was not read, so that nothing was done.
pub(crate) fn refused_unread(call: &ToolCall, message: &str) -> ToolResponse {
    ToolResponse::refused(call, ToolError::validation(message), CallInstant::now())
}

/// Returns the response to a call after the last step of calls of a reply.
pub(crate) fn refused_step(max_steps: u32, call: &ToolCall) -> ToolResponse {
    let message = format!(
        "the {max_steps} steps of calls of this reply are used up; answer without calling a tool"
    );
    ToolResponse::refused(
        call,
        ToolError::new(ErrorKind::BudgetExceeded, message, false),
        CallInstant::now(),
    )
}

/// Returns the response to a call that an earlier process has left without a result.
pub(crate) fn lost_call(session: &SessionInner, call: &ToolCall) -> ToolResponse {
    let harmless = is_harmless(session, call);
    let name = call.name().escape_debug();
    let message = if harmless {
        format!(
            "the process that ran `{name}` ended before it had a result; call it again if you need it"
        )
    } else {
        format!(
            "the process that ran `{name}` ended before its result was stored; it is unknown whether the call took effect, and it \
             was not made again. Find out, and make the call again only if it did not."
        )
    };
    let error = ToolError::unknown(message).partial_side_effects(!harmless);
    ToolResponse::refused(call, error, CallInstant::now())
}

/// Returns the error of a call that cannot be answered, because it may have no end yet.
pub(crate) fn may_be_running(call: &ToolCall) -> ToolError {
    let id = call.id().escape_debug();
    let name = call.name().escape_debug();
    ToolError::conflict(format!(
        "the call `{id}` of `{name}` may still be running; open the conversation again once it has ended"
    ))
}

/// Returns the error of a call that cannot be answered, because the journal cannot be read.
pub(crate) fn unreadable_end(call: &ToolCall) -> ToolError {
    let id = call.id().escape_debug();
    let name = call.name().escape_debug();
    ToolError::conflict(format!(
        "the journal cannot be read, so it is not known whether the call `{id}` of `{name}` has ended; open the conversation again \
         later"
    ))
}

/// Returns the response to a call that went on in the background, and whose end no process knows.
pub(crate) fn lost_background_call(session: &SessionInner, call: &ToolCall) -> ToolResponse {
    let harmless = is_harmless(session, call);
    let name = call.name().escape_debug();
    let message = if harmless {
        format!(
            "`{name}` went on in the background, and its result is lost; call it again if you need it"
        )
    } else {
        format!(
            "`{name}` went on in the background, and its result is lost; it is unknown whether the call took effect, and it was not \
             made again. Find out, and make the call again only if it did not."
        )
    };
    let error = ToolError::unknown(message).partial_side_effects(!harmless);
    ToolResponse::refused(call, error, CallInstant::now())
}

/// Returns the response to a call whose step could not be stored.
#[cold]
pub(crate) fn not_stored(call: &ToolCall) -> ToolResponse {
    let message = "the call was not run, as the conversation could not be stored";
    ToolResponse::refused(call, ToolError::transient(message), CallInstant::now())
}

/// Returns the response to a call whose end the caller did not wait for.
#[cold]
pub(crate) fn cancelled(session: &SessionInner, call: &ToolCall) -> ToolResponse {
    let harmless = is_harmless(session, call);
    let message = if harmless {
        "The call was cancelled: the turn was interrupted before it ended."
    } else {
        "The call was cancelled: the turn was interrupted before it ended, and it may have taken effect."
    };
    let error =
        ToolError::new(ErrorKind::Cancelled, message, false).partial_side_effects(!harmless);
    ToolResponse::refused(call, error, CallInstant::now())
}

/// Returns true for a call whose tool changes nothing.
fn is_harmless(session: &SessionInner, call: &ToolCall) -> bool {
    let tool = session.tools.find(call.name());
    tool.is_some_and(|(_, tool)| tool.definition().compiled.is_harmless())
}
