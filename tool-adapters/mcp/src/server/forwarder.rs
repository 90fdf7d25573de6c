//! The progress and the log messages of a running call, as notifications to its client.

#![expect(
    deprecated,
    reason = "revision 2026-07-28 deprecates logging, and still serves it"
)]

use crate::mailbox::Mailbox;
use parking_lot::Mutex;
use rmcp::RoleServer;
use rmcp::model::{
    LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken,
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
}

impl Wanted {
    /// Returns true if the client asks for no notifications.
    pub(crate) fn is_nothing(&self) -> bool {
        self.progress.is_none() && self.log.is_none()
    }
}

/// Takes the notifications of a call, for its forwarder. Clones are cheap.
pub(crate) struct Notifier {
    mailbox: Arc<Mutex<Mailbox<Notification>>>,
    progress: bool,
    log: Option<LogLevel>,
}

/// The characters of a message about progress. The streams of a session keep some, for clients that
/// lose their connection.
const MAX_MESSAGE: usize = 16 << 10;

enum Notification {
    Progress(ProgressUpdate),
    Log(Box<LogMessage>),
}

impl Notifier {
    /// Makes a call report what its client asks for.
    pub(crate) fn listen(self, mut call: ToolCall) -> ToolCall {
        if self.progress {
            let mailbox = Arc::clone(&self.mailbox);
            call = call.on_update(move |update| {
                let mut update = update.clone();
                if update.message.len() > MAX_MESSAGE {
                    update.message = truncate(&update.message, MAX_MESSAGE);
                }
                mailbox
                    .lock()
                    .push(Notification::Progress(update), CAPACITY);
            });
        }
        let Some(least) = self.log else { return call };
        let mailbox = self.mailbox;
        call.on_log(move |message| {
            if message.level >= least {
                mailbox
                    .lock()
                    .push(Notification::Log(Box::new(message.clone())), CAPACITY);
            }
        })
    }
}

/// The number of notifications that may wait. Further ones are dropped, so that the tool is not
/// held up.
const CAPACITY: usize = 256;

/// The notifications about a call that wait for its client.
pub(crate) struct Notices {
    token: Option<ProgressToken>,
    mailbox: Arc<Mutex<Mailbox<Notification>>>,
}

impl Notices {
    pub(crate) fn new(wanted: Wanted) -> Option<(Notifier, Self)> {
        if wanted.is_nothing() {
            return None;
        }
        let mailbox = Arc::<Mutex<_>>::default();
        let notifier = Notifier {
            mailbox: Arc::clone(&mailbox),
            progress: wanted.progress.is_some(),
            log: wanted.log,
        };
        Some((
            notifier,
            Self {
                token: wanted.progress,
                mailbox,
            },
        ))
    }

    /// Waits for a notification. Never returns once the call has ended.
    pub(crate) async fn arrived(&self) {
        poll_fn(|cx| self.mailbox.lock().poll_arrived(cx)).await;
    }
}

/// Sends the updates of a call as `notifications/progress`, and its log messages as
/// `notifications/message`.
pub(crate) struct Forwarder {
    notices: Notices,
    peer: Peer<RoleServer>,
    last: f64,
}

impl Forwarder {
    pub(crate) fn new(notices: Notices, peer: &Peer<RoleServer>) -> Self {
        Self {
            notices,
            peer: peer.clone(),
            last: -1.0,
        }
    }

    /// Waits for the next notification and sends it. Never returns once the call has ended.
    pub(crate) async fn forward_next(&mut self) {
        let notification = poll_fn(|cx| self.notices.mailbox.lock().poll_next(cx)).await;
        self.send(notification).await;
    }

    pub(crate) async fn forward_rest(&mut self) {
        while let Some(notification) = self.next_at_once() {
            self.send(notification).await;
        }
    }

    fn next_at_once(&self) -> Option<Notification> {
        self.notices.mailbox.lock().pop()
    }

    async fn send(&mut self, notification: Notification) {
        let sent = match notification {
            Notification::Progress(update) => self.send_progress(update).await,
            Notification::Log(message) => {
                let mut params =
                    LoggingMessageNotificationParam::new(sent(message.level), message.data);
                params.logger = Some(message.logger).filter(|logger| !logger.is_empty());
                self.peer.notify_logging_message(params).await
            }
        };
        if let Err(error) = sent {
            tracing::debug!(%error, "failed to send a notification");
        }
    }

    async fn send_progress(&mut self, update: ProgressUpdate) -> Result<(), rmcp::ServiceError> {
        let Some(token) = self.notices.token.clone() else {
            return Ok(());
        };
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
        self.peer.notify_progress(params).await
    }
}
