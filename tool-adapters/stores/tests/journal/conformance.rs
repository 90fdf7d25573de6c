//! The conformance tests of journals, over a file.

use crate::support::Place;
use tool_adapters::stores::FileJournal;
use tool_core::testing::journal::JournalUnderTest;

impl JournalUnderTest for Place {
    type Journal = FileJournal;

    async fn process(&self) -> FileJournal {
        self.open()
    }

    async fn kill(&self, journal: FileJournal) {
        drop(journal);
    }
}

tool_core::journal_conformance!(Some(Place::new()));
