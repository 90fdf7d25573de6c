//! What the processes of one conversation share.

use crate::office::{policy, tools};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tool_adapters::stores::{FileJournal, PostgresStore, RedisStore, SqliteStore};
use tool_core::session::{ConversationKey, DynHistoryStore, SessionBuilder, SessionStore};
use tool_core::{Mode, Runtime};

/// The principal of every conversation.
pub const PRINCIPAL: &str = "user:7";

/// A store of sessions and conversations that outlives a process.
pub trait SharedStore: SessionStore + DynHistoryStore + Clone {}

impl<S: SessionStore + DynHistoryStore + Clone> SharedStore for S {}

/// The parts of a conversation that are the same in every process.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The file of SQLite, or the URL of a server.
    pub place: String,
    /// The id of the conversation and of its session.
    pub id: String,
    /// The folder with the ledger, the tokens and the journal.
    pub folder: PathBuf,
    /// True if the processes keep a journal.
    pub has_journal: bool,
}

impl Setting {
    pub fn key(&self) -> ConversationKey {
        ConversationKey::new(&self.id, PRINCIPAL)
    }

    /// Creates the runtime of a process.
    pub fn runtime(&self, store: impl SessionStore) -> Runtime {
        let mut builder = Runtime::builder(tools(&self.folder))
            .policy(policy().store_deadline(Duration::from_secs(20)))
            .store(store)
            .signing_key([7; 32]);
        if self.has_journal {
            let journal = FileJournal::open(self.folder.join("journal"));
            builder = builder.journal(journal.expect("the journal opens"));
        }
        builder.build().expect("the runtime builds")
    }

    /// Opens the session of the conversation.
    pub fn session(&self, runtime: &Runtime) -> SessionBuilder {
        runtime.session(&*self.id, Mode::Text).principal(PRINCIPAL)
    }

    /// Returns the tokens of the approvals that a person was asked for.
    pub fn tokens(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.tokens_file()).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    pub fn tokens_file(&self) -> PathBuf {
        self.folder.join("tokens")
    }
}

/// Runs `$work` with the store at a place.
macro_rules! with_store {
    ($place:expr, |$store:ident| $work:expr) => {
        match $crate::setting::StoreKind::of($place) {
            $crate::setting::StoreKind::Sqlite => {
                let $store = $crate::setting::sqlite($place).await;
                $work
            }
            $crate::setting::StoreKind::Postgres => {
                let $store = $crate::setting::postgres($place).await;
                $work
            }
            $crate::setting::StoreKind::Redis => {
                let $store = $crate::setting::redis($place).await;
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
