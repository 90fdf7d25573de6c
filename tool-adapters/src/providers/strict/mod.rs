//! Strict declarations: the provider makes the model write arguments that satisfy the schema.
//!
//! - [`budget`]: the strict forms, and their limits
//! - [`root`] and [`projector`]: schemas, with their references and `allOf`
//! - [`node`], [`object`], [`array`] and [`nullable`]: the parts of a schema
//!
//! A strict schema accepts at least the values of the schema, with null for absent properties where every property is
//! required. A tool whose schema has no strict form is declared without, and the report has the first reason.

pub(crate) mod array;
pub(crate) mod budget;
pub(crate) mod node;
pub(crate) mod nullable;
pub(crate) mod object;
pub(crate) mod projector;
pub(crate) mod root;

#[cfg(test)]
pub(crate) mod tests;
