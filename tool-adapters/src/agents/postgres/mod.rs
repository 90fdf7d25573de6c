//! The records of agents on a server.

mod connections;
mod operations;
mod sql;
mod store;

pub use store::PostgresStore;
