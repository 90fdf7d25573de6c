//! The events of a reply, as a front end reads them, and their JSON form.

use crate::call::{Confirmation, ErrorBody, ToolResponse};
use crate::json::raw::RawText;
use crate::session::guards::GuardedPart;
use crate::session::reply::Reply;
use crate::session::reply_finish::ReplyFinish;
use crate::trace::TokenUsage;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

/// The version of the JSON form of [`AgentEvent`]. A new minor version only adds events and
/// members: leave out what you do not know.
pub const EVENT_SCHEMA_VERSION: &str = "1.0.0";

/// An event of a reply. [`AgentStream`](super::AgentStream) returns them, and each one has a JSON
/// form for a front end.
///
/// # Order
///
/// You can rely on this order in each stream:
///
/// 1. [`Started`](Self::Started) is the first event, and [`Finished`](Self::Finished) is the last.
///    Each comes once.
/// 2. The events of one step of the model come together: pieces of its reasoning and its text, then
///    [`Usage`](Self::Usage), then its calls. The pieces of text of a step are its text.
/// 3. Each call begins, has its updates, and then has exactly one result. The approvals that it
///    waits for come right after its result. The calls of a step run at the same time, so their
///    events mix. If a decision on a call was not carried out and the call waits on, its approval
///    comes again, before the model goes on.
/// 4. Every call of a step has its result before the next step has an event.
/// 5. A [`LateAnswer`](Self::LateAnswer) comes between two steps. Its call began and had its result
///    earlier, in this stream or in another.
/// 6. A [`Handoff`](Self::Handoff) comes between two steps.
/// 7. A [`Blocked`](Self::Blocked) comes at most once, right before the end.
///
/// If a guard checks answers, the text of a reply comes in one piece, after the guard has passed it.
/// Reasoning and texts beside calls are left out.
///
/// An update is left out if its call has a result already. If you read slowly, the oldest of 1,000
/// updates are left out, and pieces of text come joined. Nothing else is left out.
///
/// # JSON
///
/// The events are for the person who talks to the agent: the tokens of approvals are in them.
///
/// An event is an object with the member `type`, such as `{"type": "text", "delta": "It is "}`. [`json_schema`](Self::json_schema)
/// is the JSON Schema of all events.
///
/// ```
/// use tool_core::session::AgentEvent;
///
/// let event = AgentEvent::Text { delta: "It is ".into() };
/// assert_eq!(serde_json::to_string(&event)?, r#"{"type":"text","delta":"It is "}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
#[non_exhaustive]
pub enum AgentEvent {
    /// The reply has begun.
    Started {
        /// [`EVENT_SCHEMA_VERSION`].
        schema_version: String,
        /// The session's id.
        session: String,
        /// The number of the turn, counted from 0.
        turn: u64,
    },
    /// A piece of the model's reasoning, from providers that show it.
    Reasoning {
        /// The text.
        delta: String,
    },
    /// A piece of the model's text.
    Text {
        /// The text.
        delta: String,
    },
    /// The model has answered a request. Comes once for each step.
    Usage {
        /// The tokens of this step.
        step: TokenUsage,
        /// The tokens of the reply so far, with those of failed attempts, and without those that
        /// tools have used.
        total: TokenUsage,
    },
    /// A call begins.
    CallBegun {
        /// The call's id. No other call of the conversation has it.
        call_id: String,
        /// The tool's name, as the model called it.
        tool: String,
        /// The arguments as JSON text, as the model sent them. The text may be invalid: the result
        /// says so.
        arguments: String,
    },
    /// A tool reports on its work.
    CallUpdate {
        /// The call's id.
        call_id: String,
        /// The tool's name.
        tool: String,
        /// The message.
        message: String,
        /// The completed part of the work, from 0 to 1, if the tool reports it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fraction: Option<f64>,
    },
    /// A call has its result, which may be an error.
    CallResult {
        /// The call's id.
        call_id: String,
        /// The tool's name.
        tool: String,
        /// The response. Its JSON form is the [envelope](ToolResponse::json_schema).
        #[serde(deserialize_with = "read_response")]
        response: Box<ToolResponse>,
    },
    /// A call waits until a person decides on it.
    ApprovalWanted(ApprovalWanted),
    /// A call that was answered by its first update says more, or has ended. See
    /// [`background_answers`](super::SessionBuilder::background_answers).
    LateAnswer {
        /// The id of the call that began.
        call_id: String,
        /// True if the call has ended.
        is_end: bool,
        /// The update or the result.
        #[serde(deserialize_with = "read_response")]
        response: Box<ToolResponse>,
    },
    /// A tool has handed the conversation to another agent. See [`Handoffs`](super::Handoffs).
    Handoff {
        /// The name of the agent that spoke before.
        from: String,
        /// The name of the agent that speaks from now on.
        to: String,
    },
    /// A guard has refused the message of the user or the answer of the model. See
    /// [`Guards`](super::Guards).
    Blocked {
        /// The part that was refused.
        part: GuardedPart,
        /// The text for the user. It is not among the pieces of text.
        message: String,
    },
    /// The reply has ended.
    Finished {
        /// The reply. Its JSON form leaves out the responses, as each one has an event of its own,
        /// and has the [error for the user](Reply::error_for_user).
        /// A reply that is read back has none.
        #[serde(serialize_with = "write_reply", deserialize_with = "read_reply")]
        reply: Box<Reply>,
    },
}

/// A call that waits until a person decides on it, with all that the person must see.
///
/// ```
/// use futures_util::StreamExt;
/// use tool_core::session::{AgentEvent, History};
/// use tool_core::testing::ScriptedModel;
/// use tool_core::{Mode, Runtime, ToolCall, ToolContext, tool};
///
/// /// Cancel a booking.
/// #[tool(confirm)]
/// fn cancel(number: u32) -> u32 {
///     number
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runtime = Runtime::builder(ToolContext::builder().with(cancel).build()?).build()?;
/// let session = runtime.session("s-1", Mode::Text).await?;
/// let mut model = ScriptedModel::new().calls([ToolCall::new("call_1", "cancel", r#"{"number": 12}"#)]).says("Shall I?");
/// let mut history = History::new();
/// let mut events = session.reply_stream(&mut model, &mut history, "Cancel 12");
/// while let Some(event) = events.next().await {
///     if let AgentEvent::ApprovalWanted(wanted) = event {
///         assert_eq!(wanted.payload, r#"cancel({"number":12})"#);
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ApprovalWanted {
    /// The id of the call of the model. A call that its tool made may be the one that waits.
    pub call_id: String,
    /// The whole call that waits: the tool's name and all arguments. Characters that a person does
    /// not see are escaped.
    pub payload: String,
    /// The description, the digest, the expiry, and the token that `approve` and `deny` take.
    #[serde(flatten)]
    pub confirmation: Confirmation,
}

impl AgentEvent {
    /// Returns the JSON Schema of the events, draft 2020-12.
    pub fn json_schema() -> Value {
        // Tests check events against it, so it parses.
        let mut schema: Value =
            serde_json::from_str(include_str!("agent_event.schema.json")).unwrap_or_default();
        schema["$defs"]["response"] = embedded(ToolResponse::json_schema());
        schema
    }

    /// Returns the id of the call that the event is about.
    pub fn call_id(&self) -> Option<&str> {
        match self {
            Self::CallBegun { call_id, .. }
            | Self::CallUpdate { call_id, .. }
            | Self::CallResult { call_id, .. }
            | Self::LateAnswer { call_id, .. } => Some(call_id),
            Self::ApprovalWanted(wanted) => Some(&wanted.call_id),
            _ => None,
        }
    }
}

/// Gives a schema that is embedded in another an id of its own, so that its references stay inside.
fn embedded(mut schema: Value) -> Value {
    schema["$id"] = json!("urn:tool-core:envelope");
    schema
}

/// A reply without its responses.
#[derive(Serialize, Deserialize)]
struct ReplyJson {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    finish: ReplyFinish,
    steps: u32,
    usage: TokenUsage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<ErrorBody>,
}

fn write_reply<S: Serializer>(reply: &Reply, serializer: S) -> Result<S::Ok, S::Error> {
    let json = ReplyJson {
        text: reply.text.clone(),
        finish: reply.finish,
        steps: reply.steps,
        usage: reply.usage,
        error: reply.error_for_user(),
    };
    json.serialize(serializer)
}

/// Reads an envelope from its text: the data stays text, which serde cannot buffer.
fn read_response<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Box<ToolResponse>, D::Error> {
    let RawText(envelope) = RawText::deserialize(deserializer)?;
    let response = serde_json::from_str(&envelope);
    response.map(Box::new).map_err(D::Error::custom)
}

fn read_reply<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<Reply>, D::Error> {
    let json = ReplyJson::deserialize(deserializer)?;
    Ok(Box::new(Reply {
        text: json.text,
        finish: json.finish,
        steps: json.steps,
        interrupted: json.finish == ReplyFinish::Interrupted,
        usage: json.usage,
        error: json.error,
        ..Reply::default()
    }))
}
