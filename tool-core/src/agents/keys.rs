//! Keys, and the secrets that are sealed under them.

use crate::text::{decode_hex, truncate};
use crate::tool::BoundSettings;
use crate::tool::configure::secret_document::SecretDocument;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use hmac::{Hmac, Mac};
use secrecy::{ExposeSecret, SecretBox};
use sha2::Sha256;
use std::fmt::{self, Write};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use thiserror::Error;
use zeroize::{Zeroize, Zeroizing};

/// Longest secrets of a record, in bytes of JSON.
const MAX_SECRETS: usize = 256 * 1024;
/// Largest key file: room for about 900 keys.
const MAX_KEY_FILE: usize = 64 * 1024;
/// Bytes of a key.
const KEY_BYTES: usize = 32;
/// Number of settings that an error names.
const MAX_LISTED: usize = 10;
/// Bytes of a [`Key::check`].
const CHECK_BYTES: usize = 8;
const NONCE_BYTES: usize = 24;
const TAG_BYTES: usize = 16;
/// The first sealed byte. Another layout of the bytes has another number.
const FORMAT: u8 = 2;
/// Bytes of the length of the bound settings.
const LENGTH_BYTES: usize = 4;

/// The keys that seal and open secrets. The first key seals; every key opens what was sealed under
/// it.
///
/// As text, a keyring has one key a line, or several divided by commas: an id, a colon and 64 hex
/// digits, such as `2026-11:8f3a..`. `#` begins a comment. [`generate`](Self::generate) creates
/// such a line.
///
/// ```
/// use tool_core::agents::{KeyError, Keyring};
/// use tool_core::tool::{BoundSettings, SecretDocument};
///
/// let line = Keyring::generate("2026-11")?;
/// let keys = Keyring::parse(&line)?;
/// let (bound, secrets) = (BoundSettings::none(), SecretDocument::from_json(r#"{"password": "hunter2"}"#.into()));
/// let sealed = keys.seal("alice", "email", &bound, &secrets)?;
///
/// assert_eq!(keys.open("alice", "email", &bound, &sealed)?.expose(), r#"{"password": "hunter2"}"#);
/// // Secrets that were sealed for one agent do not open for another.
/// assert_eq!(keys.open("mallory", "email", &bound, &sealed).unwrap_err(), KeyError::Tampered);
/// # Ok::<(), KeyError>(())
/// ```
#[derive(Clone, Default)]
pub struct Keyring(Arc<[Key]>);

struct Key {
    id: String,
    bytes: SecretBox<[u8; KEY_BYTES]>,
    /// Distinguishes this key from others of the same id, and reveals nothing about it.
    check: [u8; CHECK_BYTES],
}

/// Secrets that open only under their key, only for the agent and toolset that they were sealed
/// for, and only with the same values of the settings that decide where they go.
#[derive(Clone, PartialEq, Eq)]
pub struct SealedSecrets {
    key: String,
    bytes: Vec<u8>,
}

/// An invalid key, or secrets that do not open. No text of it contains a key or a secret.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The environment variable is not set.
    #[error("the environment variable `{}` is not set; set it to the keys that seal secrets, `id:64 hex digits`", .0.escape_debug())]
    Unset(String),
    /// The key file cannot be read.
    #[error("failed to read the key file `{}`: {source}", path.escape_debug())]
    File {
        /// The file's path.
        path: String,
        /// The cause.
        source: Arc<io::Error>,
    },
    /// The text is not a keyring. Lists every problem.
    #[error("invalid keys:{}", .0.iter().map(|problem| format!("\n- {problem}")).collect::<Vec<_>>().concat())]
    Malformed(Vec<String>),
    /// The keyring is empty.
    #[error(
        "there is no key to seal or open secrets with; pass a keyring to `Agents::builder(..).keys(..)`"
    )]
    Missing,
    /// The secrets are sealed under a key that is not in the keyring.
    #[error("the secrets are sealed under key `{}`, which is not in the keyring; add it", key.escape_debug())]
    Unknown {
        /// The key's id.
        key: String,
    },
    /// The secrets were sealed under another key of the same id.
    #[error("the secrets were sealed under another key with the id `{}`; restore that key, or set the secrets again", key.escape_debug())]
    Wrong {
        /// The key's id.
        key: String,
    },
    /// The sealed bytes were changed, or belong to another agent or toolset.
    #[error(
        "the sealed secrets were changed, or copied from another agent or toolset; set the secrets again"
    )]
    Tampered,
    /// The settings that decide where the secrets go are not those that the secrets were entered
    /// for.
    #[error("{}", destination_changed(settings))]
    DestinationChanged {
        /// JSON pointers of the settings that differ.
        settings: Vec<String>,
    },
    /// The secrets were sealed by another version of this crate.
    #[error(
        "the secrets are sealed in format {found}, which this version does not open; set the secrets again"
    )]
    Format {
        /// The number of the format.
        found: u8,
    },
    /// The secrets are longer than a record may hold.
    #[error("expected secrets of at most {max} bytes as JSON, got {bytes} bytes")]
    TooLong {
        /// Length of the secrets in bytes.
        bytes: usize,
        /// Greatest length in bytes.
        max: usize,
    },
    /// The operating system gave no random bytes.
    #[error("the operating system gave no random bytes")]
    Random,
}

/// Errors are equal if their texts are; causes cannot be compared.
impl PartialEq for KeyError {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Keyring {
    /// Returns a keyring without keys, which neither seals nor opens secrets.
    pub fn none() -> Self {
        Self::default()
    }

    /// Reads the keys in an environment variable.
    pub fn from_env(variable: &str) -> Result<Self, KeyError> {
        let text =
            std::env::var_os(variable).ok_or_else(|| KeyError::Unset(variable.to_owned()))?;
        let text = text.into_string().map_err(|text| {
            drop(Zeroizing::new(text.into_encoded_bytes()));
            KeyError::Malformed(vec!["expected UTF-8 text".into()])
        })?;
        Self::parse(&Zeroizing::new(text))
    }

    /// Reads the keys in a file. On Unix, logs a warning if every user of the machine has access to
    /// it.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, KeyError> {
        let path = path.as_ref();
        let text = read_key_file(path);
        let failed = |error| KeyError::File {
            path: path.display().to_string(),
            source: Arc::new(error),
        };
        Self::parse(&text.map_err(failed)?)
    }

    /// Parses keys, and reports every problem. Errors show ids of keys and nothing else of the
    /// text.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let mut keys = Vec::<Key>::new();
        let mut problems = Vec::new();
        let entries = text
            .lines()
            .flat_map(|line| line.split('#').next().unwrap_or_default().split(','));
        for (number, entry) in (1..).zip(entries.map(str::trim).filter(|entry| !entry.is_empty())) {
            match Key::parse(entry) {
                Err(problem) => problems.push(format!("key {number}: {problem}")),
                Ok(key) if keys.iter().any(|known| known.id == key.id) => {
                    problems.push(format!("key {number}: the id `{}` is used twice", key.id));
                }
                Ok(key) => {
                    let same = keys
                        .iter()
                        .find(|known| known.bytes.expose_secret() == key.bytes.expose_secret());
                    let same = same.map(|known| {
                        format!(
                            "key {number}: `{}` is the same key as `{}`",
                            key.id, known.id
                        )
                    });
                    problems.extend(same);
                    keys.push(key);
                }
            }
        }
        if keys.is_empty() && problems.is_empty() {
            problems.push("expected at least one key".into());
        }
        if problems.is_empty() {
            Ok(Self(keys.into()))
        } else {
            Err(KeyError::Malformed(problems))
        }
    }

    /// Creates a new key as a line of text. Keep it like a password: it opens all secrets that are
    /// sealed under it.
    pub fn generate(id: &str) -> Result<Zeroizing<String>, KeyError> {
        check_id(id).map_err(|problem| KeyError::Malformed(vec![problem]))?;
        let bytes = random::<KEY_BYTES>()?;
        // Allocated at its final length, because a text that grows leaves copies in memory.
        let mut line = Zeroizing::new(String::with_capacity(id.len() + 1 + 2 * KEY_BYTES));
        _ = write!(line, "{id}:");
        bytes.iter().for_each(|byte| _ = write!(line, "{byte:02x}"));
        Ok(line)
    }

    /// Returns the id of the key that seals.
    pub fn active(&self) -> Option<&str> {
        self.0.first().map(|key| key.id.as_str())
    }

    /// Seals the secrets of an agent's toolset for these values of the settings that decide where
    /// the secrets go:
    /// [`ToolsetMetadata::bound_settings`](crate::tool::ToolsetMetadata::bound_settings). Fails with `TooLong` for more than
    /// 256 KiB of JSON.
    pub fn seal(
        &self,
        agent: &str,
        tool: &str,
        bound: &BoundSettings,
        secrets: &SecretDocument,
    ) -> Result<SealedSecrets, KeyError> {
        self.seal_bound(&[agent, tool], bound, secrets.expose())
    }

    /// Opens the secrets of an agent's toolset. Fails with `DestinationChanged` if they were sealed
    /// for other settings.
    pub fn open(
        &self,
        agent: &str,
        tool: &str,
        bound: &BoundSettings,
        sealed: &SealedSecrets,
    ) -> Result<SecretDocument, KeyError> {
        let opened = self.open_sealed(agent, tool, sealed)?;
        let settings = opened.bound.changed(bound);
        if settings.is_empty() {
            Ok(opened.secrets)
        } else {
            Err(KeyError::DestinationChanged { settings })
        }
    }

    /// Opens secrets to seal them again for the same settings. They must not reach a toolset.
    pub(crate) fn open_sealed(
        &self,
        agent: &str,
        tool: &str,
        sealed: &SealedSecrets,
    ) -> Result<OpenedSecrets, KeyError> {
        let (bound, text) = self.open_bound(&[agent, tool], sealed)?;
        Ok(OpenedSecrets {
            secrets: SecretDocument::from_json(text),
            bound,
        })
    }

    /// Seals a text that opens only with the same context. Contexts of two texts are those of
    /// records.
    pub(crate) fn seal_text(
        &self,
        context: &[&str],
        text: &str,
    ) -> Result<SealedSecrets, KeyError> {
        self.seal_bound(context, &BoundSettings::none(), text)
    }

    /// Opens what [`seal_text`](Self::seal_text) sealed.
    pub(crate) fn open_text(
        &self,
        context: &[&str],
        sealed: &SealedSecrets,
    ) -> Result<String, KeyError> {
        self.open_bound(context, sealed).map(|(_, text)| text)
    }

    fn seal_bound(
        &self,
        context: &[&str],
        bound: &BoundSettings,
        text: &str,
    ) -> Result<SealedSecrets, KeyError> {
        let key = self.0.first().ok_or(KeyError::Missing)?;
        if text.len() > MAX_SECRETS {
            return Err(KeyError::TooLong {
                bytes: text.len(),
                max: MAX_SECRETS,
            });
        }
        Ok(SealedSecrets {
            key: key.id.clone(),
            bytes: key.seal(context, &bound.to_bytes(), text.as_bytes())?,
        })
    }

    fn open_bound(
        &self,
        context: &[&str],
        sealed: &SealedSecrets,
    ) -> Result<(BoundSettings, String), KeyError> {
        if self.0.is_empty() {
            return Err(KeyError::Missing);
        }
        let id = || sealed.key.clone();
        let key = self
            .0
            .iter()
            .find(|key| key.id == sealed.key)
            .ok_or_else(|| KeyError::Unknown { key: id() })?;
        match sealed.bytes.get(1..=CHECK_BYTES) {
            Some(check) if check != key.check => return Err(KeyError::Wrong { key: id() }),
            _ => {}
        }
        let parts = sealed
            .parts()
            .filter(|parts| parts.text.len() <= MAX_SECRETS + TAG_BYTES);
        let parts = parts.ok_or_else(|| sealed.unreadable())?;
        let opened = key.open(context, &parts).ok_or(KeyError::Tampered)?;
        let text = String::from_utf8(opened).map_err(|error| {
            error.into_bytes().zeroize();
            KeyError::Tampered
        })?;
        Ok((
            BoundSettings::from_bytes(parts.bound).ok_or(KeyError::Tampered)?,
            text,
        ))
    }
}

/// Secrets, and the settings that they were sealed for.
pub(crate) struct OpenedSecrets {
    pub(crate) secrets: SecretDocument,
    pub(crate) bound: BoundSettings,
}

/// The parts of sealed bytes behind the check.
struct SealedParts<'a> {
    nonce: &'a [u8; NONCE_BYTES],
    bound: &'a [u8],
    /// The encrypted text and its tag.
    text: &'a [u8],
}

fn destination_changed(settings: &[String]) -> String {
    let shown = settings
        .iter()
        .take(MAX_LISTED)
        .map(|pointer| format!("`{}`", truncate(pointer, 60)));
    let shown = shown.collect::<Vec<_>>().join(", ");
    let more = settings.len().saturating_sub(MAX_LISTED);
    let more = if more == 0 {
        String::new()
    } else {
        format!(" and {more} more")
    };
    format!(
        "the secrets were entered for other values of {shown}{more}; if the settings are right, set the secrets again, or \
         else restore the settings"
    )
}

fn read_key_file(path: &Path) -> io::Result<Zeroizing<String>> {
    let file = File::open(path)?;
    warn_if_public(path, &file);
    // Allocated at its final length, because a buffer that grows leaves copies in memory.
    let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_KEY_FILE + 1));
    file.take(MAX_KEY_FILE as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > MAX_KEY_FILE {
        return Err(io::Error::other(format!(
            "expected at most {MAX_KEY_FILE} bytes"
        )));
    }
    let text = std::str::from_utf8(&bytes).map_err(|_| io::Error::other("expected UTF-8 text"))?;
    Ok(Zeroizing::new(text.to_owned()))
}

#[cfg(unix)]
fn warn_if_public(path: &Path, file: &File) {
    use std::os::unix::fs::MetadataExt;
    let mode = file.metadata().map_or(0, |metadata| metadata.mode());
    if mode & 0o007 != 0 {
        tracing::warn!(
            path = ?path.display().to_string(), mode = format!("{:03o}", mode & 0o777),
            "every user of this machine has access to the key file; restrict it (`chmod o= FILE`)"
        );
    }
}

#[cfg(not(unix))]
fn warn_if_public(_: &Path, _: &File) {}

impl Key {
    fn parse(entry: &str) -> Result<Self, String> {
        let (id, digits) = entry.split_once(':').ok_or("expected `id:64 hex digits`")?;
        let id = id.trim();
        let digits = digits.trim();
        check_id(id)?;
        if digits.len() != 2 * KEY_BYTES {
            let length = digits.chars().count();
            return Err(format!(
                "expected 64 hex digits for `{id}`, got {length} characters"
            ));
        }
        let mut valid = true;
        // Written in place on the heap, because a key that moves leaves a copy in memory.
        let bytes =
            SecretBox::<[u8; KEY_BYTES]>::init_with_mut(|bytes| valid = decode_hex(digits, bytes));
        if !valid {
            return Err(format!(
                "expected 64 hex digits for `{id}`, got other characters"
            ));
        }
        if bytes.expose_secret().iter().all(|byte| *byte == 0) {
            return Err(format!(
                "`{id}` is all zeros; create a key with `Keyring::generate`"
            ));
        }
        let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(bytes.expose_secret())
            .map_err(|error| error.to_string())?;
        mac.update(b"tool-core secrets: which key\0");
        mac.update(id.as_bytes());
        let digest = mac.finalize().into_bytes();
        let mut check = [0; CHECK_BYTES];
        check
            .iter_mut()
            .zip(digest)
            .for_each(|(to, from)| *to = from);
        Ok(Self {
            id: id.to_owned(),
            bytes,
            check,
        })
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(self.bytes.expose_secret().into())
    }

    /// Returns `[format][check][nonce][length of bound][bound][sealed]`.
    fn seal(&self, context: &[&str], bound: &[u8], secret: &[u8]) -> Result<Vec<u8>, KeyError> {
        let too_long = |_| KeyError::TooLong {
            bytes: bound.len(),
            max: u32::MAX as usize,
        };
        let length = u32::try_from(bound.len()).map_err(too_long)?.to_le_bytes();
        let nonce = random::<NONCE_BYTES>()?;
        let payload = Payload {
            msg: secret,
            aad: &self.associated_data(context, bound),
        };
        let sealed = self
            .cipher()
            .encrypt(&XNonce::from(*nonce), payload)
            .map_err(|_| KeyError::Random)?;
        Ok([
            &[FORMAT],
            self.check.as_slice(),
            nonce.as_slice(),
            &length,
            bound,
            &sealed,
        ]
        .concat())
    }

    /// Returns `None` if a byte was changed or the context is another.
    fn open(&self, context: &[&str], parts: &SealedParts<'_>) -> Option<Vec<u8>> {
        let payload = Payload {
            msg: parts.text,
            aad: &self.associated_data(context, parts.bound),
        };
        self.cipher()
            .decrypt(&XNonce::from(*parts.nonce), payload)
            .ok()
    }

    /// The key's id, the bound settings and the context, each with its length before it, so that no
    /// two contexts give the same bytes.
    fn associated_data(&self, context: &[&str], bound: &[u8]) -> Vec<u8> {
        let mut bytes = b"tool-core secrets 2\0".to_vec();
        for part in [self.id.as_bytes(), bound]
            .into_iter()
            .chain(context.iter().map(|part| part.as_bytes()))
        {
            bytes.extend((part.len() as u64).to_le_bytes());
            bytes.extend(part);
        }
        bytes
    }
}

fn check_id(id: &str) -> Result<(), String> {
    let is_allowed =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    // Errors show no invalid id, because it may be the key itself.
    if !(1..=64).contains(&id.len()) || !id.chars().all(is_allowed) {
        return Err("expected an id of 1 to 64 characters of `A-Z a-z 0-9 - _ .`".into());
    }
    if id.len() == 2 * KEY_BYTES && id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err("expected an id before the colon, got what looks like a key".into());
    }
    Ok(())
}

fn random<const N: usize>() -> Result<Zeroizing<[u8; N]>, KeyError> {
    let mut bytes = Zeroizing::new([0; N]);
    getrandom::fill(&mut *bytes).map_err(|_| KeyError::Random)?;
    Ok(bytes)
}

impl SealedSecrets {
    /// Joins what a store kept: the key's id, and the sealed bytes.
    pub fn new(key: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            key: key.into(),
            bytes: bytes.into(),
        }
    }

    /// Returns the id of the key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns the sealed bytes: one byte for their format, 8 bytes that distinguish the key from
    /// others of the same id, the nonce of 24 bytes, the bound settings with their length, and the
    /// secrets encrypted with XChaCha20-Poly1305.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the settings that the secrets claim to be sealed for. Only [`Keyring::open`] proves
    /// it.
    pub(crate) fn claimed(&self) -> Option<BoundSettings> {
        BoundSettings::from_bytes(self.parts()?.bound)
    }

    fn parts(&self) -> Option<SealedParts<'_>> {
        let (format, rest) = self.bytes.split_first()?;
        let (nonce, rest) = rest
            .get(CHECK_BYTES..)?
            .split_first_chunk::<NONCE_BYTES>()?;
        let (length, rest) = rest.split_first_chunk::<LENGTH_BYTES>()?;
        let (bound, text) =
            rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
        (*format == FORMAT).then_some(SealedParts { nonce, bound, text })
    }

    /// Returns the reason why there are no [`parts`](Self::parts).
    fn unreadable(&self) -> KeyError {
        match self.bytes.first() {
            Some(found) if *found != FORMAT => KeyError::Format { found: *found },
            _ => KeyError::Tampered,
        }
    }
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set()
            .entries(self.0.iter().map(|key| &key.id))
            .finish()
    }
}

impl fmt::Debug for SealedSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "[{} bytes under key `{}`]",
            self.bytes.len(),
            self.key.escape_debug()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{
        BoundSettings, CHECK_BYTES, FORMAT, KeyError, Keyring, LENGTH_BYTES, MAX_SECRETS,
        NONCE_BYTES, SealedSecrets, TAG_BYTES,
    };
    use crate::tool::configure::secret_document::SecretDocument;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn ring(ids: &[&str]) -> Keyring {
        let lines = ids
            .iter()
            .map(|id| Keyring::generate(id).expect("random"))
            .collect::<Vec<_>>();
        Keyring::parse(
            &lines
                .iter()
                .map(|line| line.as_str())
                .collect::<Vec<_>>()
                .join("\n"),
        )
        .expect("keys")
    }

    fn none() -> BoundSettings {
        BoundSettings::none()
    }

    fn secrets(text: &str) -> SecretDocument {
        SecretDocument::from_json(text.to_owned())
    }

    #[test]
    fn sealed_secrets_with_a_changed_byte_do_not_open() {
        let keys = ring(&["now", "old"]);
        let sealed = keys
            .seal(
                "alice",
                "email",
                &none(),
                &secrets(r#"{"password":"hunter2"}"#),
            )
            .expect("sealed");
        let mut refused = 0;
        for at in 0..sealed.bytes.len() {
            for change in [1, 0x80, 0xff] {
                let mut bytes = sealed.bytes.clone();
                bytes[at] ^= change;
                let error = keys
                    .open("alice", "email", &none(), &SealedSecrets::new("now", bytes))
                    .expect_err("changed");
                let expected = match at {
                    0 => KeyError::Format {
                        found: FORMAT ^ change,
                    },
                    1..=CHECK_BYTES => KeyError::Wrong { key: "now".into() },
                    _ => KeyError::Tampered,
                };
                assert_eq!(error, expected, "byte {at}");
                refused += 1;
            }
        }
        assert_eq!(refused, 3 * sealed.bytes.len());
        for length in 0..sealed.bytes.len() {
            let cut = SealedSecrets::new("now", &sealed.bytes[..length]);
            assert_eq!(
                keys.open("alice", "email", &none(), &cut).expect_err("cut"),
                KeyError::Tampered,
                "{length} bytes"
            );
        }
        let longer = SealedSecrets::new("now", [sealed.bytes(), &[0]].concat());
        assert_eq!(
            keys.open("alice", "email", &none(), &longer)
                .expect_err("longer"),
            KeyError::Tampered
        );
    }

    #[test]
    fn sealed_secrets_are_bound_to_the_key_id() {
        let keys = ring(&["now", "old"]);
        let sealed = keys
            .seal("alice", "email", &none(), &secrets("{}"))
            .expect("sealed");
        for (id, expected) in [
            ("old", KeyError::Wrong { key: "old".into() }),
            (
                "unknown",
                KeyError::Unknown {
                    key: "unknown".into(),
                },
            ),
            ("", KeyError::Unknown { key: String::new() }),
        ] {
            let moved = SealedSecrets::new(id, sealed.bytes());
            assert_eq!(
                keys.open("alice", "email", &none(), &moved)
                    .expect_err("another key"),
                expected
            );
        }
        let other = ring(&["now"])
            .open("alice", "email", &none(), &sealed)
            .expect_err("another key of that id");
        assert_eq!(other, KeyError::Wrong { key: "now".into() });
        assert_eq!(
            Keyring::none()
                .open("alice", "email", &none(), &sealed)
                .expect_err("no key"),
            KeyError::Missing
        );
    }

    #[test]
    fn texts_of_another_context_do_not_open_as_secrets() {
        let keys = ring(&["now"]);
        let state = keys
            .seal_text(&["state", "alice", "email"], "{}")
            .expect("sealed");
        assert_eq!(
            keys.open("alice", "email", &none(), &state)
                .expect_err("no record"),
            KeyError::Tampered
        );
        let record = keys
            .seal("alice", "email", &none(), &secrets("{}"))
            .expect("sealed");
        assert_eq!(
            keys.open_text(&["state", "alice", "email"], &record)
                .expect_err("no state"),
            KeyError::Tampered
        );
    }

    #[test]
    fn each_seal_has_its_own_nonce() {
        let keys = ring(&["now"]);
        let mut nonces = HashSet::new();
        for _ in 0..100_000 {
            let sealed = keys
                .seal("alice", "email", &none(), &secrets("{}"))
                .expect("sealed");
            nonces.insert(
                <[u8; 24]>::try_from(&sealed.bytes[1 + CHECK_BYTES..1 + CHECK_BYTES + 24])
                    .expect("a nonce"),
            );
        }
        assert_eq!(nonces.len(), 100_000);
    }

    #[test]
    fn secrets_of_the_greatest_length_open_and_longer_fail() {
        let keys = ring(&["now"]);
        let longest = secrets(&"x".repeat(MAX_SECRETS));
        let sealed = keys
            .seal("alice", "email", &none(), &longest)
            .expect("sealed");
        // Of no bound settings, the object is written.
        let overhead = 1 + CHECK_BYTES + NONCE_BYTES + LENGTH_BYTES + "{}".len() + TAG_BYTES;
        assert_eq!(sealed.bytes().len(), MAX_SECRETS + overhead);
        assert_eq!(
            keys.open("alice", "email", &none(), &sealed)
                .expect("opens")
                .expose(),
            longest.expose()
        );
        let longer = keys
            .seal(
                "alice",
                "email",
                &none(),
                &secrets(&"x".repeat(MAX_SECRETS + 1)),
            )
            .expect_err("too long");
        assert_eq!(
            longer,
            KeyError::TooLong {
                bytes: MAX_SECRETS + 1,
                max: MAX_SECRETS
            }
        );
        let bytes = [sealed.bytes(), &[0]].concat();
        assert_eq!(
            keys.open("alice", "email", &none(), &SealedSecrets::new("now", bytes))
                .expect_err("long"),
            KeyError::Tampered
        );
    }

    #[test]
    fn parse_reports_every_problem_and_no_key_digits() {
        let digits = "c0ffee".repeat(11);
        let key = &digits[..64];
        let other = &digits[2..66];
        let text = format!(
            "# keys\ngood:{key}\ngood:{other}\nshort:{short}\nnot-hex:{bad}\n{key}\n{key}:x, a b:{key} # remark\nsame:{key}\n\
             zero:{zero}\n:{key}\n",
            short = &key[..62],
            bad = key.replace('f', "g"),
            zero = "0".repeat(64),
        );
        let Err(KeyError::Malformed(problems)) = Keyring::parse(&text) else {
            panic!("the keys are valid")
        };
        let expected = [
            "key 2: the id `good` is used twice",
            "key 3: expected 64 hex digits for `short`, got 62 characters",
            "key 4: expected 64 hex digits for `not-hex`, got other characters",
            "key 5: expected `id:64 hex digits`",
            "key 6: expected an id before the colon, got what looks like a key",
            "key 7: expected an id of 1 to 64 characters of `A-Z a-z 0-9 - _ .`",
            "key 8: `same` is the same key as `good`",
            "key 9: `zero` is all zeros; create a key with `Keyring::generate`",
            "key 10: expected an id of 1 to 64 characters of `A-Z a-z 0-9 - _ .`",
        ];
        assert_eq!(problems, expected);
        assert!(!KeyError::Malformed(problems).to_string().contains("c0ffee"));
        assert_eq!(
            Keyring::parse(" \n# none").expect_err("none").to_string(),
            "invalid keys:\n- expected at least one key"
        );
    }

    #[test]
    fn keys_are_divided_by_lines_or_commas() {
        let one = Keyring::generate("one").expect("random");
        let two = Keyring::generate("two").expect("random");
        for text in [
            format!("{}\n{}", *one, *two),
            format!("  {} , {}  ", *one, *two),
            format!(
                "# both\r\n{}\r\n\r\n{} # old\r\n",
                *one,
                two.to_uppercase().replace("TWO", "two")
            ),
        ] {
            let keys = Keyring::parse(&text).expect("keys");
            assert_eq!((keys.active(), keys.0.len()), (Some("one"), 2));
            let sealed = Keyring::parse(&two)
                .expect("a key")
                .seal("alice", "email", &none(), &secrets("{}"))
                .expect("sealed");
            assert_eq!(
                keys.open("alice", "email", &none(), &sealed)
                    .expect("opens")
                    .expose(),
                "{}"
            );
            assert_eq!(format!("{keys:?}"), r#"{"one", "two"}"#);
        }
    }

    #[test]
    fn key_files_are_read_or_the_reason_is_reported() {
        let path = std::env::temp_dir().join(format!("tool-core-keys-{}", std::process::id()));
        let line = Keyring::generate("one").expect("random");
        std::fs::write(&path, line.as_bytes()).expect("written");
        assert_eq!(
            Keyring::from_file(&path).expect("keys").active(),
            Some("one")
        );
        std::fs::write(&path, [0xff, 0xfe]).expect("written");
        let error = Keyring::from_file(&path).expect_err("no text").to_string();
        assert!(error.ends_with(": expected UTF-8 text"), "{error}");
        std::fs::write(&path, vec![b'#'; 64 * 1024 + 1]).expect("written");
        let error = Keyring::from_file(&path).expect_err("too long").to_string();
        assert!(error.ends_with(": expected at most 65536 bytes"), "{error}");
        std::fs::remove_file(&path).expect("removed");
        let error = Keyring::from_file(&path).expect_err("gone").to_string();
        assert!(
            error.starts_with("failed to read the key file")
                && error.contains("No such file or directory"),
            "{error}"
        );
    }

    #[test]
    fn missing_environment_variable_is_named() {
        let error = Keyring::from_env("TOOL_SECRETS_KEYS_MISSING").expect_err("not set");
        assert_eq!(error, KeyError::Unset("TOOL_SECRETS_KEYS_MISSING".into()));
        assert!(
            error
                .to_string()
                .contains("`TOOL_SECRETS_KEYS_MISSING` is not set")
        );
    }

    proptest! {
        // The boundary between the two names counts too.
        #[test]
        fn secrets_open_only_for_their_agent_and_toolset(
            agent in ".{0,12}", tool in ".{0,12}", text in ".{0,200}", other_agent in ".{0,12}", other_tool in ".{0,12}"
        ) {
            let keys = ring(&["now", "old"]);
            let sealed = keys.seal(&agent, &tool, &none(), &secrets(&text)).expect("sealed");
            let opened = keys.open(&agent, &tool, &none(), &sealed).expect("opens");
            prop_assert_eq!(opened.expose(), text);
            let whole = format!("{agent}{tool}");
            for (cut, _) in whole.char_indices().chain([(whole.len(), ' ')]) {
                let (a, t) = whole.split_at(cut);
                let opens = keys.open(a, t, &none(), &sealed).is_ok();
                prop_assert_eq!(opens, (a, t) == (agent.as_str(), tool.as_str()), "{} {}", a, t);
            }
            for (a, t) in [(&other_agent, &tool), (&agent, &other_tool), (&tool, &agent)] {
                let opens = keys.open(a, t, &none(), &sealed).is_ok();
                prop_assert_eq!(opens, (a, t) == (&agent, &tool));
            }
        }

        #[test]
        fn parse_handles_any_text_without_panics(text in "[a-f0-9:,#\n .é-]{0,200}", digits in "[0-9a-f]{64}") {
            _ = Keyring::parse(&text);
            let line = format!("{digits}\n{digits}:{digits}\nid:{digits}0\nid:{}é", &digits[..62]);
            let shown = Keyring::parse(&line).expect_err("no keys").to_string();
            prop_assert!(!shown.contains(&digits[..16]), "{}", shown);
        }
    }
}
