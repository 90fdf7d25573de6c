//! Callbacks of the program that provide a key or a token. They are limited in time, run once for
//! all that wait, and hold no lock.

use parking_lot::Mutex;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tool_core::{ToolError, trace};

/// Longest time that a callback may take.
const CALLBACK_TIMEOUT: Duration = Duration::from_secs(30);

/// The reason why a callback has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallbackError {
    /// The callback did not answer in time.
    #[error("took longer than {CALLBACK_TIMEOUT:?}")]
    Timeout,
    /// The callback panicked.
    #[error("panicked; the log has the message")]
    Panic,
}

impl CallbackError {
    /// Returns the error of a request that needs the result of a callback, which `callback` names.
    pub fn of(self, callback: &str) -> ToolError {
        let kind = match self {
            Self::Timeout => ToolError::transient,
            Self::Panic => ToolError::internal,
        };
        kind(format!("{callback} {self}"))
    }
}

/// Runs a callback in a task of its own, which ends with the returned future.
pub async fn run_callback<T: Send + 'static>(
    callback: impl Future<Output = T> + Send + 'static,
) -> Result<T, CallbackError> {
    let mut task = JoinSet::new();
    task.spawn(trace::in_current_span(callback));
    match timeout(CALLBACK_TIMEOUT, task.join_next()).await {
        Ok(Some(Ok(value))) => Ok(value),
        Ok(_) => Err(CallbackError::Panic),
        Err(_) => Err(CallbackError::Timeout),
    }
}

type Flight<K, T> = (K, watch::Receiver<Option<T>>);

/// Lets one of several callers with the same question ask it, and gives its answer to all of them.
pub struct SingleFlight<K, T>(Mutex<Option<Flight<K, T>>>);

impl<K, T> Default for SingleFlight<K, T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<K: PartialEq + Clone, T: Clone> SingleFlight<K, T> {
    /// Asks, or waits for the caller that asks already. Returns the answer, and true if another
    /// caller has asked. If that caller goes away, the next one takes over.
    pub async fn run<F: Future<Output = T>>(&self, question: K, ask: impl Fn() -> F) -> (T, bool) {
        loop {
            let mut running = match self.join(&question) {
                Ok(sender) => {
                    let answer = ask().await;
                    sender.send_replace(Some(answer.clone()));
                    return (answer, false);
                }
                Err(running) => running,
            };
            if let Ok(answer) = running.wait_for(Option::is_some).await
                && let Some(answer) = &*answer
            {
                return (answer.clone(), true);
            }
        }
    }

    /// Returns the answer that is on its way, or else the sender for it.
    fn join(&self, question: &K) -> Result<watch::Sender<Option<T>>, watch::Receiver<Option<T>>> {
        let mut flight = self.0.lock();
        match &*flight {
            // The sender is gone once there is an answer.
            Some((asked, running)) if asked == question && running.has_changed().is_ok() => {
                Err(running.clone())
            }
            _ => {
                let (sender, receiver) = watch::channel(None);
                *flight = Some((question.clone(), receiver));
                Ok(sender)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[tokio::test(start_paused = true)]
    async fn callbacks_that_hang_or_panic_are_errors() {
        assert_eq!(
            run_callback(pending::<()>()).await,
            Err(CallbackError::Timeout)
        );
        assert_eq!(
            run_callback(async { panic!("canary") }).await,
            Err::<(), _>(CallbackError::Panic)
        );
        assert_eq!(run_callback(async { 1 }).await, Ok(1));
    }

    #[tokio::test(start_paused = true)]
    async fn dropping_the_future_ends_the_callback() {
        let alive = Arc::new(());
        let ended = Duration::from_secs(1);
        let held = Arc::clone(&alive);
        let callback = async move {
            pending::<()>().await;
            drop(held);
        };
        timeout(ended, run_callback(callback))
            .await
            .expect_err("it hangs");
        tokio::task::yield_now().await;
        assert_eq!(Arc::strong_count(&alive), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_thousand_callers_ask_once() {
        let flight = Arc::new(SingleFlight::default());
        let asked = Arc::new(AtomicUsize::new(0));
        let mut callers = JoinSet::new();
        for _ in 0..1_000 {
            let flight = Arc::clone(&flight);
            let asked = Arc::clone(&asked);
            callers.spawn(async move {
                let ask = || async {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    asked.fetch_add(1, Ordering::SeqCst)
                };
                flight.run("question", ask).await.0
            });
        }
        assert!(
            callers
                .join_all()
                .await
                .into_iter()
                .all(|answer| answer == 0)
        );
        assert_eq!(
            flight.run("question", || async { 7 }).await,
            (7, false),
            "an answer is not kept"
        );
        assert_eq!(asked.load(Ordering::SeqCst), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn next_caller_takes_over_from_a_dropped_one() {
        let flight = Arc::new(SingleFlight::default());
        let mut callers = JoinSet::new();
        let first = callers.spawn({
            let flight = Arc::clone(&flight);
            async move { flight.run((), pending::<usize>).await }
        });
        tokio::task::yield_now().await;
        let second = flight.run((), || async { 2 });
        let ending = async {
            tokio::task::yield_now().await;
            first.abort();
        };
        assert_eq!(tokio::join!(second, ending).0, (2, false));
    }

    #[tokio::test(start_paused = true)]
    async fn other_questions_get_their_own_answer() {
        let flight = SingleFlight::default();
        let ask = |answer: usize| {
            move || async move {
                tokio::time::sleep(Duration::from_secs(1)).await;
                answer
            }
        };
        let answers = tokio::join!(
            flight.run(1, ask(1)),
            flight.run(2, ask(2)),
            flight.run(2, ask(3))
        );
        assert_eq!(
            (answers.0, answers.1, answers.2),
            ((1, false), (2, false), (2, true))
        );
    }
}
