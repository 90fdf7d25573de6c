//! The options of the attributes.

pub(crate) mod agent;
pub(crate) mod arg;
pub(crate) mod bounds;
pub(crate) mod cfg_attr;
pub(crate) mod foreign;
pub(crate) mod grammar;
mod synonyms;
pub(crate) mod tool;
pub(crate) mod toolset;
