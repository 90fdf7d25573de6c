//! Settings and secrets, from JSON to toolsets.

#[cfg(feature = "agents")]
mod factories;
mod laws;
mod messages;
