//! Calls that wait for a person's approval, and the signed tokens by which they are approved.

use crate::call::Mode;
use crate::text::{decode_hex, hex};
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use std::fmt;

/// A call that waits for approval, as a session store keeps it. It holds everything that another process needs to run the
/// call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingCall {
    /// The key of the call in the store: 32 hexadecimal digits.
    pub id: String,
    /// The principal of the session; empty where the host gave none.
    pub principal: String,
    /// The session's id.
    pub session: String,
    /// The session's mode when approval was requested.
    pub mode: Mode,
    /// The version of the tools when approval was requested.
    pub version: String,
    /// The id that the model gave the call.
    pub call_id: String,
    /// The tool's name.
    pub tool: String,
    /// The arguments in canonical form.
    pub arguments: String,
    /// The expiry in milliseconds since 1970, by the clock of the process that requested approval. It is shown to people;
    /// the store expires the call by its own clock.
    pub expires_at: u64,
}

/// The hexadecimal digits of an id.
pub(crate) const ID: usize = 32;
/// The bytes of a proof, which is written with two digits a byte.
const PROOF: usize = 32;
pub(crate) const TOKEN: usize = ID + 1 + 2 * PROOF;
/// Separates approval tokens from other uses of the host's key.
const PURPOSE: &str = "tool-core approval 1";

/// Signs the calls that wait for approval. Processes that redeem each other's tokens share the key.
///
/// A token is `<id>.<proof>`: 97 characters that need no escaping in a URL. The proof is an HMAC-SHA256 over every field of
/// the [`PendingCall`], so a token is invalid for a call that differs in any of them. The store decides that a token is
/// redeemed once, and when it expires.
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

    /// Returns true if this signer signed the token for exactly this call. Takes as long for a wrong proof as for the right
    /// one.
    #[must_use]
    pub(crate) fn verify(&self, token: &str, pending: &PendingCall) -> bool {
        let Some((id, proof)) = parse(token) else { return false };
        // The id is no secret: it is part of the token, and the call was found by it.
        id == pending.id && self.proof(pending).verify_slice(&proof).is_ok()
    }

    fn proof(&self, pending: &PendingCall) -> Hmac<Sha256> {
        // Destructured, so that a new field does not compile until it is signed.
        let PendingCall { id, principal, session, mode, version, call_id, tool, arguments, expires_at } = pending;
        let mut proof = self.0.clone();
        for text in [PURPOSE, id, principal, session, mode.as_str(), version, call_id, tool, arguments] {
            // The length goes first, so that no character can move from one field to the next.
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

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    // A predictable key or id would be worse than a panic.
    getrandom::fill(&mut bytes).expect("the operating system provides random bytes");
    bytes
}
