//! The way of a governed call: find, mode, concurrency limit, decode, admit, approve, run, record.
//!
//! Most calls are decoded, admitted and run in one go: the wrapper decodes the arguments, asks the gate
//! ([`admit::AdmissionGate`]), and calls the method. A call that has to wait between these steps, for a store across a
//! network, an approval, a hook, the journal or a thread, is stopped at the gate and started a second time
//! ([`execute::run_deferred`]).

pub(crate) mod admit;
pub(crate) mod call;
pub(crate) mod confirm;
pub(crate) mod cx;
pub(crate) mod execute;
pub(crate) mod journal;
pub(crate) mod log_lines;
pub(crate) mod meter;
pub(crate) mod record;
