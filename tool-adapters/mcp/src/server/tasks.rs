//! Calls that go on as tasks: the extension `io.modelcontextprotocol/tasks` of revision 2026-07-28.
//!
//! The server decides which calls become tasks. The client polls a task, answers what its tool
//! asks, and may cancel it. A task belongs to the client whose call it is: to all others no such
//! task exists.
//!
//! The process that runs a task keeps it here. If processes share a journal, and the client is known
//! in all of them, the task is also in `task_records`, from which the other processes answer.

use crate::server::asking::Step;
use crate::server::client_requests::{AskedRequest, Capability, takes};
use crate::server::confirm;
use crate::server::ongoing_call::OngoingCall;
use crate::server::parked::{WaitingRequests, wrong_answer};
use crate::server::request_ids::random_id;
use crate::server::session::{ClientSession, McpResult};
use crate::server::task_records::{
    FoundTask, Settled, SharedTaskPlace, TaskLimits, TaskNews, TaskPlace, TaskRecord, TaskRecords,
    TaskTimes, TaskTool,
};
use jiff::Timestamp;
use parking_lot::Mutex;
use rmcp::ErrorData;
use rmcp::model::{
    DetailedTask, InputRequest, InputRequests, InputResponses, JsonObject, Task, TaskPayload,
};
use serde::Serialize;
use serde_json::Value;
use std::collections::HashMap;
use std::future::pending;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use tool_core::session::{JournalEntry, SharedPlace};
use tool_core::time::whole_milliseconds;
use tool_core::{CancellationToken, ErrorKind, ToolResponse, time};

/// The time after which a client should ask for the state of a task again.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The maximum size of the results that the tasks of a client keep. At this size no further task
/// begins.
const MAX_BYTES: usize = 16 << 20;

/// The time after which a process that runs a task looks for what others have sent to it.
const EXCHANGE: Duration = Duration::from_millis(500);

/// The time after which an end that could not be recorded is recorded again.
const RECORD_AGAIN: Duration = Duration::from_secs(1);

/// The longest wait until another process has taken the answers of a client, and the time between
/// two looks. The client then sees that its requests are answered.
const ANSWERS_TAKEN: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(100);

/// The tasks of all clients that this process runs. A session lives as long as its tasks.
#[derive(Default)]
pub(crate) struct Tasks(Mutex<HashMap<TaskOwner, ClientTasks>>);

/// The client whose task one is.
#[derive(Clone, PartialEq, Eq, Hash)]
enum TaskOwner {
    /// A client that all processes know, by the id that they have for it.
    Known(String),
    /// A client that only this process knows, by the address of its session.
    OfSession(usize),
}

impl TaskOwner {
    fn of(session: &Arc<ClientSession>) -> Self {
        match session.shared_id() {
            Some(id) => Self::Known(id.to_owned()),
            None => Self::OfSession(Arc::as_ptr(session).addr()),
        }
    }
}

/// The tasks of one client, by their ids.
type ClientTasks = HashMap<String, Arc<Entry>>;

struct Entry {
    owner: TaskOwner,
    id: String,
    times: TaskTimes,
    cancel: CancellationToken,
    state: Mutex<TaskState>,
    /// Notified when the requests to the client change.
    requests_changed: Notify,
    /// `None` if this process alone has the task.
    shared: Option<SharedTask>,
}

/// The record of a task, which other processes read.
struct SharedTask {
    record: TaskRecord,
    /// The entry that ends with the task.
    run: JournalEntry,
    /// Held while the end is recorded. Other processes may know the end before this one, which
    /// then waits for this lock, so that no client sees a task go on after its end.
    recording: tokio::sync::Mutex<()>,
    /// Free again when the task is over.
    _place: SharedPlace,
}

struct TaskState {
    updated: Timestamp,
    requests: WaitingRequests,
    end: Option<TaskPayload>,
    /// The size of the result.
    bytes: usize,
}

/// A task that the client may know, and whose call goes on with [`Tasks::run`].
pub(crate) struct BegunTask(Arc<Entry>);

impl Tasks {
    /// Takes a place for a call that may become a task. Fails if its client may begin no further
    /// task.
    pub(crate) async fn reserve(
        &self,
        session: &Arc<ClientSession>,
        limits: TaskLimits,
    ) -> McpResult<TaskPlace> {
        self.check_place(&TaskOwner::of(session), limits)?;
        let Some(records) = records_of(session) else {
            return Ok(TaskPlace::default());
        };
        let place = records.take_place(limits).await?;
        Ok(TaskPlace {
            shared: Some(SharedTaskPlace { records, place }),
        })
    }

    fn check_place(&self, owner: &TaskOwner, limits: TaskLimits) -> McpResult<()> {
        let all = self.0.lock();
        all.get(owner)
            .map_or(Ok(()), |tasks| has_place(tasks, limits.max))
    }

    /// Makes a call a task, which the client and all processes may know then. On an error, the call
    /// goes on without one.
    pub(crate) async fn begin(
        &self,
        session: &Arc<ClientSession>,
        tool: TaskTool,
        place: TaskPlace,
        limits: TaskLimits,
    ) -> McpResult<BegunTask> {
        let times = TaskTimes::from_now(limits.ttl);
        let id = match place.shared {
            Some(_) => times.new_id()?,
            None => random_id()?,
        };
        let shared = match place.shared {
            Some(place) => Some(SharedTask::begin(&tool, place, &id).await?),
            None => None,
        };
        let entry = Arc::new(Entry::new(TaskOwner::of(session), id, times, shared));
        if let Err(error) = self.insert(&entry, limits) {
            if let Some(shared) = &entry.shared {
                shared.record.forget().await;
            }
            return Err(error);
        }
        Ok(BegunTask(entry))
    }

    fn insert(&self, entry: &Arc<Entry>, limits: TaskLimits) -> McpResult<()> {
        let mut all = self.0.lock();
        let tasks = all.entry(entry.owner.clone()).or_default();
        has_place(tasks, limits.max)?;
        tasks.insert(entry.id.clone(), Arc::clone(entry));
        Ok(())
    }

    /// Lets a call go on as a task. Its result is kept for the task's time. A call that is not done
    /// then is cancelled.
    pub(crate) fn run(self: &Arc<Self>, task: BegunTask, mut call: OngoingCall) -> Task {
        let BegunTask(entry) = task;
        let shown = entry.task();
        let tasks = Arc::clone(self);
        let session = Arc::clone(call.client_session());
        // A process that is drained waits until other processes know the end.
        let unrecorded = entry.shared.is_some().then(|| session.open_answer());
        tokio::spawn(async move {
            let expiry = time::after(Instant::now(), entry.times.ttl);
            let work = async {
                let end = entry.run(&mut call).await;
                entry.end(end).await;
            };
            let done = async {
                tokio::select! {
                    biased;
                    () = work => {}
                    () = entry.exchange() => {}
                }
            };
            if timeout_at(expiry, done).await.is_err() {
                call.cancel();
            }
            drop(call);
            drop(unrecorded);
            // The client may still ask for the result.
            sleep_until(expiry).await;
            tasks.remove(&entry);
            drop(session);
            if let Some(shared) = &entry.shared {
                shared.record.forget().await;
            }
        });
        shown
    }

    fn remove(&self, entry: &Entry) {
        let mut all = self.0.lock();
        if let Some(tasks) = all.get_mut(&entry.owner) {
            tasks.remove(&entry.id);
            if tasks.is_empty() {
                all.remove(&entry.owner);
            }
        }
    }

    /// Returns the task of a client that this process runs, or whose end it has decided.
    fn known(&self, owner: &TaskOwner, id: &str) -> Option<Arc<Entry>> {
        self.0.lock().get(owner)?.get(id).cloned()
    }

    pub(crate) async fn get(
        self: &Arc<Self>,
        session: &Arc<ClientSession>,
        id: &str,
    ) -> McpResult<DetailedTask> {
        if let Some(entry) = self.known(&TaskOwner::of(session), id) {
            entry.until_current().await;
            return Ok(entry.detailed());
        }
        let record = record_of(session, id)?;
        let news = self.news(session, id, &record).await?;
        let task = shown_task(id, record.times, news.updated, &news.payload);
        Ok(DetailedTask::new(task, news.payload))
    }

    /// Gives the client's answers to the requests of a task. Answers to other requests are ignored.
    pub(crate) async fn update(
        self: &Arc<Self>,
        session: &Arc<ClientSession>,
        id: &str,
        answers: InputResponses,
    ) -> McpResult<()> {
        if let Some(entry) = self.known(&TaskOwner::of(session), id) {
            let answered = entry.change(|state| state.requests.answer(answers));
            entry.requests_changed.notify_one();
            return answered;
        }
        let record = record_of(session, id)?;
        let news = self.news(session, id, &record).await?;
        let TaskPayload::InputRequired { input_requests } = news.payload else {
            return Ok(());
        };
        let answers = answers_to(&input_requests, answers)?;
        let names = answers.keys().cloned().collect::<Vec<_>>();
        for (name, answer) in answers {
            record.answer(&name, answer).await?;
        }
        until_taken(&record, &names).await
    }

    /// Cancels a task, unless it has ended.
    pub(crate) async fn cancel(
        self: &Arc<Self>,
        session: &Arc<ClientSession>,
        id: &str,
    ) -> McpResult<()> {
        if let Some(entry) = self.known(&TaskOwner::of(session), id) {
            entry.cancel.cancel();
            return Ok(());
        }
        let record = record_of(session, id)?;
        let news = self.news(session, id, &record).await?;
        if news.payload.status().is_terminal() {
            return Ok(());
        }
        record.cancel().await
    }

    /// Returns what another process is doing with a task. The task of a process that was killed
    /// ends here.
    async fn news(
        self: &Arc<Self>,
        session: &Arc<ClientSession>,
        id: &str,
        record: &TaskRecord,
    ) -> McpResult<TaskNews> {
        let lost = match record.read().await?.ok_or_else(unknown_task)? {
            FoundTask::Known(news) => return Ok(news),
            FoundTask::Lost(lost) => lost,
        };
        let owner = TaskOwner::of(session);
        let entry = Entry::new(owner, id.to_owned(), record.times, None);
        let entry = Arc::new(entry);
        let tasks = Arc::clone(self);
        let record = record.clone();
        // It goes on if the client does not wait for it.
        let settled = tokio::spawn(async move {
            // Another request finds the task here meanwhile: this process does not find its own
            // records.
            tasks.remember(&entry);
            match record.settle(&lost).await {
                Ok(Settled::Here(news)) => {
                    entry.change(|state| state.end = Some(news.payload.clone()));
                    tasks.forget_later(entry);
                    Ok(news)
                }
                Ok(Settled::Elsewhere(news)) => {
                    tasks.remove(&entry);
                    Ok(news)
                }
                Err(error) => {
                    tasks.remove(&entry);
                    Err(error)
                }
            }
        });
        let failed = |_| ErrorData::internal_error("An internal error occurred", None);
        settled.await.map_err(failed)?
    }

    fn remember(&self, entry: &Arc<Entry>) {
        let mut all = self.0.lock();
        let tasks = all.entry(entry.owner.clone()).or_default();
        tasks.insert(entry.id.clone(), Arc::clone(entry));
    }

    /// Removes a task when its time is over.
    fn forget_later(self: &Arc<Self>, entry: Arc<Entry>) {
        let tasks = Arc::clone(self);
        tokio::spawn(async move {
            sleep(entry.times.rest(Timestamp::now())).await;
            tasks.remove(&entry);
        });
    }
}

/// Returns the tool of a call, for the record of its task.
pub(crate) fn task_tool(call: &OngoingCall) -> TaskTool {
    let tool = call.session.tools().function_tool(&call.tool);
    TaskTool {
        name: call.tool.clone(),
        is_harmless: tool.is_some_and(|tool| tool.definition().flags().idempotent),
    }
}

/// Returns the records of a client's tasks that all processes share, if they share a journal and
/// know the client.
fn records_of(session: &ClientSession) -> Option<TaskRecords> {
    let owner = session.shared_id()?;
    Some(TaskRecords::new(session.shared_records()?, owner))
}

/// Returns the record that a task of another process has, if there is such a task.
fn record_of(session: &ClientSession, id: &str) -> McpResult<TaskRecord> {
    let records = records_of(session);
    let record = records.and_then(|records| records.of(id));
    record.ok_or_else(unknown_task)
}

fn unknown_task() -> ErrorData {
    ErrorData::invalid_params("this client has no such task; it may be over", None)
}

/// Returns the answers to requests that wait. One of another form than its request is an error.
fn answers_to(requests: &InputRequests, mut answers: InputResponses) -> McpResult<InputResponses> {
    answers.retain(|name, _| requests.contains_key(name));
    for (name, answer) in &answers {
        if requests
            .get(name)
            .is_some_and(|request| !takes(request, answer))
        {
            return Err(wrong_answer(name));
        }
    }
    Ok(answers)
}

/// Waits until the process that runs a task has taken the answers to these requests.
async fn until_taken(record: &TaskRecord, names: &[String]) -> McpResult<()> {
    let began = Instant::now();
    while began.elapsed() < ANSWERS_TAKEN {
        let Some(FoundTask::Known(news)) = record.read().await? else {
            return Ok(());
        };
        let TaskPayload::InputRequired { input_requests } = news.payload else {
            return Ok(());
        };
        if !names.iter().any(|name| input_requests.contains_key(name)) {
            return Ok(());
        }
        sleep(LOOK).await;
    }
    Ok(())
}

fn has_place(tasks: &ClientTasks, max: usize) -> McpResult<()> {
    let bytes = tasks
        .values()
        .map(|entry| entry.state.lock().bytes)
        .sum::<usize>();
    if tasks.len() < max && bytes < MAX_BYTES {
        return Ok(());
    }
    let message = format!(
        "this client has {} tasks with results of {bytes} bytes; wait until some are over",
        tasks.len()
    );
    Err(ErrorData::invalid_request(message, None))
}

impl SharedTask {
    /// Records the beginning of a task.
    async fn begin(tool: &TaskTool, place: SharedTaskPlace, id: &str) -> McpResult<Self> {
        let record = place.records.of(id).ok_or_else(unknown_task)?;
        let run = record.begin(tool).await.map_err(|error| {
            tracing::error!(%error, "failed to record a task");
            ErrorData::internal_error("the task cannot be recorded at the moment", None)
        })?;
        Ok(Self {
            record,
            run,
            recording: tokio::sync::Mutex::default(),
            _place: place.place,
        })
    }
}

impl Entry {
    fn new(owner: TaskOwner, id: String, times: TaskTimes, shared: Option<SharedTask>) -> Self {
        let state = TaskState {
            updated: times.created,
            requests: WaitingRequests::default(),
            end: None,
            bytes: 0,
        };
        Self {
            owner,
            id,
            times,
            cancel: CancellationToken::new(),
            state: Mutex::new(state),
            requests_changed: Notify::new(),
            shared,
        }
    }

    fn change<T>(&self, change: impl FnOnce(&mut TaskState) -> T) -> T {
        let mut state = self.state.lock();
        state.updated = Timestamp::now();
        change(&mut state)
    }

    /// Ends the task, first in its record, again and again until that succeeds: until all processes
    /// can know the end, none tells it.
    async fn end(&self, end: TaskPayload) {
        let Some(shared) = &self.shared else {
            self.set_end(end);
            return;
        };
        loop {
            let recording = shared.recording.lock().await;
            match shared.record.end(&shared.run, end.clone()).await {
                // Of a process that was counted as killed, another end may hold.
                Ok(end) => {
                    self.set_end(end);
                    return;
                }
                Err(error) => tracing::error!(%error, "failed to record the end of a task"),
            }
            drop(recording);
            sleep(RECORD_AGAIN).await;
        }
    }

    fn set_end(&self, end: TaskPayload) {
        let bytes = match &end {
            TaskPayload::Completed { result } => {
                serde_json::to_string(result).map_or(0, |text| text.len())
            }
            _ => 0,
        };
        self.change(|state| {
            state.end = Some(end);
            state.bytes = bytes;
        });
    }

    /// Waits until this process knows all that others may know of the task.
    async fn until_current(&self) {
        if let Some(shared) = &self.shared {
            drop(shared.recording.lock().await);
        }
    }

    /// Exchanges requests, answers and the cancellation with other processes, as long as this future
    /// is polled. It does not end.
    async fn exchange(&self) {
        let Some(shared) = &self.shared else {
            return pending().await;
        };
        let mut published = InputRequests::new();
        loop {
            tokio::select! {
                () = self.requests_changed.notified() => {}
                () = sleep(EXCHANGE) => {}
            }
            // Requests also go without a change of the list, when their tool gives them up.
            let shown = self.state.lock().requests.shown();
            if shown != published {
                match shared.record.publish(&shown).await {
                    Ok(()) => published = shown,
                    Err(error) => tracing::warn!(%error, "failed to show a task's requests"),
                }
            }
            match shared.record.received().await {
                Ok(received) => self.receive(received.is_cancelled, received.answers),
                Err(error) => tracing::warn!(%error, "failed to read what is sent to a task"),
            }
        }
    }

    fn receive(&self, is_cancelled: bool, answers: InputResponses) {
        if is_cancelled {
            self.cancel.cancel();
        }
        if answers.is_empty() {
            return;
        }
        // Each by itself, so that a wrong one does not keep the others from their requests.
        for answer in answers {
            let answer = InputResponses::from([answer]);
            if let Err(error) = self.change(|state| state.requests.answer(answer)) {
                tracing::warn!(%error, "another process has sent an answer of a wrong form");
            }
        }
        self.requests_changed.notify_one();
    }

    /// Runs the call to its end. What its tool asks waits for the client.
    async fn run(&self, call: &mut OngoingCall) -> TaskPayload {
        loop {
            let response = self.respond(call).await;
            confirm::deny_nested(&call.session, &response).await;
            let Some(confirmation) = response.meta().confirmation() else {
                return end_of(call, &response, self.cancel.is_cancelled());
            };
            let client = call.asking.client();
            let asked = confirm::request_in_task(
                (&call.session, client.has(Capability::Forms)),
                confirmation,
                |question| self.ask(question),
                &self.cancel,
            )
            .await;
            match asked {
                ControlFlow::Continue(approved) => *call = call.with_approval(approved, client),
                ControlFlow::Break(_) if self.cancel.is_cancelled() => {
                    return TaskPayload::Cancelled;
                }
                ControlFlow::Break(response) => return end_of(call, &response, false),
            }
        }
    }

    /// Runs the call to its response.
    async fn respond(&self, call: &mut OngoingCall) -> ToolResponse {
        let mut is_cancelled = false;
        loop {
            tokio::select! {
                biased;
                () = self.cancel.cancelled(), if !is_cancelled => {
                    is_cancelled = true;
                    call.cancel();
                }
                step = call.asking.step() => match step {
                    Step::Answered(response) => return response,
                    Step::Asked(requests) => {
                        self.change(|state| state.requests.extend(requests));
                        self.requests_changed.notify_one();
                    }
                },
            }
        }
    }

    /// Shows a request to the client. Returns the place of the answer.
    fn ask(&self, request: InputRequest) -> oneshot::Receiver<Value> {
        let (answer, answered) = oneshot::channel();
        let asked = AskedRequest {
            key: None,
            request,
            answer,
            over: self.cancel.child_token(),
        };
        self.change(|state| state.requests.add(asked));
        self.requests_changed.notify_one();
        answered
    }

    fn task(&self) -> Task {
        let state = self.state.lock();
        shown_task(&self.id, self.times, state.updated, &state.payload())
    }

    fn detailed(&self) -> DetailedTask {
        let task = self.task();
        DetailedTask::new(task, self.state.lock().payload())
    }
}

fn shown_task(id: &str, times: TaskTimes, updated: Timestamp, payload: &TaskPayload) -> Task {
    let created = times.created.to_string();
    Task::new(id, payload.status(), created, updated.to_string())
        .with_ttl_ms(whole_milliseconds(times.ttl))
        .with_poll_interval_ms(whole_milliseconds(POLL_INTERVAL))
}

impl TaskState {
    fn payload(&self) -> TaskPayload {
        match &self.end {
            Some(end) => end.clone(),
            None if self.requests.is_empty() => TaskPayload::Working,
            None => TaskPayload::InputRequired {
                input_requests: self.requests.shown(),
            },
        }
    }
}

/// Returns the end of a task. A failure of the program is an error of the protocol, and that of a
/// tool a result.
fn end_of(call: &OngoingCall, response: &ToolResponse, is_cancelled: bool) -> TaskPayload {
    let kind = response.error().map(|error| error.kind);
    if is_cancelled && kind == Some(ErrorKind::Cancelled) {
        return TaskPayload::Cancelled;
    }
    let internal = response
        .error()
        .filter(|error| error.kind == ErrorKind::Internal);
    let result = match internal {
        Some(error) => Err(ErrorData::internal_error(error.message.clone(), None)),
        None => call.complete(response),
    };
    match result {
        Ok(result) => TaskPayload::Completed {
            result: result.to_object(),
        },
        Err(error) => TaskPayload::Failed {
            error: object(&error),
        },
    }
}

fn object(value: &impl Serialize) -> JsonObject {
    match serde_json::to_value(value) {
        Ok(Value::Object(object)) => object,
        _ => JsonObject::new(),
    }
}
