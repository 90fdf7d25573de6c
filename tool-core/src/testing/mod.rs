//! For the tests of those who write tools: an in-process client, and assertions on which tools there are.
//!
//! Everything here panics where a test should fail, and says what is the matter and where it was asked.

#[cfg(feature = "agents")]
pub mod agents;
mod assertions;
mod client;
mod scripted;
pub mod store;

#[cfg(test)]
mod tests;

pub use assertions::{assert_linked, assert_tools};
pub use client::{Client, RecordedCall};
pub use scripted::{RecordedRequest, ScriptedModel};
