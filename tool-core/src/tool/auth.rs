//! How toolsets prove who they work for.

use serde::{Deserialize, Serialize};

/// How a toolset proves who it works for: `#[toolset(auth = ..)]`. How the secrets look that go with each is told at
/// [`Configure`](super::Configure).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Auth {
    /// It does not.
    #[default]
    None,
    /// By a key, which is a [`Secret`](super::Secret) among its secrets.
    ApiKey,
    /// By a name and a password: [`BasicAuth`](super::BasicAuth).
    Basic,
    /// By a token that a person grants: [`AccessToken`](super::AccessToken).
    #[serde(rename = "oauth2")]
    OAuth2(OAuth2),
}

/// An OAuth 2 grant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OAuth2 {
    /// Who grants it.
    pub provider: String,
    /// What is asked for.
    pub scopes: Vec<String>,
    /// Where a person agrees.
    pub auth_url: String,
    /// Where a code becomes a token.
    pub token_url: String,
}

impl Auth {
    /// An OAuth 2 grant of a provider, with scopes, authorisation URL and token URL.
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
