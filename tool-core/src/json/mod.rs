//! JSON text: a strict decoder, a lenient parser, and a writer.
//!
//! The schema that a tool publishes is what it accepts, so the [decoder](decoder::Decoder) accepts
//! exactly what a JSON Schema validator would: an object for a struct (never an array), a string
//! for a unit variant (never an object), no repeated key, and `5.0` where an integer is expected.
//! It decodes a text into typed arguments in one pass, borrows strings without escapes, and keeps
//! no lines, columns or paths until something fails. The parser of the failure path is built on it
//! and accepts repeated keys, so that it can report all of them. Where a runtime opts in, a text
//! that is nearly JSON is repaired before. A reader that needs no values tells strings from the
//! rest with a
//! [`StringScanner`].

pub(crate) mod canonical;
pub(crate) mod decoder;
pub(crate) mod deserializer;
pub(crate) mod error;
pub(crate) mod keys;
pub(crate) mod nested;
pub(crate) mod number;
pub(crate) mod pointer;
pub(crate) mod probe;
pub(crate) mod raw;
pub(crate) mod repair;
pub(crate) mod scan;
pub(crate) mod string;
pub(crate) mod value;
pub(crate) mod writer;

pub use crate::json::deserializer::parse_strict;
pub use crate::json::error::Error;
pub use crate::json::nested::{is_nested_too_deep, unless_too_deep};
pub use crate::json::scan::{StringPart, StringScanner, outside_strings};
pub use crate::json::string::{run_end, run_length};

#[cfg(test)]
mod tests;
