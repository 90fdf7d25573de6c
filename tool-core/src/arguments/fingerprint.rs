//! Arguments as an identity: compared to find loops and duplicates, and hashed to name a call.

use crate::arguments::equality::{EqualityRules, hash_opaque};
use crate::text::hex;
use sha2::{Digest, Sha256};

/// The identity of a call's arguments, to compare it with other calls of a session.
///
/// Two fingerprints are equal if the tools have the same name and the arguments are equal as JSON
/// after the defaults of the parameters are filled in. The order of keys, white space, escapes, and
/// `1` for `1.0` do not matter; every digit of an integer does. An alias counts as the parameter
/// that it names, and a `null` that stands for an absent parameter as its absence. Text that did
/// not decode is compared as it is, and equals no text that did.
#[derive(Clone, Copy)]
pub struct Fingerprint<'a> {
    /// The rules of the tool that accepted the text, if one did.
    rules: Option<&'a EqualityRules>,
    tool: &'a str,
    text: &'a str,
}

impl<'a> Fingerprint<'a> {
    /// Identifies arguments that the tool has accepted.
    pub(crate) fn of(rules: &'a EqualityRules, tool: &'a str, text: &'a str) -> Self {
        Self {
            rules: Some(rules),
            tool,
            text,
        }
    }

    /// Identifies a text that does not decode.
    pub(crate) fn opaque(tool: &'a str, text: &'a str) -> Self {
        Self {
            rules: None,
            tool,
            text,
        }
    }

    /// Returns a 64-bit hash for counters in memory, made by foldhash under a random key of this process. It is not an
    /// identity that may be stored or that grants anything: use [`digest`](Self::digest) for that.
    pub fn fast(&self) -> u64 {
        let accepted = self
            .rules
            .and_then(|rules| rules.hash(self.tool, self.text).ok());
        accepted.unwrap_or_else(|| hash_opaque(self.tool, self.text))
    }

    /// Returns the text if it was accepted.
    pub(crate) fn accepted(&self) -> Option<&'a str> {
        self.rules.and(Some(self.text))
    }

    /// Identifies another accepted text of the same tool.
    pub(crate) fn with_text<'b>(&self, text: &'b str) -> Fingerprint<'b>
    where
        'a: 'b,
    {
        Fingerprint { text, ..*self }
    }

    /// Returns the SHA-256 of the tool's name and the canonical arguments, as 64 hexadecimal
    /// digits. It is the same in every process.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        hash.update([u8::from(self.rules.is_some())]);
        // The length keeps the end of the name apart from the beginning of the text.
        hash.update(
            u64::try_from(self.tool.len())
                .unwrap_or(u64::MAX)
                .to_le_bytes(),
        );
        hash.update(self.tool);
        match self.rules {
            Some(rules) => hash.update(rules.canonical_text(self.text)),
            None => hash.update(self.text),
        }
        hex(&hash.finalize())
    }
}
