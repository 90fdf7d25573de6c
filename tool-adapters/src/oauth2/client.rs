//! A client as it is registered at a provider.

use crate::oauth2::error;
use crate::oauth2::error::OAuth2Error;
use std::fmt;
use tool_core::Secret;

/// Parameters of the authorisation URL that are not anybody's to choose.
const OURS: [&str; 8] = [
    "client_id",
    "code_challenge",
    "code_challenge_method",
    "redirect_uri",
    "response_type",
    "scope",
    "state",
    "client_secret",
];

/// A client as it is registered at a provider: its id, its secret where it has one, and where browsers come back to.
///
/// ```
/// use tool_adapters::oauth2::OAuth2Client;
///
/// let google = OAuth2Client::new("1234.apps.googleusercontent.com", "https://app.example/oauth2/callback")
///     .secret("hunter2")
///     // Google gives no refresh token without these.
///     .param("access_type", "offline")
///     .param("prompt", "consent");
/// assert!(!format!("{google:?}").contains("hunter2"));
/// ```
#[derive(Clone)]
pub struct OAuth2Client {
    pub(crate) id: String,
    pub(crate) secret: Option<Secret>,
    pub(crate) secret_in_body: bool,
    pub(crate) redirect_url: String,
    pub(crate) params: Vec<(String, String)>,
    issuer: Option<String>,
}

impl OAuth2Client {
    /// A client without a secret.
    pub fn new(id: impl Into<String>, redirect_url: impl Into<String>) -> Self {
        let (id, redirect_url) = (id.into(), redirect_url.into());
        Self { id, secret: None, secret_in_body: false, redirect_url, params: Vec::new(), issuer: None }
    }

    /// The client that stands in environment variables: for the prefix `GOOGLE`, `GOOGLE_CLIENT_ID`,
    /// `GOOGLE_REDIRECT_URL`, and, where they are set, `GOOGLE_CLIENT_SECRET` and `GOOGLE_PARAMS`
    /// (`access_type=offline&prompt=consent`). The error names every variable that is missing.
    pub fn from_env(prefix: &str) -> Result<Self, OAuth2Error> {
        Self::from_variables(prefix, |name| std::env::var(name).ok())
    }

    pub(crate) fn from_variables(prefix: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Self, OAuth2Error> {
        let name = |name: &str| format!("{prefix}_{name}");
        let read = |suffix: &str| variable(&name(suffix)).filter(|value| !value.trim().is_empty());
        let needed = [read("CLIENT_ID"), read("REDIRECT_URL")];
        let [Some(id), Some(redirect_url)] = needed else {
            let names = ["CLIENT_ID", "REDIRECT_URL"].into_iter().filter(|suffix| read(suffix).is_none()).map(name);
            let names = names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ");
            return Err(OAuth2Error::Client(format!("set the environment variables {names}")));
        };
        let mut client = Self::new(id, redirect_url);
        client.secret = read("CLIENT_SECRET").map(Secret::from);
        let params = read("PARAMS").unwrap_or_default();
        for (name, value) in oauth2::url::form_urlencoded::parse(params.as_bytes()) {
            client = client.param(name, value);
        }
        Ok(client)
    }

    /// The client's own secret.
    #[must_use]
    pub fn secret(mut self, secret: impl Into<Secret>) -> Self {
        self.secret = Some(secret.into());
        self
    }

    /// Sends id and secret in the body, for providers that do not take them in the header where the standard wants
    /// them.
    #[must_use]
    pub fn secret_in_body(mut self) -> Self {
        self.secret_in_body = true;
        self
    }

    /// A further parameter of the authorisation URL, as providers want them.
    #[must_use]
    pub fn param(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.params.push((name.into(), value.into()));
        self
    }

    /// The provider's own name for itself, `https://accounts.google.com`: answers that bear another `iss`, or none, are
    /// refused. Against mixing up the answers of two providers (RFC 9207).
    #[must_use]
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = Some(issuer.into());
        self
    }

    pub(crate) fn check_issuer(&self, told: Option<&str>) -> Result<(), OAuth2Error> {
        match &self.issuer {
            Some(issuer) if told != Some(issuer) => {
                Err(OAuth2Error::Callback(format!("it is not of the issuer `{}`", issuer.escape_debug())))
            }
            _ => Ok(()),
        }
    }

    /// What is wrong with how it is set up.
    pub(crate) fn check(&self) -> Result<(), OAuth2Error> {
        if self.id.is_empty() {
            return Err(OAuth2Error::Client("its id is empty".into()));
        }
        error::check("redirect URL", &self.redirect_url, true)?;
        match self.params.iter().find(|(name, _)| OURS.contains(&name.as_str())) {
            Some((name, _)) => Err(OAuth2Error::Client(format!("the parameter `{name}` cannot be chosen"))),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for OAuth2Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth2Client")
            .field("id", &self.id)
            .field("has_secret", &self.secret.is_some())
            .field("redirect_url", &self.redirect_url)
            .finish_non_exhaustive()
    }
}
