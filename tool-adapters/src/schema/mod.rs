//! What the dialects share: places in a schema, references, types, and what a description can say.

mod document;
mod restore;
mod types;
mod walk;

#[cfg(test)]
mod tests;

pub(crate) use document::{Document, Draft, Place};
pub(crate) use restore::restore;
pub(crate) use tool_core::__shared::{ONE as HOLDS_ONE, child as join, is_schema};
pub(crate) use types::Types;
pub(crate) use walk::{Child, for_each_child, is_annotation};
