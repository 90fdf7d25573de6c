//! The `meta` member of the envelope.

use crate::arguments::problem::Problem;
use crate::call::cut::Truncated;
use crate::call::intent;
use crate::call::output::OutputKind;
use crate::text::{Name, characters};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;

/// The version of the envelope.
pub const SCHEMA_VERSION: &str = "1.0.0";

/// The member that tells how a result is meant, where it is not plain data.
pub(crate) const FORM: &str = "form";

/// The member that tells whether a result counts as empty, where the tool said so.
pub(crate) const EMPTY: &str = "empty";

/// What an approval is asked for. For the host's user interface; never encoded for the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Confirmation {
    /// What `approve` and `deny` take.
    pub token: String,
    /// What would be done, in words.
    pub summary: String,
    /// RFC 3339.
    pub expires_at: String,
}

/// What every response carries, slim; the rest is boxed because few have it.
#[derive(Clone, Debug)]
pub(crate) struct Slim {
    pub(crate) tool: Name,
    pub(crate) call_id: Option<Arc<str>>,
    pub(crate) duration: Duration,
    pub(crate) rare: Option<Box<RareMeta>>,
}

/// What few responses have.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RareMeta {
    pub(crate) intents: Vec<intent::Intent>,
    pub(crate) coerced: Vec<String>,
    pub(crate) truncated: Option<Truncated>,
    pub(crate) warnings: Vec<String>,
    pub(crate) confirmation: Option<Confirmation>,
    pub(crate) problems: Vec<Problem>,
    pub(crate) extra: Map<String, Value>,
    pub(crate) empty: Option<bool>,
}

/// What a response says about its call.
#[derive(Clone, Copy, Debug)]
pub struct ResponseMeta<'a> {
    pub(crate) slim: &'a Slim,
    pub(crate) form: OutputKind,
    pub(crate) data: &'a str,
}

impl<'a> ResponseMeta<'a> {
    /// The version of the envelope.
    pub fn schema_version(&self) -> &'static str {
        SCHEMA_VERSION
    }

    /// The tool's name, or the name that was called where there is no such tool.
    pub fn tool(&self) -> &'a str {
        &self.slim.tool
    }

    /// The id of the call; `None` outside a session.
    pub fn call_id(&self) -> Option<&'a str> {
        self.slim.call_id.as_deref()
    }

    /// From the call's arrival to its response.
    pub fn duration(&self) -> Duration {
        self.slim.duration
    }

    /// The size of the compact serialised data in Unicode scalars, counted when asked; 0 for an error.
    pub fn size_chars(&self) -> usize {
        characters(self.data)
    }

    /// A quarter of the size, rounded up: about what the data costs a model to read.
    pub fn token_estimate(&self) -> usize {
        self.size_chars().div_ceil(4)
    }

    /// What was read differently from how it was written, one text a change.
    pub fn coerced(&self) -> &'a [String] {
        self.rare().map_or(&[], |rare| &rare.coerced)
    }

    /// How the data was cut.
    pub fn truncated(&self) -> Option<&'a Truncated> {
        self.rare()?.truncated.as_ref()
    }

    /// Warnings, of the tool or of the runtime.
    pub fn warnings(&self) -> &'a [String] {
        self.rare().map_or(&[], |rare| &rare.warnings)
    }

    /// What an approval is asked for.
    pub fn confirmation(&self) -> Option<&'a Confirmation> {
        self.rare()?.confirmation.as_ref()
    }

    /// Every problem of arguments that were refused.
    pub fn problems(&self) -> &'a [Problem] {
        self.rare().map_or(&[], |rare| &rare.problems)
    }

    /// A member that the tool set itself.
    pub fn extra(&self, key: &str) -> Option<&'a Value> {
        self.rare()?.extra.get(key)
    }

    fn rare(&self) -> Option<&'a RareMeta> {
        self.slim.rare.as_deref()
    }
}

/// The whole microseconds that `durationMs` tells.
pub(crate) fn micros(duration: Duration) -> u32 {
    u32::try_from(duration.as_micros()).unwrap_or(u32::MAX)
}

/// Milliseconds with three decimals.
pub(crate) fn milliseconds(duration: Duration) -> f64 {
    f64::from(micros(duration)) / 1000.0
}

/// The word for a form; none for plain data, which nearly every result is.
pub(crate) fn word_of(form: OutputKind) -> Option<&'static str> {
    match form {
        OutputKind::Data => None,
        OutputKind::Unit => Some("unit"),
        OutputKind::Content => Some("content"),
        OutputKind::Stop => Some("stop"),
    }
}

/// The form that a word stands for. A word of a later version is plain data to this one.
pub(crate) fn form_of(word: &str) -> OutputKind {
    let forms = [OutputKind::Unit, OutputKind::Content, OutputKind::Stop];
    forms.into_iter().find(|form| word_of(*form) == Some(word)).unwrap_or_default()
}
