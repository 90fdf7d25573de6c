//! The stores of agents over SQLite, and over PostgreSQL: `POSTGRES_URL=postgres://.. cargo test -p tool-adapters --all-features`.

mod conformance;
mod destinations;
mod faults;
mod killed;
mod manual_changes;
mod opening;
mod process;
mod server;
mod soak;
mod workload;
