//! Responses: items, their deltas, and what goes back.

mod read;
mod write;
