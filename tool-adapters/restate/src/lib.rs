//! Conversations that [Restate](https://restate.dev) runs: they go on after a crash, wait for persons for days, and have one
//! writer each.
//!
//! You reach this package through `tool_adapters::restate`. Begin with [`DurableAgent`], which is a virtual object whose key is
//! the conversation. In an object of your own, [`with_steps`] gives you the [`DurableSteps`](tool_core::session::DurableSteps) of
//! a handler.
//!
//! Restate records each step, and runs the function again after a crash. A step that was running then runs again, which would
//! charge a card twice. A call of a session with a [`Journal`](tool_core::session::Journal) is `UNKNOWN` instead. A step whose
//! connection to Restate was lost, in a process that lives, is not run again: the next run of the function gets its result.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod durable_agent;
mod earlier_runs;
mod steps;

pub use crate::durable_agent::DurableAgent;
pub use crate::steps::{EarlierRuns, with_steps};
pub use tool_adapters_models::engines::DurableReply;

/// The crate `restate-sdk`, in the version of this package.
pub use restate_sdk as sdk;
