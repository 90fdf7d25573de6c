//! Sealed secrets in a real store: keys rotated while the process is killed, and nothing of a secret in any sink.

mod access;
mod canaries;
#[cfg(unix)]
mod key_files;
mod rotation;
mod sinks;
mod vault;
