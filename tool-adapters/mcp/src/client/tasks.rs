//! Tools that run as tasks, in revision 2025-11-25: the call returns the id of a task, whose state
//! is requested until it ends, and then its result.

use crate::client::error::{describe, http_error, is_temporary};
use crate::client::remote::ServerConnection;
use crate::client::routes::CallRoute;
use crate::original;
use crate::send_on_drop::SendOnDrop;
use futures_util::future::BoxFuture;
use memchr::memmem;
use parking_lot::Mutex;
use rmcp::RoleClient;
use rmcp::model::{CallToolRequestParams, ClientRequest, CustomRequest, ErrorData, ServerResult};
use rmcp::service::{Peer, PeerRequestOptions, ServiceError};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;
use tool_core::time::whole_milliseconds;

/// The word of a server about a tool and tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskNeed {
    Required,
    Optional,
}

/// The tools of which a server says that they need a task, or may run as one. rmcp's type of a tool
/// does not have this member.
#[derive(Clone, Default)]
pub(crate) struct TaskTools(Arc<Mutex<HashMap<String, TaskNeed>>>);

/// Maximum number of tools that are known to run as tasks.
const MAX_KNOWN: usize = 10_000;

impl TaskTools {
    /// Notes the tools of a list, in the text of a message.
    pub(crate) fn note(&self, text: &[u8]) {
        let names_support = memmem::find(text, b"\"taskSupport\"").is_some();
        // A known tool may no longer run as a task.
        let may_end_support =
            || !self.0.lock().is_empty() && memmem::find(text, b"\"inputSchema\"").is_some();
        if !names_support && !may_end_support() {
            return;
        }
        let Ok(message) = serde_json::from_slice::<Value>(text) else {
            return;
        };
        let mut known = self.0.lock();
        for tool in message["result"]["tools"].as_array().into_iter().flatten() {
            let Some(name) = tool["name"].as_str() else {
                continue;
            };
            let support = match tool["execution"]["taskSupport"].as_str() {
                Some("required") => TaskNeed::Required,
                Some("optional") => TaskNeed::Optional,
                _ => {
                    known.remove(name);
                    continue;
                }
            };
            if known.len() < MAX_KNOWN {
                known.insert(name.to_owned(), support);
            }
        }
    }

    pub(crate) fn support(&self, tool: &str) -> Option<TaskNeed> {
        self.0.lock().get(tool).copied()
    }
}

/// The pause between two requests of a task's state: what the server asks for, within these bounds.
const MIN_PAUSE: u64 = 20;
const MAX_PAUSE: u64 = 10_000;
const PAUSE: u64 = 500;

/// The requests for a task that may fail in a row. The pause doubles with each of them.
const MAX_MISSED: u32 = 10;

/// Maximum number of bytes of the id of a task.
const MAX_ID: usize = 1_000;

fn refused(message: &'static str) -> ServiceError {
    ServiceError::McpError(ErrorData::internal_error(message, None))
}

/// Returns a request that rmcp has no type for.
fn custom(method: &str, params: Value) -> ClientRequest {
    ClientRequest::CustomRequest(CustomRequest::new(method, Some(params)))
}

async fn request(
    peer: &Peer<RoleClient>,
    method: &str,
    params: Value,
) -> Result<ServerResult, ServiceError> {
    let sent = peer
        .send_request_with_option(custom(method, params), PeerRequestOptions::no_options())
        .await?;
    sent.await_response().await
}

/// Requests the result of a task. Over HTTP, what the server asks for the task comes in the stream
/// of this request.
async fn request_result(
    peer: &Peer<RoleClient>,
    route: &CallRoute,
    params: Value,
) -> Result<ServerResult, ServiceError> {
    let request = custom("tasks/result", params);
    let sent = peer
        .send_request_with_option(request, PeerRequestOptions::no_options())
        .await?;
    route.set_further_request(sent.id.clone());
    sent.await_response().await
}

/// Returns the state of a task.
fn state_of(result: ServerResult) -> Result<Value, ServiceError> {
    original::value_of(result).ok_or(ServiceError::UnexpectedResponse)
}

/// A call that runs as a task.
pub(crate) struct RunningTask {
    pub(crate) id: String,
    /// The last known state.
    state: Value,
    /// True once the state was requested over the last connection.
    pub(crate) was_seen: bool,
}

/// Returns the request that calls a tool as a task.
pub(crate) fn begin(
    params: &CallToolRequestParams,
    limit: Duration,
) -> Result<ClientRequest, ServiceError> {
    let mut params = serde_json::to_value(params).map_err(|_| ServiceError::UnexpectedResponse)?;
    if let Some(params) = params.as_object_mut() {
        params.insert("task".to_owned(), json!({"ttl": whole_milliseconds(limit)}));
    }
    Ok(custom("tools/call", params))
}

impl RunningTask {
    /// Reads the task from the answer to its beginning. Returns an error with the result if the
    /// server answers at once.
    pub(crate) fn new(begun: ServerResult) -> Result<Result<Self, ServerResult>, ServiceError> {
        let state = state_of(begun.clone())?["task"].take();
        let id = state["taskId"].as_str().filter(|id| id.len() <= MAX_ID);
        match id.map(str::to_owned) {
            Some(id) => Ok(Ok(Self {
                id,
                state,
                was_seen: false,
            })),
            None => Ok(Err(begun)),
        }
    }

    /// Requests the state of the task until it ends, and returns its result. `report` gets the
    /// messages of its states. A task that needs input has it asked for by requests of the server,
    /// if the host allows any (`may_ask`). Dropping the future cancels the task. After an error of
    /// the connection it can be called again with another one.
    pub(crate) async fn finish(
        &mut self,
        connection: &ServerConnection,
        route: &CallRoute,
        may_ask: bool,
        report: impl Fn(&str) + Send + Sync,
    ) -> Result<ServerResult, ServiceError> {
        let peer = &connection.peer;
        let mut cancel = cancel_on_drop(peer.clone(), json!({"taskId": self.id}));
        let mut missed = 0;
        loop {
            if self.status() == Some("input_required") && !may_ask {
                return Err(refused(
                    "the tool's server asks for user input, which the host does not allow",
                ));
            }
            let error = match self.poll(peer, route, &report).await {
                Ok(Some(result)) => {
                    cancel.disarm();
                    return Ok(result);
                }
                Ok(None) => {
                    missed = 0;
                    self.was_seen = true;
                    connection.note_answer(&Ok::<_, ServiceError>(()));
                    continue;
                }
                Err(error) => error,
            };

            // The task goes on, and a later request may reach it.
            if is_missed_poll(&error) && !connection.is_lost() && missed < MAX_MISSED {
                missed += 1;
                tracing::debug!(error = describe(&error), missed, "failed to request a task");
                let pause = self.pause() * 2_u32.pow(missed);
                sleep(pause.min(Duration::from_millis(MAX_PAUSE))).await;
                continue;
            }
            // A task that is given up is cancelled, unless the server has ended it, or another
            // connection may find it.
            if matches!(error, ServiceError::McpError(_)) || connection.is_lost() {
                cancel.disarm();
            }
            return Err(error);
        }
    }

    /// Requests the result of the task if there is one, or else its state after a pause.
    async fn poll(
        &mut self,
        peer: &Peer<RoleClient>,
        route: &CallRoute,
        report: impl Fn(&str) + Send + Sync,
    ) -> Result<Option<ServerResult>, ServiceError> {
        let named = json!({"taskId": self.id});
        match self.status() {
            // The answer to one that requires input comes when the user has answered, and the task
            // has ended.
            Some("completed" | "failed" | "input_required") => {
                return request_result(peer, route, named).await.map(Some);
            }
            Some("cancelled") => {
                return Err(refused("the tool's server cancelled the task of the call"));
            }
            _ => {}
        }
        if let Some(message) = self.state["statusMessage"].as_str() {
            report(message);
        }

        sleep(self.pause()).await;
        self.state = state_of(request(peer, "tasks/get", named).await?)?;
        Ok(None)
    }

    fn status(&self) -> Option<&str> {
        self.state["status"].as_str()
    }

    /// Returns the pause before the next request.
    fn pause(&self) -> Duration {
        let asked = self.state["pollInterval"].as_u64().unwrap_or(PAUSE);
        Duration::from_millis(asked.clamp(MIN_PAUSE, MAX_PAUSE))
    }
}

/// Returns true for an error after which a task can be requested again over the same connection.
/// The end of a request's stream is one too.
fn is_missed_poll(error: &ServiceError) -> bool {
    http_error(error).is_some_and(is_temporary) || matches!(error, ServiceError::TransportClosed)
}

/// Returns true for the end of a connection, after which another one may know a task.
pub(crate) fn is_lost(error: &ServiceError) -> bool {
    matches!(
        error,
        ServiceError::TransportSend(_) | ServiceError::TransportClosed
    )
}

/// Cancels a task when it is dropped.
fn cancel_on_drop(
    peer: Peer<RoleClient>,
    params: Value,
) -> SendOnDrop<impl FnOnce() -> BoxFuture<'static, ()>> {
    SendOnDrop::new(|| {
        Box::pin(async move {
            if let Err(error) = request(&peer, "tasks/cancel", params).await {
                tracing::debug!(%error, "failed to cancel a task of a server");
            }
        })
    })
}
