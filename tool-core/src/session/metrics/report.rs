//! The metrics of a runtime and of one session, as they are read.

use crate::call::envelope::milliseconds;
use crate::registry::ToolContext;
use crate::session::circuit_breaker::CircuitMetrics;
use crate::session::metrics::call_log::{SessionCall, UNKNOWN, as_milliseconds};
use crate::session::metrics::context::ContextMetrics;
use crate::session::metrics::speech::SpeechMetrics;
use crate::session::metrics::tool_stats::{StatsByName, ToolMetrics, ToolStats};
use parking_lot::Mutex;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The measurements of a runtime. Serialises to the JSON document of `/metrics`; [`prometheus`](Self::prometheus)
/// writes the same figures as text.
///
/// ```
/// # use tool_core::{Mode, Runtime, ToolCall, ToolContext, tool};
/// /// Say hello.
/// #[tool]
/// fn greet() -> &'static str {
///     "hello"
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runtime = Runtime::builder(ToolContext::builder().with(greet).build()?).build()?;
/// let session = runtime.session("s-1", Mode::Text).await?;
/// session.call(ToolCall::new("call_1", "greet", "{}")).await;
///
/// let metrics = runtime.metrics();
/// assert_eq!(metrics.tools["greet"].sizes.p95, 7);
/// let document = serde_json::to_value(&metrics)?;
/// assert_eq!(document["responseTokens"]["greet"]["avg"], 2.0);
/// assert!(metrics.prometheus().contains(r#"tool_calls_total{tool="greet"} 1"#));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Metrics {
    /// The tools that were called, by name. Calls of unknown names are counted together as
    /// `unknown`.
    pub tools: BTreeMap<String, ToolMetrics>,
    /// The context of the most recently opened session, and the peak of all sessions.
    pub context: ContextMetrics,
    /// The turns in which loops are detected.
    pub loops: LoopMetrics,
    /// The circuit breakers that calls have met in this process, sorted.
    pub circuits: Vec<CircuitMetrics>,
}

/// The sessions and turns in which this process detects loops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct LoopMetrics {
    /// The open sessions.
    pub active_sessions: u64,
    /// The turns of these sessions whose calls are kept in their history.
    pub total_turns_tracked: u64,
}

/// Writes the JSON document of `/metrics`: each figure of all tools. Latencies are in milliseconds.
impl Serialize for Metrics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut document = serializer.serialize_struct("Metrics", 11)?;
        document.serialize_field("responseSizes", &self.by_name(|tool| tool.sizes))?;
        document.serialize_field("responseTokens", &self.by_name(|tool| tool.tokens))?;
        document.serialize_field(
            "latency",
            &self.by_name(|tool| tool.latency.map(milliseconds)),
        )?;
        document.serialize_field("context", &self.context)?;
        document.serialize_field("loopDetection", &self.loops)?;
        document.serialize_field("calls", &self.by_name(|tool| tool.calls))?;
        document.serialize_field("slowCalls", &self.by_name(|tool| tool.slow_calls))?;
        document.serialize_field("errors", &self.by_name(|tool| &tool.errors))?;
        document.serialize_field("refusals", &self.by_name(|tool| &tool.refusals))?;
        document.serialize_field("retries", &self.by_name(|tool| tool.retries))?;
        document.serialize_field("circuits", &self.circuits)?;
        document.end()
    }
}

impl Metrics {
    fn by_name<'a, T>(&'a self, figure: impl Fn(&'a ToolMetrics) -> T) -> BTreeMap<&'a str, T> {
        self.tools
            .iter()
            .map(|(name, tool)| (name.as_str(), figure(tool)))
            .collect()
    }
}

/// The measurements that all sessions of a runtime share.
#[derive(Default)]
pub(crate) struct RuntimeMetrics {
    /// The calls of unknown names.
    pub(crate) unknown: ToolStats,
    by_name: StatsByName,
    /// The context of the session that was opened last, and the peak of all sessions.
    context: Mutex<ContextMetrics>,
}

impl RuntimeMetrics {
    /// Returns the statistics of a tool of the runtime, or of a session's own tool.
    pub(crate) fn stats_of(&self, tool: &str, is_own: bool) -> Arc<ToolStats> {
        self.by_name.get_or_insert(tool, is_own)
    }

    /// Remembers the context of a session that was just opened.
    pub(crate) fn session_opened(&self, context: ContextMetrics) {
        let mut last = self.context.lock();
        *last = ContextMetrics {
            peak_tokens: last.peak_tokens,
            ..context
        };
    }

    /// Takes in a context size that a provider has reported.
    pub(crate) fn observe_context(&self, tokens: u64) {
        let peak = &mut self.context.lock().peak_tokens;
        *peak = tokens.max(*peak);
    }

    /// Computes the metrics of the runtime with these tools.
    pub(crate) fn report(
        &self,
        tools: &ToolContext,
        loops: LoopMetrics,
        circuits: Vec<CircuitMetrics>,
    ) -> Metrics {
        let all = self.by_name.all(tools);
        let called = all
            .iter()
            .filter_map(|(name, stats)| Some((name.clone(), stats.metrics()?)));
        let mut tools = called.collect::<BTreeMap<_, _>>();
        if let Some(unknown) = self.unknown.metrics() {
            // A tool may be named `unknown`, but no tool's name has a bracket.
            let taken = all.contains_key(UNKNOWN);
            tools.insert(
                if taken {
                    format!("({UNKNOWN})")
                } else {
                    UNKNOWN.to_owned()
                },
                unknown,
            );
        }
        Metrics {
            tools,
            context: *self.context.lock(),
            loops,
            circuits,
        }
    }
}

/// The calls, turns and duration of one session in this process.
///
/// ```
/// # use tool_core::{Mode, Runtime, ToolCall, ToolContext, tool};
/// # /// Sign a user in.
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
    /// The most recent calls, oldest first, as many as fit into
    /// [`Policy::call_history`](crate::Policy::call_history). [`Runtime::calls`](crate::Runtime::calls) also has those of
    /// other processes.
    pub calls: Vec<SessionCall>,
    /// All answered calls, including those that are no longer kept.
    pub total_calls: u64,
    /// The calls that were answered with an error.
    pub total_errors: u64,
    /// The turns that have begun.
    pub turns: u64,
    /// The time since the session was opened, up to its end.
    #[serde(rename = "durationMs", serialize_with = "as_milliseconds")]
    pub duration: Duration,
    /// The context of the session's model.
    pub context: ContextMetrics,
    /// The speech of a voice conversation. The document leaves it out if none was measured.
    #[serde(skip_serializing_if = "SpeechMetrics::is_empty")]
    pub speech: SpeechMetrics,
}
