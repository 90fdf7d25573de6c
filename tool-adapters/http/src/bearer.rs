//! The bearer token that clients of a server have to send.

use axum::http::{HeaderMap, header};
use sha2::{Digest, Sha256};
use std::fmt;
use subtle::ConstantTimeEq;

/// The minimum length of a token. Shorter ones can be guessed over the network.
const MIN_LENGTH: usize = 16;

/// A bearer token, of which only the hash is kept. A comparison takes the same time for every token
/// of a client.
#[derive(Clone)]
pub struct BearerToken {
    /// `None` for a text that cannot be a token. No client can send it.
    hash: Option<[u8; 32]>,
}

impl BearerToken {
    /// Creates the check for a token. Only its digest is kept.
    pub fn new(token: &str) -> Self {
        let token = token.trim();
        let is_valid =
            token.len() >= MIN_LENGTH && token.bytes().all(|byte| byte.is_ascii_graphic());
        Self {
            hash: is_valid.then(|| Sha256::digest(token).into()),
        }
    }

    /// Returns what is wrong with the text of the token.
    pub fn problem(&self) -> Option<String> {
        let expected = || {
            format!(
                "expected a `bearer_token` of at least {MIN_LENGTH} visible ASCII characters, got another text"
            )
        };
        self.hash.is_none().then(expected)
    }

    /// Returns true if two tokens are the same.
    pub fn is_same(&self, other: &Self) -> bool {
        self.hash.is_some() && self.hash == other.hash
    }

    /// Returns true if a request has exactly this token.
    pub(crate) fn is_in(&self, headers: &HeaderMap) -> bool {
        Self::hash_in(headers).is_some_and(|sent| self.has_hash(&sent))
    }

    /// Returns the hash of the only token that a request has.
    pub fn hash_in(headers: &HeaderMap) -> Option<[u8; 32]> {
        let mut sent = headers.get_all(header::AUTHORIZATION).iter();
        let (Some(value), None) = (sent.next(), sent.next()) else {
            return None;
        };
        let (scheme, token) = value.as_bytes().split_at_checked("Bearer ".len())?;
        scheme
            .eq_ignore_ascii_case(b"Bearer ")
            .then(|| Sha256::digest(token).into())
    }

    /// Returns true if this is the token with a hash.
    pub fn has_hash(&self, sent: &[u8; 32]) -> bool {
        self.hash
            .is_some_and(|hash| bool::from(sent.as_slice().ct_eq(&hash)))
    }
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[token]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    const TOKEN: &str = "correct-horse-battery-staple/7+=";

    fn sends(token: &BearerToken, values: &[&[u8]]) -> bool {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(
                header::AUTHORIZATION,
                HeaderValue::from_bytes(value).expect("a header"),
            );
        }
        token.is_in(&headers)
    }

    #[test]
    fn accepts_the_token_and_no_mutant() {
        let token = BearerToken::new(&format!(" {TOKEN}\n"));
        for scheme in ["Bearer", "bearer", "BEARER"] {
            assert!(
                sends(&token, &[format!("{scheme} {TOKEN}").as_bytes()]),
                "{scheme}"
            );
        }
        let mut tried = 0;
        let mut refuse = |values: &[&[u8]]| {
            assert!(!sends(&token, values), "{values:?}");
            tried += 1;
        };
        let right = format!("Bearer {TOKEN}").into_bytes();
        for at in 0..right.len() {
            refuse(&[&right[..at]]);
            refuse(&[&right[at + 1..]]);
            for byte in (b' '..=b'~')
                .filter(|byte| !byte.eq_ignore_ascii_case(&right[at]) || at >= "Bearer ".len())
            {
                if byte != right[at] {
                    let mut mutant = right.clone();
                    mutant[at] = byte;
                    refuse(&[&mutant]);
                }
            }
        }
        for more in [" ", "\t", "=", "\u{e9}", ", Bearer x"] {
            refuse(&[format!("Bearer {TOKEN}{more}").as_bytes()]);
            refuse(&[format!("Bearer {more}{TOKEN}").as_bytes()]);
        }
        refuse(&[]);
        refuse(&[b""]);
        refuse(&[b"Basic Y29ycmVjdA=="]);
        refuse(&[&right, &right]);
        refuse(&[&right, b"Bearer x"]);
        assert!(tried > 3_000, "{tried}");
    }

    #[test]
    fn a_text_that_is_no_token_matches_no_request() {
        for text in [
            "",
            " ",
            "short",
            "0123456789abcde",
            "a token with some spaces",
            "täuschend-echter-token",
        ] {
            let token = BearerToken::new(text);
            assert!(token.problem().is_some(), "{text}");
            assert!(
                !sends(&token, &[format!("Bearer {text}").as_bytes()])
                    && !sends(&token, &[b"Bearer "]),
                "{text}"
            );
        }
        assert_eq!(BearerToken::new(TOKEN).problem(), None);
    }

    #[test]
    fn debug_shows_no_token() {
        assert_eq!(format!("{:?}", BearerToken::new(TOKEN)), "[token]");
    }
}
