//! Notifications and requests of a server. A server may send any number of them, so their number,
//! the requests that they cause, and the lines that they log are bounded.

use crate::client::changes::{ChangeSender, ChangedLists, ServerChange};
use crate::client::direct::{self, DirectCalls};
use crate::client::options::RemoteOptions;
use crate::client::pins::Declaration;
use crate::client::rate_limit::RateLimit;
use crate::client::rights::{self, ROOTS};
use crate::client::routes::{CallRoutes, RelayedRequest, ServerLog};
use crate::client::tasks::TaskTools;
use rmcp::model::{
    CancelledNotificationParam, ClientConfig, ClientJsonRpcMessage, ClientResult, CustomResult,
    ErrorCode, ErrorData, Implementation, JsonRpcMessage, RequestId,
    ResourceUpdatedNotificationParam, ServerJsonRpcMessage, ServerNotification, ServerRequest,
};
use rmcp::service::{NotificationContext, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::{ClientHandler, RoleClient};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::Receiver;
use tokio::sync::{Notify, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep_until, timeout_at};
use tool_core::call::LogLevel;
use tool_core::text::truncate;
use tool_core::time;

/// Handles notifications that a list has changed, and declares what the host allows.
#[derive(Clone)]
pub(crate) struct ListChanges {
    /// Wakes the task that checks the lists again.
    pub(crate) changed: Arc<ChangedLists>,
    pub(crate) changes: ChangeSender,
    pub(crate) routes: CallRoutes,
    pub(crate) tasks: TaskTools,
    pub(crate) calls: DirectCalls,
    pub(crate) options: Arc<RemoteOptions>,
}

impl ClientHandler for ListChanges {
    fn get_info(&self) -> ClientConfig {
        let mut info = ClientConfig::default();
        info.client_info = Implementation::new("tool-adapters", env!("CARGO_PKG_VERSION"));
        info.capabilities = self.options.rights.capabilities();
        info.capabilities.extensions = self.options.shows_pages.then(rights::pages_extension);
        info
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.note(Declaration::Tool);
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.note(Declaration::Prompt);
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.note(Declaration::Resource);
    }

    async fn on_resource_updated(
        &self,
        updated: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.changes.send(ServerChange::Resource(updated.uri));
    }
}

impl Drop for ListChanges {
    /// Wakes the task that watches the list, so that it ends with the connection.
    fn drop(&mut self) {
        self.changed.wake();
    }
}

/// The requests that calls may work on at the same time.
const MAX_RELAYED: usize = 100;

/// The requests beyond the limit that are refused in the time of a [`RateLimit`]. Further ones are
/// dropped.
const MAX_REFUSED: u32 = 800;

/// The answers that may wait for a server to read them.
const MAX_WAITING: usize = 1_000;

const MAX_ID: usize = 100;

/// Maximum number of bytes of the URI of a resource.
pub(crate) const MAX_URI: usize = 2_000;

/// A transport that drops notifications beyond a [`RateLimit`], as rmcp logs each of them and
/// starts a task for it. It passes progress and requests to the calls to which they belong, and
/// answers requests itself, because rmcp logs their ids as the server writes them, and the answers
/// of users.
pub(crate) struct LimitedNotices<T> {
    transport: T,
    calls: DirectCalls,
    /// The messages in the streams of calls.
    others: Option<Receiver<ServerJsonRpcMessage>>,
    changed: Arc<ChangedLists>,
    changes: ChangeSender,
    routes: CallRoutes,
    options: Arc<RemoteOptions>,
    notifications: RateLimit,
    logs: RateLimit,
    /// Nothing else uses it up, as a server takes a client for lost that does not answer its pings.
    pings: RateLimit,
    requests: RateLimit,
    refusals: RateLimit,
    /// The answers that are being sent.
    sent: JoinSet<()>,
    /// The answers that calls work on.
    answers: JoinSet<ClientJsonRpcMessage>,
    /// The answers that calls work on, by the ids of the requests.
    relayed: HashMap<RequestId, AbortHandle>,
}

impl<T> LimitedNotices<T> {
    pub(crate) fn new(
        transport: T,
        others: Option<Receiver<ServerJsonRpcMessage>>,
        changes: &ListChanges,
    ) -> Self {
        Self {
            transport,
            calls: changes.calls.clone(),
            others,
            changed: Arc::clone(&changes.changed),
            changes: changes.changes.clone(),
            routes: changes.routes.clone(),
            options: Arc::clone(&changes.options),
            notifications: RateLimit::new("notifications"),
            logs: RateLimit::new("log messages"),
            pings: RateLimit::new("pings"),
            requests: RateLimit::new("requests"),
            refusals: RateLimit::of("requests", MAX_REFUSED),
            sent: JoinSet::new(),
            answers: JoinSet::new(),
            relayed: HashMap::new(),
        }
    }

    /// Passes a change on that is not reported to rmcp.
    fn note(&self, change: NotedChange) {
        match change {
            NotedChange::List(kind) => self.changed.note(kind),
            NotedChange::Resource(uri) => self.changes.send(ServerChange::Resource(uri)),
        }
    }

    /// Logs a message of the server: for the only call in flight, or by itself.
    fn log(&mut self, message: &impl Serialize) {
        if !self.logs.admits() {
            return;
        }
        let message = serde_json::to_value(message).unwrap_or_default();
        let credentials = &self.options.credentials;
        let level = LogLevel::deserialize(&message["level"]).unwrap_or(LogLevel::Info);
        let logger = credentials.display(&truncate(
            message["logger"].as_str().unwrap_or_default(),
            MAX_ID,
        ));
        let data = match &message["data"] {
            Value::String(data) => credentials.display(data),
            data => credentials.display(&data.to_string()),
        };
        let Some(ServerLog { logger, data, .. }) = self.routes.log(ServerLog {
            level,
            logger,
            data,
        }) else {
            return;
        };
        let server = self.options.name.escape_debug();
        match level {
            LogLevel::Debug => tracing::debug!(%server, logger, data, "a server logged a message"),
            LogLevel::Info | LogLevel::Notice => {
                tracing::info!(%server, logger, data, "a server logged a message");
            }
            LogLevel::Warning => tracing::warn!(%server, logger, data, "a server logged a message"),
            _ => tracing::error!(%server, logger, data, "a server logged a message"),
        }
    }

    /// Notes the answer to a request that was given up, if it is one.
    fn note_late_answer(&self, message: &ServerJsonRpcMessage) {
        if let Some(id) = direct::answered(message) {
            self.routes.note_answer(id);
        }
    }

    /// Withdraws a request that a call works on. Returns false if there is none.
    fn withdraw(&mut self, cancelled: &CancelledNotificationParam) -> bool {
        let relayed = cancelled
            .request_id
            .as_ref()
            .and_then(|id| self.relayed.remove(id));
        relayed.inspect(AbortHandle::abort).is_some()
    }
}

/// Returns the method and the parameters of a request.
fn parts(request: &ServerRequest) -> (String, Value) {
    let mut request = serde_json::to_value(request).unwrap_or_default();
    let method = request["method"].as_str().unwrap_or_default().to_owned();
    (method, request["params"].take())
}

fn refused(why: &'static str) -> ErrorData {
    ErrorData::new(ErrorCode::INVALID_REQUEST, why, None)
}

fn result(value: Value, id: RequestId) -> ClientJsonRpcMessage {
    JsonRpcMessage::response(ClientResult::CustomResult(CustomResult::new(value)), id)
}

impl<T: Transport<RoleClient>> LimitedNotices<T> {
    /// Answers a request, or passes it to the call to which it belongs. Drops one with an id that
    /// is not usual, and those of a server that sends far too many, or reads no answers.
    fn answer(&mut self, request: &ServerRequest, id: &RequestId) {
        let is_usual = match id {
            RequestId::Number(_) => true,
            RequestId::String(id) => id.len() <= MAX_ID && !id.contains(char::is_control),
        };
        if !is_usual || self.sent.len() >= MAX_WAITING {
            return;
        }
        if let ServerRequest::PingRequest(_) = request {
            if self.pings.admits() {
                let answer = ClientResult::empty(());
                self.send_answer(JsonRpcMessage::response(answer, id.clone()));
            }
            return;
        }
        let answered = if self.requests.admits() {
            self.answer_or_relay(request, id)
        } else if self.refusals.admits() {
            Err(refused(
                "too many requests in a short time; ask again later",
            ))
        } else {
            return;
        };
        match answered {
            Ok(None) => {}
            Ok(Some(value)) => self.send_answer(result(value, id.clone())),
            Err(error) => self.send_answer(JsonRpcMessage::error(error, Some(id.clone()))),
        }
    }

    /// Returns the answer to a request, or `None` if a call works on it.
    fn answer_or_relay(
        &mut self,
        request: &ServerRequest,
        id: &RequestId,
    ) -> Result<Option<Value>, ErrorData> {
        let (method, params) = parts(request);
        if method == ROOTS
            && let Some(roots) = self.options.rights.list_roots()
        {
            return Ok(Some(roots));
        }
        if !self.options.rights.relays(&method) {
            return Err(rights::refused(&method));
        }
        self.relay(method, params, id).map(|()| None)
    }

    fn send_answer(&mut self, answer: ClientJsonRpcMessage) {
        let sending = self.transport.send(answer);
        self.sent.spawn(async move {
            _ = sending.await;
        });
    }

    /// Passes a request to its call. Fails if the call is not known.
    fn relay(&mut self, method: String, params: Value, id: &RequestId) -> Result<(), ErrorData> {
        if self.answers.len() >= MAX_RELAYED {
            return Err(refused("too many requests are being answered"));
        }
        if self.relayed.contains_key(id) {
            return Err(refused("a request with this id is being answered"));
        }
        let task = params["_meta"]["io.modelcontextprotocol/related-task"]["taskId"]
            .as_str()
            .map(str::to_owned);
        let (answer, answered) = oneshot::channel();
        let request = RelayedRequest {
            method,
            params,
            answer,
        };
        self.routes
            .relay(id, task.as_deref(), request)
            .map_err(refused)?;
        let own_id = id.clone();
        let handle = self.answers.spawn(async move {
            match answered.await {
                Ok(Ok(value)) => result(value, own_id),
                Ok(Err(error)) => JsonRpcMessage::error(error, Some(own_id)),
                Err(_) => JsonRpcMessage::error(
                    refused("the call to which the request belongs has ended"),
                    Some(own_id),
                ),
            }
        });
        self.relayed.retain(|_, relayed| !relayed.is_finished());
        self.relayed.insert(id.clone(), handle);
        Ok(())
    }

    /// Handles a notification, or returns the change of which it tells if rmcp is to see it too.
    fn notice(&mut self, notification: &ServerNotification) -> Notice {
        match notification {
            ServerNotification::ProgressNotification(update) => {
                self.routes.progress(&update.params);
                Notice::Handled
            }
            ServerNotification::LoggingMessageNotification(message) => {
                self.log(&message.params);
                Notice::Handled
            }
            ServerNotification::CancelledNotification(cancelled)
                if self.withdraw(&cancelled.params) =>
            {
                Notice::Handled
            }
            ServerNotification::CustomNotification(status)
                if status.method == "notifications/tasks/status" =>
            {
                let text = |name: &str| status.params.as_ref()?.get(name)?.as_str();
                if let Some((task, message)) = text("taskId").zip(text("statusMessage")) {
                    self.routes.status(task, message);
                }
                Notice::Handled
            }
            ServerNotification::ToolListChangedNotification(_) => {
                Notice::Change(NotedChange::List(Declaration::Tool))
            }
            ServerNotification::PromptListChangedNotification(_) => {
                Notice::Change(NotedChange::List(Declaration::Prompt))
            }
            ServerNotification::ResourceListChangedNotification(_) => {
                Notice::Change(NotedChange::List(Declaration::Resource))
            }
            ServerNotification::ResourceUpdatedNotification(updated)
                if updated.params.uri.len() > MAX_URI =>
            {
                Notice::Handled
            }
            ServerNotification::ResourceUpdatedNotification(updated) => {
                Notice::Change(NotedChange::Resource(updated.params.uri.clone()))
            }
            _ => Notice::Other,
        }
    }
}

/// The rest of the work on a notification.
enum Notice {
    Handled,
    Change(NotedChange),
    Other,
}

/// A change of which a server notifies.
enum NotedChange {
    List(Declaration),
    Resource(String),
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for LimitedNotices<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        self.transport.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let message = tokio::select! {
                biased;
                Some(_) = self.sent.join_next() => continue,
                Some(answered) = self.answers.join_next() => {
                    if let Ok(answer) = answered {
                        self.send_answer(answer);
                    }
                    continue;
                }
                Some(message) = next(&mut self.others) => message,
                message = self.transport.receive() => message?,
            };
            let notice = match &message {
                JsonRpcMessage::Request(request) => {
                    self.answer(&request.request, &request.id);
                    continue;
                }
                JsonRpcMessage::Notification(sent) => self.notice(&sent.notification),
                _ => match self.calls.take_message(message) {
                    Some(message) => {
                        self.note_late_answer(&message);
                        return Some(message);
                    }
                    None => continue,
                },
            };
            match notice {
                Notice::Change(_) | Notice::Other if self.notifications.admits() => {
                    return Some(message);
                }
                Notice::Change(change) => self.note(change),
                Notice::Handled | Notice::Other => {}
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), T::Error>> + Send {
        // A server that does not read its answers would keep the connection open.
        self.sent.abort_all();
        self.answers.abort_all();
        self.transport.close()
    }
}

async fn next(others: &mut Option<Receiver<ServerJsonRpcMessage>>) -> Option<ServerJsonRpcMessage> {
    others.as_mut()?.recv().await
}

impl<T> Drop for LimitedNotices<T> {
    fn drop(&mut self) {
        self.calls.close();
    }
}

/// The pause after a reaction to a change, which doubles while changes keep coming.
pub(crate) struct Pause(Duration);

impl Pause {
    const MIN: Duration = Duration::from_secs(1);
    const MAX: Duration = Duration::from_secs(30);

    pub(crate) fn new() -> Self {
        Self(Self::MIN)
    }

    /// Waits for the next change, but for the pause at least.
    pub(crate) async fn until_next(&mut self, changed: &Notify) {
        let end = time::after(Instant::now(), self.0);
        if timeout_at(end, changed.notified()).await.is_ok() {
            sleep_until(end).await;
            self.0 = (self.0 * 2).min(Self::MAX);
        } else {
            self.0 = Self::MIN;
            changed.notified().await;
        }
    }
}
