//! Sends drafts when they are due, each once.

use super::email::drafts::{Drafts, Kept, Outcome};
use super::worker::{Failure, Worker};
use serde_json::json;
use std::env;
use std::fmt;
use std::time::Duration;
use tool_core::agents::{AgentErrorKind, Agents};
use tool_core::jiff::{SignedDuration, Timestamp};
use tool_core::{AgentError, CancellationToken, ToolResponse};

/// How often a draft is tried; with the waits between, it takes more than an hour.
const ATTEMPTS: i64 = 8;

pub(crate) struct Outbox {
    agents: Agents,
    drafts: Drafts,
    /// Tells this worker from others of the same database.
    claim: String,
    /// The wait before the second attempt; each one after it is twice as long.
    wait: SignedDuration,
}

/// What became of a draft.
pub(crate) struct Told(pub(crate) Kept, pub(crate) Outcome);

impl Outbox {
    /// The outbox, and the drafts that an earlier worker was sending when it was killed.
    pub(crate) async fn open(worker: &Worker) -> Result<(Self, Vec<Kept>), Failure> {
        let claim = format!("{}-{}", std::process::id(), Timestamp::now().as_nanosecond());
        let wait = env::var("WORKER_RETRY_SECONDS").ok().map_or(Ok(30), |seconds| seconds.parse());
        let wait = SignedDuration::from_secs(wait.map_err(|_| "WORKER_RETRY_SECONDS: no number of seconds")?);
        let lost = worker.drafts.recover(&claim).await?;
        Ok((Self { agents: worker.agents.clone(), drafts: worker.drafts.clone(), claim, wait }, lost))
    }

    /// Sends what is due until it is told to stop; what it has begun, it ends.
    pub(crate) async fn run(&self, stop: CancellationToken) {
        while !stop.is_cancelled() {
            match self.send_due().await {
                Ok(told) => told.iter().for_each(|told| eprintln!("{told}")),
                Err(error) => eprintln!("the drafts cannot be read: {error}"),
            }
            let _ = tokio::time::timeout(Duration::from_millis(500), stop.cancelled()).await;
        }
    }

    /// Sends what is due now.
    pub(crate) async fn send_due(&self) -> sqlx::Result<Vec<Told>> {
        let mut told = Vec::new();
        while let Some(draft) = self.drafts.take(&self.claim, Timestamp::now()).await? {
            let outcome = self.outcome(&draft, self.send(&draft).await);
            self.drafts.settle(&draft, &self.claim, &outcome).await?;
            told.push(Told(draft, outcome));
        }
        Ok(told)
    }

    async fn send(&self, draft: &Kept) -> Result<ToolResponse, AgentError> {
        let executor = self.agents.executor(&draft.agent);
        let arguments = json!({"to": draft.recipient, "subject": draft.subject, "body": draft.body});
        let response = executor.run_tool_action("email", "send_email", arguments).await?;
        // A person agreed when it was scheduled.
        match response.meta().confirmation() {
            Some(asked) => Ok(executor.approve(&asked.token).await),
            None => Ok(response),
        }
    }

    fn outcome(&self, draft: &Kept, response: Result<ToolResponse, AgentError>) -> Outcome {
        let response = match response {
            Ok(response) => response,
            Err(AgentError { kind: AgentErrorKind::StoreDown(why), .. }) => return self.again(draft, why),
            Err(error) => return Outcome::Failed(error.to_string()),
        };
        match response.error() {
            None => Outcome::Sent(response.data_json().unwrap_or_default().to_owned()),
            Some(error) if error.partial_side_effects => Outcome::Unknown(error.message.clone()),
            Some(error) if error.retryable => self.again(draft, error.message.clone()),
            Some(error) => Outcome::Failed(format!("{}: {}", error.kind.as_str(), error.message)),
        }
    }

    fn again(&self, draft: &Kept, why: String) -> Outcome {
        let doubled = u32::try_from(draft.attempts - 1).ok().and_then(|times| 2_i32.checked_pow(times));
        let wait = doubled.filter(|_| draft.attempts < ATTEMPTS).and_then(|times| self.wait.checked_mul(times));
        match wait.and_then(|wait| Timestamp::now().checked_add(wait).ok()) {
            Some(due) => Outcome::Again { due, why },
            None => Outcome::Failed(format!("given up after {} attempts: {why}", draft.attempts)),
        }
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(draft, outcome) = self;
        write!(f, "draft {} of {} to {}: ", draft.id, draft.agent, draft.recipient)?;
        match outcome {
            Outcome::Sent(_) => f.write_str("sent"),
            Outcome::Failed(why) => write!(f, "failed: {why}"),
            Outcome::Unknown(why) => write!(f, "unknown: {why}"),
            Outcome::Again { due, why } => write!(f, "tried again at {due:.0}: {why}"),
        }
    }
}
