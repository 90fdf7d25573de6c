//! The streams of events of a session over HTTP, and the events that are kept for a client that has
//! lost one.

use futures_util::{Stream, stream};
use parking_lot::{Mutex, MutexGuard};
use rmcp::model::{
    ClientJsonRpcMessage, GetExtensions, GetMeta, JsonRpcMessage, ProgressToken, RequestId,
    ServerJsonRpcMessage, ServerNotification,
};
use rmcp::service::OriginatingRequestId;
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{OwnedPermit, Receiver, Sender, channel};
use tokio::time::Instant;

/// The messages that wait on their way in either direction, and the events of a stream that are
/// kept for a client that has lost it.
pub(crate) const CAPACITY: usize = 16;

/// The bytes of the events that a session keeps. The newest event is kept even if it is larger.
const MAX_KEPT: usize = 1 << 20;

/// The further streams that a client may have open beside the one that has the messages of no
/// request.
const MAX_IDLE_STREAMS: usize = 32;

/// The id of the first event of a stream beside the session's own. A client that has lost such a
/// stream requests it again with this id, and so does not take the session's own from another.
const BESIDE: &str = "beside";

/// The time after which a client that has lost a stream should request it again.
const RETRY: Duration = Duration::from_secs(3);

/// A handler that runs, because requests are not answered. It ends when no clone is left. Messages
/// are boxed, as a channel has a place for 32 from the beginning.
#[derive(Clone)]
pub(crate) struct RunningHandler(pub(crate) Sender<Box<ClientJsonRpcMessage>>);

/// The streams of a session. Clones are the same.
#[derive(Clone)]
pub(crate) struct SessionStreams(Arc<Mutex<Streams>>);

impl Default for SessionStreams {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Streams::new())))
    }
}

impl SessionStreams {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Streams> {
        self.0.lock()
    }

    /// Keeps a handler running that no request needs yet.
    pub(crate) fn hold(&self, handler: Option<RunningHandler>) {
        self.lock().own.handler = handler;
    }

    /// Ends all streams.
    pub(crate) fn end(&self) {
        let ended = std::mem::replace(&mut *self.lock(), Streams::new());
        drop(ended);
    }

    /// Sends a notification on the session's own stream.
    pub(crate) async fn notify(&self, notification: ServerNotification) {
        self.send(ServerJsonRpcMessage::notification(notification))
            .await;
    }

    /// Sends a message on its stream. Waits while the client does not take its events.
    pub(crate) async fn send(&self, message: ServerJsonRpcMessage) {
        let mut reserved = None;
        loop {
            let (full, resumed) = {
                let mut streams = self.lock();
                let resumed = Arc::clone(&streams.resumed).notified_owned();
                let Some(stream) = streams.stream_of(&message) else {
                    return;
                };
                let place = match reserved.take() {
                    // The client may have closed the stream, or requested it again meanwhile.
                    Some(place)
                        if OwnedPermit::same_channel_as_sender(&place, &stream.sender)
                            && !stream.sender.is_closed() =>
                    {
                        Ok(place)
                    }
                    _ => stream.sender.clone().try_reserve_owned(),
                };
                match place {
                    Err(TrySendError::Full(sender)) => (sender, resumed),
                    place => {
                        let answered = answered(&message);
                        let event = stream.record(ServerSseMessage::from_message(message));
                        // Without a client the event is kept until it requests the stream again.
                        let is_sent = place.map(|place| place.send(event.into())).is_ok();
                        if is_sent {
                            stream.mark_sent();
                        }
                        if let Some(ended) = answered.and_then(|request| streams.end(&request)) {
                            // Only the client's own requests keep its session: a client that has
                            // vanished may get notifications all the time.
                            streams.used = Instant::now();
                            // A client whose connection is half open has not got its answer, which
                            // this process does not learn. A large one is not kept for this.
                            if !(is_sent && ended.1.is_large()) {
                                streams.keep(ended);
                            }
                        }
                        streams.trim();
                        return;
                    }
                }
            };
            reserved = tokio::select! {
                place = full.reserve_owned() => place.ok(),
                // A connection that is half open may keep the former stream for long.
                () = resumed => None,
            };
        }
    }
}

/// An event on its way. Boxed, as a channel has a place for 32 from the beginning.
pub(crate) type Event = Box<ServerSseMessage>;

pub(crate) fn events(
    receiver: Receiver<Event>,
) -> impl Stream<Item = ServerSseMessage> + Send + Sync + 'static {
    stream::unfold(receiver, async |mut receiver| {
        receiver.recv().await.map(|event| (*event, receiver))
    })
}

/// The streams of events of a session.
pub(crate) struct Streams {
    /// The last request of the client, or answer to one.
    pub(crate) used: Instant,
    /// True if the client has had the session's own stream since the last look.
    is_heard: bool,
    /// Notified when the client requests a stream again.
    resumed: Arc<Notify>,
    /// The number of requests that have come.
    requests: u64,
    /// The streams of requests that are not answered, and the kept ones.
    of_requests: HashMap<u64, EventStream>,
    /// The number of the request whose stream has the messages that belong to a request or its
    /// progress.
    numbers: HashMap<Cause, u64>,
    /// The numbers of the last requests that are answered, whose streams the client may request
    /// again.
    kept: VecDeque<u64>,
    /// The stream of the session, which has the messages that belong to no request.
    own: EventStream,
    /// The index of the last event that the client had when it opened the session's own stream.
    /// rmcp begins each such stream with an event 0.
    opened_at: u64,
    /// Further streams of the session, in the order in which they take the place of the session's
    /// own. Nothing is sent on them before.
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
            is_heard: false,
            resumed: Arc::default(),
            requests: 0,
            of_requests: HashMap::new(),
            numbers: HashMap::new(),
            kept: VecDeque::new(),
            own: EventStream::new(None, &events).0,
            opened_at: 0,
            idle: VecDeque::new(),
            events,
        }
    }

    /// Opens the stream of a request.
    pub(crate) fn of_request(
        &mut self,
        message: &ClientJsonRpcMessage,
        handler: Option<RunningHandler>,
    ) -> Receiver<Event> {
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
            let progress = request
                .request
                .get_meta()
                .get_progress_token()
                .map(Cause::Progress);
            let causes = progress
                .into_iter()
                .chain([Cause::Request(request.id.clone())]);
            self.numbers.extend(causes.map(|cause| (cause, number)));
        }
        self.of_requests.insert(number, stream);
        events
    }

    /// Returns the time at which the session was last in use, which is now while a request is not
    /// answered, and while the client listens.
    pub(crate) fn last_use(&mut self, now: Instant) -> Instant {
        let is_listening = self.is_listening();
        if std::mem::replace(&mut self.is_heard, is_listening) {
            // The time at which a stream was closed is not known, so it counts from this look on.
            self.used = now;
        }
        let is_open = |stream: &EventStream| {
            let handler = stream.handler.as_ref();
            handler.is_some_and(|handler| !handler.0.is_closed())
        };
        if self.of_requests.values().any(is_open) {
            now
        } else {
            self.used
        }
    }

    /// Returns true if the client has a stream of the session itself.
    fn is_listening(&self) -> bool {
        let mut idle = self.idle.iter();
        !self.own.sender.is_closed() || idle.any(|sender| !sender.is_closed())
    }

    /// Ends the stream of a request that its client has cancelled.
    pub(crate) fn end_request(&mut self, id: RequestId) {
        self.end(&Cause::Request(id));
    }

    /// Ends the stream of a request. Returns it with its number.
    fn end(&mut self, request: &Cause) -> Option<(u64, EventStream)> {
        let number = self.numbers.remove(request)?;
        self.numbers.retain(|_, other| *other != number);
        Some((number, self.of_requests.remove(&number)?))
    }

    /// Keeps a stream that ends with its answer, which may not reach the client.
    fn keep(&mut self, (number, mut stream): (u64, EventStream)) {
        stream.close();
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
            let oldest = streams
                .filter_map(|stream| Some((stream.last.back()?.at, stream)))
                .min_by_key(|(at, _)| *at);
            let Some((_, stream)) =
                oldest.filter(|(at, _)| at + 1 < self.events.count.load(Ordering::Relaxed))
            else {
                return;
            };
            stream.last.pop_back();
            // Without its answer the stream is unknown, so that the client sends the request again.
            if let Some(number) = stream
                .number
                .filter(|number| stream.last.is_empty() && self.kept.contains(number))
            {
                self.kept.retain(|kept| *kept != number);
                self.of_requests.remove(&number);
            }
        }
    }

    /// Returns the stream of a message, or `None` for an answer that is not awaited and for a
    /// question of a request that has ended.
    fn stream_of(&mut self, message: &ServerJsonRpcMessage) -> Option<&mut EventStream> {
        self.replace_own();
        let cause = cause(message);
        let number = cause.as_ref().and_then(|cause| self.numbers.get(cause));
        match number.and_then(|number| self.of_requests.get_mut(number)) {
            Some(stream) => Some(stream),
            // Nothing waits for the answer to a request that has ended, or to its questions.
            None if answered(message).is_some() => None,
            None if cause.is_some() && matches!(message, JsonRpcMessage::Request(_)) => None,
            None => Some(&mut self.own),
        }
    }

    /// Lets the newest stream beside the session's own take its place, if the client has closed that
    /// one.
    fn replace_own(&mut self) {
        if !self.own.sender.is_closed() {
            return;
        }
        self.idle.retain(|sender| !sender.is_closed());
        if let Some(newest) = self.idle.pop_front() {
            self.own.sender = newest;
        }
    }

    /// Resumes a stream after an event, whose id has the index of the event and the number of the
    /// stream's request.
    pub(crate) fn resume(&mut self, last_event: &str) -> Option<Receiver<Event>> {
        if last_event == BESIDE {
            return Some(self.open_own());
        }
        let events = match last_event.split_once('/') {
            None => self.resume_own(last_event.parse().ok()?),
            Some((index, number)) => {
                let index = index.parse().ok()?;
                let number = number.parse().ok()?;
                let stream = self.of_requests.get_mut(&number)?;
                let events = stream.resume(index);
                if self.kept.contains(&number) {
                    // It ends with its answer.
                    stream.close();
                }
                events
            }
        };
        self.resumed.notify_waiters();
        Some(events)
    }

    /// Resumes the session's own stream after an event. The former one may be open still: its client
    /// has lost it and its connection is half open, or it has taken the place of the one that is
    /// resumed. So it stays as one beside the session's own, the last to take its place.
    fn resume_own(&mut self, last_event: u64) -> Receiver<Event> {
        self.is_heard = true;
        let last_event = match last_event {
            0 => self.opened_at,
            last_event => last_event,
        };
        let former = self.own.sender.clone();
        let events = self.own.resume(last_event);
        self.idle.retain(|sender| !sender.is_closed());
        if !former.is_closed() && self.idle.len() < MAX_IDLE_STREAMS {
            self.idle.push_back(former);
        }
        events
    }

    /// Opens the session's own stream, with the events that no stream has had. Opens one beside it
    /// if the client has it.
    pub(crate) fn open_own(&mut self) -> Receiver<Event> {
        self.is_heard = true;
        if self.own.sender.is_closed() {
            self.opened_at = self.own.last_sent;
            return self.own.resume(self.opened_at);
        }
        let (sender, events) = channel(CAPACITY);
        // The channel is empty.
        _ = sender.try_send(ServerSseMessage::priming(BESIDE, RETRY).into());
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
    /// The index of the last event that was sent to the client.
    last_sent: u64,
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
        let text = event
            .message
            .as_ref()
            .and_then(|message| serde_json::to_string(&**message).ok());
        let bytes = text.map_or(0, |text| text.len());
        let at = events.count.fetch_add(1, Ordering::Relaxed);
        events.bytes.fetch_add(bytes, Ordering::Relaxed);
        Self {
            event,
            bytes,
            at,
            events: Arc::clone(events),
        }
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
        (
            Self {
                number,
                sender,
                count,
                last_sent: 0,
                last: VecDeque::new(),
                events: Arc::clone(events),
                handler: None,
            },
            receiver,
        )
    }

    /// Returns true if the newest event has more bytes than a session keeps.
    fn is_large(&self) -> bool {
        self.last
            .front()
            .is_some_and(|newest| newest.bytes > MAX_KEPT)
    }

    /// Keeps an event, and returns it with its id.
    fn record(&mut self, mut event: ServerSseMessage) -> ServerSseMessage {
        event.event_id = Some(match self.number {
            Some(number) => format!("{}/{number}", self.count),
            None => self.count.to_string(),
        });
        self.count += 1;
        self.last.truncate(CAPACITY - 1);
        self.last
            .push_front(KeptEvent::new(event.clone(), &self.events));
        event
    }

    /// Remembers that the newest event was sent to the client.
    fn mark_sent(&mut self) {
        self.last_sent = self.count.saturating_sub(1);
    }

    /// Returns the stream again, from the event after `last` on.
    fn resume(&mut self, last: u64) -> Receiver<Event> {
        let (sender, events) = channel(CAPACITY);
        let missed = usize::try_from(self.count.saturating_sub(last).saturating_sub(1))
            .unwrap_or(usize::MAX);
        for kept in self.last.iter().take(missed).rev() {
            // As many are kept as there is room for.
            _ = sender.try_send(kept.event.clone().into());
        }
        self.sender = sender;
        self.mark_sent();
        events
    }

    /// Ends the stream for its client, which may request it again.
    fn close(&mut self) {
        self.sender = channel(1).0;
        self.handler = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tokio::task::yield_now;

    fn request(id: i64) -> ClientJsonRpcMessage {
        let params = json!({"name": "x", "_meta": {"progressToken": id}});
        let message = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        serde_json::from_value(message).expect("a request")
    }

    fn progress(token: i64, progress: usize) -> ServerJsonRpcMessage {
        let params = json!({"progressToken": token, "progress": progress});
        serde_json::from_value(
            json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}),
        )
        .expect("a notification")
    }

    fn changed() -> ServerJsonRpcMessage {
        serde_json::from_value(
            json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}),
        )
        .expect("a notification")
    }

    fn answer(id: i64) -> ServerJsonRpcMessage {
        serde_json::from_value(json!({"jsonrpc": "2.0", "id": id, "result": {}}))
            .expect("an answer")
    }

    fn opened() -> SessionStreams {
        SessionStreams::default()
    }

    /// Returns the ids of the events that have come.
    fn ids(events: &mut Receiver<Event>) -> Vec<String> {
        std::iter::from_fn(|| events.try_recv().ok())
            .filter_map(|event| event.event_id)
            .collect()
    }

    #[tokio::test]
    async fn messages_come_on_the_stream_of_their_request() {
        let streams = opened();
        let mut own = streams.lock().open_own();
        let [mut first, mut second] =
            [7, 8].map(|id| streams.lock().of_request(&request(id), None));
        for message in [
            progress(8, 1),
            changed(),
            answer(7),
            progress(7, 1),
            answer(9),
            answer(8),
        ] {
            streams.send(message).await;
        }
        assert_eq!(ids(&mut first), ["0/0", "1/0"]);
        assert_eq!(ids(&mut second), ["0/1", "1/1", "2/1"]);
        // The progress of a call that has ended belongs to no request.
        assert_eq!(ids(&mut own), ["1", "2"]);
        assert!(first.is_closed() && second.is_closed() && !own.is_closed());
    }

    #[tokio::test]
    async fn a_question_of_a_request_that_has_ended_is_dropped() {
        let streams = opened();
        let mut own = streams.lock().open_own();
        let mut events = streams.lock().of_request(&request(7), None);
        let question = || {
            let message = json!({"jsonrpc": "2.0", "id": "q", "method": "ping"});
            let mut message =
                serde_json::from_value::<ServerJsonRpcMessage>(message).expect("a request");
            if let JsonRpcMessage::Request(request) = &mut message {
                request
                    .request
                    .extensions_mut()
                    .insert(OriginatingRequestId(RequestId::Number(7)));
            }
            message
        };
        for message in [question(), answer(7), question()] {
            streams.send(message).await;
        }
        assert_eq!(
            (ids(&mut events), ids(&mut own)),
            (vec!["0/0".into(), "1/0".into(), "2/0".into()], vec![])
        );
    }

    #[tokio::test]
    async fn a_lost_stream_goes_on_after_the_last_event() {
        let streams = opened();
        drop(streams.lock().of_request(&request(7), None));
        for at in 1..=20 {
            streams.send(progress(7, at)).await;
        }
        let resumed = |event: &str| {
            streams
                .lock()
                .resume(event)
                .map(|mut events| ids(&mut events))
        };
        let last = |from: u64| (from..=20).map(|at| format!("{at}/0")).collect::<Vec<_>>();
        assert_eq!(resumed("17/0"), Some(last(18)));
        assert_eq!(resumed("1/0"), Some(last(5)), "the last 16");
        assert_eq!(
            resumed(&format!("{}/0", u64::MAX)),
            Some(Vec::new()),
            "an event that never was"
        );
        for unknown in ["20/1", "x/0", "0/", "/", ""] {
            assert_eq!(resumed(unknown), None, "{unknown}");
        }
        let mut events = streams.lock().resume("20/0").expect("a stream");
        streams.send(answer(7)).await;
        assert_eq!(ids(&mut events), ["21/0"]);
    }

    #[tokio::test]
    async fn an_answer_that_was_sent_can_be_requested_again() {
        let streams = opened();
        // The client's connection is half open: what is sent on it is lost later.
        let mut sent = streams.lock().of_request(&request(7), None);
        streams.send(answer(7)).await;
        assert_eq!(ids(&mut sent), ["0/0", "1/0"]);
        assert!(sent.is_closed());
        let mut resumed = streams.lock().resume("0/0").expect("a stream");
        assert_eq!(ids(&mut resumed), ["1/0"]);
        assert!(resumed.is_closed());
    }

    #[tokio::test]
    async fn an_answer_waits_for_a_client_that_lost_its_stream() {
        let streams = opened();
        for id in 0..20 {
            drop(streams.lock().of_request(&request(id), None));
            streams.send(answer(id)).await;
        }
        let resumed = |number: u64| {
            let events = streams.lock().resume(&format!("0/{number}"));
            events.map(|mut events| (ids(&mut events), events.is_closed()))
        };
        assert_eq!(resumed(19), Some((vec!["1/19".to_owned()], true)));
        assert_eq!(resumed(19), Some((vec!["1/19".to_owned()], true)), "again");
        assert!(
            resumed(4).is_some() && resumed(3).is_none(),
            "the last 16 wait"
        );
    }

    #[tokio::test]
    async fn kept_events_are_bounded_in_bytes() {
        let streams = opened();
        let large = |id: i64, bytes: usize| {
            let message = json!({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": "x".repeat(bytes)}]}});
            serde_json::from_value::<ServerJsonRpcMessage>(message).expect("an answer")
        };
        let bytes = || streams.lock().events.bytes.load(Ordering::Relaxed);
        for id in 0..10 {
            drop(streams.lock().of_request(&request(id), None));
            streams.send(large(id, MAX_KEPT / 4)).await;
            assert!(bytes() <= MAX_KEPT);
        }
        assert!(
            streams.lock().resume("0/6").is_none(),
            "the oldest goes, and its request is sent again"
        );
        let mut resumed = streams.lock().resume("0/9").expect("a stream");
        assert_eq!(ids(&mut resumed), ["1/9"]);
        // The newest is kept whatever its size, and those before it go.
        let _running = streams.lock().of_request(&request(10), None);
        drop(streams.lock().of_request(&request(11), None));
        streams.send(large(11, 2 * MAX_KEPT)).await;
        assert_eq!(streams.lock().kept, [11]);
        assert_eq!(
            ids(&mut streams.lock().resume("0/11").expect("a stream")),
            ["1/11"]
        );
    }

    #[tokio::test]
    async fn a_repeated_id_ends_the_earlier_stream() {
        let streams = opened();
        let [mut earlier, mut later] =
            [7, 7].map(|id| streams.lock().of_request(&request(id), None));
        streams.send(answer(7)).await;
        assert_eq!(
            (ids(&mut earlier), ids(&mut later)),
            (
                vec!["0/0".to_owned()],
                vec!["0/1".to_owned(), "1/1".to_owned()]
            )
        );
        assert!(earlier.is_closed() && later.is_closed());
        assert_eq!(streams.lock().kept, [1], "the earlier one is not kept");
    }

    #[tokio::test]
    async fn messages_wait_for_a_slow_client_in_their_order() {
        let streams = opened();
        let mut slow = streams.lock().of_request(&request(7), None);
        let (sending, mut other) = (
            streams.clone(),
            streams.lock().of_request(&request(8), None),
        );
        let sending = tokio::spawn(async move {
            for at in 1..=100 {
                sending.send(progress(7, at)).await;
            }
        });
        yield_now().await;
        assert_eq!((slow.len(), sending.is_finished()), (CAPACITY, false));
        streams.send(answer(8)).await;
        assert_eq!(ids(&mut other).len(), 2, "other requests do not wait");
        let mut came = Vec::new();
        while came.len() < 101 {
            came.extend(slow.recv().await.and_then(|event| event.event_id));
        }
        assert_eq!(
            came,
            (0..=100).map(|at| format!("{at}/0")).collect::<Vec<_>>()
        );
    }

    #[tokio::test]
    async fn a_waiting_message_follows_its_client_to_another_stream() {
        let streams = opened();
        let slow = streams.lock().of_request(&request(7), None);
        let sending = streams.clone();
        let sending = tokio::spawn(async move {
            for at in 1..=20 {
                sending.send(progress(7, at)).await;
            }
        });
        yield_now().await;
        let mut resumed = streams.lock().resume("15/0").expect("a stream");
        drop(slow);
        sending.await.expect("all were sent");
        assert_eq!(ids(&mut resumed), ["16/0", "17/0", "18/0", "19/0", "20/0"]);
    }

    #[tokio::test]
    async fn a_sessions_stream_goes_on_while_the_former_seems_open() {
        let streams = opened();
        // The client's connection is half open: it has got the first event, and not the second.
        let mut half_open = streams.lock().open_own();
        streams.send(changed()).await;
        streams.send(changed()).await;
        let mut resumed = streams.lock().resume("1").expect("a stream");
        streams.send(changed()).await;
        assert_eq!(ids(&mut resumed), ["2", "3"]);
        assert_eq!(ids(&mut half_open), ["1", "2"]);
    }

    #[tokio::test]
    async fn a_waiting_message_leaves_a_stream_that_seems_open() {
        let streams = opened();
        let half_open = streams.lock().open_own();
        let sending = streams.clone();
        let sending = tokio::spawn(async move {
            for _ in 1..=20 {
                sending.send(changed()).await;
            }
        });
        yield_now().await;
        assert_eq!((half_open.len(), sending.is_finished()), (CAPACITY, false));
        let mut resumed = streams.lock().resume("15").expect("a stream");
        sending.await.expect("all were sent");
        assert_eq!(ids(&mut resumed), ["16", "17", "18", "19", "20"]);
    }

    #[tokio::test]
    async fn one_stream_of_a_session_has_its_messages() {
        let streams = opened();
        let mut own = streams.lock().open_own();
        let mut idle = (0..50)
            .map(|_| streams.lock().open_own())
            .collect::<Vec<_>>();
        streams.send(changed()).await;
        assert_eq!(ids(&mut own), ["1"]);
        for events in &mut idle {
            assert_eq!(ids(events), [BESIDE]);
        }
        assert_eq!(
            idle.iter().filter(|events| !events.is_closed()).count(),
            MAX_IDLE_STREAMS
        );
        drop(own);
        streams.send(changed()).await;
        assert_eq!(
            ids(&mut streams.lock().resume("1").expect("a stream")),
            ["2"]
        );
    }

    #[tokio::test]
    async fn another_stream_takes_the_place_of_a_closed_one() {
        let streams = opened();
        let own = streams.lock().open_own();
        let [mut older, mut newer] = [(); 2].map(|()| streams.lock().open_own());
        drop(own);
        for _ in 0..2 {
            streams.send(changed()).await;
        }
        assert_eq!(ids(&mut newer), [BESIDE, "1", "2"]);
        assert_eq!(ids(&mut older), [BESIDE]);
        drop(newer);
        streams.send(changed()).await;
        assert_eq!(ids(&mut older), ["3"]);
    }

    #[tokio::test]
    async fn a_stream_that_is_resumed_ends_no_other() {
        let streams = opened();
        let first = streams.lock().open_own();
        let mut second = streams.lock().open_own();
        streams.send(changed()).await;
        drop(first);
        streams.send(changed()).await;
        assert_eq!(ids(&mut second), [BESIDE, "2"]);

        let mut resumed = streams.lock().resume("1").expect("a stream");
        assert!(!second.is_closed(), "it is of another connection");
        streams.send(changed()).await;
        assert_eq!(ids(&mut resumed), ["2", "3"]);
        assert!(ids(&mut second).is_empty());
    }

    #[tokio::test]
    async fn a_new_stream_that_is_lost_at_once_repeats_nothing() {
        let streams = opened();
        let mut own = streams.lock().open_own();
        streams.send(changed()).await;
        assert_eq!(ids(&mut own), ["1"]);
        drop(own);
        drop(streams.lock().open_own());
        streams.send(changed()).await;
        // rmcp began the new stream with an event 0.
        let mut resumed = streams.lock().resume("0").expect("a stream");
        assert_eq!(ids(&mut resumed), ["2"]);
    }

    #[tokio::test]
    async fn a_stream_beside_is_resumed_without_the_sessions_own() {
        let streams = opened();
        let mut own = streams.lock().open_own();
        drop(streams.lock().open_own());
        let mut resumed = streams.lock().resume(BESIDE).expect("a stream");
        streams.send(changed()).await;
        assert_eq!(ids(&mut own), ["1"]);
        assert_eq!(ids(&mut resumed), [BESIDE]);
    }

    #[tokio::test]
    async fn a_new_stream_has_what_no_stream_has_had() {
        let streams = opened();
        let mut own = streams.lock().open_own();
        streams.send(changed()).await;
        assert_eq!(ids(&mut own), ["1"]);
        drop(own);
        streams.send(changed()).await;
        for expected in [&["2"][..], &[]] {
            let mut opened = streams.lock().open_own();
            assert_eq!(ids(&mut opened), expected);
        }
    }
}
