//! Notifications and requests of a server. A server may send any number of them, so their number, the requests that they
//! cause, and the lines that they log are bounded.

use crate::mcp::client::progress::ProgressRoutes;
use crate::mcp::client::tasks::TaskTools;
use rmcp::model::{
    ClientConfig, ClientResult, ErrorCode, ErrorData, Implementation, JsonRpcMessage, RequestId, ServerNotification,
    ServerRequest,
};
use rmcp::service::{NotificationContext, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::{ClientHandler, RoleClient};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout_at};
use tool_core::time;

/// Handles notifications that the list has changed. The server gets no access to the user or a model.
pub(crate) struct ListChanges {
    pub(crate) changed: Arc<Notify>,
    pub(crate) progress: ProgressRoutes,
    pub(crate) tasks: TaskTools,
}

impl ClientHandler for ListChanges {
    fn get_info(&self) -> ClientConfig {
        let mut info = ClientConfig::default();
        info.client_info = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        info
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }
}

impl Drop for ListChanges {
    /// Wakes the task that watches the list, so that it ends with the connection.
    fn drop(&mut self) {
        self.changed.notify_one();
    }
}

/// The notifications that are handled in a [`WINDOW`], the requests, and the answers that may wait for a server to read them.
const MAX_NOTICES: u32 = 100;

const MAX_ID: usize = 100;

const WINDOW: Duration = Duration::from_secs(10);

/// A limit of [`MAX_NOTICES`] in a [`WINDOW`].
pub(crate) struct RateLimit {
    what: &'static str,
    window: Instant,
    passed: u32,
}

impl RateLimit {
    pub(crate) fn new(what: &'static str) -> Self {
        Self { what, window: Instant::now(), passed: 0 }
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

/// A transport that drops notifications beyond [`MAX_NOTICES`], as rmcp logs each of them and starts a task for it. It passes
/// progress to the calls, and answers requests itself, because rmcp logs their ids as the server writes them.
pub(crate) struct LimitedNotices<T> {
    transport: T,
    changed: Arc<Notify>,
    progress: ProgressRoutes,
    notifications: RateLimit,
    updates: RateLimit,
    /// Notifications use up none of it, as a server takes a client for lost that does not answer its pings.
    requests: RateLimit,
    answers: JoinSet<()>,
}

impl<T> LimitedNotices<T> {
    pub(crate) fn new(transport: T, changes: &ListChanges) -> Self {
        Self {
            transport,
            changed: Arc::clone(&changes.changed),
            progress: changes.progress.clone(),
            notifications: RateLimit::new("notifications"),
            updates: RateLimit::new("updates of progress"),
            requests: RateLimit::new("requests"),
            answers: JoinSet::new(),
        }
    }
}

impl<T: Transport<RoleClient>> LimitedNotices<T> {
    /// Answers a ping, and refuses other requests. Drops those beyond the limit, and those with an id that is not usual.
    fn answer(&mut self, request: &ServerRequest, id: &RequestId) {
        while self.answers.try_join_next().is_some() {}
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
            let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "the client answers pings only", None);
            JsonRpcMessage::error(error, Some(id.clone()))
        };
        let sending = self.transport.send(answer);
        self.answers.spawn(async move { _ = sending.await });
    }
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
            let message = self.transport.receive().await?;
            let is_change = match &message {
                JsonRpcMessage::Request(request) => {
                    self.answer(&request.request, &request.id);
                    continue;
                }
                JsonRpcMessage::Notification(sent) => match &sent.notification {
                    ServerNotification::ProgressNotification(update) => {
                        if self.updates.admits() {
                            self.progress.route(&update.params);
                        }
                        continue;
                    }
                    sent => matches!(sent, ServerNotification::ToolListChangedNotification(_)),
                },
                _ => return Some(message),
            };
            if self.notifications.admits() {
                return Some(message);
            }
            if is_change {
                self.changed.notify_one();
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), T::Error>> + Send {
        // A server that does not read its answers would keep the connection open.
        self.answers.abort_all();
        self.transport.close()
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
