//! What the processes of one conversation share.

use crate::office::{policy, tools};
use crate::places::SharedStore;
use std::path::PathBuf;
use std::time::Duration;
use tool_adapters::stores::FileJournal;
use tool_core::session::{ConversationKey, RuntimeBuilder, SessionBuilder};
use tool_core::{Mode, Runtime};

/// The principal of every conversation.
pub const PRINCIPAL: &str = "user:7";

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
