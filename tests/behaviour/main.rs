//! The behaviour of the library. The comments above the tests name rules of `docs/rules.md`.

#![allow(unreachable_pub)] // the modules of a test have no public interface
#![allow(clippy::pedantic, clippy::too_many_arguments)] // its tools are written for what they show

mod agent;
mod agent_signatures;
mod bad_input;
mod collisions;
mod contexts;
mod create_event;
mod derived;
mod discovery;
mod doc_macros;
mod errors;
mod generics;
mod hostile;
mod lifecycle;
mod options;
mod outputs;
mod parameters;
mod raw;
mod repair;
mod run_context;
#[cfg(feature = "agents")]
mod settings;
mod shapes;
mod support;
mod trace;
mod trace_bodies;
mod wrap;
mod wrap_all;
