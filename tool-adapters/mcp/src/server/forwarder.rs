//! The progress and the log messages of a running call, as notifications to its client.

#![expect(
    deprecated,
    reason = "revision 2026-07-28 deprecates logging, and still serves it"
)]

use crate::mailbox::Mailbox;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use rmcp::RoleServer;
use rmcp::model::{
    LoggingLevel, LoggingMessageNotification, LoggingMessageNotificationParam,
    ProgressNotification, ProgressNotificationParam, ProgressToken, ServerNotification,
};
use rmcp::service::Peer;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use tool_core::ToolCall;
use tool_core::call::{LogLevel, LogMessage, ProgressUpdate};
use tool_core::text::truncate;

/// The least level of the log messages that a client takes. None until it asks for them.
#[derive(Debug, Default)]
pub(crate) struct LogThreshold(AtomicU8);

const LEVELS: [(LoggingLevel, LogLevel); 8] = [
    (LoggingLevel::Debug, LogLevel::Debug),
    (LoggingLevel::Info, LogLevel::Info),
    (LoggingLevel::Notice, LogLevel::Notice),
    (LoggingLevel::Warning, LogLevel::Warning),
    (LoggingLevel::Error, LogLevel::Error),
    (LoggingLevel::Critical, LogLevel::Critical),
    (LoggingLevel::Alert, LogLevel::Alert),
    (LoggingLevel::Emergency, LogLevel::Emergency),
];

impl LogThreshold {
    pub(crate) fn set(&self, level: LoggingLevel) {
        let at = LEVELS.iter().position(|(sent, _)| *sent == level);
        self.0.store(
            at.and_then(|at| u8::try_from(at + 1).ok())
                .unwrap_or_default(),
            Ordering::Relaxed,
        );
    }

    pub(crate) fn get(&self) -> Option<LogLevel> {
        let at = self.0.load(Ordering::Relaxed).checked_sub(1)?;
        LEVELS.get(usize::from(at)).map(|(_, level)| *level)
    }
}

/// Returns the level of a request's metadata.
pub(crate) fn level(sent: LoggingLevel) -> LogLevel {
    LEVELS
        .iter()
        .find(|(known, _)| *known == sent)
        .map_or(LogLevel::Emergency, |(_, level)| *level)
}

fn sent(level: LogLevel) -> LoggingLevel {
    LEVELS
        .iter()
        .find(|(_, known)| *known == level)
        .map_or(LoggingLevel::Emergency, |(sent, _)| *sent)
}

/// The notifications about a call that its client asks for.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) progress: Option<ProgressToken>,
    /// The least level of log messages.
    pub(crate) log: Option<LogLevel>,
    /// True if the client may repeat the request, with another token of progress. A level of the log
    /// that only the repeated request has is not heard, as a listener of the call would take the log
    /// from the one of its session.
    pub(crate) may_change: bool,
}

/// Takes the notifications of a call, for its forwarder.
pub(crate) struct Notifier {
    reports: Arc<Mutex<Reports>>,
    hears_progress: bool,
    hears_log: bool,
}

/// The characters of a message about progress. The streams of a session keep some, for clients that
/// lose their connection.
const MAX_MESSAGE: usize = 16 << 10;

/// The number of notifications that may wait. Further ones are dropped, so that the tool is not
/// held up.
const CAPACITY: usize = 256;

enum Notification {
    Progress(ProgressUpdate),
    Log(Box<LogMessage>),
}

/// The reports of a call that its client asks for.
#[derive(Default)]
struct Reports {
    wanted: Wanted,
    /// The notifications that wait for the client.
    mailbox: Mailbox<Notification>,
}

impl Reports {
    fn add_progress(&mut self, update: &ProgressUpdate) {
        if self.wanted.progress.is_none() {
            return;
        }
        let mut update = update.clone();
        if update.message.len() > MAX_MESSAGE {
            update.message = truncate(&update.message, MAX_MESSAGE);
        }
        self.mailbox.push(Notification::Progress(update), CAPACITY);
    }

    fn add_log(&mut self, message: &LogMessage) {
        if self.takes(message) {
            let message = Box::new(message.clone());
            self.mailbox.push(Notification::Log(message), CAPACITY);
        }
    }

    fn takes(&self, message: &LogMessage) -> bool {
        self.wanted.log.is_some_and(|least| message.level >= least)
    }
}

impl Notifier {
    /// Makes a call report what its client asks for.
    pub(crate) fn listen(self, mut call: ToolCall) -> ToolCall {
        if self.hears_progress {
            let reports = Arc::clone(&self.reports);
            call = call.on_update(move |update| reports.lock().add_progress(update));
        }
        if self.hears_log {
            let reports = self.reports;
            call = call.on_log(move |message| reports.lock().add_log(message));
        }
        call
    }
}

/// Sends the updates of a call as `notifications/progress`, and its log messages as
/// `notifications/message`.
pub(crate) struct Forwarder {
    reports: Arc<Mutex<Reports>>,
    /// The notification that is being sent. It is kept here, so that nothing overtakes it if the
    /// future that waits for it is dropped.
    sending: Option<BoxFuture<'static, ()>>,
    /// The last value of the progress.
    last: f64,
}

impl Forwarder {
    /// Returns the forwarder of a call. Returns `None` if its client asks for no notifications, and
    /// cannot later.
    pub(crate) fn new(wanted: Wanted) -> Option<(Notifier, Self)> {
        let hears_progress = wanted.may_change || wanted.progress.is_some();
        // A listener of the call takes the log from the one of its session.
        let hears_log = wanted.log.is_some();
        if !hears_progress && !hears_log {
            return None;
        }
        let reports = Reports {
            wanted,
            mailbox: Mailbox::default(),
        };
        let reports = Arc::new(Mutex::new(reports));
        let notifier = Notifier {
            reports: Arc::clone(&reports),
            hears_progress,
            hears_log,
        };
        let forwarder = Self {
            reports,
            sending: None,
            last: -1.0,
        };
        Some((notifier, forwarder))
    }

    /// Sets what the client asks for from now on.
    pub(crate) fn set_wanted(&self, wanted: Wanted) {
        self.reports.lock().wanted = wanted;
    }

    /// Waits for a notification. Never returns once the call has ended.
    pub(crate) fn arrived(&self) -> impl Future<Output = ()> + Send + use<> {
        let reports = Arc::clone(&self.reports);
        poll_fn(move |cx| reports.lock().mailbox.poll_arrived(cx))
    }

    /// Returns the number of notifications that wait for the client.
    pub(crate) fn waiting(&self) -> usize {
        let sending = usize::from(self.sending.is_some());
        sending + self.reports.lock().mailbox.waiting()
    }

    /// Waits for the next notification and sends it. Never returns once the call has ended. Loses
    /// nothing if it is dropped.
    pub(crate) async fn forward_next(&mut self, peer: &Peer<RoleServer>) {
        if self.sending.is_none() {
            let notification = poll_fn(|cx| self.reports.lock().mailbox.poll_next(cx)).await;
            self.sending = self.begin_sending(notification, peer);
        }
        self.end_sending().await;
    }

    /// Sends the notifications that wait.
    pub(crate) async fn forward_rest(&mut self, peer: &Peer<RoleServer>) {
        self.end_sending().await;
        while let Some(notification) = self.next_at_once() {
            self.sending = self.begin_sending(notification, peer);
            self.end_sending().await;
        }
    }

    fn next_at_once(&self) -> Option<Notification> {
        self.reports.lock().mailbox.pop()
    }

    /// Begins to send a notification, if the client still asks for it.
    fn begin_sending(
        &mut self,
        notification: Notification,
        peer: &Peer<RoleServer>,
    ) -> Option<BoxFuture<'static, ()>> {
        let notification = match notification {
            Notification::Progress(update) => self.progress(update)?,
            Notification::Log(message) => self.log(*message)?,
        };
        let peer = peer.clone();
        let sending = async move {
            if let Err(error) = peer.send_notification(notification).await {
                tracing::debug!(%error, "failed to send a notification");
            }
        };
        Some(sending.boxed())
    }

    async fn end_sending(&mut self) {
        if let Some(sending) = &mut self.sending {
            sending.await;
            self.sending = None;
        }
    }

    fn log(&self, message: LogMessage) -> Option<ServerNotification> {
        if !self.reports.lock().takes(&message) {
            return None;
        }
        let mut params = LoggingMessageNotificationParam::new(sent(message.level), message.data);
        params.logger = Some(message.logger).filter(|logger| !logger.is_empty());
        let notification = LoggingMessageNotification::new(params);
        Some(ServerNotification::LoggingMessageNotification(notification))
    }

    fn progress(&mut self, update: ProgressUpdate) -> Option<ServerNotification> {
        let token = self.reports.lock().wanted.progress.clone()?;
        // As the tool counts, or in percent.
        let (done, total) = match (update.counted, update.fraction) {
            (Some(counted), _) => (counted.done, counted.total),
            (None, Some(fraction)) => (fraction * 100.0, Some(100.0)),
            (None, None) => (f64::MIN, None),
        };
        // The protocol requires increasing values, even if the tool gives none.
        let step = if self.last < 0.0 { 1.0 } else { 0.01 };
        self.last = if done > self.last && done.is_finite() {
            done
        } else {
            self.last + step
        };
        let mut params = ProgressNotificationParam::new(token, self.last);
        params.message = Some(update.message).filter(|message| !message.is_empty());
        params.total = total.filter(|total| total.is_finite());
        let notification = ProgressNotification::new(params);
        Some(ServerNotification::ProgressNotification(notification))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::{ClientJsonRpcMessage, NumberOrString, ServerJsonRpcMessage};
    use rmcp::service::serve_directly;
    use rmcp::transport::Transport;
    use std::convert::Infallible;
    use std::future::{pending, ready};

    struct Idle;

    impl rmcp::ServerHandler for Idle {}

    /// A client that takes each message, and sends none.
    struct SilentClient;

    impl Transport<RoleServer> for SilentClient {
        type Error = Infallible;

        fn send(
            &mut self,
            _: ServerJsonRpcMessage,
        ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
            ready(Ok(()))
        }

        async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
            pending().await
        }

        async fn close(&mut self) -> Result<(), Infallible> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn nothing_overtakes_a_notification_on_its_way() {
        let service = serve_directly(Idle, SilentClient, None);
        let wanted = Wanted {
            progress: Some(ProgressToken(NumberOrString::Number(1))),
            ..Wanted::default()
        };
        let (notifier, mut forwarder) = Forwarder::new(wanted).expect("a forwarder");
        let update = serde_json::json!({"message": "half way", "fraction": 0.5});
        let update = serde_json::from_value(update).expect("an update");
        notifier.reports.lock().add_progress(&update);

        // The response of a call drops this future.
        let sent = forwarder.forward_next(service.peer()).now_or_never();
        assert_eq!(sent, None, "it is on its way");
        let rest = forwarder.forward_rest(service.peer()).now_or_never();
        assert_eq!(rest, None, "it is waited for");
        forwarder.forward_rest(service.peer()).await;
        assert!(forwarder.sending.is_none());
    }
}
