//! Spans, costs and metrics for other systems.

pub mod observer;
#[cfg(feature = "otel")]
pub mod otel;
pub mod prices;
#[cfg(feature = "metrics")]
pub mod prometheus;
