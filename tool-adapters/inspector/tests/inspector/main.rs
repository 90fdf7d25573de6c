//! The inspector over HTTP.
#![allow(
    clippy::needless_pass_by_value,
    reason = "tools as their authors write them"
)]

mod access;
mod approvals;
mod calls;
mod conversation;
mod events;
mod sessions;
mod support;
mod tools;
