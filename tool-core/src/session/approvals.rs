//! A person's word on a call that waits for it. R-C1, R-C2

use crate::call::error::{ErrorKind, ToolError};
use crate::call::meta::Confirmation;
use crate::call::mode::Mode;
use crate::call::refusal::refused;
use crate::call::response::ToolResponse;
use crate::call::tool_call::ToolCall;
use crate::schema::timestamp::Timestamp;
use crate::session::pipeline::{Governed, canonical};
use crate::session::session::Core;
use crate::session::{pipeline, session, store};
use crate::text::{hex, truncate};
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::Sha256;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::time::Instant;

pub(crate) async fn approve(core: &Arc<Core>, token: &str) -> ToolResponse {
    match waiting(core, token).await {
        Ok(pending) => {
            core.call(ToolCall::new(pending.call_id, pending.tool, pending.arguments).approved(&pending.id)).await
        }
        Err(error) => unanswerable(error),
    }
}

pub(crate) async fn deny(core: &Arc<Core>, token: &str) -> ToolResponse {
    let began = Instant::now();
    let pending = match waiting(core, token).await {
        Ok(pending) => pending,
        Err(error) => return unanswerable(error),
    };
    let call = ToolCall::new(&pending.call_id, &*pending.tool, "");
    match core.store(core.record.consume(&pending.id)).await {
        Ok(true) => {
            let message =
                format!("a person has refused this call of `{}`; it was not run. Do not call it again.", pending.tool);
            refused(&call, ToolError::new(ErrorKind::Denied, message, false), began)
        }
        Ok(false) => refused(&call, nothing_waits(), began),
        Err(error) => unanswerable(store_down(core, &error)),
    }
}

#[cfg(feature = "agents")]
impl session::Session {
    /// The answer to a token of another session.
    pub(crate) fn nothing_waits() -> ToolResponse {
        unanswerable(nothing_waits())
    }

    /// Whether a call waits under this id. A store that does not answer has not said that none does.
    pub(crate) async fn waits(&self, id: &str) -> bool {
        self.0.store(self.0.record.pending(id)).await.map_or(true, |pending| pending.is_some())
    }

    /// Whether a call waits under this very token, or the answer where none does.
    pub(crate) async fn awaits(&self, token: &str) -> Result<(), ToolResponse> {
        waiting(&self.0, token).await.map(drop).map_err(unanswerable)
    }
}

/// The call that waits under a token, if the token is one of ours and for this session.
async fn waiting(core: &Core, token: &str) -> Result<PendingCall, ToolError> {
    let Some(_inside) = core.drain.enter() else { return Err(pipeline::over()) };
    let id = Signer::id_of(token).ok_or_else(nothing_waits)?;
    let found = core.store(core.record.pending(id)).await.map_err(|error| store_down(core, &error))?;
    let pending = found.ok_or_else(nothing_waits)?;
    let ours = pending.session == core.id.as_str()
        && *pending.principal == *core.principal
        && pending.mode == core.mode
        && *pending.version == *core.toolbox.version;
    if ours && core.shared.signer.verify(token, &pending) { Ok(pending) } else { Err(nothing_waits()) }
}

fn store_down(core: &Core, error: &store::StoreError) -> ToolError {
    tracing::error!(session = %core.id.as_str().escape_debug(), %error, "a token could not be looked up");
    ToolError::transient("the approval cannot be looked up at the moment, so nothing was done; try again")
}

/// An answer without a call.
fn unanswerable(error: ToolError) -> ToolResponse {
    refused(&ToolCall::new("", "", ""), error, Instant::now())
}

// ---- The sixth step, for tools that want a person's word: the call is kept, and the host is given a token for it. R-C1

/// The characters that a summary shows of one argument, so that a long one hides no other.
const SHOWN: usize = 200;
const CENTURY: Duration = Duration::from_hours(24 * 365 * 100);

/// Keeps the call, and answers `CONFIRMATION_REQUIRED`.
pub(crate) async fn ask(call: &Governed<'_>, text: &str) -> ToolResponse {
    // No person takes a century, and no clock need tell what lies beyond.
    let (core, lifetime) = (call.core, call.policy().confirmation.min(CENTURY));
    let expires = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default() + lifetime;
    let pending = PendingCall {
        id: fresh_id(),
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

// ---- The token that a person's approval comes back with: which call it is for, and proof that it is that call unchanged.
//
// Nothing is kept here: the store decides that a token is taken once and until when it lives.

/// The hexadecimal digits of an id.
pub(crate) const ID: usize = 32;
/// The bytes of a proof, and the digits it is written with.
const PROOF: usize = 32;
pub(crate) const TOKEN: usize = ID + 1 + 2 * PROOF;
/// The bytes that HMAC-SHA256 takes as a key; a shorter one is filled up with zeros.
const BLOCK: usize = 64;
/// What the key proves here, so that a host's key that proves other things too never proves one as the other.
const PURPOSE: &str = "tool-core approval 1";

/// Signs the calls that wait for a person's word. Processes that redeem each other's tokens share the key.
///
/// A token is `<id>.<proof>`: 97 characters that need no escaping in a URL. The proof is an HMAC-SHA256 over everything
/// that a [`PendingCall`] holds, so a token is worth nothing for a call that differs in any part of it.
#[derive(Clone)]
pub(crate) struct Signer(Hmac<Sha256>);

impl Signer {
    /// Signs with this key: 32 bytes from a source of randomness, kept as other secrets are.
    pub(crate) fn new(key: [u8; 32]) -> Self {
        let mut block = [0; BLOCK];
        block.iter_mut().zip(key).for_each(|(to, from)| *to = from);
        Self(Hmac::new(&block.into()))
    }

    /// Signs with a key that no other process has, and that is gone when this one is.
    ///
    /// # Panics
    ///
    /// Where the operating system has no randomness to give.
    pub(crate) fn random() -> Self {
        Self::new(random())
    }

    /// The token of a call.
    pub(crate) fn sign(&self, pending: &PendingCall) -> String {
        let proof = self.proof(pending).finalize().into_bytes();
        let mut token = String::with_capacity(TOKEN);
        token.push_str(&pending.id);
        token.push('.');
        token.push_str(&hex(&proof));
        token
    }

    /// Under which id the call of a token waits; `None` where no signer can have written the text.
    pub(crate) fn id_of(token: &str) -> Option<&str> {
        split(token).map(|(id, _)| id)
    }

    /// Whether this signer gave this token for just this call. It takes as long for a wrong proof as for the right one.
    #[must_use]
    pub(crate) fn verify(&self, token: &str, pending: &PendingCall) -> bool {
        let Some((id, proof)) = split(token) else { return false };
        // That the id is right is no secret: it stands in the token, and the call was found by it.
        id == pending.id && self.proof(pending).verify_slice(&proof).is_ok()
    }

    /// Each text goes in after its length, so that no character can move from one to the next unnoticed.
    fn proof(&self, pending: &PendingCall) -> Hmac<Sha256> {
        // Taken apart by name: a new field does not compile until it is signed too.
        let PendingCall { id, principal, session, mode, version, call_id, tool, arguments, expires_at } = pending;
        let texts = [PURPOSE, id, principal, session, mode.as_str(), version, call_id, tool, arguments];
        let mut proof = self.0.clone();
        for text in texts {
            proof.update(&(text.len() as u64).to_be_bytes());
            proof.update(text.as_bytes());
        }
        proof.update(&expires_at.to_be_bytes());
        proof
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signer(..)")
    }
}

/// An id for a call that waits: 32 hexadecimal digits that nobody can guess.
///
/// # Panics
///
/// Where the operating system has no randomness to give.
pub(crate) fn fresh_id() -> String {
    hex(&random::<{ ID / 2 }>())
}

/// The id and the proof of a text that has a token's form.
fn split(token: &str) -> Option<(&str, [u8; PROOF])> {
    if token.len() != TOKEN {
        return None;
    }
    let (id, proof) = token.split_once('.').filter(|(id, _)| id.len() == ID)?;
    id.bytes().all(|byte| digit(byte).is_some()).then_some(())?;
    let mut bytes = [0; PROOF];
    let (pairs, _) = proof.as_bytes().as_chunks::<2>();
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some((id, bytes))
}

/// Lower case only: one proof is written in one way.
fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    // Going on with a key or an id that can be guessed would be worse than stopping.
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}

// ---- A call that waits for a person's word.

/// A call that waits for a person's word, as a store keeps it. Another process can run it: it holds all that there is to
/// know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingCall {
    /// Under which it waits: 32 hexadecimal digits.
    pub id: String,
    /// For whom the session speaks; empty where the host does not tell.
    pub principal: String,
    /// The session's id.
    pub session: String,
    /// The session's mode when it was asked.
    pub mode: Mode,
    /// The version of the tools when it was asked.
    pub version: String,
    /// The id that the model gave the call.
    pub call_id: String,
    /// The tool's name.
    pub tool: String,
    /// The arguments in canonical form.
    pub arguments: String,
    /// When it expires, in milliseconds since 1970 by the clock of who asked. For people; the store keeps the time.
    pub expires_at: u64,
}
