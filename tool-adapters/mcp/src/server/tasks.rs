//! Calls that go on as tasks: the extension `io.modelcontextprotocol/tasks` of revision 2026-07-28.
//!
//! The server decides which calls become tasks. The client polls a task, answers what its tool
//! asks, and may cancel it. A task belongs to the session of the client whose call it is: to all
//! others no such task exists.

use crate::server::asking::Step;
use crate::server::client_requests::{AskedRequest, Capability};
use crate::server::confirm;
use crate::server::ongoing_call::OngoingCall;
use crate::server::parked::WaitingRequests;
use crate::server::request_ids::random_id;
use crate::server::session::{ClientSession, McpResult};
use jiff::Timestamp;
use parking_lot::Mutex;
use rmcp::ErrorData;
use rmcp::model::{DetailedTask, InputRequest, InputResponses, JsonObject, Task, TaskPayload};
use serde::Serialize;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout_at};
use tool_core::time::whole_milliseconds;
use tool_core::{CancellationToken, ErrorKind, ToolResponse};

/// The time after which a client should ask for the state of a task again.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The maximum size of the results that the tasks of a client keep. At this size no further task
/// begins.
const MAX_BYTES: usize = 16 << 20;

/// The tasks of all clients, by the addresses of their sessions. A session lives as long as its
/// tasks.
#[derive(Default)]
pub(crate) struct Tasks(Mutex<HashMap<usize, ClientTasks>>);

/// The tasks of one client's session, by their ids.
type ClientTasks = HashMap<String, Arc<Entry>>;

struct Entry {
    id: String,
    created: Timestamp,
    ttl: Duration,
    cancel: CancellationToken,
    state: Mutex<TaskState>,
}

struct TaskState {
    updated: Timestamp,
    requests: WaitingRequests,
    end: Option<TaskPayload>,
    /// The size of the result.
    bytes: usize,
}

impl Tasks {
    /// Fails if a client may begin no further task.
    pub(crate) fn check_place(&self, session: &Arc<ClientSession>, max: usize) -> McpResult<()> {
        self.0
            .lock()
            .get(&address(session))
            .map_or(Ok(()), |tasks| has_place(tasks, max))
    }

    /// Lets a call go on as a task. Its result is kept for `ttl` after this moment. A call that is
    /// not done then is cancelled.
    pub(crate) fn start(
        self: &Arc<Self>,
        mut call: OngoingCall,
        (max, ttl): (usize, Duration),
    ) -> McpResult<Task> {
        let now = Timestamp::now();
        let state = TaskState {
            updated: now,
            requests: WaitingRequests::default(),
            end: None,
            bytes: 0,
        };
        let id = random_id()?;
        let cancel = CancellationToken::new();
        let state = Mutex::new(state);
        let entry = Arc::new(Entry {
            id: id.clone(),
            created: now,
            ttl,
            cancel,
            state,
        });
        let session = Arc::clone(call.client_session());
        {
            let mut all = self.0.lock();
            let tasks = all.entry(address(&session)).or_default();
            has_place(tasks, max)?;
            tasks.insert(id, Arc::clone(&entry));
        }
        let task = entry.task();
        let tasks = Arc::clone(self);
        tokio::spawn(async move {
            let expiry = Instant::now() + ttl;
            match timeout_at(expiry, entry.run(&mut call)).await {
                Ok(end) => entry.end(end),
                Err(_) => call.cancel(),
            }
            drop(call);
            // The client may still ask for the result.
            sleep_until(expiry).await;
            tasks.remove(&session, &entry.id);
        });
        Ok(task)
    }

    fn remove(&self, session: &Arc<ClientSession>, id: &str) {
        let mut all = self.0.lock();
        if let Some(tasks) = all.get_mut(&address(session)) {
            tasks.remove(id);
            if tasks.is_empty() {
                all.remove(&address(session));
            }
        }
    }

    fn find(&self, session: &Arc<ClientSession>, id: &str) -> McpResult<Arc<Entry>> {
        let unknown =
            || ErrorData::invalid_params("this client has no such task; it may be over", None);
        self.0
            .lock()
            .get(&address(session))
            .and_then(|tasks| tasks.get(id))
            .cloned()
            .ok_or_else(unknown)
    }

    pub(crate) fn get(&self, session: &Arc<ClientSession>, id: &str) -> McpResult<DetailedTask> {
        Ok(self.find(session, id)?.detailed())
    }

    /// Gives the client's answers to the requests of a task. Answers to other requests are ignored.
    pub(crate) fn update(
        &self,
        session: &Arc<ClientSession>,
        id: &str,
        answers: InputResponses,
    ) -> McpResult<()> {
        self.find(session, id)?
            .change(|state| state.requests.answer(answers))
    }

    /// Cancels a task, unless it has ended.
    pub(crate) fn cancel(&self, session: &Arc<ClientSession>, id: &str) -> McpResult<()> {
        self.find(session, id)?.cancel.cancel();
        Ok(())
    }
}

fn address(session: &Arc<ClientSession>) -> usize {
    Arc::as_ptr(session).addr()
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

impl Entry {
    fn change<T>(&self, change: impl FnOnce(&mut TaskState) -> T) -> T {
        let mut state = self.state.lock();
        state.updated = Timestamp::now();
        change(&mut state)
    }

    fn end(&self, end: TaskPayload) {
        let bytes = match &end {
            TaskPayload::Completed { result } => {
                serde_json::to_string(result).map_or(0, |text| text.len())
            }
            _ => 0,
        };
        self.change(|state| (state.end, state.bytes) = (Some(end), bytes));
    }

    /// Runs the call to its end. What its tool asks waits for the client.
    async fn run(&self, call: &mut OngoingCall) -> TaskPayload {
        let mut is_cancelled = false;
        let response = loop {
            tokio::select! {
                biased;
                () = self.cancel.cancelled(), if !is_cancelled => {
                    is_cancelled = true;
                    call.cancel();
                }
                step = call.asking.step() => match step {
                    Step::Answered(response) => break response,
                    Step::Asked(requests) => self.change(|state| state.requests.extend(requests)),
                },
            }
        };
        confirm::deny_nested(&call.session, &response).await;
        if response.meta().confirmation().is_none() {
            return end_of(call, &response, is_cancelled);
        }
        let session = (&call.session, call.asking.client_has(Capability::Forms));
        match confirm::request_in_task(
            session,
            &response,
            |question| self.ask(question),
            &self.cancel,
        )
        .await
        {
            Some(response) => end_of(call, &response, self.cancel.is_cancelled()),
            None => TaskPayload::Cancelled,
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
        answered
    }

    fn task(&self) -> Task {
        let state = self.state.lock();
        let time = |time: Timestamp| time.to_string();
        Task::new(
            &self.id,
            state.payload().status(),
            time(self.created),
            time(state.updated),
        )
        .with_ttl_ms(whole_milliseconds(self.ttl))
        .with_poll_interval_ms(whole_milliseconds(POLL_INTERVAL))
    }

    fn detailed(&self) -> DetailedTask {
        let task = self.task();
        DetailedTask::new(task, self.state.lock().payload())
    }
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
