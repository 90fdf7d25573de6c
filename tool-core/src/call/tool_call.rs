//! A call, as a provider's protocol reads it off a model's message.

use crate::call::progress::ProgressUpdate;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// A call that a model makes: an id to answer under, a tool's name, and arguments.
///
/// ```
/// use serde_json::json;
/// use tool_core::ToolCall;
///
/// let call = ToolCall::new("call_1", "add", json!({"a": 1, "b": 2}));
/// assert_eq!((call.id(), call.name(), call.arguments()), ("call_1", "add", r#"{"a":1,"b":2}"#));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    id: Arc<str>,
    name: String,
    arguments: String,
    /// What few calls have.
    rare: Option<Box<Rare>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Rare {
    session: Option<Arc<str>>,
    /// The id under which it waited for a person, who has agreed.
    approval: Option<Arc<str>>,
    heard: Option<Heard>,
}

/// Who hears of a call's updates at once.
#[derive(Clone)]
pub(crate) struct Heard(pub(crate) Arc<dyn Fn(&ProgressUpdate) + Send + Sync>);

impl fmt::Debug for Heard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Heard")
    }
}

impl PartialEq for Heard {
    /// By identity.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Heard {}

impl ToolCall {
    /// A call with arguments as text, bytes, a `Value` or a `RawValue`. Bytes that are no UTF-8 stay refusable: they
    /// are kept with replacement characters, which no JSON outside a text has.
    pub fn new<'a>(id: impl AsRef<str>, name: impl Into<String>, arguments: impl Into<Arguments<'a>>) -> Self {
        let arguments = match arguments.into().0 {
            Form::Text(text) => text.into_owned(),
            Form::Bytes(bytes) => match String::from_utf8(bytes.into_owned()) {
                Ok(text) => text,
                // Marked, so that a replacement inside a text cannot make the whole acceptable.
                Err(error) => format!("\u{FFFD}{}", String::from_utf8_lossy(error.as_bytes())),
            },
        };
        Self { id: id.as_ref().into(), name: name.into(), arguments, rare: None }
    }

    /// The id under which it is answered.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The tool's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The arguments' text.
    pub fn arguments(&self) -> &str {
        &self.arguments
    }

    /// The session that makes the call, for a [`Runtime`](crate::Runtime) that serves several as one `tower::Service`.
    #[must_use]
    pub fn in_session(mut self, id: impl Into<Arc<str>>) -> Self {
        self.rare.get_or_insert_default().session = Some(id.into());
        self
    }

    /// The session that makes the call, where it says so.
    pub fn session(&self) -> Option<&str> {
        self.rare.as_ref()?.session.as_deref()
    }

    /// The same call under another id.
    #[must_use]
    pub fn with_id(mut self, id: impl AsRef<str>) -> Self {
        self.id = id.as_ref().into();
        self
    }

    /// Says who hears at once, on the tool's thread, how the call gets on. A session answers it with its result then,
    /// whatever `Open::on_update` says of others.
    ///
    /// ```
    /// # use tool_core::{Mode, Runtime, ToolCall, ToolContext, tool, RunContext};
    /// /// Say it in two steps.
    /// #[tool]
    /// fn speak(ctx: &RunContext) -> String {
    ///     ctx.update("half way");
    ///     "done".to_owned()
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let runtime = Runtime::builder(ToolContext::builder().with(speak).build()?).build()?;
    /// # let session = runtime.session("s-1", Mode::Text).await?;
    /// let call = ToolCall::new("call_1", "speak", "{}").on_update(|update| assert_eq!(update.message, "half way"));
    /// assert_eq!(session.call(call).await.data_json(), Some(r#""done""#));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn on_update(mut self, shown: impl Fn(&ProgressUpdate) + Send + Sync + 'static) -> Self {
        self.rare.get_or_insert_default().heard = Some(Heard(Arc::new(shown)));
        self
    }

    pub(crate) fn heard(&self) -> Option<&Heard> {
        self.rare.as_ref()?.heard.as_ref()
    }

    /// The same call of the tool by another name. What a person has agreed to was the other, so that is forgotten.
    #[must_use]
    pub fn renamed(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self.unapproved()
    }

    /// The same call with other arguments. What a person has agreed to were the others, so that is forgotten.
    #[must_use]
    pub fn with_arguments(mut self, arguments: impl Into<String>) -> Self {
        self.arguments = arguments.into();
        self.unapproved()
    }

    fn unapproved(mut self) -> Self {
        if let Some(rare) = &mut self.rare {
            rare.approval = None;
        }
        self
    }

    pub(crate) fn approved(mut self, id: &str) -> Self {
        self.rare.get_or_insert_default().approval = Some(id.into());
        self
    }

    pub(crate) fn approval(&self) -> Option<&Arc<str>> {
        self.rare.as_ref()?.approval.as_ref()
    }

    pub(crate) fn shared_session(&self) -> Option<&Arc<str>> {
        self.rare.as_ref()?.session.as_ref()
    }

    pub(crate) fn shared_id(&self) -> &Arc<str> {
        &self.id
    }
}

// ---- The arguments of a call, as they come.

/// The arguments of a call: JSON text, in whatever form the caller holds it.
#[derive(Clone, Debug)]
pub struct Arguments<'a>(pub(crate) Form<'a>);

#[derive(Clone, Debug)]
pub(crate) enum Form<'a> {
    Text(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
}

impl Arguments<'_> {
    /// The text, or where it stops being UTF-8.
    pub(crate) fn text(&self) -> Result<&str, usize> {
        match &self.0 {
            Form::Text(text) => Ok(text),
            Form::Bytes(bytes) => std::str::from_utf8(bytes).map_err(|error| error.valid_up_to()),
        }
    }

    /// The same without borrowing.
    pub fn into_owned(self) -> Arguments<'static> {
        Arguments(match self.0 {
            Form::Text(text) => Form::Text(text.into_owned().into()),
            Form::Bytes(bytes) => Form::Bytes(bytes.into_owned().into()),
        })
    }
}

macro_rules! from {
    ($($(#[$doc:meta])* $type:ty, $value:ident => $form:expr;)*) => {
        $($(#[$doc])*
        impl<'a> From<$type> for Arguments<'a> {
            fn from($value: $type) -> Self {
                Self($form)
            }
        })*
    };
}

from! {
    &'a str, text => Form::Text(text.into());
    &'a String, text => Form::Text(text.as_str().into());
    String, text => Form::Text(text.into());
    Cow<'a, str>, text => Form::Text(text);
    &'a [u8], bytes => Form::Bytes(bytes.into());
    &'a Vec<u8>, bytes => Form::Bytes(bytes.as_slice().into());
    Vec<u8>, bytes => Form::Bytes(bytes.into());
    &'a RawValue, raw => Form::Text(raw.get().into());
    &'a Box<RawValue>, raw => Form::Text(raw.get().into());
    Box<RawValue>, raw => Form::Text(String::from(Box::<str>::from(raw)).into());
    Value, value => Form::Text(value.to_string().into());
    &'a Value, value => Form::Text(value.to_string().into());
}
