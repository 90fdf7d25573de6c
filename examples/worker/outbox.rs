//! Sends due drafts, each one once.

use super::email::drafts::{Claim, Drafts, Kept, Outcome};
use super::worker::{Failure, Worker};
use serde_json::json;
use std::env;
use std::fmt;
use std::time::Duration;
use tokio::sync::Mutex;
use tool_core::agents::AgentError;
use tool_core::agents::AgentStoreError;
use tool_core::agents::{AgentErrorKind, Agents};
use tool_core::jiff::{SignedDuration, Timestamp};
use tool_core::{CancellationToken, ErrorKind, ToolResponse};

/// The maximum number of attempts. With the waits in between they take more than an hour.
const ATTEMPTS: i64 = 8;

pub(crate) struct Outbox {
    agents: Agents,
    drafts: Drafts,
    claim: Claim,
    /// The wait before the second attempt. Each later wait is twice as long.
    wait: SignedDuration,
    /// Sent drafts whose state is not stored yet.
    unsettled: Mutex<Vec<Told>>,
}

/// The outcome of a draft.
pub(crate) struct Told(pub(crate) Kept, pub(crate) Outcome);

impl Outbox {
    /// Opens the outbox, and returns the drafts that an earlier worker was sending when it was killed.
    pub(crate) async fn open(worker: &Worker) -> Result<(Self, Vec<Kept>), Failure> {
        let claim = Claim {
            worker: claim_name(),
            lease: Duration::from_secs(seconds("WORKER_LEASE_SECONDS", LEASE)?.into()),
        };
        let wait = SignedDuration::from_secs(seconds("WORKER_RETRY_SECONDS", 30)?.into());
        let lost = worker.drafts.recover(&claim, Timestamp::now(), true);
        let lost = lost.await?;
        let (agents, drafts) = (worker.agents.clone(), worker.drafts.clone());
        Ok((
            Self {
                agents,
                drafts,
                claim,
                wait,
                unsettled: Mutex::default(),
            },
            lost,
        ))
    }

    /// Sends due drafts until `stop`. A draft that has begun is completed. Reports the drafts of workers that were killed.
    pub(crate) async fn run(&self, stop: CancellationToken) {
        let tick = || async {
            let lost = self.drafts.recover(&self.claim, Timestamp::now(), false);
            for draft in lost.await.unwrap_or_default() {
                report_lost(&draft);
            }
            let sent = self.send_due(&stop, |told| eprintln!("{told}")).await;
            sent.inspect_err(|error| eprintln!("the drafts cannot be read or written: {error}"))
        };
        while !stop.is_cancelled() {
            let _ = tick().await;
            let _ = tokio::time::timeout(Duration::from_millis(500), stop.cancelled()).await;
        }
        // Nothing more is sent. States that could not be stored are stored again.
        let _ = tick().await;
    }

    /// Sends the drafts that are due now, until `stop`, and reports the outcome of each.
    pub(crate) async fn send_due(
        &self,
        stop: &CancellationToken,
        mut tell: impl FnMut(&Told),
    ) -> sqlx::Result<()> {
        let mut unsettled = self.unsettled.lock().await;
        loop {
            while let Some(told) = unsettled.last() {
                self.drafts.settle(&told.0, &self.claim, &told.1).await?;
                tell(told);
                unsettled.pop();
            }
            if stop.is_cancelled() {
                return Ok(());
            }
            let Some(draft) = self.drafts.take(&self.claim, Timestamp::now()).await? else {
                return Ok(());
            };
            let outcome = self.outcome(&draft, self.send(&draft).await);
            unsettled.push(Told(draft, outcome));
        }
    }

    async fn send(&self, draft: &Kept) -> Result<ToolResponse, AgentError> {
        let executor = self.agents.executor(&draft.agent);
        let arguments =
            json!({"to": draft.recipient, "subject": draft.subject, "body": draft.body});
        let response = executor
            .run_tool_action("email", "send_email", arguments)
            .await?;
        // A person approved the draft when it was scheduled.
        match response.meta().confirmation() {
            Some(asked) => Ok(executor.approve(&asked.token).await),
            None => Ok(response),
        }
    }

    fn outcome(&self, draft: &Kept, response: Result<ToolResponse, AgentError>) -> Outcome {
        let response = match response {
            Ok(response) => response,
            // The draft was not sent.
            Err(error) if passes(&error.kind) => return self.again(draft, error.to_string()),
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
        let doubled = u32::try_from(draft.attempts - 1)
            .ok()
            .and_then(|times| 2_i32.checked_pow(times));
        let wait = doubled
            .filter(|_| draft.attempts < ATTEMPTS)
            .and_then(|times| self.wait.checked_mul(times));
        match wait.and_then(|wait| Timestamp::now().checked_add(wait).ok()) {
            Some(due) => Outcome::Again { due, why },
            None => Outcome::Failed(format!("given up after {} attempts: {why}", draft.attempts)),
        }
    }
}

/// Says that a worker was killed while it sent a draft.
pub(crate) fn report_lost(draft: &Kept) {
    eprintln!(
        "draft {} of {} may have been sent when the worker ended; it is not sent again",
        draft.id, draft.agent
    );
}

/// The seconds for which a worker may be sending a draft: longer than `send_email` may take.
const LEASE: u32 = 180;

/// Names this worker among others, also on other machines.
fn claim_name() -> String {
    let host = env::var("HOSTNAME").unwrap_or_default();
    let process = std::process::id();
    format!("{host}-{process}-{}", Timestamp::now().as_nanosecond())
}

/// Returns a number of seconds from the environment.
fn seconds(name: &str, default: u32) -> Result<u32, String> {
    let Ok(text) = env::var(name) else {
        return Ok(default);
    };
    let seconds = text.parse();
    seconds.map_err(|_| format!("{name}: no number of seconds"))
}

/// Returns whether the same call may succeed later without a change of a record.
fn passes(kind: &AgentErrorKind) -> bool {
    match kind {
        AgentErrorKind::Store(AgentStoreError::Down { .. }) | AgentErrorKind::NoSession(_) => true,
        AgentErrorKind::Failed(error) => {
            matches!(error.kind(), ErrorKind::Transient | ErrorKind::RateLimit)
        }
        _ => false,
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(draft, outcome) = self;
        write!(
            f,
            "draft {} of {} to {}: ",
            draft.id, draft.agent, draft.recipient
        )?;
        match outcome {
            Outcome::Sent(_) => f.write_str("sent"),
            Outcome::Failed(why) => write!(f, "failed: {why}"),
            Outcome::Unknown(why) => write!(f, "unknown: {why}"),
            Outcome::Again { due, why } => write!(f, "tried again at {due:.0}: {why}"),
        }
    }
}
