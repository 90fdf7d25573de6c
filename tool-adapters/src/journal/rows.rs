//! What the file holds, and what is done to it in one transaction.

use redb::{ReadableTable, Table, TableDefinition, TableError, WriteTransaction};
use tool_core::serde_json;
use tool_core::session::{JournalEntry, JournalError, Recovered};

/// A call: session, call id, and the number of the process (its run). As parts of a key they never run into each other,
/// whatever characters they hold.
type Key<'a> = (&'a str, &'a str, u64);

/// When it started in milliseconds since 1970, its number within the run, and the entry's JSON.
const CALLS: TableDefinition<Key, (i64, u64, &str)> = TableDefinition::new("journal_calls");
/// How it ended: the envelope's JSON.
const RESPONSES: TableDefinition<Key, &str> = TableDefinition::new("journal_responses");
/// The calls by age.
const AGES: TableDefinition<(i64, &str, &str, u64), ()> = TableDefinition::new("journal_ages");

/// What a journal is asked.
pub(super) enum Request {
    Started { session: String, call_id: String, at: i64, harmless: bool, entry: String },
    Finished { session: String, call_id: String, response: String },
    Recover(String),
    Forget(String),
}

impl Request {
    pub(super) fn started(call: &JournalEntry) -> Result<Self, JournalError> {
        let entry = serde_json::to_string(call).map_err(|error| JournalError::new(error.to_string()))?;
        Ok(Self::Started {
            session: call.session.clone(),
            call_id: call.call_id.clone(),
            at: call.started_at.as_millisecond(),
            harmless: call.harmless,
            entry,
        })
    }

    /// Whether it has to be on the disk before it is done.
    pub(super) fn durable(&self) -> bool {
        matches!(self, Self::Started { harmless: false, .. })
    }

    /// Whether it changes the file.
    pub(super) fn writes(&self) -> bool {
        !matches!(self, Self::Recover(_))
    }
}

/// The tables, open in a transaction.
pub(super) struct Rows<'t> {
    calls: Table<'t, Key<'static>, (i64, u64, &'static str)>,
    responses: Table<'t, Key<'static>, &'static str>,
    ages: Table<'t, (i64, &'static str, &'static str, u64), ()>,
    run: u64,
}

impl<'t> Rows<'t> {
    pub(super) fn open(transaction: &'t WriteTransaction, run: u64) -> Result<Self, TableError> {
        let calls = transaction.open_table(CALLS)?;
        let responses = transaction.open_table(RESPONSES)?;
        let ages = transaction.open_table(AGES)?;
        Ok(Self { calls, responses, ages, run })
    }

    /// Does what is asked; `number` is of this request within the run.
    pub(super) fn answer(&mut self, request: &Request, number: u64) -> Result<Vec<Recovered>, redb::Error> {
        match request {
            Request::Started { session, call_id, at, entry, .. } => {
                self.started((session, call_id), *at, number, entry)?;
            }
            Request::Finished { session, call_id, response } => self.finished(session, call_id, response)?,
            Request::Recover(session) => return self.recover(session),
            Request::Forget(session) => self.forget(session)?,
        }
        Ok(Vec::new())
    }

    fn started(&mut self, call: (&str, &str), at: i64, number: u64, entry: &str) -> Result<(), redb::Error> {
        let key = (call.0, call.1, self.run);
        let earlier = self.calls.insert(key, (at, number, entry))?.map(|row| row.value().0);
        if let Some(earlier) = earlier {
            // How the earlier call of this id ended says nothing of this one.
            self.responses.remove(key)?;
            self.ages.remove((earlier, key.0, key.1, key.2))?;
        }
        self.ages.insert((at, key.0, key.1, key.2), ())?;
        Ok(())
    }

    fn finished(&mut self, session: &str, call_id: &str, response: &str) -> Result<(), redb::Error> {
        let key = (session, call_id, self.run);
        // A response without its call would never be removed.
        if self.calls.get(key)?.is_some() {
            self.responses.insert(key, response)?;
        }
        Ok(())
    }

    fn recover(&self, session: &str) -> Result<Vec<Recovered>, redb::Error> {
        let mut found = Vec::new();
        for row in self.calls.range((session, "", 0)..)? {
            let (key, value) = row?;
            let (owner, call_id, run) = key.value();
            if owner != session {
                break;
            }
            if run == self.run {
                continue;
            }
            let (_, number, entry) = value.value();
            let entry = serde_json::from_str(entry)
                .map_err(|error| redb::Error::Corrupted(format!("an entry of the journal cannot be read: {error}")))?;
            let response = self.responses.get((owner, call_id, run))?.map(|text| text.value().to_owned());
            found.push(((run, number), Recovered { entry, response }));
        }
        found.sort_by_key(|(order, _)| *order);
        Ok(found.into_iter().map(|(_, call)| call).collect())
    }

    fn forget(&mut self, session: &str) -> Result<(), redb::Error> {
        let mut forgotten = Vec::new();
        for row in self.calls.range((session, "", 0)..)? {
            let (key, value) = row?;
            let (owner, call_id, run) = key.value();
            if owner != session {
                break;
            }
            forgotten.push((value.value().0, call_id.to_owned(), run));
        }
        for (at, call_id, run) in forgotten {
            self.remove(at, (session, &call_id, run))?;
        }
        Ok(())
    }

    /// Removes the oldest of the calls that started before `cutoff`, at most so many.
    pub(super) fn prune(&mut self, cutoff: i64, most: usize) -> Result<(), redb::Error> {
        for _ in 0..most {
            let Some((oldest, _)) = self.ages.first()? else { break };
            let (at, session, call_id, run) = oldest.value();
            if at >= cutoff {
                break;
            }
            let (session, call_id) = (session.to_owned(), call_id.to_owned());
            drop(oldest);
            self.remove(at, (&session, &call_id, run))?;
        }
        Ok(())
    }

    fn remove(&mut self, at: i64, key: Key) -> Result<(), redb::Error> {
        self.ages.remove((at, key.0, key.1, key.2))?;
        self.calls.remove(key)?;
        self.responses.remove(key)?;
        Ok(())
    }
}
