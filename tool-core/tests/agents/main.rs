//! The behaviour of agents through the public API.
#![allow(
    clippy::unused_self,
    clippy::needless_pass_by_value,
    reason = "tools as their authors write them"
)]

mod support;
#[path = "../runtime/support_deep.rs"]
mod support_deep;
#[path = "../runtime/support_log.rs"]
#[allow(dead_code, reason = "the runtime's tests use all of it")]
mod support_log;
mod support_store;

mod actions;
mod approvals;
mod cancelled;
mod collisions;
mod deep_values;
mod enabling;
mod failures;
mod grants;
mod hidden;
mod lifecycle;
mod loading;
mod panics;
mod races;
mod retries;
mod session_tools;
mod sessions;
mod store_down;
