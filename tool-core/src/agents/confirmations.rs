//! Actions that wait for a person's approval. They wait in the store, so that any process may carry
//! out the decision, and their sessions are over.

use crate::agents::executor::AgentExecutor;
use crate::agents::store::{AgentStoreError, ask_store};
use crate::call::{Confirmation, ToolError, ToolResponse};
use crate::session::approvals::{
    ApprovalLimits, ApprovalRequest, ApprovalVerdict, PendingCall, Signer, fresh_id,
};
use crate::session::builder::SessionBuilder;
use crate::session::decision::Decision;
use crate::session::handle::Session;
use crate::session::pipeline::confirm::{
    check_tools, no_pending_call, pending_call, response_without_call, too_many,
};
use crate::time;
use crate::trace;
use futures_util::future::{Either, select};
use std::pin::pin;
use std::time::Duration;
use tokio::sync::oneshot::{self, Receiver};
use tokio::time::Instant;
use tracing::Instrument;

/// The time for which an approved action waits in its own session, which runs it at once.
const HANDOVER: Duration = Duration::from_secs(60);
/// The limits on an action that goes back into the store: none, as it was kept before.
const NO_LIMITS: ApprovalLimits = ApprovalLimits {
    session: u32::MAX,
    turn: u32::MAX,
    bytes: (usize::MAX >> 1),
};

impl AgentExecutor {
    /// Returns the action that waits under a token, for a person who wants to read all of it:
    /// [`payload`](PendingCall::payload) is the whole of what a summary shortens.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND` if no action of the agent and of this principal waits under the token, and a
    /// transient error if the store failed.
    pub async fn pending_action(&self, token: &str) -> Result<PendingCall, ToolError> {
        let id = Signer::id_of(token).ok_or_else(no_pending_call)?;
        let call = ask_store(self.agents.store.action(&self.agent, id)).await;
        let call = call
            .map_err(|error| self.store_down(&error))?
            .ok_or_else(no_pending_call)?;
        let is_own = *call.agent == *self.agent
            && *call.principal == *self.open_action(call.mode, None).principal
            && self.agents.runtime.signer().verify(token, &call)
            && !call.is_stale();
        if is_own {
            Ok(call)
        } else {
            Err(no_pending_call())
        }
    }

    /// Approves the action of a token and runs it, in any process that shares the store and the
    /// [`signing_key`](crate::session::RuntimeBuilder::signing_key). Dropping the future cancels the action.
    ///
    /// The response is `NOT_FOUND` if no action waits under the token: it was used, has expired,
    /// belongs to another agent or principal, or was requested with other tools. It is `CONFLICT`
    /// if the settings of the agent's toolsets have changed since the request, as the person has
    /// not approved these.
    pub async fn approve(&self, token: &str) -> ToolResponse {
        self.decide(Decision::approve(token)).await
    }

    /// Approves the action of a token by the decision of a person, as [`approve`](Self::approve) does.
    /// The audit log and the hooks name this person, and otherwise the session's principal.
    pub async fn approve_by(&self, token: &str, person: &str) -> ToolResponse {
        self.decide(Decision::approve(token).by(person)).await
    }

    /// Denies the action of a token. It does not run, and the response is `DENIED`. The audit log,
    /// the hooks and the metrics see the denial, as they see the action of an approval. Dropping the
    /// future does not stop a denial that has begun.
    pub async fn deny(&self, token: &str) -> ToolResponse {
        self.decide(Decision::deny(token)).await
    }

    /// Denies the action of a token by the decision of a person, as [`deny`](Self::deny) does. The
    /// audit log and the hooks name this person, and otherwise the session's principal.
    pub async fn deny_by(&self, token: &str, person: &str) -> ToolResponse {
        self.decide(Decision::deny(token).by(person)).await
    }

    async fn decide(&self, decision: Decision) -> ToolResponse {
        let decided = async {
            let call = self.pending_action(decision.token()).await?;
            let opening = self.open_decided(&call, &decision).await?;
            let (_waiting, abandoned) = oneshot::channel::<()>();
            let executor = self.clone();
            // A task, so that no action is lost between the store and its session if the caller
            // goes away.
            let run = async move {
                let decided = executor.run_decided(opening, call, &decision, abandoned);
                decided.await
            };
            let response = tokio::spawn(trace::in_current_span(run.in_current_span())).await;
            response.unwrap_or_else(|error| Err(ToolError::internal(error)))
        };
        decided.await.unwrap_or_else(response_without_call)
    }

    /// Creates the session of a decision. An action can be denied without the agent's tools, too.
    async fn open_decided(
        &self,
        call: &PendingCall,
        decision: &Decision,
    ) -> Result<SessionBuilder, ToolError> {
        match self.load().await {
            Ok(loaded) => Ok(self.open_action(call.mode, Some(&loaded))),
            Err(_) if !decision.is_approval() => Ok(self.open_action(call.mode, None)),
            Err(error) => Err(self.not_loaded(&error)),
        }
    }

    async fn run_decided(
        &self,
        opening: SessionBuilder,
        call: PendingCall,
        decision: &Decision,
        abandoned: Receiver<()>,
    ) -> Result<ToolResponse, ToolError> {
        let session = opening.await.map_err(|error| self.not_loaded(&error))?;
        // A person has approved the action with the tools and the settings of its request.
        let checked = if decision.is_approval() {
            check_tools(&session.0, &call)
        } else {
            Ok(())
        };
        let response = match checked {
            Ok(()) => self.decide_in(&session, call, decision, abandoned).await,
            Err(error) => Err(error),
        };
        session.end().await;
        response
    }

    /// Takes an action out of the store, and runs or denies it as a call that waits in the session.
    /// Puts it back if the decision was not carried out.
    async fn decide_in(
        &self,
        session: &Session,
        call: PendingCall,
        decision: &Decision,
        abandoned: Receiver<()>,
    ) -> Result<ToolResponse, ToolError> {
        // The store's clock decides whether the action has expired; this process has no say in it.
        let deadline = time::after(Instant::now(), self.take(&call.id).await?);
        let own = PendingCall {
            id: fresh_id(),
            session: session.id().to_string(),
            agent: session.0.agent().to_owned(),
            ..call.clone()
        };
        let request = ApprovalRequest::new(&own, HANDOVER).limits(NO_LIMITS);
        if session.0.record.mint(&request).await != Ok(ApprovalVerdict::Waits) {
            self.put_back(&call, deadline).await;
            return Err(ToolError::transient(
                "the action cannot be run at the moment, so nothing was done; try again",
            ));
        }
        let token = self.agents.runtime.signer().sign(&own);
        let decision = decision.clone().on(token);
        let decided = session.decide(&decision, None);
        let response = if decision.is_approval() {
            match select(abandoned, pin!(decided)).await {
                Either::Left(_) => Err(ToolError::cancelled("the caller has gone away")),
                Either::Right((response, _)) => Ok(response),
            }
        } else {
            Ok(decided.await)
        };
        // If the store does not answer, the call may have run.
        if session.0.record.pending(&own.id).await == Ok(Some(own)) {
            self.put_back(&call, deadline).await;
        }
        Ok(self.keep_waiting(session, response?).await)
    }

    async fn put_back(&self, call: &PendingCall, deadline: Instant) {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        if let Err(error) = self.keep(call, left, NO_LIMITS).await {
            tracing::error!(agent = %self.agent.escape_debug(), %error, "failed to keep an action that did not run");
        }
    }

    /// Keeps the actions that wait after a call in the store, because the session ends. Removes
    /// those from the response that could not be kept.
    pub(crate) async fn keep_waiting(
        &self,
        session: &Session,
        mut response: ToolResponse,
    ) -> ToolResponse {
        if response.meta().confirmations().next().is_none() {
            return response;
        }
        let meta = response.optional_meta();
        let mut refusal = None;
        if let Some(asked) = meta.confirmation.take() {
            match self.keep_confirmed(session, &asked).await {
                Ok(()) => meta.confirmation = Some(asked),
                Err(error) => refusal = Some(error),
            }
        }
        for asked in std::mem::take(&mut meta.nested_confirmations) {
            match self.keep_confirmed(session, &asked).await {
                Ok(()) => meta.nested_confirmations.push(asked),
                Err(error) => meta.warnings.push(error.message().to_owned()),
            }
        }
        if let Some(error) = refusal.filter(|_| !response.is_ok()) {
            let tool = response.meta().tool().to_owned();
            response.result = Err(Box::new(error.into_body(&tool, true)));
        }
        response
    }

    async fn keep_confirmed(
        &self,
        session: &Session,
        asked: &Confirmation,
    ) -> Result<(), ToolError> {
        let call = pending_call(&session.0, &asked.token).await?;
        self.keep(
            &call,
            session.policy().confirmation_lifetime,
            self.agents.pending_actions,
        )
        .await
    }

    async fn keep(
        &self,
        call: &PendingCall,
        lifetime: Duration,
        limits: ApprovalLimits,
    ) -> Result<(), ToolError> {
        match ask_store(
            self.agents
                .store
                .keep_action(&self.agent, call, lifetime, limits),
        )
        .await
        {
            Ok(ApprovalVerdict::Full(limit)) => Err(too_many(&limits, limit)),
            Ok(_) => Ok(()),
            Err(error) => Err(self.store_down(&error)),
        }
    }

    /// Takes an action out of the store, and returns the time for which it would still have waited.
    /// Fails for all but one of several callers.
    async fn take(&self, id: &str) -> Result<Duration, ToolError> {
        let taken = ask_store(self.agents.store.take_action(&self.agent, id)).await;
        taken
            .map_err(|error| self.store_down(&error))?
            .ok_or_else(no_pending_call)
    }

    fn store_down(&self, error: &AgentStoreError) -> ToolError {
        tracing::error!(agent = %self.agent.escape_debug(), %error, "failed to reach the store for an approval");
        ToolError::transient(
            "the approval cannot be looked up or kept at the moment, so nothing was done; try again",
        )
    }

    fn not_loaded(&self, error: &dyn std::error::Error) -> ToolError {
        tracing::error!(agent = %self.agent.escape_debug(), %error, "failed to open a session for an approved action");
        ToolError::transient(
            "the agent cannot be loaded at the moment, so nothing was done; try again",
        )
    }
}
