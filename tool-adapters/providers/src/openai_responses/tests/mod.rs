//! Responses: items, their deltas, and what goes back.

pub(crate) mod once;
pub(crate) mod read;
pub(crate) mod write;
