//! What the processes of one conversation share.

use crate::office::{policy, tools};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tool_adapters::stores::{FileJournal, PostgresStore, RedisStore, SqliteStore};
use tool_core::session::{
    ConversationKey, DynHistoryStore, Journal, RuntimeBuilder, SessionBuilder, SessionStore,
};
use tool_core::{Mode, Runtime};

/// The principal of every conversation.
pub const PRINCIPAL: &str = "user:7";

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
const LEASE: Duration = Duration::from_millis(300);

/// The journal of the processes of one conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalKind {
    /// None.
    Nothing,
    /// A file, which one process has at a time.
    File,
    /// That of the store, which processes share.
    Store,
}

impl JournalKind {
    pub const ALL: [Self; 3] = [Self::Nothing, Self::File, Self::Store];

    pub fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::File => "file",
            Self::Store => "store",
        }
    }

    /// Returns the kind of this name.
    pub fn named(name: &str) -> Self {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == name);
        found.expect("the name of a kind of journal")
    }
}

/// The parts of a conversation that are the same in every process.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The file of SQLite, or the URL of a server.
    pub place: String,
    /// The id of the conversation and of its session.
    pub id: String,
    /// The folder with the ledger, the tokens and the journal.
    pub folder: PathBuf,
    /// The journal that the processes keep.
    pub journal: JournalKind,
}

impl Setting {
    pub fn key(&self) -> ConversationKey {
        ConversationKey::new(&self.id, PRINCIPAL)
    }

    /// Creates the runtime of a process.
    pub fn runtime(&self, store: impl SharedStore) -> Runtime {
        let builder = Runtime::builder(tools(&self.folder))
            .policy(policy().store_deadline(Duration::from_secs(20)))
            .store(store.clone())
            .signing_key([7; 32]);
        let builder = self.with_journal(builder, &store);
        builder.build().expect("the runtime builds")
    }

    fn with_journal(&self, builder: RuntimeBuilder, store: &impl SharedStore) -> RuntimeBuilder {
        match self.journal {
            JournalKind::Nothing => builder,
            JournalKind::File => {
                let journal = FileJournal::open(self.folder.join("journal"));
                builder.journal(journal.expect("the journal opens"))
            }
            JournalKind::Store => builder.journal(store.own_journal()),
        }
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
