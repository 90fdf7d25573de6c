//! What is published is what is enforced: the differential test of DESIGN section 5.
//!
//! For every argument type in `types`, arguments are made from the schema that is published for it (`generate`), spoilt
//! or not (`mutate`), written in one of many spellings (`json`), and sent to the tool. Whether the tool takes them must
//! be what the `jsonschema` crate says of them (`oracle`) once the documented coercions are applied (`coercions`, a
//! second and simpler implementation of them); what the tool got must be what was sent (`same`).
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
