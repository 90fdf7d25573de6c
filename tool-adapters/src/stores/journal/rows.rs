//! What the file holds, and what is done to it in one transaction.

use redb::{ReadableTable, Table, TableDefinition, TableError, WriteTransaction};
use std::borrow::Cow;
use tool_core::serde_json;
use tool_core::serde_json::{Map, Value, json};
use tool_core::session::{JournalEntry, JournalError, RecoveredCall};

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
pub(crate) enum Request {
    Started { session: String, call_id: String, at: i64, harmless: bool, entry: String },
    Finished { session: String, call_id: String, response: String },
    Recover(String),
    Forget(String),
}

impl Request {
    pub(crate) fn started(call: &JournalEntry) -> Result<Self, JournalError> {
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
    pub(crate) fn durable(&self) -> bool {
        matches!(self, Self::Started { harmless: false, .. })
    }

    /// Whether it changes the file.
    pub(crate) fn writes(&self) -> bool {
        !matches!(self, Self::Recover(_))
    }
}

/// The tables, open in a transaction.
pub(crate) struct Rows<'t> {
    calls: Table<'t, Key<'static>, (i64, u64, &'static str)>,
    responses: Table<'t, Key<'static>, &'static str>,
    ages: Table<'t, (i64, &'static str, &'static str, u64), ()>,
    run: u64,
}

impl<'t> Rows<'t> {
    pub(crate) fn open(transaction: &'t WriteTransaction, run: u64) -> Result<Self, TableError> {
        let calls = transaction.open_table(CALLS)?;
        let responses = transaction.open_table(RESPONSES)?;
        let ages = transaction.open_table(AGES)?;
        Ok(Self { calls, responses, ages, run })
    }

    /// Does what is asked; `number` is of this request within the run.
    pub(crate) fn answer(&mut self, request: &Request, number: u64) -> Result<Vec<RecoveredCall>, redb::Error> {
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

    fn recover(&self, session: &str) -> Result<Vec<RecoveredCall>, redb::Error> {
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
            found.push(((run, number), RecoveredCall { entry, response }));
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
    pub(crate) fn prune(&mut self, cutoff: i64, most: usize) -> Result<(), redb::Error> {
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

// ---- The responses that are kept: whole, or in short where they are long.

/// The bytes of the longest response that is kept whole.
pub(crate) const LIMIT: usize = 64 << 10;
/// The characters of an error's message, and of other texts, in a response that is not kept whole.
const TEXT: usize = 1_000;

/// The response, or what is kept in its place: that the call ended, whether well, and that the result is not there. Nothing
/// at all would read as if nobody knew whether the call had ended.
pub(crate) fn bounded(response: &str) -> Result<Cow<'_, str>, JournalError> {
    if response.len() <= LIMIT {
        return Ok(Cow::Borrowed(response));
    }
    match serde_json::from_str(response) {
        Ok(Value::Object(envelope)) => Ok(Cow::Owned(in_short(&envelope, response.len()).to_string())),
        _ => Err(JournalError::new(format!("a response of {} bytes is no envelope", response.len()))),
    }
}

fn in_short(envelope: &Map<String, Value>, bytes: usize) -> Value {
    let warning =
        format!("the call ended; its result, {bytes} bytes, was too large to be kept and is not known any more");
    let mut meta = members(envelope.get("meta"), &["schemaVersion", "tool", "callId", "durationMs"]);
    meta.insert("warnings".to_owned(), json!([warning]));
    if envelope.get("ok") == Some(&Value::Bool(true)) {
        return json!({ "ok": true, "data": null, "intents": [], "meta": meta });
    }
    let error = members(envelope.get("error"), &["type", "message", "retryable", "partialSideEffects"]);
    json!({ "ok": false, "error": error, "meta": meta })
}

/// Some members of an object; texts only as far as they are short.
fn members(object: Option<&Value>, names: &[&str]) -> Map<String, Value> {
    let member = |name: &&str| {
        let value = match object?.get(*name)? {
            Value::String(text) => Value::String(text.chars().take(TEXT).collect()),
            value => value.clone(),
        };
        Some(((*name).to_owned(), value))
    };
    names.iter().filter_map(member).collect()
}

#[cfg(test)]
mod tests {
    use crate::stores::journal::rows::LIMIT;
    use crate::stores::journal::rows::bounded;
    use tool_core::ToolResponse;
    use tool_core::serde_json;

    fn kept(response: &str) -> ToolResponse {
        let kept = bounded(response).unwrap();
        assert!(kept.len() < LIMIT);
        serde_json::from_str(&kept).unwrap()
    }

    #[test]
    fn a_response_of_64_kib_is_kept_as_it_is() {
        let response = "x".repeat(LIMIT);
        assert_eq!(bounded(&response).unwrap(), response);
    }

    #[test]
    fn of_a_longer_one_it_is_kept_that_the_call_succeeded() {
        let data = "x".repeat(LIMIT);
        let kept = kept(&format!(
            r#"{{"ok":true,"data":"{data}","intents":[],"meta":{{"tool":"find","callId":"c","durationMs":1.5}}}}"#
        ));
        assert!(kept.is_ok());
        assert_eq!(kept.data_json(), Some("null"));
        assert_eq!((kept.meta().tool(), kept.meta().call_id()), ("find", Some("c")));
        assert!(kept.meta().warnings()[0].contains("too large to be kept"), "{:?}", kept.meta().warnings());
    }

    #[test]
    fn of_a_longer_one_it_is_kept_why_the_call_failed() {
        let message = "é".repeat(LIMIT);
        let kept = kept(&format!(
            r#"{{"ok":false,"error":{{"type":"CONFLICT","message":"{message}","retryable":true,"partialSideEffects":true}},
            "meta":{{"tool":"find"}}}}"#
        ));
        let error = kept.error().unwrap();
        assert_eq!(error.message.chars().count(), 1_000);
        assert!(error.retryable && error.partial_side_effects);
    }

    #[test]
    fn a_long_text_that_is_no_envelope_is_an_error() {
        assert!(bounded(&"x".repeat(LIMIT + 1)).is_err());
    }
}
