//! The stores of agents over SQLite, and over PostgreSQL: `POSTGRES_URL=postgres://.. cargo test -p tool-adapters --all-features`.

mod changes;
mod conformance;
mod destinations;
mod faults;
mod killed;
mod manual_changes;
mod opening;
#[path = "../../../tests/support/own_server.rs"]
mod own_server;
#[allow(dead_code)] // the tests of sessions use the rest
#[path = "../databases/pooler.rs"]
mod pooler;
mod process;
mod server;
mod soak;
mod workload;
