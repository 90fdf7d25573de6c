//! The way of a governed call. Read [`call`] from its top; the other files are its steps, in this order:
//!
//! 1. [`call`]: the call passes layers and spans, its tool is found, its mode and its turn among the others are checked.
//! 2. [`admit`]: the driver decodes the arguments and asks the gate, which counts the call and checks its limits.
//! 3. [`deferred`]: a call that has to wait before it runs, for a store across a network, an approval ([`confirm`]), a hook, the
//!    [`journal`] or a thread ([`blocking`]), is stopped at the gate and started a second time. Most calls skip this step.
//! 4. [`governed_tool`]: a tool that waits is listed as running, can be cancelled, and ends at its deadline.
//! 5. [`record`]: the response is counted, its intents are carried out, and hooks see it.
//!
//! [`governed_call`] is what all steps know of the call, [`meter`] its cost, and [`log_lines`] its span and its log lines. [`step`]
//! makes the calls of one step of a model, and [`run_context`] serves what a running tool asks of its session.

pub(crate) mod admit;
pub(crate) mod blocking;
pub(crate) mod call;
pub(crate) mod confirm;
pub(crate) mod deferred;
pub(crate) mod governed_call;
pub(crate) mod governed_tool;
pub(crate) mod journal;
pub(crate) mod log_lines;
pub(crate) mod meter;
pub(crate) mod record;
pub(crate) mod run_context;
pub(crate) mod step;
