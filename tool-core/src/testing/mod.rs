//! Helpers for tests of tools: an in-process client, a scripted model, trials of models, assertions
//! about the tools of a program, and conformance tests for stores.
//!
//! A failed assertion panics with the problem and the caller's position.

#[cfg(feature = "agents")]
pub mod agents;
pub(crate) mod assertions;
pub(crate) mod client;
pub mod history;
pub mod journal;
pub(crate) mod scripted;
pub(crate) mod skip;
pub mod store;
pub(crate) mod trials;

#[cfg(test)]
mod tests;

pub use crate::testing::assertions::{assert_linked, assert_tools};
pub use crate::testing::client::{Client, RecordedCall};
pub use crate::testing::scripted::{RecordedRequest, ScriptedModel};
pub use crate::testing::skip::skip;
pub use crate::testing::trials::answer_check::CheckVerdict;
pub use crate::testing::trials::argument_match::ArgumentMatch;
pub use crate::testing::trials::outcome::{TrialOutcome, TrialRun};
pub use crate::testing::trials::summary::Trials;
pub use crate::testing::trials::trial::Trial;
