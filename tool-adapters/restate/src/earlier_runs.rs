//! The runs of functions in this process that Restate has given up, for example since its connection was lost.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;
use tool_adapters_models::engines::RunningSteps;
use tool_core::ToolError;

/// The time after its end for which an abandoned run is kept. By then, another process runs its function.
const KEEP: Duration = Duration::from_secs(3_600);

/// The runs of functions in this process, so that a run which Restate has given up ends its step before the next run of the
/// function begins, and the step does not run twice. Share one value between the calls of [`with_steps`](crate::with_steps).
#[derive(Debug, Default)]
pub struct EarlierRuns(Mutex<HashMap<String, Arc<Run>>>);

impl EarlierRuns {
    /// Begins a run of a function, once the earlier one in this process has ended its step.
    ///
    /// The earlier run stays known until then: if Restate gives this attempt up meanwhile, the next one waits for it, too.
    pub(crate) async fn begin(&self, invocation: &str) -> Arc<Run> {
        loop {
            let earlier = self.0.lock().get(invocation).cloned();
            if let Some(earlier) = &earlier {
                earlier.over().await;
            }
            let begun = self.replace(invocation, earlier.as_ref());
            if let Some(run) = begun {
                return run;
            }
        }
    }

    /// Puts a new run in the place of the earlier one, whose unrecorded results it gets. Returns `None` if another attempt
    /// has done so first.
    fn replace(&self, invocation: &str, earlier: Option<&Arc<Run>>) -> Option<Arc<Run>> {
        let mut runs = self.0.lock();
        let known = runs.get(invocation);
        if known.map(Arc::as_ptr) != earlier.map(Arc::as_ptr) {
            return None;
        }
        let unrecorded = known.map(|known| known.take_unrecorded());
        let run = Arc::new(Run::new(unrecorded.unwrap_or_default()));
        runs.retain(|_, run| !run.is_forgotten());
        runs.insert(invocation.to_owned(), Arc::clone(&run));
        Some(run)
    }

    /// Forgets a run whose function has ended, unless another one has taken its place.
    pub(crate) fn end(&self, invocation: &str, run: &Arc<Run>) {
        let mut runs = self.0.lock();
        let is_known = runs
            .get(invocation)
            .is_some_and(|known| Arc::ptr_eq(known, run));
        if is_known {
            runs.remove(invocation);
        }
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
    unrecorded: Mutex<Vec<UnrecordedResult>>,
    running: RunningSteps,
    /// The time of its end.
    ended: watch::Sender<Option<Instant>>,
}

impl Run {
    fn new(unrecorded: Vec<UnrecordedResult>) -> Self {
        Self {
            unrecorded: Mutex::new(unrecorded),
            running: RunningSteps::default(),
            ended: watch::Sender::new(None),
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
        self.ended.send_if_modified(|ended| {
            let is_first = ended.is_none();
            if is_first {
                *ended = Some(Instant::now());
            }
            is_first
        });
    }

    /// Waits until the run is over.
    pub(crate) async fn over(&self) {
        // It fails if the sender is gone, which is this run.
        let _ = self.ended.subscribe().wait_for(Option::is_some).await;
    }

    /// Takes the results that may not be recorded.
    fn take_unrecorded(&self) -> Vec<UnrecordedResult> {
        std::mem::take(&mut *self.unrecorded.lock())
    }

    fn is_forgotten(&self) -> bool {
        let ended = *self.ended.borrow();
        ended.is_some_and(|ended| ended.elapsed() > KEEP)
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

    #[tokio::test]
    async fn a_third_attempt_waits_for_the_first_one() {
        let runs = EarlierRuns::default();
        let first = runs.begin("inv-1").await;
        let second = tokio::time::timeout(Duration::from_millis(20), runs.begin("inv-1"));
        assert!(second.await.is_err(), "Restate gives it up while it waits");

        let third = tokio::time::timeout(Duration::from_millis(20), runs.begin("inv-1"));
        assert!(third.await.is_err(), "the first one is running");
        let result = first.step(0, async { Ok("paid".to_owned()) }).await;
        assert_eq!(result, Ok("paid".to_owned()));
        first.end();
        let fourth = runs.begin("inv-1").await;
        let again = async { panic!("it runs a second time") };
        assert_eq!(fourth.step(0, again).await, Ok("paid".to_owned()));
    }

    #[tokio::test]
    async fn attempts_that_wait_begin_one_after_the_other() {
        let runs = Arc::new(EarlierRuns::default());
        let first = runs.begin("inv-1").await;
        let mut waiting = tokio::task::JoinSet::new();
        for _ in 0..2 {
            let runs = Arc::clone(&runs);
            waiting.spawn(async move { runs.begin("inv-1").await });
        }
        tokio::task::yield_now().await;
        first.end();
        let second = waiting.join_next().await.expect("one").expect("begins");
        let third = tokio::time::timeout(Duration::from_millis(20), waiting.join_next());
        assert!(third.await.is_err(), "the second one is running");
        second.end();
        let third = waiting.join_next().await.expect("one").expect("begins");
        assert!(!Arc::ptr_eq(&second, &third));
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_is_kept_from_its_end_on() {
        let runs = EarlierRuns::default();
        let first = runs.begin("inv-1").await;
        tokio::time::advance(2 * KEEP).await;
        let result = first.step(0, async { Ok("paid".to_owned()) }).await;
        assert_eq!(result, Ok("paid".to_owned()));
        first.end();
        let _other = runs.begin("inv-2").await;
        let next = runs.begin("inv-1").await;
        let again = async { panic!("it runs a second time") };
        assert_eq!(next.step(0, again).await, Ok("paid".to_owned()));
    }

    #[tokio::test]
    async fn an_ended_run_does_not_forget_a_later_one() {
        let runs = EarlierRuns::default();
        let first = runs.begin("inv-1").await;
        first.end();
        let second = runs.begin("inv-1").await;
        runs.end("inv-1", &first);
        let third = tokio::time::timeout(Duration::from_millis(20), runs.begin("inv-1"));
        assert!(third.await.is_err(), "the second one is running");
        drop(second);
    }
}
