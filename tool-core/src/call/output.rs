//! Tool outputs: results with more than plain data, and their serialisation to bounded JSON.

use crate::call::content::Content;
use crate::call::error::{MASKED, ToolError};
use crate::call::intent::Intent;
use crate::call::meta::{OptionalMeta, OutputKind};
use crate::call::original::Original;
use crate::call::truncation::{SizeUnit, Truncated, close_partial};
use crate::json::nested::{MAX_STORED_DEPTH, drop_iteratively, unless_deeper};
use crate::json::writer::{JsonWriter, WriteError};
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;

/// A result with more than data: intents for the runtime, members of `meta`, and the kind of the
/// result.
///
/// ```
/// use tool_core::{Intent, ToolOutput};
///
/// let output = ToolOutput::new(&["a", "b"]).intent(Intent::SuppressAudio).meta("source", "cache");
/// assert_eq!(output.data_json(), Ok(r#"["a","b"]"#));
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ToolOutput {
    pub(crate) data: Result<Cow<'static, str>, ToolError>,
    pub(crate) kind: OutputKind,
    /// Members that few results have.
    pub(crate) meta: Option<Box<OptionalMeta>>,
}

/// The members of `meta` that belong to the envelope.
const RESERVED: [&str; 17] = [
    "schemaVersion",
    "tool",
    "callId",
    "durationMs",
    "sizeChars",
    "tokenEstimate",
    "coerced",
    "truncated",
    "warnings",
    "confirmation",
    "nestedConfirmations",
    "changedArguments",
    "attempts",
    "retryAfterMs",
    "problems",
    "form",
    "empty",
];

impl ToolOutput {
    /// Creates a result with this data. Where the data does not serialise, the call fails with
    /// INTERNAL.
    ///
    /// Data that nests deeper than 128 does not serialise. If it nests deeper than 256, it is
    /// leaked, because dropping it would recurse as deep. A tool that returns a `serde_json::Value`
    /// itself leaks nothing.
    pub fn new(data: impl Serialize) -> Self {
        encode_owned(data, MAX_BYTES).unwrap_or_else(|error| Self {
            data: Err(error),
            kind: OutputKind::Data,
            meta: None,
        })
    }

    /// Creates a result of content parts, for example text and images.
    pub fn content(parts: impl IntoIterator<Item = Content>) -> Self {
        Self {
            kind: OutputKind::Content,
            ..Self::new(parts.into_iter().collect::<Vec<_>>())
        }
    }

    /// Sets content parts that the model reads in place of the data, for example an image beside
    /// its description as data. They are left out if they exceed the limit of the tool's result.
    /// The envelope has the data only.
    ///
    /// ```
    /// use tool_core::call::ResultForm;
    /// use tool_core::{Content, RunContext, ToolContext, ToolOutput, tool};
    ///
    /// /// Read a note.
    /// #[tool]
    /// fn note() -> ToolOutput {
    ///     ToolOutput::new([("lines", 2)]).with_content([Content::text("Buy milk.\nWater the plants.")])
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_core::RegistryErrors> {
    /// let tools = ToolContext::builder().with(note).build()?;
    /// let response = tools.call("note", "", &RunContext::detached()).await;
    /// assert_eq!(response.data_json(), Some(r#"[["lines",2]]"#));
    /// assert_eq!(response.into_text(), "Buy milk.\nWater the plants.");
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_content(mut self, parts: impl IntoIterator<Item = Content>) -> Self {
        self.meta_mut().content = parts.into_iter().collect();
        self
    }

    /// Creates a result to which the model should not reply.
    pub fn stop() -> Self {
        Self {
            kind: OutputKind::Stop,
            ..Self::new(())
        }
    }

    /// Creates the result of a call that fails, beside which further members can be set.
    #[doc(hidden)]
    pub fn failed(error: ToolError) -> Self {
        Self {
            data: Err(error),
            kind: OutputKind::Data,
            meta: None,
        }
    }

    /// Sets the result in the form in which another server has sent it.
    #[doc(hidden)]
    pub fn original(mut self, original: Original) -> Self {
        self.meta_mut().original = Some(original);
        self
    }

    /// Hands the conversation to another agent.
    pub(crate) fn handoff(mut self, agent: String) -> Self {
        self.meta_mut().handoff = Some(agent);
        self
    }

    #[inline]
    pub(crate) fn unit() -> Self {
        Self {
            data: Ok(Cow::Borrowed("null")),
            kind: OutputKind::Unit,
            meta: None,
        }
    }

    /// Adds an intent: a request to the runtime beside the result.
    pub fn intent(mut self, intent: Intent) -> Self {
        match intent.checked() {
            Ok(intent) => self.meta_mut().intents.push(intent),
            Err(problem) => return self.warning(problem),
        }
        self
    }

    /// Sets a member of the response's `meta`. The envelope's own members cannot be set; an attempt
    /// becomes a warning.
    pub fn meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        let key = key.into();
        if RESERVED.contains(&&*key) {
            return self.warning(format!("`{key}` of `meta` is reserved and was not set"));
        }
        // Stores keep the response, and give it back from JSON text.
        let Some(value) = unless_deeper(value.into(), MAX_STORED_DEPTH) else {
            return self.warning(format!(
                "`{key}` of `meta` nests deeper than {MAX_STORED_DEPTH} and was not set"
            ));
        };
        self.meta_mut().extra.insert(key, value);
        self
    }

    /// Adds a warning to the response's `meta`.
    pub fn warning(mut self, text: impl Into<String>) -> Self {
        self.meta_mut().warnings.push(text.into());
        self
    }

    /// Sets whether the result counts as empty, where the runtime would judge the data wrongly.
    pub fn empty(mut self, empty: bool) -> Self {
        self.meta_mut().empty = Some(empty);
        self
    }

    /// Returns the data as compact JSON, or the text that the model reads if the data did not
    /// serialise.
    pub fn data_json(&self) -> Result<&str, &'static str> {
        self.data.as_deref().map_err(|_| MASKED)
    }

    fn meta_mut(&mut self) -> &mut OptionalMeta {
        self.meta.get_or_insert_default()
    }

    /// Creates a result from the first bytes of a JSON text that exceeded the limit.
    #[cold]
    fn truncated(partial: &[u8], limit: usize) -> Self {
        let truncated = Truncated {
            limit,
            unit: SizeUnit::Bytes,
            total: None,
        };
        let data = Ok(close_partial(partial, &truncated).into());
        let meta = OptionalMeta {
            truncated: Some(truncated),
            ..OptionalMeta::default()
        };
        Self {
            data,
            kind: OutputKind::Data,
            meta: Some(Box::new(meta)),
        }
    }
}

/// A result that is not plain data. Types that implement `serde::Serialize` do not need it.
///
/// ```
/// use tool_core::call::IntoToolOutput;
/// use tool_core::{RunContext, ToolContext, ToolOutput, tool};
///
/// struct Found(Vec<String>);
///
/// impl IntoToolOutput for Found {
///     fn into_tool_output(self) -> ToolOutput {
///         let count = self.0.len();
///         ToolOutput::new(self.0).meta("count", count)
///     }
/// }
///
/// /// Search.
/// #[tool]
/// fn search() -> Found {
///     Found(vec!["a".into(), "b".into()])
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_core::RegistryErrors> {
/// let tools = ToolContext::builder().with(search).build()?;
/// let response = tools.call("search", "", &RunContext::detached()).await;
/// assert_eq!(response.data_json(), Some(r#"["a","b"]"#));
/// assert_eq!(response.meta().extra("count"), Some(&2.into()));
/// # Ok(())
/// # }
/// ```
pub trait IntoToolOutput {
    /// Converts to the tool's output.
    fn into_tool_output(self) -> ToolOutput;
}

impl IntoToolOutput for ToolOutput {
    fn into_tool_output(self) -> ToolOutput {
        self
    }
}

impl IntoToolOutput for () {
    fn into_tool_output(self) -> ToolOutput {
        ToolOutput::unit()
    }
}

impl IntoToolOutput for Content {
    fn into_tool_output(self) -> ToolOutput {
        ToolOutput::content([self])
    }
}

impl IntoToolOutput for Vec<Content> {
    fn into_tool_output(self) -> ToolOutput {
        ToolOutput::content(self)
    }
}

/// The maximum size of a result before any other limit applies. No model can read that much.
pub(crate) const MAX_BYTES: usize = 1 << 20;

/// Serialises `value` to compact JSON. A text longer than `bytes` is cut to valid JSON with a
/// marker.
pub(crate) fn encode<T: Serialize + ?Sized>(
    value: &T,
    bytes: usize,
) -> Result<ToolOutput, ToolError> {
    let mut writer = JsonWriter::new(bytes);
    let written = value.serialize(&mut writer);
    finish(writer, written, bytes)
}

// Not generic, so that it is compiled once.
fn finish(
    writer: JsonWriter,
    written: Result<(), WriteError>,
    bytes: usize,
) -> Result<ToolOutput, ToolError> {
    if writer.is_full() {
        return Ok(ToolOutput::truncated(writer.into_text().as_bytes(), bytes));
    }
    written
        .map_err(|error| ToolError::internal(format!("failed to serialise the result: {error}")))?;
    Ok(ToolOutput {
        data: Ok(writer.into_text().into()),
        kind: OutputKind::Data,
        meta: None,
    })
}

/// Serialises a value of any type, and drops it.
#[inline]
pub(crate) fn encode_owned<T: Serialize>(value: T, bytes: usize) -> Result<ToolOutput, ToolError> {
    let encoded = encode(&value, bytes);
    if encoded
        .as_ref()
        .map_or(true, |output| output.meta.is_some())
    {
        drop_or_leak(value);
    }
    encoded
}

/// The deepest that a value may nest whose own `Drop` recurses.
const MAX_DROP_DEPTH: u32 = 256;

/// The part of a value whose depth is measured, in bytes of JSON.
const MEASURED_BYTES: usize = 16 << 20;

/// Drops a value that was not written to its end, or leaks it where its own `Drop` could exceed the
/// stack.
#[cold]
fn drop_or_leak<T: Serialize>(value: T) {
    let mut writer = JsonWriter::with_depth(MEASURED_BYTES, MAX_DROP_DEPTH);
    // The outcome is in the writer.
    let _ = value.serialize(&mut writer);
    if writer.is_too_deep() {
        std::mem::forget(value);
    }
}

/// Serialises a value that may nest too deep for its own `Drop`, which recurses.
pub(crate) fn encode_tree(value: Value, bytes: usize) -> Result<ToolOutput, ToolError> {
    let encoded = encode(&value, bytes);
    // What was cut off may be nested at any depth.
    if encoded
        .as_ref()
        .map_or(true, |output| output.meta.is_some())
    {
        drop_iteratively(value);
    }
    encoded
}

/// A JSON array that is built item by item, up to a limit.
pub(crate) struct BoundedArray {
    text: String,
    bytes: usize,
}

impl BoundedArray {
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            text: "[".to_owned(),
            bytes,
        }
    }

    /// Adds an item's JSON. Returns false once the array exceeds its limit.
    pub(crate) fn push(&mut self, item: &str) -> bool {
        if self.text.len() > 1 {
            self.text.push(',');
        }
        self.text.push_str(item);
        self.text.len() < self.bytes
    }

    /// Creates the result of a call that fails after these items, which its message shows to the
    /// model.
    #[cold]
    pub(crate) fn fail(mut self, error: ToolError) -> ToolOutput {
        let is_empty = self.text.len() == 1;
        self.text.push(']');
        let items_before_error = if is_empty { None } else { Some(self.text) };
        let meta = OptionalMeta {
            items_before_error,
            ..OptionalMeta::default()
        };
        ToolOutput {
            data: Err(error),
            kind: OutputKind::Data,
            meta: Some(Box::new(meta)),
        }
    }

    pub(crate) fn finish(mut self) -> ToolOutput {
        self.text.push(']');
        match self.text.as_bytes().get(..self.bytes) {
            Some(partial) if self.text.len() > self.bytes => {
                ToolOutput::truncated(partial, self.bytes)
            }
            _ => ToolOutput {
                data: Ok(self.text.into()),
                kind: OutputKind::Data,
                meta: None,
            },
        }
    }
}
