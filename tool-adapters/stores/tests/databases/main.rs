//! Sessions and conversations over SQLite, and over PostgreSQL: `POSTGRES_URL=postgres://.. cargo test -p tool-adapters-stores --all-features`.

#[path = "../../../tests/support/certificates.rs"]
mod certificates;
mod changes;
mod conformance;
mod database;
mod faults;
mod histories;
mod journals;
mod killed;
mod lists;
#[path = "../../../tests/support/own_server.rs"]
mod own_server;
mod pooler;
mod restart;
#[allow(dead_code)] // the tests of agents use the rest
#[path = "../agents/server.rs"]
mod server;
mod starts;
mod tls;
