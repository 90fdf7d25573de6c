//! The stores of agents over SQLite, and over PostgreSQL: `POSTGRES_URL=postgres://.. cargo test -p tool-adapters`.

mod conformance;
mod server;
