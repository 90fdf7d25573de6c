//! A token that stays good for as long as the toolset lives.

use crate::call::error::ToolError;
use crate::tool::configure::secret::Secret;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{IgnoredAny, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

/// Where a token comes from each time it is needed.
pub trait TokenSource: Send + Sync + 'static {
    /// A token that is good now: the one there is, or a new one where that is about to expire.
    fn token(&self) -> Pin<Box<dyn Future<Output = Result<Secret, ToolError>> + Send + '_>>;

    /// An [`AccessToken`] asks it from now on.
    #[doc(hidden)]
    fn follow(&self) {}
}

/// The access token of an OAuth 2 grant, in a toolset's secrets.
///
/// A `String` would hold the token that was good when the toolset was configured. This holds the grant: ask it at each
/// call, and it is refreshed before it expires, once for all that ask.
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
#[derive(Clone)]
pub struct AccessToken(Kind);

#[derive(Clone)]
enum Kind {
    Fixed(Secret),
    Live(Arc<dyn TokenSource>),
}

thread_local! {
    /// The grant of the secrets that are being read on this thread.
    static GRANT: RefCell<Option<Arc<dyn TokenSource>>> = const { RefCell::new(None) };
}

impl AccessToken {
    /// A token that somebody keeps good.
    pub fn live(source: Arc<dyn TokenSource>) -> Self {
        Self(Kind::Live(source))
    }

    /// A token that is good now. `AUTH` where there is none, or the grant was taken back.
    pub async fn get(&self) -> Result<Secret, ToolError> {
        match &self.0 {
            Kind::Fixed(token) if token.is_empty() => Err(ToolError::auth("the access token is missing")),
            Kind::Fixed(token) => Ok(token.clone()),
            Kind::Live(source) => source.token().await,
        }
    }

    /// Access tokens that `read` reads are of this grant.
    pub(crate) fn of_grant<R>(grant: Option<Arc<dyn TokenSource>>, read: impl FnOnce() -> R) -> R {
        struct Restore(Option<Arc<dyn TokenSource>>);
        impl Drop for Restore {
            fn drop(&mut self) {
                GRANT.set(self.0.take());
            }
        }
        let _restore = Restore(GRANT.replace(grant));
        read()
    }
}

fn followed(source: Arc<dyn TokenSource>) -> Kind {
    source.follow();
    Kind::Live(source)
}

impl Default for AccessToken {
    /// None; or the grant, where the secrets that leave it out have one.
    fn default() -> Self {
        Self::from("")
    }
}

impl<T: Into<Secret>> From<T> for AccessToken {
    fn from(token: T) -> Self {
        Self(GRANT.with_borrow(Clone::clone).map_or_else(|| Kind::Fixed(token.into()), followed))
    }
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl<'de> Deserialize<'de> for AccessToken {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_option(TokenVisitor)
    }
}

/// Takes a text, and nothing at all as well: where there is a grant, it does not matter what stands there.
struct TokenVisitor;

impl<'de> Visitor<'de> for TokenVisitor {
    type Value = AccessToken;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an access token")
    }

    fn visit_none<E>(self) -> Result<AccessToken, E> {
        Ok(AccessToken::default())
    }

    fn visit_unit<E>(self) -> Result<AccessToken, E> {
        Ok(AccessToken::default())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<AccessToken, D::Error> {
        if GRANT.with_borrow(Option::is_some) {
            return IgnoredAny::deserialize(deserializer).map(|_| AccessToken::default());
        }
        Secret::deserialize(deserializer).map(AccessToken::from)
    }
}

impl JsonSchema for AccessToken {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "AccessToken".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Secret::json_schema(generator)
    }
}
