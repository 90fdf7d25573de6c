//! The proofs that an entry of the journal, and the response beside it, are as this host's runtime
//! has written them.

use crate::session::approvals::Signer;
use crate::session::journal::{JournalEntry, RecoveredCall};

/// The last member of a sealed response.
const MEMBER: &str = ",\"journalSeal\":\"";
/// The text behind the seal.
const END: &str = "\"}";
/// Hexadecimal digits of a seal.
const DIGITS: usize = 64;

/// Seals what a runtime writes into its journal, and checks what it reads from there. Without a key
/// that other processes have too, nothing is sealed or checked.
#[derive(Clone, Default)]
pub(crate) struct JournalSealer(pub(crate) Option<Signer>);

impl JournalSealer {
    /// Returns the seal of an entry.
    pub(crate) fn seal(&self, entry: &JournalEntry) -> Option<String> {
        let signer = self.0.as_ref()?;
        Some(with_parts(entry, |parts| signer.journal_proof(parts)))
    }

    /// Adds a seal to the JSON of a response. It binds the response to its entry.
    pub(crate) fn seal_response(&self, entry_seal: Option<&str>, response: String) -> String {
        let (Some(signer), Some(entry_seal)) = (&self.0, entry_seal) else {
            return response;
        };
        let Some(members) = response.strip_suffix('}') else {
            return response;
        };

        let seal = signer.journal_proof(&[entry_seal, members]);
        [members, MEMBER, &seal, END].concat()
    }

    /// Returns true if both the call and its response are as they were written.
    pub(crate) fn is_genuine(&self, call: &RecoveredCall) -> bool {
        let Some(signer) = &self.0 else {
            return true;
        };
        let Some(entry_seal) = call.entry.seal.as_deref() else {
            return false;
        };
        if !with_parts(&call.entry, |parts| {
            signer.proves_journal(entry_seal, parts)
        }) {
            return false;
        }

        call.response.as_deref().is_none_or(|response| {
            let sealed = split_seal(response);
            sealed.is_some_and(|sealed| {
                signer.proves_journal(sealed.seal, &[entry_seal, sealed.members])
            })
        })
    }
}

/// The text of a sealed response.
struct SealedResponse<'a> {
    /// The response without its closing brace.
    members: &'a str,
    seal: &'a str,
}

fn split_seal(response: &str) -> Option<SealedResponse<'_>> {
    let text = response.strip_suffix(END)?;
    let (rest, seal) = text.split_at_checked(text.len().checked_sub(DIGITS)?)?;
    let members = rest.strip_suffix(MEMBER)?;
    Some(SealedResponse { members, seal })
}

/// Calls `work` with the parts of an entry that its seal covers.
fn with_parts<T>(entry: &JournalEntry, work: impl FnOnce(&[&str]) -> T) -> T {
    // Destructured, so that a new field does not compile until it is sealed.
    let JournalEntry {
        session,
        call_id,
        tool,
        arguments,
        turn,
        idempotency_key,
        started_at,
        harmless,
        time_limit_ms,
        replaces: _,
        approval,
        seal: _,
    } = entry;
    let turn = turn.to_string();
    let started_at = started_at.to_string();
    let time_limit = time_limit_ms.to_string();
    let harmless = if *harmless { "harmless" } else { "" };
    let mut parts = vec![
        session,
        call_id,
        tool,
        arguments,
        &turn,
        idempotency_key,
        &started_at,
        harmless,
        &time_limit,
    ];
    // An entry that was written before entries had approvals stays genuine.
    parts.extend(approval.as_deref());
    work(&parts)
}
