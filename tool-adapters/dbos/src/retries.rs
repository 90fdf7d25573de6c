//! Workflows that run again after a step has failed.

use dbos::sysdb::types::{WorkflowFilter, WorkflowStatus};
use dbos::{Client, ClientConfig, Config, ResumeOptions};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OnceCell;

/// The time after which a workflow runs again. Each further time is twice as long.
const FIRST_DELAY: Duration = Duration::from_millis(100);
const LONGEST_DELAY: Duration = Duration::from_secs(30);

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

    /// Puts a workflow back on its queue after a time. It has ended in this process.
    pub(crate) fn again(&self, workflow: &str) {
        let mut failures = self.0.failures.lock();
        let failures = failures.entry(workflow.to_owned()).or_default();
        let delay = delay_after(*failures);
        *failures += 1;
        let retries = self.clone();
        let workflow = workflow.to_owned();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(delay).await;
                let Err(error) = retries.put_back(&workflow).await else {
                    return;
                };
                tracing::warn!(%error, workflow, "the workflow could not be put back on its queue");
            }
        });
    }

    /// Forgets the failures of a workflow that has ended.
    pub(crate) fn forget(&self, workflow: &str) {
        self.0.failures.lock().remove(workflow);
    }

    async fn put_back(&self, workflow: &str) -> dbos::Result<()> {
        let connecting = || Client::connect(self.0.config.clone());
        let client = self.0.client.get_or_try_init(connecting).await?;
        let of_this = WorkflowFilter {
            workflow_ids: vec![workflow],
            ..Default::default()
        };
        put_back(client, of_this).await?;
        Ok(())
    }
}

/// Puts workflows that no worker runs back on the queues from which they came. Returns their ids.
pub(crate) async fn put_back(
    client: &Client,
    filter: WorkflowFilter<'_>,
) -> dbos::Result<Vec<String>> {
    let pending = WorkflowFilter {
        status: vec![WorkflowStatus::Pending],
        load_input: false,
        load_output: false,
        ..filter
    };
    let found = client.list_workflows(&pending).await?;
    let mut ids = Vec::with_capacity(found.len());
    for workflow in found {
        let options = ResumeOptions {
            queue: workflow.queue_name.as_deref(),
        };
        let id = workflow.workflow_id;
        client
            .resume_with::<(), dbos::EngineOnly>(&id, options)
            .await?;
        ids.push(id);
    }
    Ok(ids)
}

fn delay_after(failures: u32) -> Duration {
    let times = 1_u32.checked_shl(failures).unwrap_or(u32::MAX);
    FIRST_DELAY.saturating_mul(times).min(LONGEST_DELAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_longest() {
        assert_eq!(delay_after(0), FIRST_DELAY);
        assert_eq!(delay_after(2), FIRST_DELAY * 4);
        assert_eq!(delay_after(31), LONGEST_DELAY);
        assert_eq!(delay_after(u32::MAX), LONGEST_DELAY);
    }

    #[test]
    fn the_database_url_is_not_shown() {
        let config = Config::new("hotel", "postgres://ada:secret@host/db");
        let shown = format!("{:?}", Retries::new(&config));
        assert!(!shown.contains("secret"), "{shown}");
    }
}
