//! The calls in flight on a connection, and the messages of the server that belong to them:
//! progress, states of tasks and requests.

use crate::client::rate_limit::RateLimit;
use crate::mailbox::Mailbox;
use foldhash::HashMap;
use parking_lot::Mutex;
use rmcp::model::{ErrorData, ProgressNotificationParam, ProgressToken, RequestId};
use serde_json::Value;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tool_core::call::LogLevel;
use tool_core::text::truncate;

/// A message of the server that belongs to a call.
#[derive(Debug)]
pub(crate) enum CallMessage {
    Progress(ProgressNotificationParam),
    /// The message of a task's state.
    Status(String),
    Log(ServerLog),
    Request(RelayedRequest),
}

/// A log message of the server.
#[derive(Debug)]
pub(crate) struct ServerLog {
    pub(crate) level: LogLevel,
    pub(crate) logger: String,
    pub(crate) data: String,
}

/// A request of the server that the call answers. The answer is no longer wanted once `answer` is
/// closed.
#[derive(Debug)]
pub(crate) struct RelayedRequest {
    pub(crate) method: String,
    pub(crate) params: Value,
    pub(crate) answer: oneshot::Sender<Result<Value, ErrorData>>,
}

/// The calls in flight.
#[derive(Clone, Default)]
pub(crate) struct CallRoutes(Arc<Mutex<Routes>>);

#[derive(Default)]
struct Routes {
    next: u64,
    calls: HashMap<u64, Route>,
    /// The latest updates of other tokens. The token of a call is known only once its request is
    /// under way.
    unclaimed: VecDeque<ProgressNotificationParam>,
    /// The ids of requests of the server, with those of the requests of this client in whose stream
    /// over HTTP they came.
    streams: VecDeque<(RequestId, RequestId)>,
    /// The calls that were given up, the oldest first. The server may still work on them, and what
    /// it asks may be for their users.
    given_up: VecDeque<GivenUpCall>,
}

/// A call whose answer no one waits for.
struct GivenUpCall {
    request: RequestId,
    since: Instant,
}

impl Routes {
    /// Returns true if the server may still work on a call that was given up.
    fn has_given_up(&mut self) -> bool {
        while let Some(first) = self.given_up.front()
            && first.since.elapsed() >= GIVEN_UP
        {
            self.given_up.pop_front();
        }
        !self.given_up.is_empty()
    }

    fn give_up(&mut self, request: RequestId) {
        if self.given_up.len() == MAX_GIVEN_UP {
            self.given_up.pop_front();
        }
        self.given_up.push_back(GivenUpCall {
            request,
            since: Instant::now(),
        });
    }
}

/// The names of a call, as far as they are known, and the messages that wait for it.
#[derive(Default)]
struct Route {
    messages: Mailbox<CallMessage>,
    /// The request that is under way, or the last one.
    request: Option<RequestId>,
    is_answered: bool,
    token: Option<ProgressToken>,
    task: Option<String>,
    /// The rate of its updates, once there is one.
    updates: Option<RateLimit>,
}

impl Route {
    /// Adds a message. Returns false if too many wait.
    fn push(&mut self, message: CallMessage) -> bool {
        self.messages.push(message, CAPACITY)
    }

    /// Adds an update, unless the server sends too many.
    fn update(&mut self, message: CallMessage) {
        let updates = self
            .updates
            .get_or_insert_with(|| RateLimit::new("updates"));
        if updates.admits() {
            self.push(message);
        }
    }
}

/// The messages that may wait for a call, and those of calls that are not known yet. Further ones
/// are dropped.
const CAPACITY: usize = 64;

/// The time for which the server may work on a call that was given up and has no answer. A server
/// that ends such a call need not answer it.
const GIVEN_UP: Duration = Duration::from_secs(30);

/// Maximum number of calls that are known to be given up.
const MAX_GIVEN_UP: usize = 1_000;

/// Maximum number of characters of an update.
const MAX_TEXT: usize = 800;

impl CallRoutes {
    /// Passes an update to its call.
    pub(crate) fn progress(&self, update: &ProgressNotificationParam) {
        let mut short =
            ProgressNotificationParam::new(update.progress_token.clone(), update.progress);
        short.total = update.total;
        short.message = update
            .message
            .as_deref()
            .map(|message| truncate(message, MAX_TEXT));
        let mut routes = self.0.lock();
        if let Some(call) = routes
            .calls
            .values_mut()
            .find(|call| call.token.as_ref() == Some(&short.progress_token))
        {
            call.update(CallMessage::Progress(short));
            return;
        }
        if routes.unclaimed.len() == CAPACITY {
            routes.unclaimed.pop_front();
        }
        routes.unclaimed.push_back(short);
    }

    /// Passes the message of a task's state to its call.
    pub(crate) fn status(&self, task: &str, message: &str) {
        let mut routes = self.0.lock();
        if let Some(call) = routes
            .calls
            .values_mut()
            .find(|call| call.task.as_deref() == Some(task))
        {
            call.update(CallMessage::Status(truncate(message, MAX_TEXT)));
        }
    }

    /// Passes a log message to the only call in flight. Returns it if there is none, or several, or
    /// it may be one of a call that was given up.
    pub(crate) fn log(&self, message: ServerLog) -> Option<ServerLog> {
        let mut routes = self.0.lock();
        if routes.has_given_up() {
            return Some(message);
        }
        let mut calls = routes.calls.values_mut();
        match (calls.next(), calls.next()) {
            (Some(call), None) => {
                call.push(CallMessage::Log(message));
                None
            }
            _ => Some(message),
        }
    }

    /// Notes that a request of the server came in the stream of a request of this client.
    pub(crate) fn note_stream(&self, request: RequestId, stream: RequestId) {
        let mut routes = self.0.lock();
        if routes.streams.len() == CAPACITY {
            routes.streams.pop_front();
        }
        routes.streams.push_back((request, stream));
    }

    /// Notes that the server has answered a request, also one that was given up.
    pub(crate) fn note_answer(&self, request: &RequestId) {
        let mut routes = self.0.lock();
        routes.given_up.retain(|call| call.request != *request);
    }

    /// Passes a request of the server to the call to which it belongs: the one in whose stream it
    /// came, the one whose task it names, or else the only one in flight. The server may still work
    /// on a call that was given up, so none is the only one then. The progress token of a
    /// request does not name a call of this client: the server numbers its own requests.
    pub(crate) fn relay(
        &self,
        id: &RequestId,
        task: Option<&str>,
        request: RelayedRequest,
    ) -> Result<(), &'static str> {
        let mut routes = self.0.lock();
        let stream = routes.streams.iter().position(|(known, _)| known == id);
        let stream = stream
            .and_then(|at| routes.streams.remove(at))
            .map(|(_, stream)| stream);
        let has_given_up = routes.has_given_up();
        let only = |is_candidate: &dyn Fn(&Route) -> bool| {
            let mut candidates = routes.calls.iter().filter(|(_, call)| is_candidate(call));
            match (candidates.next(), candidates.next()) {
                (Some((call, _)), None) => Ok(*call),
                (None, _) => Err("no call is in flight that the request can belong to"),
                (Some(_), Some(_)) => Err(
                    "several calls are in flight, and the request does not tell to which it belongs",
                ),
            }
        };
        let call = match (task, stream) {
            (Some(task), _) => only(&|call| call.task.as_deref() == Some(task)),
            // A call that is just being sent does not know its id yet.
            (None, Some(stream)) => {
                let named = only(&|call| call.request.as_ref() == Some(&stream));
                let is_given_up = routes.given_up.iter().any(|call| call.request == stream);
                match named {
                    Err(_) if !is_given_up => {
                        only(&|call| call.request.is_none() && call.task.is_none())
                    }
                    named => named,
                }
            }
            (None, None) if has_given_up => Err(
                "a call was given up, and the request does not tell that it belongs to another one",
            ),
            (None, None) => only(&|_| true),
        }?;
        let has_room = routes
            .calls
            .get_mut(&call)
            .is_some_and(|call| call.push(CallMessage::Request(request)));
        has_room
            .then_some(())
            .ok_or("the call has too many messages that wait")
    }

    /// Adds a call. It is in flight until the returned value is dropped.
    pub(crate) fn enter(&self) -> CallRoute {
        let mut routes = self.0.lock();
        routes.next += 1;
        let id = routes.next;
        routes.calls.insert(id, Route::default());
        CallRoute {
            routes: self.clone(),
            id,
        }
    }
}

/// The messages for a call in flight.
pub(crate) struct CallRoute {
    routes: CallRoutes,
    id: u64,
}

impl CallRoute {
    /// Sets the id and the progress token of the call's request. Updates that came before are kept.
    pub(crate) fn set_request(&self, request: RequestId, token: ProgressToken) {
        let mut routes = self.routes.0.lock();
        let early = std::mem::take(&mut routes.unclaimed);
        let (own, others) = early
            .into_iter()
            .partition::<VecDeque<_>, _>(|update| update.progress_token == token);
        routes.unclaimed = others;
        if let Some(call) = routes.calls.get_mut(&self.id) {
            for update in own {
                call.update(CallMessage::Progress(update));
            }
            call.request = Some(request);
            call.is_answered = false;
            call.token = Some(token);
        }
    }

    /// Sets the id of a further request for the call. Updates name the token of the first one.
    pub(crate) fn set_further_request(&self, request: RequestId) {
        if let Some(call) = self.routes.0.lock().calls.get_mut(&self.id) {
            call.request = Some(request);
            call.is_answered = false;
        }
    }

    /// Notes that the request of the call is answered, or that none will come.
    pub(crate) fn set_answered(&self) {
        if let Some(call) = self.routes.0.lock().calls.get_mut(&self.id) {
            call.is_answered = true;
        }
    }

    pub(crate) fn set_task(&self, task: &str) {
        if let Some(call) = self.routes.0.lock().calls.get_mut(&self.id) {
            call.task = Some(task.to_owned());
        }
    }

    /// Waits for the next message.
    pub(crate) async fn next(&self) -> CallMessage {
        poll_fn(|cx| match self.routes.0.lock().calls.get_mut(&self.id) {
            Some(call) => call.messages.poll_next(cx),
            None => Poll::Pending,
        })
        .await
    }

    /// Returns the next message, if there is one.
    pub(crate) fn try_next(&self) -> Option<CallMessage> {
        self.routes.0.lock().calls.get_mut(&self.id)?.messages.pop()
    }
}

impl Drop for CallRoute {
    fn drop(&mut self) {
        let mut routes = self.routes.0.lock();
        let Some(call) = routes.calls.remove(&self.id) else {
            return;
        };
        if let Some(request) = call.request
            && !call.is_answered
        {
            routes.give_up(request);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::NumberOrString;

    fn token(number: i64) -> ProgressToken {
        ProgressToken(NumberOrString::Number(number))
    }

    fn id(number: i64) -> RequestId {
        NumberOrString::Number(number)
    }

    fn progress(message: CallMessage) -> f64 {
        match message {
            CallMessage::Progress(update) => update.progress,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn updates_reach_their_call_however_early_they_come() {
        let routes = CallRoutes::default();
        let other = routes.enter();
        other.set_request(id(1), token(1));
        routes.progress(&ProgressNotificationParam::new(token(7), 1.0));
        let call = routes.enter();
        call.set_request(id(7), token(7));
        routes.progress(&ProgressNotificationParam::new(token(7), 2.0));
        let received = std::iter::from_fn(|| call.try_next().map(progress));
        assert_eq!(received.collect::<Vec<_>>(), [1.0, 2.0]);
        drop((call, other));
        assert!(routes.0.lock().calls.is_empty());
    }

    #[test]
    fn updates_of_no_call_are_bounded() {
        let routes = CallRoutes::default();
        for at in 0..100_000 {
            let text = "x".repeat(2_000);
            routes.progress(&ProgressNotificationParam::new(token(at), 1.0).with_message(text));
            routes.note_stream(id(at), id(0));
        }
        let kept = &routes.0.lock().unclaimed;
        assert_eq!(kept.len(), CAPACITY);
        assert!(kept.iter().all(|update| {
            update
                .message
                .as_ref()
                .is_some_and(|text| text.len() <= MAX_TEXT + 3)
        }));
    }

    /// Has the server make a request.
    fn relay(routes: &CallRoutes, request: i64, task: Option<&str>) -> Result<(), &'static str> {
        let (answer, _) = oneshot::channel();
        let relayed = RelayedRequest {
            method: String::new(),
            params: Value::Null,
            answer,
        };
        routes.relay(&id(request), task, relayed)
    }

    #[test]
    fn a_request_belongs_to_a_call_that_is_known_for_sure() {
        let routes = CallRoutes::default();
        let relay = |request, task| relay(&routes, request, task);
        let reaches = |relayed: Result<(), &str>, call: &CallRoute| {
            relayed.is_ok() && call.try_next().is_some()
        };
        assert!(relay(100, None).is_err_and(|why| why.starts_with("no call")));
        let one = routes.enter();
        one.set_request(id(1), token(1));
        assert!(reaches(relay(100, None), &one));
        let other = routes.enter();
        other.set_request(id(2), token(2));
        other.set_task("t-2");
        assert!(relay(100, None).is_err_and(|why| why.starts_with("several calls")));
        routes.note_stream(id(100), id(2));
        assert!(reaches(relay(100, None), &other));
        assert!(relay(100, None).is_err(), "a stream tells of one request");
        routes.note_stream(id(101), id(3));
        assert!(relay(101, None).is_err(), "a stream of no call");
        assert!(reaches(relay(100, Some("t-2")), &other));
        assert!(relay(100, Some("t-3")).is_err());
    }

    // R-Q12
    #[test]
    fn a_task_gets_no_request_from_the_stream_of_a_call() {
        let routes = CallRoutes::default();
        let task = routes.enter();
        task.set_task("t-1");
        routes.note_stream(id(100), id(9));
        assert!(relay(&routes, 100, None).is_err());
    }

    // R-Q12
    #[test]
    fn a_request_in_the_stream_of_a_result_reaches_its_task() {
        let routes = CallRoutes::default();
        let task = routes.enter();
        task.set_request(id(1), token(1));
        task.set_task("t-1");
        task.set_further_request(id(2));
        let _other = routes.enter();
        routes.note_stream(id(100), id(2));
        assert_eq!(relay(&routes, 100, None), Ok(()));
        assert!(task.try_next().is_some());
    }

    // R-Q12
    #[test]
    fn a_request_after_a_call_is_given_up_reaches_no_other() {
        let routes = CallRoutes::default();
        let given_up = routes.enter();
        given_up.set_request(id(1), token(1));
        drop(given_up);
        let other = routes.enter();
        other.set_request(id(2), token(2));
        assert!(relay(&routes, 100, None).is_err_and(|why| why.starts_with("a call was given up")));

        routes.note_answer(&id(1));
        assert_eq!(relay(&routes, 100, None), Ok(()));
    }

    // R-Q12
    #[tokio::test(start_paused = true)]
    async fn a_call_without_an_answer_is_forgotten_in_time() {
        let routes = CallRoutes::default();
        let given_up = routes.enter();
        given_up.set_request(id(1), token(1));
        drop(given_up);
        let _other = routes.enter();
        assert!(relay(&routes, 100, None).is_err());
        tokio::time::advance(GIVEN_UP).await;
        assert_eq!(relay(&routes, 100, None), Ok(()));
    }

    // R-Q12
    #[test]
    fn a_stream_of_a_call_that_is_given_up_names_no_other() {
        let routes = CallRoutes::default();
        let given_up = routes.enter();
        given_up.set_request(id(1), token(1));
        drop(given_up);
        let _just_sent = routes.enter();
        routes.note_stream(id(100), id(1));
        assert!(relay(&routes, 100, None).is_err());
    }

    // R-Q12
    #[test]
    fn an_answered_call_leaves_no_mark() {
        let routes = CallRoutes::default();
        let answered = routes.enter();
        answered.set_request(id(1), token(1));
        answered.set_answered();
        drop(answered);
        let _other = routes.enter();
        assert_eq!(relay(&routes, 100, None), Ok(()));
    }

    // R-Q12
    #[test]
    fn a_log_message_after_a_given_up_call_reaches_no_other() {
        let routes = CallRoutes::default();
        let given_up = routes.enter();
        given_up.set_request(id(1), token(1));
        drop(given_up);
        let other = routes.enter();
        let message = ServerLog {
            level: LogLevel::Info,
            logger: String::new(),
            data: "secret".to_owned(),
        };
        assert!(routes.log(message).is_some());
        assert!(other.try_next().is_none());
    }

    #[test]
    fn the_updates_of_each_call_are_counted() {
        let routes = CallRoutes::default();
        let noisy = routes.enter();
        noisy.set_request(id(1), token(1));
        let quiet = routes.enter();
        quiet.set_request(id(2), token(2));
        let mut updates = 0;
        for _ in 0..1_000 {
            routes.progress(&ProgressNotificationParam::new(token(1), 1.0));
            updates += usize::from(noisy.try_next().is_some());
        }
        routes.progress(&ProgressNotificationParam::new(token(2), 1.0));
        assert_eq!(updates, 100);
        assert!(quiet.try_next().is_some());
    }
}
