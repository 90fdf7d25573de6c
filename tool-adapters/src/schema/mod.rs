//! What the dialects share: places in a schema, references, types, and what a description can say.

mod document;
mod pointer;
mod restore;
mod types;
mod walk;

#[cfg(test)]
mod tests;

pub(crate) use document::{Document, Draft, Place};
pub(crate) use pointer::join;
pub(crate) use restore::restore;
pub(crate) use types::Types;
pub(crate) use walk::{Child, for_each_child, is_annotation, is_schema};
