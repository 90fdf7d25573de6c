//! The arguments of a call: decoded, corrected, validated, and compared.
//!
//! Arguments that decode into a tool's types go no further. Others are parsed into a value, known
//! mistakes of models are corrected by the schema ([`Coercions`]), the schema is enforced, and all
//! problems are reported in words that a model can act on ([`Problem`]). Accepted arguments have an
//! identity ([`Fingerprint`]) and a canonical text.

pub(crate) mod coerce;
pub(crate) mod defaults;
pub(crate) mod equality;
pub(crate) mod fields;
#[cfg(feature = "session")]
pub(crate) mod fingerprint;
pub(crate) mod flatten;
pub(crate) mod limits;
pub(crate) mod prepare;
pub(crate) mod problem;
pub(crate) mod shared_schema;
pub(crate) mod tool_parameter;
pub(crate) mod validate;
pub(crate) mod view;

#[cfg(test)]
mod tests;

#[doc(hidden)]
pub use crate::arguments::problem::nearest;
pub use coerce::{Coercions, JsonRepair};
#[cfg(feature = "session")]
pub use fingerprint::Fingerprint;
pub use problem::Problem;
pub use validate::SchemaChecker;
