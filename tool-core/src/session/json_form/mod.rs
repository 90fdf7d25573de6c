//! The JSON form of a conversation, and its reading from a text that is not trusted.

pub(crate) mod error;
pub(crate) mod limits;
pub(crate) mod object;
pub(crate) mod read;
pub(crate) mod write;
