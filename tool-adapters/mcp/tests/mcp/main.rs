//! The Model Context Protocol: a server over each transport, and a client with pins.

mod answers;
mod asked;
mod cancellation;
mod catalog;
mod children;
mod confirmation;
mod credentials;
mod direct;
mod environment;
mod floods;
mod foreigners;
mod guard;
mod http;
mod http_answers;
mod import;
mod lists;
mod lost_sessions;
mod malformed;
#[cfg(unix)]
#[path = "../../../tests/support/other.rs"]
mod other;
mod pins;
mod polled_tasks;
#[allow(dead_code)] // the tests of stores use the rest
#[path = "../../../stores/tests/agents/server.rs"]
mod postgres_server;
mod processes;
mod prompts;
mod questions;
#[path = "../../../tests/support/redis.rs"]
mod redis_server;
mod requests;
mod routing;
mod schemas;
mod scripted;
#[cfg(unix)]
mod shared_tasks;
mod slow_clients;
mod spans;
#[path = "../../../tests/support/spans.rs"]
mod spans_support;
mod streams;
mod support;
mod surfaces;
mod tasks;
mod tolerant;
mod toolsets;
