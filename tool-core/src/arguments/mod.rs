//! Arguments that did not decode at once: what can be put right without loss, and what is wrong with the rest.
//!
//! Arguments that decode never come here. These do: the text is read into a value, known slips are corrected by the
//! schema, the schema is enforced, and every problem is reported in words that a model can act on.
//!
//! Accepted arguments are told apart by `fingerprint`, and written in one form for all that are equal by
//! `canonical_text`.

pub(crate) mod borrowed;
pub(crate) mod coerce;
pub(crate) mod defaults;
pub(crate) mod digest;
pub(crate) mod equality;
pub(crate) mod fields;
pub(crate) mod limits;
pub(crate) mod lossless;
pub(crate) mod prepare;
pub(crate) mod problem;
pub(crate) mod rest;
pub(crate) mod validate;
pub(crate) mod view;
pub(crate) mod words;

#[cfg(test)]
mod tests;

pub use crate::arguments::coerce::Coercions;
pub use crate::arguments::equality::Fingerprint;
pub use crate::arguments::problem::Problem;
