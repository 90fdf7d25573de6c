//! A journal in memory that processes share.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::time::Instant;
use tool_core::session::{Journal, JournalEntry, JournalError, JournalStart, RecoveredCall};
use tool_core::testing::journal::JournalUnderTest;

/// The journal of one process. Those of other processes share its calls.
#[derive(Default)]
pub(crate) struct SharedJournal {
    book: Arc<Mutex<Book>>,
    process: u64,
}

#[derive(Default)]
struct Book {
    rows: Vec<Row>,
    /// The processes and the calls so far.
    numbers: u64,
    dead: HashSet<u64>,
}

struct Row {
    process: u64,
    runs_until: Instant,
    call: RecoveredCall,
}

impl SharedJournal {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().expect("sound")
    }

    pub(crate) fn another_process(&self) -> Self {
        let mut book = self.book();
        book.numbers += 1;
        Self {
            book: Arc::clone(&self.book),
            process: book.numbers,
        }
    }

    /// Returns the journal of the same process, for its runtime.
    pub(crate) fn same_process(&self) -> Self {
        Self {
            book: Arc::clone(&self.book),
            process: self.process,
        }
    }

    /// Ends the process as a kill does.
    pub(crate) fn die(&self) {
        self.book().dead.insert(self.process);
    }

    /// Changes each entry, as someone with access to the store can.
    pub(crate) fn change(&self, change: impl Fn(&mut RecoveredCall)) {
        for row in &mut self.book().rows {
            change(&mut row.call);
        }
    }
}

impl Book {
    fn is_running(&self, row: &Row) -> bool {
        row.call.response.is_none()
            && !self.dead.contains(&row.process)
            && row.runs_until > Instant::now()
    }
}

impl Row {
    fn is(&self, session: &str, call_id: &str) -> bool {
        self.call.entry.session == session && self.call.entry.call_id == call_id
    }
}

impl Journal for SharedJournal {
    async fn started(&self, call: &JournalEntry) -> Result<JournalStart, JournalError> {
        let mut book = self.book();
        let at = book
            .rows
            .iter()
            .position(|row| row.is(&call.session, &call.call_id));
        if let Some(at) = at {
            let row = &book.rows[at];
            let is_own = row.process == self.process;
            let is_replaced = is_own || call.replaces == Some(row.call.number);
            if !is_replaced || row.call.entry.has_approval_of(call) {
                if !is_own && book.is_running(row) {
                    return Ok(JournalStart::Running);
                }
                return Ok(JournalStart::Known(Box::new(row.call.clone())));
            }
            book.rows.remove(at);
        }

        book.numbers += 1;
        let number = book.numbers;
        book.rows.push(Row {
            process: self.process,
            runs_until: Instant::now() + Duration::from_millis(call.time_limit_ms),
            call: RecoveredCall {
                number,
                ..RecoveredCall::new(call.clone())
            },
        });
        Ok(JournalStart::Recorded)
    }

    async fn find(&self, session: &str, id: &str) -> Result<Option<JournalStart>, JournalError> {
        let book = self.book();
        let row = book.rows.iter().find(|row| row.is(session, id));
        let Some(row) = row.filter(|row| row.process != self.process) else {
            return Ok(None);
        };
        if book.is_running(row) {
            return Ok(Some(JournalStart::Running));
        }
        let known = Box::new(row.call.clone());
        Ok(Some(JournalStart::Known(known)))
    }

    async fn finished(&self, session: &str, id: &str, response: &str) -> Result<(), JournalError> {
        for row in &mut self.book().rows {
            if row.process == self.process && row.is(session, id) {
                row.call.response = Some(response.to_owned());
            }
        }
        Ok(())
    }

    async fn recover(&self, session: &str) -> Result<Vec<RecoveredCall>, JournalError> {
        let book = self.book();
        let rows = book.rows.iter().filter(|row| {
            row.process != self.process
                && row.call.entry.session == session
                && !book.is_running(row)
        });
        Ok(rows.map(|row| row.call.clone()).collect())
    }

    async fn forget(&self, session: &str) -> Result<(), JournalError> {
        let mut book = self.book();
        book.rows.retain(|row| row.call.entry.session != session);
        Ok(())
    }
}

impl JournalUnderTest for SharedJournal {
    type Journal = Self;

    async fn process(&self) -> Self {
        self.another_process()
    }

    async fn kill(&self, journal: Self) {
        journal.die();
    }
}

tool_core::journal_conformance!(Some(SharedJournal::default()));
tool_core::shared_journal_conformance!(Some(SharedJournal::default()));
