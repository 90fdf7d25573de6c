//! Authentication of toolsets.

use crate::tool::configure::secret::Secret;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use zeroize::Zeroizing;

/// The authentication of a toolset: `#[toolset(auth = ..)]`. [`Configure`](super::Configure) lists the secrets that go
/// with each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Auth {
    /// No authentication.
    #[default]
    None,
    /// A key: a [`Secret`](super::Secret) among the toolset's secrets.
    ApiKey,
    /// A name and a password: [`BasicAuth`].
    Basic,
    /// A token that a person grants: [`AccessToken`](super::AccessToken).
    #[serde(rename = "oauth2")]
    OAuth2(OAuth2),
}

/// An OAuth 2 grant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OAuth2 {
    /// The provider that issues the grant.
    pub provider: String,
    /// The requested scopes.
    pub scopes: Vec<String>,
    /// The authorisation endpoint, where a person consents.
    pub auth_url: String,
    /// The token endpoint, which exchanges a code for a token.
    pub token_url: String,
}

impl Auth {
    /// Creates an OAuth 2 grant of a provider, with scopes, authorisation URL and token URL.
    pub fn oauth2(
        provider: impl Into<String>,
        scopes: impl IntoIterator<Item = impl Into<String>>,
        auth_url: impl Into<String>,
        token_url: impl Into<String>,
    ) -> Self {
        Self::OAuth2(OAuth2 {
            provider: provider.into(),
            scopes: scopes.into_iter().map(Into::into).collect(),
            auth_url: auth_url.into(),
            token_url: token_url.into(),
        })
    }
}

/// The secrets of a toolset with [`Auth::Basic`]: a name and a password.
///
/// ```
/// use tool_core::tool::BasicAuth;
///
/// let auth = BasicAuth::new("Aladdin", "open sesame");
/// assert_eq!(auth.authorization().expose(), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
/// assert_eq!(format!("{auth:?}"), "[secret]");
/// ```
#[derive(Clone, Default, Deserialize, JsonSchema)]
pub struct BasicAuth {
    /// The user's name
    // A colon separates the name from the password.
    #[schemars(regex(pattern = "^[^:]*$"))]
    pub username: String,
    /// The password
    pub password: Secret,
}

impl BasicAuth {
    /// Creates the secrets from a name, which must not contain a colon, and a password.
    pub fn new(username: impl Into<String>, password: impl Into<Secret>) -> Self {
        Self { username: username.into(), password: password.into() }
    }

    /// Returns the value of an HTTP `Authorization` header (RFC 7617).
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
