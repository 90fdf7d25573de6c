//! The secrets of a toolset as JSON.

use super::{AccessToken, TokenSource};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;
use zeroize::{Zeroize, Zeroizing};

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

    /// Reads them into a type. The error names places and never shows what stands there.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, String> {
        AccessToken::of_grant(self.grant.clone(), || serde_json::from_str(&self.text)).map_err(|error| {
            format!("the secrets are not what the toolset takes (line {}, column {})", error.line(), error.column())
        })
    }

    /// Does something with them as a value, which is wiped.
    pub(crate) fn with_value<R>(&self, look: impl FnOnce(&Value) -> R) -> Option<R> {
        let mut value = serde_json::from_str::<Value>(&self.text).ok()?;
        let seen = look(&value);
        wipe(&mut value);
        Some(seen)
    }
}

/// Leaves nothing of the texts of a value in memory.
fn wipe(value: &mut Value) {
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
