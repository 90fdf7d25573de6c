//! The records of agents in a database: [`SqliteStore`] in a file, without a server; [`PostgresStore`] on a server.
//!
//! Both make their tables themselves, `tool_agents` and `tool_agent_records`, and note it in a table of their own, so that they go
//! with what a program has in the same database. The tables may be read and changed by hand and by other programs: a
//! changed row gets a new version, and agents that are loaded next have it.

mod columns;
mod failure;
mod migrations;
#[cfg(feature = "postgres")]
mod postgres;
mod row;
#[cfg(feature = "sqlite")]
mod sqlite;

#[cfg(feature = "postgres")]
pub use postgres::PostgresStore;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteStore;
