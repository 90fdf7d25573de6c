//! The steps of a handler of Restate.

pub use crate::earlier_runs::EarlierRuns;

use crate::earlier_runs::Run;
use futures_util::future::BoxFuture;
use restate_sdk::prelude::{
    ContextSideEffects, ContextSignals, ContextTimers, ContextWriteState, HandlerError,
    HandlerResult, Json, ObjectContext, RunFuture, TerminalError,
};
use serde::{Deserialize, Serialize};
use std::error::Error as StdError;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use thiserror::Error;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinError;
use tool_core::ToolError;
use tool_core::session::DurableSteps;

/// The key of the object's state that says which function runs.
pub(crate) const RUNNING: &str = "running";

/// The function that runs. Signals that come before it waits for them are kept for it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RunningFunction {
    pub(crate) invocation: String,
}

/// Runs a function with the steps of a handler.
///
/// The function runs on a task of its own. If Restate gives the handler up, the task ends its step, and then stops.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use tool_adapters::restate::sdk::prelude::*;
/// use tool_adapters::restate::{EarlierRuns, with_steps};
/// use tool_core::ToolError;
/// use tool_core::session::DurableSteps;
///
/// #[derive(Default)]
/// struct Reminder {
///     earlier: EarlierRuns,
/// }
///
/// #[tool_adapters::restate::sdk::object]
/// impl Reminder {
///     /// Waits for an answer for a day.
///     #[handler]
///     async fn remind(&self, ctx: ObjectContext<'_>) -> HandlerResult<String> {
///         let remind = async |steps: Arc<dyn DurableSteps>| {
///             let answer = steps.signal("answer", Duration::from_secs(86_400)).await?;
///             Ok::<_, ToolError>(answer.unwrap_or_default())
///         };
///         with_steps(&ctx, &self.earlier, move |steps| async move { remind(steps).await.map_err(|error| error.to_string()) }).await
///     }
/// }
/// # fn main() {}
/// ```
///
/// # Errors
///
/// The function's own error, after which Restate runs it again. A [`TerminalError`] of the function ends it.
pub async fn with_steps<T, E, F, R>(
    ctx: &ObjectContext<'_>,
    earlier: &EarlierRuns,
    function: F,
) -> HandlerResult<T>
where
    T: Send + 'static,
    E: Into<HandlerError> + Send + 'static,
    F: FnOnce(Arc<dyn DurableSteps>) -> R,
    R: Future<Output = Result<T, E>> + Send + 'static,
{
    let invocation = ctx.invocation_id();
    say_what_runs(ctx);
    let run = earlier.begin(invocation).await;
    let (requests, mut received) = mpsc::unbounded_channel();
    let steps = Arc::new(RestateSteps {
        requests,
        run: Arc::clone(&run),
        places: AtomicUsize::new(0),
    });
    let mut running = tokio::spawn(run_function(function(steps), Arc::clone(&run)));
    let ended = loop {
        let request = tokio::select! {
            Some(request) = received.recv() => request,
            result = &mut running => break result,
        };
        carry_out(ctx, request).await;
    };
    let result = result_of(ended);
    // After any other end Restate runs the function again, which would not clear the state here, and which takes the results
    // that are not recorded.
    if is_over(&result) {
        earlier.end(invocation, &run);
        ctx.clear(RUNNING);
    }
    result
}

/// Returns the result of a handler whose function has ended, was given up, or has panicked.
fn result_of<T, E: Into<HandlerError>>(
    ended: Result<Option<Result<T, E>>, JoinError>,
) -> HandlerResult<T> {
    match ended {
        Ok(Some(result)) => result.map_err(Into::into),
        Ok(None) => Err(StepError("the function was given up".to_owned()).into()),
        Err(error) => Err(StepError(format!("the function failed: {error}")).into()),
    }
}

/// Returns true if Restate does not run the function again.
fn is_over<T>(result: &HandlerResult<T>) -> bool {
    result.as_ref().err().is_none_or(is_terminal)
}

/// Returns true for an error that ends the function. Its text alone tells that: an error after which
/// the function runs again begins otherwise, whatever its own text is.
fn is_terminal(error: &HandlerError) -> bool {
    let shown: &dyn StdError = error.as_ref();
    shown.to_string().starts_with("Terminal error")
}

/// Says in the object's state which function runs, so that a decision finds it.
fn say_what_runs(ctx: &ObjectContext<'_>) {
    let running = RunningFunction {
        invocation: ctx.invocation_id().to_owned(),
    };
    ctx.set(RUNNING, Json(running));
}

/// Runs a function until it has ended, or is given up.
async fn run_function<T>(function: impl Future<Output = T>, run: Arc<Run>) -> Option<T> {
    let ends = EndsRun(run);
    tokio::select! {
        result = function => Some(result),
        () = ends.0.over() => None,
    }
}

/// Ends a run when its task ends, also by a panic.
struct EndsRun(Arc<Run>);

impl Drop for EndsRun {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// A step that has failed. Restate runs the function again.
#[derive(Debug, Error)]
#[error("{0}")]
struct StepError(String);

/// A request of a function to Restate.
enum Request {
    Step {
        name: String,
        /// Tells the function to run the step.
        begin: oneshot::Sender<oneshot::Sender<StepResult>>,
        recorded: oneshot::Sender<StepResult>,
    },
    Signal {
        name: String,
        time: Duration,
        value: oneshot::Sender<Result<Option<String>, ToolError>>,
    },
    Sleep {
        time: Duration,
        over: oneshot::Sender<Result<(), ToolError>>,
    },
}

type StepResult = Result<String, ToolError>;

/// Carries out a request in the handler. If Restate gives the handler up, the future never ends.
async fn carry_out(ctx: &ObjectContext<'_>, request: Request) {
    match request {
        Request::Step {
            name,
            begin,
            recorded,
        } => {
            let step = ctx.run(move || run_step(begin)).name(name);
            let result = step.await.map_err(|error| cancelled(&error));
            let _ = recorded.send(result);
        }
        Request::Signal { name, time, value } => {
            let came = wait(ctx, &name, time).await;
            let _ = value.send(came.map_err(|error| cancelled(&error)));
        }
        Request::Sleep { time, over } => {
            let slept = ctx.sleep(time).await.map_err(|error| cancelled(&error));
            let _ = over.send(slept);
        }
    }
}

/// Lets the function run a step, and returns its result. An error makes Restate run the function again.
async fn run_step(begin: oneshot::Sender<oneshot::Sender<StepResult>>) -> HandlerResult<String> {
    let (done, result) = oneshot::channel();
    if begin.send(done).is_err() {
        return Err(StepError("the function has ended".to_owned()).into());
    }
    match result.await {
        Ok(Ok(text)) => Ok(text),
        Ok(Err(error)) => {
            tracing::warn!(%error, "a step failed, and Restate tries it again");
            Err(StepError(error.to_string()).into())
        }
        Err(_) => Err(StepError("the function has ended".to_owned()).into()),
    }
}

async fn wait(
    ctx: &ObjectContext<'_>,
    name: &str,
    time: Duration,
) -> Result<Option<String>, TerminalError> {
    restate_sdk::select! {
        value = ctx.signal::<String>(name) => value.map(Some),
        slept = ctx.sleep(time) => slept.map(|()| None)
    }
}

/// Returns the error of a function that was cancelled.
fn cancelled(error: &TerminalError) -> ToolError {
    ToolError::cancelled(format!("Restate has ended the step: {}", error.message()))
}

/// The steps of one run of a function.
struct RestateSteps {
    requests: mpsc::UnboundedSender<Request>,
    run: Arc<Run>,
    /// The number of steps that the function has asked for.
    places: AtomicUsize,
}

impl RestateSteps {
    /// Sends a request. If the handler is gone, it stays unanswered.
    fn ask(&self, request: Request) {
        let _ = self.requests.send(request);
    }

    /// Waits for an answer of the handler.
    async fn answer<T>(&self, answer: oneshot::Receiver<T>) -> T {
        match answer.await {
            Ok(answer) => answer,
            Err(_) => self.run.give_up().await,
        }
    }
}

impl DurableSteps for RestateSteps {
    fn step<'a>(
        &'a self,
        name: &'a str,
        work: BoxFuture<'a, StepResult>,
    ) -> BoxFuture<'a, StepResult> {
        Box::pin(async move {
            let place = self.places.fetch_add(1, Ordering::Relaxed);
            let (begin, told_to_run) = oneshot::channel();
            let (recorded, result) = oneshot::channel();
            self.ask(Request::Step {
                name: name.to_owned(),
                begin,
                recorded,
            });
            // Without an answer the step is recorded, or the handler is gone.
            if let Ok(done) = told_to_run.await {
                let _ = done.send(self.run.step(place, work).await);
            }
            let result = self.answer(result).await;
            self.run.recorded(place);
            result
        })
    }

    fn signal<'a>(
        &'a self,
        name: &'a str,
        time: Duration,
    ) -> BoxFuture<'a, Result<Option<String>, ToolError>> {
        Box::pin(async move {
            let (value, came) = oneshot::channel();
            self.ask(Request::Signal {
                name: name.to_owned(),
                time,
                value,
            });
            self.answer(came).await
        })
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move {
            let (over, slept) = oneshot::channel();
            self.ask(Request::Sleep { time, over });
            self.answer(slept).await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_tells_whether_it_ends_the_function() {
        assert!(is_terminal(&TerminalError::new("refused").into()));
        let other = StepError("Terminal error".to_owned());
        assert!(!is_terminal(&other.into()));
    }

    #[tokio::test]
    async fn a_function_that_panics_leaves_its_results() {
        let function = async { panic!("broken on purpose") };
        let ended = tokio::spawn(function).await;
        let result = result_of::<(), TerminalError>(ended);
        assert!(!is_over(&result), "Restate runs it again");
        let refused = result_of::<(), _>(Ok(Some(Err(TerminalError::new("refused")))));
        assert!(is_over(&refused));
    }
}
