//! The records of tasks in the runtime's journal, from which every process that serves a client
//! answers for its tasks.
//!
//! A task has its own session in the journal, so that its entries are read and removed together:
//!
//! | entry | written by | start | response |
//! |---|---|---|---|
//! | `run` | the process that runs the task | when the task begins | its end |
//! | `asks` | the same | with each change of its requests | the requests that wait for the client |
//! | `answer/NAME` | the process that gets `tasks/update` | at once | the client's answer |
//! | `cancel` | the process that gets `tasks/cancel` | at once | an object |
//!
//! The journal's lease tells a task that runs from one whose process was killed. The first process
//! that finds such a task replaces its `run`, and so decides how it has ended: if the other process
//! lives after all, its end is ignored. Names of sessions contain the owner and the random part of
//! the task's id, so no client finds the task of another.

use crate::server::request_ids::random_id;
use crate::server::session::McpResult;
use jiff::Timestamp;
use rmcp::ErrorData;
use rmcp::model::{InputRequests, InputResponses, JsonObject, TaskPayload};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;
use tool_core::session::{
    JournalEntry, JournalError, JournalStart, RecoveredCall, SharedPlace, SharedRecords, lost_work,
    untrusted_work,
};
use tool_core::time::whole_milliseconds;

/// The maximum size of a text in the records: of a result, of the requests that wait, and of an
/// answer.
const MAX_RECORD: usize = 4 << 20;

/// The difference between the clocks of two processes with which a task is not over too early.
const CLOCK_SKEW: Duration = Duration::from_secs(60);

/// The longest id of a task that is looked up.
const MAX_ID: usize = 100;

const RUN: &str = "run";
const ASKS: &str = "asks";
const CANCEL: &str = "cancel";
const ANSWER: &str = "answer/";

/// The times of a task, which its id carries. They cannot be changed, as an id that was not
/// given out finds nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TaskTimes {
    pub(crate) created: Timestamp,
    pub(crate) ttl: Duration,
}

impl TaskTimes {
    /// Returns the times of a task that begins now, in whole milliseconds, as ids have them.
    pub(crate) fn from_now(ttl: Duration) -> Self {
        let now = Timestamp::now();
        Self {
            created: Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now),
            ttl,
        }
    }

    /// Creates an id with these times, which cannot be guessed.
    pub(crate) fn new_id(&self) -> McpResult<String> {
        let random = random_id()?;
        let created = self.created.as_millisecond();
        let ttl = whole_milliseconds(self.ttl);
        Ok(format!("{random}-{created}-{ttl}"))
    }

    /// Reads the times of an id.
    fn of(id: &str) -> Option<Self> {
        if id.len() > MAX_ID {
            return None;
        }
        let mut parts = id.splitn(3, '-').skip(1);
        let created = parts.next()?.parse().ok()?;
        let ttl = parts.next()?.parse().ok()?;
        Some(Self {
            created: Timestamp::from_millisecond(created).ok()?,
            ttl: Duration::from_millis(ttl),
        })
    }

    /// Returns the time for which the task is still kept, by this process's clock.
    pub(crate) fn rest(&self, now: Timestamp) -> Duration {
        let age = now.duration_since(self.created);
        let age = Duration::try_from(age).unwrap_or_default();
        self.ttl.saturating_sub(age)
    }

    fn are_over(&self, now: Timestamp) -> bool {
        let age = now.duration_since(self.created);
        Duration::try_from(age).is_ok_and(|age| age > self.ttl.saturating_add(CLOCK_SKEW))
    }
}

/// The limits of the tasks of one client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TaskLimits {
    /// The tasks that are kept.
    pub(crate) max: usize,
    /// The time for which each is kept.
    pub(crate) ttl: Duration,
}

/// A place for a call that becomes a task as soon as its tool waits. Dropped, it is free again.
#[derive(Default)]
pub(crate) struct TaskPlace {
    /// `None` if the task lives in this process alone.
    pub(crate) shared: Option<SharedTaskPlace>,
}

/// A place in the records that processes share.
pub(crate) struct SharedTaskPlace {
    pub(crate) records: TaskRecords,
    pub(crate) place: SharedPlace,
}

/// The tasks of one owner, in the records that processes share.
#[derive(Clone)]
pub(crate) struct TaskRecords {
    shared: SharedRecords,
    owner: String,
}

impl TaskRecords {
    pub(crate) fn new(shared: SharedRecords, owner: &str) -> Self {
        Self {
            shared,
            owner: owner.to_owned(),
        }
    }

    /// Takes a place among the tasks that are kept of the owner, in all processes.
    pub(crate) async fn take_place(&self, limits: TaskLimits) -> McpResult<SharedPlace> {
        let places = u32::try_from(limits.max).unwrap_or(u32::MAX);
        let key = format!("mcp-tasks:{}", self.owner);
        match self.shared.take_place(&key, places, limits.ttl).await {
            Ok(Some(place)) => Ok(place),
            Ok(None) => {
                let message = format!(
                    "this client has {} tasks; wait until some of them are over",
                    limits.max
                );
                Err(ErrorData::invalid_request(message, None))
            }
            Err(error) => {
                tracing::error!(%error, "failed to count the tasks of a client");
                Err(unavailable())
            }
        }
    }

    /// Returns the record of a task, which may not exist.
    pub(crate) fn of(&self, id: &str) -> Option<TaskRecord> {
        Some(TaskRecord {
            shared: self.shared.clone(),
            session: json!(["mcp-task", self.owner, id, ""]).to_string(),
            times: TaskTimes::of(id)?,
        })
    }
}

/// The tool whose call a task is.
pub(crate) struct TaskTool {
    pub(crate) name: String,
    /// True if it may run twice.
    pub(crate) is_harmless: bool,
}

/// The record of one task.
#[derive(Clone)]
pub(crate) struct TaskRecord {
    shared: SharedRecords,
    /// Its session in the journal.
    session: String,
    pub(crate) times: TaskTimes,
}

/// A task of another process.
pub(crate) enum FoundTask {
    /// It is running, or its end is recorded.
    Known(TaskNews),
    /// Its process has ended before it, or its record was changed.
    Lost(Box<RecoveredCall>),
}

/// The state of a task.
pub(crate) struct TaskNews {
    pub(crate) updated: Timestamp,
    pub(crate) payload: TaskPayload,
}

/// The outcome of ending a task that is lost.
pub(crate) enum Settled {
    /// This process has decided how it has ended, and has to remember it: it does not find its own
    /// entries.
    Here(TaskNews),
    /// Another process was faster.
    Elsewhere(TaskNews),
}

/// The messages of other processes to the one that runs the task.
#[derive(Default)]
pub(crate) struct Received {
    pub(crate) is_cancelled: bool,
    pub(crate) answers: InputResponses,
}

/// The end of a task, as it is recorded.
#[derive(Serialize, Deserialize)]
struct RecordedEnd {
    updated: String,
    status: RecordedStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    result: Option<JsonObject>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<JsonObject>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RecordedStatus {
    Completed,
    Failed,
    Cancelled,
}

#[derive(Serialize, Deserialize)]
struct RecordedAsks {
    requests: InputRequests,
}

#[derive(Serialize, Deserialize)]
struct RecordedAnswer {
    answer: Value,
}

/// The `run` of a task, as this process sees it.
enum Run {
    Ended(Box<RecoveredCall>),
    /// Another process is running it.
    Running,
}

/// The entries of a task, read at once.
struct Reading {
    run: Run,
    others: Vec<RecoveredCall>,
}

/// # The process that runs the task
impl TaskRecord {
    /// Records that the task begins. The entry's end is that of the task.
    pub(crate) async fn begin(&self, tool: &TaskTool) -> Result<JournalEntry, JournalError> {
        let mut run = self.entry(RUN, &tool.name);
        run.harmless = tool.is_harmless;
        match self.shared.started(&mut run).await? {
            JournalStart::Recorded => Ok(run),
            _ => Err(JournalError::new("another process has a task of this id")),
        }
    }

    /// Records how the task has ended. Returns the end that holds: another process may have counted
    /// this one as killed, and told the client.
    pub(crate) async fn end(
        &self,
        run: &JournalEntry,
        payload: TaskPayload,
    ) -> Result<TaskPayload, JournalError> {
        let end = bounded_end(&payload);
        self.shared.finished(run, end).await?;
        match self.shared.find(&self.session, RUN).await? {
            Some(JournalStart::Known(known)) => {
                tracing::warn!("another process has counted this one as killed, and ended a task");
                Ok(self.end_of(&known).map_or(payload, |end| end.payload))
            }
            _ => Ok(payload),
        }
    }

    /// Shows the requests that wait for the client to other processes.
    pub(crate) async fn publish(&self, requests: &InputRequests) -> Result<(), JournalError> {
        let asks = RecordedAsks {
            requests: requests.clone(),
        };
        match serde_json::to_string(&asks) {
            Ok(text) if text.len() <= MAX_RECORD => self.note(ASKS, text).await,
            _ => {
                tracing::warn!("a task's requests are too large for other processes to show them");
                Ok(())
            }
        }
    }

    /// Takes what other processes have sent.
    pub(crate) async fn received(&self) -> Result<Received, JournalError> {
        let mut received = Received::default();
        for note in self.shared.recover(&self.session).await? {
            let Some(text) = self.text_of(&note) else {
                continue;
            };
            if note.entry.call_id == CANCEL {
                received.is_cancelled = true;
            } else if let Some(name) = note.entry.call_id.strip_prefix(ANSWER)
                && let Ok(recorded) = serde_json::from_str::<RecordedAnswer>(text)
            {
                received.answers.insert(name.to_owned(), recorded.answer);
                // What is not taken over is read again, and then answers no request any more.
                if let Err(error) = self.take(&note).await {
                    tracing::warn!(%error, "failed to take over what is sent to a task");
                }
            }
        }
        Ok(received)
    }

    /// Takes over an entry of another process, so that it is not read again.
    async fn take(&self, note: &RecoveredCall) -> Result<(), JournalError> {
        let mut taken = self.entry(&note.entry.call_id, "");
        taken.replaces = Some(note.number);
        self.shared.started(&mut taken).await.map(drop)
    }

    /// Removes the task.
    pub(crate) async fn forget(&self) {
        if let Err(error) = self.shared.forget(&self.session).await {
            tracing::warn!(%error, "a task that is over stays in the journal");
        }
    }
}

/// # Other processes
impl TaskRecord {
    /// Returns the task, or `None` if there is none.
    pub(crate) async fn read(&self) -> McpResult<Option<FoundTask>> {
        self.find().await.map_err(|error| {
            tracing::error!(%error, "failed to read a task of another process");
            unavailable()
        })
    }

    async fn find(&self) -> Result<Option<FoundTask>, JournalError> {
        let Some(reading) = self.reading().await? else {
            return Ok(None);
        };
        let run = match reading.run {
            Run::Running => return Ok(Some(FoundTask::Known(self.running(&reading.others)))),
            Run::Ended(run) => run,
        };
        if self.times.are_over(Timestamp::now()) {
            self.forget().await;
            return Ok(None);
        }
        Ok(Some(match self.end_of(&run) {
            Some(end) => FoundTask::Known(end),
            None => FoundTask::Lost(run),
        }))
    }

    async fn reading(&self) -> Result<Option<Reading>, JournalError> {
        let others = self.shared.recover(&self.session).await?;
        let ended = others.iter().rfind(|call| call.entry.call_id == RUN);
        if let Some(run) = ended.cloned() {
            let run = Run::Ended(Box::new(run));
            return Ok(Some(Reading { run, others }));
        }
        let run = match self.shared.find(&self.session, RUN).await? {
            None | Some(JournalStart::Recorded) => return Ok(None),
            Some(JournalStart::Running) => Run::Running,
            Some(JournalStart::Known(run)) => Run::Ended(run),
        };
        Ok(Some(Reading { run, others }))
    }

    fn running(&self, others: &[RecoveredCall]) -> TaskNews {
        let asks = others.iter().rfind(|call| call.entry.call_id == ASKS);
        let read = |asks: &RecoveredCall| {
            let asks = serde_json::from_str::<RecordedAsks>(self.text_of(asks)?);
            asks.ok().filter(|asks| !asks.requests.is_empty())
        };
        let payload = match asks.and_then(read) {
            Some(asks) => TaskPayload::InputRequired {
                input_requests: asks.requests,
            },
            None => TaskPayload::Working,
        };
        TaskNews {
            updated: asks.map_or(self.times.created, |asks| asks.entry.started_at.0),
            payload,
        }
    }

    /// Returns the recorded end of a task, if there is one that can be trusted.
    fn end_of(&self, run: &RecoveredCall) -> Option<TaskNews> {
        let end = serde_json::from_str::<RecordedEnd>(self.text_of(run)?).ok()?;
        let payload = match end.status {
            RecordedStatus::Completed => TaskPayload::Completed {
                result: end.result?,
            },
            RecordedStatus::Failed => TaskPayload::Failed { error: end.error? },
            RecordedStatus::Cancelled => TaskPayload::Cancelled,
        };
        Some(TaskNews {
            updated: end.updated.parse().ok()?,
            payload,
        })
    }

    /// Ends a task that is lost. One of all processes that try does it.
    pub(crate) async fn settle(&self, lost: &RecoveredCall) -> McpResult<Settled> {
        self.try_to_settle(lost).await.map_err(|error| {
            tracing::error!(%error, "failed to end a task whose process has ended");
            unavailable()
        })
    }

    async fn try_to_settle(&self, lost: &RecoveredCall) -> Result<Settled, JournalError> {
        let payload = TaskPayload::Failed {
            error: self.loss(lost),
        };
        let mut run = self.entry(RUN, "");
        run.replaces = Some(lost.number);
        let found = match self.shared.started(&mut run).await? {
            JournalStart::Recorded => {
                self.shared.finished(&run, bounded_end(&payload)).await?;
                let updated = Timestamp::now();
                return Ok(Settled::Here(TaskNews { updated, payload }));
            }
            JournalStart::Known(known) => self.end_of(&known),
            JournalStart::Running => None,
        };
        // Where there is no end, another process is about to decide.
        let news = found.unwrap_or_else(|| self.running(&[]));
        Ok(Settled::Elsewhere(news))
    }

    /// Returns the error of a task that no process will end.
    fn loss(&self, lost: &RecoveredCall) -> JsonObject {
        let tool = &lost.entry.tool;
        let is_genuine = self.shared.is_genuine(lost);
        let is_harmless = is_genuine && lost.entry.harmless;
        let message = if is_harmless {
            format!(
                "the process that ran `{tool}` has ended before it had the result. Call it again: the tool may run twice \
                 without harm."
            )
        } else if is_genuine {
            let lost = lost_work(tool, lost.entry.started_at);
            format!("{lost} Find out, and call it again if it did not.")
        } else {
            tracing::error!("the record of a task was changed, or sealed with another key");
            let lost = untrusted_work("the task");
            format!("{lost} Find out, and call the tool again if it did not.")
        };
        let kind = if is_harmless { "TRANSIENT" } else { "UNKNOWN" };
        let error = json!({
            "code": rmcp::model::ErrorCode::INTERNAL_ERROR.0,
            "message": message,
            "data": {"type": kind, "retryable": is_harmless},
        });
        error.as_object().cloned().unwrap_or_default()
    }

    /// Asks the process that runs the task to cancel it.
    pub(crate) async fn cancel(&self) -> McpResult<()> {
        let sent = self.note(CANCEL, "{\"cancelled\":true}".to_owned()).await;
        sent.map_err(|error| {
            tracing::error!(%error, "failed to cancel a task of another process");
            unavailable()
        })
    }

    /// Sends the client's answer to a request to the process that runs the task. Of two answers to
    /// one request, the first counts.
    pub(crate) async fn answer(&self, name: &str, answer: Value) -> McpResult<()> {
        let recorded = serde_json::to_string(&RecordedAnswer { answer });
        let Some(text) = recorded.ok().filter(|text| text.len() <= MAX_RECORD) else {
            let message = format!(
                "expected an answer to `{}` of at most {MAX_RECORD} bytes; send less",
                name.escape_debug()
            );
            return Err(ErrorData::invalid_params(message, None));
        };
        let sent = self.note(&format!("{ANSWER}{name}"), text).await;
        sent.map_err(|error| {
            tracing::error!(%error, "failed to send an answer to a task of another process");
            unavailable()
        })
    }
}

/// # Entries
impl TaskRecord {
    fn entry(&self, name: &str, tool: &str) -> JournalEntry {
        JournalEntry {
            session: self.session.clone(),
            call_id: name.to_owned(),
            tool: tool.to_owned(),
            arguments: String::new(),
            turn: 0,
            idempotency_key: String::new(),
            started_at: tool_core::Timestamp(Timestamp::now()),
            harmless: false,
            time_limit_ms: whole_milliseconds(self.times.rest(Timestamp::now())),
            replaces: None,
            approval: None,
            seal: None,
        }
    }

    /// Records a text for other processes. Has no effect if another process has recorded one under
    /// its name.
    async fn note(&self, name: &str, text: String) -> Result<(), JournalError> {
        let mut entry = self.entry(name, "");
        let mut started = self.shared.started(&mut entry).await?;
        if let JournalStart::Known(known) = &started
            && self.text_of(known).is_none()
        {
            // Its process has ended before it had written the text, or the text was changed.
            entry.replaces = Some(known.number);
            started = self.shared.started(&mut entry).await?;
        }
        match started {
            JournalStart::Recorded => self.shared.finished(&entry, text).await,
            JournalStart::Running | JournalStart::Known(_) => Ok(()),
        }
    }

    /// Returns the text of a record, if it is not too long and as it was written.
    fn text_of<'a>(&self, record: &'a RecoveredCall) -> Option<&'a str> {
        // The seal is in it.
        const MOST: usize = MAX_RECORD + 1_024;
        let text = record.response.as_deref()?;
        (text.len() <= MOST && self.shared.is_genuine(record)).then_some(text)
    }
}

/// Returns the record of an end. A result that is too large is only in the process that ran the
/// task.
fn bounded_end(payload: &TaskPayload) -> String {
    let text = end_text(payload);
    if text.len() <= MAX_RECORD {
        return text;
    }
    let message = format!(
        "the call has ended, and its result of {} bytes is too large to be kept: at most {MAX_RECORD} are",
        text.len()
    );
    let result = json!({"content": [{"type": "text", "text": message}], "isError": true});
    end_text(&TaskPayload::Completed {
        result: result.as_object().cloned().unwrap_or_default(),
    })
}

fn end_text(payload: &TaskPayload) -> String {
    let mut end = RecordedEnd {
        updated: Timestamp::now().to_string(),
        status: RecordedStatus::Cancelled,
        result: None,
        error: None,
    };
    match payload {
        TaskPayload::Completed { result } => {
            end.status = RecordedStatus::Completed;
            end.result = Some(result.clone());
        }
        TaskPayload::Failed { error } => {
            end.status = RecordedStatus::Failed;
            end.error = Some(error.clone());
        }
        _ => {}
    }
    serde_json::to_string(&end).unwrap_or_default()
}

fn unavailable() -> ErrorData {
    let message = "the records of tasks cannot be reached at the moment; try again later";
    ErrorData::internal_error(message, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_carries_the_times_of_its_task() {
        let times = TaskTimes::from_now(Duration::from_secs(900));
        let id = times.new_id().expect("random bytes");
        assert_eq!(TaskTimes::of(&id), Some(times));
        assert_ne!(times.new_id().expect("random bytes"), id);
        let hostile = [
            "",
            "-",
            "x-1",
            "x--1-1",
            "x-1-1-1",
            "x-1--1",
            "x-9223372036854775807-1",
            "x-1-18446744073709551616",
        ];
        for id in hostile {
            assert_eq!(TaskTimes::of(id), None, "{id}");
        }
        assert_eq!(TaskTimes::of(&format!("{}-1-1", "x".repeat(MAX_ID))), None);
    }

    #[test]
    fn times_of_a_clock_that_is_a_minute_off_are_not_over() {
        let times = TaskTimes::from_now(Duration::from_secs(10));
        let after = |seconds: i64| times.created + jiff::SignedDuration::from_secs(seconds);
        assert!(!times.are_over(after(-3_600)) && !times.are_over(after(69)));
        assert!(times.are_over(after(71)));
        assert_eq!(times.rest(after(4)), Duration::from_secs(6));
        assert_eq!(times.rest(after(11)), Duration::ZERO);
    }

    #[test]
    fn result_that_is_too_large_is_recorded_as_lost() {
        let payload = |bytes: usize| {
            let result = json!({"content": [{"type": "text", "text": "x".repeat(bytes)}]});
            TaskPayload::Completed {
                result: result.as_object().cloned().expect("an object"),
            }
        };
        let read = |end: &str| serde_json::from_str::<Value>(end).expect("JSON");
        let whole = read(&bounded_end(&payload(MAX_RECORD - 1_000)));
        assert_eq!(whole["result"].get("isError"), None);
        let lost = bounded_end(&payload(MAX_RECORD + 1));
        assert!(lost.len() < 1_000, "{lost}");
        let lost = read(&lost);
        assert_eq!(
            (&lost["status"], &lost["result"]["isError"]),
            (&json!("completed"), &json!(true))
        );
        let text = lost["result"]["content"][0]["text"].as_str();
        assert!(
            text.is_some_and(|text| text.contains("too large to be kept")),
            "{lost}"
        );
    }
}
