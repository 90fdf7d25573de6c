//! The stores that the processes of a test share.

use std::sync::Arc;
use std::time::Duration;
use tool_adapters::stores::{PostgresStore, RedisStore, SqliteStore};
use tool_core::session::{DynHistoryStore, Journal, SessionStore};
use tool_core::testing::skip;

/// A store of sessions and conversations that outlives a process.
pub trait SharedStore: SessionStore + DynHistoryStore + Clone {
    /// Returns the store's own journal.
    fn own_journal(&self) -> impl Journal;
}

impl SharedStore for Arc<SqliteStore> {
    fn own_journal(&self) -> impl Journal {
        self.journal().lease(LEASE)
    }
}

impl SharedStore for Arc<PostgresStore> {
    fn own_journal(&self) -> impl Journal {
        self.journal().lease(LEASE)
    }
}

impl SharedStore for Arc<RedisStore> {
    fn own_journal(&self) -> impl Journal {
        self.journal().lease(LEASE)
    }
}

/// The time after which a killed process counts as killed.
pub const LEASE: Duration = Duration::from_millis(300);

/// Runs `$work` with the store at a place.
macro_rules! with_store {
    ($place:expr, |$store:ident| $work:expr) => {
        match $crate::places::StoreKind::of($place) {
            $crate::places::StoreKind::Sqlite => {
                let $store = $crate::places::sqlite($place).await;
                $work
            }
            $crate::places::StoreKind::Postgres => {
                let $store = $crate::places::postgres($place).await;
                $work
            }
            $crate::places::StoreKind::Redis => {
                let $store = $crate::places::redis($place).await;
                $work
            }
        }
    };
}

pub(crate) use with_store;

/// A kind of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreKind {
    Sqlite,
    Postgres,
    Redis,
}

impl StoreKind {
    pub fn of(place: &str) -> Self {
        match place.split_once("://") {
            Some(("redis" | "rediss", _)) => Self::Redis,
            Some(_) => Self::Postgres,
            None => Self::Sqlite,
        }
    }
}

pub async fn sqlite(place: &str) -> Arc<SqliteStore> {
    let store = SqliteStore::open(place).await;
    Arc::new(store.expect("the file opens"))
}

pub async fn postgres(place: &str) -> Arc<PostgresStore> {
    let store = PostgresStore::connect(place).await;
    Arc::new(store.expect("the server answers"))
}

pub async fn redis(place: &str) -> Arc<RedisStore> {
    let store = RedisStore::connect(place).await;
    Arc::new(store.expect("the server answers").prefix("killed-test"))
}

/// Returns the server that a variable names. Skips the test without one.
pub fn server(variable: &str) -> Option<String> {
    let url = std::env::var(variable).ok().filter(|url| !url.is_empty());
    if url.is_none() {
        skip(format_args!("{variable} names no server"));
    }
    url
}

/// Returns a variable of the environment that a test gives its other processes.
pub fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("expected the variable {name}"))
}
