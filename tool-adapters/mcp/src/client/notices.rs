//! Notifications and requests of a server. A server may send any number of them, so their number,
//! the requests that they cause, and the lines that they log are bounded.

use crate::client::changes::{ChangeSender, ChangedLists, ServerChange};
use crate::client::direct::DirectCalls;
use crate::client::options::RemoteOptions;
use crate::client::pins::Declaration;
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

/// The notifications that are handled in a [`WINDOW`], the requests, and the answers that may wait
/// for a server to read them.
const MAX_NOTICES: u32 = 100;

const MAX_ID: usize = 100;

/// Maximum number of bytes of the URI of a resource.
pub(crate) const MAX_URI: usize = 2_000;

const WINDOW: Duration = Duration::from_secs(10);

/// A limit of [`MAX_NOTICES`] in a [`WINDOW`].
pub(crate) struct RateLimit {
    what: &'static str,
    window: Instant,
    passed: u32,
}

impl RateLimit {
    pub(crate) fn new(what: &'static str) -> Self {
        Self {
            what,
            window: Instant::now(),
            passed: 0,
        }
    }

    /// Counts a message. Returns false if it is dropped.
    pub(crate) fn admits(&mut self) -> bool {
        if self.window.elapsed() >= WINDOW {
            (self.window, self.passed) = (Instant::now(), 0);
        }
        self.passed = self.passed.saturating_add(1);
        if self.passed == MAX_NOTICES + 1 {
            tracing::warn!("dropped {} of a server that sends too many", self.what);
        }
        self.passed <= MAX_NOTICES
    }
}

/// A transport that drops notifications beyond [`MAX_NOTICES`], as rmcp logs each of them and
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
    updates: RateLimit,
    logs: RateLimit,
    /// Notifications use up none of it, as a server takes a client for lost that does not answer
    /// its pings.
    requests: RateLimit,
    /// Answers that calls work on, and that are being sent. A task returns the answer that is to be
    /// sent.
    answers: JoinSet<Option<ClientJsonRpcMessage>>,
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
            updates: RateLimit::new("updates of progress"),
            logs: RateLimit::new("log messages"),
            requests: RateLimit::new("requests"),
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

fn result(value: Value, id: RequestId) -> ClientJsonRpcMessage {
    JsonRpcMessage::response(ClientResult::CustomResult(CustomResult::new(value)), id)
}

impl<T: Transport<RoleClient>> LimitedNotices<T> {
    /// Answers a request, or passes it to the call to which it belongs. Drops those beyond the
    /// limit, and those with an id that is not usual.
    fn answer(&mut self, request: &ServerRequest, id: &RequestId) {
        let is_usual = match id {
            RequestId::Number(_) => true,
            RequestId::String(id) => id.len() <= MAX_ID && !id.contains(char::is_control),
        };
        if !self.requests.admits() || !is_usual || self.answers.len() >= MAX_NOTICES as usize {
            return;
        }
        let answer = if let ServerRequest::PingRequest(_) = request {
            JsonRpcMessage::response(ClientResult::empty(()), id.clone())
        } else {
            let (method, params) = parts(request);
            let roots = if method == ROOTS {
                self.options.rights.list_roots()
            } else {
                None
            };
            let answered = match roots {
                Some(roots) => Ok(roots),
                None if self.options.rights.relays(&method) => match self.relay(method, params, id)
                {
                    Ok(()) => return,
                    Err(error) => Err(error),
                },
                None => Err(rights::refused(&method)),
            };
            answered.map_or_else(
                |error| JsonRpcMessage::error(error, Some(id.clone())),
                |value| result(value, id.clone()),
            )
        };
        self.send_answer(answer);
    }

    fn send_answer(&mut self, answer: ClientJsonRpcMessage) {
        let sending = self.transport.send(answer);
        self.answers.spawn(async move {
            _ = sending.await;
            None
        });
    }

    /// Passes a request to its call. Fails if the call is not known.
    fn relay(&mut self, method: String, params: Value, id: &RequestId) -> Result<(), ErrorData> {
        let refused = |why: &'static str| ErrorData::new(ErrorCode::INVALID_REQUEST, why, None);
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
            Some(match answered.await {
                Ok(Ok(value)) => result(value, own_id),
                Ok(Err(error)) => JsonRpcMessage::error(error, Some(own_id)),
                Err(_) => JsonRpcMessage::error(
                    refused("the call to which the request belongs has ended"),
                    Some(own_id),
                ),
            })
        });
        self.relayed.retain(|_, relayed| !relayed.is_finished());
        self.relayed.insert(id.clone(), handle);
        Ok(())
    }

    /// Handles a notification, or returns the change of which it tells if rmcp is to see it too.
    fn notice(&mut self, notification: &ServerNotification) -> Notice {
        match notification {
            ServerNotification::ProgressNotification(update) => {
                if self.updates.admits() {
                    self.routes.progress(&update.params);
                }
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
                if let Some((task, message)) = text("taskId").zip(text("statusMessage"))
                    && self.updates.admits()
                {
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
                Some(answered) = self.answers.join_next() => {
                    if let Ok(Some(answer)) = answered {
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
                    Some(message) => return Some(message),
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
