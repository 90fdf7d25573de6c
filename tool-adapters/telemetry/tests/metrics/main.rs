//! `/metrics` over HTTP.
#![allow(
    clippy::needless_pass_by_value,
    reason = "tools as their authors write them"
)]

mod forms;
mod names;
mod support;
