//! Schemas in the form that a provider accepts.
//!
//! `rules` describes the forms as data. For providers that accept nearly any schema, `whole` copies
//! keywords; for those that know few, `subset` writes them anew. A schema may be spread over
//! `allOf`, references and branches: `node` collects its parts first. A projection accepts at least
//! the values of the schema.
//!
//! `grammar` has the limits of servers that make a grammar of a schema.
//!
//! `renames` gives properties names that the provider accepts, before the projection, and leads
//! back from them in arguments. `restore` leads back from the arguments of a strict tool to those
//! of the tool's own schema.

pub(crate) mod containers;
pub mod document;
pub(crate) mod facts;
pub(crate) mod grammar;
pub(crate) mod graph;
pub(crate) mod matcher;
pub(crate) mod node;
pub(crate) mod projector;
pub(crate) mod renames;
pub(crate) mod restore;
pub(crate) mod rules;
pub(crate) mod subset;
pub(crate) mod whole;
pub(crate) mod words;

#[cfg(test)]
pub(crate) mod tests;
