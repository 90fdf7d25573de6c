//! Calls that wait for the client in revision 2026-07-28, in which a server sends no requests.
//!
//! A call whose tool asks is answered `input_required`, and goes on in this process, as does a
//! prompt or a resource that asks. The client repeats the request with its answers and the
//! `requestState`: a random id, and a digest of the request. A state is valid once, for the client
//! that got it.

use crate::server::client_requests::AskedRequest;
use crate::server::confirm::{RepeatedRequest, no_pending_call, require_input};
use crate::server::request_ids::random_id;
use crate::server::session::McpResult;
use parking_lot::Mutex;
use rmcp::ErrorData;
use rmcp::model::{InputRequests, InputRequiredResult, InputResponses};
use std::any::Any;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;

/// The name of a request in `inputRequests` to which its tool gave none.
const UNNAMED: &str = "ask";
/// Begins a `requestState` of a tool's requests. An approval's begins with hexadecimal digits.
const STATE: &str = "ask-";

/// The requests of one call that wait for the client, by their names.
#[derive(Debug, Default)]
pub(crate) struct WaitingRequests {
    waiting: BTreeMap<String, AskedRequest>,
    /// The names that were given before. A client may know a request by its name for as long as the
    /// call goes on.
    used: HashSet<String>,
}

impl WaitingRequests {
    /// Adds a request under the name that the tool gave it, or under one that is free.
    pub(crate) fn add(&mut self, request: AskedRequest) {
        let wanted = request.key.clone().unwrap_or_else(|| UNNAMED.to_owned());
        let numbered = (2..).map(|number| format!("{wanted}-{number}"));
        let name = std::iter::once(wanted.clone())
            .chain(numbered)
            .find(|name| !self.used.contains(name));
        let name = name.unwrap_or(wanted);
        self.used.insert(name.clone());
        self.waiting.insert(name, request);
    }

    /// Adds the requests that wait in another list.
    pub(crate) fn extend(&mut self, other: Self) {
        other
            .waiting
            .into_values()
            .for_each(|request| self.add(request));
    }

    /// Gives the client's answers to the requests, and removes those. Others stay. An answer under
    /// another name is ignored.
    pub(crate) fn answer(&mut self, answers: InputResponses) -> McpResult<()> {
        let is_wrong = |(name, answer): &(&String, &_)| {
            self.waiting
                .get(*name)
                .is_some_and(|asked| !asked.takes(answer))
        };
        if let Some((name, _)) = answers.iter().find(is_wrong) {
            return Err(wrong_answer(name));
        }
        for (name, answer) in answers {
            if let Some(asked) = self.waiting.remove(&name) {
                // A request whose time is over just now takes no answer, and its call ends without
                // one.
                let _ = asked.answer.send(answer);
            }
        }
        Ok(())
    }

    /// Returns the requests that wait, for the client.
    pub(crate) fn shown(&self) -> InputRequests {
        let waiting = self
            .waiting
            .iter()
            .filter(|(_, asked)| !asked.over.is_cancelled());
        waiting
            .map(|(name, asked)| (name.clone(), asked.request.clone()))
            .collect()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &String> {
        self.waiting.keys()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.values().all(|asked| asked.over.is_cancelled())
    }
}

/// Returns the answer to a client whose answer to a request has the form of another one.
pub(crate) fn wrong_answer(name: &str) -> ErrorData {
    let message = format!(
        "expected `inputResponses` to have a result of the request `{}`",
        name.escape_debug()
    );
    ErrorData::invalid_params(message, None)
}

/// The calls that wait for the client, by the ids of their states. The session bounds their number
/// and time.
#[derive(Default)]
pub(crate) struct ParkedCalls(Mutex<HashMap<String, ParkedCall>>);

struct ParkedCall {
    /// A call, or the reading of a prompt or a resource.
    call: Box<dyn Any + Send>,
    requests: WaitingRequests,
    /// The digest of the request that the user was asked about.
    digest: String,
}

impl ParkedCalls {
    /// Keeps a call until its requests are answered or over. Returns the answer to its own request.
    pub(crate) fn park<C: Send + 'static>(
        self: &Arc<Self>,
        call: C,
        requests: WaitingRequests,
        digest: String,
    ) -> McpResult<InputRequiredResult> {
        let id = random_id()?;
        let over = requests
            .waiting
            .values()
            .map(|asked| asked.over.clone())
            .collect::<Vec<_>>();
        let parked = ParkedCall {
            call: Box::new(call),
            requests,
            digest,
        };
        let response = parked.ask(&id);
        self.0.lock().insert(id.clone(), parked);
        let calls = Arc::clone(self);
        tokio::spawn(async move {
            for over in over {
                over.cancelled().await;
            }
            let parked = calls.0.lock().remove(&id);
            drop(parked);
        });
        Ok(response)
    }

    /// Gives the client's answers to the call that asked, and returns it. Returns the requests
    /// again that the client does not answer. An error leaves the call as it is. Returns `None` for
    /// the state of an approval.
    pub(crate) fn resume<C: Send + 'static>(
        self: &Arc<Self>,
        repeated: &mut RepeatedRequest,
        is_own: impl FnOnce(&C) -> bool,
    ) -> Option<McpResult<ControlFlow<InputRequiredResult, C>>> {
        let id = repeated.state.strip_prefix(STATE)?.to_owned();
        Some(self.answer(&id, repeated, is_own))
    }

    fn answer<C: Send + 'static>(
        self: &Arc<Self>,
        id: &str,
        repeated: &mut RepeatedRequest,
        is_own: impl FnOnce(&C) -> bool,
    ) -> McpResult<ControlFlow<InputRequiredResult, C>> {
        let mut calls = self.0.lock();
        let is_asked = |parked: &&mut ParkedCall| {
            parked.call.downcast_ref::<C>().is_some_and(is_own) && parked.digest == repeated.digest
        };
        let parked = calls
            .get_mut(id)
            .filter(is_asked)
            .ok_or_else(no_pending_call)?;
        let answers = repeated.answers.take().unwrap_or_default();
        if !parked
            .requests
            .names()
            .any(|name| answers.contains_key(name))
        {
            return Ok(ControlFlow::Break(parked.ask(id)));
        }
        parked.requests.answer(answers)?;
        let ParkedCall {
            call,
            requests,
            digest,
        } = calls.remove(id).ok_or_else(no_pending_call)?;
        drop(calls);
        let call = call.downcast::<C>().map_err(|_| no_pending_call())?;
        if requests.is_empty() {
            return Ok(ControlFlow::Continue(*call));
        }
        self.park(*call, requests, digest).map(ControlFlow::Break)
    }
}

impl ParkedCall {
    fn ask(&self, id: &str) -> InputRequiredResult {
        require_input(format!("{STATE}{id}"), self.requests.shown())
    }
}
