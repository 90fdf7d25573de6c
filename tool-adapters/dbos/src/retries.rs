//! Workflows that run again after a step has failed.

use dbos::sysdb::types::{WorkflowFilter, WorkflowRecord, WorkflowStatus};
use dbos::{Client, ClientConfig, Config, ResumeOptions};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OnceCell;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// The time after which a workflow runs again. Each further time is twice as long.
const FIRST_DELAY: Duration = Duration::from_millis(100);
const LONGEST_DELAY: Duration = Duration::from_secs(30);

/// The longest time for which a workflow waits until its attempt is read.
const READ_WITHIN: Duration = Duration::from_secs(10);

/// The line of the log after an error while an attempt was read.
const NOT_READ: &str = "the attempt of the workflow could not be read";

/// The line of the log if a workflow has failed before its attempt was read.
const NOT_RETRIED: &str =
    "the attempt of the workflow was not read, so it does not run again until the process starts";

/// The line of the log after an attempt to put a workflow back.
const NOT_PUT_BACK: &str = "the workflow could not be put back on its queue";

/// Puts workflows of this process back on their queue, after a step of [`with_steps`](crate::with_steps) has failed. DBOS itself
/// leaves such a workflow alone until the process starts again.
///
/// See [`with_steps`](crate::with_steps) for an example. A clone shares the connection, which is opened when it is needed.
#[derive(Clone)]
pub struct Retries(Arc<SharedRetries>);

struct SharedRetries {
    config: ClientConfig,
    /// Not the instance of the workflows, which would own itself through them.
    client: OnceCell<Client>,
    /// The number of times that each workflow has failed in a row.
    failures: Mutex<HashMap<String, u32>>,
}

impl fmt::Debug for Retries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retries").finish_non_exhaustive()
    }
}

impl Retries {
    /// Creates the retries of an instance with this configuration.
    pub fn new(config: &Config) -> Self {
        let config = ClientConfig {
            app_name: Some(config.app_name.clone()),
            schema: config.schema.clone(),
            serializer: config.serializer.clone(),
            max_connections: 1,
            use_listen_notify: false,
            ..ClientConfig::new(&config.database_url)
        };
        Self(Arc::new(SharedRetries {
            config,
            client: OnceCell::new(),
            failures: Mutex::new(HashMap::new()),
        }))
    }

    /// Reads the attempt at a workflow that begins in this process now. If that takes too long, it is read while the workflow
    /// runs, whose engine may have a connection.
    ///
    /// It is not read after the attempt has failed: another worker may have begun a later one.
    pub(crate) async fn attempt(&self, workflow: &str) -> Attempt {
        let retries = self.clone();
        let of_this = workflow.to_owned();
        let mut reading = JoinSet::new();
        reading.spawn(async move { retries.read_attempt(&of_this).await });
        let found = match timeout(READ_WITHIN, reading.join_next()).await {
            Ok(Some(Ok(found))) => found,
            _ => None,
        };
        Attempt { reading, found }
    }

    /// Returns `None` if the workflow does not count as running.
    async fn read_attempt(&self, workflow: &str) -> Option<WorkflowRecord> {
        let mut failures = 0;
        loop {
            match self.pending(workflow).await {
                Ok(found) => return found,
                Err(error) => tracing::warn!(%error, workflow, "{NOT_READ}"),
            }
            tokio::time::sleep(delay_after(failures)).await;
            failures += 1;
        }
    }

    /// Puts a workflow back on its queue after a time. The attempt has ended in this process.
    pub(crate) fn again(&self, failed: WorkflowRecord) {
        let mut failures = self.0.failures.lock();
        let failures = failures.entry(failed.workflow_id.clone()).or_default();
        let delay = delay_after(*failures);
        *failures += 1;
        let retries = self.clone();
        tokio::spawn(async move { retries.run_again(&failed, delay).await });
    }

    /// Puts a workflow back on its queue, unless its failed attempt is over: someone else has put it back meanwhile, or its
    /// answer was lost.
    async fn run_again(&self, failed: &WorkflowRecord, delay: Duration) {
        loop {
            tokio::time::sleep(delay).await;
            match self.put_back(failed).await {
                Ok(()) => return,
                Err(error) => {
                    tracing::warn!(%error, workflow = failed.workflow_id, "{NOT_PUT_BACK}");
                }
            }
        }
    }

    /// Forgets the failures of a workflow that has ended.
    pub(crate) fn forget(&self, workflow: &str) {
        self.0.failures.lock().remove(workflow);
    }

    async fn client(&self) -> dbos::Result<&Client> {
        let connecting = || Client::connect(self.0.config.clone());
        self.0.client.get_or_try_init(connecting).await
    }

    /// Returns a workflow that counts as running.
    async fn pending(&self, workflow: &str) -> dbos::Result<Option<WorkflowRecord>> {
        let of_this = WorkflowFilter {
            workflow_ids: vec![workflow],
            ..Default::default()
        };
        let found = pending(self.client().await?, of_this).await?;
        Ok(found.into_iter().next())
    }

    async fn put_back(&self, failed: &WorkflowRecord) -> dbos::Result<()> {
        let found = self.pending(&failed.workflow_id).await?;
        if let Some(found) = found
            && is_same_attempt(&found, failed)
        {
            resume(self.client().await?, &found).await?;
        }
        Ok(())
    }
}

/// The attempt at a workflow that runs in this process. If it is dropped, it is not read any more.
pub(crate) struct Attempt {
    reading: JoinSet<Option<WorkflowRecord>>,
    found: Option<WorkflowRecord>,
}

impl Attempt {
    /// Returns the attempt once it has failed. `None` if it was not read, or does not count as running.
    pub(crate) fn failed(mut self, workflow: &str) -> Option<WorkflowRecord> {
        if let Some(Ok(found)) = self.reading.try_join_next() {
            self.found = found;
        }
        if !self.reading.is_empty() {
            tracing::error!(workflow, "{NOT_RETRIED}");
        }
        self.found
    }
}

/// Returns true if no worker has begun a workflow again between two looks at it.
fn is_same_attempt(one: &WorkflowRecord, other: &WorkflowRecord) -> bool {
    one.owner_xid == other.owner_xid && one.started_at == other.started_at
}

/// Puts workflows that no worker runs back on the queues from which they came. Returns their ids.
pub(crate) async fn put_back(
    client: &Client,
    filter: WorkflowFilter<'_>,
) -> dbos::Result<Vec<String>> {
    let found = pending(client, filter).await?;
    let mut ids = Vec::with_capacity(found.len());
    for workflow in found {
        resume(client, &workflow).await?;
        ids.push(workflow.workflow_id);
    }
    Ok(ids)
}

/// Returns the workflows that count as running.
async fn pending(client: &Client, filter: WorkflowFilter<'_>) -> dbos::Result<Vec<WorkflowRecord>> {
    let pending = WorkflowFilter {
        status: vec![WorkflowStatus::Pending],
        load_input: false,
        load_output: false,
        ..filter
    };
    client.list_workflows(&pending).await
}

/// Puts a workflow back on the queue from which it came.
async fn resume(client: &Client, workflow: &WorkflowRecord) -> dbos::Result<()> {
    let options = ResumeOptions {
        queue: workflow.queue_name.as_deref(),
    };
    let id = &workflow.workflow_id;
    client
        .resume_with::<(), dbos::EngineOnly>(id, options)
        .await?;
    Ok(())
}

fn delay_after(failures: u32) -> Duration {
    let times = 1_u32.checked_shl(failures).unwrap_or(u32::MAX);
    FIRST_DELAY.saturating_mul(times).min(LONGEST_DELAY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbos::sysdb::types::Timestamp;
    use serde_json::json;

    #[test]
    fn delays_double_up_to_the_longest() {
        assert_eq!(delay_after(0), FIRST_DELAY);
        assert_eq!(delay_after(2), FIRST_DELAY * 4);
        assert_eq!(delay_after(31), LONGEST_DELAY);
        assert_eq!(delay_after(u32::MAX), LONGEST_DELAY);
    }

    #[test]
    fn an_attempt_that_began_later_is_another_one() {
        let record = |owner: &str, started_at: Timestamp| {
            let row = json!({"workflow_id": "w", "status": WorkflowStatus::Pending});
            let row = serde_json::from_value::<WorkflowRecord>(row);
            WorkflowRecord {
                owner_xid: Some(owner.to_owned()),
                started_at: Some(started_at),
                ..row.expect("a row")
            }
        };
        let earlier = Timestamp::from_epoch_ms(1);
        let failed = record("one", earlier);
        assert!(is_same_attempt(&record("one", earlier), &failed));
        assert!(!is_same_attempt(&record("two", earlier), &failed));
        let later = Timestamp::from_epoch_ms(2);
        assert!(!is_same_attempt(&record("one", later), &failed));
    }

    #[tokio::test(start_paused = true)]
    async fn a_workflow_begins_although_its_attempt_is_not_read() {
        // Nothing listens on this port.
        let config = Config::new("hotel", "postgres://ada@127.0.0.1:1/db");
        let retries = Retries::new(&config);
        let read = timeout(Duration::from_hours(1), retries.attempt("w"));
        let attempt = read.await.expect("the workflow begins");
        assert!(attempt.failed("w").is_none());
    }

    #[test]
    fn the_database_url_is_not_shown() {
        let config = Config::new("hotel", "postgres://ada:secret@host/db");
        let shown = format!("{:?}", Retries::new(&config));
        assert!(!shown.contains("secret"), "{shown}");
    }
}
