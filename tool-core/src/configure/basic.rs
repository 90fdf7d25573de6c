//! A name and a password.

use super::Secret;
use schemars::JsonSchema;
use serde::Deserialize;
use std::fmt;
use zeroize::Zeroizing;

/// The secrets of a toolset that proves itself by a name and a password ([`Auth::Basic`](super::Auth::Basic)).
///
/// ```
/// use tool_core::BasicAuth;
///
/// let auth = BasicAuth::new("Aladdin", "open sesame");
/// assert_eq!(auth.authorization().expose(), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
/// assert_eq!(format!("{auth:?}"), "[secret]");
/// ```
#[derive(Clone, Default, Deserialize, JsonSchema)]
pub struct BasicAuth {
    /// The user's name
    // The colon divides the two.
    #[schemars(regex(pattern = "^[^:]*$"))]
    pub username: String,
    /// The password
    pub password: Secret,
}

impl BasicAuth {
    /// A name, which has no colon, and a password.
    pub fn new(username: impl Into<String>, password: impl Into<Secret>) -> Self {
        Self { username: username.into(), password: password.into() }
    }

    /// The value of an HTTP `Authorization` header (RFC 7617).
    pub fn authorization(&self) -> Secret {
        let both = Zeroizing::new(format!("{}:{}", self.username, self.password.expose()));
        Secret::from(format!("Basic {}", *Zeroizing::new(base64(both.as_bytes()))))
    }
}

impl fmt::Debug for BasicAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// Base64 with padding (RFC 4648).
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for (place, shift) in [18, 12, 6, 0].into_iter().enumerate() {
            let digit = DIGITS.get((bits >> shift & 63) as usize).copied().unwrap_or(b'=');
            text.push(char::from(if place <= chunk.len() { digit } else { b'=' }));
        }
    }
    text
}
