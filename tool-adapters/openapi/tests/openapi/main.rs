//! Tools of OpenAPI documents, against a local server that records its requests.
//!
//! This is a separate binary, as a process has one allocator. It counts the memory of the tools.

mod answers;
mod bodies;
#[path = "../../../../tests/benches/counting.rs"]
mod counting;
mod credentials;
mod petstore;
mod refusals;
mod requests;
mod sharing;
mod support;
