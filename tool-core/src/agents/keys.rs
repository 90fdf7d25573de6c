//! The keys that seal secrets, by their ids.

use super::seal::{self, CHECK, Check, KEY};
use crate::configure::SecretDocument;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use zeroize::Zeroizing;

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
    bytes: Zeroizing<[u8; KEY]>,
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

    /// The keys in an environment variable.
    pub fn from_env(variable: &str) -> Result<Self, KeyError> {
        let text = std::env::var_os(variable).ok_or_else(|| KeyError::Unset(variable.to_owned()))?;
        let text = Zeroizing::new(text.into_string().map_err(|_| KeyError::Malformed(vec!["it is no text".into()]))?);
        Self::parse(&text)
    }

    /// The keys in a file.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, KeyError> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path)
            .map_err(|error| KeyError::File { path: path.display().to_string(), why: error.kind().to_string() })?;
        Self::parse(&Zeroizing::new(text))
    }

    /// The keys in a text, or all that is wrong with it. No error shows any of the text but the ids.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let (mut keys, mut problems) = (Vec::<Key>::new(), Vec::new());
        let entries = text.lines().flat_map(|line| line.split('#').next().unwrap_or_default().split(','));
        for (number, entry) in (1..).zip(entries.map(str::trim).filter(|entry| !entry.is_empty())) {
            match key(entry) {
                Ok(key) if keys.iter().any(|known| known.id == key.id) => {
                    problems.push(format!("key {number}: the id `{}` is used twice", key.id));
                }
                Ok(key) => keys.push(key),
                Err(why) => problems.push(format!("key {number}: {why}")),
            }
        }
        match (keys.is_empty(), problems.is_empty()) {
            (_, false) => Err(KeyError::Malformed(problems)),
            (true, true) => Err(KeyError::Malformed(vec!["there is no key in it".into()])),
            (false, true) => Ok(Self(keys.into())),
        }
    }

    /// A new key as a line of text. Keep it like a password: whoever has it opens all secrets.
    pub fn generate(id: &str) -> Result<Zeroizing<String>, KeyError> {
        check_id(id).map_err(|why| KeyError::Malformed(vec![why]))?;
        let bytes = seal::random::<KEY>()?;
        Ok(Zeroizing::new(format!("{id}:{}", *Zeroizing::new(crate::text::hex(&*bytes)))))
    }

    /// The id of the key that seals.
    pub fn active(&self) -> Option<&str> {
        self.0.first().map(|key| key.id.as_str())
    }

    /// Seals secrets for a toolset of an agent.
    pub fn seal(&self, agent: &str, tool: &str, secrets: &SecretDocument) -> Result<SealedSecrets, KeyError> {
        let key = self.0.first().ok_or(KeyError::Missing)?;
        let bytes = seal::seal(&key.bytes, &key.check, &[&key.id, agent, tool], secrets.expose().as_bytes())?;
        Ok(SealedSecrets { key: key.id.clone(), bytes })
    }

    /// Opens secrets of a toolset of an agent.
    pub fn open(&self, agent: &str, tool: &str, sealed: &SealedSecrets) -> Result<SecretDocument, KeyError> {
        if self.0.is_empty() {
            return Err(KeyError::Missing);
        }
        let id = || sealed.key.clone();
        let key = self.0.iter().find(|key| key.id == sealed.key).ok_or_else(|| KeyError::Unknown { key: id() })?;
        match sealed.bytes.get(1..=CHECK) {
            None => return Err(KeyError::Tampered),
            Some(check) if check != key.check => return Err(KeyError::Wrong { key: id() }),
            Some(_) => {}
        }
        let opened = seal::open(&key.bytes, &[&key.id, agent, tool], &sealed.bytes).ok_or(KeyError::Tampered)?;
        let text = String::from_utf8(opened).map_err(|_| KeyError::Tampered)?;
        Ok(SecretDocument::from_json(text))
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

fn key(entry: &str) -> Result<Key, String> {
    let (id, digits) = entry.split_once(':').ok_or("it is not of the form `id:64 hex digits`")?;
    let (id, digits) = (id.trim(), digits.trim());
    check_id(id)?;
    let mut bytes = Zeroizing::new([0; KEY]);
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    if pairs.len() != KEY || !rest.is_empty() {
        return Err(format!("`{id}` has {} characters after the colon; a key has 64 hex digits", digits.len()));
    }
    for ([high, low], byte) in pairs.iter().zip(bytes.iter_mut()) {
        let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let (high, low) = digit(*high).zip(digit(*low)).ok_or_else(|| format!("`{id}` is not 64 hex digits"))?;
        *byte = high << 4 | low;
    }
    Ok(Key { id: id.to_owned(), check: seal::check(&bytes, id), bytes })
}

fn check_id(id: &str) -> Result<(), String> {
    let known = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    // What does not look like an id may be the key itself, so it is not shown.
    if (1..=64).contains(&id.len()) && id.chars().all(known) {
        Ok(())
    } else {
        Err("its id is not 1 to 64 of `A-Z a-z 0-9 - _ .`".into())
    }
}

/// What is wrong with a key, or with what was sealed. No text of it shows a key or a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyError {
    /// The environment variable is not set.
    Unset(String),
    /// The file of keys cannot be read.
    File {
        /// Which.
        path: String,
        /// Why.
        why: String,
    },
    /// The text is not one of keys: all that is wrong with it.
    Malformed(Vec<String>),
    /// There is no key at all.
    Missing,
    /// The secrets were sealed under a key that is not there.
    Unknown {
        /// Its id.
        key: String,
    },
    /// The key of that id is another one than the secrets were sealed under.
    Wrong {
        /// Its id.
        key: String,
    },
    /// The sealed bytes were changed, or belong to another agent or toolset.
    Tampered,
    /// The system gave no random bytes.
    Random,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unset(variable) => write!(
                f,
                "the environment variable `{variable}` is not set; it holds the keys that seal secrets, `id:64 hex digits`"
            ),
            Self::File { path, why } => write!(f, "the file of keys `{path}` cannot be read: {why}"),
            Self::Malformed(problems) => {
                f.write_str("these are no keys:")?;
                problems.iter().try_for_each(|problem| write!(f, "\n- {problem}"))
            }
            Self::Missing => f.write_str("there is no key to seal or open secrets with; give one to `Agents::builder`"),
            Self::Unknown { key } => {
                write!(f, "the secrets are sealed under key `{}`, which is not among the keys", key.escape_debug())
            }
            Self::Wrong { key } => write!(
                f,
                "key `{}` is another one than the secrets were sealed under; put the old one back, or set the secrets anew",
                key.escape_debug()
            ),
            Self::Tampered => f.write_str(
                "the sealed secrets were changed, or moved here from another agent or toolset; set the secrets anew",
            ),
            Self::Random => f.write_str("the system gave no random bytes"),
        }
    }
}

impl std::error::Error for KeyError {}

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
