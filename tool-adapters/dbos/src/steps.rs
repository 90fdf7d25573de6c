//! The steps of a workflow of DBOS.

use crate::retries::Retries;
use dbos::{DurableError, EngineOnly, Error};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tool_adapters_models::engines::RunningSteps;
use tool_core::ToolError;
use tool_core::session::DurableSteps;

/// Runs a function with the steps of a workflow. Call it in a workflow, on the task on which DBOS runs the workflow.
///
/// If a step fails, nothing is recorded. The other steps that are running end first, and then the workflow is put back on its
/// queue and runs again, unless another worker has begun it meanwhile. For that, `retries` looks at the workflow before the
/// function begins, or while it runs if the database does not answer within ten seconds.
///
/// The handle that `start` has returned ends with the first run; to wait for the last one, call
/// [`retrieve_workflow`](dbos::DBOS::retrieve_workflow).
///
/// ```
/// use std::time::Duration;
/// use tool_adapters::dbos::sdk::{self as dbos, Config, DBOS};
/// use tool_adapters::dbos::{Retries, with_steps};
///
/// async fn serve(url: String) -> dbos::Result<()> {
///     let config = Config { app_version: Some("hotel-1".to_owned()), ..Config::new("hotel", url) };
///     let engine = DBOS::new(config);
///     let retries = Retries::new(engine.config());
///     engine.register_workflow("remind", move |guest: String| {
///         let retries = retries.clone();
///         async move {
///             with_steps(&retries, |steps| async move {
///                 // Waits for an answer for a day.
///                 let answer = steps.signal("answer", Duration::from_secs(86_400)).await;
///                 Ok::<_, dbos::Error>(format!("{guest}: {answer:?}"))
///             })
///             .await
///         }
///     })?;
///     engine.launch().await
/// }
/// # let _ = serve;
/// ```
///
/// # Errors
///
/// An [`Application`](Error::Application) error of the function ends the workflow, as always with DBOS. An error of the engine
/// makes it run again, except for that of a workflow which was cancelled.
pub async fn with_steps<T, E, F, R>(retries: &Retries, function: F) -> dbos::Result<T, E>
where
    E: DurableError,
    F: FnOnce(Arc<dyn DurableSteps>) -> R,
    R: Future<Output = dbos::Result<T, E>>,
{
    let Some(workflow) = dbos::workflow_id() else {
        return Err(Error::NotInWorkflow {
            operation: "run a function with steps".into(),
        });
    };
    let attempt = retries.attempt(&workflow).await;
    let run = Arc::new(Run::default());
    let steps = Arc::new(DbosSteps {
        workflow: workflow.clone(),
        run: Arc::clone(&run),
    });
    let result = tokio::select! {
        result = function(steps) => result,
        error = run.given_up() => Err(error.lift()),
    };
    let result = run.unless_cancelled(result);
    match &result {
        Err(Error::Interrupted { .. } | Error::SystemDatabase(_)) => {
            if let Some(failed) = attempt.failed(&workflow) {
                retries.again(failed);
            }
        }
        _ => retries.forget(&workflow),
    }
    result
}

/// The steps that have not ended, in the order in which the function has asked for them.
#[derive(Debug, Default)]
struct StepOrder {
    next: AtomicUsize,
    open: watch::Sender<BTreeSet<usize>>,
}

impl StepOrder {
    fn begin(&self) -> OpenStep<'_> {
        let place = self.next.fetch_add(1, Ordering::Relaxed);
        self.open.send_modify(|open| _ = open.insert(place));
        OpenStep {
            place,
            open: &self.open,
        }
    }
}

/// A step that has not ended.
struct OpenStep<'a> {
    place: usize,
    open: &'a watch::Sender<BTreeSet<usize>>,
}

impl OpenStep<'_> {
    /// Waits until all steps have ended that were asked for earlier. Steps run at the same time, and the function gets their
    /// results in the same order each time that it runs.
    async fn is_first(&self) {
        let is_first = |open: &BTreeSet<usize>| open.first() == Some(&self.place);
        // It fails if the sender is gone, which is borrowed here.
        let _ = self.open.subscribe().wait_for(is_first).await;
    }
}

impl Drop for OpenStep<'_> {
    fn drop(&mut self) {
        self.open.send_modify(|open| _ = open.remove(&self.place));
    }
}

/// A run of a workflow.
#[derive(Debug, Default)]
struct Run {
    running: RunningSteps,
    order: StepOrder,
    /// The first error of the engine.
    failure: Mutex<Option<Error<EngineOnly>>>,
    failed: Notify,
}

impl Run {
    /// Ends the run with an error of the engine. The future never ends.
    async fn give_up<T>(&self, error: Error<EngineOnly>) -> T {
        self.keep(error);
        self.failed.notify_one();
        std::future::pending().await
    }

    fn keep(&self, error: Error<EngineOnly>) {
        self.failure.lock().get_or_insert(error);
    }

    /// Waits until the run has to end, and no step is running.
    async fn given_up(&self) -> Error<EngineOnly> {
        loop {
            self.failed.notified().await;
            self.running.ended().await;
            if let Some(error) = self.failure.lock().take() {
                return error;
            }
        }
    }

    /// Returns the error of a workflow that was cancelled in the place of its result, which is not one of the workflow.
    fn unless_cancelled<T, E>(&self, result: dbos::Result<T, E>) -> dbos::Result<T, E> {
        match self.failure.lock().take() {
            Some(error @ Error::WorkflowCancelled { .. }) => Err(error.lift()),
            _ => result,
        }
    }
}

/// The steps of one run of a workflow.
struct DbosSteps {
    workflow: String,
    run: Arc<Run>,
}

impl DbosSteps {
    /// Returns what DBOS has answered. A function whose workflow was cancelled gets an error, and any other error ends the run.
    async fn answer<T>(&self, answer: dbos::Result<T>) -> Result<T, ToolError> {
        match answer {
            Ok(value) => Ok(value),
            Err(error @ Error::WorkflowCancelled { .. }) => {
                let message = format!("DBOS has ended the step: {error}");
                self.run.keep(error);
                Err(ToolError::cancelled(message))
            }
            Err(error) => {
                tracing::warn!(%error, workflow = self.workflow, "a step failed, and DBOS runs the workflow again");
                self.run.give_up(error).await
            }
        }
    }

    /// Fails outside of the workflow's task, where DBOS would record nothing.
    fn check_task(&self) -> Result<(), ToolError> {
        if dbos::workflow_id().as_deref() == Some(self.workflow.as_str()) {
            return Ok(());
        }
        Err(ToolError::internal(
            "a step of DBOS has to run on the task of its workflow; move `tokio::spawn` into the step",
        ))
    }
}

type StepResult = Result<String, ToolError>;

impl DurableSteps for DbosSteps {
    fn step<'a>(
        &'a self,
        name: &'a str,
        work: BoxFuture<'a, StepResult>,
    ) -> BoxFuture<'a, StepResult> {
        Box::pin(async move {
            self.check_task()?;
            let open = self.run.order.begin();
            let running = self.run.running.begin();
            let mut work = Some(work);
            let step = dbos::step(name, || {
                let work = work.take();
                async move {
                    let result = match work {
                        Some(work) => work.await,
                        None => Err(ToolError::internal("the step runs twice")),
                    };
                    result.map_err(|error| self.unrecorded(name, &error))
                }
            });
            let recorded = step.await;
            drop(running);
            let result = self.answer(recorded).await;
            open.is_first().await;
            result
        })
    }

    fn signal<'a>(
        &'a self,
        name: &'a str,
        time: Duration,
    ) -> BoxFuture<'a, Result<Option<String>, ToolError>> {
        Box::pin(async move {
            self.check_task()?;
            let came = dbos::recv(Some(name), time).await;
            self.answer(came).await
        })
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move {
            self.check_task()?;
            let slept = dbos::sleep(time).await;
            self.answer(slept).await
        })
    }
}

impl DbosSteps {
    /// Returns the error with which DBOS records nothing for a step that has failed.
    fn unrecorded(&self, step: &str, error: &ToolError) -> Error<EngineOnly> {
        tracing::warn!(%error, workflow = self.workflow, step, "a step failed");
        Error::Interrupted {
            workflow_id: self.workflow.clone(),
        }
    }
}
