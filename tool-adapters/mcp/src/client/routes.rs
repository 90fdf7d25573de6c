//! The calls in flight on a connection, and the messages of the server that belong to them:
//! progress, states of tasks and requests.

use crate::mailbox::Mailbox;
use foldhash::HashMap;
use parking_lot::Mutex;
use rmcp::model::{ErrorData, ProgressNotificationParam, ProgressToken, RequestId};
use serde_json::Value;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use tokio::sync::oneshot;
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
}

/// The names of a call, as far as they are known, and the messages that wait for it.
#[derive(Default)]
struct Route {
    messages: Mailbox<CallMessage>,
    request: Option<RequestId>,
    token: Option<ProgressToken>,
    task: Option<String>,
}

impl Route {
    /// Adds a message. Returns false if too many wait.
    fn push(&mut self, message: CallMessage) -> bool {
        self.messages.push(message, CAPACITY)
    }
}

/// The messages that may wait for a call, and those of calls that are not known yet. Further ones
/// are dropped.
const CAPACITY: usize = 64;

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
            call.push(CallMessage::Progress(short));
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
            call.push(CallMessage::Status(truncate(message, MAX_TEXT)));
        }
    }

    /// Passes a log message to the only call in flight. Returns it if there is none, or several.
    pub(crate) fn log(&self, message: ServerLog) -> Option<ServerLog> {
        let mut routes = self.0.lock();
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

    /// Passes a request of the server to the call to which it belongs: the one in whose stream it
    /// came, the one whose task it names, or else the only one in flight. The progress token of a
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
            (None, Some(stream)) => only(&|call| call.request.as_ref() == Some(&stream))
                .or_else(|_| only(&|call| call.request.is_none())),
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
                call.push(CallMessage::Progress(update));
            }
            (call.request, call.token) = (Some(request), Some(token));
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
        self.routes.0.lock().calls.remove(&self.id);
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

    #[test]
    fn a_request_belongs_to_a_call_that_is_known_for_sure() {
        let routes = CallRoutes::default();
        let relay = |request, task| {
            let (answer, _) = oneshot::channel();
            routes.relay(
                &id(request),
                task,
                RelayedRequest {
                    method: String::new(),
                    params: Value::Null,
                    answer,
                },
            )
        };
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
}
