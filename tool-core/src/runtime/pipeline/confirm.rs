//! The sixth step, for tools that want a person's word: the call is kept, and the host is given a token for it. R-C1

use super::{Governed, canonical};
use crate::response::{Confirmation, ErrorKind, ToolError, ToolResponse};
use crate::runtime::store::PendingCall;
use crate::runtime::token;
use crate::text::truncate;
use crate::timestamp::Timestamp;
use serde_json::{Map, Value};
use std::time::{Duration, SystemTime};

/// The characters that a summary shows of one argument, so that a long one hides no other.
const SHOWN: usize = 200;
const CENTURY: Duration = Duration::from_hours(24 * 365 * 100);

/// Keeps the call, and answers `CONFIRMATION_REQUIRED`.
pub(super) async fn ask(call: &Governed<'_>, text: &str) -> ToolResponse {
    // No person takes a century, and no clock need tell what lies beyond.
    let (core, lifetime) = (call.core, call.policy().confirmation.min(CENTURY));
    let expires = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default() + lifetime;
    let pending = PendingCall {
        id: token::fresh_id(),
        principal: core.principal.to_string(),
        session: core.id.to_string(),
        mode: core.mode,
        version: core.toolbox.version.to_string(),
        call_id: call.call_id.to_string(),
        tool: call.tool.name().to_owned(),
        arguments: canonical(call.tool, text),
        expires_at: u64::try_from(expires.as_millis()).unwrap_or(u64::MAX),
    };
    if let Err(error) = core.store(core.record.mint(&pending, lifetime)).await {
        tracing::error!(session = %core.id.as_str().escape_debug(), %error, "a call could not be kept for approval");
        let message =
            "a person has to agree to this, and cannot be asked at the moment; nothing was done. Try again later";
        return call.answer().fail(ToolError::transient(message));
    }
    let confirmation = Confirmation {
        token: core.shared.signer.sign(&pending),
        summary: summary(&pending),
        expires_at: rfc3339(expires),
    };
    let message = format!(
        "`{}` needs a person's approval, who is being asked. It has not run; do not call it again, its result will follow.",
        pending.tool
    );
    let mut response = call.answer().fail(ToolError::new(ErrorKind::ConfirmationRequired, message, false));
    response.rare().confirmation = Some(confirmation);
    response
}

/// The answer to a token under which nothing waits for this session. One for all reasons, so that nobody learns which.
pub(crate) fn nothing_waits() -> ToolError {
    let message = "no call waits under this token: it was used, it has expired, or it is not for this session";
    ToolError::new(ErrorKind::NotFound, message, false)
}

/// The call for people: every argument, long ones cut, and nothing that turns the text around or away.
fn summary(pending: &PendingCall) -> String {
    let shown = match serde_json::from_str::<Map<String, Value>>(&pending.arguments) {
        Ok(members) => {
            let members =
                members.iter().map(|(name, value)| format!("{name}: {}", truncate(&value.to_string(), SHOWN)));
            members.collect::<Vec<_>>().join(", ")
        }
        Err(_) => truncate(&pending.arguments, SHOWN),
    };
    let text = format!("{}({shown})", pending.tool);
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        let turns = matches!(character, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
        if turns || character.is_control() {
            safe.extend(character.escape_unicode());
        } else {
            safe.push(character);
        }
    }
    safe
}

fn rfc3339(since_1970: Duration) -> String {
    let seconds = i64::try_from(since_1970.as_secs()).unwrap_or(i64::MAX);
    Timestamp(jiff::Timestamp::from_second(seconds).unwrap_or(jiff::Timestamp::MAX)).to_string()
}
