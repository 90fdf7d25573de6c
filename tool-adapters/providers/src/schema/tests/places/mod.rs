//! References, places and types.

pub(crate) mod document;
pub(crate) mod types;
