//! The sessions of clients over HTTP: their messages, between the requests that bring them and rmcp's handler.
//!
//! rmcp's handler is a task with channels for messages of half a kilobyte, which takes more memory than all the rest of a
//! session. So it runs only while it serves requests: the first of them starts it, and it ends once all are answered. Sessions
//! are opened without it, unless the request is unusual.

use crate::mcp::server::client::{Client, Identity};
use crate::mcp::server::connection::Connection;
use crate::mcp::server::request_ids::{RandomIds, random_id};
use crate::transport::quota::Share;
use futures_util::{Stream, stream};
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, GetExtensions, GetMeta, JsonRpcMessage, ProgressToken, RequestId,
    ServerJsonRpcMessage, ServerNotification,
};
use rmcp::service::{OriginatingRequestId, serve_directly_with_ct};
use rmcp::transport::Transport;
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};
use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{OwnedPermit, Receiver, Sender, WeakSender, channel};
use tokio::time::{Instant, sleep_until};
use tool_core::{CancellationToken, time};

/// The messages that wait on their way in either direction, and the events of a stream that are kept for a client that has lost it.
const CAPACITY: usize = 16;

/// The bytes of the events that a session keeps. The newest event is kept even if it is larger.
const MAX_KEPT: usize = 1 << 20;

/// The further streams that a client may have open beside the one that has the messages of no request.
const MAX_IDLE_STREAMS: usize = 32;

/// The time after which a client that has lost a stream should request it again.
const RETRY: Duration = Duration::from_secs(3);

/// The client that opens a session, and the session's place.
pub(crate) type Opener = (Client, Share<Identity>);

tokio::task_local! {
    /// The handler and the opener of the session that a request opens.
    pub(crate) static OPENING: (Arc<Connection>, Cell<Option<Opener>>);
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionError {
    #[error("the session has ended")]
    Ended,
    #[error("a stream of no request that runs; send the request again")]
    UnknownEvent,
    #[error("the request that opens a session was not checked, or no random bytes were available")]
    NotOpened,
}

type SessionResult<T> = Result<T, SessionError>;

/// The sessions that are open.
pub(crate) struct HttpSessions {
    idle_timeout: Duration,
    shutdown: CancellationToken,
    open: Arc<Mutex<OpenSessions>>,
}

#[derive(Default)]
struct OpenSessions {
    sessions: HashMap<SessionId, Arc<HttpSession>>,
    /// True while a task ends those that are idle.
    are_watched: bool,
}

struct HttpSession {
    opener: Opener,
    connection: Arc<Connection>,
    streams: Arc<Mutex<Streams>>,
    /// The way to the handler, if it runs.
    handler: Mutex<Option<WeakSender<Box<ClientJsonRpcMessage>>>>,
    ended: CancellationToken,
}

/// A handler that runs, because requests are not answered. It ends when no clone is left. Messages are boxed, as a channel has a
/// place for 32 from the beginning.
#[derive(Clone)]
pub(crate) struct RunningHandler(Sender<Box<ClientJsonRpcMessage>>);

/// The streams of a session.
#[derive(Clone)]
pub(crate) struct SessionStreams(Arc<Mutex<Streams>>);

impl Default for SessionStreams {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Streams::new())))
    }
}

impl SessionStreams {
    /// Sends a notification on the session's own stream.
    pub(crate) async fn notify(&self, notification: ServerNotification) {
        _ = send(Arc::clone(&self.0), ServerJsonRpcMessage::notification(notification)).await;
    }
}

impl HttpSessions {
    /// `shutdown` ends all sessions.
    pub(crate) fn new(idle_timeout: Duration, shutdown: CancellationToken) -> Self {
        Self { idle_timeout, shutdown, open: Arc::default() }
    }

    /// Returns the handler of a session, if the client has opened it. The session is in use then.
    pub(crate) fn connection(&self, client: &Client, id: &str) -> Option<Arc<Connection>> {
        let open = lock(&self.open);
        let session = open.sessions.get(id).filter(|session| client.owns(&session.opener.0))?;
        lock(&session.streams).used = Instant::now();
        Some(Arc::clone(&session.connection))
    }

    fn session(&self, id: &str) -> SessionResult<Arc<HttpSession>> {
        lock(&self.open).sessions.get(id).map(Arc::clone).ok_or(SessionError::Ended)
    }

    /// Opens a session, and returns its id. `handler` is the way to its handler, if it runs.
    pub(crate) fn open(
        &self,
        (opener, connection): (Opener, Arc<Connection>),
        SessionStreams(streams): SessionStreams,
        handler: Option<WeakSender<Box<ClientJsonRpcMessage>>>,
    ) -> SessionResult<SessionId> {
        let id = SessionId::from(random_id().map_err(|_| SessionError::NotOpened)?);
        let (handler, ended) = (Mutex::new(handler), self.shutdown.child_token());
        let session = HttpSession { opener, connection, streams, handler, ended };
        let mut open = lock(&self.open);
        open.sessions.insert(Arc::clone(&id), Arc::new(session));
        if !std::mem::replace(&mut open.are_watched, true) {
            tokio::spawn(end_idle(Arc::downgrade(&self.open), self.idle_timeout, self.shutdown.clone()));
        }
        Ok(id)
    }

    /// Ends a session, if it is open.
    pub(crate) fn end(&self, id: &str) {
        let ended = lock(&self.open).sessions.remove(id);
        if let Some(session) = ended {
            session.end();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the sessions that are idle for a time, and all at the shutdown, until none is open.
async fn end_idle(open: Weak<Mutex<OpenSessions>>, idle_timeout: Duration, shutdown: CancellationToken) {
    // Sessions that are idle one after the other are ended together.
    let (mut next, pause) = (Instant::now(), idle_timeout / 64);
    loop {
        let is_over = shutdown.run_until_cancelled(sleep_until(next)).await.is_none();
        let Some(open) = open.upgrade() else { return };
        let now = Instant::now();
        let end_of = |session: &HttpSession| time::after(lock(&session.streams).used, idle_timeout);
        let (idle, earliest) = {
            let mut open = lock(&open);
            let is_idle = |session: &HttpSession| is_over || end_of(session) <= now;
            let idle = open.sessions.extract_if(|_, session| is_idle(session)).collect::<Vec<_>>();
            let earliest = open.sessions.values().map(|session| end_of(session)).min();
            open.are_watched = earliest.is_some();
            (idle, earliest)
        };
        for (_, session) in idle {
            session.end();
        }
        let Some(earliest) = earliest else { return };
        next = earliest.max(time::after(now, pause));
    }
}

impl HttpSession {
    /// Ends what runs in the session, which is open no more. Its place is free once it is dropped.
    fn end(&self) {
        self.ended.cancel();
        let ended = std::mem::replace(&mut *lock(&self.streams), Streams::new());
        drop(ended);
    }

    /// Returns the handler of the session. Starts it unless it runs.
    fn handler(self: &Arc<Self>) -> RunningHandler {
        let mut handler = lock(&self.handler);
        if let Some(running) = handler.as_ref().and_then(WeakSender::upgrade) {
            return RunningHandler(running);
        }
        let (to_handler, from_client) = channel(CAPACITY);
        *handler = Some(to_handler.downgrade());
        drop(handler);
        let transport = RandomIds::new(HttpTransport { from_client, streams: Arc::clone(&self.streams) });
        let (connection, client) = (Arc::clone(&self.connection), self.connection.initialized().cloned());
        let running = serve_directly_with_ct(connection, transport, client, self.ended.child_token());
        let session = Arc::clone(self);
        tokio::spawn(async move {
            _ = running.waiting().await;
            // Another one may have been started.
            lock(&session.handler).take_if(|handler| handler.strong_count() == 0);
        });
        RunningHandler(to_handler)
    }

    /// Passes a request on to the handler, and returns the stream of its answer.
    async fn ask(self: &Arc<Self>, mut message: ClientJsonRpcMessage) -> SessionResult<Receiver<Event>> {
        let handler = self.handler();
        if let JsonRpcMessage::Request(request) = &mut message {
            request.request.extensions_mut().insert(handler.clone());
        }
        let events = lock(&self.streams).of_request(&message, Some(handler.clone()));
        handler.0.send(Box::new(message)).await.map_err(|_| SessionError::Ended)?;
        Ok(events)
    }
}

impl SessionManager for HttpSessions {
    type Error = SessionError;
    type Transport = RandomIds<HttpTransport>;

    async fn create_session(&self) -> SessionResult<(SessionId, Self::Transport)> {
        let opening = OPENING.try_with(|(connection, opener)| opener.take().zip(Some(Arc::clone(connection))));
        let (opener, connection) = opening.ok().flatten().ok_or(SessionError::NotOpened)?;
        let (to_handler, from_client) = channel(CAPACITY);
        let (streams, handler) = (SessionStreams::default(), to_handler.downgrade());
        // The handler waits for the first request.
        lock(&streams.0).own.handler = Some(RunningHandler(to_handler));
        let transport = HttpTransport { from_client, streams: Arc::clone(&streams.0) };
        Ok((self.open((opener, connection), streams, Some(handler))?, RandomIds::new(transport)))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> SessionResult<ServerJsonRpcMessage> {
        let session = self.session(id)?;
        if let JsonRpcMessage::Request(request) = &mut message {
            request.request.extensions_mut().insert(SessionStreams(Arc::clone(&session.streams)));
        }
        let mut events = session.ask(message).await?;
        lock(&session.streams).own.handler = None;
        loop {
            let event = events.recv().await.ok_or(SessionError::Ended)?;
            if let Some(message) = event.message {
                // The stream has the only other copy, and has ended.
                return Ok(Arc::unwrap_or_clone(message));
            }
        }
    }

    async fn has_session(&self, id: &SessionId) -> SessionResult<bool> {
        Ok(lock(&self.open).sessions.contains_key(id))
    }

    /// Ends a session that could not be opened. rmcp calls this also when the handler that opened a session has ended.
    async fn close_session(&self, id: &SessionId) -> SessionResult<()> {
        if self.session(id).is_ok_and(|session| session.connection.initialized().is_none()) {
            self.end(id);
        }
        Ok(())
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> SessionResult<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static> {
        Ok(events(self.session(id)?.ask(message).await?))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> SessionResult<()> {
        let session = self.session(id)?;
        if let JsonRpcMessage::Notification(sent) = &message
            && let ClientNotification::CancelledNotification(cancelled) = &sent.notification
            && let Some(request) = &cancelled.params.request_id
        {
            lock(&session.streams).end(&Cause::Request(request.clone()));
        }
        let handler = lock(&session.handler).as_ref().and_then(WeakSender::upgrade);
        match handler {
            Some(handler) => handler.send(Box::new(message)).await.map_err(|_| SessionError::Ended),
            // It answers or cancels nothing, and no notification starts anything.
            None => Ok(()),
        }
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> SessionResult<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static> {
        Ok(events(lock(&self.session(id)?.streams).resume_own(0)))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event: String,
    ) -> SessionResult<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static> {
        let session = self.session(id)?;
        let resumed = lock(&session.streams).resume(&last_event);
        Ok(events(resumed.ok_or(SessionError::UnknownEvent)?))
    }
}

/// An event on its way. Boxed, as a channel has a place for 32 from the beginning.
type Event = Box<ServerSseMessage>;

fn events(receiver: Receiver<Event>) -> impl Stream<Item = ServerSseMessage> + Send + Sync + 'static {
    stream::unfold(receiver, async |mut receiver| receiver.recv().await.map(|event| (*event, receiver)))
}

/// The streams of events of a session.
struct Streams {
    /// The last request of the client, or message to it.
    used: Instant,
    /// The number of requests that have come.
    requests: u64,
    /// The streams of requests that are not answered.
    of_requests: HashMap<u64, EventStream>,
    /// The number of the request whose stream has the messages that belong to a request or its progress.
    numbers: HashMap<Cause, u64>,
    /// The numbers of the requests whose answer waits for the client to request the stream again.
    kept: VecDeque<u64>,
    /// The stream of the session, which has the messages that belong to no request.
    own: EventStream,
    /// Further streams of the session, on which nothing is sent.
    idle: VecDeque<Sender<Event>>,
    events: Arc<KeptEvents>,
}

/// The request to which a message belongs, or its progress.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Cause {
    Request(RequestId),
    Progress(ProgressToken),
}

impl Streams {
    fn new() -> Self {
        let events = Arc::default();
        Self {
            used: Instant::now(),
            requests: 0,
            of_requests: HashMap::new(),
            numbers: HashMap::new(),
            kept: VecDeque::new(),
            own: EventStream::new(None, &events).0,
            idle: VecDeque::new(),
            events,
        }
    }

    /// Opens the stream of a request.
    fn of_request(&mut self, message: &ClientJsonRpcMessage, handler: Option<RunningHandler>) -> Receiver<Event> {
        let number = self.requests;
        self.requests += 1;
        let (mut stream, events) = EventStream::new(Some(number), &self.events);
        stream.handler = handler;
        if let Ok(place) = stream.sender.clone().try_reserve_owned() {
            // A client that has this event can request the stream again.
            place.send(stream.record(ServerSseMessage::retry(RETRY)).into());
        }
        if let JsonRpcMessage::Request(request) = message {
            // The stream of an earlier request with this id gets no answer.
            self.end(&Cause::Request(request.id.clone()));
            let progress = request.request.get_meta().get_progress_token().map(Cause::Progress);
            let causes = progress.into_iter().chain([Cause::Request(request.id.clone())]);
            self.numbers.extend(causes.map(|cause| (cause, number)));
        }
        self.of_requests.insert(number, stream);
        events
    }

    /// Ends the stream of a request. Returns it with its number.
    fn end(&mut self, request: &Cause) -> Option<(u64, EventStream)> {
        let number = self.numbers.remove(request)?;
        self.numbers.retain(|_, other| *other != number);
        Some((number, self.of_requests.remove(&number)?))
    }

    /// Keeps a stream whose answer has not reached the client.
    fn keep(&mut self, (number, mut stream): (u64, EventStream)) {
        stream.handler = None;
        self.kept.push_back(number);
        if self.kept.len() > CAPACITY
            && let Some(oldest) = self.kept.pop_front()
        {
            self.of_requests.remove(&oldest);
        }
        self.of_requests.insert(number, stream);
    }

    /// Drops the oldest events beyond the bytes that a session keeps. The newest one stays.
    fn trim(&mut self) {
        while self.events.bytes.load(Ordering::Relaxed) > MAX_KEPT {
            let streams = self.of_requests.values_mut().chain([&mut self.own]);
            let oldest = streams.filter_map(|stream| Some((stream.last.back()?.at, stream))).min_by_key(|(at, _)| *at);
            let Some((_, stream)) = oldest.filter(|(at, _)| at + 1 < self.events.count.load(Ordering::Relaxed)) else {
                return;
            };
            stream.last.pop_back();
            // Without its answer the stream is unknown, so that the client sends the request again.
            if let Some(number) = stream.number.filter(|number| stream.last.is_empty() && self.kept.contains(number)) {
                self.kept.retain(|kept| *kept != number);
                self.of_requests.remove(&number);
            }
        }
    }

    /// Returns the stream of a message, or `None` for the answer to a request that is not awaited.
    fn stream_of(&mut self, message: &ServerJsonRpcMessage) -> Option<&mut EventStream> {
        let cause = cause(message);
        match cause.and_then(|cause| self.numbers.get(&cause)).and_then(|number| self.of_requests.get_mut(number)) {
            Some(stream) => Some(stream),
            None => answered(message).is_none().then_some(&mut self.own),
        }
    }

    /// Resumes a stream after an event, whose id has the index of the event and the number of the stream's request.
    fn resume(&mut self, last_event: &str) -> Option<Receiver<Event>> {
        match last_event.split_once('/') {
            None => Some(self.resume_own(last_event.parse().ok()?)),
            Some((index, number)) => {
                let (index, number) = (index.parse().ok()?, number.parse().ok()?);
                let events = self.of_requests.get_mut(&number)?.resume(index);
                if let Some(at) = self.kept.iter().position(|kept| *kept == number) {
                    // It ends with its answer.
                    self.kept.remove(at);
                    self.of_requests.remove(&number);
                }
                Some(events)
            }
        }
    }

    /// Resumes the session's own stream, or opens one on which nothing is sent if the client has it.
    fn resume_own(&mut self, last: u64) -> Receiver<Event> {
        if self.own.sender.is_closed() {
            return self.own.resume(last);
        }
        let (sender, events) = channel(1);
        self.idle.retain(|sender| !sender.is_closed());
        self.idle.truncate(MAX_IDLE_STREAMS - 1);
        self.idle.push_front(sender);
        events
    }
}

fn cause(message: &ServerJsonRpcMessage) -> Option<Cause> {
    match message {
        JsonRpcMessage::Request(request) => {
            let origin = request.request.extensions().get::<OriginatingRequestId>();
            origin.map(|origin| Cause::Request(origin.0.clone()))
        }
        JsonRpcMessage::Notification(sent) => match &sent.notification {
            ServerNotification::ProgressNotification(progress) => {
                Some(Cause::Progress(progress.params.progress_token.clone()))
            }
            ServerNotification::CancelledNotification(cancelled) => {
                cancelled.params.request_id.clone().map(Cause::Request)
            }
            _ => None,
        },
        JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => answered(message),
    }
}

/// Returns the request that a message answers.
fn answered(message: &ServerJsonRpcMessage) -> Option<Cause> {
    match message {
        JsonRpcMessage::Response(response) => Some(Cause::Request(response.id.clone())),
        JsonRpcMessage::Error(error) => error.id.clone().map(Cause::Request),
        _ => None,
    }
}

/// A stream of events, with the last ones of it.
struct EventStream {
    /// The number of its request.
    number: Option<u64>,
    sender: Sender<Event>,
    /// The number of events that there have been.
    count: u64,
    last: VecDeque<KeptEvent>,
    events: Arc<KeptEvents>,
    /// The handler, while the request is not answered.
    handler: Option<RunningHandler>,
}

/// The events that a session keeps: their bytes, and the number of those that there have been.
#[derive(Default)]
struct KeptEvents {
    bytes: AtomicUsize,
    count: AtomicU64,
}

/// An event that is kept. Its bytes are counted until it is dropped.
struct KeptEvent {
    event: ServerSseMessage,
    bytes: usize,
    /// The number of events of the session before it.
    at: u64,
    events: Arc<KeptEvents>,
}

impl KeptEvent {
    fn new(event: ServerSseMessage, events: &Arc<KeptEvents>) -> Self {
        let text = event.message.as_ref().and_then(|message| serde_json::to_string(&**message).ok());
        let (bytes, at) = (text.map_or(0, |text| text.len()), events.count.fetch_add(1, Ordering::Relaxed));
        events.bytes.fetch_add(bytes, Ordering::Relaxed);
        Self { event, bytes, at, events: Arc::clone(events) }
    }
}

impl Drop for KeptEvent {
    fn drop(&mut self) {
        self.events.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl EventStream {
    fn new(number: Option<u64>, events: &Arc<KeptEvents>) -> (Self, Receiver<Event>) {
        let (sender, receiver) = channel(CAPACITY);
        // The session's own stream begins with an event 0 of rmcp.
        let count = u64::from(number.is_none());
        (Self { number, sender, count, last: VecDeque::new(), events: Arc::clone(events), handler: None }, receiver)
    }

    /// Keeps an event, and returns it with its id.
    fn record(&mut self, mut event: ServerSseMessage) -> ServerSseMessage {
        event.event_id = Some(match self.number {
            Some(number) => format!("{}/{number}", self.count),
            None => self.count.to_string(),
        });
        self.count += 1;
        self.last.truncate(CAPACITY - 1);
        self.last.push_front(KeptEvent::new(event.clone(), &self.events));
        event
    }

    /// Returns the stream again, from the event after `last` on.
    fn resume(&mut self, last: u64) -> Receiver<Event> {
        let (sender, events) = channel(CAPACITY);
        let missed = usize::try_from(self.count.saturating_sub(last + 1)).unwrap_or(usize::MAX);
        for kept in self.last.iter().take(missed).rev() {
            // As many are kept as there is room for.
            _ = sender.try_send(kept.event.clone().into());
        }
        self.sender = sender;
        events
    }
}

/// The handler's side of a session.
pub(crate) struct HttpTransport {
    from_client: Receiver<Box<ClientJsonRpcMessage>>,
    streams: Arc<Mutex<Streams>>,
}

impl Transport<RoleServer> for HttpTransport {
    type Error = SessionError;

    fn send(&mut self, message: ServerJsonRpcMessage) -> impl Future<Output = SessionResult<()>> + Send + 'static {
        send(Arc::clone(&self.streams), message)
    }

    /// Returns the next message of the client, or `None` once no request is left.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.from_client.recv().await.map(|message| *message)
    }

    async fn close(&mut self) -> SessionResult<()> {
        Ok(())
    }
}

/// Sends a message on its stream. Waits while the client does not take its events.
async fn send(streams: Arc<Mutex<Streams>>, message: ServerJsonRpcMessage) -> SessionResult<()> {
    let mut reserved = None;
    loop {
        let full = {
            let mut streams = lock(&streams);
            streams.used = Instant::now();
            let Some(stream) = streams.stream_of(&message) else { return Ok(()) };
            let place = match reserved.take() {
                // The client may have requested the stream again meanwhile.
                Some(place) if OwnedPermit::same_channel_as_sender(&place, &stream.sender) => Ok(place),
                _ => stream.sender.clone().try_reserve_owned(),
            };
            match place {
                Err(TrySendError::Full(sender)) => sender,
                place => {
                    let answered = answered(&message);
                    let event = stream.record(ServerSseMessage::from_message(message));
                    // Without a client the event is kept until it requests the stream again.
                    let is_sent = place.map(|place| place.send(event.into())).is_ok();
                    if let Some(ended) = answered.and_then(|request| streams.end(&request)).filter(|_| !is_sent) {
                        streams.keep(ended);
                    }
                    streams.trim();
                    return Ok(());
                }
            }
        };
        reserved = full.reserve_owned().await.ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::server::changes::{ChangeNotifier, Recipient};
    use crate::mcp::server::session::{ServerState, Settings};
    use rmcp::model::{InitializeRequestParams, NotificationNoParam};
    use serde_json::json;
    use tokio::task::yield_now;
    use tool_core::{Runtime, ToolContext};

    fn request(id: i64) -> ClientJsonRpcMessage {
        let params = json!({"name": "x", "_meta": {"progressToken": id}});
        let message = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        serde_json::from_value(message).expect("a request")
    }

    fn progress(token: i64, progress: usize) -> ServerJsonRpcMessage {
        let params = json!({"progressToken": token, "progress": progress});
        serde_json::from_value(json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}))
            .expect("a notification")
    }

    fn changed() -> ServerJsonRpcMessage {
        serde_json::from_value(json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}))
            .expect("a notification")
    }

    fn answer(id: i64) -> ServerJsonRpcMessage {
        serde_json::from_value(json!({"jsonrpc": "2.0", "id": id, "result": {}})).expect("an answer")
    }

    fn opened() -> Arc<Mutex<Streams>> {
        Arc::new(Mutex::new(Streams::new()))
    }

    /// Opens a session as a request does.
    async fn open_session(sessions: &HttpSessions) -> Arc<HttpSession> {
        let runtime = Runtime::builder(ToolContext::builder().build().expect("no tools")).build().expect("a runtime");
        let state = ServerState {
            settings: Settings::default(),
            runtime,
            changes: ChangeNotifier::default(),
            open: Arc::default(),
            bodies: Arc::default(),
            refreshes: Arc::default(),
        };
        let place = state.take_place(&Client::default()).expect("a place");
        let connection = Connection::over_http(Arc::new(state), Arc::default(), Arc::default(), Arc::default());
        let (connection, streams) = (Arc::new(connection), SessionStreams::default());
        let to = Recipient::Streams(streams.clone());
        let opened = connection.open(InitializeRequestParams::default(), &Client::default(), to).await;
        let id = opened.map(|_| sessions.open(((Client::default(), place), connection), streams, None));
        sessions.session(&id.expect("an answer").expect("a session")).expect("a session")
    }

    fn ping(id: i64) -> ClientJsonRpcMessage {
        serde_json::from_value(json!({"jsonrpc": "2.0", "id": id, "method": "ping"})).expect("a request")
    }

    /// Waits until the handler of a session has ended.
    async fn handler_end(session: &HttpSession) {
        while lock(&session.handler).is_some() {
            yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_session_without_a_handler_has_notifications() {
        let sessions = HttpSessions::new(Duration::MAX, CancellationToken::new());
        let session = open_session(&sessions).await;
        let mut own = lock(&session.streams).resume_own(0);
        let changed = ServerNotification::ToolListChangedNotification(NotificationNoParam::default());
        SessionStreams(Arc::clone(&session.streams)).notify(changed).await;
        assert_eq!(ids(&mut own), ["1"]);
        assert!(lock(&session.handler).is_none(), "nothing has started it");
    }

    #[tokio::test]
    async fn a_handler_runs_while_requests_wait_for_it() {
        let sessions = HttpSessions::new(Duration::MAX, CancellationToken::new());
        let session = open_session(&sessions).await;
        for id in 0..3 {
            let mut events = session.ask(ping(id)).await.expect("a session");
            let answer = loop {
                let event = events.recv().await.expect("an answer");
                if let Some(message) = event.message {
                    break serde_json::to_value(&*message).expect("a message");
                }
            };
            assert_eq!(answer, json!({"jsonrpc": "2.0", "id": id, "result": {}}));
            handler_end(&session).await;
        }
        let running = session.handler();
        yield_now().await;
        assert!(session.handler().0.same_channel(&running.0), "a request may still withdraw a question");
        drop(running);
        handler_end(&session).await;
    }

    #[tokio::test]
    async fn the_end_of_a_session_ends_its_handler() {
        let sessions = HttpSessions::new(Duration::MAX, CancellationToken::new());
        let session = open_session(&sessions).await;
        let (connection, running) = (Arc::downgrade(&session.connection), session.handler());
        let id = lock(&sessions.open).sessions.keys().next().cloned().expect("a session");
        drop(session);
        sessions.end(&id);
        running.0.closed().await;
        while connection.strong_count() > 0 {
            yield_now().await;
        }
        assert!(sessions.session(&id).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn idle_sessions_end_and_used_ones_stay() {
        let sessions = HttpSessions::new(Duration::from_secs(60), CancellationToken::new());
        let [idle, used] = [open_session(&sessions).await, open_session(&sessions).await];
        sleep_until(Instant::now() + Duration::from_secs(50)).await;
        lock(&used.streams).used = Instant::now();
        idle.ended.cancelled().await;
        assert!(!used.ended.is_cancelled());
        assert_eq!(lock(&sessions.open).sessions.len(), 1);
        used.ended.cancelled().await;
        assert!(!lock(&sessions.open).are_watched);
        let later = open_session(&sessions).await;
        later.ended.cancelled().await;
    }

    #[tokio::test]
    async fn a_shutdown_ends_all_sessions() {
        let shutdown = CancellationToken::new();
        let sessions = HttpSessions::new(Duration::MAX, shutdown.clone());
        let session = open_session(&sessions).await;
        shutdown.cancel();
        while sessions.open.lock().is_ok_and(|open| open.are_watched) {
            yield_now().await;
        }
        assert!(session.ended.is_cancelled() && lock(&sessions.open).sessions.is_empty());
    }

    /// Returns the ids of the events that have come.
    fn ids(events: &mut Receiver<Event>) -> Vec<String> {
        std::iter::from_fn(|| events.try_recv().ok()).filter_map(|event| event.event_id).collect()
    }

    #[tokio::test]
    async fn messages_come_on_the_stream_of_their_request() {
        let streams = opened();
        let mut own = lock(&streams).resume_own(0);
        let [mut first, mut second] = [7, 8].map(|id| lock(&streams).of_request(&request(id), None));
        for message in [progress(8, 1), changed(), answer(7), progress(7, 1), answer(9), answer(8)] {
            send(Arc::clone(&streams), message).await.expect("a session");
        }
        assert_eq!(ids(&mut first), ["0/0", "1/0"]);
        assert_eq!(ids(&mut second), ["0/1", "1/1", "2/1"]);
        // The progress of a call that has ended belongs to no request.
        assert_eq!(ids(&mut own), ["1", "2"]);
        assert!(first.is_closed() && second.is_closed() && !own.is_closed());
    }

    #[tokio::test]
    async fn a_lost_stream_goes_on_after_the_last_event() {
        let streams = opened();
        drop(lock(&streams).of_request(&request(7), None));
        for at in 1..=20 {
            send(Arc::clone(&streams), progress(7, at)).await.expect("a session");
        }
        let resumed = |event: &str| lock(&streams).resume(event).map(|mut events| ids(&mut events));
        let last = |from: u64| (from..=20).map(|at| format!("{at}/0")).collect::<Vec<_>>();
        assert_eq!(resumed("17/0"), Some(last(18)));
        assert_eq!(resumed("1/0"), Some(last(5)), "the last 16");
        for unknown in ["20/1", "x/0", "0/", "/", ""] {
            assert_eq!(resumed(unknown), None, "{unknown}");
        }
        let mut events = lock(&streams).resume("20/0").expect("a stream");
        send(Arc::clone(&streams), answer(7)).await.expect("a session");
        assert_eq!(ids(&mut events), ["21/0"]);
        assert_eq!(resumed("20/0"), None, "a request whose answer was sent has no stream");
    }

    #[tokio::test]
    async fn an_answer_waits_for_a_client_that_lost_its_stream() {
        let streams = opened();
        for id in 0..20 {
            drop(lock(&streams).of_request(&request(id), None));
            send(Arc::clone(&streams), answer(id)).await.expect("a session");
        }
        let resumed = |number: u64| {
            let events = lock(&streams).resume(&format!("0/{number}"));
            events.map(|mut events| (ids(&mut events), events.is_closed()))
        };
        assert_eq!(resumed(19), Some((vec!["1/19".to_owned()], true)));
        assert_eq!(resumed(19), None, "it waits once");
        assert!(resumed(4).is_some() && resumed(3).is_none(), "the last 16 wait");
    }

    #[tokio::test]
    async fn kept_events_are_bounded_in_bytes() {
        let streams = opened();
        let large = |id: i64, bytes: usize| {
            let message = json!({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": "x".repeat(bytes)}]}});
            serde_json::from_value::<ServerJsonRpcMessage>(message).expect("an answer")
        };
        let bytes = || lock(&streams).events.bytes.load(Ordering::Relaxed);
        for id in 0..10 {
            drop(lock(&streams).of_request(&request(id), None));
            send(Arc::clone(&streams), large(id, MAX_KEPT / 4)).await.expect("a session");
            assert!(bytes() <= MAX_KEPT);
        }
        assert!(lock(&streams).resume("0/6").is_none(), "the oldest goes, and its request is sent again");
        let mut resumed = lock(&streams).resume("0/9").expect("a stream");
        assert_eq!(ids(&mut resumed), ["1/9"]);
        // The newest is kept whatever its size, and those before it go.
        let _running = lock(&streams).of_request(&request(10), None);
        drop(lock(&streams).of_request(&request(11), None));
        send(Arc::clone(&streams), large(11, 2 * MAX_KEPT)).await.expect("a session");
        assert_eq!(lock(&streams).kept, [11]);
        assert_eq!(ids(&mut lock(&streams).resume("0/11").expect("a stream")), ["1/11"]);
        assert_eq!(bytes(), 0);
    }

    #[tokio::test]
    async fn a_repeated_id_ends_the_earlier_stream() {
        let streams = opened();
        let [mut earlier, mut later] = [7, 7].map(|id| lock(&streams).of_request(&request(id), None));
        send(Arc::clone(&streams), answer(7)).await.expect("a session");
        assert_eq!(
            (ids(&mut earlier), ids(&mut later)),
            (vec!["0/0".to_owned()], vec!["0/1".to_owned(), "1/1".to_owned()])
        );
        assert!(earlier.is_closed() && lock(&streams).of_requests.is_empty());
    }

    #[tokio::test]
    async fn messages_wait_for_a_slow_client_in_their_order() {
        let streams = opened();
        let mut slow = lock(&streams).of_request(&request(7), None);
        let (sending, mut other) = (Arc::clone(&streams), lock(&streams).of_request(&request(8), None));
        let sending = tokio::spawn(async move {
            for at in 1..=100 {
                send(Arc::clone(&sending), progress(7, at)).await.expect("a session");
            }
        });
        yield_now().await;
        assert_eq!((slow.len(), sending.is_finished()), (CAPACITY, false));
        send(Arc::clone(&streams), answer(8)).await.expect("a session");
        assert_eq!(ids(&mut other).len(), 2, "other requests do not wait");
        let mut came = Vec::new();
        while came.len() < 101 {
            came.extend(slow.recv().await.and_then(|event| event.event_id));
        }
        assert_eq!(came, (0..=100).map(|at| format!("{at}/0")).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn a_waiting_message_follows_its_client_to_another_stream() {
        let streams = opened();
        let slow = lock(&streams).of_request(&request(7), None);
        let sending = Arc::clone(&streams);
        let sending = tokio::spawn(async move {
            for at in 1..=20 {
                send(Arc::clone(&sending), progress(7, at)).await.expect("a session");
            }
        });
        yield_now().await;
        let mut resumed = lock(&streams).resume("15/0").expect("a stream");
        drop(slow);
        sending.await.expect("all were sent");
        assert_eq!(ids(&mut resumed), ["16/0", "17/0", "18/0", "19/0", "20/0"]);
    }

    #[tokio::test]
    async fn one_stream_of_a_session_has_its_messages() {
        let streams = opened();
        let mut own = lock(&streams).resume_own(0);
        let mut idle = (0..50).map(|_| lock(&streams).resume_own(0)).collect::<Vec<_>>();
        send(Arc::clone(&streams), changed()).await.expect("a session");
        assert_eq!((ids(&mut own).len(), idle.iter_mut().map(|events| ids(events).len()).sum::<usize>()), (1, 0));
        assert_eq!(idle.iter().filter(|events| !events.is_closed()).count(), MAX_IDLE_STREAMS);
        drop(own);
        send(Arc::clone(&streams), changed()).await.expect("a session");
        assert_eq!(ids(&mut lock(&streams).resume("1").expect("a stream")), ["2"]);
    }
}
