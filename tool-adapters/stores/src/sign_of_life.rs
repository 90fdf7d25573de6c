//! The signs of life that a process gives while its journal exists.

use std::time::Duration;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tool_core::session::JournalError;

/// A task that tells other processes again and again that this one lives. It ends with this value.
#[derive(Default)]
pub(crate) struct SignOfLife(Mutex<Option<JoinHandle<()>>>);

impl SignOfLife {
    /// Gives the first sign of life, and starts the task that gives the others. Does nothing while
    /// the task runs.
    pub(crate) async fn give<B, F>(&self, lease: Duration, beat: B) -> Result<(), JournalError>
    where
        B: Fn() -> F + Send + 'static,
        F: Future<Output = Result<(), JournalError>> + Send,
    {
        let mut task = self.0.lock().await;
        // The runtime of the task may have ended before the journal.
        if task.as_ref().is_some_and(|task| !task.is_finished()) {
            return Ok(());
        }

        beat().await?;
        let beats = async move {
            loop {
                sleep(lease / 3).await;
                if let Err(error) = beat().await {
                    tracing::warn!(%error, "other processes may count this one as killed");
                }
            }
        };
        *task = Some(tokio::spawn(beats));
        Ok(())
    }
}

impl Drop for SignOfLife {
    fn drop(&mut self) {
        if let Some(task) = self.0.get_mut() {
            task.abort();
        }
    }
}
