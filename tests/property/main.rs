//! The published schema is what is enforced: the differential test of rule V1.
//!
//! For every argument type in `types`, arguments are generated from its published schema (`generate`), mutated or
//! not (`mutate`), written in one of many spellings (`json`), and sent to the tool. The tool must accept them exactly
//! if the `jsonschema` crate does (`oracle`) after the documented coercions (`coercions`, a
//! second and simpler implementation). The tool must receive the arguments unchanged (`same`).
//!
//! `PROPTEST_CASES=200000 cargo test --release -p tests --test property` runs long.

mod accepts;
mod coercions;
mod driver;
mod exceptions;
mod generate;
mod hostile;
mod json;
mod mutate;
mod oracle;
mod published;
mod refuses;
mod same;
mod suite;
mod tape;
mod types;
mod unpublished;
mod wide;
