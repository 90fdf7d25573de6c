//! Parts that `tool-adapters` shares with this crate. Not public: they change without notice.

pub use crate::session::metrics::prometheus::PrometheusText;
