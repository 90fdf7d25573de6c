//! Strict declarations: the provider makes the model write arguments that satisfy the schema.
//!
//! - [`budget`]: the strict forms, and their limits
//! - [`projector`]: schemas, with their references, unions and `allOf`
//! - [`containers`]: arrays and objects
//!
//! A strict schema accepts at least the values of the schema, with null for absent properties where
//! every property is required. A tool whose schema has no strict form is declared without, and the
//! report has the first reason.

pub(crate) mod budget;
pub(crate) mod containers;
pub(crate) mod projector;

#[cfg(test)]
pub(crate) mod tests;
