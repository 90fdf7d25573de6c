//! Stores: sessions and conversations in [`SqliteStore`] (a file, without a server), [`PostgresStore`] and [`RedisStore`],
//! and calls in [`FileJournal`], or in the journal of a store.
//!
//! A store implements [`SessionStore`](tool_core::session::SessionStore) and
//! [`HistoryStore`](tool_core::session::HistoryStore). With the feature `agent-records`, the stores in SQL databases also
//! keep the records of agents.
//!
//! The stores in SQL databases create their tables, whose names begin with `tool_`, and note their
//! migrations in separate tables, so that they can share a database with the program's own tables.
//! People and other programs may read and change the records of agents: triggers give a changed row
//! a new version, and the next load of the agent uses it.

#[cfg(feature = "journal")]
mod journal;
#[cfg(any(feature = "postgres", feature = "redis", feature = "sqlite"))]
mod kept_values;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(any(feature = "postgres", feature = "redis", feature = "sqlite"))]
mod random;
#[cfg(feature = "redis")]
mod redis;
#[cfg(any(feature = "postgres", feature = "redis", feature = "sqlite"))]
mod sign_of_life;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub mod sql;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(any(feature = "postgres", feature = "redis", feature = "sqlite"))]
mod store_journal;

#[cfg(feature = "journal")]
pub use crate::journal::FileJournal;
#[cfg(feature = "postgres")]
pub use crate::postgres::{PostgresDatabase, PostgresStore};
#[cfg(feature = "redis")]
pub use crate::redis::{RedisCalls, RedisJournal, RedisRecord, RedisStore, RedisStoreBuilder};
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub use crate::sql::{
    SqlError, SqlStore,
    journal::{SqlCalls, SqlJournal},
    session_record::SqlSession,
};
#[cfg(feature = "sqlite")]
pub use crate::sqlite::{SqliteDatabase, SqliteStore};
#[cfg(any(feature = "postgres", feature = "redis", feature = "sqlite"))]
pub use crate::store_journal::StoreJournal;
