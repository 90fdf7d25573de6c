//! The token that a person's approval comes back with: which call it is for, and proof that it is that call unchanged.
//!
//! Nothing is kept here: the store decides that a token is taken once and until when it lives.

use super::store::PendingCall;
use crate::text::hex;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt;

/// The hexadecimal digits of an id.
const ID: usize = 32;
/// The bytes of a proof, and the digits it is written with.
const PROOF: usize = 32;
const TOKEN: usize = ID + 1 + 2 * PROOF;
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

#[cfg(test)]
mod tests;
