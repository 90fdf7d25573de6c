//! What must not break: faults and attacks, each with a test that counts.

#![allow(unreachable_pub)] // a test's modules are nobody's interface
#![allow(clippy::pedantic)] // its tools are written for what they show

mod approvals;
mod canaries;
mod carries;
mod deadlines;
mod dropped;
mod hostile;
mod later;
mod limits;
mod logs;
mod machine;
mod memory;
mod nesting;
mod panics;
mod sinks;
mod sizes;
mod spans;
mod store_down;
mod support;
