//! The secrets of a toolset as JSON.

use super::scrub::Hidden;
use super::{AccessToken, TokenSource};
use crate::response::ToolError;
use serde_json::Value;
use std::fmt;
use std::ops::{Deref, DerefMut};
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

    /// A toolset's error without the secrets that its message may quote.
    pub(crate) fn scrubbed(&self, error: ToolError) -> ToolError {
        let Some(value) = self.parsed() else { return error };
        let hidden = Hidden::of_secrets(&value);
        error.reworded(|message| hidden.removed_from(&message))
    }

    /// Whether somebody keeps the access token good.
    pub(super) fn has_grant(&self) -> bool {
        self.grant.is_some()
    }

    /// Access tokens that `read` reads are of the grant, where there is one.
    pub(super) fn with_grant_in_place<R>(&self, read: impl FnOnce() -> R) -> R {
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
pub(super) fn wipe(value: &mut Value) {
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
