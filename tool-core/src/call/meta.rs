//! The metadata of a response: the `meta` of its envelope.

use crate::arguments::problem::Problem;
use crate::call::approval_form::ShownCall;
use crate::call::approval_reason::{ApprovalReason, read_bounded};
use crate::call::content::Content;
use crate::call::intent::Intent;
use crate::call::original::Original;
use crate::call::truncation::Truncated;
use crate::schema::parameter::Parameter;
use crate::text::{Name, characters};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

/// The version of the envelope.
pub const SCHEMA_VERSION: &str = "1.0.0";

/// The kind of a result.
///
/// ```
/// use tool_core::call::OutputKind;
/// use tool_core::{RunContext, ToolContext, ToolOutput, tool};
///
/// /// Ignore what was said to someone else.
/// #[tool]
/// fn ignore() -> ToolOutput {
///     ToolOutput::stop()
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_core::RegistryErrors> {
/// let tools = ToolContext::builder().with(ignore).build()?;
/// let response = tools.call("ignore", "{}", &RunContext::detached()).await;
/// assert_eq!(response.kind(), OutputKind::Stop);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutputKind {
    /// JSON data.
    #[default]
    Data,
    /// No data: the tool returned `()`.
    Unit,
    /// An array of [`Content`](crate::Content) parts.
    Content,
    /// No data, and the model should not reply.
    Stop,
}

/// The metadata of every response. Members that few responses have are boxed, so that most
/// responses stay small.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BaseMeta {
    pub(crate) tool: Name,
    pub(crate) call_id: Option<Arc<str>>,
    pub(crate) duration: Duration,
    pub(crate) optional: Option<Box<OptionalMeta>>,
}

/// The metadata that few responses have. It serialises as members of `meta`, except the intents,
/// which are beside it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct OptionalMeta {
    #[serde(skip)]
    pub(crate) intents: Vec<Intent>,
    /// The parts that the model reads in place of the data, if there are any.
    #[serde(skip)]
    pub(crate) content: Vec<Content>,
    /// The result in the form in which another server has sent it.
    #[serde(skip)]
    pub(crate) original: Option<Original>,
    /// The list of the items that a stream had returned before it failed, until the error's message
    /// has them.
    #[serde(skip)]
    pub(crate) items_before_error: Option<String>,
    #[serde(skip_serializing_if = "CoercionNotes::is_empty")]
    pub(crate) coerced: CoercionNotes,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) truncated: Option<Truncated>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) warnings: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) confirmation: Option<Confirmation>,
    #[serde(skip_serializing_if = "Vec::is_empty", rename = "nestedConfirmations")]
    pub(crate) nested_confirmations: Vec<Confirmation>,
    #[serde(skip_serializing_if = "Option::is_none", rename = "changedArguments")]
    pub(crate) changed_arguments: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) problems: Vec<Problem>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) empty: Option<bool>,
    /// The times that the tool has run for the call, if it has run more than once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) attempts: Option<u32>,
    /// The milliseconds after which the call may succeed.
    #[serde(skip_serializing_if = "Option::is_none", rename = "retryAfterMs")]
    pub(crate) retry_after: Option<u64>,
    #[serde(skip)]
    pub(crate) session_is_lost: bool,
    /// True if the call did not run because another process is running it.
    #[serde(skip)]
    pub(crate) runs_elsewhere: bool,
    /// True if the response is the first update of a call, which goes on in the background.
    #[serde(skip)]
    pub(crate) goes_on: bool,
    /// The agent to which the conversation is handed. It is not read back, so that no other server
    /// names it.
    #[serde(skip)]
    pub(crate) handoff: Option<String>,
    /// The members that the tool has added.
    #[serde(flatten, serialize_with = "serialize_extra")]
    pub(crate) extra: Map<String, Value>,
}

impl OptionalMeta {
    /// Removes and returns the pending approvals.
    pub(crate) fn take_confirmations(&mut self) -> Vec<Confirmation> {
        let nested = std::mem::take(&mut self.nested_confirmations);
        self.confirmation.take().into_iter().chain(nested).collect()
    }
}

/// The coercions of a call's arguments. Those of `null` are bits until their lines are read.
#[derive(Clone, Default)]
pub(crate) struct CoercionNotes {
    nulls: u64,
    rows: &'static [Parameter],
    lines: OnceLock<Vec<String>>,
}

impl CoercionNotes {
    /// Creates the notes of parameters whose `null` was coerced. `nulls` has a bit for each.
    pub(crate) fn of_nulls(nulls: u64, rows: &'static [Parameter]) -> Self {
        Self {
            nulls,
            rows,
            lines: OnceLock::new(),
        }
    }

    pub(crate) fn lines(&self) -> &[String] {
        self.lines.get_or_init(|| {
            let coerced = self
                .rows
                .iter()
                .take(64)
                .enumerate()
                .filter(|(at, _)| self.nulls >> at & 1 == 1);
            coerced
                .map(|(_, row)| format!("/{}: null to absent", row.name))
                .collect()
        })
    }

    fn is_empty(&self) -> bool {
        self.lines().is_empty()
    }
}

impl From<Vec<String>> for CoercionNotes {
    fn from(lines: Vec<String>) -> Self {
        Self {
            lines: lines.into(),
            ..Self::default()
        }
    }
}

impl fmt::Debug for CoercionNotes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines().fmt(f)
    }
}

impl PartialEq for CoercionNotes {
    fn eq(&self, other: &Self) -> bool {
        self.lines() == other.lines()
    }
}

impl Serialize for CoercionNotes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.lines().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CoercionNotes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::from)
    }
}

/// Leaves out the names that would be read back as members of the envelope's own.
fn serialize_extra<S: Serializer>(
    extra: &Map<String, Value>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(
        extra
            .iter()
            .filter(|(name, _)| !matches!(name.as_str(), "form" | "empty")),
    )
}

/// The details of a pending approval, for the host's user interface. They are never encoded for the
/// model.
///
/// ```
/// use tool_core::{ErrorKind, Mode, Runtime, ToolCall, ToolContext, tool};
///
/// /// Cancel the booking.
/// #[tool(category = "action", confirm)]
/// fn cancel(number: u32) -> String {
///     format!("booking {number} is cancelled")
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runtime = Runtime::builder(ToolContext::builder().with(cancel).build()?).build()?;
/// let session = runtime.session("s-1", Mode::Text).await?;
/// let response = session.call(ToolCall::new("call_1", "cancel", r#"{"number": 12}"#)).await;
/// let confirmation = response.meta().confirmation().expect("it waits");
/// assert_eq!(confirmation.summary, "cancel(number: 12)"); // show it to a person
///
/// let response = session.deny(&confirmation.token).await;
/// assert_eq!(response.error().map(|error| error.kind), Some(ErrorKind::Denied));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Confirmation {
    /// The token that `approve` and `deny` take.
    pub token: String,
    /// The tool's name.
    #[serde(default)]
    pub tool: String,
    /// A description of the call that waits for approval, on one line.
    pub summary: String,
    /// The arguments for a form, one a line, `name: value`. Long ones are shortened as in the
    /// summary.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// The reasons for which the call waits, one of each condition that asked: of the tool, of the
    /// policy, of hooks. At most 8.
    #[serde(default, deserialize_with = "read_bounded")]
    pub reasons: Vec<ApprovalReason>,
    /// `sha256:` and the digest of the tool and all arguments, which a summary may show in part.
    pub digest: String,
    /// The time at which the approval expires, RFC 3339.
    pub expires_at: String,
    #[serde(skip)]
    pub(crate) outcome: PendingOutcome,
}

impl Confirmation {
    /// Returns the time at which the approval expires. `None` if it is not a valid time.
    pub fn expiry(&self) -> Option<SystemTime> {
        let expires = self.expires_at.parse::<jiff::Timestamp>().ok()?;
        Some(expires.into())
    }

    /// Returns the text of a form in which a person decides: the tool, each argument on a line of its
    /// own, the reasons, and the digest. Nothing in it hides a line or makes up another one.
    ///
    /// ```
    /// # use tool_core::{Mode, Runtime, ToolCall, ToolContext, tool};
    /// # /// Cancel the booking.
    /// # #[tool(category = "action", confirm)]
    /// # fn cancel(number: u32) -> String {
    /// #     format!("booking {number} is cancelled")
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let runtime = Runtime::builder(ToolContext::builder().with(cancel).build()?).build()?;
    /// # let session = runtime.session("s-1", Mode::Text).await?;
    /// let response = session.call(ToolCall::new("call_1", "cancel", r#"{"number": 12}"#)).await;
    /// let confirmation = response.meta().confirmation().expect("it waits");
    /// let question = confirmation.question();
    /// assert!(question.starts_with("Allow this call of `cancel`?\n\n- number: 12\n"));
    /// assert!(question.contains("\n- tool: it asks before each call\n"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn question(&self) -> String {
        let shown = ShownCall {
            tool: &self.tool,
            lines: &self.arguments,
            reasons: &self.reasons,
            digest: &self.digest,
        };
        shown.question()
    }
}

/// The place of the response of a call that waits for approval, with a type of the session's.
/// Without a place, the call waits in another process.
#[derive(Clone, Default)]
pub(crate) struct PendingOutcome(pub(crate) Option<Arc<dyn Any + Send + Sync>>);

impl fmt::Debug for PendingOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("..")
    }
}

/// The token alone identifies a call.
impl PartialEq for PendingOutcome {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for PendingOutcome {}

/// The metadata of a response.
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
/// # async fn main() -> Result<(), tool_core::RegistryErrors> {
/// let tools = ToolContext::builder().with(add).build()?;
/// let response = tools.call("add", r#"{"a": 1, "b": "2"}"#, &RunContext::detached()).await;
/// let meta = response.meta();
/// assert_eq!((meta.tool(), meta.size_chars(), meta.token_estimate()), ("add", 1, 1));
/// assert_eq!(meta.coerced(), ["/b: text to integer"]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ResponseMeta<'a> {
    pub(crate) meta: &'a BaseMeta,
    pub(crate) kind: OutputKind,
    pub(crate) data: &'a str,
}

impl<'a> ResponseMeta<'a> {
    /// Returns the tool's name, or the name that was called if there is no such tool.
    pub fn tool(&self) -> &'a str {
        &self.meta.tool
    }

    /// Returns the id of the call; `None` outside a session.
    pub fn call_id(&self) -> Option<&'a str> {
        self.meta.call_id.as_deref()
    }

    /// Returns the time from the call's arrival to its response, without the time for which it
    /// waited for the user ([`RunContext::ask`](crate::RunContext::ask)).
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

    /// Returns the coercions of arguments, one text each, for example `/minutes: text to integer`.
    pub fn coerced(&self) -> &'a [String] {
        self.optional()
            .map_or(&[], |optional| optional.coerced.lines())
    }

    /// Returns the truncation of the data, if it was cut.
    pub fn truncated(&self) -> Option<&'a Truncated> {
        self.optional()?.truncated.as_ref()
    }

    /// Returns the warnings of the tool and of the runtime.
    pub fn warnings(&self) -> &'a [String] {
        self.optional().map_or(&[], |optional| &optional.warnings)
    }

    /// Returns the pending approval, if the call waits for one.
    pub fn confirmation(&self) -> Option<&'a Confirmation> {
        self.optional()?.confirmation.as_ref()
    }

    /// Returns the pending approvals of calls that the tool made itself. The tool does not see
    /// their tokens.
    pub fn nested_confirmations(&self) -> &'a [Confirmation] {
        self.optional()
            .map_or(&[], |optional| &optional.nested_confirmations)
    }

    /// Returns the pending approvals of the call and of calls that its tool made.
    pub fn confirmations(&self) -> impl Iterator<Item = &'a Confirmation> + use<'a> {
        self.confirmation()
            .into_iter()
            .chain(self.nested_confirmations())
    }

    /// Returns the arguments that a person has approved in place of the model's, as canonical JSON
    /// ([`Decision::with_arguments`](crate::session::Decision::with_arguments)). The response is that
    /// to these.
    pub fn changed_arguments(&self) -> Option<&'a str> {
        self.optional()?.changed_arguments.as_deref()
    }

    /// Returns how often the tool has run for the call: once, and once more for each automatic retry.
    pub fn attempts(&self) -> u32 {
        let of_retries = self.optional().and_then(|optional| optional.attempts);
        of_retries.unwrap_or(1)
    }

    /// Returns the time after which the call may succeed, if the error says one: that of a limit, of
    /// an open circuit breaker, or of the service behind the tool.
    pub fn retry_after(&self) -> Option<Duration> {
        self.optional()?.retry_after.map(Duration::from_millis)
    }

    /// Returns true if the call did not begin because the session's store does not know the session
    /// any more: it has expired there, the store has lost it, or another process has ended it. Open
    /// another session to make the call again.
    pub fn session_is_lost(&self) -> bool {
        self.optional()
            .is_some_and(|optional| optional.session_is_lost)
    }

    /// Returns the name of the agent to which the tool hands the conversation. See
    /// [`Handoff`](crate::Handoff).
    pub fn handoff(&self) -> Option<&'a str> {
        self.optional()?.handoff.as_deref()
    }

    /// Returns every problem of arguments that failed validation.
    pub fn problems(&self) -> &'a [Problem] {
        self.optional().map_or(&[], |optional| &optional.problems)
    }

    /// Returns a member that the tool added with [`ToolOutput::meta`](super::ToolOutput::meta).
    pub fn extra(&self, key: &str) -> Option<&'a Value> {
        self.optional()?.extra.get(key)
    }

    fn optional(&self) -> Option<&'a OptionalMeta> {
        self.meta.optional.as_deref()
    }
}
