//! For the tests of those who write tools: an in-process client, and assertions on which tools there are.
//!
//! Everything here panics where a test should fail, and says what is the matter and where it was asked.

#[cfg(feature = "agents")]
pub mod agents;
pub(crate) mod assertions;
pub(crate) mod client;
pub(crate) mod scripted;
pub mod store;

#[cfg(test)]
mod tests;

pub use crate::testing::assertions::{assert_linked, assert_tools};
pub use crate::testing::client::{Client, RecordedCall};
pub use crate::testing::scripted::{RecordedRequest, ScriptedModel};
