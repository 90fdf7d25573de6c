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

pub use crate::inspector::builder::Inspector;
pub use crate::inspector::spans::SpanLog;
pub use crate::transport::serve::BoundServer;
