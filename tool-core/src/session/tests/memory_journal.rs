//! A journal in memory, with crashes and failures on demand.

use crate::session::journal::{Journal, JournalEntry, JournalError, JournalStart, RecoveredCall};
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;

/// A journal whose clones share their calls.
#[derive(Clone, Default)]
pub(crate) struct MemoryJournal {
    rows: Arc<Mutex<Vec<Row>>>,
    run: u64,
    broken: bool,
}

struct Row {
    run: u64,
    call: RecoveredCall,
}

impl MemoryJournal {
    /// Returns the journal as the next process opens it, after this process was killed.
    pub(crate) fn next_process(&self) -> Self {
        Self {
            rows: self.rows.clone(),
            run: self.run + 1,
            broken: false,
        }
    }

    /// Returns a journal with the same calls that fails to be written and read.
    pub(crate) fn broken(&self) -> Self {
        Self {
            broken: true,
            ..self.clone()
        }
    }

    fn rows(&self) -> Result<MutexGuard<'_, Vec<Row>>, JournalError> {
        if self.broken {
            return Err(JournalError::new("the disk is full"));
        }
        Ok(self.rows.lock())
    }
}

impl Journal for MemoryJournal {
    async fn started(&self, call: &JournalEntry) -> Result<JournalStart, JournalError> {
        let mut rows = self.rows()?;
        let known = rows.iter().find(|row| row.call.entry.has_approval_of(call));
        if let Some(known) = known {
            return Ok(JournalStart::Known(Box::new(known.call.clone())));
        }
        rows.retain(|row| !(row.run == self.run && row.is(&call.session, &call.call_id)));
        rows.push(Row {
            run: self.run,
            call: RecoveredCall::new(call.clone()),
        });
        Ok(JournalStart::Recorded)
    }

    async fn finished(
        &self,
        session: &str,
        call_id: &str,
        response: &str,
    ) -> Result<(), JournalError> {
        if let Some(row) = self
            .rows()?
            .iter_mut()
            .find(|row| row.run == self.run && row.is(session, call_id))
        {
            row.call.response = Some(response.to_owned());
        }
        Ok(())
    }

    async fn recover(&self, session: &str) -> Result<Vec<RecoveredCall>, JournalError> {
        let rows = self.rows()?;
        let earlier = rows
            .iter()
            .filter(|row| row.run < self.run && row.call.entry.session == session);
        Ok(earlier.map(|row| row.call.clone()).collect())
    }

    async fn forget(&self, session: &str) -> Result<(), JournalError> {
        self.rows()?.retain(|row| row.call.entry.session != session);
        Ok(())
    }
}

impl Row {
    fn is(&self, session: &str, call_id: &str) -> bool {
        self.call.entry.session == session && self.call.entry.call_id == call_id
    }
}
