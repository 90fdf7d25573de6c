//! Tools that a server runs as tasks only, in revision 2025-11-25: the call returns the id of a task, whose state is requested
//! until it ends, and then its result.

use memchr::memmem;
use rmcp::RoleClient;
use rmcp::model::{CallToolRequestParams, ClientRequest, CustomRequest, ErrorData, ServerResult};
use rmcp::service::{Peer, PeerRequestOptions, ServiceError};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::sleep;

/// The tools of which a server says that they need a task. rmcp's type of a tool does not have this member.
#[derive(Clone, Default)]
pub(crate) struct TaskTools(Arc<Mutex<HashSet<String>>>);

/// Maximum number of tools that are known to need a task.
const MAX_KNOWN: usize = 10_000;

impl TaskTools {
    /// Notes the tools of a list, in the text of a message.
    pub(crate) fn note(&self, text: &[u8]) {
        if memmem::find(text, b"\"taskSupport\"").is_none() {
            return;
        }
        let Ok(message) = serde_json::from_slice::<Value>(text) else { return };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for tool in message["result"]["tools"].as_array().into_iter().flatten() {
            let Some(name) = tool["name"].as_str() else { continue };
            if tool["execution"]["taskSupport"] != "required" {
                known.remove(name);
            } else if known.len() < MAX_KNOWN {
                known.insert(name.to_owned());
            }
        }
    }

    pub(crate) fn contains(&self, tool: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(tool)
    }
}

/// The pause between two requests of a task's state: what the server asks for, within these bounds.
const MIN_PAUSE: u64 = 20;
const MAX_PAUSE: u64 = 10_000;
const PAUSE: u64 = 500;

/// Maximum number of bytes of the id of a task.
const MAX_ID: usize = 1_000;

fn refused(message: &'static str) -> ServiceError {
    ServiceError::McpError(ErrorData::internal_error(message, None))
}

/// Sends a request that rmcp has no type for. Returns its result as JSON.
async fn request(peer: &Peer<RoleClient>, method: &str, params: Value) -> Result<Value, ServiceError> {
    let request = ClientRequest::CustomRequest(CustomRequest::new(method, Some(params)));
    let sent = peer.send_request_with_option(request, PeerRequestOptions::no_options()).await?;
    let result = sent.await_response().await?;
    serde_json::to_value(result).map_err(|_| ServiceError::UnexpectedResponse)
}

/// Calls a tool as a task. `report` gets the messages of its state. Dropping the future cancels the task.
pub(crate) async fn call(
    peer: &Peer<RoleClient>,
    params: &CallToolRequestParams,
    limit: Duration,
    mut report: impl FnMut(&str),
) -> Result<ServerResult, ServiceError> {
    let mut params = serde_json::to_value(params).map_err(|_| ServiceError::UnexpectedResponse)?;
    if let Some(params) = params.as_object_mut() {
        params.insert("task".to_owned(), json!({"ttl": u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)}));
    }
    let created = request(peer, "tools/call", params).await?;
    let Some(id) = created["task"]["taskId"].as_str().filter(|id| id.len() <= MAX_ID) else {
        return Ok(result_of(created)); // the server answered at once
    };
    let named = json!({"taskId": id});
    let mut cancel = CancelTask { peer, params: Some(named.clone()) };
    let (mut task, mut said) = (created["task"].clone(), String::new());
    loop {
        match task["status"].as_str() {
            Some("completed" | "failed") => break,
            Some("cancelled") => {
                cancel.params = None;
                return Err(refused("the tool's server cancelled the task of the call"));
            }
            Some("input_required") => {
                return Err(refused("the tool's server asks for user input, which a call cannot give"));
            }
            _ => {}
        }
        if let Some(message) = task["statusMessage"].as_str().filter(|message| *message != said) {
            report(message);
            message.clone_into(&mut said);
        }
        let pause = task["pollInterval"].as_u64().unwrap_or(PAUSE).clamp(MIN_PAUSE, MAX_PAUSE);
        sleep(Duration::from_millis(pause)).await;
        task = request(peer, "tasks/get", named.clone()).await?;
    }
    let result = request(peer, "tasks/result", named).await;
    cancel.params = None;
    result.map(result_of)
}

fn result_of(value: Value) -> ServerResult {
    ServerResult::CustomResult(rmcp::model::CustomResult::new(value))
}

/// Cancels a task, unless its parameters were taken.
struct CancelTask<'a> {
    peer: &'a Peer<RoleClient>,
    params: Option<Value>,
}

impl Drop for CancelTask<'_> {
    fn drop(&mut self) {
        let Some(params) = self.params.take() else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let peer = self.peer.clone();
            runtime.spawn(async move {
                if let Err(error) = request(&peer, "tasks/cancel", params).await {
                    tracing::debug!(%error, "failed to cancel a task of a server");
                }
            });
        }
    }
}
