//! The audit log: a record of each answered call and each request for a prompt or a resource, with
//! redacted arguments, in a file or in PostgreSQL.

use crate::audit_sinks::{AuditRecord, AuditSinks};
use crate::policy_file::AuditSettings;
use crate::unlisted::UnlistedResources;
use jiff::Timestamp;
use parking_lot::{Mutex, RwLock};
use std::collections::HashMap;
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use tool_core::session::{Hook, HookFuture, HookedCall, HookedRequest, Next, RequestKind};
use tool_core::text::truncate;
use tool_core::time::whole_milliseconds;
use tool_core::trace::{self, Cost, Redaction};
use tool_core::{ErrorKind, ToolContext, ToolError, ToolResponse};

/// The characters of arguments, and of a name or an error, that a record has.
const MAX_ARGUMENTS: usize = 4_000;
const MAX_TEXT: usize = 500;

/// The records that wait to be written. Calls wait once there are more.
const QUEUE: usize = 4_096;

/// The places in the queue that stay free for the records of calls under way, if records are
/// required.
const RESERVED: usize = 1_024;

/// The records that are written without waiting for others, and as many may come until they are.
const BATCH: usize = 1_024;

/// The time for which a record waits for others. Each write costs the calls at that time some
/// microseconds, and a process that is killed loses the records of this time.
const COLLECT: Duration = Duration::from_millis(50);

/// The longest wait of a request for a place in the queue, which is also that of the runtime for a
/// hook.
const SEND: Duration = Duration::from_secs(1);

/// The longest wait for the last records.
const FLUSH: Duration = Duration::from_secs(5);

enum Message {
    Record(Box<NewRecord>),
    /// Lets a writer without records see that the file is to be opened again.
    Wake,
    /// Answers once all earlier records are written.
    Flush(oneshot::Sender<()>),
}

/// A record before its name and its arguments are redacted, which the writer does.
struct NewRecord {
    record: AuditRecord,
    /// The policies at the time of the call. `None` once the arguments are redacted.
    view: Option<Arc<AuditView>>,
}

impl NewRecord {
    fn redacted(self) -> AuditRecord {
        let Self { mut record, view } = self;
        if let Some(view) = view {
            (record.name, record.arguments) = view.redacted(&record.name, &record.arguments);
        }
        record
    }
}

/// The log, with the queue of its records.
pub(crate) struct Audit {
    queue: Option<Sender<Message>>,
    state: Arc<AuditState>,
    required: bool,
    shared: RwLock<Arc<AuditView>>,
    writer: Mutex<Option<WriterThread>>,
}

/// The parts of the current policies that a record needs.
#[derive(Default)]
pub(crate) struct AuditView {
    pub(crate) redaction: Redaction,
    /// The tools, prompts and resources that are offered.
    pub(crate) offered: Option<ToolContext>,
    /// The server of each tool by its name, of each `prompt:NAME` and of each `resource:URI`.
    pub(crate) servers: HashMap<String, Arc<str>>,
    /// The prices of calls, by tool.
    pub(crate) costs: HashMap<String, Cost>,
    pub(crate) unlisted: Option<Arc<UnlistedResources>>,
}

impl AuditView {
    /// Returns a text of a client or server as a record has it. A long one is cut before it is
    /// searched for secrets.
    fn shown(&self, text: &str) -> String {
        truncate(
            &self.redaction.text(&truncate(text, 4 * MAX_TEXT)),
            MAX_TEXT,
        )
    }

    fn redacted(&self, name: &str, arguments: &str) -> (String, String) {
        (
            self.shown(name),
            self.redaction.json_up_to(arguments, MAX_ARGUMENTS),
        )
    }

    fn server_of(&self, kind: RequestKind, name: &str) -> Option<&Arc<str>> {
        match kind {
            RequestKind::Prompt => self.servers.get(&format!("prompt:{name}")),
            RequestKind::Completion => {
                let template = self.servers.get(&format!("resource:{name}"));
                template.or_else(|| self.servers.get(&format!("prompt:{name}")))
            }
            RequestKind::Resource | RequestKind::Subscription => {
                // The URI may be one of a template.
                let (resource, _) = self.offered.as_ref()?.resource(name)?;
                if !resource.is_listed() {
                    return self.unlisted.as_ref()?.server_of(name);
                }
                self.servers.get(&format!("resource:{}", resource.uri()))
            }
            _ => self
                .servers
                .get(name)
                .filter(|_| !name.starts_with("prompt:") && !name.starts_with("resource:")),
        }
    }
}

#[derive(Default)]
struct AuditState {
    /// True while records cannot be written.
    failing: AtomicBool,
    /// True if the file was rotated, and is opened again before the next write.
    is_rotated: AtomicBool,
    written: AtomicU64,
    lost: AtomicU64,
}

impl Audit {
    /// Opens the log.
    pub(crate) async fn open(settings: &AuditSettings) -> Result<Self, String> {
        let state = Arc::<AuditState>::default();
        let mut queue = None;
        let mut writer = None;
        if settings.file.is_some() || settings.postgres.is_some() {
            let thread = WriterThread::start()?;
            let opened = settings.clone();
            let sinks = thread
                .handle
                .spawn(async move { AuditSinks::open(&opened).await })
                .await
                .map_err(|error| error.to_string())??;
            let (sender, messages) = channel(QUEUE);
            thread
                .handle
                .spawn(write_all(sinks, messages, Arc::clone(&state)));
            (queue, writer) = (Some(sender), Some(thread));
        }
        Ok(Self {
            queue,
            state,
            required: settings.required,
            shared: RwLock::default(),
            writer: Mutex::new(writer),
        })
    }

    pub(crate) fn set_view(&self, view: AuditView) {
        let earlier = std::mem::replace(&mut *self.shared.write(), Arc::new(view));
        drop(earlier);
    }

    fn view(&self) -> Arc<AuditView> {
        Arc::clone(&self.shared.read())
    }

    /// Returns the server of a resource that is offered.
    pub(crate) fn server_of_resource(&self, uri: &str) -> Option<Arc<str>> {
        self.view().server_of(RequestKind::Resource, uri).cloned()
    }

    /// Returns the resources that no server lists.
    pub(crate) fn unlisted(&self) -> Option<Arc<UnlistedResources>> {
        self.view().unlisted.clone()
    }

    /// Notes the links in the result of a call.
    fn note_links(&self, tool: &str, response: &ToolResponse) {
        let Some(result) = response
            .original()
            .filter(|result| UnlistedResources::may_link(result))
        else {
            return;
        };
        let view = self.view();
        if let (Some(unlisted), Some(server)) =
            (&view.unlisted, view.server_of(RequestKind::Call, tool))
        {
            unlisted.note(server, result);
        }
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

    /// Returns true if what begins now will have a record.
    pub(crate) fn can_record(&self) -> bool {
        let queue = self.queue.as_ref();
        !self.is_failing() && queue.is_none_or(|queue| queue.capacity() >= RESERVED)
    }

    pub(crate) fn is_required(&self) -> bool {
        self.required
    }

    /// Opens the file again, after it was rotated, also while records cannot be written to it.
    pub(crate) fn reopen(&self) {
        self.state.is_rotated.store(true, Ordering::Relaxed);
        if let Some(queue) = &self.queue {
            // The writer looks before each write, so a full queue needs no message.
            _ = queue.try_send(Message::Wake);
        }
    }

    /// Waits until all records so far are written, for some seconds.
    pub(crate) async fn flush(&self) {
        let Some(queue) = &self.queue else {
            return;
        };
        let (done, flushed) = oneshot::channel();
        let flush = async {
            if queue.send(Message::Flush(done)).await.is_ok() {
                _ = flushed.await;
            }
        };
        if timeout(FLUSH, flush).await.is_err() {
            tracing::error!("the last records of the audit log could not be written");
        }
    }

    /// Stops the writer, after [`flush`](Self::flush).
    pub(crate) fn stop(&self) {
        self.writer.lock().take();
    }

    /// Returns the record of something that has not been answered: of a session with its principal,
    /// in a turn.
    fn unanswered(
        &self,
        of: (&str, &str, u64),
        kind: RequestKind,
        name: &str,
        arguments: &str,
    ) -> NewRecord {
        let (view, (session, principal, turn)) = (self.view(), of);
        // Long texts do not wait in the queue.
        let is_long = arguments.len() > MAX_ARGUMENTS || name.len() > MAX_TEXT;
        let server = view
            .server_of(kind, name)
            .map(ToString::to_string)
            .unwrap_or_default();
        let as_sent = || (name.to_owned(), arguments.to_owned());
        let (name, arguments) = if is_long {
            view.redacted(name, arguments)
        } else {
            as_sent()
        };
        let record = AuditRecord {
            time: Timestamp::now(),
            session: session.to_owned(),
            principal: principal.to_owned(),
            turn,
            call: String::new(),
            server,
            method: match kind {
                RequestKind::Prompt => "prompts/get",
                RequestKind::Resource => "resources/read",
                RequestKind::Completion => "completion/complete",
                RequestKind::Subscription => "resources/subscribe",
                _ => "tools/call",
            },
            name,
            arguments,
            outcome: ErrorKind::Cancelled.as_str(),
            error: None,
            duration_ms: 0,
            characters: 0,
            reasons: Vec::new(),
            decided_by: None,
            asked_arguments: None,
        };
        NewRecord {
            record,
            view: (!is_long).then_some(view),
        }
    }

    fn record(&self, call: &HookedCall<'_>, response: &ToolResponse) -> NewRecord {
        let error = response.error();
        let meta = response.meta();
        let of = (call.session, call.principal, call.turn);
        let mut new = self.unanswered(of, RequestKind::Call, call.tool.name(), call.arguments);
        new.record.time = began(meta.duration());
        // Its server may be gone from the view by now.
        if let Some(server) = call.tool.upstream() {
            server.clone_into(&mut new.record.server);
        }
        call.call_id.clone_into(&mut new.record.call);
        new.record.outcome = error.map_or("OK", |error| error.kind.as_str());
        new.record.error = error.map(|error| self.view().shown(&error.message));
        (new.record.duration_ms, new.record.characters) =
            (whole_milliseconds(meta.duration()), meta.size_chars());
        self.note_approval(call, response, &mut new.record);
        new
    }

    /// Notes the approval that a call needs, or the decision that a person has made.
    fn note_approval(
        &self,
        call: &HookedCall<'_>,
        response: &ToolResponse,
        record: &mut AuditRecord,
    ) {
        let of_confirmation = response.meta().confirmation().map(|asked| &*asked.reasons);
        let of_decision = call.decision.map(|decision| decision.reasons);
        let Some(reasons) = of_decision.or(of_confirmation) else {
            return;
        };
        let view = self.view();
        let shown = reasons.iter().map(|reason| view.shown(&reason.to_string()));
        record.reasons = shown.collect();
        let by = call.decision.and_then(|decision| decision.by);
        record.decided_by = by.map(|by| view.shown(by));
        let asked = call.decision.and_then(|decision| decision.asked_arguments);
        record.asked_arguments = asked.map(|asked| view.redaction.json_up_to(asked, MAX_ARGUMENTS));
    }

    /// Refuses to do something while its record cannot be written, or might be lost.
    fn check(&self) -> Result<(), ToolError> {
        if self.required && !self.can_record() {
            let message =
                "nothing was done, because the gateway cannot write its audit log; try again later";
            return Err(ToolError::transient(message));
        }
        Ok(())
    }

    /// Adds a record to the queue. If that has to wait, the runtime drops the future after a
    /// second.
    fn send(&self, record: NewRecord) -> HookFuture<'_, ()> {
        let Some(queue) = &self.queue else {
            return Box::pin(ready(()));
        };
        match queue.try_send(Message::Record(Box::new(record))) {
            Ok(()) => Box::pin(ready(())),
            Err(error) => {
                let lost = CountOnDrop(&self.state.lost);
                Box::pin(async move {
                    if queue.send(error.into_inner()).await.is_ok() {
                        std::mem::forget(lost);
                    }
                })
            }
        }
    }
}

/// The thread of the writer. On a thread of calls, its timers and writes would delay them.
struct WriterThread {
    handle: Handle,
    runtime: Option<Runtime>,
}

impl WriterThread {
    fn start() -> Result<Self, String> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("audit")
            .enable_all()
            .build();
        let runtime = runtime.map_err(|error| format!("audit: {error}"))?;
        Ok(Self {
            handle: runtime.handle().clone(),
            runtime: Some(runtime),
        })
    }
}

impl Drop for WriterThread {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The hook that records calls and requests, charges the prices of calls, and notes the links in their results.
pub(crate) struct GatewayHook(pub(crate) Arc<Audit>);

impl Hook for GatewayHook {
    fn only_after(&self) -> bool {
        !self.0.required && self.0.shared.read().costs.is_empty()
    }

    fn before<'a>(&'a self, _: &'a HookedCall<'a>) -> HookFuture<'a, Result<(), ToolError>> {
        Box::pin(ready(self.0.check()))
    }

    fn after<'a>(
        &'a self,
        call: &'a HookedCall<'a>,
        response: &'a mut ToolResponse,
    ) -> HookFuture<'a, ()> {
        self.0.note_links(call.tool.name(), response);
        if self.0.queue.is_none() {
            return Box::pin(ready(()));
        }
        self.0.send(self.0.record(call, response))
    }

    fn around<'a>(
        &'a self,
        call: &'a HookedCall<'a>,
        next: Next<'a>,
    ) -> HookFuture<'a, ToolResponse> {
        if let Some(cost) = self.0.view().costs.get(call.tool.name()) {
            trace::record_cost(call.tool.name().to_owned(), *cost);
        }
        next.run()
    }

    fn around_request<'a>(
        &'a self,
        request: &'a HookedRequest<'a>,
        next: HookFuture<'a, Result<(), ToolError>>,
    ) -> HookFuture<'a, Result<(), ToolError>> {
        if self.0.queue.is_none() {
            return next;
        }
        Box::pin(async move {
            self.0.check()?;
            let HookedRequest {
                session,
                principal,
                turn,
                kind,
                name,
                arguments,
                ..
            } = *request;
            let record = Some(
                self.0
                    .unanswered((session, principal, turn), kind, name, arguments),
            );
            let mut open = OpenRequest {
                audit: &self.0,
                began: Instant::now(),
                record,
            };
            let outcome = next.await;
            if let Some(mut new) = open.finish() {
                // The server of an unlisted resource is known once it has answered.
                if let (true, Some(server)) = (
                    new.record.server.is_empty(),
                    self.0.view().server_of(kind, name),
                ) {
                    new.record.server = server.to_string();
                }
                new.record.outcome = outcome
                    .as_ref()
                    .map_or_else(|error| error.kind().as_str(), |()| "OK");
                new.record.error = outcome
                    .as_ref()
                    .err()
                    .map(|error| self.0.view().shown(error.message()));
                _ = timeout(SEND, self.0.send(new)).await;
            }
            outcome
        })
    }
}

/// A request that is being answered. It leaves a record if its client gives it up.
struct OpenRequest<'a> {
    audit: &'a Audit,
    began: Instant,
    record: Option<NewRecord>,
}

impl OpenRequest<'_> {
    fn finish(&mut self) -> Option<NewRecord> {
        let mut new = self.record.take()?;
        new.record.duration_ms = whole_milliseconds(self.began.elapsed());
        Some(new)
    }
}

impl Drop for OpenRequest<'_> {
    fn drop(&mut self) {
        if let Some(record) = self.finish() {
            // Counted as lost if the queue is full, as nothing can wait here.
            drop(self.audit.send(record));
        }
    }
}

/// Returns the time at which something began that took this long and has just ended.
fn began(duration: Duration) -> Timestamp {
    let now = Timestamp::now();
    now.checked_sub(duration).unwrap_or(now)
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
        if batch.len() < BATCH
            && batch
                .iter()
                .all(|message| matches!(message, Message::Record(_)))
        {
            sleep(COLLECT).await;
            batch.extend(std::iter::from_fn(|| messages.try_recv().ok()).take(BATCH));
        }
        let mut records = Vec::new();
        let mut waiting = Vec::new();
        for message in batch.drain(..) {
            match message {
                Message::Record(record) => records.push(record.redacted()),
                Message::Wake => {}
                Message::Flush(done) => waiting.push(done),
            }
        }
        if records.is_empty() {
            reopen_if_rotated(&mut sinks, &state);
        } else {
            write_until_done(&mut sinks, &records, &state).await;
        }
        for done in waiting {
            _ = done.send(());
        }
    }
}

/// Opens the file again if it was rotated since the last look. Returns true if so.
fn reopen_if_rotated(sinks: &mut AuditSinks, state: &AuditState) -> bool {
    let is_rotated = state.is_rotated.swap(false, Ordering::Relaxed);
    if is_rotated {
        sinks.reopen();
    }
    is_rotated
}

/// Writes records, again and again until it succeeds. Meanwhile records queue up, and then calls
/// wait. A file that was rotated meanwhile gets them from the first.
async fn write_until_done(sinks: &mut AuditSinks, records: &[AuditRecord], state: &AuditState) {
    let mut done = 0;
    let mut pause = Duration::from_millis(100);
    loop {
        if reopen_if_rotated(sinks, state) {
            done = 0;
        }
        let Err(error) = sinks.write(records, &mut done).await else {
            break;
        };
        if !state.failing.swap(true, Ordering::Relaxed) {
            tracing::error!(%error, "failed to write the audit log; it is tried again");
        }
        sleep(pause).await;
        pause = (pause * 2).min(Duration::from_secs(10));
    }
    if state.failing.swap(false, Ordering::Relaxed) {
        tracing::warn!("the audit log is written again");
    }
    state
        .written
        .fetch_add(records.len() as u64, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_full_queue_does_not_keep_the_gateway_from_its_end() {
        let (queue, _messages) = channel(1);
        queue.try_send(Message::Wake).expect("room for one");
        let audit = Audit {
            queue: Some(queue),
            state: Arc::default(),
            required: false,
            shared: RwLock::default(),
            writer: Mutex::default(),
        };
        timeout(2 * FLUSH, audit.flush()).await.expect("it ends");
        audit.reopen();
        assert!(audit.state.is_rotated.load(Ordering::Relaxed));
    }

    // T13
    #[test]
    fn nothing_is_done_while_a_required_record_might_be_lost() {
        let (queue, mut messages) = channel(QUEUE);
        let audit = Audit {
            queue: Some(queue.clone()),
            state: Arc::default(),
            required: true,
            shared: RwLock::default(),
            writer: Mutex::default(),
        };
        for _ in 0..QUEUE - RESERVED {
            assert!(audit.check().is_ok());
            queue.try_send(Message::Wake).expect("a place");
        }
        assert!(audit.check().is_ok());
        queue.try_send(Message::Wake).expect("a place");
        let refused = audit.check().expect_err("the records do not get away");
        assert_eq!(refused.kind(), ErrorKind::Transient);

        messages.try_recv().expect("a message");
        assert!(audit.check().is_ok());
    }

    #[test]
    fn a_tool_with_a_colon_in_its_name_has_its_server() {
        let names = ["git:status", "prompt:status"].map(|name| (name.to_owned(), Arc::from("git")));
        let view = AuditView {
            servers: HashMap::from(names),
            ..AuditView::default()
        };
        let server_of = |kind, name| view.server_of(kind, name).map(|server| &**server);
        assert_eq!(server_of(RequestKind::Call, "git:status"), Some("git"));
        assert_eq!(server_of(RequestKind::Prompt, "status"), Some("git"));
        assert_eq!(
            server_of(RequestKind::Call, "prompt:status"),
            None,
            "the prompt `status` is no tool"
        );
    }
}
