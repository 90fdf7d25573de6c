//! The agent loop over a model, and the conversation that it keeps.

pub(crate) mod history;
pub(crate) mod model;
pub(crate) mod reply;
