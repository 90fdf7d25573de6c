//! What one session has done. R-M5

use super::UNKNOWN;
use super::calls::{Calls, KeptCall};
use super::context::{ContextMetrics, Monitor};
use crate::redact::Redaction;
use crate::response::milliseconds;
use crate::runtime::session::Core;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use std::sync::OnceLock;
use std::time::Duration;
use tokio::time::Instant;

/// What is measured of one session.
pub(crate) struct Measured {
    pub(crate) calls: Calls,
    pub(crate) context: Monitor,
    opened: Instant,
    ended: OnceLock<Instant>,
}

impl Measured {
    pub(crate) fn new(prompt: Option<u64>) -> Self {
        Self { calls: Calls::default(), context: Monitor::new(prompt), opened: Instant::now(), ended: OnceLock::new() }
    }

    pub(crate) fn ended(&self) {
        self.ended.get_or_init(Instant::now);
    }
}

/// What one session has done, by this process: its calls, its turns, how long it took. R-M5
///
/// ```
/// # use tool_core::{Mode, Runtime, ToolCall, ToolContext, tool};
/// # /// Sign somebody in.
/// # #[tool]
/// # fn sign_in(user: &str, password: &str) -> bool {
/// #     user.len() < password.len()
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let runtime = Runtime::builder(ToolContext::builder().with(sign_in).build()?).build()?;
/// let session = runtime.session("s-1", Mode::Text).await?;
/// session.call(ToolCall::new("call_1", "sign_in", r#"{"user": "ann", "password": "hunter2"}"#)).await;
///
/// let metrics = session.metrics();
/// assert_eq!((metrics.total_calls, metrics.turns), (1, 1));
/// assert!(metrics.calls[0].ok);
/// assert_eq!(metrics.calls[0].arguments, r#"{"user":"ann","password":"[redacted]"}"#);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SessionMetrics {
    /// The last calls, oldest first: those that fit into [`Policy::call_history`](crate::Policy::call_history).
    pub calls: Vec<SessionCall>,
    /// How many calls were answered, those among them that are no longer kept.
    pub total_calls: u64,
    /// How many of them with an error.
    pub total_errors: u64,
    /// The turns that were begun.
    pub turns: u64,
    /// From its opening to its end, or until now.
    #[serde(rename = "durationMs", serialize_with = "in_milliseconds")]
    pub duration: Duration,
    /// How full its model's context window is.
    pub context: ContextMetrics,
}

/// A call of a session that was answered.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SessionCall {
    /// The tool's name; `unknown` for one that nobody knows.
    pub tool: String,
    /// The turn in which it was answered, counted from 0.
    pub turn: u64,
    /// The arguments as JSON, without what the policy's [`Redaction`] hides. Where they are no JSON that is said in a
    /// JSON text; where they were too long to be kept their beginning is, with `...`.
    #[serde(serialize_with = "as_json")]
    pub arguments: String,
    /// From call to answer.
    #[serde(rename = "durationMs", serialize_with = "in_milliseconds")]
    pub duration: Duration,
    /// Whether the tool succeeded.
    pub ok: bool,
    /// The type of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'static str>,
}

fn in_milliseconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(milliseconds(*duration))
}

/// As it stands, with the escapes that a value would lose.
fn as_json<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    match serde_json::from_str::<&RawValue>(text) {
        Ok(json) => json.serialize(serializer),
        Err(_) => serializer.serialize_str(text),
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok()
}

impl SessionMetrics {
    pub(crate) fn of(core: &Core) -> Self {
        let measured = &core.measured;
        let (total_calls, total_errors) = measured.calls.counts();
        let ended = measured.ended.get().copied().unwrap_or_else(Instant::now);
        Self {
            calls: measured.calls.last().iter().map(|call| SessionCall::of(core, call)).collect(),
            total_calls,
            total_errors,
            turns: core.record.turn() + 1,
            duration: ended.saturating_duration_since(measured.opened),
            context: core.context(),
        }
    }
}

impl SessionCall {
    fn of(core: &Core, call: &KeptCall) -> Self {
        let tool = call.tool.and_then(|at| core.toolbox.context.function_tools().get(at));
        let redaction = &core.policy().redaction;
        let arguments = if call.cut {
            Redaction::quoted(&redaction.beginning(&call.arguments))
        } else {
            let shown = redaction.json(&call.arguments);
            if is_json(&shown) { shown } else { Redaction::quoted(&shown) }
        };
        Self {
            tool: tool.map_or(UNKNOWN, |tool| tool.name()).to_owned(),
            turn: call.turn,
            arguments,
            duration: call.duration,
            ok: call.error.is_none(),
            error: call.error.map(crate::ErrorKind::as_str),
        }
    }
}
