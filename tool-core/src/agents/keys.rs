//! The keys that seal secrets, by their ids.

use crate::tool::configure::secret::SecretDocument;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use hmac::{Hmac, Mac};
use secrecy::{ExposeSecret, SecretBox};
use sha2::Sha256;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use zeroize::{Zeroize, Zeroizing};

/// The secrets of a record are no longer, as JSON.
pub(crate) const MOST: usize = 256 * 1024;

/// The keys that seal and open secrets. The first one seals; the others open what was sealed before.
///
/// Written as text, one key a line (or divided by commas): an id and 64 hex digits, `2026-11:8f3a..`. `#` begins a
/// remark. [`generate`](Self::generate) makes such a line.
///
/// ```
/// use tool_core::tool::SecretDocument;
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
pub struct Keyring(pub(crate) Arc<[Key]>);

pub(crate) struct Key {
    id: String,
    bytes: SecretBox<[u8; KEY]>,
    check: Check,
}

/// Secrets that only their key opens, and only for the agent and the toolset that they were sealed for.
#[derive(Clone, PartialEq, Eq)]
pub struct SealedSecrets {
    key: String,
    pub(crate) bytes: Vec<u8>,
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
    pub(crate) fn seal_for(&self, belongs: &[&str], text: &str) -> Result<SealedSecrets, KeyError> {
        let key = self.0.first().ok_or(KeyError::Missing)?;
        if text.len() > MOST {
            return Err(KeyError::TooLong { bytes: text.len(), most: MOST });
        }
        let bytes = seal(key.bytes.expose_secret(), key.check, &key.of(belongs), text.as_bytes())?;
        Ok(SealedSecrets { key: key.id.clone(), bytes })
    }

    /// Opens what [`seal_for`](Self::seal_for) sealed.
    pub(crate) fn open_for(&self, belongs: &[&str], sealed: &SealedSecrets) -> Result<String, KeyError> {
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
        let opened = open(key.bytes.expose_secret(), &key.of(belongs), &sealed.bytes);
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

// ---- What can be wrong with keys, and with what was sealed.

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
    /// The secrets are longer than a record may hold.
    TooLong {
        /// Their bytes.
        bytes: usize,
        /// How many there may be.
        most: usize,
    },
    /// The system gave no random bytes.
    Random,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unset(variable) => write!(
                f,
                "the environment variable `{}` is not set; it holds the keys that seal secrets, `id:64 hex digits`",
                variable.escape_debug()
            ),
            Self::File { path, why } => {
                write!(f, "the file of keys `{}` cannot be read: {why}", path.escape_debug())
            }
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
            Self::TooLong { bytes, most } => {
                write!(f, "the secrets have {bytes} bytes as JSON; a record holds at most {most}")
            }
            Self::Random => f.write_str("the system gave no random bytes"),
        }
    }
}

impl std::error::Error for KeyError {}

// ---- Where keys come from: the environment, a file.

/// A file of keys is no longer: some 900 keys.
const LARGEST_FILE: usize = 64 * 1024;

impl Keyring {
    /// The keys in an environment variable.
    pub fn from_env(variable: &str) -> Result<Self, KeyError> {
        let text = std::env::var_os(variable).ok_or_else(|| KeyError::Unset(variable.to_owned()))?;
        let text = text.into_string().map_err(|text| {
            drop(Zeroizing::new(text.into_encoded_bytes()));
            KeyError::Malformed(vec!["it is no text".into()])
        })?;
        Self::parse(&Zeroizing::new(text))
    }

    /// The keys in a file. Where other users of the machine can read it, a line in the log says so (on Unix).
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, KeyError> {
        let path = path.as_ref();
        let failed = |why: String| KeyError::File { path: path.display().to_string(), why };
        let file = File::open(path).map_err(|error| failed(error.kind().to_string()))?;
        warn_of_readers(path, &file);
        // Room for all of it from the beginning: a buffer that grows leaves its contents behind.
        let mut bytes = Zeroizing::new(Vec::with_capacity(LARGEST_FILE + 1));
        let read = file.take(LARGEST_FILE as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|error| failed(error.kind().to_string()))?;
        if bytes.len() > LARGEST_FILE {
            return Err(failed(format!("it is longer than {LARGEST_FILE} bytes")));
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| failed("it is no text".into()))?;
        Self::parse(text)
    }
}

#[cfg(unix)]
fn warn_of_readers(path: &Path, file: &File) {
    use std::os::unix::fs::MetadataExt;
    let mode = file.metadata().map_or(0, |metadata| metadata.mode());
    if mode & 0o007 != 0 {
        tracing::warn!(
            path = ?path.display().to_string(), mode = format!("{:03o}", mode & 0o777),
            "every user of this machine can get at the file of keys; take that right away (`chmod o= FILE`)"
        );
    }
}

#[cfg(not(unix))]
fn warn_of_readers(_: &Path, _: &File) {}

// ---- Keys as text.

impl Keyring {
    /// The keys in a text, or all that is wrong with it. No error shows any of the text but the ids.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let (mut keys, mut problems) = (Vec::<Key>::new(), Vec::new());
        let entries = text.lines().flat_map(|line| line.split('#').next().unwrap_or_default().split(','));
        for (number, entry) in (1..).zip(entries.map(str::trim).filter(|entry| !entry.is_empty())) {
            match key(entry) {
                Ok(key) if keys.iter().any(|known| known.id == key.id) => {
                    problems.push(format!("key {number}: the id `{}` is used twice", key.id));
                }
                Ok(key) => {
                    let same = |known: &&Key| known.bytes.expose_secret() == key.bytes.expose_secret();
                    if let Some(known) = keys.iter().find(same) {
                        problems.push(format!("key {number}: `{}` is the same key as `{}`", key.id, known.id));
                    }
                    keys.push(key);
                }
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
        let bytes = random::<KEY>()?;
        let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
        // Long enough from the beginning: a text that grows leaves its beginnings behind.
        let mut line = Zeroizing::new(String::with_capacity(id.len() + 1 + 2 * KEY));
        line.push_str(id);
        line.push(':');
        line.extend(digits.filter_map(|digit| char::from_digit(u32::from(digit), 16)));
        Ok(line)
    }
}

fn key(entry: &str) -> Result<Key, String> {
    let (id, digits) = entry.split_once(':').ok_or("it is not of the form `id:64 hex digits`")?;
    let (id, digits) = (id.trim(), digits.trim());
    check_id(id)?;
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    if pairs.len() != KEY || !rest.is_empty() {
        return Err(format!(
            "`{id}` has {} characters after the colon; a key has 64 hex digits",
            digits.chars().count()
        ));
    }
    let mut sound = true;
    // On the heap from the beginning: a key that moves leaves itself behind.
    let bytes = SecretBox::<[u8; KEY]>::init_with_mut(|bytes| {
        for ([high, low], byte) in pairs.iter().zip(bytes) {
            match digit(*high).zip(digit(*low)) {
                Some((high, low)) => *byte = high << 4 | low,
                None => sound = false,
            }
        }
    });
    if !sound {
        return Err(format!("`{id}` is not 64 hex digits"));
    }
    if bytes.expose_secret().iter().all(|byte| *byte == 0) {
        return Err(format!("`{id}` is all zeros, which is no key; `Keyring::generate` makes one"));
    }
    Ok(Key { id: id.to_owned(), check: check(bytes.expose_secret(), id), bytes })
}

fn digit(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

fn check_id(id: &str) -> Result<(), String> {
    let known = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    // What does not look like an id may be the key itself, so it is not shown.
    if !(1..=64).contains(&id.len()) || !id.chars().all(known) {
        return Err("its id is not 1 to 64 of `A-Z a-z 0-9 - _ .`".into());
    }
    if id.len() == 2 * KEY && id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err("its id looks like a key; the id stands before the colon".into());
    }
    Ok(())
}

// ---- Sealing: XChaCha20-Poly1305, with what the secrets belong to as associated data.

/// The bytes of a key.
pub(crate) const KEY: usize = 32;
/// The bytes that tell a key from another of the same id.
pub(crate) const CHECK: usize = 8;
pub(crate) type Check = [u8; CHECK];
const NONCE: usize = 24;
/// The form of the bytes.
const FORM: u8 = 1;
/// What is added to the secrets: form, check, nonce and tag.
pub(crate) const OVERHEAD: usize = 1 + CHECK + NONCE + 16;

/// Tells a key from another of the same id, and says nothing of it.
pub(crate) fn check(key: &[u8; KEY], id: &str) -> Check {
    let mut check = Check::default();
    if let Ok(mut mac) = <Hmac<Sha256> as KeyInit>::new_from_slice(key) {
        mac.update(b"tool-core secrets: which key\0");
        mac.update(id.as_bytes());
        let digest = mac.finalize().into_bytes();
        check.iter_mut().zip(digest).for_each(|(to, from)| *to = from);
    }
    check
}

/// `[form][check][nonce][sealed]`, which opens only with the same `belongs`.
pub(crate) fn seal(key: &[u8; KEY], check: Check, belongs: &[&str], secret: &[u8]) -> Result<Vec<u8>, KeyError> {
    let nonce = random::<NONCE>()?;
    let payload = Payload { msg: secret, aad: &associated(belongs) };
    let sealed = XChaCha20Poly1305::new(key.into()).encrypt(&XNonce::from(*nonce), payload);
    let sealed = sealed.map_err(|_| KeyError::Random)?;
    Ok([&[FORM], check.as_slice(), nonce.as_slice(), &sealed].concat())
}

/// Nothing where a byte was changed, or it belongs to something else.
pub(crate) fn open(key: &[u8; KEY], belongs: &[&str], bytes: &[u8]) -> Option<Vec<u8>> {
    let (form, rest) = bytes.split_first()?;
    let (nonce, sealed) = rest.get(CHECK..)?.split_first_chunk::<NONCE>()?;
    let payload = Payload { msg: sealed, aad: &associated(belongs) };
    (*form == FORM).then(|| XChaCha20Poly1305::new(key.into()).decrypt(&XNonce::from(*nonce), payload).ok())?
}

/// Each part with its length before it, so that no two lists are the same bytes.
fn associated(belongs: &[&str]) -> Vec<u8> {
    let mut bytes = b"tool-core secrets 1\0".to_vec();
    for part in belongs {
        bytes.extend((part.len() as u64).to_le_bytes());
        bytes.extend(part.as_bytes());
    }
    bytes
}

pub(crate) fn random<const N: usize>() -> Result<Zeroizing<[u8; N]>, KeyError> {
    let mut bytes = Zeroizing::new([0; N]);
    getrandom::fill(&mut *bytes).map_err(|_| KeyError::Random)?;
    Ok(bytes)
}
