//! Journals in folders of their own, and entries to write into them.

use std::path::PathBuf;
use tempfile::TempDir;
use tool_adapters::stores::FileJournal;
use tool_core::session::{Journal, JournalEntry};

/// A folder that goes when the test ends, and the journal's path in it.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.file("calls.journal")
    }

    /// The journal, as the next process opens it.
    pub(crate) fn open(&self) -> FileJournal {
        FileJournal::open(self.path()).unwrap()
    }
}

pub(crate) use tool_core::testing::journal::action as entry;

pub(crate) fn harmless(session: &str, call_id: &str) -> JournalEntry {
    JournalEntry {
        harmless: true,
        ..entry(session, call_id)
    }
}

/// The call ids and responses that earlier processes left of a session.
pub(crate) async fn recovered(
    journal: &FileJournal,
    session: &str,
) -> Vec<(String, Option<String>)> {
    let found = journal.recover(session).await.unwrap();
    found
        .into_iter()
        .map(|call| (call.entry.call_id, call.response))
        .collect()
}

/// As `recovered` gives it.
pub(crate) fn calls(calls: &[(&str, Option<&str>)]) -> Vec<(String, Option<String>)> {
    calls
        .iter()
        .map(|(id, response)| ((*id).to_owned(), response.map(str::to_owned)))
        .collect()
}
