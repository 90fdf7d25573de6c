//! Spans, costs and metrics for other systems.

#[cfg(feature = "otel")]
pub mod otel;
pub mod prices;
#[cfg(feature = "metrics")]
pub mod prometheus;
