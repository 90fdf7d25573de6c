//! The response of a call: its data or error, and its metadata.

use crate::arguments::problem::Problem;
use crate::call::error::{ErrorBody, ToolError};
use crate::call::intent::Intent;
use crate::call::output::{OutputKind, ToolOutput};
use crate::call::tool_call::ToolCall;
use crate::call::truncation::Truncated;
use crate::text::{Name, characters};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The version of the envelope.
pub const SCHEMA_VERSION: &str = "1.0.0";

/// The response to a call: data, or an error that the model can act on. Every call has exactly one.
///
/// Its JSON, the envelope, is `{"ok":true,"data":..,"intents":[..],"meta":{..}}` or
/// `{"ok":false,"error":{"type","message","retryable","partialSideEffects"},"meta":{..}}`. Two responses are equal where
/// their data (as text), kind, error and metadata are equal.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResponse {
    /// The data as compact JSON, or the error.
    pub(crate) result: Result<String, Box<ErrorBody>>,
    pub(crate) kind: OutputKind,
    pub(crate) meta: BaseMeta,
}

/// The metadata of every response. Members that few responses have are boxed, so that most responses stay small.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BaseMeta {
    pub(crate) tool: Name,
    pub(crate) call_id: Option<Arc<str>>,
    pub(crate) duration: Duration,
    pub(crate) optional: Option<Box<OptionalMeta>>,
}

/// The metadata that few responses have.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct OptionalMeta {
    pub(crate) intents: Vec<Intent>,
    pub(crate) coerced: Vec<String>,
    pub(crate) truncated: Option<Truncated>,
    pub(crate) warnings: Vec<String>,
    pub(crate) confirmation: Option<Confirmation>,
    pub(crate) problems: Vec<Problem>,
    /// The members that the tool has added.
    pub(crate) extra: Map<String, Value>,
    pub(crate) empty: Option<bool>,
}

/// The details of a pending approval, for the host's user interface. They are never encoded for the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Confirmation {
    /// The token that `approve` and `deny` take.
    pub token: String,
    /// A description of the call that waits for approval.
    pub summary: String,
    /// The time at which the approval expires, RFC 3339.
    pub expires_at: String,
}

/// The reason why a response has no data of the requested type. See [`ToolResponse::data`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// The call failed, so there is no data.
    #[error("the call failed: {}: {}", .0.kind, .0.message)]
    Failed(ErrorBody),
    /// The data does not decode as the requested type.
    #[error("failed to decode the data of `{tool}` as `{expected}`")]
    Decode {
        /// The tool's name.
        tool: String,
        /// The Rust type that was requested.
        expected: &'static str,
        /// The error of the decoder.
        source: serde_json::Error,
    },
}

impl ToolResponse {
    /// Returns true where the call succeeded.
    pub fn is_ok(&self) -> bool {
        self.result.is_ok()
    }

    /// Returns the data as compact JSON; `None` for an error.
    pub fn data_json(&self) -> Option<&str> {
        self.result.as_deref().ok()
    }

    /// Decodes the data into `T`. A [`Content`](super::Content) result decodes into `Vec<Content>`.
    ///
    /// # Errors
    ///
    /// [`DataError::Failed`] where the call failed, and [`DataError::Decode`] where the data has another shape.
    ///
    /// ```
    /// use tool_core::{RunContext, ToolContext, tool};
    ///
    /// /// Add two numbers.
    /// #[tool]
    /// fn add(a: i64, b: i64) -> i64 {
    ///     a + b
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// let tools = ToolContext::builder().with(add).build()?;
    /// let sum: i64 = tools.call("add", r#"{"a": 1, "b": 2}"#, &RunContext::detached()).await.data()?;
    /// assert_eq!(sum, 3);
    /// # Ok(())
    /// # }
    /// ```
    pub fn data<T: for<'de> Deserialize<'de>>(&self) -> Result<T, DataError> {
        let text = self.result.as_ref().map_err(|error| DataError::Failed((**error).clone()))?;
        serde_json::from_str(text).map_err(|source| DataError::Decode {
            tool: self.meta.tool.to_string(),
            expected: std::any::type_name::<T>(),
            source,
        })
    }

    /// Returns the error; `None` for a success.
    pub fn error(&self) -> Option<&ErrorBody> {
        self.result.as_ref().err().map(AsRef::as_ref)
    }

    /// Returns the intents of the call, in order.
    pub fn intents(&self) -> &[Intent] {
        self.meta.optional.as_ref().map_or(&[], |optional| &optional.intents)
    }

    /// Returns the metadata of the call.
    pub fn meta(&self) -> ResponseMeta<'_> {
        ResponseMeta { meta: &self.meta, kind: self.kind, data: self.result.as_deref().unwrap_or_default() }
    }

    /// Returns the kind of the result.
    pub fn kind(&self) -> OutputKind {
        self.kind
    }

    /// Creates a success for a call that the runtime answers instead of the tool.
    pub(crate) fn of_call(call: &ToolCall, output: ToolOutput, began: Instant) -> Self {
        match output.data {
            Ok(data) => {
                let (tool, call_id) = (call.name().into(), Some(Arc::clone(call.shared_id())));
                let meta = BaseMeta { tool, call_id, duration: began.elapsed(), optional: None };
                Self { result: Ok(data), kind: output.kind, meta }
            }
            Err(error) => Self::refused(call, error, began),
        }
    }

    /// Creates an error for a call that never reached its tool.
    #[cold]
    pub(crate) fn refused(call: &ToolCall, error: ToolError, began: Instant) -> Self {
        Self::unhandled(call.name(), Some(Arc::clone(call.shared_id())), error, began)
    }

    /// Creates an error for a call by a name that may be the model's invention.
    #[cold]
    pub(crate) fn unhandled(name: &str, call_id: Option<Arc<str>>, error: ToolError, began: Instant) -> Self {
        let tool = shorten_name(name);
        let error = error.into_body(&tool, true);
        let meta = BaseMeta { tool: tool.into(), call_id, duration: began.elapsed(), optional: None };
        Self { result: Err(Box::new(error)), kind: OutputKind::Data, meta }
    }

    /// Creates the error of a call that needs a session and has none.
    #[cold]
    pub(crate) fn outside_session(call: &ToolCall) -> Self {
        let message = "there is no open session to make this call in";
        Self::refused(call, ToolError::session_inactive(message), Instant::now())
    }

    /// Removes the intents, which were carried out for another call.
    pub(crate) fn drop_intents(&mut self) {
        if let Some(optional) = &mut self.meta.optional {
            optional.intents.clear();
        }
    }

    pub(crate) fn optional_meta(&mut self) -> &mut OptionalMeta {
        self.meta.optional.get_or_insert_default()
    }
}

/// Makes a name that a model invented fit for display: control characters are escaped, and a long name is cut.
pub(crate) fn shorten_name(name: &str) -> String {
    let escaped = name.escape_debug().to_string();
    match escaped.char_indices().nth(128) {
        None => escaped,
        Some((end, _)) => format!("{}...", &escaped[..end]),
    }
}

/// The metadata of a response.
#[derive(Clone, Copy, Debug)]
pub struct ResponseMeta<'a> {
    pub(crate) meta: &'a BaseMeta,
    pub(crate) kind: OutputKind,
    data: &'a str,
}

impl<'a> ResponseMeta<'a> {
    /// Returns the version of the envelope.
    pub fn schema_version(&self) -> &'static str {
        SCHEMA_VERSION
    }

    /// Returns the tool's name, or the name that was called where there is no such tool.
    pub fn tool(&self) -> &'a str {
        &self.meta.tool
    }

    /// Returns the id of the call; `None` outside a session.
    pub fn call_id(&self) -> Option<&'a str> {
        self.meta.call_id.as_deref()
    }

    /// Returns the time from the call's arrival to its response.
    pub fn duration(&self) -> Duration {
        self.meta.duration
    }

    /// Counts the characters (Unicode scalars) of the data as compact JSON; 0 for an error.
    pub fn size_chars(&self) -> usize {
        characters(self.data)
    }

    /// Estimates the tokens that the data costs a model: a quarter of its characters, rounded up.
    pub fn token_estimate(&self) -> usize {
        self.size_chars().div_ceil(4)
    }

    /// Returns the coercions of arguments, one text each, such as `/minutes: text to integer`.
    pub fn coerced(&self) -> &'a [String] {
        self.optional().map_or(&[], |optional| &optional.coerced)
    }

    /// Returns the truncation of the data, where it was cut.
    pub fn truncated(&self) -> Option<&'a Truncated> {
        self.optional()?.truncated.as_ref()
    }

    /// Returns the warnings of the tool and of the runtime.
    pub fn warnings(&self) -> &'a [String] {
        self.optional().map_or(&[], |optional| &optional.warnings)
    }

    /// Returns the pending approval, where the call waits for one.
    pub fn confirmation(&self) -> Option<&'a Confirmation> {
        self.optional()?.confirmation.as_ref()
    }

    /// Returns every problem of arguments that failed validation.
    pub fn problems(&self) -> &'a [Problem] {
        self.optional().map_or(&[], |optional| &optional.problems)
    }

    /// Returns a member that the tool added with [`ToolOutput::meta`].
    pub fn extra(&self, key: &str) -> Option<&'a Value> {
        self.optional()?.extra.get(key)
    }

    fn optional(&self) -> Option<&'a OptionalMeta> {
        self.meta.optional.as_deref()
    }
}
