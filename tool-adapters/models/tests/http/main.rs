//! Models over HTTP, against local servers with valid and invalid answers.

mod agent_events;
mod answers;
mod aws;
mod cancel;
mod client;
mod clouds;
mod conversation;
mod deferred;
mod errors;
mod fallback;
mod finish;
mod keys;
mod middleware;
#[cfg(unix)]
#[path = "../../../tests/support/other.rs"]
mod other;
mod processes;
mod propagation;
mod recording;
mod retry;
mod scripts;
mod server;
mod settings;
mod spans;
#[path = "../../../tests/support/spans.rs"]
mod spans_support;
mod stream;
mod strict;
mod support;
mod token_count;
mod typed;
mod unasked;
mod whole;
