//! The sessions of clients over HTTP: their messages, between the requests that bring them and
//! rmcp's handler.
//!
//! rmcp's handler is a task with channels for messages of half a kilobyte, which takes more memory
//! than all the rest of a session. So it runs only while it serves requests: the first of them
//! starts it, and it ends once all are answered. Sessions are opened without it, unless the request
//! is unusual.

use crate::server::calls;
use crate::server::client::{Client, Identity};
use crate::server::connection::Connection;
use crate::server::passed_on;
use crate::server::request_ids::{RandomIds, random_id};
use crate::server::session::EndSessions;
use crate::server::session_streams::{CAPACITY, Event, RunningHandler, SessionStreams, events};
use futures_util::Stream;
use parking_lot::Mutex;
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, GetExtensions, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::service::serve_directly_with_ct;
use rmcp::transport::Transport;
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, WeakSender, channel};
use tokio::time::{Instant, sleep_until};
use tool_adapters_http::quota::Share;
use tool_core::{CancellationToken, time};

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
    streams: SessionStreams,
    /// The way to the handler, if it runs.
    handler: Mutex<Option<WeakSender<Box<ClientJsonRpcMessage>>>>,
    ended: CancellationToken,
}

impl HttpSessions {
    /// `shutdown` ends all sessions.
    pub(crate) fn new(idle_timeout: Duration, shutdown: CancellationToken) -> Self {
        Self {
            idle_timeout,
            shutdown,
            open: Arc::default(),
        }
    }

    /// Returns the handler of a session, if the client has opened it. The session is in use then.
    pub(crate) fn connection(&self, client: &Client, id: &str) -> Option<Arc<Connection>> {
        let open = self.open.lock();
        let session = open
            .sessions
            .get(id)
            .filter(|session| client.owns(&session.opener.0))?;
        session.streams.lock().used = Instant::now();
        Some(Arc::clone(&session.connection))
    }

    fn session(&self, id: &str) -> SessionResult<Arc<HttpSession>> {
        self.open
            .lock()
            .sessions
            .get(id)
            .map(Arc::clone)
            .ok_or(SessionError::Ended)
    }

    /// Opens a session, and returns its id. `handler` is the way to its handler, if it runs.
    pub(crate) fn open(
        &self,
        (opener, connection): (Opener, Arc<Connection>),
        streams: SessionStreams,
        handler: Option<WeakSender<Box<ClientJsonRpcMessage>>>,
    ) -> SessionResult<SessionId> {
        let id = SessionId::from(random_id().map_err(|_| SessionError::NotOpened)?);
        let handler = Mutex::new(handler);
        let ended = self.shutdown.child_token();
        let session = HttpSession {
            opener,
            connection,
            streams,
            handler,
            ended,
        };
        let mut open = self.open.lock();
        open.sessions.insert(Arc::clone(&id), Arc::new(session));
        if !std::mem::replace(&mut open.are_watched, true) {
            tokio::spawn(end_idle(
                Arc::downgrade(&self.open),
                self.idle_timeout,
                self.shutdown.clone(),
            ));
        }
        Ok(id)
    }

    /// Passes the cancellation of a call on to the session of the call, where rmcp may have taken
    /// it over.
    pub(crate) async fn cancel(&self, id: &str, cancellation: ClientJsonRpcMessage) {
        if let Ok(session) = self.session(id) {
            // A session that ends cancels its calls.
            _ = session.accept(cancellation).await;
        }
    }

    /// Ends a session, if it is open.
    pub(crate) fn end(&self, id: &str) {
        let ended = self.open.lock().sessions.remove(id);
        if let Some(session) = ended {
            session.end();
        }
    }
}

impl EndSessions for HttpSessions {
    fn end_of(&self, is_gone: &dyn Fn(&str) -> bool) {
        let is_of_gone = |session: &HttpSession| session.opener.0.principal().is_some_and(is_gone);
        let ended = self
            .open
            .lock()
            .sessions
            .extract_if(|_, session| is_of_gone(session))
            .collect::<Vec<_>>();
        for (_, session) in ended {
            session.end();
        }
    }
}

/// Ends the sessions that are idle for a time, and all at the shutdown, until none is open. A session
/// with a request that is not answered is not idle.
async fn end_idle(
    open: Weak<Mutex<OpenSessions>>,
    idle_timeout: Duration,
    shutdown: CancellationToken,
) {
    // Sessions that are idle one after the other are ended together.
    let mut next = Instant::now();
    let pause = idle_timeout / 64;
    loop {
        let is_over = shutdown
            .run_until_cancelled(sleep_until(next))
            .await
            .is_none();
        let Some(open) = open.upgrade() else { return };
        let now = Instant::now();
        let end_of = |session: &HttpSession| time::after(session.last_use(now), idle_timeout);
        let (idle, earliest) = {
            let mut open = open.lock();
            let is_idle = |session: &HttpSession| is_over || end_of(session) <= now;
            let idle = open
                .sessions
                .extract_if(|_, session| is_idle(session))
                .collect::<Vec<_>>();
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
    /// Returns the time at which the session was last in use, which is now while it is.
    fn last_use(&self, now: Instant) -> Instant {
        let used = self.streams.lock().last_use(now);
        let called = self.connection.calls.last_use(now);
        called.map_or(used, |called| called.max(used))
    }

    /// Ends what runs in the session, which is open no more. Its place is free once it is dropped.
    fn end(&self) {
        self.ended.cancel();
        self.streams.end();
    }

    /// Returns the handler of the session. Starts it unless it runs.
    fn handler(self: &Arc<Self>) -> RunningHandler {
        let mut handler = self.handler.lock();
        if let Some(running) = handler.as_ref().and_then(WeakSender::upgrade) {
            return RunningHandler(running);
        }
        let (to_handler, from_client) = channel(CAPACITY);
        *handler = Some(to_handler.downgrade());
        drop(handler);
        let connection = Arc::clone(&self.connection);
        let client = self.connection.initialized().cloned();
        let transport = RandomIds::new(HttpTransport {
            from_client,
            streams: self.streams.clone(),
        });
        let running =
            serve_directly_with_ct(connection, transport, client, self.ended.child_token());
        let session = Arc::clone(self);
        tokio::spawn(async move {
            _ = running.waiting().await;
            // Another one may have been started.
            session
                .handler
                .lock()
                .take_if(|handler| handler.strong_count() == 0);
        });
        RunningHandler(to_handler)
    }

    /// Passes a request on to the handler, and returns the stream of its answer.
    async fn ask(
        self: &Arc<Self>,
        mut message: ClientJsonRpcMessage,
    ) -> SessionResult<Receiver<Event>> {
        let handler = self.handler();
        // Before its stream is opened: a client that goes while it waits here leaves none behind.
        let place = handler.0.reserve().await.map_err(|_| SessionError::Ended)?;
        if let JsonRpcMessage::Request(request) = &mut message {
            request.request.extensions_mut().insert(handler.clone());
        }
        let events = self
            .streams
            .lock()
            .of_request(&message, Some(handler.clone()));
        if let JsonRpcMessage::Request(request) = &message
            && calls::is_cancelled(&message)
        {
            // Its cancellation may have come before its stream.
            self.streams.lock().end_request(request.id.clone());
            return Ok(events);
        }
        place.send(Box::new(message));
        Ok(events)
    }

    /// Passes a message on to the handler that has no answer.
    async fn accept(&self, message: ClientJsonRpcMessage) -> SessionResult<()> {
        let cancelled = cancelled_request(&message);
        let handler = self.handler.lock().as_ref().and_then(WeakSender::upgrade);
        let accepted = match handler {
            Some(handler) => handler
                .send(Box::new(message))
                .await
                .map_err(|_| SessionError::Ended),
            // It answers or cancels nothing, and no notification starts anything.
            None => Ok(()),
        };
        // The handler does not answer a request that it gets before its cancellation. By now, the
        // stream of such a request is open.
        if let Some(request) = cancelled {
            self.streams.lock().end_request(request);
        }
        accepted
    }
}

/// Returns the request that a message cancels.
fn cancelled_request(message: &ClientJsonRpcMessage) -> Option<RequestId> {
    let JsonRpcMessage::Notification(sent) = message else {
        return None;
    };
    match &sent.notification {
        ClientNotification::CancelledNotification(cancelled) => cancelled.params.request_id.clone(),
        _ => None,
    }
}

impl SessionManager for HttpSessions {
    type Error = SessionError;
    type Transport = RandomIds<HttpTransport>;

    async fn create_session(&self) -> SessionResult<(SessionId, Self::Transport)> {
        let opening = OPENING
            .try_with(|(connection, opener)| opener.take().zip(Some(Arc::clone(connection))));
        let (opener, connection) = opening.ok().flatten().ok_or(SessionError::NotOpened)?;
        let (to_handler, from_client) = channel(CAPACITY);
        let streams = SessionStreams::default();
        let handler = to_handler.downgrade();
        // The handler waits for the first request.
        streams.hold(Some(RunningHandler(to_handler)));
        let transport = HttpTransport {
            from_client,
            streams: streams.clone(),
        };
        Ok((
            self.open((opener, connection), streams, Some(handler))?,
            RandomIds::new(transport),
        ))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> SessionResult<ServerJsonRpcMessage> {
        let session = self.session(id)?;
        if let JsonRpcMessage::Request(request) = &mut message {
            request
                .request
                .extensions_mut()
                .insert(session.streams.clone());
        }
        let mut events = session.ask(message).await?;
        session.streams.hold(None);
        loop {
            let event = events.recv().await.ok_or(SessionError::Ended)?;
            if let Some(message) = event.message {
                // The stream may keep another copy.
                return Ok(Arc::unwrap_or_clone(message));
            }
        }
    }

    async fn has_session(&self, id: &SessionId) -> SessionResult<bool> {
        Ok(self.open.lock().sessions.contains_key(id))
    }

    /// Ends a session that could not be opened. rmcp calls this also when the handler that opened a
    /// session has ended.
    async fn close_session(&self, id: &SessionId) -> SessionResult<()> {
        if self
            .session(id)
            .is_ok_and(|session| session.connection.initialized().is_none())
        {
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

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> SessionResult<()> {
        self.session(id)?.accept(message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> SessionResult<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static> {
        Ok(events(self.session(id)?.streams.lock().open_own()))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event: String,
    ) -> SessionResult<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static> {
        let session = self.session(id)?;
        let resumed = session.streams.lock().resume(&last_event);
        Ok(events(resumed.ok_or(SessionError::UnknownEvent)?))
    }
}

/// The handler's side of a session.
pub(crate) struct HttpTransport {
    from_client: Receiver<Box<ClientJsonRpcMessage>>,
    streams: SessionStreams,
}

impl Transport<RoleServer> for HttpTransport {
    type Error = SessionError;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = SessionResult<()>> + Send + 'static {
        let streams = self.streams.clone();
        let message = passed_on::complete(message);
        async move {
            streams.send(message).await;
            Ok(())
        }
    }

    /// Returns the next message of the client, or `None` once no request is left.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.from_client.recv().await.map(|message| *message)
    }

    async fn close(&mut self) -> SessionResult<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::changes::Recipient;
    use crate::server::session::ServerState;
    use futures_util::FutureExt;
    use rmcp::model::{InitializeRequestParams, NotificationNoParam, ServerNotification};
    use serde_json::json;
    use tokio::task::yield_now;
    use tokio::time::{sleep, timeout};
    use tool_core::{Runtime, ToolContext};

    /// Opens a session as a request does.
    async fn open_session(sessions: &HttpSessions) -> Arc<HttpSession> {
        let runtime = Runtime::builder(ToolContext::builder().build().expect("no tools"))
            .build()
            .expect("a runtime");
        let state = ServerState::new(runtime);
        let place = state.take_place(&Client::default()).expect("a place");
        let connection = Connection::over_http(
            Arc::new(state),
            Arc::default(),
            Arc::default(),
            Arc::default(),
        );
        let connection = Arc::new(connection);
        let streams = SessionStreams::default();
        let to = Recipient::Streams(streams.clone());
        let opened = connection
            .open(InitializeRequestParams::default(), &Client::default(), to)
            .await;
        let id =
            opened.map(|_| sessions.open(((Client::default(), place), connection), streams, None));
        sessions
            .session(&id.expect("an answer").expect("a session"))
            .expect("a session")
    }

    fn ping(id: i64) -> ClientJsonRpcMessage {
        serde_json::from_value(json!({"jsonrpc": "2.0", "id": id, "method": "ping"}))
            .expect("a request")
    }

    /// Waits until the handler of a session has ended.
    async fn handler_end(session: &HttpSession) {
        while session.handler.lock().is_some() {
            yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_session_without_a_handler_has_notifications() {
        let sessions = HttpSessions::new(Duration::MAX, CancellationToken::new());
        let session = open_session(&sessions).await;
        let mut own = session.streams.lock().open_own();
        let changed =
            ServerNotification::ToolListChangedNotification(NotificationNoParam::default());
        session.streams.notify(changed).await;
        assert_eq!(
            own.try_recv().expect("an event").event_id.as_deref(),
            Some("1")
        );
        assert!(session.handler.lock().is_none(), "nothing has started it");
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
        assert!(
            session.handler().0.same_channel(&running.0),
            "a request may still withdraw a question"
        );
        drop(running);
        handler_end(&session).await;
    }

    #[tokio::test]
    async fn a_client_that_goes_on_its_way_leaves_no_stream() {
        let sessions = HttpSessions::new(Duration::MAX, CancellationToken::new());
        let session = open_session(&sessions).await;
        let handler = session.handler();
        while handler.0.try_send(Box::new(ping(1))).is_ok() {}
        let asked = session.ask(ping(2)).now_or_never();
        assert!(asked.is_none(), "the handler has no room");

        let later = Instant::now() + Duration::from_secs(1);
        let used = session.streams.lock().last_use(later);
        assert!(used < later, "no request is open");
    }

    // T23
    #[tokio::test(start_paused = true)]
    async fn a_request_cancelled_while_it_waits_for_room_ends() {
        let sessions = HttpSessions::new(Duration::MAX, CancellationToken::new());
        let session = open_session(&sessions).await;
        let handler = session.handler();
        while handler.0.try_send(Box::new(ping(1))).is_ok() {}
        let cancellation = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}});
        let cancellation = serde_json::from_value(cancellation).expect("a notification");

        let (asked, accepted) = tokio::join!(session.ask(ping(2)), session.accept(cancellation));
        accepted.expect("a session");
        let mut events = asked.expect("a session");
        let end = async { while events.recv().await.is_some() {} };
        let ended = timeout(Duration::from_secs(60), end).await;
        ended.expect("its stream ends");
    }

    // T23
    #[tokio::test]
    async fn a_call_cancelled_on_its_way_is_not_asked_for() {
        let sessions = HttpSessions::new(Duration::MAX, CancellationToken::new());
        let session = open_session(&sessions).await;
        let id = RequestId::Number(7);
        let call = session.connection.calls.enter(&id).expect("a new id");
        let mut message = ping(7);
        if let JsonRpcMessage::Request(request) = &mut message {
            request.request.extensions_mut().insert(call);
        }
        session.connection.calls.cancel(&id);

        let mut events = session.ask(message).await.expect("a session");
        while let Some(event) = events.recv().await {
            assert!(event.message.is_none(), "{event:?}");
        }
    }

    #[tokio::test]
    async fn the_end_of_a_session_ends_its_handler() {
        let sessions = HttpSessions::new(Duration::MAX, CancellationToken::new());
        let session = open_session(&sessions).await;
        let connection = Arc::downgrade(&session.connection);
        let running = session.handler();
        let id = sessions
            .open
            .lock()
            .sessions
            .keys()
            .next()
            .cloned()
            .expect("a session");
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
        used.streams.lock().used = Instant::now();
        idle.ended.cancelled().await;
        assert!(!used.ended.is_cancelled());
        assert_eq!(sessions.open.lock().sessions.len(), 1);
        used.ended.cancelled().await;
        assert!(!sessions.open.lock().are_watched);
        let later = open_session(&sessions).await;
        later.ended.cancelled().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_with_an_open_request_is_not_idle() {
        let idle = Duration::from_secs(60);
        let sessions = HttpSessions::new(idle, CancellationToken::new());
        let session = open_session(&sessions).await;
        let handler = session.handler();
        _ = session
            .streams
            .lock()
            .of_request(&ping(7), Some(handler.clone()));
        sleep(idle * 10).await;
        assert!(!session.ended.is_cancelled());

        let answered = Instant::now();
        let pong = json!({"jsonrpc": "2.0", "id": 7, "result": {}});
        let pong = serde_json::from_value(pong).expect("an answer");
        session.streams.send(pong).await;
        session.ended.cancelled().await;
        assert!(answered.elapsed() >= idle);
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_with_an_open_call_is_not_idle() {
        let idle = Duration::from_secs(60);
        let sessions = HttpSessions::new(idle, CancellationToken::new());
        let session = open_session(&sessions).await;
        let call = session.connection.calls.enter(&RequestId::Number(7));
        sleep(idle * 10).await;
        assert!(!session.ended.is_cancelled());

        let ended = Instant::now();
        drop(call);
        session.ended.cancelled().await;
        assert!(ended.elapsed() >= idle);
    }

    // T15
    #[tokio::test(start_paused = true)]
    async fn notifications_do_not_keep_a_session() {
        let idle = Duration::from_secs(60);
        let sessions = HttpSessions::new(idle, CancellationToken::new());
        let session = open_session(&sessions).await;
        for _ in 0..10 {
            let changed =
                ServerNotification::ToolListChangedNotification(NotificationNoParam::default());
            session.streams.notify(changed).await;
            sleep(idle / 4).await;
        }
        assert!(session.ended.is_cancelled(), "its client has vanished");
    }

    // T15
    #[tokio::test(start_paused = true)]
    async fn a_session_whose_client_listens_is_not_idle() {
        let idle = Duration::from_secs(60);
        let sessions = HttpSessions::new(idle, CancellationToken::new());
        let session = open_session(&sessions).await;
        let own = session.streams.lock().open_own();
        sleep(idle * 10 + idle / 2).await;
        assert!(!session.ended.is_cancelled());

        let closed = Instant::now();
        drop(own);
        session.ended.cancelled().await;
        assert!(closed.elapsed() >= idle);
    }

    #[tokio::test]
    async fn a_shutdown_ends_all_sessions() {
        let shutdown = CancellationToken::new();
        let sessions = HttpSessions::new(Duration::MAX, shutdown.clone());
        let session = open_session(&sessions).await;
        shutdown.cancel();
        while sessions.open.lock().are_watched {
            yield_now().await;
        }
        assert!(session.ended.is_cancelled() && sessions.open.lock().sessions.is_empty());
    }
}
