//! What carries tool-core's tools to stores, providers and transports: a module each, behind a feature of its name.

#[cfg(feature = "journal")]
pub mod journal;
#[cfg(feature = "redis")]
pub mod redis;
