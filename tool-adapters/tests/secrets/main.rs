//! Sealed secrets in a real store: keys rotated while the process is killed, and nothing of a secret in any sink.

mod canaries;
mod rotation;
mod sinks;
mod vault;
