//! What carries tool-core's tools to providers, transports and stores.
//!
//! Declarations, protocols, provider tools and the lint are always there; what needs more than JSON stands behind a
//! feature of its name.

#[cfg(any(feature = "http", feature = "websocket"))]
pub mod agent;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub mod agents;
#[cfg(feature = "async-openai")]
pub mod async_openai;
pub mod check;
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(any(feature = "async-openai", feature = "genai", feature = "rig"))]
mod convert;
pub mod declare;
mod dialect;
#[cfg(feature = "genai")]
pub mod genai;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "journal")]
pub mod journal;
pub mod manifest;
#[cfg(feature = "mcp")]
pub mod mcp;
#[cfg(feature = "metrics")]
pub mod metrics;
#[cfg(any(feature = "mcp", feature = "metrics"))]
mod names;
#[cfg(feature = "oauth2")]
pub mod oauth2;
pub mod observe;
#[cfg(feature = "otel")]
pub mod otel;
#[cfg(any(feature = "cli", feature = "otel"))]
mod plain;
pub mod prices;
pub mod protocol;
mod provider;
pub mod provider_tools;
#[cfg(feature = "redis")]
pub mod redis;
pub mod report;
#[cfg(any(feature = "http", feature = "reqwest-middleware"))]
mod request_span;
#[cfg(feature = "reqwest-middleware")]
pub mod reqwest_middleware;
#[cfg(feature = "rig")]
pub mod rig;
mod schema;
#[cfg(feature = "websocket")]
pub mod websocket;

pub use check::{Check, check, check_for};
#[cfg(any(feature = "async-openai", feature = "genai"))]
pub use convert::ConvertError;
pub use declare::{Declarations, DeclareOptions, declare, declare_tools, declare_with};
pub use protocol::{Protocol, protocol};
pub use provider::{Provider, UnknownProvider};
pub use report::Report;
