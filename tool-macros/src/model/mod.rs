//! The meaning of a block or a function, borrowed from its syntax.

pub(crate) mod lower;
pub(crate) mod parameter;
pub(crate) mod passing;
pub(crate) mod toolset;
pub(crate) mod type_names;
