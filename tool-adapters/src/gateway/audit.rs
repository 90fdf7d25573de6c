//! The audit log: a record of each answered call, with redacted arguments, in a file or in PostgreSQL.

use crate::gateway::audit_sinks::{AuditRecord, AuditSinks};
use crate::gateway::policy::AuditSettings;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tool_core::session::{Hook, HookFuture, HookedCall};
use tool_core::text::truncate;
use tool_core::trace::Redaction;
use tool_core::{ToolError, ToolResponse};

/// The characters of arguments and of an error that a record has.
const MAX_ARGUMENTS: usize = 4_000;
const MAX_ERROR: usize = 500;

/// The records that wait to be written. Calls wait once there are more.
const QUEUE: usize = 4_096;

/// The records that are written together.
const BATCH: usize = 256;

/// The time for which a record waits for others, so that a file is not written for each call.
const COLLECT: Duration = Duration::from_millis(5);

/// The longest wait for the last records.
const FLUSH: Duration = Duration::from_secs(5);

enum Message {
    Record(Box<AuditRecord>),
    /// Opens the file again, after it was rotated.
    Reopen,
    /// Answers once all earlier records are written.
    Flush(oneshot::Sender<()>),
}

/// The hook that records calls.
pub(crate) struct Audit {
    queue: Option<Sender<Message>>,
    state: Arc<AuditState>,
    required: bool,
    shared: Arc<RwLock<AuditView>>,
    writer: std::sync::Mutex<Option<JoinHandle<()>>>,
}

/// The parts of the current policies that a record needs.
#[derive(Default)]
pub(crate) struct AuditView {
    pub(crate) redaction: Redaction,
    pub(crate) servers: HashMap<String, Arc<str>>,
}

#[derive(Default)]
struct AuditState {
    /// True while records cannot be written.
    failing: AtomicBool,
    written: AtomicU64,
    lost: AtomicU64,
}

impl Audit {
    /// Opens the log.
    pub(crate) async fn open(settings: &AuditSettings) -> Result<Self, String> {
        let (state, shared) = (Arc::<AuditState>::default(), Arc::default());
        let writer = match (&settings.file, &settings.postgres) {
            (None, None) => None,
            (file, postgres) => {
                Some(AuditSinks::open(file.as_deref(), postgres.as_ref().map(|url| url.as_str())).await?)
            }
        };
        let (queue, writer) = match writer {
            Some(sinks) => {
                let (queue, messages) = channel(QUEUE);
                (Some(queue), Some(tokio::spawn(write_all(sinks, messages, Arc::clone(&state)))))
            }
            None => (None, None),
        };
        Ok(Self { queue, state, required: settings.required, shared, writer: std::sync::Mutex::new(writer) })
    }

    pub(crate) fn set_view(&self, view: AuditView) {
        let earlier = std::mem::replace(&mut *self.shared.write().unwrap_or_else(PoisonError::into_inner), view);
        drop(earlier);
    }

    pub(crate) fn written(&self) -> u64 {
        self.state.written.load(Ordering::Relaxed)
    }

    pub(crate) fn lost(&self) -> u64 {
        self.state.lost.load(Ordering::Relaxed)
    }

    pub(crate) fn is_failing(&self) -> bool {
        self.state.failing.load(Ordering::Relaxed)
    }

    pub(crate) fn is_required(&self) -> bool {
        self.required
    }

    /// Opens the file again, after it was rotated.
    pub(crate) async fn reopen(&self) {
        if let Some(queue) = &self.queue {
            _ = queue.send(Message::Reopen).await;
        }
    }

    /// Waits until all records so far are written, for some seconds.
    pub(crate) async fn flush(&self) {
        let (done, flushed) = oneshot::channel();
        if let Some(queue) = &self.queue
            && queue.send(Message::Flush(done)).await.is_ok()
        {
            _ = timeout(FLUSH, flushed).await;
        }
    }

    /// Stops the writer, after [`flush`](Self::flush).
    pub(crate) fn stop(&self) {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = writer {
            writer.abort();
        }
    }

    fn record(&self, call: &HookedCall<'_>, response: &ToolResponse) -> AuditRecord {
        let view = self.shared.read().unwrap_or_else(PoisonError::into_inner);
        let error = response.error();
        let meta = response.meta();
        AuditRecord {
            time: jiff::Timestamp::now().to_string(),
            session: call.session.to_owned(),
            principal: call.principal.to_owned(),
            turn: call.turn,
            call: call.call_id.to_owned(),
            server: view.servers.get(call.tool.name()).map(ToString::to_string).unwrap_or_default(),
            tool: call.tool.name().to_owned(),
            arguments: view.redaction.json_up_to(call.arguments, MAX_ARGUMENTS),
            outcome: error.map_or("OK", |error| error.kind.as_str()).to_owned(),
            error: error.map(|error| truncate(&view.redaction.text(&error.message), MAX_ERROR)),
            duration_ms: u64::try_from(meta.duration().as_millis()).unwrap_or(u64::MAX),
            characters: meta.size_chars(),
        }
    }
}

/// The hook over a shared log.
pub(crate) struct AuditHook(pub(crate) Arc<Audit>);

impl Hook for AuditHook {
    fn before<'a>(&'a self, _: &'a HookedCall<'a>) -> HookFuture<'a, Result<(), ToolError>> {
        let refuses = self.0.required && self.0.is_failing();
        Box::pin(std::future::ready(if refuses {
            Err(ToolError::transient(
                "the call was not made, because the gateway cannot write its audit log; try again later",
            ))
        } else {
            Ok(())
        }))
    }

    fn after<'a>(&'a self, call: &'a HookedCall<'a>, response: &'a mut ToolResponse) -> HookFuture<'a, ()> {
        let Some(queue) = &self.0.queue else { return Box::pin(std::future::ready(())) };
        let message = Message::Record(Box::new(self.0.record(call, response)));
        match queue.try_send(message) {
            Ok(()) => Box::pin(std::future::ready(())),
            Err(error) => Box::pin(async move {
                // The runtime waits for a second, and drops this future then.
                let lost = CountOnDrop(&self.0.state.lost);
                if queue.send(error.into_inner()).await.is_ok() {
                    std::mem::forget(lost);
                }
            }),
        }
    }
}

/// Counts a record that was dropped.
struct CountOnDrop<'a>(&'a AtomicU64);

impl Drop for CountOnDrop<'_> {
    fn drop(&mut self) {
        if self.0.fetch_add(1, Ordering::Relaxed) == 0 {
            tracing::error!("the audit log is too slow; a record is lost");
        }
    }
}

async fn write_all(mut sinks: AuditSinks, mut messages: Receiver<Message>, state: Arc<AuditState>) {
    let mut batch = Vec::new();
    while messages.recv_many(&mut batch, BATCH).await > 0 {
        if batch.iter().all(|message| matches!(message, Message::Record(_))) {
            sleep(COLLECT).await;
            batch.extend(std::iter::from_fn(|| messages.try_recv().ok()).take(BATCH));
        }
        let (mut records, mut waiting, mut reopens) = (Vec::new(), Vec::new(), false);
        for message in batch.drain(..) {
            match message {
                Message::Record(record) => records.push(*record),
                Message::Reopen => reopens = true,
                Message::Flush(done) => waiting.push(done),
            }
        }
        if !records.is_empty() {
            write_until_done(&mut sinks, &records, &state).await;
        }
        if reopens {
            sinks.reopen().await;
        }
        for done in waiting {
            _ = done.send(());
        }
    }
}

/// Writes records, again and again until it succeeds. Meanwhile records queue up, and then calls wait.
async fn write_until_done(sinks: &mut AuditSinks, records: &[AuditRecord], state: &AuditState) {
    let (mut done, mut pause) = (0, Duration::from_millis(100));
    while let Err(error) = sinks.write(records, &mut done).await {
        if !state.failing.swap(true, Ordering::Relaxed) {
            tracing::error!(%error, "failed to write the audit log; it is tried again");
        }
        sleep(pause).await;
        pause = (pause * 2).min(Duration::from_secs(10));
    }
    if state.failing.swap(false, Ordering::Relaxed) {
        tracing::warn!("the audit log is written again");
    }
    state.written.fetch_add(records.len() as u64, Ordering::Relaxed);
}
