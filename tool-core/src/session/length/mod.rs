//! The length of a conversation: how much of it is kept, and how the rest is summed up.

pub(crate) mod compact;
pub(crate) mod estimate;
pub(crate) mod keep;
pub(crate) mod plan;
pub(crate) mod results;
pub(crate) mod shortened;
pub(crate) mod trim;
