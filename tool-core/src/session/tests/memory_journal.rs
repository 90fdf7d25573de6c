//! A journal for tests: in memory, with crashes on demand.

use crate::session::journal::{Journal, JournalEntry, JournalError, Recovered};
use crate::session::store::Operation;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Keeps calls for as long as one of those that share them lives.
#[derive(Clone, Default)]
pub(crate) struct MemoryJournal {
    rows: Arc<Mutex<Vec<Row>>>,
    run: u64,
    broken: bool,
}

struct Row {
    run: u64,
    call: Recovered,
}

impl MemoryJournal {
    /// The journal as the next process finds it, after this one was killed.
    pub(crate) fn next_process(&self) -> Self {
        Self { rows: self.rows.clone(), run: self.run + 1, broken: false }
    }

    /// The same calls, in a journal that cannot be written or read.
    pub(crate) fn broken(&self) -> Self {
        Self { broken: true, ..self.clone() }
    }

    fn rows(&self) -> Result<MutexGuard<'_, Vec<Row>>, JournalError> {
        if self.broken {
            return Err(JournalError::new("the disk is full"));
        }
        Ok(self.rows.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Journal for MemoryJournal {
    fn started<'a>(&'a self, call: &'a JournalEntry) -> Operation<'a, Result<(), JournalError>> {
        Operation::Ready(self.rows().map(|mut rows| {
            rows.retain(|row| !(row.run == self.run && row.is(&call.session, &call.call_id)));
            rows.push(Row { run: self.run, call: Recovered { entry: call.clone(), response: None } });
        }))
    }

    fn finished<'a>(
        &'a self,
        session: &'a str,
        call_id: &'a str,
        response: &'a str,
    ) -> Operation<'a, Result<(), JournalError>> {
        Operation::Ready(self.rows().map(|mut rows| {
            if let Some(row) = rows.iter_mut().find(|row| row.run == self.run && row.is(session, call_id)) {
                row.call.response = Some(response.to_owned());
            }
        }))
    }

    fn recover<'a>(&'a self, session: &'a str) -> Operation<'a, Result<Vec<Recovered>, JournalError>> {
        Operation::Ready(self.rows().map(|rows| {
            let earlier = rows.iter().filter(|row| row.run < self.run && row.call.entry.session == session);
            earlier.map(|row| row.call.clone()).collect()
        }))
    }

    fn forget<'a>(&'a self, session: &'a str) -> Operation<'a, Result<(), JournalError>> {
        Operation::Ready(self.rows().map(|mut rows| rows.retain(|row| row.call.entry.session != session)))
    }
}

impl Row {
    fn is(&self, session: &str, call_id: &str) -> bool {
        self.call.entry.session == session && self.call.entry.call_id == call_id
    }
}
