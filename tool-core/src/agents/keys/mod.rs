//! The keys that seal secrets, by their ids.

mod error;
mod file;
mod parse;

#[cfg(test)]
mod tests;

pub use error::KeyError;

use super::seal::{self, CHECK, Check, KEY, OVERHEAD};
use crate::configure::SecretDocument;
use secrecy::{ExposeSecret, SecretBox};
use std::fmt;
use std::sync::Arc;
use zeroize::Zeroize;

/// The secrets of a record are no longer, as JSON.
const MOST: usize = 256 * 1024;

/// The keys that seal and open secrets. The first one seals; the others open what was sealed before.
///
/// Written as text, one key a line (or divided by commas): an id and 64 hex digits, `2026-11:8f3a..`. `#` begins a
/// remark. [`generate`](Self::generate) makes such a line.
///
/// ```
/// use tool_core::SecretDocument;
/// use tool_core::agents::{KeyError, Keyring};
///
/// let line = Keyring::generate("2026-11")?;
/// let keys = Keyring::parse(&line)?;
/// let sealed = keys.seal("alice", "email", &SecretDocument::from_json(r#"{"password": "hunter2"}"#.into()))?;
///
/// assert_eq!(keys.open("alice", "email", &sealed)?.expose(), r#"{"password": "hunter2"}"#);
/// // What was sealed for one agent's toolset opens for no other.
/// assert_eq!(keys.open("mallory", "email", &sealed).unwrap_err(), KeyError::Tampered);
/// # Ok::<(), KeyError>(())
/// ```
#[derive(Clone, Default)]
pub struct Keyring(Arc<[Key]>);

struct Key {
    id: String,
    bytes: SecretBox<[u8; KEY]>,
    check: Check,
}

/// Secrets that only their key opens, and only for the agent and the toolset that they were sealed for.
#[derive(Clone, PartialEq, Eq)]
pub struct SealedSecrets {
    key: String,
    bytes: Vec<u8>,
}

impl Keyring {
    /// No keys: secrets can neither be sealed nor opened.
    pub fn none() -> Self {
        Self::default()
    }

    /// The id of the key that seals.
    pub fn active(&self) -> Option<&str> {
        self.0.first().map(|key| key.id.as_str())
    }

    /// Seals secrets for a toolset of an agent. `TooLong` for more than 256 KiB of JSON.
    pub fn seal(&self, agent: &str, tool: &str, secrets: &SecretDocument) -> Result<SealedSecrets, KeyError> {
        self.seal_for(&[agent, tool], secrets.expose())
    }

    /// Opens secrets of a toolset of an agent.
    pub fn open(&self, agent: &str, tool: &str, sealed: &SealedSecrets) -> Result<SecretDocument, KeyError> {
        self.open_for(&[agent, tool], sealed).map(SecretDocument::from_json)
    }

    /// Seals a text that opens for the same list only: two names are a record's, more are something else's.
    pub(super) fn seal_for(&self, belongs: &[&str], text: &str) -> Result<SealedSecrets, KeyError> {
        let key = self.0.first().ok_or(KeyError::Missing)?;
        if text.len() > MOST {
            return Err(KeyError::TooLong { bytes: text.len(), most: MOST });
        }
        let bytes = seal::seal(key.bytes.expose_secret(), key.check, &key.of(belongs), text.as_bytes())?;
        Ok(SealedSecrets { key: key.id.clone(), bytes })
    }

    /// Opens what [`seal_for`](Self::seal_for) sealed.
    pub(super) fn open_for(&self, belongs: &[&str], sealed: &SealedSecrets) -> Result<String, KeyError> {
        if self.0.is_empty() {
            return Err(KeyError::Missing);
        }
        let id = || sealed.key.clone();
        let key = self.0.iter().find(|key| key.id == sealed.key).ok_or_else(|| KeyError::Unknown { key: id() })?;
        match sealed.bytes.get(1..=CHECK) {
            Some(check) if check != key.check => return Err(KeyError::Wrong { key: id() }),
            Some(_) if sealed.bytes.len() <= MOST + OVERHEAD => {}
            _ => return Err(KeyError::Tampered),
        }
        let opened = seal::open(key.bytes.expose_secret(), &key.of(belongs), &sealed.bytes);
        let opened = opened.ok_or(KeyError::Tampered)?;
        String::from_utf8(opened).map_err(|error| {
            error.into_bytes().zeroize();
            KeyError::Tampered
        })
    }
}

impl Key {
    /// What is sealed under it belongs to its id too.
    fn of<'a>(&'a self, belongs: &[&'a str]) -> Vec<&'a str> {
        std::iter::once(self.id.as_str()).chain(belongs.iter().copied()).collect()
    }
}

impl SealedSecrets {
    /// What a store kept: the key's id, and the sealed bytes.
    pub fn new(key: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { key: key.into(), bytes: bytes.into() }
    }

    /// The id of the key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The sealed bytes: a byte for their form, 8 that tell the key from another of the same id, the nonce of 24, and
    /// what XChaCha20-Poly1305 made of the secrets.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.iter().map(|key| &key.id)).finish()
    }
}

impl fmt::Debug for SealedSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{} bytes under key `{}`]", self.bytes.len(), self.key.escape_debug())
    }
}
