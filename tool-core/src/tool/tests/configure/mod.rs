//! Settings and secrets, from JSON to toolsets.

#[cfg(feature = "agents")]
pub(crate) mod factories;
pub(crate) mod laws;
pub(crate) mod messages;
