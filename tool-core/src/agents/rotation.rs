//! Sealing under a new key what was sealed under an old one.

use crate::agents::Agents;
use crate::agents::error::{AgentError, AgentErrorKind};
use crate::agents::keys::{KeyError, SealedSecrets};
use crate::agents::store::{AgentStoreError, SealedRow};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Rows that are asked for at once.
const PAGE: u32 = 100;
/// How often a row is tried that others write at the same time.
const TRIES: u32 = 32;
/// How long the background waits for a store that is down: at first, and at most.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(1));

/// What became of the secrets that were sealed under other keys than the active one.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Rotation {
    /// How many were sealed anew.
    pub resealed: u64,
    /// Those that do not open, and why: they are left as they are. Their keys are still needed, or they have to be set
    /// anew.
    pub failed: Vec<AgentError>,
}

impl Rotation {
    /// Whether all secrets are under the active key now, so that the others are needed no longer: unless another process
    /// still seals under one of them.
    pub fn is_complete(&self) -> bool {
        self.failed.is_empty()
    }
}

impl Agents {
    /// Seals all secrets under the active key that are sealed under another one. See
    /// [how keys are rotated](crate::agents#keys).
    ///
    /// It may be run by several processes at once, while records are written and read, and be killed at any moment: each
    /// row is replaced in one step, if it is still the same, and versions do not change. Where the store fails, what is
    /// done is done; run it again. What others seal under an old key while it runs is found too, as long as there is an
    /// end to it.
    pub async fn rotate(&self) -> Result<Rotation, AgentError> {
        let mut rotation = Rotation::default();
        self.rotate_on(&mut rotation, &mut |_| ()).await?;
        Ok(rotation)
    }

    /// The same in a task of its own, which waits for a store that is down. It has to be called on a tokio runtime.
    pub fn rotate_in_background(&self) -> RunningRotation {
        let (tell, progress) = watch::channel(Rotation::default());
        let agents = self.clone();
        let task = tokio::spawn(async move {
            let (mut rotation, mut pause) = (Rotation::default(), PAUSE.0);
            loop {
                let before = rotation.resealed;
                match agents.rotate_on(&mut rotation, &mut |rotation| _ = tell.send_replace(rotation.clone())).await {
                    Err(AgentError { kind: AgentErrorKind::StoreDown(why), .. }) => {
                        tracing::warn!(why, resealed = rotation.resealed, "sealing anew waits for the agent store");
                        pause = if rotation.resealed > before { PAUSE.0 } else { (pause * 2).min(PAUSE.1) };
                        tokio::time::sleep(pause).await;
                    }
                    Err(error) => return Err(error),
                    Ok(()) => return Ok(rotation),
                }
            }
        });
        RunningRotation { task, progress }
    }

    /// Goes through the store until a whole pass finds nothing that it can seal anew.
    async fn rotate_on(
        &self,
        rotation: &mut Rotation,
        tell: &mut (dyn FnMut(&Rotation) + Send),
    ) -> Result<(), AgentError> {
        let missing = || AgentError::new("", "", AgentErrorKind::MissingKey);
        let active = self.0.keys.active().ok_or_else(missing)?;
        loop {
            let before = rotation.resealed;
            let (mut after, mut failed) = (None::<(String, String)>, BTreeMap::new());
            loop {
                let last = after.as_ref().map(|(agent, tool)| (agent.as_str(), tool.as_str()));
                let page = self.0.store.sealed_under_others(active, last, PAGE).await;
                let page = page.map_err(|error| AgentError::of_store("", "", error))?;
                let Some(end) = page.last().map(|row| (row.agent.clone(), row.tool.clone())) else { break };
                for row in page {
                    let key = (row.agent.clone(), row.tool.clone());
                    match self.reseal(active, row).await {
                        Ok(resealed) => rotation.resealed += u64::from(resealed),
                        Err(error) if matches!(error.kind, AgentErrorKind::StoreDown(_)) => return Err(error),
                        Err(error) => _ = failed.insert(key, error),
                    }
                }
                after = Some(end);
                rotation.failed = failed.values().cloned().collect();
                tell(rotation);
            }
            rotation.failed = failed.into_values().collect();
            tell(rotation);
            if rotation.resealed == before {
                return Ok(());
            }
        }
    }

    /// One row. False where there is nothing to seal anew any more.
    async fn reseal(&self, active: &str, row: SealedRow) -> Result<bool, AgentError> {
        let SealedRow { agent, tool, secrets: mut sealed } = row;
        let failed = |kind| AgentError::new(&agent, &tool, kind);
        let down = |error: AgentStoreError| AgentError::of_store(&agent, &tool, error);
        let mut found = None;
        for _ in 0..TRIES {
            let anew = self.sealed_anew(&agent, &tool, &sealed).map_err(|error| failed(error.into()))?;
            if self.0.store.replace_secrets(&agent, &tool, &sealed, &anew).await.map_err(down)? {
                return Ok(true);
            }
            let record = self.0.store.get(&agent, &tool).await.map_err(down)?;
            found = record.as_ref().map(|record| record.version);
            match record.and_then(|record| record.secrets).filter(|now| now.key() != active) {
                Some(now) => sealed = now,
                None => return Ok(false),
            }
        }
        // Somebody writes it all the time, under an old key.
        Err(failed(AgentErrorKind::Conflict { found }))
    }

    fn sealed_anew(&self, agent: &str, tool: &str, sealed: &SealedSecrets) -> Result<SealedSecrets, KeyError> {
        self.0.keys.seal(agent, tool, &self.0.keys.open(agent, tool, sealed)?)
    }
}

/// A rotation that runs in the background. Dropped, it goes on.
#[derive(Debug)]
pub struct RunningRotation {
    task: JoinHandle<Result<Rotation, AgentError>>,
    progress: watch::Receiver<Rotation>,
}

impl RunningRotation {
    /// How far it is.
    pub fn progress(&self) -> Rotation {
        self.progress.borrow().clone()
    }

    /// Stops it. What is done is done, and the next one goes on from there.
    pub fn stop(&self) {
        self.task.abort();
    }

    /// What became of it, when it is through. An error where there is no key or the store does not understand; where it
    /// was stopped, what was done until then.
    pub async fn finished(self) -> Result<Rotation, AgentError> {
        self.task.await.unwrap_or_else(|_| Ok(self.progress.borrow().clone()))
    }
}
