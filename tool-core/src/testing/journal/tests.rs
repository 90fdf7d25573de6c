//! The conformance tests of the journal in memory, with which other tests work.

use crate::session::tests::memory_journal::MemoryJournal;
use crate::testing::journal::JournalUnderTest;
use parking_lot::Mutex;

/// Processes that come one after the other.
#[derive(Default)]
struct InMemory(Mutex<MemoryJournal>);

impl JournalUnderTest for InMemory {
    type Journal = MemoryJournal;

    async fn process(&self) -> MemoryJournal {
        let mut last = self.0.lock();
        *last = last.next_process();
        last.clone()
    }

    async fn kill(&self, _: MemoryJournal) {}
}

crate::journal_conformance!(Some(InMemory::default()));
