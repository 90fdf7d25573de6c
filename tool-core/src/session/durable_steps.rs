//! The steps of a conversation that an engine records, so that it goes on where it was after a crash.

use crate::call::{ErrorBody, ErrorKind, ToolCall, ToolError, ToolResponse};
use crate::session::approvals::fresh_id;
use crate::session::inner::SessionInner;
use crate::session::pipeline::durable_call::response_is_recorded;
use crate::time::CallInstant;
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::watch;
use tokio::time::timeout;

/// An engine for durable execution, as a conversation sees it.
///
/// An engine runs a function, and records the result of each of its steps. If the process ends, the engine runs the function
/// again, perhaps in another process, and answers the steps that it has recorded from its log. So the function goes on where it
/// was. Between its steps it must do the same each time: what differs from run to run, for example the time, comes from here.
///
/// A step that was running when the process ended runs again, and so does one whose result the engine could not record. Make it
/// a call of a session with a [`Journal`](super::Journal): an action that had begun does not run a second time then. It is
/// answered with its result, or it is `UNKNOWN`.
///
/// [`PlainSteps`] is for programs and tests without an engine. The packages `tool-adapters-restate` and
/// `tool-adapters-dbos` have those of Restate and DBOS.
///
/// ```
/// use std::time::Duration;
/// use tool_core::ToolError;
/// use tool_core::session::{DurableSteps, PlainSteps};
///
/// /// Greets a guest, and waits for the answer for a day at most.
/// async fn greet(steps: &dyn DurableSteps, guest: &str) -> Result<String, ToolError> {
///     let greeting = steps.step("greeting", Box::pin(async { Ok(format!("Good morning, {guest}")) })).await?;
///     let answer = steps.signal("answer", Duration::from_secs(86_400)).await?;
///     Ok(format!("{greeting}. {}", answer.unwrap_or_default()))
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let steps = PlainSteps::new();
/// steps.send("answer", "Good morning!");
/// assert_eq!(greet(&steps, "Ada").await?, "Good morning, Ada. Good morning!");
/// # Ok(())
/// # }
/// ```
pub trait DurableSteps: Send + Sync + 'static {
    /// Runs a step and returns its result, or returns the recorded result without running it.
    ///
    /// The name is for the people who read the engine's log. An engine tells steps apart by their order: those that are asked
    /// for at the same time run in the order in which their futures are polled first, perhaps one after the other, and return in
    /// that order.
    ///
    /// If the step fails, nothing is recorded, and the engine runs the function again later. Without an engine the error is
    /// returned. An engine returns an error of its own if the function was cancelled.
    fn step<'a>(
        &'a self,
        name: &'a str,
        work: BoxFuture<'a, Result<String, ToolError>>,
    ) -> BoxFuture<'a, Result<String, ToolError>>;

    /// Waits for the signal of this name, which another process sends, and returns its value. Returns `None` if it does not
    /// come in time. A signal that is sent before it is waited for is not lost: several of one name are kept, and each wait takes
    /// the oldest. So a decision that corrects a wrong one is read after it.
    fn signal<'a>(
        &'a self,
        name: &'a str,
        time: Duration,
    ) -> BoxFuture<'a, Result<Option<String>, ToolError>>;

    /// Waits for a time, also across restarts of the process.
    fn sleep(&self, time: Duration) -> BoxFuture<'_, Result<(), ToolError>>;

    /// Returns true if an engine runs the function again after its future was dropped. A conversation then leaves it to the
    /// next run to answer the calls of a dropped step. Defaults to true.
    fn is_replayed(&self) -> bool {
        true
    }

    /// Returns the present time, which is the same in each run.
    fn now(&self) -> BoxFuture<'_, Result<SystemTime, ToolError>> {
        Box::pin(async {
            let since_1970 = record(self, "now", async {
                Ok(SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .unwrap_or_default())
            });
            Ok(UNIX_EPOCH + since_1970.await?)
        })
    }

    /// Returns a random id, which is the same in each run.
    fn random_id(&self) -> BoxFuture<'_, Result<String, ToolError>> {
        self.step("random id", Box::pin(async { Ok(fresh_id()) }))
    }
}

/// Runs a step whose result is a value of type `T`, or returns the recorded value.
///
/// ```
/// use tool_core::session::{PlainSteps, record};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let prices = record(&PlainSteps::new(), "prices", async { Ok(vec![120, 90]) }).await?;
/// assert_eq!(prices, [120, 90]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// The step has failed without an engine, the function was cancelled, or the recorded value is of another type, for example
/// since the program has changed.
pub async fn record<T: Serialize + DeserializeOwned>(
    steps: &(impl DurableSteps + ?Sized),
    name: &str,
    work: impl Future<Output = Result<T, ToolError>> + Send,
) -> Result<T, ToolError> {
    let as_text = async {
        let value = work.await?;
        serde_json::to_string(&value).map_err(|error| {
            ToolError::internal(format!(
                "the result of `{name}` cannot be recorded: {error}"
            ))
        })
    };
    let text = steps.step(name, Box::pin(as_text)).await?;
    serde_json::from_str(&text).map_err(|error| {
        ToolError::internal(format!(
            "the recorded result of `{name}` cannot be read: {error}; finish conversations before you change the program"
        ))
    })
}

/// The response of a call, as an engine records it.
pub(crate) struct RecordedResponse {
    pub(crate) response: ToolResponse,
    /// True if the reply was interrupted while the call ran.
    pub(crate) is_interrupted: bool,
}

impl RecordedResponse {
    /// Returns a response that no engine records.
    pub(crate) fn unrecorded(response: ToolResponse) -> Self {
        Self {
            response,
            is_interrupted: false,
        }
    }
}

/// A response with what its JSON leaves out.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResponseRecord {
    response: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    handoff: Option<String>,
    #[serde(default)]
    is_interrupted: bool,
}

/// Records the response of a call. If the future fails, nothing is recorded, and the engine tries again. Without an engine, the
/// call is answered with the error.
pub(crate) async fn record_response(
    session: &SessionInner,
    steps: &(impl DurableSteps + ?Sized),
    call: &ToolCall,
    response: impl Future<Output = Result<RecordedResponse, ToolError>> + Send,
) -> RecordedResponse {
    let recorded = try_record_response(session, steps, call, response).await;
    recorded.unwrap_or_else(|error| {
        let is_interrupted = error.kind() == ErrorKind::Cancelled;
        let response = ToolResponse::refused(call, error, CallInstant::now());
        RecordedResponse {
            response,
            is_interrupted,
        }
    })
}

/// Records the response of a call. Fails as the future does, without an engine, or if the engine's record cannot be read.
pub(crate) async fn try_record_response(
    session: &SessionInner,
    steps: &(impl DurableSteps + ?Sized),
    call: &ToolCall,
    response: impl Future<Output = Result<RecordedResponse, ToolError>> + Send,
) -> Result<RecordedResponse, ToolError> {
    let name = format!("call {}", call.id());
    let work = async {
        let RecordedResponse {
            response,
            is_interrupted,
        } = response.await?;
        Ok(ResponseRecord {
            response: response.to_stored_json(),
            handoff: response.meta().handoff().map(str::to_owned),
            is_interrupted,
        })
    };
    let recorded = record(steps, &name, work).await?;
    response_is_recorded(session, call);
    read_response(recorded)
}

fn read_response(record: ResponseRecord) -> Result<RecordedResponse, ToolError> {
    let mut response = serde_json::from_str::<ToolResponse>(&record.response).map_err(|error| {
        ToolError::internal(format!("a recorded response cannot be read: {error}"))
    })?;
    if record.handoff.is_some() {
        response.optional_meta().handoff = record.handoff;
    }
    Ok(RecordedResponse {
        response,
        is_interrupted: record.is_interrupted,
    })
}

/// Checks a text as a step, or returns the recorded verdict. An error of a guard is a verdict, too.
pub(crate) async fn record_verdict<T: Serialize + DeserializeOwned>(
    steps: &(impl DurableSteps + ?Sized),
    name: &str,
    checking: impl Future<Output = Result<T, ToolError>> + Send,
) -> Result<T, ToolError> {
    let work = async { Ok(checking.await.map_err(ErrorBody::from)) };
    let verdict = record::<Result<T, ErrorBody>>(steps, name, work).await?;
    verdict.map_err(recorded_error)
}

/// Returns an error as it was recorded.
pub(crate) fn recorded_error(error: ErrorBody) -> ToolError {
    ToolError::new(error.kind, error.message, error.retryable)
        .partial_side_effects(error.partial_side_effects)
}

/// Steps without an engine: each runs once and is recorded nowhere, and signals come from this process.
///
/// See [`DurableSteps`] for an example.
#[derive(Debug, Default)]
pub struct PlainSteps {
    signals: watch::Sender<HashMap<String, VecDeque<String>>>,
}

impl PlainSteps {
    /// Creates steps without an engine.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sends a signal, which is kept until it is waited for.
    pub fn send(&self, name: impl Into<String>, value: impl Into<String>) {
        self.signals.send_modify(|signals| {
            let waiting = signals.entry(name.into()).or_default();
            waiting.push_back(value.into());
        });
    }

    /// Takes the oldest signal of a name.
    fn take(&self, name: &str) -> Option<String> {
        let mut taken = None;
        self.signals.send_if_modified(|signals| {
            if let Entry::Occupied(mut waiting) = signals.entry(name.to_owned()) {
                taken = waiting.get_mut().pop_front();
                if waiting.get().is_empty() {
                    waiting.remove();
                }
            }
            false
        });
        taken
    }
}

impl DurableSteps for PlainSteps {
    fn step<'a>(
        &'a self,
        _name: &'a str,
        work: BoxFuture<'a, Result<String, ToolError>>,
    ) -> BoxFuture<'a, Result<String, ToolError>> {
        work
    }

    fn signal<'a>(
        &'a self,
        name: &'a str,
        time: Duration,
    ) -> BoxFuture<'a, Result<Option<String>, ToolError>> {
        Box::pin(async move {
            let mut sent = self.signals.subscribe();
            let waiting = async {
                loop {
                    if let Some(value) = self.take(name) {
                        return value;
                    }
                    // It fails if the sender is gone, which is borrowed here.
                    let _ = sent.changed().await;
                }
            };
            Ok(timeout(time, waiting).await.ok())
        })
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move {
            tokio::time::sleep(time).await;
            Ok(())
        })
    }

    fn is_replayed(&self) -> bool {
        false
    }
}
