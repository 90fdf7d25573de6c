//! Sealing all secrets under a new key.

use crate::agents::builder::Agents;
use crate::agents::error::AgentError;
use crate::agents::keys::KeyError;
use crate::agents::store::{AgentStoreError, SealedRow};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Number of rows that are read at once.
const PAGE: u32 = 100;
/// Number of attempts to reseal a row that others write at the same time.
const ATTEMPTS: u32 = 32;
/// First and longest pause of a rotation in the background while the store is down.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// The progress or outcome of a rotation: sealing secrets under the active key that are sealed
/// under other keys.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Rotation {
    /// Number of records whose secrets were sealed again.
    pub resealed: u64,
    /// Records whose secrets do not open. They are unchanged: their keys are still needed, or their
    /// secrets must be set again.
    pub failed: Vec<AgentError>,
}

impl Rotation {
    /// Returns true if all secrets are sealed under the active key, so that the other keys are not
    /// needed any more. This assumes that no other process still seals under one of them.
    pub fn is_complete(&self) -> bool {
        self.failed.is_empty()
    }
}

impl Agents {
    /// Seals all secrets under the active key that are sealed under another key. See
    /// [how to rotate keys](crate::agents#keys).
    ///
    /// Several processes may run it at once, beside readers and writers, and it may be killed at
    /// any time: each row is replaced in one step if it is unchanged, and versions stay. If the
    /// store fails, rows that were sealed stay sealed; call it again. Secrets that others seal
    /// under an old key meanwhile are found too.
    pub async fn rotate(&self) -> Result<Rotation, AgentError> {
        let progress = watch::Sender::default();
        self.rotate_into(&progress).await?;
        Ok(progress.borrow().clone())
    }

    /// Rotates in a background task, which waits while the store is down.
    ///
    /// # Panics
    ///
    /// Panics outside a tokio runtime.
    pub fn rotate_in_background(&self) -> RunningRotation {
        let (sender, progress) = watch::channel(Rotation::default());
        let agents = self.clone();
        let task = tokio::spawn(async move {
            let mut pause = PAUSE.0;
            loop {
                let before = sender.borrow().resealed;
                match agents.rotate_into(&sender).await {
                    Err(error) if error.kind.is_store_down() => {
                        let resealed = sender.borrow().resealed;
                        tracing::warn!(%error, resealed, "failed to rotate keys; trying again later");
                        pause = if resealed > before {
                            PAUSE.0
                        } else {
                            (pause * 2).min(PAUSE.1)
                        };
                        tokio::time::sleep(pause).await;
                    }
                    outcome => return outcome,
                }
            }
        });
        RunningRotation { task, progress }
    }

    /// Goes through the store until a pass reseals nothing.
    async fn rotate_into(&self, progress: &watch::Sender<Rotation>) -> Result<(), AgentError> {
        let active = self
            .0
            .keys
            .active()
            .ok_or_else(|| AgentError::new("", "", KeyError::Missing))?;
        loop {
            let before = progress.borrow().resealed;
            let mut after = None::<(String, String)>;
            let mut failed = Vec::new();
            loop {
                let last = after
                    .as_ref()
                    .map(|(agent, tool)| (agent.as_str(), tool.as_str()));
                let page = self.0.store.sealed_under_others(active, last, PAGE).await;
                let page = page.map_err(AgentError::about("", ""))?;
                after = page.last().map(|row| (row.agent.clone(), row.tool.clone()));
                for row in page {
                    match self.reseal(active, row).await {
                        Ok(resealed) => progress
                            .send_modify(|rotation| rotation.resealed += u64::from(resealed)),
                        Err(error) if error.kind.is_store_down() => return Err(error),
                        Err(error) => failed.push(error),
                    }
                }
                progress.send_modify(|rotation| rotation.failed.clone_from(&failed));
                if after.is_none() {
                    break;
                }
            }
            if progress.borrow().resealed == before {
                return Ok(());
            }
        }
    }

    /// Reseals one row. Returns false if its secrets are gone, or sealed under the active key
    /// already.
    async fn reseal(&self, active: &str, row: SealedRow) -> Result<bool, AgentError> {
        let SealedRow {
            agent,
            tool,
            secrets: mut sealed,
        } = row;
        let store = &self.0.store;
        let keys = &self.0.keys;
        let mut found = None;
        for _ in 0..ATTEMPTS {
            let opened = keys
                .open_sealed(&agent, &tool, &sealed)
                .map_err(AgentError::about(&agent, &tool))?;
            // For the same settings: whether they have changed is found out when the toolset is
            // loaded.
            let resealed = keys.seal(&agent, &tool, &opened.bound, &opened.secrets);
            let resealed = resealed.map_err(AgentError::about(&agent, &tool))?;
            let replaced = store
                .replace_secrets(&agent, &tool, &sealed, &resealed)
                .await;
            if replaced.map_err(AgentError::about(&agent, &tool))? {
                return Ok(true);
            }
            let record = store
                .get(&agent, &tool)
                .await
                .map_err(AgentError::about(&agent, &tool))?;
            found = record.as_ref().map(|record| record.version);
            match record
                .and_then(|record| record.secrets)
                .filter(|now| now.key() != active)
            {
                Some(now) => sealed = now,
                None => return Ok(false),
            }
        }
        // Another process writes the row again and again, under an old key.
        Err(AgentError::new(
            &*agent,
            &*tool,
            AgentStoreError::Conflict { found },
        ))
    }
}

/// A rotation that runs in the background. Dropping this handle does not stop it.
#[derive(Debug)]
pub struct RunningRotation {
    task: JoinHandle<Result<(), AgentError>>,
    progress: watch::Receiver<Rotation>,
}

impl RunningRotation {
    /// Returns the progress.
    pub fn progress(&self) -> Rotation {
        self.progress.borrow().clone()
    }

    /// Stops the rotation. Records that were sealed again stay so, and the next rotation continues.
    pub fn stop(&self) {
        self.task.abort();
    }

    /// Waits for the end and returns the outcome; after [`stop`](Self::stop), the progress. Fails
    /// if there is no key, or if the store fails in a way that waiting does not solve.
    pub async fn finished(self) -> Result<Rotation, AgentError> {
        let Self { task, progress } = self;
        // A stopped task has no outcome.
        task.await.unwrap_or(Ok(()))?;
        Ok(progress.borrow().clone())
    }
}

#[cfg(test)]
mod tests {
    use super::{Agents, KeyError};
    use crate::agents::error::AgentErrorKind;
    use crate::agents::keys::Keyring;
    use crate::agents::memory::MemoryAgentToolStore;
    use crate::agents::store::{AgentToolStore, RecordWrite, SecretsWrite};
    use crate::agents::tokens::Tokens;
    use crate::tool::BoundSettings;
    use crate::tool::configure::secret_document::SecretDocument;
    use serde_json::json;
    use std::sync::Arc;

    const OLD: &str = "old:1111111111111111111111111111111111111111111111111111111111111111";
    const NEW: &str = "new:2222222222222222222222222222222222222222222222222222222222222222";
    const LOST: &str = "lost:3333333333333333333333333333333333333333333333333333333333333333";

    type Store = Arc<MemoryAgentToolStore>;

    fn keys(lines: &[&str]) -> Keyring {
        Keyring::parse(&lines.join("\n")).expect("keys")
    }

    fn agents(store: &Store, lines: &[&str]) -> Agents {
        Agents::builder(Arc::clone(store))
            .keys(keys(lines))
            .build()
            .expect("sound")
    }

    fn secret(agent: usize) -> SecretDocument {
        SecretDocument::from_value(json!({"password": format!("of {agent}")}))
    }

    async fn put(store: &Store, agent: usize, key: &str) {
        let mut write = RecordWrite::new(format!("agent-{agent:04}"), "email", json!({}));
        write.secrets = SecretsWrite::Set(
            keys(&[key])
                .seal(
                    &write.agent,
                    "email",
                    &BoundSettings::none(),
                    &secret(agent),
                )
                .expect("sealed"),
        );
        store.write(&write).await.expect("written");
    }

    async fn filled(rows: usize) -> Store {
        let store = Store::default();
        for agent in 0..rows {
            put(&store, agent, OLD).await;
        }
        store
    }

    /// Counts the rows that open with these keys and hold their secrets.
    async fn open_with(store: &Store, rows: usize, lines: &[&str]) -> usize {
        let keys = keys(lines);
        let mut open = 0;
        for agent in 0..rows {
            let id = format!("agent-{agent:04}");
            let sealed = store
                .get(&id, "email")
                .await
                .expect("up")
                .and_then(|record| record.secrets)
                .expect("sealed");
            let same = |found: SecretDocument| found.expose() == secret(agent).expose();
            open += usize::from(
                keys.open(&id, "email", &BoundSettings::none(), &sealed)
                    .is_ok_and(same),
            );
        }
        open
    }

    #[tokio::test]
    async fn rotation_reseals_all_secrets_and_changes_no_version() {
        let store = filled(250).await;
        let before = store.version("agent-0007").await.expect("up");
        let rotation = agents(&store, &[NEW, OLD]).rotate().await.expect("up");
        assert_eq!((rotation.resealed, rotation.is_complete()), (250, true));
        assert_eq!(open_with(&store, 250, &[NEW]).await, 250);
        assert_eq!(open_with(&store, 250, &[OLD]).await, 0);
        assert_eq!(store.version("agent-0007").await.expect("up"), before);
        let again = agents(&store, &[NEW, OLD]).rotate().await.expect("up");
        assert_eq!((again.resealed, again.is_complete()), (0, true));
    }

    #[tokio::test]
    async fn rows_that_do_not_open_are_reported_and_unchanged() {
        let store = filled(3).await;
        put(&store, 3, LOST).await;
        let row = store
            .get("agent-0001", "email")
            .await
            .expect("up")
            .and_then(|record| record.secrets)
            .expect("sealed");
        // A row copied from another agent, and one under another key of the same id.
        let mut write = RecordWrite::new("agent-0004", "email", json!({}));
        write.secrets = SecretsWrite::Set(row);
        store.write(&write).await.expect("written");
        put(
            &store,
            5,
            "old:4444444444444444444444444444444444444444444444444444444444444444",
        )
        .await;
        let before = store.load("agent-0004").await.expect("up");

        let rotation = agents(&store, &[NEW, OLD]).rotate().await.expect("up");
        assert_eq!((rotation.resealed, rotation.is_complete()), (3, false));
        let failed = rotation
            .failed
            .iter()
            .map(|error| (error.agent.as_str(), error.kind.clone()))
            .collect::<Vec<_>>();
        let expected = [
            (
                "agent-0003",
                AgentErrorKind::Key(KeyError::Unknown { key: "lost".into() }),
            ),
            ("agent-0004", AgentErrorKind::Key(KeyError::Tampered)),
            (
                "agent-0005",
                AgentErrorKind::Key(KeyError::Wrong { key: "old".into() }),
            ),
        ];
        assert_eq!(failed, expected);
        assert_eq!(store.load("agent-0004").await.expect("up"), before);
        // With the missing key the row is resealed.
        let rotation = agents(&store, &[NEW, LOST, OLD])
            .rotate()
            .await
            .expect("up");
        assert_eq!((rotation.resealed, rotation.failed.len()), (1, 2));
    }

    #[tokio::test]
    async fn rotation_without_a_key_fails() {
        let error = Agents::builder(filled(1).await)
            .build()
            .expect("sound")
            .rotate()
            .await
            .expect_err("no key");
        assert_eq!(error.kind, AgentErrorKind::Key(KeyError::Missing));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn concurrent_rotations_and_writers_lose_nothing() {
        let rows = 300;
        let store = filled(300).await;
        let rotations = (0..4).map(|_| {
            let agents = agents(&store, &[NEW, OLD]);
            tokio::spawn(async move { agents.rotate().await.expect("up") })
        });
        // Processes that still seal under the old key.
        let writers = (0..4).map(|writer| {
            let agents = agents(&store, &[OLD, NEW]);
            tokio::spawn(async move {
                for n in 0..100 {
                    let id = format!("agent-{:04}", (writer + 7 * n) % 300);
                    agents
                        .connect(&id, "email", Tokens::new(format!("{writer}-{n}")))
                        .await
                        .expect("connected");
                    tokio::task::yield_now().await;
                }
            })
        });
        let rotations = rotations.collect::<Vec<_>>();
        let writers = writers.collect::<Vec<_>>();
        for writer in writers {
            writer.await.expect("sound");
        }
        for rotation in rotations {
            assert!(rotation.await.expect("sound").is_complete());
        }
        agents(&store, &[NEW, OLD]).rotate().await.expect("up");
        let keys = keys(&[NEW]);
        for agent in 0..rows {
            let id = format!("agent-{agent:04}");
            let sealed = store
                .get(&id, "email")
                .await
                .expect("up")
                .and_then(|record| record.secrets)
                .expect("sealed");
            let opened = keys
                .open(&id, "email", &BoundSettings::none(), &sealed)
                .expect("opens");
            assert!(
                opened
                    .expose()
                    .starts_with(&format!(r#"{{"password":"of {agent}""#)),
                "{id}"
            );
        }
    }

    #[tokio::test]
    async fn background_rotation_reports_progress() {
        let store = filled(120).await;
        let running = agents(&store, &[NEW, OLD]).rotate_in_background();
        assert_eq!(running.progress().resealed, 0);
        let rotation = running.finished().await.expect("up");
        assert_eq!((rotation.resealed, rotation.is_complete()), (120, true));

        let running = agents(&filled(10).await, &[NEW, OLD]).rotate_in_background();
        running.stop();
        let stopped = running.finished().await.expect("stopped");
        assert!(stopped.resealed <= 10);
    }
}
