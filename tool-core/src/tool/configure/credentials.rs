//! Authentication of toolsets, and its credentials: secret texts that are wiped, and access tokens
//! that stay valid.

use crate::call::error::ToolError;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use secrecy::{ExposeSecret, SecretString};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use std::pin::Pin;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Implements `Debug` for types that hold secrets, without showing them.
macro_rules! debug_as_secret {
    ($($type:ty),*) => {
        $(impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("[secret]")
            }
        })*
    };
}
pub(crate) use debug_as_secret;

debug_as_secret!(BasicAuth, Secret, AccessToken);

/// The authentication of a toolset: `#[toolset(auth = ..)]`. [`Configure`](crate::Configure) lists
/// the secrets that go with each.
///
/// ```
/// use tool_core::Auth;
///
/// let auth = Auth::oauth2("google", ["calendar.readonly"], "https://a.example/auth", "https://a.example/token");
/// let json = serde_json::to_value(&auth)?;
/// assert_eq!((&json["type"], &json["provider"]), (&"oauth2".into(), &"google".into()));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Auth {
    /// No authentication.
    #[default]
    None,
    /// A key: a [`Secret`] among the toolset's secrets.
    ApiKey,
    /// A name and a password: [`BasicAuth`].
    Basic,
    /// A token that a person grants: [`AccessToken`].
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
        Self {
            username: username.into(),
            password: password.into(),
        }
    }

    /// Returns the value of an HTTP `Authorization` header (RFC 7617).
    pub fn authorization(&self) -> Secret {
        let both = Zeroizing::new(format!("{}:{}", self.username, self.password.expose()));
        Secret::from(format!(
            "Basic {}",
            *Zeroizing::new(STANDARD.encode(both.as_bytes()))
        ))
    }
}

/// A secret text, such as an API key or a password.
///
/// Its memory is wiped on drop, `Debug` does not show it, and it does not serialise. Its schema has
/// `format: "password"` and `writeOnly`, so that a form hides the input.
///
/// ```
/// use tool_core::Secret;
///
/// let key = Secret::from("hunter2");
/// assert_eq!(format!("{key:?}"), "[secret]");
/// assert_eq!(key.expose(), "hunter2");
/// ```
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(from = "String")]
#[schemars(inline, description = "", extend("format" = "password", "writeOnly" = true))]
pub struct Secret(#[schemars(with = "String")] SecretString);

impl Secret {
    /// Returns the text. Pass it on without keeping a copy.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// Returns true for an empty text.
    pub fn is_empty(&self) -> bool {
        self.expose().is_empty()
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

fn refused() -> ToolError {
    ToolError::auth("the service refuses the access token; a person has to enter another one")
}

/// A source of access tokens, which refreshes them.
pub trait TokenSource: Send + Sync + 'static {
    /// Returns a valid token: the current one, or a new one where the current one is about to
    /// expire.
    fn token(&self) -> Pin<Box<dyn Future<Output = Result<Secret, ToolError>> + Send + '_>>;

    /// Reports that the service has refused a token (HTTP status 401). Returns another token: the
    /// source's new one, after one refresh if necessary. Fails with `AUTH` if there is none, or if
    /// the token is new already. By default no token is refreshed for this reason.
    fn rejected<'a>(
        &'a self,
        token: &'a Secret,
    ) -> Pin<Box<dyn Future<Output = Result<Secret, ToolError>> + Send + 'a>> {
        Box::pin(async move {
            let now = self.token().await?;
            if now.expose() == token.expose() {
                Err(refused())
            } else {
                Ok(now)
            }
        })
    }

    /// Notifies the source that an [`AccessToken`] uses it from now on.
    #[doc(hidden)]
    fn follow(&self) {}
}

/// The access token of an OAuth 2 grant, in a toolset's secrets.
///
/// A `String` would hold the token that was valid when the toolset was configured. An `AccessToken`
/// holds the grant: call
/// [`get`](Self::get) for each request. The token is refreshed before it expires, once for all callers.
///
/// ```
/// use tool_core::tool::AccessToken;
/// use tool_core::ToolError;
/// use tool_core::schemars::JsonSchema;
/// use tool_core::serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// #[serde(crate = "tool_core::serde")]
/// #[schemars(crate = "tool_core::schemars")]
/// struct Secrets {
///     access_token: AccessToken,
/// }
///
/// async fn authorization(secrets: &Secrets) -> Result<String, ToolError> {
///     Ok(format!("Bearer {}", secrets.access_token.get().await?.expose()))
/// }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), ToolError> {
/// # let secrets = Secrets { access_token: AccessToken::from("abc") };
/// # assert_eq!(authorization(&secrets).await?, "Bearer abc");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, JsonSchema)]
#[schemars(inline, description = "")]
pub struct AccessToken(#[schemars(with = "Secret")] TokenOrigin);

#[derive(Clone)]
enum TokenOrigin {
    Fixed(Secret),
    Source(Arc<dyn TokenSource>),
}

tokio::task_local! {
    /// The grant of the secrets that are being deserialised.
    static GRANT: Option<Arc<dyn TokenSource>>;
}

/// Returns the grant of the secrets that are being deserialised.
fn current_grant() -> Option<Arc<dyn TokenSource>> {
    GRANT.try_with(Clone::clone).ok().flatten()
}

impl AccessToken {
    /// Creates a token that `source` refreshes.
    pub fn live(source: Arc<dyn TokenSource>) -> Self {
        Self(TokenOrigin::Source(source))
    }

    /// Returns a valid token. Fails with `AUTH` where there is none, or where the grant was
    /// revoked.
    pub async fn get(&self) -> Result<Secret, ToolError> {
        match &self.0 {
            TokenOrigin::Fixed(token) if token.is_empty() => {
                Err(ToolError::auth("the access token is missing"))
            }
            TokenOrigin::Fixed(token) => Ok(token.clone()),
            TokenOrigin::Source(source) => source.token().await,
        }
    }

    /// Reports that the service has refused a token that [`get`](Self::get) returned, with HTTP
    /// status 401, and returns another one: repeat the request with it once.
    ///
    /// A provider or a person may revoke a token before it expires. However many calls report a
    /// token, it is refreshed once, among all processes that share the store. A token that has
    /// replaced a refused one is not replaced again until it expires: the call fails with `AUTH`,
    /// so that a service which refuses every token causes no loop.
    ///
    /// ```
    /// # use tool_core::{Secret, ToolError, tool::AccessToken};
    /// # async fn send(token: &Secret) -> (u16, String) { (200, token.expose().into()) }
    /// async fn fetch(access_token: &AccessToken) -> Result<String, ToolError> {
    ///     let token = access_token.get().await?;
    ///     let (mut status, mut body) = send(&token).await;
    ///     if status == 401 {
    ///         (status, body) = send(&access_token.rejected(&token).await?).await;
    ///     }
    ///     if status == 200 { Ok(body) } else { Err(ToolError::auth("the service refuses the request")) }
    /// }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), ToolError> {
    /// # assert_eq!(fetch(&AccessToken::from("abc")).await?, "abc");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn rejected(&self, token: &Secret) -> Result<Secret, ToolError> {
        match &self.0 {
            TokenOrigin::Fixed(_) => Err(refused()),
            TokenOrigin::Source(source) => source.rejected(token).await,
        }
    }

    /// Runs `read`. Access tokens that it deserialises use `grant`, where there is one.
    pub(crate) fn with_grant<R>(
        grant: Option<Arc<dyn TokenSource>>,
        read: impl FnOnce() -> R,
    ) -> R {
        GRANT.sync_scope(grant, read)
    }
}

impl Default for AccessToken {
    /// Creates an empty token; where secrets with a grant are deserialised, a token of that grant.
    fn default() -> Self {
        Self::from("")
    }
}

impl<T: Into<Secret>> From<T> for AccessToken {
    fn from(token: T) -> Self {
        match current_grant() {
            None => Self(TokenOrigin::Fixed(token.into())),
            Some(source) => {
                source.follow();
                Self::live(source)
            }
        }
    }
}

impl<'de> Deserialize<'de> for AccessToken {
    /// Accepts a text or nothing. With a grant the value does not matter.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if current_grant().is_some() {
            Option::<IgnoredAny>::deserialize(deserializer)?;
            return Ok(Self::default());
        }
        Ok(Option::<Secret>::deserialize(deserializer)?.map_or_else(Self::default, Self::from))
    }
}
