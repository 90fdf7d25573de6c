//! Tools of OpenAPI documents, against a local server that records its requests.

mod answers;
mod credentials;
mod petstore;
mod refusals;
mod requests;
mod support;
