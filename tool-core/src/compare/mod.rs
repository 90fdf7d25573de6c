//! Which arguments are equal: loops are found by it, approvals and the journal name a call by it.
//!
//! - `fingerprint`: arguments as something to compare; `canonical_text`: one text for all that are equal
//! - `differ`: a look that costs next to nothing and most often is enough
//! - `mix`: the hash, keyed with what this process drew by lot
//! - `scan`: one pass over the text, without a value and without a copy
//! - `number`: numbers by their value
//! - `parameters`, `table`: the names and the defaults of a tool's parameters, and their hashes, made once

mod canonical_text;
mod differ;
mod fingerprint;
mod mix;
mod number;
mod parameters;
mod scan;
mod table;

#[cfg(test)]
mod tests;

pub(crate) use canonical_text::canonical_text;
pub use fingerprint::Fingerprint;
pub(crate) use parameters::Parameters;
