//! The records of agents in a database: [`SqliteStore`] in a file, without a server; [`PostgresStore`] on a server.
//!
//! Both make their tables themselves, `tool_agents` and `tool_agent_records`, and note it in a table of their own, so that they go
//! with what a program has in the same database. The tables may be read and changed by hand and by other programs: a
//! changed row gets a new version, and agents that are loaded next have it.

#[cfg(feature = "journal")]
mod journal;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod sql;
#[cfg(feature = "sqlite")]
mod sqlite;

#[cfg(feature = "journal")]
pub use crate::stores::journal::FileJournal;
#[cfg(feature = "postgres")]
pub use crate::stores::postgres::PostgresStore;
#[cfg(feature = "redis")]
pub use crate::stores::redis::RedisStore;
#[cfg(feature = "sqlite")]
pub use crate::stores::sqlite::SqliteStore;
