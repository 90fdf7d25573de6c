//! The stores of agents over SQLite, and over PostgreSQL: `POSTGRES_URL=postgres://.. cargo test -p tool-adapters`.

mod conformance;
mod faults;
mod hand;
mod killed;
mod opening;
mod part;
mod server;
mod soak;
mod work;
