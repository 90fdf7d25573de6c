//! From bytes, cut anywhere, to events.
//!
//! `framer` passes the bytes of a message to the decoder of its framing: `sse` for server-sent
//! events, `json` for JSON values one after another, `event_stream` for AWS's binary frames.

pub(crate) mod event_stream;
pub mod frame;
pub(crate) mod framer;
pub(crate) mod json;
pub(crate) mod sse;
