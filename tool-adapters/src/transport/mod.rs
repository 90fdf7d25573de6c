//! Models over HTTP and over a WebSocket.

#[cfg(any(feature = "mcp", feature = "metrics"))]
pub(crate) mod access;
#[cfg(any(feature = "http", feature = "websocket"))]
pub(crate) mod api_key;
#[cfg(any(feature = "http", feature = "mcp", feature = "websocket"))]
pub(crate) mod base_url;
#[cfg(any(feature = "mcp", feature = "metrics"))]
pub(crate) mod bearer;
#[cfg(any(feature = "http", feature = "mcp", feature = "websocket"))]
pub(crate) mod callback;
#[cfg(feature = "agent")]
pub(crate) mod host_text;
#[cfg(feature = "http")]
pub mod http;
#[cfg(any(feature = "http", feature = "websocket"))]
pub(crate) mod model_access;
#[cfg(any(feature = "mcp", feature = "metrics"))]
pub(crate) mod quota;
#[cfg(any(feature = "http", feature = "reqwest-middleware"))]
pub(crate) mod request_span;
#[cfg(any(feature = "http", feature = "oauth2", feature = "openapi"))]
pub(crate) mod retry_after;
#[cfg(any(feature = "http", feature = "otel", feature = "websocket"))]
pub(crate) mod sanitize;
#[cfg(any(feature = "mcp", feature = "metrics"))]
pub(crate) mod serve;
#[cfg(feature = "websocket")]
pub mod websocket;

#[cfg(any(feature = "http", feature = "websocket"))]
pub use crate::transport::api_key::ProvidedKey;
#[cfg(any(feature = "http", feature = "websocket"))]
pub use crate::transport::model_access::{ProviderModel, RetryPolicy};
