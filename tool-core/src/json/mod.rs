//! A strict JSON decoder for tool arguments: one pass from the text into the typed arguments.
//!
//! What a tool publishes as its schema is what it accepts, so this decoder takes exactly what a JSON Schema
//! validator would: an object for a struct (never an array), text for a unit variant (never an object), no
//! duplicate key anywhere, and `5.0` where an integer is wanted. It borrows text that has no escape, and
//! counts nothing (lines, columns, paths) until something fails.
//!
//! - `decoder`: the cursor and the parts that generated argument structs drive themselves
//! - `string`, `number`: the scalars
//! - `de`, `access`, `enums`, `keys`: serde's view of the text
//! - `names`: what a type knows against what its tool publishes
//! - `check`: a value that nobody reads, still held to the grammar
//! - `tokens`: the text piece by piece, for those who write it out again
//! - `value`: the tolerant parse of the failure path, which tells every problem at once
//! - `error`: one pointer wide, with a JSON pointer to the place

pub(crate) mod decoder;
pub(crate) mod deserializer;
pub(crate) mod error;
pub(crate) mod escape;
pub(crate) mod keys;
pub(crate) mod number;
pub(crate) mod string;
pub(crate) mod tokens;
pub(crate) mod value;
pub(crate) mod writer;

#[cfg(test)]
mod tests;
