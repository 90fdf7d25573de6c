//! The records of agents in a file.

mod file;
mod lane;
mod operations;
mod sql;
mod store;

pub use store::SqliteStore;
