//! Arguments that did not decode at once: what can be put right without loss, and what is wrong with the rest.
//!
//! Arguments that decode never come here. These do: the text is read into a value, known slips are corrected by the
//! schema, the schema is enforced, and every problem is reported in words that a model can act on.
//!
//! Accepted arguments are told apart by `fingerprint`, and written in one form for all that are equal by
//! `canonical_text`.

mod branches;
mod coerce;
mod defaults;
mod exact;
mod known;
mod lossless;
mod nearest;
mod prepare;
mod problem;
mod read;
mod report;
mod shapes;
#[cfg(feature = "agents")]
mod soundness;
mod subject;
mod validate;
mod validator;
mod view;
mod words;

#[cfg(test)]
mod tests;

pub use coerce::Coercions;
pub(crate) use coerce::coerce;
pub(crate) use defaults::fill;
pub(crate) use nearest::nearest;
pub(crate) use prepare::{CONFIRM_DUPLICATE, Prepared, prepare};
pub use problem::Problem;
pub(crate) use read::{Caps, open};
pub(crate) use report::report;
#[cfg(feature = "agents")]
pub(crate) use soundness::{may_be_object, wrong_defaults};
pub(crate) use subject::Subject;
pub(crate) use validate::{unknown_name, validate, validate_as};
pub(crate) use validator::Validator;
