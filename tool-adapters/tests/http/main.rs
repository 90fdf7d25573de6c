//! Models over HTTP, against servers of this machine that answer as providers do, and as they should not.

mod cancel;
mod conversation;
mod errors;
mod middleware;
#[cfg(unix)]
#[path = "../support/other.rs"]
mod other;
mod processes;
mod propagation;
mod retry;
mod scripts;
mod server;
mod spans;
#[path = "../support/spans.rs"]
mod spans_support;
mod stream;
mod support;
mod unasked;
