//! The egress guard, against real sockets and a resolver that the tests control.

mod encodings;
mod hosts;
mod leaks;
mod limits;
mod rebinding;
mod redirects;
mod support;
