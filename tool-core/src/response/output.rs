//! What a tool returns when a plain value is not enough.

use super::{Content, Intent, MASKED, ToolError, Truncated, encode};
use serde::Serialize;
use serde_json::{Map, Value};

/// How a result is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// JSON data.
    #[default]
    Data,
    /// Nothing to tell: the tool returned `()`.
    Unit,
    /// An array of [`Content`] parts.
    Content,
    /// No reply is wanted.
    Stop,
}

/// A result with more than data: intents for the runtime, members of `meta`, and how it is meant.
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
    pub(crate) data: Result<String, ToolError>,
    pub(crate) form: Form,
    pub(crate) rare: Option<Box<Rare>>,
}

/// The members of `meta` that the envelope has itself.
const RESERVED: [&str; 13] = [
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
    "problems",
    "form",
    "empty",
];

/// What few results have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rare {
    pub(crate) intents: Vec<Intent>,
    pub(crate) extra: Map<String, Value>,
    pub(crate) warnings: Vec<String>,
    pub(crate) empty: Option<bool>,
    pub(crate) truncated: Option<Truncated>,
}

impl ToolOutput {
    /// A result of this data. Data that does not serialise makes the call answer INTERNAL.
    pub fn new(data: impl Serialize) -> Self {
        encode::widest(&data).unwrap_or_else(|error| Self { data: Err(error), form: Form::Data, rare: None })
    }

    /// Parts that are more than JSON data.
    pub fn content(parts: impl IntoIterator<Item = Content>) -> Self {
        let parts = parts.into_iter().collect::<Vec<_>>();
        Self { form: Form::Content, ..Self::new(parts) }
    }

    /// No result and no reply: the model is not asked to go on.
    pub fn stop() -> Self {
        Self { form: Form::Stop, ..Self::new(()) }
    }

    pub(crate) fn unit() -> Self {
        Self { form: Form::Unit, ..Self::new(()) }
    }

    /// Asks the runtime for something beside the result.
    pub fn intent(mut self, intent: Intent) -> Self {
        self.rare().intents.push(intent);
        self
    }

    /// A member of the response's `meta`. Those that the envelope itself has cannot be set: it becomes a warning.
    pub fn meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        let key = key.into();
        if RESERVED.contains(&&*key) {
            return self.warning(format!("`{key}` of `meta` is the envelope's own and was not set"));
        }
        self.rare().extra.insert(key, value.into());
        self
    }

    /// A warning in the response's `meta`.
    pub fn warning(mut self, text: impl Into<String>) -> Self {
        self.rare().warnings.push(text.into());
        self
    }

    /// Whether the result counts as empty, where the runtime's own reading of the data would be wrong.
    pub fn empty(mut self, empty: bool) -> Self {
        self.rare().empty = Some(empty);
        self
    }

    /// The data as compact JSON, or the text that the model would read where it did not serialise.
    pub fn data_json(&self) -> Result<&str, &'static str> {
        self.data.as_deref().map_err(|_| MASKED)
    }

    pub(crate) fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }
}

/// A result that is not plain data. Types that implement `serde::Serialize` need not implement this.
pub trait IntoToolOutput {
    /// The result.
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
