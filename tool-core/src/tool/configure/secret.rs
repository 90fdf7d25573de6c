//! A text that nobody may read by accident.

use crate::call::error::ToolError;
use crate::tool::configure::access_token::{AccessToken, TokenSource};
use crate::tool::configure::scrub::Hidden;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use zeroize::{Zeroize, Zeroizing};

/// A secret text: an API key, a password. It is wiped when it goes, `Debug` shows nothing of it, and it does not
/// serialise. Its schema has `format: "password"` and `writeOnly`, so that a form hides what is typed.
///
/// ```
/// use tool_core::Secret;
///
/// let key = Secret::from("hunter2");
/// assert_eq!(format!("{key:?}"), "[secret]");
/// assert_eq!(key.expose(), "hunter2");
/// ```
#[derive(Clone, Default)]
pub struct Secret(SecretString);

impl Secret {
    /// The text itself. Hand it on, and keep no copy of it.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// Whether there is nothing in it.
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

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

impl JsonSchema for Secret {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Secret".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "password", "writeOnly": true})
    }
}

// ---- The secrets of a toolset as JSON.

/// The secrets of a toolset: a JSON object as text, which is wiped when it goes, and neither shown by `Debug` nor
/// serialised.
#[derive(Clone)]
pub struct SecretDocument {
    text: Zeroizing<String>,
    grant: Option<Arc<dyn TokenSource>>,
}

impl SecretDocument {
    /// No secrets: `{}`.
    pub fn none() -> Self {
        Self { text: Zeroizing::new("{}".to_owned()), grant: None }
    }

    /// The secrets of a value, which is wiped.
    pub fn from_value(mut value: Value) -> Self {
        let text = Zeroizing::new(value.to_string());
        wipe(&mut value);
        Self { text, grant: None }
    }

    /// The secrets in a text of JSON, which is not looked at before it is needed.
    pub fn from_json(text: String) -> Self {
        Self { text: Zeroizing::new(text), grant: None }
    }

    /// The same secrets, with access tokens that `grant` keeps good.
    #[must_use]
    pub fn with_grant(self, grant: Arc<dyn TokenSource>) -> Self {
        Self { grant: Some(grant), ..self }
    }

    /// The text of JSON.
    pub fn expose(&self) -> &str {
        &self.text
    }

    /// A toolset's error without the secrets that its message may quote.
    pub(crate) fn scrubbed(&self, error: ToolError) -> ToolError {
        let Some(value) = self.parsed() else { return error };
        let hidden = Hidden::of_secrets(&value);
        error.reworded(|message| hidden.removed_from(&message))
    }

    /// Whether somebody keeps the access token good.
    pub(crate) fn has_grant(&self) -> bool {
        self.grant.is_some()
    }

    /// Access tokens that `read` reads are of the grant, where there is one.
    pub(crate) fn with_grant_in_place<R>(&self, read: impl FnOnce() -> R) -> R {
        AccessToken::of_grant(self.grant.clone(), read)
    }

    /// Does something with them as a value, which is wiped.
    #[cfg(feature = "agents")]
    pub(crate) fn with_value<R>(&self, look: impl FnOnce(&Value) -> R) -> Option<R> {
        self.parsed().map(|value| look(&value))
    }

    /// The value in the text; nothing where that is not JSON.
    pub(crate) fn parsed(&self) -> Option<Wiped> {
        serde_json::from_str(&self.text).ok().map(Wiped)
    }
}

impl From<Value> for SecretDocument {
    fn from(value: Value) -> Self {
        Self::from_value(value)
    }
}

/// A value whose texts are wiped when it goes.
pub(crate) struct Wiped(Value);

impl Deref for Wiped {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0
    }
}

impl DerefMut for Wiped {
    fn deref_mut(&mut self) -> &mut Value {
        &mut self.0
    }
}

impl Drop for Wiped {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

/// Leaves nothing of the texts of a value in memory.
pub(crate) fn wipe(value: &mut Value) {
    match value {
        Value::String(text) => text.zeroize(),
        Value::Array(items) => items.iter_mut().for_each(wipe),
        Value::Object(members) => members.values_mut().for_each(wipe),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

impl fmt::Debug for SecretDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

// ---- A name and a password.

/// The secrets of a toolset that proves itself by a name and a password ([`Auth::Basic`](super::Auth::Basic)).
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
