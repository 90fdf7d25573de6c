//! Sealing: XChaCha20-Poly1305, with what the secrets belong to as associated data.

use super::keys::KeyError;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use hmac::{Hmac, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

/// The bytes of a key.
pub(super) const KEY: usize = 32;
/// The bytes that tell a key from another of the same id.
pub(super) const CHECK: usize = 8;
pub(super) type Check = [u8; CHECK];
const NONCE: usize = 24;
/// The form of the bytes.
const FORM: u8 = 1;
/// What is added to the secrets: form, check, nonce and tag.
pub(super) const OVERHEAD: usize = 1 + CHECK + NONCE + 16;

/// Tells a key from another of the same id, and says nothing of it.
pub(super) fn check(key: &[u8; KEY], id: &str) -> Check {
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
pub(super) fn seal(key: &[u8; KEY], check: Check, belongs: &[&str], secret: &[u8]) -> Result<Vec<u8>, KeyError> {
    let nonce = random::<NONCE>()?;
    let payload = Payload { msg: secret, aad: &associated(belongs) };
    let sealed = XChaCha20Poly1305::new(key.into()).encrypt(&XNonce::from(*nonce), payload);
    let sealed = sealed.map_err(|_| KeyError::Random)?;
    Ok([&[FORM], check.as_slice(), nonce.as_slice(), &sealed].concat())
}

/// Nothing where a byte was changed, or it belongs to something else.
pub(super) fn open(key: &[u8; KEY], belongs: &[&str], bytes: &[u8]) -> Option<Vec<u8>> {
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

pub(super) fn random<const N: usize>() -> Result<Zeroizing<[u8; N]>, KeyError> {
    let mut bytes = Zeroizing::new([0; N]);
    getrandom::fill(&mut *bytes).map_err(|_| KeyError::Random)?;
    Ok(bytes)
}
