//! Requesting the approval of a call, and redeeming it.

use crate::call::{Confirmation, ErrorKind, ToolCall, ToolError, ToolResponse};
use crate::session::approvals::{PendingCall, Signer, fresh_id};
use crate::session::inner::SessionInner;
use crate::session::pipeline::cx::{CallCx, session_over};
use crate::session::store::StoreError;
use crate::text::truncate;
use crate::time::CENTURY;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use tokio::time::Instant;

/// Denies the call that waits under a token.
pub(crate) async fn deny(session: &SessionInner, token: &str) -> Result<ToolResponse, ToolError> {
    let began = Instant::now();
    let PendingCall { id, call_id, tool, .. } = pending_call(session, token).await?;
    let error = if session.record.consume(&id).await.map_err(|error| store_down(session, &error))? {
        let message = format!("a person has refused this call of `{tool}`; it was not run. Do not call it again.");
        ToolError::new(ErrorKind::Denied, message, false)
    } else {
        no_pending_call()
    };
    Ok(ToolResponse::refused(&ToolCall::new(call_id, tool, ""), error, began))
}

/// Returns the call that waits under a token, if the token was signed here and for this session.
pub(crate) async fn pending_call(session: &SessionInner, token: &str) -> Result<PendingCall, ToolError> {
    let _token = session.calls.token();
    if session.calls.is_closed() {
        return Err(session_over());
    }
    let id = Signer::id_of(token).ok_or_else(no_pending_call)?;
    let found = session.record.pending(id).await.map_err(|error| store_down(session, &error))?;
    let is_own = |pending: &PendingCall| {
        pending.session == session.id.as_str()
            && *pending.principal == *session.principal
            && pending.mode == session.mode
            && *pending.version == *session.tools.version
            && session.runtime.signer.verify(token, pending)
    };
    found.filter(is_own).ok_or_else(no_pending_call)
}

fn store_down(session: &SessionInner, error: &StoreError) -> ToolError {
    tracing::error!(session = %session.id.as_str().escape_debug(), %error, "failed to look up an approval");
    ToolError::transient("the approval cannot be looked up at the moment, so nothing was done; try again")
}

/// Returns a response that belongs to no call.
pub(crate) fn response_without_call(error: ToolError) -> ToolResponse {
    ToolResponse::refused(&ToolCall::new("", "", ""), error, Instant::now())
}

/// Returns the error of a token under which no call waits. It gives one message for all causes, so that a caller cannot
/// probe for tokens.
pub(crate) fn no_pending_call() -> ToolError {
    let message = "no call waits under this token: it was used, it has expired, or it is not for this session";
    ToolError::new(ErrorKind::NotFound, message, false)
}

/// The most characters of one argument in a summary, so that a long argument hides no other.
const MAX_ARGUMENT: usize = 200;

/// Keeps the call for its approval, and answers `CONFIRMATION_REQUIRED` with a token for the host.
pub(crate) async fn request_approval(call: &CallCx<'_>, text: &str) -> ToolResponse {
    let (session, lifetime) = (call.session, call.policy().confirmation_lifetime.min(CENTURY));
    let expires = jiff::Timestamp::now() + lifetime;
    let pending = PendingCall {
        id: fresh_id(),
        principal: session.principal.to_string(),
        session: session.id.to_string(),
        mode: session.mode,
        version: session.tools.version.to_string(),
        call_id: call.request.id().to_owned(),
        tool: call.tool.name().to_owned(),
        arguments: call.definition().received_text(text),
        expires_at: u64::try_from(expires.as_millisecond()).unwrap_or_default(),
    };
    if let Err(error) = session.record.mint(&pending, lifetime).await {
        tracing::error!(session = %session.id.as_str().escape_debug(), %error, "failed to keep a call for approval");
        let message =
            "a person has to approve this, and cannot be asked at the moment; nothing was done. Try again later";
        return call.answer().fail(ToolError::transient(message));
    }
    let confirmation = Confirmation {
        token: session.runtime.signer.sign(&pending),
        summary: summary(&pending),
        expires_at: format!("{expires:.0}"),
    };
    let message = format!(
        "`{}` needs a person's approval, which was requested. It has not run; do not call it again, its result will follow.",
        pending.tool
    );
    let mut response = call.answer().fail(ToolError::new(ErrorKind::ConfirmationRequired, message, false));
    response.optional_meta().confirmation = Some(confirmation);
    response
}

/// Describes the call to a person: every argument, shortened where it is long, with control and direction characters
/// escaped.
fn summary(pending: &PendingCall) -> String {
    // A `Value` would round an integer beyond 64 bits.
    let arguments = match serde_json::from_str::<BTreeMap<String, &RawValue>>(&pending.arguments) {
        Ok(members) => {
            let members =
                members.iter().map(|(name, value)| format!("{name}: {}", truncate(value.get(), MAX_ARGUMENT)));
            members.collect::<Vec<_>>().join(", ")
        }
        Err(_) => truncate(&pending.arguments, MAX_ARGUMENT),
    };
    let text = format!("{}({arguments})", pending.tool);
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        let is_invisible = matches!(character, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
        if is_invisible || character.is_control() {
            safe.extend(character.escape_unicode());
        } else {
            safe.push(character);
        }
    }
    safe
}
