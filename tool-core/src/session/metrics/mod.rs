//! What calls, sessions and contexts come to, in figures: always on, read when somebody asks. R-M1 to R-M5

pub(crate) mod context;
pub(crate) mod history;
pub(crate) mod prometheus;
pub(crate) mod stats;

use crate::call::meta::milliseconds;
use crate::call::mode::Mode;
use crate::session::metrics::context::{Beginning, ContextMetrics};
use crate::session::metrics::stats::{Tallies, Tally, WINDOW, percentile, tokens};
use crate::session::runtime::Shared;
use crate::session::session::Core;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// The series of all names that no registry knows, so that a model which makes up names makes up no series. R-M3
const UNKNOWN: &str = "unknown";

/// What a runtime has measured. Serialises to the JSON document of `/metrics`; [`prometheus`](Self::prometheus) writes
/// the same as text.
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
    /// By name, of the tools that were called. All names that nobody knows are together under `unknown`.
    pub tools: BTreeMap<String, ToolMetrics>,
    /// Of the session that was opened last, and the peak of all.
    pub context: ContextMetrics,
    /// What loops are looked for in.
    pub loops: LoopMetrics,
}

/// What has become of the calls of one tool. Percentiles and averages are of the last 1,000 answers, the others of all
/// since the runtime began. R-M1
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolMetrics {
    /// All calls that were answered, refused ones too.
    pub calls: u64,
    /// Those that were answered with an error, by its type.
    pub errors: BTreeMap<&'static str, u64>,
    /// The characters of the results; an error has none.
    pub sizes: Percentiles<u32>,
    /// The time from call to answer.
    pub latency: Percentiles<Duration>,
    /// About what the results cost a model to read.
    pub tokens: TokenMetrics,
    /// The characters of all results together.
    pub characters: u64,
    /// The time of all calls together.
    pub duration: Duration,
}

/// Exact percentiles, by nearest rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Percentiles<T> {
    /// Half of them are no larger.
    pub p50: T,
    /// 95 in a hundred are no larger.
    pub p95: T,
    /// 99 in a hundred are no larger.
    pub p99: T,
}

/// A quarter of the characters, rounded up for each result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TokenMetrics {
    /// Their mean.
    pub avg: f64,
    /// 95 in a hundred are no larger.
    pub p95: u32,
}

/// What loops are looked for in, in this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct LoopMetrics {
    /// The sessions that are open.
    pub active_sessions: u64,
    /// The turns of them of which the history is kept.
    pub total_turns_tracked: u64,
}

impl<T: Copy + Default + Ord> Percentiles<T> {
    fn of(values: impl Iterator<Item = T>) -> Self {
        let mut values = values.collect::<Vec<_>>();
        values.sort_unstable();
        let [p50, p95, p99] = [50, 95, 99].map(|percent| percentile(&values, percent));
        Self { p50, p95, p99 }
    }

    fn map<U>(self, of: impl Fn(T) -> U) -> Percentiles<U> {
        Percentiles { p50: of(self.p50), p95: of(self.p95), p99: of(self.p99) }
    }
}

impl ToolMetrics {
    /// `None` of a tool that was never called.
    fn of(tally: &Tally) -> Option<Self> {
        let calls = Some(tally.calls()).filter(|calls| *calls > 0)?;
        let last = tally.last(WINDOW);
        let costs = || last.iter().map(|sample| tokens(sample.chars));
        let sum = costs().map(u64::from).sum::<u64>();
        #[allow(clippy::cast_precision_loss)] // of a thousand at most, each of 30 bits
        let avg = if last.is_empty() { 0.0 } else { sum as f64 / last.len() as f64 };
        Some(Self {
            calls,
            errors: tally.errors().map(|(kind, count)| (kind.as_str(), count)).collect(),
            sizes: Percentiles::of(last.iter().map(|sample| sample.chars)),
            latency: Percentiles::of(last.iter().map(|sample| sample.micros))
                .map(|micros| Duration::from_micros(micros.into())),
            tokens: TokenMetrics { avg, p95: Percentiles::of(costs()).p95 },
            characters: tally.chars(),
            duration: Duration::from_micros(tally.micros()),
        })
    }
}

/// The document of R-M3.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    response_sizes: BTreeMap<&'a str, Percentiles<u32>>,
    response_tokens: BTreeMap<&'a str, TokenMetrics>,
    /// In milliseconds.
    latency: BTreeMap<&'a str, Percentiles<f64>>,
    context: ContextMetrics,
    loop_detection: LoopMetrics,
    calls: BTreeMap<&'a str, u64>,
    errors: BTreeMap<&'a str, &'a BTreeMap<&'static str, u64>>,
}

impl Serialize for Metrics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let document = Document {
            response_sizes: self.by_name(|tool| tool.sizes),
            response_tokens: self.by_name(|tool| tool.tokens),
            latency: self.by_name(|tool| tool.latency.map(milliseconds)),
            context: self.context,
            loop_detection: self.loops,
            calls: self.by_name(|tool| tool.calls),
            errors: self.by_name(|tool| &tool.errors),
        };
        document.serialize(serializer)
    }
}

impl Metrics {
    fn by_name<'a, T>(&'a self, of: impl Fn(&'a ToolMetrics) -> T) -> BTreeMap<&'a str, T> {
        self.tools.iter().map(|(name, tool)| (name.as_str(), of(tool))).collect()
    }

    pub(crate) fn of(shared: &Shared) -> Self {
        let toolbox = shared.toolbox();
        let named = toolbox.context.function_tools().iter().zip(&toolbox.tallies);
        let named = named.map(|(tool, tally)| (tool.name().into(), Arc::clone(tally)));
        // What both know is one tally.
        let mut tools = (shared.measured.tallies.all().into_iter().chain(named))
            .filter_map(|(name, tally)| Some((name.into_string(), ToolMetrics::of(&tally)?)))
            .collect::<BTreeMap<_, _>>();
        if let Some(unknown) = ToolMetrics::of(&shared.measured.unknown) {
            // A tool of that very name keeps it: no name has a bracket.
            let taken = tools.contains_key(UNKNOWN) || toolbox.find(UNKNOWN).is_some();
            tools.insert(if taken { format!("({UNKNOWN})") } else { UNKNOWN.to_owned() }, unknown);
        }
        Self { tools, context: shared.measured.context(shared), loops: LoopMetrics::of(shared) }
    }
}

impl LoopMetrics {
    fn of(shared: &Shared) -> Self {
        // Taken out first: a session that goes asks for the lock.
        let sessions = shared.live().values().filter_map(Weak::upgrade).collect::<Vec<_>>();
        let open = sessions.iter().filter(|core| !core.drain.is_closed());
        open.fold(Self::default(), |sum, core| Self {
            active_sessions: sum.active_sessions + 1,
            total_turns_tracked: sum.total_turns_tracked + turns_tracked(core),
        })
    }
}

fn turns_tracked(core: &Core) -> u64 {
    let history = u64::try_from(core.policy().limits.history).unwrap_or(u64::MAX);
    (core.record.turn() + 1).min(history)
}

/// What the runtime measures beside the tallies of its tools.
pub(crate) struct SharedMeasures {
    /// Of all names that no registry knows.
    pub(crate) unknown: Tally,
    pub(crate) peak: AtomicU64,
    /// Of the tools that sessions have of their own.
    pub(crate) tallies: Tallies,
    last: Mutex<Option<Last>>,
}

/// The session that was opened last.
#[derive(Clone, Copy)]
struct Last {
    mode: Mode,
    /// The tokens of its host's system prompt.
    prompt: Option<u64>,
    /// What it began with, where it has tools of its own.
    begins: Option<Beginning>,
}

impl SharedMeasures {
    pub(crate) fn new(large: u32) -> Self {
        let (peak, tallies, last) = (AtomicU64::new(0), Tallies::default(), Mutex::default());
        Self { unknown: Tally::new(large), peak, tallies, last }
    }

    /// A session was opened; `own`: with tools of its own.
    pub(crate) fn opened(&self, core: &Core, own: bool) {
        let full_guides = core.policy().full_guides[core.mode as usize];
        let begins = own.then(|| core.toolbox.begins(core.mode, full_guides));
        let last = Last { mode: core.mode, prompt: core.measured.context.prompt, begins };
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
    }

    fn context(&self, shared: &Shared) -> ContextMetrics {
        let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let begins = last.map(|Last { mode, prompt, begins }| {
            let full_guides = shared.policy(mode).full_guides[mode as usize];
            begins.unwrap_or_else(|| shared.toolbox().begins(mode, full_guides)).with_prompt(prompt)
        });
        begins.unwrap_or_default().with_peak(self.peak.load(Ordering::Relaxed))
    }
}
