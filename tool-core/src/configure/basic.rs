//! A name and a password.

use super::Secret;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
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
        Secret::from(format!("Basic {}", *Zeroizing::new(STANDARD.encode(both.as_bytes()))))
    }
}

impl fmt::Debug for BasicAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}
