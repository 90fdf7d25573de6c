//! Calls that wait for the client's user in revision 2026-07-28, in which a server sends no requests.
//!
//! A call whose tool asks is answered `input_required`, and goes on in this process. The client repeats the request with the
//! user's answer and the `requestState`: a random id of the question, and a digest of the request. A state is valid once, for
//! the client that got it.

use crate::mcp::server::confirm::{digest, no_pending_call, require_input};
use crate::mcp::server::elicit::AskedQuestion;
use crate::mcp::server::session::{McpResult, random_id};
use rmcp::ErrorData;
use rmcp::model::{CallToolRequestParams, CallToolResponse, ElicitResult};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The name of a tool's question in `inputRequests`.
const QUESTION: &str = "ask";
/// Begins a `requestState` of a question. An approval's begins with hexadecimal digits.
const STATE: &str = "ask-";

/// The calls that wait for the client's user, by the ids of their questions. The session bounds their number and time.
pub(crate) struct ParkedCalls<C>(Mutex<HashMap<String, ParkedCall<C>>>);

struct ParkedCall<C> {
    call: C,
    question: AskedQuestion,
    /// The digest of the request that the user was asked about.
    digest: String,
}

impl<C> Default for ParkedCalls<C> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<C: Send + 'static> ParkedCalls<C> {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, ParkedCall<C>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a call until its question is answered or over. Returns the answer to its request.
    pub(crate) fn park(
        self: &Arc<Self>,
        call: C,
        question: AskedQuestion,
        request: &CallToolRequestParams,
    ) -> McpResult<CallToolResponse> {
        let (id, over) = (random_id()?, question.over.clone());
        let parked = ParkedCall { call, question, digest: digest(request) };
        let response = parked.ask(&id);
        self.lock().insert(id.clone(), parked);
        let calls = Arc::clone(self);
        tokio::spawn(async move {
            over.cancelled().await;
            let parked = calls.lock().remove(&id);
            drop(parked);
        });
        Ok(response)
    }

    /// Gives the user's answer to the call that asked, and returns it. Returns the question again if the client brings no
    /// answer. An error leaves the call as it is. Returns `None` for the state of an approval.
    pub(crate) fn resume(
        &self,
        request: &mut CallToolRequestParams,
        is_own: impl FnOnce(&C) -> bool,
    ) -> Option<McpResult<ControlFlow<CallToolResponse, C>>> {
        let id = request.request_state.as_deref()?.strip_prefix(STATE)?.to_owned();
        Some(self.answer(&id, request, is_own))
    }

    fn answer(
        &self,
        id: &str,
        request: &mut CallToolRequestParams,
        is_own: impl FnOnce(&C) -> bool,
    ) -> McpResult<ControlFlow<CallToolResponse, C>> {
        let mut calls = self.lock();
        let is_asked = |parked: &&ParkedCall<C>| is_own(&parked.call) && parked.digest == digest(request);
        let parked = calls.get(id).filter(is_asked).ok_or_else(no_pending_call)?;
        let Some(answer) = request.input_responses.as_mut().and_then(|answers| answers.remove(QUESTION)) else {
            return Ok(ControlFlow::Break(parked.ask(id)));
        };
        let answer = serde_json::from_value::<ElicitResult>(answer).map_err(|_| {
            ErrorData::invalid_params("expected `inputResponses.ask` to be an elicitation result", None)
        })?;
        let parked = calls.remove(id).ok_or_else(no_pending_call)?;
        drop(calls);
        // A question whose time is over just now takes no answer, and its call ends without one.
        let _ = parked.question.answer.send(answer);
        Ok(ControlFlow::Continue(parked.call))
    }
}

impl<C> ParkedCall<C> {
    fn ask(&self, id: &str) -> CallToolResponse {
        require_input(QUESTION, format!("{STATE}{id}"), self.question.params.clone())
    }
}
