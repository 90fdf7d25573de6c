//! The runs of functions in this process that Restate has given up, for example since its connection was lost.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tool_adapters_models::engines::RunningSteps;
use tool_core::ToolError;

/// The time after which an abandoned run is forgotten. By then, another process runs its function.
const KEEP: Duration = Duration::from_secs(3_600);

/// The runs of functions in this process, so that a run which Restate has given up ends its step before the next run of the
/// function begins, and the step does not run twice. Share one value between the calls of [`with_steps`](crate::with_steps).
#[derive(Debug, Default)]
pub struct EarlierRuns(Mutex<HashMap<String, Arc<Run>>>);

impl EarlierRuns {
    /// Begins a run of a function, once the earlier one in this process has ended its step.
    pub(crate) async fn begin(&self, invocation: &str) -> Arc<Run> {
        let earlier = self.0.lock().remove(invocation);
        let result = match earlier {
            Some(earlier) => earlier.last_result().await,
            None => None,
        };
        let run = Arc::new(Run::new(result));
        let mut runs = self.0.lock();
        runs.retain(|_, run| !run.is_forgotten());
        runs.insert(invocation.to_owned(), Arc::clone(&run));
        run
    }

    /// Forgets the run of a function that has ended.
    pub(crate) fn end(&self, invocation: &str) {
        self.0.lock().remove(invocation);
    }
}

/// The result of a step that Restate may not have recorded.
#[derive(Debug)]
struct UnrecordedResult {
    /// The place of the step in the function.
    place: usize,
    text: String,
}

/// A run of a function.
#[derive(Debug)]
pub(crate) struct Run {
    began: Instant,
    unrecorded: Mutex<Vec<UnrecordedResult>>,
    running: RunningSteps,
    is_over: watch::Sender<bool>,
}

impl Run {
    fn new(unrecorded: Option<Vec<UnrecordedResult>>) -> Self {
        Self {
            began: Instant::now(),
            unrecorded: Mutex::new(unrecorded.unwrap_or_default()),
            running: RunningSteps::default(),
            is_over: watch::Sender::new(false),
        }
    }

    /// Runs a step, unless an earlier run has its result, and keeps the result until it is recorded.
    pub(crate) async fn step(
        &self,
        place: usize,
        work: impl Future<Output = Result<String, ToolError>>,
    ) -> Result<String, ToolError> {
        let known = self.result(place);
        if let Some(text) = known {
            return Ok(text);
        }
        let _running = self.running.begin();
        let text = work.await?;
        self.unrecorded.lock().push(UnrecordedResult {
            place,
            text: text.clone(),
        });
        Ok(text)
    }

    fn result(&self, place: usize) -> Option<String> {
        let unrecorded = self.unrecorded.lock();
        let found = unrecorded.iter().find(|result| result.place == place);
        found.map(|result| result.text.clone())
    }

    /// Forgets the result of a step that is recorded.
    pub(crate) fn recorded(&self, place: usize) {
        self.unrecorded
            .lock()
            .retain(|result| result.place != place);
    }

    /// Ends a run that Restate has given up, once no step is running.
    pub(crate) async fn give_up<T>(&self) -> T {
        self.running.ended().await;
        self.end();
        std::future::pending().await
    }

    pub(crate) fn end(&self) {
        self.is_over.send_replace(true);
    }

    /// Waits until the run is over.
    pub(crate) async fn over(&self) {
        // It fails if the sender is gone, which is this run.
        let _ = self.is_over.subscribe().wait_for(|is_over| *is_over).await;
    }

    /// Waits until the run is over, and returns the results that may not be recorded.
    async fn last_result(&self) -> Option<Vec<UnrecordedResult>> {
        self.over().await;
        Some(std::mem::take(&mut *self.unrecorded.lock()))
    }

    fn is_forgotten(&self) -> bool {
        *self.is_over.borrow() && self.began.elapsed() > KEEP
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_next_run_waits_for_the_step_and_gets_its_result() {
        let runs = Arc::new(EarlierRuns::default());
        let first = runs.begin("inv-1").await;
        let (finish, finished) = tokio::sync::oneshot::channel::<()>();
        let step = Arc::clone(&first);
        tokio::spawn(async move {
            let work = async {
                let _ = finished.await;
                Ok("paid".to_owned())
            };
            step.step(3, work).await
        });
        tokio::task::yield_now().await;
        // Restate has given the run up.
        tokio::spawn(async move { first.give_up::<()>().await });

        let later = Arc::clone(&runs);
        let next = tokio::spawn(async move { later.begin("inv-1").await });
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(!next.is_finished(), "the step is still running");
        let _ = finish.send(());
        let next = next.await.expect("begins");
        let again = async { panic!("it runs a second time") };
        assert_eq!(next.step(3, again).await, Ok("paid".to_owned()));
    }

    #[tokio::test]
    async fn a_recorded_result_is_not_kept() {
        let runs = EarlierRuns::default();
        let first = runs.begin("inv-1").await;
        let result = first.step(0, async { Ok("one".to_owned()) }).await;
        assert_eq!(result, Ok("one".to_owned()));
        first.recorded(0);
        first.end();
        let next = runs.begin("inv-1").await;
        let result = next.step(0, async { Ok("two".to_owned()) }).await;
        assert_eq!(result, Ok("two".to_owned()));
    }
}
