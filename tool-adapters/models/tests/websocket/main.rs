//! Live conversations over a WebSocket, against a local server.

mod breaks;
mod gemini;
mod governed;
mod handover;
mod peer;
mod realtime;
mod refusals;
mod spans;
#[path = "../../../tests/support/spans.rs"]
mod spans_support;
mod strict;
mod support;
mod wire;
