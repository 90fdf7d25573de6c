//! Measurements of calls, sessions and contexts, which are always collected and computed when they
//! are read.

pub(crate) mod call_log;
pub(crate) mod context;
pub(crate) mod prometheus;
pub(crate) mod report;
pub(crate) mod spare_room;
pub(crate) mod speech;
pub(crate) mod tool_stats;

pub use crate::session::metrics::call_log::SessionCall;
pub use crate::session::metrics::context::ContextMetrics;
pub use crate::session::metrics::prometheus::PrometheusText;
pub use crate::session::metrics::report::{LoopMetrics, Metrics, SessionMetrics};
pub use crate::session::metrics::speech::{SpeechEvent, SpeechMetrics};
pub use crate::session::metrics::tool_stats::{Percentiles, TokenMetrics, ToolMetrics};
