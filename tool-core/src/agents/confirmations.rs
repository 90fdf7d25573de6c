//! Actions that wait for a person's approval. They wait in the store, so that any process may carry out the decision, and
//! their sessions are over.

use crate::agents::executor::AgentExecutor;
use crate::agents::store::{AgentStoreError, PendingAction, ask_store};
use crate::call::{Confirmation, ToolError, ToolResponse};
use crate::session::approvals::{ApprovalRequest, ApprovalVerdict, PendingCall, Signer, fresh_id};
use crate::session::handle::Session;
use crate::session::pipeline::confirm::{denied, no_pending_call, pending_call, response_without_call, too_many};
use crate::time::CENTURY;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

impl AgentExecutor {
    /// Returns the action that waits under a token, for a person who wants to read all of it:
    /// [`payload`](PendingCall::payload) is the whole of what a summary shortens.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND` if no action of the agent waits under the token, and a transient error if the store failed.
    pub async fn pending_action(&self, token: &str) -> Result<PendingAction, ToolError> {
        let id = Signer::id_of(token).ok_or_else(no_pending_call)?;
        let action = ask_store(self.agents.store.action(&self.agent, id)).await;
        let action = action.map_err(|error| self.store_down(&error))?.ok_or_else(no_pending_call)?;
        let is_signed = self.agents.runtime.signer().verify(token, &action.call);
        if is_signed { Ok(action) } else { Err(no_pending_call()) }
    }

    /// Approves the action of a token and runs it, in any process that shares the store and the
    /// [`signing_key`](crate::session::RuntimeBuilder::signing_key).
    ///
    /// The response is `NOT_FOUND` if no action waits under the token: it was used, has expired, belongs to another agent, or
    /// was requested with other tools. It is `CONFLICT` if the settings of the toolset have changed since the request, as
    /// the person has not approved these.
    pub async fn approve(&self, token: &str) -> ToolResponse {
        self.run_approved(token).await.unwrap_or_else(response_without_call)
    }

    /// Denies the action of a token. It does not run, and the response is `DENIED`.
    pub async fn deny(&self, token: &str) -> ToolResponse {
        let denied = async {
            let PendingAction { call, .. } = self.pending_action(token).await?;
            self.take(&call.id).await?;
            Ok(denied(&call.call_id, &call.tool))
        };
        denied.await.unwrap_or_else(response_without_call)
    }

    async fn run_approved(&self, token: &str) -> Result<ToolResponse, ToolError> {
        let action = self.pending_action(token).await?;
        let session = self.session_of(&action).await?;
        let ended = session.clone();
        let (running, ending) = run_after_drop(async move { ended.end().await });
        let response = self.run_in(&session, action).await;
        drop(running);
        _ = ending.await;
        response
    }

    /// Opens a session with the tools and the settings with which an action was requested.
    async fn session_of(&self, action: &PendingAction) -> Result<Session, ToolError> {
        let loaded = self.load().await.map_err(|error| self.not_loaded(&error))?;
        if loaded.toolset(&action.tool).map(|toolset| toolset.version) != Some(action.version) {
            let message = format!(
                "the settings of `{}` have changed since the approval was requested, so nothing was done; request the \
                 action again",
                action.tool
            );
            return Err(ToolError::conflict(message));
        }
        let opening = self.open_session(format!("action-{}", fresh_id()).into(), action.call.mode, &loaded);
        opening.await.map_err(|error| self.not_loaded(&error))
    }

    /// Takes an action out of the store, and runs it as a call of the session that was approved.
    async fn run_in(&self, session: &Session, action: PendingAction) -> Result<ToolResponse, ToolError> {
        let PendingCall { principal, version, .. } = &action.call;
        if *principal != *session.0.principal || *version != *session.0.tools.version {
            return Err(no_pending_call());
        }
        self.take(&action.call.id).await?;
        let call = PendingCall { id: fresh_id(), session: session.id().to_string(), ..action.call.clone() };
        let lifetime = remaining(&call);
        let waits = session.0.record.mint(&ApprovalRequest::new(&call, lifetime)).await;
        if waits == Ok(ApprovalVerdict::Waits) {
            let response = session.approve(&self.agents.runtime.signer().sign(&call)).await;
            // If the store does not answer, the call may have run.
            if session.0.record.pending(&call.id).await != Ok(Some(call)) {
                return Ok(response);
            }
            self.keep(&action, lifetime).await?;
            return Ok(response);
        }
        self.keep(&action, lifetime).await?;
        Err(ToolError::transient("the action cannot be run at the moment, so nothing was done; try again"))
    }

    /// Keeps the actions that wait after a call in the store, because the session ends. Removes those from the response that
    /// could not be kept.
    pub(crate) async fn keep_waiting(
        &self,
        (tool, version): (&str, u64),
        session: &Session,
        mut response: ToolResponse,
    ) -> ToolResponse {
        if response.meta().confirmations().next().is_none() {
            return response;
        }
        let meta = response.optional_meta();
        let mut refusal = None;
        if let Some(asked) = meta.confirmation.take() {
            match self.keep_confirmed(tool, version, session, &asked).await {
                Ok(()) => meta.confirmation = Some(asked),
                Err(error) => refusal = Some(error),
            }
        }
        for asked in std::mem::take(&mut meta.nested_confirmations) {
            match self.keep_confirmed(tool, version, session, &asked).await {
                Ok(()) => meta.nested_confirmations.push(asked),
                Err(error) => meta.warnings.push(error.message().to_owned()),
            }
        }
        if let Some(error) = refusal.filter(|_| !response.is_ok()) {
            response.result = Err(Box::new(error.into_body(tool, true)));
        }
        response
    }

    async fn keep_confirmed(
        &self,
        tool: &str,
        version: u64,
        session: &Session,
        asked: &Confirmation,
    ) -> Result<(), ToolError> {
        let call = pending_call(&session.0, &asked.token).await?;
        let lifetime = remaining(&call);
        self.keep(&PendingAction::new(tool, version, call), lifetime).await
    }

    async fn keep(&self, action: &PendingAction, lifetime: Duration) -> Result<(), ToolError> {
        let limits = self.agents.pending_actions;
        match ask_store(self.agents.store.keep_action(&self.agent, action, lifetime, limits)).await {
            Ok(ApprovalVerdict::Full(limit)) => Err(too_many(&limits, limit)),
            Ok(_) => Ok(()),
            Err(error) => Err(self.store_down(&error)),
        }
    }

    /// Takes an action out of the store. Fails for all but one of several callers.
    async fn take(&self, id: &str) -> Result<(), ToolError> {
        let taken = ask_store(self.agents.store.take_action(&self.agent, id)).await;
        if taken.map_err(|error| self.store_down(&error))? { Ok(()) } else { Err(no_pending_call()) }
    }

    fn store_down(&self, error: &AgentStoreError) -> ToolError {
        tracing::error!(agent = %self.agent.escape_debug(), %error, "failed to reach the store for an approval");
        ToolError::transient("the approval cannot be looked up or kept at the moment, so nothing was done; try again")
    }

    fn not_loaded(&self, error: &dyn std::error::Error) -> ToolError {
        tracing::error!(agent = %self.agent.escape_debug(), %error, "failed to open a session for an approved action");
        ToolError::transient("the agent cannot be loaded at the moment, so nothing was done; try again")
    }
}

/// Returns the time for which a call may still wait.
fn remaining(call: &PendingCall) -> Duration {
    let now = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or_default();
    Duration::from_millis(call.expires_at.saturating_sub(now)).min(CENTURY)
}

/// Spawns work that begins when the returned handle is dropped, also with a future that is cancelled.
pub(crate) fn run_after_drop(work: impl Future<Output = ()> + Send + 'static) -> (oneshot::Sender<()>, JoinHandle<()>) {
    let (handle, dropped) = oneshot::channel();
    let task = tokio::spawn(async move {
        _ = dropped.await;
        work.await;
    });
    (handle, task)
}
