//! What a tool returns when a plain value is not enough.

use crate::call::MASKED;
use crate::call::cut::{SizeUnit, Truncated, cut_bytes};
use crate::call::error::ToolError;
use crate::call::intent::Intent;
use crate::json::writer::{Error, Writer};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How a result is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutputKind {
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
    pub(crate) form: OutputKind,
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
        widest(&data).unwrap_or_else(|error| Self { data: Err(error), form: OutputKind::Data, rare: None })
    }

    /// Parts that are more than JSON data.
    pub fn content(parts: impl IntoIterator<Item = Content>) -> Self {
        let parts = parts.into_iter().collect::<Vec<_>>();
        Self { form: OutputKind::Content, ..Self::new(parts) }
    }

    /// No result and no reply: the model is not asked to go on.
    pub fn stop() -> Self {
        Self { form: OutputKind::Stop, ..Self::new(()) }
    }

    pub(crate) fn unit() -> Self {
        Self { form: OutputKind::Unit, ..Self::new(()) }
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

// ---- Parts of a result that are not plain JSON data.

/// A part of a result, for models that take more than text. A tool returns one, or a `Vec` of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Content {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// An image.
    Image {
        /// Base64.
        data: String,
        /// Such as `image/png`.
        mime_type: String,
    },
    /// Sound.
    Audio {
        /// Base64.
        data: String,
        /// Such as `audio/wav`.
        mime_type: String,
    },
    /// Something that stands elsewhere.
    Resource {
        /// Where.
        uri: String,
        /// Such as `text/markdown`, where it is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
        /// Its text, where it is at hand.
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
}

impl Content {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// An image in base64.
    pub fn image(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Image { data: data.into(), mime_type: mime_type.into() }
    }

    /// Sound in base64.
    pub fn audio(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Audio { data: data.into(), mime_type: mime_type.into() }
    }

    /// Something that stands elsewhere.
    pub fn resource(uri: impl Into<String>) -> Self {
        Self::Resource { uri: uri.into(), mime_type: None, text: None }
    }
}

// ---- A tool's result to JSON text: once, bounded in bytes and in depth.

/// The bytes that a result may have before anybody asks for less: far past what a model can read.
const BYTES: usize = 1 << 20;

/// Serialises `value`; what outgrows `bytes` is cut to valid JSON with a marker.
pub(crate) fn encode<T: Serialize + ?Sized>(value: &T, bytes: usize) -> Result<ToolOutput, ToolError> {
    let mut writer = Writer::new(bytes);
    let written = value.serialize(&mut writer);
    finish(writer, written, bytes)
}

fn finish(writer: Writer, written: Result<(), Error>, bytes: usize) -> Result<ToolOutput, ToolError> {
    if writer.is_full() {
        return Ok(cut_output(writer.into_text().as_bytes(), bytes));
    }
    written.map_err(|error| failed(&error))?;
    Ok(ToolOutput { data: Ok(writer.into_text()), form: OutputKind::Data, rare: None })
}

/// Serialises a value that may nest too deep for its own `Drop`, which recurses.
pub(crate) fn encode_tree(value: Value, bytes: usize) -> Result<ToolOutput, ToolError> {
    let encoded = encode(&value, bytes);
    if encoded.is_err() {
        take_apart(value);
    }
    encoded
}

#[cold]
fn take_apart(value: Value) {
    let mut left = vec![value];
    while let Some(value) = left.pop() {
        match value {
            Value::Array(items) => left.extend(items),
            Value::Object(members) => left.extend(members.into_iter().map(|(_, member)| member)),
            _ => {}
        }
    }
}

/// A list that grows item by item, up to a limit.
pub(crate) struct List {
    text: String,
    bytes: usize,
}

impl List {
    pub(crate) fn new(bytes: usize) -> Self {
        Self { text: "[".to_owned(), bytes }
    }

    /// Adds an item's JSON; false once the list has outgrown its limit.
    pub(crate) fn push(&mut self, item: &str) -> bool {
        if self.text.len() > 1 {
            self.text.push(',');
        }
        self.text.push_str(item);
        self.text.len() < self.bytes
    }

    pub(crate) fn finish(mut self) -> ToolOutput {
        self.text.push(']');
        match self.text.as_bytes().get(..self.bytes) {
            Some(partial) if self.text.len() > self.bytes => cut_output(partial, self.bytes),
            _ => ToolOutput { data: Ok(self.text), form: OutputKind::Data, rare: None },
        }
    }
}

/// Serialises under the widest bound there is.
pub(crate) fn widest<T: Serialize + ?Sized>(value: &T) -> Result<ToolOutput, ToolError> {
    encode(value, BYTES)
}

#[cold]
fn failed(error: &Error) -> ToolError {
    ToolError::internal(format!("the result does not serialise: {error}"))
}

#[cold]
fn cut_output(partial: &[u8], bytes: usize) -> ToolOutput {
    let truncated = Truncated { limit: bytes, unit: SizeUnit::Bytes, total: None };
    let data = cut_bytes(partial, &truncated);
    ToolOutput {
        data: Ok(data),
        form: OutputKind::Data,
        rare: Some(Box::new(Rare { truncated: Some(truncated), ..Rare::default() })),
    }
}
