//! A text that nobody may read by accident.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;

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
