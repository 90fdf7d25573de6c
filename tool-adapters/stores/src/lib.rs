//! Stores: sessions in [`RedisStore`], calls in [`FileJournal`], the records of agents in [`SqliteStore`] (a file, without
//! a server) and [`PostgresStore`].
//!
//! The stores of agents create their tables, `tool_agents` and `tool_agent_records`, and note their migrations in a separate
//! table, so that they can share a database with the program's own tables. People and other programs may read and change the
//! rows: triggers give a changed row a new version, and the next load of the agent uses it.

#[cfg(feature = "journal")]
mod journal;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "redis")]
mod redis;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub mod sql;
#[cfg(feature = "sqlite")]
mod sqlite;

#[cfg(feature = "journal")]
pub use crate::journal::FileJournal;
#[cfg(feature = "postgres")]
pub use crate::postgres::{PostgresDatabase, PostgresStore};
#[cfg(feature = "redis")]
pub use crate::redis::{RedisRecord, RedisStore};
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub use crate::sql::{SqlError, SqlStore, session_record::SqlSession};
#[cfg(feature = "sqlite")]
pub use crate::sqlite::{SqliteDatabase, SqliteStore};
