//! Calls that wait for a person's approval, and the signed tokens by which they are approved.

use crate::call::approval_form::{ShownCall, argument_lines};
use crate::call::{ApprovalReason, Mode, ToolCall};
use crate::text::{decode_hex, escape_invisible, hex, is_invisible};
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;
use std::time::Duration;

/// A call that waits for approval, as a session store keeps it. It holds everything that another
/// process needs to run the call.
///
/// ```
/// use tool_core::{Mode, Runtime, ToolCall, ToolContext, tool};
///
/// /// Send a message.
/// #[tool(category = "action", confirm)]
/// fn send(text: String) -> usize {
///     text.len()
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runtime = Runtime::builder(ToolContext::builder().with(send).build()?).build()?;
/// let session = runtime.session("s-1", Mode::Text).principal("user:7").await?;
/// let response = session.call(ToolCall::new("call_1", "send", r#"{"text": "hi"}"#)).await;
/// let confirmation = response.meta().confirmation().expect("it waits");
///
/// let pending = session.pending_call(&confirmation.token).await.map_err(|error| error.to_string())?;
/// assert_eq!(pending.payload(), r#"send({"text":"hi"})"#);
/// assert_eq!(pending.digest(), confirmation.digest);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingCall {
    /// The key of the call in the store: 32 hexadecimal digits.
    pub id: String,
    /// The principal of the session; empty if the host gave none.
    pub principal: String,
    /// The agent to which the session's tools belong; empty if they belong to none.
    pub agent: String,
    /// The session's id.
    pub session: String,
    /// The session's mode when approval was requested.
    pub mode: Mode,
    /// The turn in which approval was requested.
    pub turn: u64,
    /// The version of the tools when approval was requested.
    pub version: String,
    /// A digest of the settings of the agent's toolsets when approval was requested; empty if the
    /// tools belong to no agent.
    pub settings: String,
    /// The id that the model gave the call.
    pub call_id: String,
    /// The tool's name.
    pub tool: String,
    /// The arguments in canonical form.
    pub arguments: String,
    /// The expiry in milliseconds since 1970, by the clock of the process that requested approval.
    /// The store expires the call by its own clock; two hours later no process runs it.
    pub expires_at: u64,
    /// The reasons for which the call waits, one of each condition that asked. A call that was stored
    /// before there were reasons has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<ApprovalReason>,
    /// A proof that the call is as the runtime has requested it, for
    /// [`Runtime::pending_approvals`](crate::Runtime::pending_approvals). It approves nothing.
    #[serde(default)]
    pub seal: String,
}

/// The time after its expiry from which a call is not run even if the store still has it, for
/// example a row that was restored. Clocks of processes differ by less.
pub(crate) const CLOCK_DIFFERENCE: Duration = Duration::from_secs(2 * 3_600);

impl PendingCall {
    /// Returns the call that waits, with its id, and with its arguments in canonical form.
    pub fn into_call(self) -> ToolCall {
        ToolCall::new(self.call_id, self.tool, self.arguments)
    }

    /// Describes the call to a person: the first arguments, shortened if they are long, and how
    /// much is missing. Characters that a person does not see, or that change the order of others,
    /// are escaped. [`payload`](Self::payload) shows the rest of what was shortened, and
    /// [`digest`](Self::digest) identifies it.
    pub fn summary(&self) -> String {
        summary_of(&self.tool, &self.argument_lines())
    }

    /// Returns the arguments for a form, one a line, `name: value`, shortened as in the summary. After
    /// 32 of them, a last line counts the others.
    ///
    /// To show masked arguments, set [`arguments`](Self::arguments) to
    /// [`Redaction::json`](crate::trace::Redaction::json) of them first.
    pub fn argument_lines(&self) -> Vec<String> {
        argument_lines(&self.arguments)
    }

    /// Returns the text of a form in which a person decides, as
    /// [`Confirmation::question`](crate::call::Confirmation::question) does.
    pub fn question(&self) -> String {
        let shown = ShownCall {
            tool: &self.tool,
            lines: &self.argument_lines(),
            reasons: &self.reasons,
            digest: &self.digest(),
        };
        shown.question()
    }

    /// Returns the whole call for a person to read before the decision: the tool's name and all
    /// arguments, as JSON in canonical form. Characters that a person does not see, or that change
    /// the order of others, are escaped.
    pub fn payload(&self) -> String {
        escape_invisible(&format!("{}({})", self.tool, self.arguments))
    }

    /// Returns `sha256:` and the hexadecimal SHA-256 of the tool's name, a NUL and the arguments in
    /// canonical form. Equal digests mean equal calls, so that a person who has read a payload
    /// recognises it.
    pub fn digest(&self) -> String {
        call_digest(&self.tool, &self.arguments)
    }

    /// Returns true if the call expired long ago by this process's clock.
    pub(crate) fn is_stale(&self) -> bool {
        let earliest = (jiff::Timestamp::now() - CLOCK_DIFFERENCE).as_millisecond();
        u64::try_from(earliest).is_ok_and(|earliest| self.expires_at < earliest)
    }

    /// Returns the bytes that the call takes in a store.
    pub fn size(&self) -> usize {
        let Self {
            id,
            principal,
            agent,
            session,
            version,
            settings,
            call_id,
            tool,
            arguments,
            reasons,
            seal,
            ..
        } = self;
        let texts = [
            id, principal, agent, session, version, settings, call_id, tool, arguments, seal,
        ];
        let texts = texts.iter().map(|text| text.len()).sum::<usize>();
        let reasons = reasons.iter().map(ApprovalReason::size).sum::<usize>();
        texts + reasons
    }
}

/// Describes a call to a person, by the lines of its arguments.
pub(crate) fn summary_of(tool: &str, lines: &[String]) -> String {
    format!("{}({})", escape_invisible(tool), lines.join(", "))
}

/// Returns the digest of a call with canonical arguments.
pub(crate) fn call_digest(tool: &str, arguments: &str) -> String {
    let digest = Sha256::digest(format!("{tool}\0{arguments}"));
    format!("sha256:{}", hex(&digest))
}

/// The limits on the calls that wait for approval, so that neither a model can flood a person with
/// requests, nor a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApprovalLimits {
    /// The calls that may wait in a session.
    pub session: u32,
    /// The calls of one turn that may wait.
    pub turn: u32,
    /// The bytes that the waiting calls of a session may take.
    pub bytes: usize,
}

impl Default for ApprovalLimits {
    /// Allows 64 calls of a session, 16 of them of one turn, and 2 MiB.
    fn default() -> Self {
        Self {
            session: 64,
            turn: 16,
            bytes: 2 << 20,
        }
    }
}

/// A call that is to wait for approval.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ApprovalRequest<'a> {
    /// The call.
    pub call: &'a PendingCall,
    /// The time for which it may wait.
    pub lifetime: Duration,
    /// The limits on the calls that wait with it.
    pub limits: ApprovalLimits,
}

impl<'a> ApprovalRequest<'a> {
    /// Creates a request under the default limits.
    pub fn new(call: &'a PendingCall, lifetime: Duration) -> Self {
        Self {
            call,
            lifetime,
            limits: ApprovalLimits::default(),
        }
    }

    /// Sets the limits.
    #[must_use]
    pub fn limits(self, limits: ApprovalLimits) -> Self {
        Self { limits, ..self }
    }

    /// Returns the limit that the call would exceed beside the calls that wait already. For stores.
    pub fn exceeds<'b>(
        &self,
        waiting: impl IntoIterator<Item = &'b PendingCall>,
    ) -> Option<ApprovalLimit> {
        self.exceeds_beside(waiting.into_iter().map(|call| WaitingSize {
            turn: call.turn,
            bytes: call.size(),
        }))
    }

    /// Returns the limit that the call would exceed, as [`exceeds`](Self::exceeds) does. For stores
    /// that know the sizes of the waiting calls without reading them.
    pub fn exceeds_beside(
        &self,
        waiting: impl IntoIterator<Item = WaitingSize>,
    ) -> Option<ApprovalLimit> {
        let mut session = 0;
        let mut turn = 0;
        let mut bytes = self.call.size();
        for other in waiting {
            session += 1;
            turn += u32::from(other.turn == self.call.turn);
            bytes = bytes.saturating_add(other.bytes);
        }
        let ApprovalLimits {
            session: of_session,
            turn: of_turn,
            bytes: of_bytes,
        } = self.limits;
        if turn >= of_turn {
            Some(ApprovalLimit::Turn)
        } else if session >= of_session {
            Some(ApprovalLimit::Session)
        } else {
            (bytes > of_bytes).then_some(ApprovalLimit::Bytes)
        }
    }
}

/// The size of a call that waits for approval, for [`ApprovalRequest::exceeds_beside`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingSize {
    /// The turn in which the call asked.
    pub turn: u64,
    /// The bytes that it takes.
    pub bytes: usize,
}

/// A limit of [`ApprovalLimits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApprovalLimit {
    /// The calls that wait in the session.
    Session,
    /// The calls of the turn that wait.
    Turn,
    /// The bytes of the calls that wait.
    Bytes,
}

/// A store's answer to an [`ApprovalRequest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApprovalVerdict {
    /// The call waits.
    Waits,
    /// A limit is reached. The call does not wait; those that wait are kept.
    Full(ApprovalLimit),
    /// The session is over.
    Inactive,
}

/// The hexadecimal digits of an id.
pub(crate) const ID: usize = 32;
/// The bytes of a proof, which is written with two digits a byte.
const PROOF: usize = 32;
pub(crate) const TOKEN: usize = ID + 1 + 2 * PROOF;
/// Separates approval tokens from other uses of the host's key.
const PURPOSE: &str = "tool-core approval 2";
/// Separates the marks of notes from them.
const NOTE: &str = "tool-core note 1";
/// Separates the aliases of tokens from them.
const ALIAS: &str = "tool-core alias 1";
/// Separates the seals of calls from them.
const SEAL: &str = "tool-core seal 1";
/// Separates the proofs of grants from them.
const GRANT: &str = "tool-core grant 1";
/// Separates the ids of calls that an engine makes again from them.
const STEP: &str = "tool-core step 1";
/// Separates the proofs of the journal's entries from them.
const JOURNAL: &str = "tool-core journal 1";

/// Signs the calls that wait for approval. Processes that redeem each other's tokens share the key.
///
/// A token is `<id>.<proof>`: 97 characters that need no escaping in a URL. The proof is an
/// HMAC-SHA256 over every field of the [`PendingCall`], so a token is invalid for a call that
/// differs in any of them. The store decides that a token is redeemed once, and when it expires.
#[derive(Clone)]
pub(crate) struct Signer(Hmac<Sha256>);

impl Signer {
    /// Creates a signer with a key of 32 random bytes.
    pub(crate) fn new(key: [u8; 32]) -> Self {
        Self(Hmac::new_from_slice(&key).expect("HMAC takes keys of any length"))
    }

    /// Creates a signer with a key that only this process has.
    ///
    /// # Panics
    ///
    /// Panics if the operating system has no source of randomness.
    pub(crate) fn random() -> Self {
        Self::new(random())
    }

    /// Returns the token of a call.
    pub(crate) fn sign(&self, pending: &PendingCall) -> String {
        let proof = self.proof(pending).finalize().into_bytes();
        format!("{}.{}", pending.id, hex(&proof))
    }

    /// Returns the id in a token, or `None` for a text that is not a token.
    pub(crate) fn id_of(token: &str) -> Option<&str> {
        parse(token).map(|(id, _)| id)
    }

    /// Returns true if this signer signed the token for exactly this call. Takes as long for a
    /// wrong proof as for the right one.
    #[must_use]
    pub(crate) fn verify(&self, token: &str, pending: &PendingCall) -> bool {
        let Some((id, proof)) = parse(token) else {
            return false;
        };
        // The id is no secret: it is part of the token, and the call was found by it.
        id == pending.id && self.proof(pending).verify_slice(&proof).is_ok()
    }

    /// Returns the mark of the note about the decision on the call with this id, for example
    /// `[decision 0123456789abcdef]`. Without the key it cannot be guessed.
    pub(crate) fn mark(&self, id: &str) -> String {
        let proof = self
            .0
            .clone()
            .chain_update(NOTE)
            .chain_update(id)
            .finalize()
            .into_bytes();
        format!("[decision {}]", hex(proof.get(..8).unwrap_or_default()))
    }

    /// Returns the alias of a token, which has the token's form and approves nothing.
    pub(crate) fn alias(&self, token: &str) -> Option<String> {
        let (id, _) = parse(token)?;
        Some(format!(
            "{id}.{}",
            hex(&self.alias_proof(token).finalize().into_bytes())
        ))
    }

    /// Returns the token of a call if this is its alias.
    pub(crate) fn token_for(&self, alias: &str, pending: &PendingCall) -> Option<String> {
        let (id, proof) = parse(alias)?;
        let token = self.sign(pending);
        (id == pending.id && self.alias_proof(&token).verify_slice(&proof).is_ok()).then_some(token)
    }

    /// Returns the seal of the call with a token, which proves that the call is as it was requested. It is kept
    /// beside the call, so unlike a token it must approve nothing.
    pub(crate) fn seal(&self, token: &str) -> String {
        hex(&self.seal_proof(token).finalize().into_bytes())
    }

    /// Returns the token of a call that a store has given. `None` if the call is not as it was
    /// requested here.
    pub(crate) fn sealed_token(&self, pending: &PendingCall) -> Option<String> {
        let mut seal = [0; PROOF];
        let token = self.sign(pending);
        let is_sealed = decode_hex(&pending.seal, &mut seal)
            && self.seal_proof(&token).verify_slice(&seal).is_ok();
        is_sealed.then_some(token)
    }

    fn seal_proof(&self, token: &str) -> Hmac<Sha256> {
        self.0.clone().chain_update(SEAL).chain_update(token)
    }

    /// Returns the proof of a grant, whose parts are texts.
    pub(crate) fn grant_proof(&self, parts: &[&str]) -> String {
        hex(&self.proof_of_parts(GRANT, parts).finalize().into_bytes())
    }

    /// Returns true if this is the proof of a grant with these parts.
    pub(crate) fn proves_grant(&self, proof: &str, parts: &[&str]) -> bool {
        self.proves(GRANT, proof, parts)
    }

    /// Returns the proof of what the journal keeps, whose parts are texts.
    pub(crate) fn journal_proof(&self, parts: &[&str]) -> String {
        hex(&self.proof_of_parts(JOURNAL, parts).finalize().into_bytes())
    }

    /// Returns true if this is the proof of what the journal keeps.
    pub(crate) fn proves_journal(&self, proof: &str, parts: &[&str]) -> bool {
        self.proves(JOURNAL, proof, parts)
    }

    /// Returns the id under which a call waits that an engine may make again, whose parts are texts.
    /// Each run has the same, so that a person is asked once.
    pub(crate) fn step_id(&self, parts: &[&str]) -> String {
        let proof = self.proof_of_parts(STEP, parts).finalize().into_bytes();
        hex(proof.get(..ID / 2).unwrap_or_default())
    }

    fn proves(&self, purpose: &str, proof: &str, parts: &[&str]) -> bool {
        let mut bytes = [0; PROOF];
        let expected = self.proof_of_parts(purpose, parts);
        decode_hex(proof, &mut bytes) && expected.verify_slice(&bytes).is_ok()
    }

    fn proof_of_parts(&self, purpose: &str, parts: &[&str]) -> Hmac<Sha256> {
        let mut proof = self.0.clone().chain_update(purpose);
        for part in parts {
            add_text(&mut proof, part);
        }
        proof
    }

    fn alias_proof(&self, token: &str) -> Hmac<Sha256> {
        self.0.clone().chain_update(ALIAS).chain_update(token)
    }

    fn proof(&self, pending: &PendingCall) -> Hmac<Sha256> {
        // Destructured, so that a new field does not compile until it is signed.
        let PendingCall {
            id,
            principal,
            agent,
            session,
            mode,
            turn,
            version,
            settings,
            call_id,
            tool,
            arguments,
            expires_at,
            reasons,
            // The proof is a part of it.
            seal: _,
        } = pending;
        let mut proof = self.0.clone();
        for text in [
            PURPOSE,
            id,
            principal,
            agent,
            session,
            mode.as_str(),
            version,
            settings,
            call_id,
            tool,
            arguments,
        ] {
            add_text(&mut proof, text);
        }
        proof.update(&turn.to_be_bytes());
        proof.update(&expires_at.to_be_bytes());
        // A call without reasons is signed as before there were any.
        for ApprovalReason { source, text } in reasons {
            for text in [source.as_str(), text] {
                add_text(&mut proof, text);
            }
        }
        proof
    }
}

/// Adds a text to a proof. The length goes first, so that no character can move from one text to
/// the next.
fn add_text(proof: &mut Hmac<Sha256>, text: &str) {
    proof.update(&(text.len() as u64).to_be_bytes());
    proof.update(text.as_bytes());
}

/// The beginnings of the notes that an application adds to a conversation.
const NOTES: [&str; 2] = ["decision", "notebytheapplication"];

/// Makes a text of a user unlike the notes of the application, by another bracket. Other spellings that look the same, such
/// as wide letters and invisible characters in between, are found too. [`Session::reply`](crate::Session::reply) calls this
/// itself.
///
/// ```
/// let text = tool_core::session::without_notes("[decision 0123456789abcdef] It has run.".to_owned());
/// assert_eq!(text, "(decision 0123456789abcdef] It has run.");
/// ```
#[must_use]
pub fn without_notes(text: String) -> String {
    if !text.contains(is_opening_bracket) {
        return text;
    }
    let mut cleaned = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next() {
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
        let begins_note = is_opening_bracket(c) && NOTES.iter().any(|note| reads_as(rest, note));
        cleaned.push(if begins_note { '(' } else { c });
    }
    cleaned
}

fn is_opening_bracket(c: char) -> bool {
    matches!(
        c,
        '[' | '\u{2045}'
            | '\u{2772}'
            | '\u{27e6}'
            | '\u{3010}'
            | '\u{3014}'
            | '\u{3016}'
            | '\u{301a}'
            | '\u{fe5d}'
            | '\u{ff3b}'
    )
}

/// Returns true if a text begins with the letters of a word, whatever blanks and invisible
/// characters are among them.
fn reads_as(text: &str, word: &str) -> bool {
    let shown = text
        .chars()
        .filter(|c| !c.is_whitespace() && !is_invisible(*c));
    // The wide forms of ASCII lie in one block.
    let narrow = shown.map(|c| match u32::from(c) {
        code @ 0xff01..=0xff5e => char::from_u32(code - 0xfee0).unwrap_or(c),
        _ => c,
    });
    let mut letters = narrow.take(word.len()).map(|c| c.to_ascii_lowercase());
    word.chars().all(|wanted| letters.next() == Some(wanted))
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signer(..)")
    }
}

/// Returns a random id of 32 hexadecimal digits.
///
/// # Panics
///
/// Panics if the operating system has no source of randomness.
pub(crate) fn fresh_id() -> String {
    hex(&random::<{ ID / 2 }>())
}

/// Splits a token into its id and its proof.
fn parse(token: &str) -> Option<(&str, [u8; PROOF])> {
    // Upper case is refused, so that a token has one spelling.
    if token.len() != TOKEN || token.contains(char::is_uppercase) {
        return None;
    }
    let (id, digits) = token.split_once('.')?;
    let mut proof = [0; PROOF];
    (decode_hex(id, &mut [0; ID / 2]) && decode_hex(digits, &mut proof)).then_some((id, proof))
}

/// Returns random bytes.
///
/// # Panics
///
/// Panics if the operating system has no source of randomness.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    // A predictable key or id would be worse than a panic.
    getrandom::fill(&mut bytes).expect("the operating system provides random bytes");
    bytes
}
