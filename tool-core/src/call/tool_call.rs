//! A tool call, as a provider's protocol parses it out of a model's message.

use crate::call::approval_reason::ApprovalReason;
use crate::call::asker::{Asker, CallQuestions};
use crate::call::handlers::{HostHandlers, SharedHandlers, handler_setters};
use crate::call::progress::{Progress, ProgressUpdate};
use crate::json::nested::{is_nested_too_deep, unless_too_deep};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
#[cfg(feature = "tower")]
use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// A call that a model makes: an id for the response, a tool's name, and arguments.
///
/// ```
/// use serde_json::json;
/// use tool_core::ToolCall;
///
/// let call = ToolCall::new("call_1", "add", json!({"a": 1, "b": 2}));
/// assert_eq!((call.id(), call.name(), call.arguments()), ("call_1", "add", r#"{"a":1,"b":2}"#));
/// ```
#[derive(Clone, PartialEq, Eq)]
#[must_use]
pub struct ToolCall {
    id: Arc<str>,
    /// The arguments, and behind them the name: one allocation for both.
    text: String,
    /// The length of the arguments.
    arguments: usize,
    /// Members that few calls have.
    options: Option<Box<ToolCallOptions>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ToolCallOptions {
    session: Option<Arc<str>>,
    /// The approval under which the call waited, once a person has approved it.
    approval: Option<CallApproval>,
    progress: Option<Progress>,
    asker: Option<Asker>,
    cancellation: Option<Cancellation>,
    /// The number of tools above the call.
    depth: u32,
    /// The place of the nearest of these tools that waits on a thread of the session's pool.
    thread_place: Option<ThreadPlace>,
    /// True for a call that an engine makes again after a crash.
    is_step: bool,
    #[cfg(feature = "tower")]
    layers: Option<LayersRecord>,
}

/// The place of a tool that waits on a thread for other calls: of those that block a thread, one at a time runs. Calls with
/// different places are equal.
#[derive(Clone)]
pub(crate) struct ThreadPlace(Arc<Semaphore>);

impl ThreadPlace {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }

    /// Waits until no other call has the place. Dropped, the permit frees it.
    pub(crate) async fn acquire(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.0).acquire_owned().await.ok()
    }
}

impl fmt::Debug for ThreadPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ThreadPlace")
    }
}

impl PartialEq for ThreadPlace {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for ThreadPlace {}

/// The record that a session keeps of a call that passes its layers. Calls with different records are equal.
#[cfg(feature = "tower")]
#[derive(Clone)]
struct LayersRecord(Arc<dyn Any + Send + Sync>);

#[cfg(feature = "tower")]
impl fmt::Debug for LayersRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LayersRecord")
    }
}

#[cfg(feature = "tower")]
impl PartialEq for LayersRecord {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

#[cfg(feature = "tower")]
impl Eq for LayersRecord {}

/// The token of a host that may cancel the call. Calls with different tokens are equal.
#[derive(Clone, Debug)]
struct Cancellation(CancellationToken);

impl PartialEq for Cancellation {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Cancellation {}

impl ToolCall {
    /// Creates a call with arguments as text, bytes, a `Value` or a `RawValue`.
    ///
    /// Bytes that are not UTF-8 are replaced and marked, so that the call is refused as invalid
    /// JSON.
    pub fn new<'a>(
        id: impl AsRef<str>,
        name: impl AsRef<str>,
        arguments: impl Into<Arguments<'a>>,
    ) -> Self {
        let arguments = arguments.into().into_valid_text();
        Self {
            id: id.as_ref().into(),
            text: joined(&arguments, name.as_ref()),
            arguments: arguments.len(),
            options: None,
        }
    }

    /// Returns the id of the call, which its response carries.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the tool's name.
    pub fn name(&self) -> &str {
        self.text.get(self.arguments..).unwrap_or_default()
    }

    /// Returns the arguments as JSON text.
    pub fn arguments(&self) -> &str {
        self.text.get(..self.arguments).unwrap_or_default()
    }

    /// Sets the session that makes the call, for a [`Runtime`](crate::Runtime) that serves several
    /// sessions as one `tower::Service`. The call acts for the session's principal, so the id must
    /// not be a client's word alone.
    pub fn in_session(mut self, id: impl Into<Arc<str>>) -> Self {
        let options = self.options.get_or_insert_default();
        options.session = Some(id.into());
        #[cfg(feature = "tower")]
        {
            options.layers = None;
        }
        self
    }

    /// Returns the session that makes the call, if it is set.
    pub fn session(&self) -> Option<&str> {
        self.options.as_ref()?.session.as_deref()
    }

    /// Replaces the id.
    pub fn with_id(mut self, id: impl AsRef<str>) -> Self {
        self.id = id.as_ref().into();
        self
    }

    /// Sets a listener for the call's progress updates, beside that of its session. It runs on the
    /// tool's thread, so it must not wait. It changes nothing about the response, and its panic is
    /// logged.
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
    pub fn on_update(mut self, listener: impl Fn(&ProgressUpdate) + Send + Sync + 'static) -> Self {
        self.options.get_or_insert_default().progress = Some(Progress::listened(listener));
        self
    }

    /// Adds a listener beside the one that is set.
    pub(crate) fn and_on_update(
        self,
        listener: impl Fn(&ProgressUpdate) + Send + Sync + 'static,
    ) -> Self {
        match self.progress().cloned() {
            None => self.on_update(listener),
            Some(own) => self.on_update(move |update| {
                own.show(update);
                listener(update);
            }),
        }
    }

    /// Returns the progress that shows its updates to the call's own listener.
    pub(crate) fn progress(&self) -> Option<&Progress> {
        self.options.as_ref()?.progress.as_ref()
    }

    handler_setters! {
        ///
        /// It also serves the calls which the tool makes. It comes before the session's and the
        /// runtime's own, for a host that serves a session over several connections.
        |call| call.own_handlers()
    }

    /// Sets the handlers of all that the call asks, in place of those that were set before.
    pub fn with_handlers(mut self, handlers: HostHandlers) -> Self {
        *self.own_handlers() = handlers.0;
        self
    }

    fn own_handlers(&mut self) -> &mut SharedHandlers {
        &mut self
            .options
            .get_or_insert_default()
            .asker
            .get_or_insert_default()
            .own
    }

    /// Sets the call that made this one.
    pub(crate) fn called_by(mut self, caller: Arc<CallQuestions>) -> Self {
        self.options
            .get_or_insert_default()
            .asker
            .get_or_insert_default()
            .caller = Some(caller);
        self
    }

    pub(crate) fn asker(&self) -> Option<&Asker> {
        self.options.as_ref()?.asker.as_ref()
    }

    /// Sets a token whose cancellation cancels the call in a session, whenever it comes: before the call begins, while it waits to run
    /// and while its tool runs. [`Session::cancel`](crate::Session::cancel) finds calls only that run.
    ///
    /// ```
    /// # use tool_core::{CancellationToken, Mode, Runtime, ToolCall, ToolContext, tool};
    /// # /// Say hello.
    /// # #[tool]
    /// # fn greet() -> &'static str {
    /// #     "hello"
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let runtime = Runtime::builder(ToolContext::builder().with(greet).build()?).build()?;
    /// # let session = runtime.session("s-1", Mode::Text).await?;
    /// let token = CancellationToken::new();
    /// let call = ToolCall::new("call_1", "greet", "{}").with_cancellation(token.clone());
    /// token.cancel();
    /// assert!(session.call(call).await.error().is_some_and(|error| error.message.contains("cancelled")));
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_cancellation(mut self, token: CancellationToken) -> Self {
        self.options.get_or_insert_default().cancellation = Some(Cancellation(token));
        self
    }

    /// Returns true if the host has cancelled the call.
    #[inline]
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancellation()
            .is_some_and(CancellationToken::is_cancelled)
    }

    #[inline]
    pub(crate) fn cancellation(&self) -> Option<&CancellationToken> {
        Some(&self.options.as_ref()?.cancellation.as_ref()?.0)
    }

    /// Replaces the tool's name. An approval is dropped, because it was given for the other tool.
    pub fn renamed(mut self, name: impl AsRef<str>) -> Self {
        self.text.truncate(self.arguments);
        self.text.push_str(name.as_ref());
        self.unapproved()
    }

    /// Replaces the arguments. An approval is dropped, because it was given for the other
    /// arguments.
    pub fn with_arguments(mut self, arguments: impl Into<String>) -> Self {
        let mut text = arguments.into();
        let length = text.len();
        text.reserve_exact(self.name().len());
        text.push_str(self.name());
        (self.text, self.arguments) = (text, length);
        self.unapproved()
    }

    fn unapproved(mut self) -> Self {
        if let Some(options) = &mut self.options {
            options.approval = None;
        }
        self
    }

    pub(crate) fn approved(mut self, approval: CallApproval) -> Self {
        self.options.get_or_insert_default().approval = Some(approval);
        self
    }

    pub(crate) fn approval(&self) -> Option<&CallApproval> {
        self.options.as_ref()?.approval.as_ref()
    }

    pub(crate) fn at_depth(mut self, depth: u32) -> Self {
        self.options.get_or_insert_default().depth = depth;
        self
    }

    /// Sets the place of the nearest tool above the call that waits on a thread of the session's pool.
    pub(crate) fn on_thread(mut self, place: Option<ThreadPlace>) -> Self {
        self.options.get_or_insert_default().thread_place = place;
        self
    }

    /// Returns the place of the nearest tool above the call that waits on a thread of the session's pool.
    pub(crate) fn thread_place(&self) -> Option<&ThreadPlace> {
        self.options.as_ref()?.thread_place.as_ref()
    }

    /// Marks a call that an engine makes again if the process ends before its response is recorded.
    pub(crate) fn in_step(mut self) -> Self {
        self.options.get_or_insert_default().is_step = true;
        self
    }

    /// Returns true if an engine makes the call again after a crash.
    pub(crate) fn is_step(&self) -> bool {
        self.options.as_ref().is_some_and(|options| options.is_step)
    }

    /// Returns the number of tools above the call.
    pub(crate) fn depth(&self) -> u32 {
        self.options.as_ref().map_or(0, |options| options.depth)
    }

    /// Sets what the session keeps of a call that passes its layers.
    #[cfg(feature = "tower")]
    pub(crate) fn in_layers(mut self, record: Arc<dyn Any + Send + Sync>) -> Self {
        self.options.get_or_insert_default().layers = Some(LayersRecord(record));
        self
    }

    /// Returns what the session keeps of a call that passes its layers.
    #[cfg(feature = "tower")]
    pub(crate) fn layers<T: Any>(&self) -> Option<&T> {
        let record = self.options.as_ref()?.layers.as_ref()?;
        record.0.downcast_ref()
    }

    pub(crate) fn shared_id(&self) -> &Arc<str> {
        &self.id
    }
}

/// The approval of a call by a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallApproval {
    /// The id under which the call waited.
    pub(crate) id: Arc<str>,
    /// The person who approved it.
    pub(crate) by: Arc<str>,
    /// The reasons for which it waited.
    pub(crate) reasons: Arc<[ApprovalReason]>,
    /// The canonical arguments of the model, if the person has approved others.
    pub(crate) asked: Option<Arc<str>>,
    /// The grant that the person gives with the approval.
    pub(crate) grant: Option<GrantTerms>,
}

/// The further calls that a person allows with an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GrantTerms {
    /// True for calls with the same arguments only.
    pub(crate) only_these_arguments: bool,
    /// The time for which the person allows them.
    pub(crate) lifetime: Duration,
}

fn joined(arguments: &str, name: &str) -> String {
    let mut text = String::with_capacity(arguments.len() + name.len());
    text.push_str(arguments);
    text.push_str(name);
    text
}

impl fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ToolCall")
            .field(&self.id)
            .field(&self.name())
            .field(&self.arguments())
            .finish()
    }
}

/// The arguments of a call: JSON text, in any form that the caller has.
///
/// ```
/// use serde_json::json;
/// use tool_core::{RunContext, ToolContext, tool};
///
/// # /// Add two numbers.
/// # #[tool]
/// # fn add(a: i64, b: i64) -> i64 {
/// #     a + b
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_core::RegistryErrors> {
/// # let tools = ToolContext::builder().with(add).build()?;
/// let ctx = RunContext::detached();
/// // Text, bytes and a value.
/// assert!(tools.call("add", r#"{"a": 1, "b": 2}"#, &ctx).await.is_ok());
/// assert!(tools.call("add", br#"{"a": 1, "b": 2}"#.as_slice(), &ctx).await.is_ok());
/// assert!(tools.call("add", json!({"a": 1, "b": 2}), &ctx).await.is_ok());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Arguments<'a>(ArgumentsText<'a>);

#[derive(Clone, Debug)]
enum ArgumentsText<'a> {
    Text(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
}

impl<'a> Arguments<'a> {
    /// Returns the text. Bytes that are not UTF-8 are replaced and marked, so that the text is no
    /// JSON.
    fn into_valid_text(self) -> Cow<'a, str> {
        match self.0 {
            ArgumentsText::Text(text) => text,
            ArgumentsText::Bytes(bytes) => match String::from_utf8(bytes.into_owned()) {
                Ok(text) => text.into(),
                // A replacement inside a string alone would leave valid JSON, so the text begins
                // with one.
                Err(error) => {
                    format!("\u{FFFD}{}", String::from_utf8_lossy(error.as_bytes())).into()
                }
            },
        }
    }
}

impl Arguments<'_> {
    /// Returns the text, or the offset of the first byte that is not UTF-8.
    pub(crate) fn text(&self) -> Result<&str, usize> {
        match &self.0 {
            ArgumentsText::Text(text) => Ok(text),
            ArgumentsText::Bytes(bytes) => {
                std::str::from_utf8(bytes).map_err(|error| error.valid_up_to())
            }
        }
    }

    /// Returns the text. Bytes that are not UTF-8 are replaced and marked.
    pub(crate) fn into_text(self) -> String {
        self.into_valid_text().into_owned()
    }

    /// Copies what is borrowed.
    pub fn into_owned(self) -> Arguments<'static> {
        Arguments(match self.0 {
            ArgumentsText::Text(text) => ArgumentsText::Text(text.into_owned().into()),
            ArgumentsText::Bytes(bytes) => ArgumentsText::Bytes(bytes.into_owned().into()),
        })
    }
}

/// Returns a text that is refused as the value is that it stands for: it nests too deep.
#[cold]
fn too_deep() -> String {
    "[".repeat(129)
}

macro_rules! arguments_from {
    ($($type:ty, $value:ident => $form:ident($text:expr);)*) => {
        $(impl<'a> From<$type> for Arguments<'a> {
            fn from($value: $type) -> Self {
                Self(ArgumentsText::$form($text))
            }
        })*
    };
}

arguments_from! {
    &'a str, text => Text(text.into());
    &'a String, text => Text(text.as_str().into());
    String, text => Text(text.into());
    Cow<'a, str>, text => Text(text);
    &'a [u8], bytes => Bytes(bytes.into());
    &'a Vec<u8>, bytes => Bytes(bytes.as_slice().into());
    Vec<u8>, bytes => Bytes(bytes.into());
    &'a RawValue, raw => Text(raw.get().into());
    &'a Box<RawValue>, raw => Text(raw.get().into());
    Box<RawValue>, raw => Text(String::from(Box::<str>::from(raw)).into());
    Value, value => Text(unless_too_deep(value).map_or_else(too_deep, |value| value.to_string()).into());
    &'a Value, value => Text(if is_nested_too_deep(value) { too_deep() } else { value.to_string() }.into());
}
