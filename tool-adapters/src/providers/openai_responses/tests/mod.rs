//! Responses: items, their deltas, and what goes back.

pub(crate) mod read;
pub(crate) mod write;
