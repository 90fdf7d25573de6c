//! References, places and types.

mod document;
mod types;
