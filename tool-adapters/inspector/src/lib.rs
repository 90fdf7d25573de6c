//! A page in the browser that tries the tools of a runtime and watches them.
#![doc = include_str!("inspector.md")]

mod api;
mod approvals;
mod builder;
mod conversation;
mod events;
mod page;
mod sessions;
mod spans;
mod state;
mod tools;

pub use crate::builder::Inspector;
pub use crate::spans::SpanLog;
pub use tool_adapters_http::serve::BoundServer;
