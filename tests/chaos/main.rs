//! Faults and attacks. The comments above the tests name rules of `docs/rules.md`.

#![allow(unreachable_pub)] // the modules of a test have no public interface
#![allow(clippy::pedantic)] // the tools are written for their behaviour

mod approvals;
mod canaries;
mod carries;
mod deadlines;
mod dice;
mod dropped;
mod hostile;
mod later;
mod limits;
mod logs;
mod machine;
// It reads `/proc`.
#[cfg(target_os = "linux")]
mod memory;
mod nesting;
mod panics;
mod sinks;
mod sizes;
mod spans;
mod store_down;
mod support;
